/* The settings before anything is measured, and the values to try of those that all techniques
 * have.
 */
#include "transform/tuner_private.h"

#define MAX_SIZES   6

/* From the start of a dispatch on an H200 to that of its first item, and from the end of its last
 * one: an empty one takes 3.0 (docs/PERFORMANCE.md). */
#define DISPATCH_US 3.7

/* On a GPU each work-item of a transform is a lane. */
void tuner_vary_lanes(const struct tuner *tuner, struct tuner_values *ret)
{
    if (tuner->best.lanes == 1)
        return;
    for (unsigned lanes = 4; lanes <= 16; lanes *= 2) {
        struct transform_tuning tuning = tuner->best;
        tuning.lanes = lanes;
        tuner_add(ret, &tuning);
    }
}

void tuner_vary_size(const struct tuner *tuner, struct tuner_values *ret)
{
    const struct tuner_subject *subject = &tuner->subject;
    struct transform_tuning tuning = tuner->best;
    struct plan plan[MAX_SIZES];
    const struct plan_limits limits =
        transform_limits(subject->device, &subject->image, &subject->border, &tuning);
    const unsigned count = plan_rank(plan, tuner->exhaustive ? MAX_SIZES : 4, &limits);
    for (unsigned i = 0; i < count; i++) {
        tuning.length_x = plan[i].x.length;
        tuning.length_y = plan[i].y.length;
        tuner_add(ret, &tuning);
    }
}

/* The size is reset, because the best size depends on the radices. */
void tuner_vary_radix(const struct tuner *tuner, struct tuner_values *ret)
{
    const unsigned least = tuner->subject.device->midgard ? TUNER_LEAST_RADIX : 8;
    struct transform_tuning tuning = tuner->best;
    tuning.length_x = tuning.length_y = 0;
    for (unsigned radix = least; radix <= 16; radix++)
        if (radix != tuner->best.max_radix &&
            (tuner->exhaustive || radix == least || radix == 8 || radix == 10 || radix == 16)) {
            tuning.max_radix = radix;
            tuner_add(ret, &tuning);
        }
}

double tuner_gpu_cost(const struct tuner_subject *subject, struct gpu_time time)
{
    const struct transform_image *image = &subject->image;
    const double millions = 1e-6 * image->count * image->width * image->height;
    return time.dispatches * DISPATCH_US + time.latency_us +
           time.us * millions * GPU_UNITS / subject->device->compute_units;
}

unsigned tuner_list_groups(const struct tuner *tuner, unsigned ret[TUNER_MAX_GROUPS])
{
    if (gpu_device_is_cpu(tuner->subject.device)) {
        ret[0] = 1;
        return 1;
    }
    for (unsigned i = 0; i < TUNER_MAX_GROUPS; i++)
        ret[i] = 64u << i;
    return TUNER_MAX_GROUPS;
}

void transform_default_tuning(struct transform_tuning *ret, const struct gpu_device *device)
{
    *ret = (struct transform_tuning){
        .technique = TRANSFORM_FUSED, .max_radix = 16, .stages_per_dispatch = 2};
    if (device->type & CL_DEVICE_TYPE_CPU) {
        /* On a CPU a work-group is one item that computes in vector registers. */
        ret->lanes = device->vector_width >= 16 ? 16 : device->vector_width >= 8 ? 8 : 4;
        /* A butterfly of radix 16 fills all 32 registers of AVX-512 and leaves none for twiddles.
         */
        ret->max_radix = 8;
        ret->column_group = ret->row_group = 1;
        ret->columns = ret->rows = 1;
    } else {
        ret->lanes = 1;
        /* These settings measured fastest, or nearly so, on an H200 from 640x480 to 3840x2160. */
        ret->order = PLAN_ROWS_FIRST;
        ret->column_group = 192;
        ret->row_group = 256;
        if (device->midgard) {
            /* With these settings no kernel spills registers, and 64 items fit on a core (make
             * mali-counts). */
            ret->max_radix = 8;
            ret->column_group = ret->row_group = 64;
        }
        ret->columns = 4;
        ret->rows = 1;
        ret->skew = true;
        ret->twiddles = TWIDDLES_COMBINED;
    }
}
