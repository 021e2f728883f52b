"""Whether something grows: robust against single outliers, and against noise that goes nowhere."""

import numpy


def slope(times, values):
    """Theil and Sen's: the median of the slopes between all pairs of points."""
    first, second = numpy.triu_indices(len(times), 1)
    return float(numpy.median((values[second] - values[first]) / (times[second] - times[first])))


def is_monotonic(values):
    """Mann and Kendall's test: whether later values are larger more often than by chance, in one
    of a thousand series without a trend."""
    count = len(values)
    first, second = numpy.triu_indices(count, 1)
    score = numpy.sign(values[second] - values[first]).sum()
    _, ties = numpy.unique(values, return_counts=True)
    variance = (count * (count - 1) * (2 * count + 5)
                - (ties * (ties - 1) * (2 * ties + 5)).sum()) / 18
    return bool(variance > 0 and (score - 1) / numpy.sqrt(variance) > 3.09)


def thin(times, values, points=60):
    """Medians of so many stretches of equal length: neighbours in a series are much alike, which
    the test would take for a trend."""
    edges = numpy.linspace(0, len(times), min(points, len(times)) + 1).astype(int)
    parts = [slice(a, b) for a, b in zip(edges, edges[1:]) if b > a]
    return (numpy.array([numpy.median(times[part]) for part in parts]),
            numpy.array([numpy.median(values[part]) for part in parts]))


def growth(times, values):
    """By how much a series grows from its beginning to its end; 0 if that may be chance."""
    times, values = thin(numpy.asarray(times, float), numpy.asarray(values, float))
    if len(times) < 8 or not is_monotonic(values):
        return 0.0
    return max(0.0, slope(times, values) * (times[-1] - times[0]))
