#include "gpu/estimate.h"

#include <math.h>

/* Complex numbers that a dispatch transforms: half of the image, or the lines of all pairs. */
static double numbers_of(const struct transform *transform, enum cost_axis axis)
{
    const struct plan *plan = &transform->plan;
    const double length = plan->x.length, count = transform->image.count;
    return count * length *
           (axis == COST_COLUMNS ? plan->y.length / 2. : transform_staged_layout(transform).lines);
}

/* Adds the work of a pass, in one direction. That of the last stage along rows is in both. */
static bool add_pass(struct cost_work *work, const struct transform *transform,
                     const struct cost_device *device, enum cost_axis axis, const struct pass *pass,
                     enum cost_direction direction)
{
    const struct plan_axis *stages = axis == COST_COLUMNS ? &transform->plan.y : &transform->plan.x;
    for (unsigned i = pass->first; i < pass->first + pass->count; i++) {
        const struct cost_stage stage = {.precision =
                                             transform->tuning.half ? COST_HALF : COST_FLOAT,
                                         .axis = axis,
                                         .place = cost_place(axis, i, stages->stage_count),
                                         .direction = direction,
                                         .radix = stages->radix[i]};
        if (!cost_is_in_forward(&stage) &&
            !cost_add_stage(work, device, &stage, numbers_of(transform, axis)))
            return false;
    }
    return true;
}

/* Lists the passes of both axes in forward order, and returns how many of them are down columns. */
static unsigned list_passes(struct pass ret[2 * PLAN_MAX_STAGES], unsigned *ret_count,
                            const struct transform *transform)
{
    const unsigned columns = transform_passes(ret, transform, &transform->plan.y);
    *ret_count = columns + transform_passes(ret + columns, transform, &transform->plan.x);
    return columns;
}

double estimate_staged(struct cost_work *ret, const struct transform *transform,
                       const struct cost_device *device)
{
    struct pass pass[2 * PLAN_MAX_STAGES];
    unsigned count;
    const unsigned columns = list_passes(pass, &count, transform);
    struct transform planned = *transform;
    struct cost_work frame = {0};
    double seconds = 0;
    planned.dispatch_count = 2 * count - 1;
    for (unsigned i = 0; i < planned.dispatch_count; i++) {
        const bool is_middle = i + 1 == count;
        const unsigned at = i < count ? i : planned.dispatch_count - 1 - i;
        const enum cost_axis axis = at < columns ? COST_COLUMNS : COST_ROWS;
        struct cost_work work = {.bytes = transform_dispatch_traffic(&planned, i)};
        if ((i < count && !add_pass(&work, transform, device, axis, &pass[at], COST_FORWARD)) ||
            ((i >= count || is_middle) &&
             !add_pass(&work, transform, device, axis, &pass[at], COST_INVERSE))) {
            *ret = (struct cost_work){0};
            return HUGE_VAL;
        }
        frame.words += work.words;
        frame.accesses += work.accesses;
        frame.bytes += work.bytes;
        seconds += cost_seconds(&device->rates, &work);
    }
    *ret = frame;
    return seconds;
}

/* Kernels of radix 8 and more spill registers; 7 has not been counted in dispatches of several
 * stages. */
#define LEAST_RADIX 4
#define MOST_RADIX  6

double estimate_fastest(struct transform_tuning *tuning, const struct gpu_device *device,
                        const struct transform_image *image, const struct transform_border *border)
{
    struct transform_tuning best = *tuning;
    double best_s = HUGE_VAL;
    for (unsigned stages = 1; stages <= MAX_PASS_STAGES; stages++)
        for (unsigned radix = LEAST_RADIX; radix <= MOST_RADIX; radix++) {
            struct transform transform = {
                .device = device, .image = *image, .border = *border, .tuning = *tuning};
            struct cost_work work;
            struct error why;
            transform.tuning.technique = TRANSFORM_STAGED;
            transform.tuning.stages_per_dispatch = stages;
            transform.tuning.max_radix = radix;
            if (transform_fit(&transform, &why) < 0)
                continue;
            const double seconds = estimate_staged(&work, &transform, &cost_midgard);
            if (seconds < best_s) {
                best_s = seconds;
                best = transform.tuning;
            }
        }
    *tuning = best;
    return best_s;
}
