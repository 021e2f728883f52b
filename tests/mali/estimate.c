#include "mali/estimate.h"

#include <math.h>

/* Complex numbers that a dispatch transforms: half of the image, or the lines of all pairs. */
static double numbers_of(const struct transform *transform, enum cost_axis axis)
{
    const struct plan *plan = &transform->plan;
    const double length = plan->x.length, count = transform->image.count;
    return count * length *
           (axis == COST_COLUMNS ? plan->y.length / 2. : transform_staged_layout(transform).lines);
}

/* A dispatch of the model. `share` is the part that the band needs of its lines along rows, or of
 * the legs that the inverse of the last stage down columns loads; other dispatches have 1. */
struct step {
    const struct pass *pass;
    enum cost_axis axis;
    bool forward, inverse; /* the one in the middle is both */
    double share;
};

/* The share of the spectrum that belongs to a band: each frequency but 0 has a negative. */
static double spectrum_share(const struct transform *transform, uint32_t band)
{
    return (2. * band - 1) / transform->plan.y.length;
}

/* The share of the lines that a pass along rows transforms: whole groups of them. */
static double lines_share(const struct transform *transform, const struct pass *pass, uint32_t band)
{
    const double group =
        2. * (double)transform_staged_range(transform, &transform->plan.x, pass).local[0];
    return ceil(band / group) * group / transform_staged_layout(transform).lines;
}

/* Adds the stages of a dispatch in one direction. Forward, the last one along rows has its inverse,
 * too. */
static bool add_pass(struct cost_work *work, const struct transform *transform,
                     const struct cost_device *device, const struct step *step,
                     enum cost_direction direction)
{
    const bool along_rows = step->axis == COST_ROWS;
    const struct plan_axis *stages = along_rows ? &transform->plan.x : &transform->plan.y;
    const double numbers = numbers_of(transform, step->axis) * (along_rows ? step->share : 1);
    const unsigned first = step->pass->first;
    for (unsigned i = first; i < first + step->pass->count; i++) {
        const struct cost_stage stage = {.precision =
                                             transform->tuning.half ? COST_HALF : COST_FLOAT,
                                         .axis = step->axis,
                                         .place = cost_place(step->axis, i, stages->stage_count),
                                         .direction = direction,
                                         .radix = stages->radix[i]};
        if (!cost_is_in_forward(&stage) && !cost_add_stage(work, device, &stage, numbers))
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

/* Subtracts the bytes that a dispatch does not move. Down columns these are the legs outside the
 * band, which the inverse of the last stage does not load; forward it stores all. */
static void leave_out(struct cost_work *work, const struct transform *transform,
                      const struct step *step)
{
    const double numbers = numbers_of(transform, COST_COLUMNS) * (1 - step->share);
    const double bytes = numbers * 2 * (double)transform_stored_bytes(transform);
    if (step->axis == COST_ROWS) {
        work->bytes -= 2 * bytes;
        if (step->forward && step->inverse)
            work->bytes -= (double)transform_response_bytes(transform) * (1 - step->share);
    } else if (step->inverse) {
        work->bytes -= bytes;
    }
}

/* Adds the work of a dispatch. */
static bool add_step(struct cost_work *work, const struct transform *transform,
                     const struct cost_device *device, const struct step *step)
{
    if ((step->forward && !add_pass(work, transform, device, step, COST_FORWARD)) ||
        (step->inverse && !add_pass(work, transform, device, step, COST_INVERSE)))
        return false;
    leave_out(work, transform, step);
    return true;
}

double estimate_staged(struct cost_work *ret, const struct transform *transform,
                       const struct cost_device *device, uint32_t band)
{
    struct pass pass[2 * PLAN_MAX_STAGES];
    unsigned count;
    const unsigned columns = list_passes(pass, &count, transform);
    const bool leaves_out = band > 0 && band <= transform->plan.y.length / 2;
    struct transform planned = *transform;
    struct cost_work frame = {0};
    double seconds = 0;
    planned.dispatch_count = 2 * count - 1;
    for (unsigned i = 0; i < planned.dispatch_count; i++) {
        const unsigned at = i < count ? i : planned.dispatch_count - 1 - i;
        struct cost_work work = {.bytes = transform_dispatch_traffic(&planned, i)};
        struct step step = {.pass = &pass[at],
                            .axis = at < columns ? COST_COLUMNS : COST_ROWS,
                            .forward = i < count,
                            .inverse = i + 1 >= count,
                            .share = 1};
        if (leaves_out && at >= columns)
            step.share = lines_share(transform, &pass[at], band);
        else if (leaves_out && at + 1 == columns)
            step.share = spectrum_share(transform, band);
        if (!add_step(&work, transform, device, &step)) {
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
