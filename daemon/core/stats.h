/* Latency histograms, what the processor copies, and what a device costs beside its kernels. Pure.
 *
 * Threads: plain data. The owner locks it, or copies it under a lock before reading. */
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

/* For exporters: the upper edge of a bucket in ns, and the number of values up to that edge. The
 * last bucket has no upper edge: its number is the total, and its edge means nothing. */
uint64_t histogram_edge(unsigned bucket);
uint64_t histogram_below(const struct histogram *histogram, unsigned bucket);

/* How often the processor has copied a part of a frame, and how much in all. What a device or a
 * driver moves is not counted. */
struct copy_count {
    uint64_t times, bytes;
};

static inline void copy_count_add(struct copy_count *count, uint64_t bytes)
{
    count->times += bytes > 0;
    count->bytes += bytes;
}

/* The costs of a frame besides its kernels. The steps up to ENQUEUE cover everything that the
 * camera's thread does to submit a frame and to collect it. They are wall-clock times, and so
 * include waiting for a processor on a busy machine. */
enum overhead_step {
    OVERHEAD_MAP,       /* makes memory of the device accessible to the processor */
    OVERHEAD_COPY,      /* copies planes, as struct copy_count counts them */
    OVERHEAD_UNMAP,     /* gives the memory back to the device */
    OVERHEAD_ARGUMENTS, /* sets kernel arguments */
    OVERHEAD_ENQUEUE,   /* enqueues commands, and flushes the queue */
    OVERHEAD_GAP,       /* time of the device between the dispatches of a frame */
    OVERHEAD_COUNT
};
extern const char *const overhead_names[OVERHEAD_COUNT]; /* "map" */

struct overhead {
    int64_t ns[OVERHEAD_COUNT]; /* negative: not measured in this frame */
};

/* A sum over the frames in which a time was measured. */
struct time_sum {
    uint64_t frames, ns;
};

/* Adds the times of a frame to their sums, but for those that are negative: they were not measured
 * in this frame. */
void time_sums_add(struct time_sum *sum, const int64_t *ns, unsigned count);

#endif
