/* The tiles technique: one dispatch that transforms small tiles of the image, for filters of medium
 * reach (kernels/transform/tiles.cl).
 *
 * It uses the settings of lines in its own way: a tile has columns * rows samples along each axis,
 * which are the radices of its two stages, and a group column_group items. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/text.h"
#include "transform/tuner_private.h"

#define MAX_RADIX      16
#define MAX_COLUMNS    32
#define GPU_RADIX      8        /* radix of the second stage */
#define CPU_LANES      8        /* more would need a butterfly of 16, which spills registers */
#define MAX_WORK_BYTES 0x50000u /* local memory: what a core's second cache holds beside H */

#define COST_EXPONENT  0.15 /* how the cost of a number grows with the side */
#define WIDE_RADIX     12   /* on a GPU: it takes registers from other groups */
#define WIDE_COST      1.25

/* Costs measured on a CPU with registers of 512 bits, and on an H200. */
static const struct tile_cost {
    double number; /* a CPU: one in a tile of 64 x 64, compared with one of the spectrum of `fused`;
                      a GPU: microseconds of a million of them */
    uint32_t radius; /* the greatest class of radius with which tiles were faster */
} cpu_cost = {0.4, 24}, gpu_cost = {8.3, 16};
#define GPU_LATENCY_US 0.3

static const struct tile_cost *cost_on(const struct gpu_device *device)
{
    return gpu_device_is_cpu(device) ? &cpu_cost : &gpu_cost;
}

/* ---- layout -------------------------------------------------------------------------------- */

static uint32_t side_of(const struct transform_tuning *tuning)
{
    return tuning->columns * tuning->rows;
}

/* A tile has what h has beyond the radius at its far end, so that counts twice. The class of a
 * filter that is not short allows for it (taps_tile_reach_of). Taps of a blur, which is a product,
 * are less than half from one sample to the next where they end, so there one sample more does. */
static uint32_t margin_of(const struct transform_tuning *tuning)
{
    return tuning->recipe.reach.radius + (tuning->recipe.reach.products > 0);
}

/* Results of a tile along x, in whole vectors, and along y. 0: the margins take all. */
static uint32_t valid_x(const struct transform_tuning *tuning)
{
    const uint32_t side = side_of(tuning), margins = 2 * margin_of(tuning);
    return side > margins ? (side - margins) / tuning->lanes * tuning->lanes : 0;
}

static uint32_t valid_y(const struct transform_tuning *tuning)
{
    const uint32_t side = side_of(tuning), margins = 2 * margin_of(tuning);
    return side > margins ? side - margins : 0;
}

/* Rows of several lanes from one panel to the next. With a multiple of 4 KiB panels would share few
 * sets of a cache. */
static uint32_t panel_of(const struct transform_tuning *tuning)
{
    const uint32_t rows = side_of(tuning) + tuning->lanes;
    return rows + (rows * tuning->lanes * 2 * sizeof(cl_float) % 4096 == 0 ? tuning->lanes : 0);
}

/* Two tiles (tiles_lanes.cl), or the real parts of two (tiles_items.cl). */
static size_t work_bytes(const struct transform_tuning *tuning)
{
    const size_t side = side_of(tuning);
    return (tuning->lanes > 1 ? side * panel_of(tuning) * 2 : side * (side | 1)) * sizeof(cl_float);
}

static uint32_t count_tiles(const struct transform_tuning *tuning,
                            const struct transform_image *image)
{
    const uint32_t x = valid_x(tuning), y = valid_y(tuning);
    return (image->width + x - 1) / x * ((image->height + y - 1) / y);
}

/* Splits a side into stages, of which the last one has radix `rows`, and on a GPU only one comes
 * before. Returns false if it has no radices. */
static bool make_axis(struct plan_axis *ret, const struct transform_tuning *tuning)
{
    const uint8_t max_radix = tuning->lanes > 1 ? (uint8_t)tuning->max_radix : MAX_RADIX;
    if (tuning->columns < 2 || plan_factor(ret, tuning->columns, max_radix, 0) < 0 ||
        (tuning->lanes == 1 && ret->stage_count > 1))
        return false;
    ret->length = side_of(tuning);
    ret->radix[ret->stage_count++] = (uint8_t)tuning->rows;
    return true;
}

static bool fits(const struct transform_tuning *tuning, const struct gpu_device *device)
{
    const size_t bytes = work_bytes(tuning);
    struct plan_axis axis;
    return !device->midgard && make_axis(&axis, tuning) && valid_x(tuning) > 0 &&
           bytes <= device->local_bytes && bytes <= MAX_WORK_BYTES;
}

/* The time of an image. On a CPU it is that of numbers of the spectrum of `fused`. */
static double work_of(const struct transform_tuning *tuning, const struct transform_image *image,
                      const struct gpu_device *device)
{
    const double side = side_of(tuning);
    const size_t pairs = (count_tiles(tuning, image) + 1) / 2;
    const bool is_wide = tuning->lanes == 1 && tuning->columns == WIDE_RADIX;
    return (double)pairs * side * side * cost_on(device)->number * pow(side / 64, COST_EXPONENT) *
           (is_wide ? WIDE_COST : 1);
}

/* Butterflies of other radices took a third longer on an H100. */
static bool suits_gpu(unsigned radix)
{
    return radix == 4 || radix == 6 || radix == 8 || radix == WIDE_RADIX;
}

/* Sets the first radix with the least work. Returns false if none fits. */
static bool choose_side(struct transform_tuning *tuning, const struct transform_image *image,
                        const struct gpu_device *device)
{
    struct transform_tuning trial = *tuning;
    double least = HUGE_VAL;
    for (trial.columns = 2; trial.columns <= MAX_COLUMNS; trial.columns++)
        if (fits(&trial, device) && (gpu_device_is_cpu(device) || suits_gpu(trial.columns)) &&
            work_of(&trial, image, device) < least) {
            least = work_of(&trial, image, device);
            tuning->columns = trial.columns;
        }
    return least < HUGE_VAL;
}

static void describe(const struct transform *transform, char *text, size_t size)
{
    const uint32_t side = side_of(&transform->tuning);
    text_append(text, size, "of %ux%u", side, side);
}

/* An item of a GPU has one butterfly of the first stage, or more if the group would be too large.
 * With two it needs so many registers that half as many groups run at a time. */
static void set_group(struct transform_tuning *tuning, const struct gpu_device *device)
{
    tuning->column_group = gpu_device_is_cpu(device) ? 1 : side_of(tuning) * tuning->rows;
    while (tuning->column_group > device->max_group)
        tuning->column_group /= 2;
}

static void start(struct transform_tuning *ret, const struct tuner_subject *subject)
{
    const bool is_cpu = gpu_device_is_cpu(subject->device);
    ret->lanes = !is_cpu ? 1 : ret->lanes < CPU_LANES ? ret->lanes : CPU_LANES;
    ret->rows = is_cpu ? ret->lanes : GPU_RADIX;
    choose_side(ret, &subject->image, subject->device);
    set_group(ret, subject->device);
}

static double cost(const struct tuner_subject *subject)
{
    struct transform_tuning tuning;
    const struct transform_image *image = &subject->image;
    const double samples = (double)image->width * image->height;
    transform_default_tuning(&tuning, subject->device);
    tuning.recipe.reach = subject->reach;
    start(&tuning, subject);
    /* A factor has no neighbours, so it needs no tile. */
    const bool is_factor = subject->reach.is_short && subject->reach.radius == 0;
    if (is_factor || taps_reach_is_far(subject->reach) || !fits(&tuning, subject->device))
        return HUGE_VAL;
    const double work = work_of(&tuning, image, subject->device);
    if (gpu_device_is_cpu(subject->device))
        return work / (samples / 2);
    return tuner_gpu_cost(
        subject,
        (struct gpu_time){.dispatches = 1, .latency_us = GPU_LATENCY_US, .us = work / samples});
}

uint32_t transform_tile_radius(const struct gpu_device *device)
{
    return device->midgard ? 0 : cost_on(device)->radius;
}

static int fit(struct transform *transform, struct error *why)
{
    struct transform_tuning *tuning = &transform->tuning;
    const struct taps_reach *reach = &tuning->recipe.reach;
    const struct transform_image *image = &transform->image;
    if (taps_reach_is_far(*reach))
        return error_set(why, ERANGE,
                         "engine.technique = tiles is for filters that reach at most %u pixels: "
                         "expected auto, fused or staged",
                         TAPS_MAX_TILE_RADIUS);
    tuning->rows = tuning->lanes > 1 ? tuning->lanes : GPU_RADIX;
    if (!fits(tuning, transform->device) && !choose_side(tuning, image, transform->device))
        return error_set(why, ERANGE,
                         "tiles for filters of radius %u do not fit into the registers or the %llu "
                         "bytes of local memory of %s",
                         reach->radius, (unsigned long long)transform->device->local_bytes,
                         transform->device->name);
    transform_plan_border(transform, margin_of(tuning));
    return 0;
}

static struct plan_axis axis_of(const struct transform *transform)
{
    struct plan_axis axis = {.length = 0};
    make_axis(&axis, &transform->tuning);
    return axis;
}

static uint64_t twiddle_bytes(const struct transform *transform)
{
    const struct plan_axis axis = axis_of(transform);
    return (uint64_t)plan_twiddle_count(&axis) * 2 * sizeof(cl_float);
}

static struct transform_bytes memory(const struct transform *transform)
{
    const uint64_t tables = transform_border_memory(transform).tables + twiddle_bytes(transform);
    return (struct transform_bytes){.tables = tables, .making = tables + twiddle_bytes(transform)};
}

/* ---- the response -------------------------------------------------------------------------- */

static struct plan plan_of_tile(const struct transform *transform)
{
    const struct plan_axis axis = axis_of(transform);
    return (struct plan){
        .width = axis.length, .height = axis.length, .order = PLAN_COLUMNS_FIRST, axis, axis};
}

static size_t count_response(const struct transform *transform)
{
    const size_t side = side_of(&transform->tuning);
    return side * side * (transform->tuning.recipe.complex_response ? 2 : 1);
}

/* Copies half of H, as response_fill makes it, to the places of all of it (tiles.cl): that of a
 * frequency's negative is its conjugate. */
static void put_response(float *values, const struct transform *transform, const float *half,
                         const struct response_layout *layout)
{
    const struct plan_axis *axis = &layout->plan->y;
    const uint32_t side = axis->length, lanes = transform->tuning.lanes;
    for (uint32_t u = 0; u < side; u++)
        for (uint32_t v = 0; v < side; v++) {
            const uint32_t f = plan_frequency(axis, u), g = plan_frequency(axis, v);
            const bool is_negative = 2 * f > side;
            const size_t from =
                is_negative ? (size_t)(side - f) * side + plan_position(axis, (side - g) % side)
                            : (size_t)f * side + v;
            float *to = &values[lanes > 1 ? ((size_t)(u / lanes) * side + v) * lanes + u % lanes
                                          : (size_t)v * side + u];
            *to = half[from];
            if (layout->is_complex)
                to[(size_t)side * side] =
                    half[response_part_count(layout) + from] * (is_negative ? -1.0f : 1.0f);
        }
}

static int fill_response(const struct transform *transform, float *values,
                         const struct filter_chain *chain, double sub_x, double sub_y,
                         struct error *why)
{
    const struct plan plan = plan_of_tile(transform);
    const struct response_layout layout = {
        .plan = &plan, .lanes = 1, .is_complex = transform->tuning.recipe.complex_response};
    float *half = malloc(response_count(&layout) * sizeof *half);
    if (half == NULL)
        return error_set(why, ENOMEM, "out of memory while computing a filter's response");
    const double scale = 1 / ((double)plan.x.length * plan.y.length);
    const int r = response_fill(half, &layout, chain, sub_x, sub_y, scale, why);
    if (r == 0)
        put_response(values, transform, half, &layout);
    free(half);
    return r;
}

static uint64_t filling_bytes(const struct transform *transform, const struct filter_chain *chain,
                              double sub_x, double sub_y)
{
    const struct plan plan = plan_of_tile(transform);
    const struct response_layout layout = {
        .plan = &plan, .lanes = 1, .is_complex = transform->tuning.recipe.complex_response};
    const uint64_t filling = response_count(&layout) * sizeof(float) +
                             response_filling_bytes(&layout, chain, sub_x, sub_y);
    /* Before that, whoever designs the filter looks how short it is. */
    const uint64_t looking = transform_taps_bytes(transform, chain, sub_x, sub_y);
    return filling > looking ? filling : looking;
}

/* ---- dispatches ---------------------------------------------------------------------------- */

static int make_twiddles(struct transform *transform, struct error *why)
{
    const struct plan_axis axis = axis_of(transform);
    const uint32_t count = plan_twiddle_count(&axis);
    float *pair = malloc(2 * twiddle_bytes(transform));
    if (pair == NULL)
        return error_set(why, ENOMEM, "out of memory while computing twiddle factors");
    float *parts = pair + 2 * (size_t)count;
    plan_twiddles(&axis, pair);
    for (uint32_t i = 0; i < count; i++) {
        parts[i] = pair[2 * i];
        parts[count + i] = pair[2 * i + 1];
    }
    const int r = opencl_make_table(&transform->twiddle_x, transform->device->context, parts,
                                    twiddle_bytes(transform), why);
    free(pair);
    return r;
}

static int make_tables(struct transform *transform, struct error *why)
{
    const int r = transform_make_border_maps(transform, why);
    return r < 0 ? r : make_twiddles(transform, why);
}

static void list_dispatches(struct transform *transform)
{
    const struct transform_tuning *tuning = &transform->tuning;
    const size_t pairs = (count_tiles(tuning, &transform->image) + 1) / 2;
    const struct dispatch tiles = {
        .kernel = "tiles",
        .dimensions = transform->image.count > 1 ? 3 : 1,
        .global = {pairs * tuning->column_group, 1, transform->image.count},
        .local = {tuning->column_group, 1, 1},
        .argument = {ARGUMENT(IMAGE),
                     {.kind = transform_store_argument(transform)},
                     ARGUMENT_OF_TABLE(transform->map_x),
                     ARGUMENT_OF_TABLE(transform->map_y),
                     ARGUMENT_OF_TABLE(transform->twiddle_x),
                     ARGUMENT(RESPONSE),
                     ARGUMENT_OF_LOCAL(work_bytes(tuning)),
                     ARGUMENT(CORRECTION)},
    };
    transform_add_dispatch(transform, tiles);
    transform_list_view(transform);
}

static void put_source(FILE *out, const struct transform *transform)
{
    const struct transform_tuning *tuning = &transform->tuning;
    const struct plan *plan = &transform->plan;
    const struct plan_axis axis = axis_of(transform);
    transform_put_constant(out, "RADIUS", margin_of(tuning));
    transform_put_constant(out, "RADIX_A", tuning->columns);
    transform_put_constant(out, "RADIX_B", tuning->rows);
    transform_put_constant(out, "VALID_X", valid_x(tuning));
    transform_put_constant(out, "VALID_Y", valid_y(tuning));
    transform_put_constant(out, "PANEL", panel_of(tuning));
    transform_put_constant(out, "GROUP", tuning->column_group);
    transform_put_constant(out, "PADDED_X", plan->x.length);
    transform_put_constant(out, "PADDED_Y", plan->y.length);
    transform_put_constant(out, "TWIDDLE_COUNT", plan_twiddle_count(&axis));
    transform_put_constant(out, "LAST", axis.stage_count - 1);
    transform_put_constant(out, "LAST_BUT_ONE", axis.stage_count - 2);
    transform_put_file(out, "butterfly.cl");
    transform_put_file(out, "stage.cl");
    transform_put_file(out, "transpose.cl");
    transform_put_file(out, "border.cl");
    transform_put_file(out, "tiles.cl");
    transform_put_file(out, "tiles_lanes.cl");
    for (unsigned i = 0; tuning->lanes > 1 && i < axis.stage_count; i++) {
        transform_put_stage(out, "t_", &axis, i);
        transform_put_constant(out, "PREVIOUS", i > 0 ? i - 1 : 0);
        transform_put_file(out, "tiles_stage.cl");
    }
    transform_put_file(out, "tiles_items.cl");
    transform_put_file(out, "tiles_kernel.cl");
}

/* ---- what the tuner tries ------------------------------------------------------------------ */

static void vary_lanes(const struct tuner *tuner, struct tuner_values *ret)
{
    if (tuner->best.lanes == 1)
        return; /* on a GPU each work-item is a lane */
    for (unsigned lanes = 4; lanes <= 16; lanes *= 2) {
        struct transform_tuning tuning = tuner->best;
        tuning.lanes = tuning.rows = lanes;
        if (choose_side(&tuning, &tuner->subject.image, tuner->subject.device))
            tuner_add(ret, &tuning);
    }
}

static void vary_side(const struct tuner *tuner, struct tuner_values *ret)
{
    struct transform_tuning tuning = tuner->best;
    for (tuning.columns = 2; tuning.columns <= MAX_COLUMNS; tuning.columns++)
        if (fits(&tuning, tuner->subject.device)) {
            set_group(&tuning, tuner->subject.device);
            tuner_add(ret, &tuning);
        }
}

static void vary_group(const struct tuner *tuner, struct tuner_values *ret)
{
    struct transform_tuning tuning = tuner->best;
    for (unsigned rounds = 1; rounds <= 4 && tuning.lanes == 1; rounds++) {
        tuning.column_group = side_of(&tuning) * tuning.rows / rounds;
        if (tuning.column_group <= tuner->subject.device->max_group)
            tuner_add(ret, &tuning);
    }
}

static vary_fn *const settings[] = {vary_lanes, vary_side, vary_group, NULL};

const struct technique technique_tiles = {.name = "tiles",
                                          .complex_file = "planar.cl",
                                          .is_direct = true,
                                          .cost = cost,
                                          .describe = describe,
                                          .start = start,
                                          .fit = fit,
                                          .memory = memory,
                                          .count_response = count_response,
                                          .fill_response = fill_response,
                                          .filling_bytes = filling_bytes,
                                          .make_tables = make_tables,
                                          .list_dispatches = list_dispatches,
                                          .put_source = put_source,
                                          .settings = settings};
