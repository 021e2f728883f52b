/* The direct technique for wide blurs on a GPU: at half the rate (struct taps_half of
 * filters/taps.h, kernels/transform/direct_half.cl). One dispatch decimates the samples, blurs them
 * and interpolates. Groups of column_group items make blocks of `columns` groups of LANES columns
 * and row_group rows, both even, so that a block's phases are those of the image. */
#include <errno.h>
#include <math.h>

#include "core/text.h"
#include "transform/tuner_private.h"

#define LANES          4
#define COLUMNS        32
#define GROUP          256
#define TALLEST        120 /* rows of a block, which are as many as local memory has room for */
#define LEAST          32  /* with fewer most of the work is margins */
#define STEP           8

/* Microseconds on an H200. A group loads, blurs and interpolates its rows one after the other, and
 * a larger radius adds rows of margin. */
#define GROUP_US       8
#define ROW_US         0.19
#define RADIUS_US      0.25
#define SAMPLES_US     2
#define SAMPLES_TAP_US 0.135

static uint32_t radius_of(const struct transform *transform)
{
    return transform->tuning.recipe.reach.half_radius;
}

uint32_t transform_half_radius(const struct gpu_device *device)
{
    return gpu_device_is_cpu(device) || device->midgard ? 0 : TAPS_MAX_HALF_RADIUS;
}

static bool can_do(const struct taps_reach *reach, const struct gpu_device *device)
{
    return reach->half_radius > 0 && reach->half_radius <= transform_half_radius(device);
}

/* The rows of a block at half the rate, with its margins. */
static uint32_t decimated_rows(const struct transform_tuning *tuning)
{
    return tuning->row_group / 2 + 2 + 2 * tuning->recipe.reach.half_radius;
}

/* The local memory of direct_half.cl: decimated samples, and those that are blurred along rows. */
static size_t work_bytes(const struct transform_tuning *tuning)
{
    const size_t radius = tuning->recipe.reach.half_radius;
    const size_t columns = (size_t)tuning->columns * LANES / 2 + LANES;
    return decimated_rows(tuning) * (2 * columns + 2 * radius) * sizeof(cl_float);
}

static void describe(const struct transform *transform, char *text, size_t size)
{
    const uint32_t side = 2 * radius_of(transform) + 1;
    text_append(text, size, "at half the rate, with up to %u + %u taps", side, side);
}

/* Lower blocks have more margin for each row, but small frames have few blocks, and a frame alone
 * is filtered sooner if there is one for every compute unit. */
static void start(struct transform_tuning *ret, const struct tuner_subject *subject)
{
    const struct transform_image *image = &subject->image;
    const uint32_t columns = COLUMNS * LANES;
    const uint32_t across = image->count * ((image->width + columns - 1) / columns);
    ret->column_group = GROUP;
    ret->row_group = TALLEST;
    while (ret->row_group > LEAST &&
           across * ((image->height + ret->row_group - 1) / ret->row_group) <
               subject->device->compute_units)
        ret->row_group -= STEP;
}

/* Sets blocks that local memory has room for, if there are any. */
static void fit_blocks(struct transform_tuning *tuning, const struct gpu_device *device)
{
    tuning->lanes = LANES;
    tuning->columns = COLUMNS;
    tuning->rows = 1;
    tuning->row_group = tuning->row_group < LEAST ? LEAST : tuning->row_group & ~1U;
    while (work_bytes(tuning) > device->local_bytes && tuning->row_group > LEAST)
        tuning->row_group -= STEP;
}

static double cost(const struct tuner_subject *subject)
{
    const uint32_t radius = subject->reach.half_radius;
    struct transform_tuning tuning = {.recipe.reach = subject->reach};
    if (!can_do(&subject->reach, subject->device))
        return HUGE_VAL;
    start(&tuning, subject);
    fit_blocks(&tuning, subject->device);
    return tuner_gpu_cost(
        subject, (struct gpu_time){.dispatches = 1,
                                   .latency_us = GROUP_US + ROW_US * decimated_rows(&tuning) +
                                                 RADIUS_US * radius,
                                   .us = SAMPLES_US + SAMPLES_TAP_US * radius});
}

static int fit(struct transform *transform, struct error *why)
{
    struct transform_tuning *tuning = &transform->tuning;
    const struct gpu_device *device = transform->device;
    if (!can_do(&tuning->recipe.reach, device))
        return error_set(why, ERANGE, "the filter is no blur at half the rate");
    fit_blocks(tuning, device);
    if (work_bytes(tuning) > device->local_bytes)
        return error_set(why, ERANGE,
                         "a blur at half the rate of radius %u needs %zu bytes of local memory, "
                         "but %s has %llu",
                         radius_of(transform), work_bytes(tuning), device->name,
                         (unsigned long long)device->local_bytes);
    transform_plan_border(transform, TAPS_HALF_REACH(radius_of(transform)));
    return 0;
}

/* ---- the response -------------------------------------------------------------------------- */

static size_t count_response(const struct transform *transform)
{
    return 2 * ((size_t)radius_of(transform) + 1);
}

/* Before there is a filter frames are only measured. Binomial numbers of both decimation and
 * interpolation are whole in the kernel: their sums are divided by here. */
static int fill_response(const struct transform *transform, float *values,
                         const struct filter_chain *chain, double sub_x, double sub_y,
                         struct error *why)
{
    const struct taps_samples samples = transform_taps_samples(transform, sub_x, sub_y);
    const uint32_t most = radius_of(transform);
    struct taps_half half = {.radius = 0};
    const int r = chain->count > 0 ? taps_half_find(&half, chain, &samples, why) : 0;
    if (r < 0)
        return r;
    if (half.radius > most)
        return error_set(why, EINVAL,
                         "the filter has a radius of %u at half the rate: expected at "
                         "most %u",
                         half.radius, most);
    for (uint32_t i = 0; i <= most; i++) {
        values[i] = i <= half.radius ? (float)(half.across[i] / (32 * 16)) : 0;
        values[most + 1 + i] = i <= half.radius ? (float)(half.down[i] / (32 * 16)) : 0;
    }
    return 0;
}

static uint64_t filling_bytes(const struct transform *transform, const struct filter_chain *chain,
                              double sub_x, double sub_y)
{
    const struct taps_samples samples = transform_taps_samples(transform, sub_x, sub_y);
    return taps_half_bytes(chain, &samples);
}

/* ---- dispatches ---------------------------------------------------------------------------- */

static void list_dispatches(struct transform *transform)
{
    const struct transform_tuning *tuning = &transform->tuning;
    transform_add_blocks(transform, "direct_half", (size_t)tuning->columns * LANES,
                         tuning->row_group, work_bytes(tuning));
    transform_list_view(transform);
}

static void put_source(FILE *out, const struct transform *transform)
{
    transform_put_constant(out, "BLUR", radius_of(transform));
    transform_put_constant(out, "RADIUS", TAPS_HALF_REACH(radius_of(transform)));
    transform_put_blocks(out, transform);
    transform_put_file(out, "direct_half.cl");
}

/* ---- what the tuner tries ------------------------------------------------------------------ */

static void vary_rows(const struct tuner *tuner, struct tuner_values *ret)
{
    struct transform_tuning tuning = tuner->best;
    for (tuning.row_group = LEAST; tuning.row_group <= TALLEST; tuning.row_group += 44)
        tuner_add(ret, &tuning);
}

static vary_fn *const settings[] = {vary_rows, NULL};

const struct technique technique_half_rate = {.name = "direct",
                                              .complex_file = "planar.cl",
                                              .is_direct = true,
                                              .cost = cost,
                                              .describe = describe,
                                              .start = start,
                                              .fit = fit,
                                              .memory = transform_border_memory,
                                              .count_response = count_response,
                                              .fill_response = fill_response,
                                              .filling_bytes = filling_bytes,
                                              .make_tables = transform_make_border_maps,
                                              .list_dispatches = list_dispatches,
                                              .put_source = put_source,
                                              .settings = settings};
