"""Detects growth of a series, robust against outliers and noise without a trend."""

import numpy


def slope(times, values):
    """Theil-Sen estimator: the median of the slopes between all pairs of points."""
    first, second = numpy.triu_indices(len(times), 1)
    return float(numpy.median((values[second] - values[first]) / (times[second] - times[first])))


def is_monotonic(values):
    """Mann-Kendall test: whether later values are larger more often than by chance. It is wrong for
    one of a thousand series without a trend."""
    count = len(values)
    first, second = numpy.triu_indices(count, 1)
    score = numpy.sign(values[second] - values[first]).sum()
    _, ties = numpy.unique(values, return_counts=True)
    variance = (count * (count - 1) * (2 * count + 5)
                - (ties * (ties - 1) * (2 * ties + 5)).sum()) / 18
    return bool(variance > 0 and (score - 1) / numpy.sqrt(variance) > 3.09)


def thin(times, values, points=60):
    """Returns the medians of `points` intervals of equal length. Neighbouring values of a series
    are correlated, and the test would take that for a trend."""
    edges = numpy.linspace(0, len(times), min(points, len(times)) + 1).astype(int)
    parts = [slice(a, b) for a, b in zip(edges, edges[1:]) if b > a]
    return (numpy.array([numpy.median(times[part]) for part in parts]),
            numpy.array([numpy.median(values[part]) for part in parts]))


def growth(times, values):
    """Returns the growth of a series from its beginning to its end; 0 if it may be chance."""
    times, values = thin(numpy.asarray(times, float), numpy.asarray(values, float))
    if len(times) < 8 or not is_monotonic(values):
        return 0.0
    return max(0.0, slope(times, values) * (times[-1] - times[0]))
