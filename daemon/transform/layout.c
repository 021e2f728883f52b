/* Computes the layout of a transform: the use of local memory, and the size and pitch of spectra.
 * Nothing here calls OpenCL. */
#include <errno.h>

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

size_t transform_spectrum_size(const struct transform *transform)
{
    const struct plan_axis *axis = plan_first(&transform->plan);
    const uint32_t columns = transform->tuning.columns;
    const size_t row = (size_t)transform_pitch(transform) * transform->tuning.lanes * 2;
    if (transform->tuning.technique == TRANSFORM_STAGED)
        return transform_staged_layout(transform).spectrum_bytes /
               transform_stored_bytes(transform);
    if (transform->plan.order == PLAN_ROWS_FIRST)
        return (axis->length + columns - 1) / columns * row;
    return axis->length * row;
}

struct response_layout transform_response_layout(const struct transform *transform)
{
    const struct transform_tuning *tuning = &transform->tuning;
    const bool staged = tuning->technique == TRANSFORM_STAGED;
    return (struct response_layout){.plan = &transform->plan,
                                    .lanes = staged ? transform_staged_layout(transform).lines
                                             : tuning->order == PLAN_ROWS_FIRST ? tuning->columns
                                                                                : tuning->lanes,
                                    .legs_apart = !staged && tuning->lanes == 1,
                                    .is_complex = tuning->recipe.complex_response};
}

/* ---- staged -------------------------------------------------------------------------------- */

/* So that groups divide the lines, which are accessed in pairs, and begin at whole lines of cache.
 */
#define LINES_STEP      16
#define TABLE_STEP      16 /* bytes: the largest vector in a table */
#define IMAGE_ALIGNMENT 64 /* bytes */

/* Reserves bytes at the end of a buffer and returns where they begin. */
static size_t reserve(size_t *end, size_t bytes)
{
    const size_t at = (*end + TABLE_STEP - 1) / TABLE_STEP * TABLE_STEP;
    *end = at + bytes;
    return at;
}

static size_t whole_images(size_t bytes)
{
    return (bytes + IMAGE_ALIGNMENT - 1) / IMAGE_ALIGNMENT * IMAGE_ALIGNMENT;
}

struct staged_layout transform_staged_layout(const struct transform *transform)
{
    const struct plan *plan = &transform->plan;
    const size_t number = 2 * transform_stored_bytes(transform);
    const uint32_t pairs = plan_pair_count(plan);
    struct staged_layout ret = {.lines = (pairs + LINES_STEP - 1) / LINES_STEP * LINES_STEP};
    const size_t rows =
        plan->y.length + ret.lines - pairs; /* with a spare one for each line beyond */
    size_t spectrum = rows * transform_pitch(transform) * 2 * number;
    size_t lines = (size_t)plan->x.length * ret.lines * number;
    ret.spectrum_twiddles = reserve(&spectrum, plan_twiddle_count(&plan->y) * 2 * sizeof(float));
    ret.map_x = reserve(&spectrum, plan->x.length * sizeof(int32_t));
    ret.map_y = reserve(&spectrum, plan->y.length * sizeof(int32_t));
    ret.frequencies = reserve(&spectrum, plan->y.length * sizeof(uint16_t));
    ret.zeros = reserve(&spectrum, 2 * number);
    ret.lines_twiddles = reserve(&lines, plan_twiddle_count(&plan->x) * 2 * sizeof(float));
    ret.pairs = reserve(&lines, ret.lines * 2 * sizeof(uint32_t));
    ret.spectrum_bytes = whole_images(spectrum);
    ret.lines_bytes = whole_images(lines);
    return ret;
}

static unsigned pass_legs(const struct plan_axis *axis, const struct pass *pass)
{
    unsigned legs = 1;
    for (unsigned i = pass->first; i < pass->first + pass->count; i++)
        legs *= axis->radix[i];
    return legs;
}

unsigned transform_least_radix(const struct plan_axis *axis, const struct pass *pass)
{
    unsigned least = axis->radix[pass->first];
    for (unsigned i = pass->first; i < pass->first + pass->count; i++)
        if (axis->radix[i] < least)
            least = axis->radix[i];
    return least;
}

/* Items of a group for each pair of lines: the butterflies of the stage that has most of them. */
static unsigned pass_items(const struct plan_axis *axis, const struct pass *pass)
{
    return pass->count == 1 ? 1 : pass_legs(axis, pass) / transform_least_radix(axis, pass);
}

/* The middle pass computes its stages forward and inverse. A third stage raised its kernel from 78
 * to 118 words of arithmetic on a Mali-T760. */
#define MAX_MIDDLE_STAGES 2

/* The pairs of lines that a group should span: 8 numbers of 16 bytes in float. Half of that, 64
 * bytes, is a cache line. */
#define GROUP_WIDTH       8

/* Spreads the stages over as few passes of at most `most` stages as possible; the earlier ones have
 * one more if they are not all alike. Returns 0 if a pass needs more items than a group has. */
static unsigned spread(struct pass ret[PLAN_MAX_STAGES], const struct plan_axis *axis,
                       bool has_middle, unsigned most, unsigned group)
{
    const unsigned stages = axis->stage_count;
    const unsigned most_last = has_middle && most > MAX_MIDDLE_STAGES ? MAX_MIDDLE_STAGES : most;
    const unsigned count = stages <= most_last ? 1 : (stages - most_last + most - 1) / most + 1;
    unsigned first = 0;
    for (unsigned i = 0; i < count; i++) {
        const unsigned passes_left = count - i, stages_left = stages - first;
        ret[i].first = first;
        ret[i].count = (stages_left + passes_left - 1) / passes_left;
        if (passes_left == 2 && stages_left - ret[i].count > most_last)
            ret[i].count = stages_left - most_last;
        first += ret[i].count;
        if (ret[i].count > 1 && pass_items(axis, &ret[i]) * (GROUP_WIDTH / 2) > group)
            return 0;
    }
    return count;
}

static unsigned group_along(const struct transform *transform, const struct plan_axis *axis)
{
    return axis == &transform->plan.x ? transform->tuning.row_group
                                      : transform->tuning.column_group;
}

unsigned transform_passes(struct pass ret[PLAN_MAX_STAGES], const struct transform *transform,
                          const struct plan_axis *axis)
{
    const bool has_middle = axis == plan_second(&transform->plan);
    unsigned count = 0;
    for (unsigned most = transform->tuning.stages_per_dispatch; count == 0; most--)
        count = spread(ret, axis, has_middle, most, group_along(transform, axis));
    return count;
}

static size_t largest_divisor(size_t number, size_t limit)
{
    size_t divisor = number < limit ? number : limit;
    while (number % divisor != 0)
        divisor--;
    return divisor;
}

struct staged_range transform_staged_range(const struct transform *transform,
                                           const struct plan_axis *axis, const struct pass *pass)
{
    const bool along_v = axis == plan_second(&transform->plan);
    const size_t group = group_along(transform, axis), items = pass_items(axis, pass);
    const size_t across = along_v ? transform_staged_layout(transform).lines / 2
                                  : plan_second(&transform->plan)->length / 4;
    const uint32_t span = plan_span(axis, pass->first + pass->count - 1);
    const size_t blocks = (size_t)axis->length / span / pass_legs(axis, pass);
    const bool moves_lines = along_v && pass->first == 0;
    struct staged_range range = {.global = {across, span, blocks * transform->image.count},
                                 .local = {1, 1, 1}};
    if (pass->count > 1) {
        range.local[0] = largest_divisor(across, group / items);
        range.local[1] = items;
        range.global[1] *= items;
        if (moves_lines) { /* neighbouring groups are neighbouring places */
            range.global[0] = range.local[0] * span;
            range.global[1] = across / range.local[0] * items;
            range.lines = 1;
        }
        return range;
    }
    /* Lines are written along the first dimension and read along the second one. */
    range.local[0] =
        largest_divisor(across, moves_lines && group > GROUP_WIDTH ? GROUP_WIDTH : group);
    if (moves_lines || range.local[0] <= group / 4)
        range.local[1] = largest_divisor(span, group / range.local[0]);
    return range;
}

/* ---- memory ---- */

static uint64_t twiddle_bytes(const struct plan_axis *axis)
{
    return (uint64_t)plan_twiddle_count(axis) * 2 * sizeof(cl_float);
}

/* The tables that the fused technique and the view of a spectrum have (transform.c); those of the
 * staged technique follow the spectra of each frame. */
uint64_t transform_part_bytes(const struct transform *transform)
{
    const struct plan *plan = &transform->plan;
    const uint64_t lengths = (uint64_t)plan->x.length + plan->y.length;
    uint64_t bytes = 0;
    if (transform->tuning.technique == TRANSFORM_FUSED)
        bytes += twiddle_bytes(&plan->x) + twiddle_bytes(&plan->y) + lengths * sizeof(cl_int) +
                 (uint64_t)plan_pair_count(plan) * 2 * sizeof(cl_uint) +
                 (uint64_t)plan_first(plan)->length * sizeof(cl_ushort);
    if (view_is_spectrum(transform->tuning.recipe.view))
        bytes += lengths * sizeof(cl_uint);
    return bytes;
}

static uint64_t staged_bytes(const struct transform *transform)
{
    const struct staged_layout layout = transform_staged_layout(transform);
    return (uint64_t)transform->image.count * layout.spectrum_bytes +
           (uint64_t)transform->image.count * layout.lines_bytes;
}

/* The spectra, and what a view keeps of them or of the samples (frame.c). */
uint64_t transform_frame_bytes(const struct transform *transform)
{
    const struct transform_image *image = &transform->image;
    const struct response_layout response = transform_response_layout(transform);
    uint64_t bytes = transform->tuning.technique == TRANSFORM_STAGED
                         ? staged_bytes(transform)
                         : (uint64_t)image->count * transform_spectrum_size(transform) *
                               transform_stored_bytes(transform);
    if (view_is_spectrum(transform->tuning.recipe.view))
        bytes += (uint64_t)response_part_count(&response) * sizeof(cl_float);
    if (transform->tuning.recipe.view == VIEW_EDGES)
        bytes += (uint64_t)image->width * image->height * sizeof(cl_ushort);
    return bytes;
}

/* The staged technique fills the buffers of a frame in memory of the host. */
uint64_t transform_making_bytes(const struct transform *transform)
{
    return transform->tuning.technique == TRANSFORM_STAGED ? staged_bytes(transform)
                                                           : transform_part_bytes(transform);
}

/* In half precision H is computed as floats first. */
uint64_t transform_filling_bytes(const struct transform *transform,
                                 const struct filter_chain *chain, double sub_x, double sub_y)
{
    const struct response_layout layout = transform_response_layout(transform);
    const bool half = transform->tuning.recipe.precision == RECIPE_HALF;
    return response_filling_bytes(&layout, chain, sub_x, sub_y) +
           (half ? (uint64_t)transform_response_bytes(transform) * 2 : 0);
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
                                .midgard_stages =
                                    is_midgard_staged ? tuning->stages_per_dispatch : 0,
                                .half = tuning->recipe.precision == RECIPE_HALF};
}

/* Reduces the lines of a work-group until they fit into the device's local memory. */
static int fit_local_memory(struct transform *transform, struct error *why)
{
    struct transform_tuning *tuning = &transform->tuning;
    const struct gpu_device *device = transform->device;
    struct plan *plan = &transform->plan;
    for (;;) {
        const struct plan_limits limits =
            transform_limits(device, &transform->image, &transform->border, tuning);
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

#define STAGED_GROUP 64

static unsigned at_least(unsigned value, unsigned least)
{
    return value < least ? least : value;
}

int transform_fit(struct transform *transform, struct error *why)
{
    struct transform_tuning *tuning = &transform->tuning;
    const unsigned max_group = (unsigned)transform->device->max_group;
    if (tuning->technique == TRANSFORM_STAGED) {
        tuning->lanes = 2;
        /* Groups of one item, which suit `fused` on a CPU, could not share stages. */
        tuning->column_group = at_least(tuning->column_group, STAGED_GROUP);
        tuning->row_group = at_least(tuning->row_group, STAGED_GROUP);
    }
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
