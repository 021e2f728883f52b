/* Computes the layout of a transform: the use of local memory, and the pitch of spectra. Nothing
 * here calls OpenCL. */
#include "transform/transform_private.h"

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
    return transform->tuning.recipe.precision == RECIPE_HALF ? 2 : 4;
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
 * added to such a pitch. With few lanes, a few neighbours are accessed at a time, so each row
 * begins at a memory sector. */
uint32_t transform_pitch(const struct transform *transform)
{
    const uint32_t lanes = transform->tuning.lanes, step = lanes <= 2 ? 8 / lanes : 1;
    const uint32_t half = plan_second(&transform->plan)->length / 2;
    const bool panels = transform->plan.order == PLAN_ROWS_FIRST;
    const uint32_t groups = panels ? half * transform->tuning.columns : half / lanes;
    const uint32_t pitch = (groups + step - 1) / step * step;
    return pitch + (pitch * lanes * 2 * transform_stored_bytes(transform) % 4096 == 0 ? step : 0);
}

struct response_layout transform_response_layout(const struct transform *transform)
{
    struct response_layout layout = {.plan = &transform->plan,
                                     .is_complex = transform->tuning.recipe.complex_response};
    transform->technique->lay_out_response(&layout, transform);
    return layout;
}

struct plan_limits transform_limits(const struct gpu_device *device,
                                    const struct transform_image *image,
                                    const struct transform_border *border,
                                    const struct transform_tuning *tuning)
{
    const bool is_midgard_staged = device->midgard && tuning->technique == TRANSFORM_STAGED;
    return (struct plan_limits){.width = image->width,
                                .height = image->height,
                                .margin_x = border->margin_x,
                                .margin_y = border->margin_y,
                                .order = tuning->order,
                                .lanes = tuning->lanes,
                                .max_radix = (uint8_t)tuning->max_radix,
                                .want_x = tuning->length_x,
                                .want_y = tuning->length_y,
                                .midgard_stages =
                                    is_midgard_staged ? tuning->stages_per_dispatch : 0,
                                .half = tuning->recipe.precision == RECIPE_HALF};
}

int transform_choose_plan(struct transform *transform, struct error *why)
{
    const struct plan_limits limits = transform_limits(transform->device, &transform->image,
                                                       &transform->border, &transform->tuning);
    return plan_choose(&transform->plan, &limits, why);
}
