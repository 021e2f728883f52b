/* Computes the layout of a transform: the use of local memory, and the size and pitch of spectra.
 * Nothing here calls OpenCL. */
#include <errno.h>

#include "gpu/transform_private.h"

/* Elements of local memory for one column or row; must match skewed() in fused.cl. */
static size_t skewed(const struct plan_axis *axis, bool skew)
{
    const uint32_t last = axis->length - 1, unit = axis->radix[axis->stage_count - 1];
    return last + (skew && unit % 2 == 0 ? last / unit : 0) + 1;
}

/* Bytes of one number in local memory, which is always float. If stages are held in registers, only
 * one part of it, real or imaginary, is there at a time. */
static size_t work_bytes(const struct transform_tuning *tuning, bool held)
{
    return tuning->lanes * (held ? sizeof(float) : 2 * sizeof(float));
}

static size_t column_local(const struct plan *plan, const struct transform_tuning *tuning)
{
    return skewed(&plan->y, tuning->skew) * tuning->columns *
           work_bytes(tuning, tuning->columns_held);
}

static size_t row_local(const struct plan *plan, const struct transform_tuning *tuning)
{
    return skewed(&plan->x, tuning->skew) * tuning->rows * work_bytes(tuning, tuning->rows_held);
}

size_t transform_stored_bytes(const struct transform *transform)
{
    return transform->tuning.half ? 2 : 4;
}

struct line_layout transform_line_layout(const struct transform *transform,
                                         const struct plan_axis *axis)
{
    const struct plan *plan = &transform->plan;
    const struct transform_tuning *tuning = &transform->tuning;
    if (axis == &plan->x)
        return (struct line_layout){.axis = axis,
                                    .along_rows = true,
                                    .group = tuning->row_group,
                                    .lines = tuning->rows,
                                    .held = tuning->rows_held,
                                    .work_bytes = row_local(plan, tuning),
                                    .twiddle = transform->twiddle_x};
    return (struct line_layout){.axis = axis,
                                .along_rows = false,
                                .group = tuning->column_group,
                                .lines = tuning->columns,
                                .held = tuning->columns_held,
                                .work_bytes = column_local(plan, tuning),
                                .twiddle = transform->twiddle_y};
}

/* Rows or panels that are a multiple of 4 KiB apart would share a few cache sets, so one step is
 * added to such a pitch. With one lane, a few neighbours are accessed at a time, so each row begins
 * at a memory sector. */
uint32_t transform_pitch(const struct transform *transform)
{
    const uint32_t lanes = transform->tuning.lanes, step = lanes == 1 ? 8 : 1;
    const uint32_t half = plan_second(&transform->plan)->length / 2;
    const bool panels = transform->plan.order == PLAN_ROWS_FIRST;
    const uint32_t groups = panels ? half * transform->tuning.columns : half / lanes;
    const uint32_t pitch = (groups + step - 1) / step * step;
    return pitch + (pitch * lanes * 2 * transform_stored_bytes(transform) % 4096 == 0 ? step : 0);
}

/* The size includes the two spare rows of the staged technique. */
size_t transform_spectrum_size(const struct transform *transform)
{
    const uint32_t length = plan_first(&transform->plan)->length;
    const uint32_t columns = transform->tuning.columns;
    const bool panels = transform->plan.order == PLAN_ROWS_FIRST;
    const size_t rows = panels ? (length + columns - 1) / columns : length + 2;
    return rows * transform_pitch(transform) * transform->tuning.lanes * 2;
}

/* Stages are paired from the last one backwards. The last radices are the smallest, and an item
 * keeps the product of two radices in the cache between its two stages. */
unsigned transform_passes(struct pass ret[PLAN_MAX_STAGES], const struct plan_axis *axis,
                          const struct transform_tuning *tuning)
{
    const unsigned each = tuning->stages_per_dispatch == 1 ? 1 : 2;
    unsigned count = 0;
    for (unsigned first = 0; first < axis->stage_count; count++) {
        ret[count].first = first;
        ret[count].count = (axis->stage_count - first) % each != 0 ? 1 : each;
        first += ret[count].count;
    }
    return count;
}

struct plan_limits transform_limits(const struct transform_image *image,
                                    const struct transform_border *border,
                                    const struct transform_tuning *tuning)
{
    return (struct plan_limits){.width = image->width,
                                .height = image->height,
                                .margin_x = border->margin_x,
                                .margin_y = border->margin_y,
                                .order = tuning->order,
                                .lanes = tuning->lanes,
                                .max_radix = (uint8_t)tuning->max_radix,
                                .want_x = tuning->length_x,
                                .want_y = tuning->length_y};
}

/* Reduces the lines of a work-group until they fit into the device's local memory. */
static int fit_local_memory(struct transform *transform, struct error *why)
{
    struct transform_tuning *tuning = &transform->tuning;
    const struct gpu_device *device = transform->device;
    struct plan *plan = &transform->plan;
    for (;;) {
        const struct plan_limits limits =
            transform_limits(&transform->image, &transform->border, tuning);
        const int r = plan_choose(plan, &limits, why);
        if (r < 0)
            return r;
        if (tuning->technique == TRANSFORM_STAGED)
            return 0;
        const bool columns_fit = column_local(plan, tuning) <= device->local_bytes;
        const bool rows_fit = row_local(plan, tuning) <= device->local_bytes;
        if (columns_fit && rows_fit)
            return 0;
        /* Fewer than four columns fill only part of a memory sector, so holding columns in
         * registers comes first. A panel of two columns fills a sector with two rows. */
        const bool rows_first = tuning->order == PLAN_ROWS_FIRST;
        const bool may_hold_columns = tuning->lanes == 1 && !tuning->columns_held;
        const unsigned narrowest = !may_hold_columns ? 1 : rows_first ? 2 : 4;
        if (!columns_fit && tuning->columns > narrowest) {
            tuning->columns /= 2;
            if (rows_first && tuning->columns == 2 && tuning->rows == 1) {
                tuning->rows = 2;
                tuning->row_group *= 2;
            }
        } else if (!columns_fit && may_hold_columns)
            tuning->columns_held = true;
        else if (!rows_fit && tuning->lanes == 1 && !tuning->rows_held)
            tuning->rows_held = true;
        else if (!rows_fit && tuning->rows > 1)
            tuning->rows /= 2;
        else if (tuning->skew)
            tuning->skew = false;
        else if (tuning->lanes > 1)
            tuning->lanes /= 2;
        else
            return error_set(
                why, ERANGE,
                "a transform of %ux%u needs %zu bytes of local memory, but %s has %llu",
                plan->x.length, plan->y.length,
                work_bytes(tuning, true) *
                    (plan->x.length > plan->y.length ? plan->x.length : plan->y.length),
                device->name, (unsigned long long)device->local_bytes);
    }
}

int transform_fit(struct transform *transform, struct error *why)
{
    struct transform_tuning *tuning = &transform->tuning;
    const unsigned max_group = (unsigned)transform->device->max_group;
    if (tuning->technique == TRANSFORM_STAGED)
        tuning->lanes = 1;
    if (tuning->lanes > 1)
        tuning->columns_held = tuning->rows_held = false;
    if (tuning->lanes > 1 || tuning->technique == TRANSFORM_STAGED)
        tuning->order = PLAN_COLUMNS_FIRST;
    const int r = fit_local_memory(transform, why);
    if (tuning->column_group > max_group)
        tuning->column_group = max_group;
    if (tuning->row_group > max_group)
        tuning->row_group = max_group;
    return r;
}
