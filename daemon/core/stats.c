/* Bucket b ends at 1 us * 2^(b/8): a true logarithmic scale, so that the error of a percentile is
 * the same 9% everywhere, in integers, so that it is the same on every machine. */
#include "core/stats.h"

#include <math.h>

#define FRACTION_BITS 16
#define FIRST_EDGE_NS 1000

/* 1000 * 2^(i/8) ns, with FRACTION_BITS binary places. */
static const uint64_t octave_steps[HISTOGRAM_BUCKETS_AN_OCTAVE] = {
    65536000, 71467514, 77935877, 84989677, 92681900, 101070328, 110217974, 120193553,
};

uint64_t histogram_edge(unsigned bucket)
{
    uint64_t step = octave_steps[bucket % HISTOGRAM_BUCKETS_AN_OCTAVE];
    return step << bucket / HISTOGRAM_BUCKETS_AN_OCTAVE >> FRACTION_BITS;
}

static unsigned bucket_of(uint64_t ns)
{
    if (ns <= FIRST_EDGE_NS)
        return 0;
    /* (ns - 1) / 1000 is in [2^octave, 2^(octave + 1)): the bucket is within this octave. */
    unsigned octave = 63 - (unsigned)__builtin_clzll((ns - 1) / FIRST_EDGE_NS);
    unsigned bucket = octave * HISTOGRAM_BUCKETS_AN_OCTAVE;
    while (bucket < HISTOGRAM_BUCKETS - 1 && histogram_edge(bucket) < ns)
        bucket++;
    return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

void histogram_add(struct histogram *histogram, int64_t ns)
{
    uint64_t value = ns > 0 ? (uint64_t)ns : 0;
    histogram->bucket[bucket_of(value)]++;
    histogram->count++;
    histogram->sum_ns += value;
    if (value > histogram->max_ns)
        histogram->max_ns = value;
}

uint64_t histogram_quantile(const struct histogram *histogram, double fraction)
{
    if (histogram->count == 0)
        return 0;
    double wanted = ceil(fraction * (double)histogram->count);
    uint64_t seen = 0;
    /* The last bucket has no upper edge: its values are only known to be at most max_ns. */
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS - 1; i++) {
        seen += histogram->bucket[i];
        if (seen > 0 && (double)seen >= wanted) {
            uint64_t edge = histogram_edge(i);
            return edge < histogram->max_ns ? edge : histogram->max_ns;
        }
    }
    return histogram->max_ns;
}

uint64_t histogram_below(const struct histogram *histogram, unsigned bucket)
{
    uint64_t count = 0;
    for (unsigned i = 0; i <= bucket && i < HISTOGRAM_BUCKETS; i++)
        count += histogram->bucket[i];
    return count;
}

const char *const overhead_names[OVERHEAD_COUNT] = {
    "map", "copy", "unmap", "arguments", "enqueue", "gap",
};

void time_sums_add(struct time_sum *sum, const int64_t *ns, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (ns[i] < 0)
            continue;
        sum[i].frames++;
        sum[i].ns += (uint64_t)ns[i];
    }
}
