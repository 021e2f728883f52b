/* Declarations shared by the files behind tuner.h, tuner.c (the search) and tuner_cache.c (stored
 * results), and those that list values to try: the techniques, and tuner_values.c for all of them.
 */
#ifndef FFTD_TRANSFORM_TUNER_PRIVATE_H
#define FFTD_TRANSFORM_TUNER_PRIVATE_H

#include "transform/pairs.h"
#include "transform/transform_private.h"
#include "transform/tuner.h"

#define TUNER_MAX_VALUES  64
#define TUNER_MAX_GROUPS  4
#define TUNER_LEAST_RADIX 4 /* for scarce registers: fewest legs, most items */

struct tuner_values {
    struct transform_tuning tuning[TUNER_MAX_VALUES];
    unsigned count;
};

/* One combination, built and ready to be measured. */
struct tuner_built {
    const struct tuner *tuner;
    struct transform_tuning tuning; /* adapted to the device */
    struct transform *transform;
    struct transform_frame *frame;
    cl_mem response;
};

struct tuner {
    struct tuner_subject subject;
    bool exhaustive;
    cl_command_queue queue;
    cl_mem image, result;
    struct transform_tuning defaults, initial, best;
    struct tuner_built built;          /* the best settings */
    const struct technique *technique; /* the best one when the round began */
    double default_ms, best_ms;
    struct tuner_values values; /* values of the current setting */
    unsigned setting, next, round;
    unsigned tried;
    bool improved; /* in this round */
};

static inline void tuner_add(struct tuner_values *values, const struct transform_tuning *tuning)
{
    if (values->count < TUNER_MAX_VALUES)
        values->tuning[values->count++] = *tuning;
}

/* ---- tuner_values.c ------------------------------------------------------------------------ */

void tuner_vary_lanes(const struct tuner *tuner, struct tuner_values *ret);
void tuner_vary_size(const struct tuner *tuner, struct tuner_values *ret);
void tuner_vary_radix(const struct tuner *tuner, struct tuner_values *ret);

/* The time of a frame on a GPU that does nothing else. Besides a fixed time for each dispatch, it
 * takes `latency_us` however small the frame is, because items wait for memory and for each other.
 * `us` is what each million samples adds. Both are for an NVIDIA H200, which has GPU_UNITS compute
 * units. With fewer units each has more work, but the other times stay the same. */
#define GPU_UNITS 132
struct gpu_time {
    unsigned dispatches;
    double latency_us, us;
};

/* Midgard does not count as a GPU here: its costs follow from the counts of its compiler. */
static inline bool tuner_is_gpu(const struct gpu_device *device)
{
    return !gpu_device_is_cpu(device) && !device->midgard;
}

/* Returns the cost of a technique from these times: how long a frame takes, in microseconds. */
double tuner_gpu_cost(const struct tuner_subject *subject, struct gpu_time time);

/* Lists the work-group sizes to try and returns their number. On a CPU the only one is 1. */
unsigned tuner_list_groups(const struct tuner *tuner, unsigned ret[TUNER_MAX_GROUPS]);

/* ---- tuner_cache.c ------------------------------------------------------------------------- */

bool tuner_same(const struct transform_tuning *a, const struct transform_tuning *b);

#endif
