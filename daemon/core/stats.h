/* Counters and latency histograms. Pure; the clock is the caller's.
 *
 * Written by one thread, read by any: readers take a snapshot, whose values are each whole but
 * may be one frame apart from each other. */
#ifndef FFTD_CORE_STATS_H
#define FFTD_CORE_STATS_H

#include <stdint.h>

/* Logarithmic buckets, 8 to the octave from 1 us to over 100 s: a percentile is within 9%. */
#define HISTOGRAM_BUCKETS           224
#define HISTOGRAM_BUCKETS_AN_OCTAVE 8

struct histogram {
    uint64_t count;
    uint64_t sum_ns;
    uint64_t max_ns;
    uint64_t bucket[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, int64_t ns); /* negative counts as 0 */

/* Upper edge of the bucket that holds the given fraction (0 .. 1), in ns; 0 if empty. Never more
 * than max_ns. */
uint64_t histogram_quantile(const struct histogram *histogram, double fraction);

/* For exporters: the upper edge of a bucket in ns, and how many values there were up to it. The
 * last bucket is open upwards: its count is the total, its edge means nothing. */
uint64_t histogram_edge(unsigned bucket);
uint64_t histogram_below(const struct histogram *histogram, unsigned bucket);

#endif
