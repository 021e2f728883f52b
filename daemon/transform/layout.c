/* Computes the layout of a transform: the use of local memory, the pitch of spectra, and borders.
 */
#include <errno.h>

#include "transform/transform_private.h"

/* Elements of local memory for one column or row; must match skewed() in fused.cl. */
static size_t skewed(const struct plan_axis *axis, bool skew)
{
    const uint32_t last = axis->length - 1, unit = axis->radix[axis->stage_count - 1];
    return last + (skew && unit % 2 == 0 ? last / unit : 0) + 1;
}

size_t transform_stored_bytes(const struct transform *transform)
{
    return transform->tuning.recipe.precision == RECIPE_HALF ? 2 : 4;
}

/* Local memory holds floats. If stages are held in registers, only one part of each number, real or
 * imaginary, is there at a time. */
struct line_layout transform_line_layout(const struct transform *transform,
                                         const struct plan_axis *axis)
{
    const struct transform_tuning *tuning = &transform->tuning;
    const bool along_rows = axis == &transform->plan.x;
    struct line_layout layout = {.axis = axis,
                                 .along_rows = along_rows,
                                 .group = along_rows ? tuning->row_group : tuning->column_group,
                                 .lines = along_rows ? tuning->rows : tuning->columns,
                                 .held = along_rows ? tuning->rows_held : tuning->columns_held,
                                 .twiddle =
                                     along_rows ? transform->twiddle_x : transform->twiddle_y};
    layout.work_bytes = skewed(axis, tuning->skew) * layout.lines * tuning->lanes *
                        (layout.held ? 1 : 2) * sizeof(float);
    return layout;
}

struct line_layout transform_larger_lines(const struct transform *transform)
{
    const struct plan_axis *axis = plan_second(&transform->larger->plan);
    struct line_layout layout = transform_line_layout(transform, plan_second(&transform->plan));
    layout.axis = axis;
    layout.twiddle = transform_line_layout(transform->larger, axis).twiddle;
    layout.work_bytes = skewed(axis, transform->tuning.skew) * layout.lines *
                        transform->tuning.lanes * 2 * sizeof(float);
    return layout;
}

size_t transform_complete_size(const struct transform *transform)
{
    if (!transform_completes(transform))
        return 0;
    const struct transform *load = transform->larger != NULL ? transform->larger : transform;
    const struct line_layout lines = transform_line_layout(load, plan_second(&load->plan));
    const size_t per_group = (size_t)lines.lines * load->tuning.lanes;
    const size_t groups = (plan_pair_count(&load->plan) + per_group - 1) / per_group;
    return groups * per_group * lines.axis->length * 2;
}

uint32_t transform_whole_groups(const struct transform *load, uint32_t shared, uint32_t band)
{
    const struct plan *plan = &load->plan;
    const uint32_t pairs = plan_pair_count(plan), most = band == 0 || band > pairs ? pairs : band;
    const uint32_t per_group =
        transform_line_layout(load, plan_second(plan)).lines * load->tuning.lanes;
    if (!transform_completes(load) || shared >= most)
        return transform_completes(load) ? most : 0;
    const uint32_t whole = (shared + per_group - 1) / per_group * per_group;
    return whole < most ? whole : most;
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
                                     .lanes = 1,
                                     .loaded = transform_loaded(transform),
                                     .is_complex = transform->tuning.recipe.complex_response,
                                     .crop_edge = transform->tuning.recipe.crop_edge};
    if (transform->technique->lay_out_response != NULL)
        transform->technique->lay_out_response(&layout, transform);
    return layout;
}

/* ---- the plan ------------------------------------------------------------------------------ */

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
                                .smaller_width = image->smaller.width,
                                .smaller_height = image->smaller.height,
                                .midgard_stages =
                                    is_midgard_staged ? tuning->stages_per_dispatch : 0,
                                .half = tuning->recipe.precision == RECIPE_HALF};
}

/* In lengths that are in the ratio of both images' sides. */
static int choose_plan_of_result(struct transform *transform, struct error *why)
{
    const struct transform *larger = transform->larger;
    const struct transform_image *image = &transform->image;
    struct plan_limits limits =
        transform_limits(larger->device, &larger->image, &larger->border, &larger->tuning);
    limits.lanes = transform->tuning.lanes;
    limits.smaller_width = image->width;
    limits.smaller_height = image->height;
    if (!transform_is_smaller(transform)) {
        transform->plan = larger->plan;
        return 0;
    }
    return plan_smaller(&transform->plan, &larger->plan, &limits) == 0
               ? 0
               : error_set(why, EINVAL,
                           "no lengths of %ux%u are in the ratio of %ux%u to a transform of %ux%u",
                           image->width, image->height, limits.width, limits.height,
                           larger->plan.x.length, larger->plan.y.length);
}

int transform_choose_plan(struct transform *transform, struct error *why)
{
    if (transform->larger != NULL)
        return choose_plan_of_result(transform, why);
    const struct plan_limits limits = transform_limits(transform->device, &transform->image,
                                                       &transform->border, &transform->tuning);
    const int r = plan_choose(&transform->plan, &limits, why);
    const bool may_be_side = r == -ERANGE && limits.smaller_width > 0;
    return may_be_side && plan_check_smaller(&limits, why) < 0 ? -EINVAL : r;
}

int transform_make_map(cl_mem *ret, const struct transform *transform, uint32_t padded,
                       uint32_t length, enum plan_border mode, struct error *why)
{
    int32_t map[PLAN_MAX_LENGTH];
    plan_border_map(map, padded, length, mode);
    return opencl_make_table(ret, transform->device->context, map, padded * sizeof map[0], why);
}

void transform_plan_border(struct transform *transform, uint32_t reach)
{
    const struct transform_image *image = &transform->image;
    transform->tuning.order = PLAN_COLUMNS_FIRST;
    transform->plan = (struct plan){.width = image->width,
                                    .height = image->height,
                                    .order = PLAN_COLUMNS_FIRST,
                                    .x.length = image->width + 2 * reach,
                                    .y.length = image->height + 2 * reach};
}

struct transform_bytes transform_border_memory(const struct transform *transform)
{
    const struct plan *plan = &transform->plan;
    const uint64_t maps = ((uint64_t)plan->x.length + plan->y.length) * sizeof(cl_int);
    return (struct transform_bytes){.tables = maps, .making = maps};
}

int transform_make_border_maps(struct transform *transform, struct error *why)
{
    const struct plan *plan = &transform->plan;
    const enum plan_border mode = transform->border.mode;
    const int r =
        transform_make_map(&transform->map_x, transform, plan->x.length, plan->width, mode, why);
    return r < 0 ? r
                 : transform_make_map(&transform->map_y, transform, plan->y.length, plan->height,
                                      mode, why);
}
