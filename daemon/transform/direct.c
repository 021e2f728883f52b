/* The direct technique: one dispatch that multiplies neighbouring samples by the taps of a short
 * filter (filters/taps.h, kernels/transform/direct.cl). A filter without neighbours is a factor.
 *
 * For a smaller picture, on a CPU, it makes only the results that the picture has (struct
 * taps_stride).
 *
 * It uses the settings of lines in its own way: a work-group of column_group items makes `columns`
 * groups of lanes in `rows` strips of row_group rows. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "transform/tuner_private.h"

/* On a CPU, parts of the time of `fused`; measured with registers of 512 bits. A tap of a product
 * takes a shift, and works along both axes. Midgard is known by counts alone. */
#define CPU_FIXED   0.06
#define CPU_TAP     0.0085
#define CPU_PRODUCT 1.6
#define CPU_STRIDE                                                                                 \
    0.5 /* for a smaller picture: half of the sums along rows, and fewer along columns */

/* On a GPU, microseconds of an H200: fixed, and of each tap. Up to GPU_SUMS an item has the sums of
 * a strip in registers. With products the items of a group wait for each other once more. */
struct direct_time {
    struct gpu_time fixed, tap;
};
static const struct direct_time plain_time = {{1, 3.9, 1.25}, {0, 0.04, 0.037}};
static const struct direct_time far_time = {{1, 6, 1.25}, {0, 0, 0.137}};
static const struct direct_time product_time = {{1, 3.4, 1.15}, {0, 0.235, 0.112}};

#define CPU_LANES      16 /* at most */
#define CPU_COLUMNS    4
#define CPU_STRIP      64
#define CPU_SUMS       8 /* vectors that are added to at once: columns of all products */
#define PRODUCT_STRIP  128
#define GPU_LANES      4
#define GPU_COLUMNS    32
#define GPU_ROWS       4
#define GPU_TALL       2 /* with products: as many times the rows, and fewer columns */
#define GPU_STRIP      8
#define GPU_PRODUCTS   2 /* an item has the results of all of them in registers */
#define MIDGARD_RADIUS 2 /* with more a transform takes less, by the counts of its compiler */
#define MIDGARD_FAR    2 /* their cost: more than that of any transform there */
#define GPU_PLAIN      2 /* radius up to which a GPU does without products */
#define GPU_SUMS       4 /* radius, without products */

/* Midgard has too few registers for what a GPU's items hold. */
static bool has_products(const struct taps_reach *reach, const struct gpu_device *device)
{
    const bool fits_gpu =
        reach->products <= GPU_PRODUCTS && reach->radius > GPU_PLAIN && !device->midgard;
    return reach->products > 0 && (gpu_device_is_cpu(device) || fits_gpu);
}

static bool can_do(const struct taps_reach *reach, const struct gpu_device *device,
                   const struct transform_image *image)
{
    if (image->smaller.width > 0)
        return reach->is_short && reach->products == 1 && reach->line >= TAPS_EVEN &&
               reach->line <= TAPS_SMALL && !reach->has_middle && gpu_device_is_cpu(device) &&
               transform_stride(image) > 0;
    return reach->is_short &&
           (has_products(reach, device) || reach->radius <= TAPS_MAX_PLAIN_RADIUS);
}

static double gpu_cost(const struct tuner_subject *subject, const struct direct_time *time,
                       double taps)
{
    const struct gpu_time sum = {time->fixed.dispatches,
                                 time->fixed.latency_us + time->tap.latency_us * taps,
                                 time->fixed.us + time->tap.us * taps};
    return tuner_gpu_cost(subject, sum);
}

static double cost(const struct tuner_subject *subject)
{
    const struct taps_reach *reach = &subject->reach;
    const struct gpu_device *device = subject->device;
    const double side = 2 * reach->radius + 1;
    const bool as_products = has_products(reach, device);
    const double taps = side * (as_products ? reach->products : side);
    if (!can_do(reach, device, &subject->image))
        return HUGE_VAL;
    if (device->midgard && reach->radius > MIDGARD_RADIUS)
        return MIDGARD_FAR;
    if (tuner_is_gpu(device))
        return gpu_cost(subject,
                        as_products                 ? &product_time
                        : reach->radius <= GPU_SUMS ? &plain_time
                                                    : &far_time,
                        taps);
    return CPU_FIXED + CPU_TAP * taps * (as_products ? CPU_PRODUCT : 1) *
                           (subject->image.smaller.width > 0 ? CPU_STRIDE : 1);
}

/* ---- layout -------------------------------------------------------------------------------- */

static uint32_t radius_of(const struct transform *transform)
{
    return transform->tuning.recipe.reach.radius;
}

static uint32_t side_of(const struct transform *transform)
{
    return 2 * radius_of(transform) + 1;
}

static uint32_t products_of(const struct transform *transform)
{
    const struct taps_reach *reach = &transform->tuning.recipe.reach;
    return has_products(reach, transform->device) ? reach->products : 0;
}

static bool has_middle(const struct transform *transform)
{
    return products_of(transform) > 0 && transform->tuning.recipe.reach.has_middle;
}

/* The local memory of direct.cl: the tile, TILE_PITCH x TILE_ROWS, or what takes its place; or the
 * ring. */
static size_t work_bytes(const struct transform *transform)
{
    const struct transform_tuning *tuning = &transform->tuning;
    const uint32_t radius = radius_of(transform), lanes = tuning->lanes;
    const uint32_t margin = (radius + lanes - 1) / lanes;
    const size_t pitch = (size_t)(tuning->columns + 2 * margin) * lanes;
    const size_t products = (size_t)products_of(transform) * tuning->columns * lanes;
    const size_t tile_rows = (size_t)tuning->rows * tuning->row_group + 2 * radius;
    const size_t middle = has_middle(transform) ? (size_t)tuning->columns * lanes : 0;
    const uint32_t stride = transform_stride(&transform->image);
    const uint32_t beside = stride > 0 ? (radius / stride + lanes) / lanes : 0; /* vectors */
    if (stride > 0)
        return (size_t)stride * (tuning->columns + 2 * beside) * lanes * (side_of(transform) + 1) *
               sizeof(cl_float);
    const size_t floats = products == 0 ? pitch * tile_rows
                          : tuning->column_group == 1
                              ? (products + middle) * (side_of(transform) + 1)
                              : (products > pitch ? products : pitch) * tile_rows;
    return floats * sizeof(cl_float);
}

static void describe(const struct transform *transform, char *text, size_t size)
{
    const uint32_t side = side_of(transform), products = products_of(transform);
    if (products > 1)
        text_append(text, size, "with %u sets of up to %u + %u taps", products, side, side);
    else if (products > 0)
        text_append(text, size, "with up to %u + %u taps", side, side);
    else if (side > 1)
        text_append(text, size, "with up to %ux%u taps", side, side);
    else
        text_append(text, size, "with a factor");
    if (has_middle(transform))
        text_append(text, size, " and a factor");
}

/* A processor's register holds twice as many integers of 16 bits as floats. Plain taps of floats
 * take less time with that many lanes, too. Products of floats do not: no registers are left for
 * all their sums and taps. */
static unsigned cpu_lanes(unsigned floats, const struct taps_reach *reach)
{
    const bool in_floats = reach->products > 0 && reach->line < TAPS_SMALL;
    const unsigned lanes = in_floats ? floats : 2 * floats;
    return lanes < CPU_LANES ? lanes : CPU_LANES;
}

static void start(struct transform_tuning *ret, const struct tuner_subject *subject)
{
    const bool is_cpu = gpu_device_is_cpu(subject->device);
    const uint32_t products = subject->reach.products;
    ret->lanes = is_cpu ? cpu_lanes(ret->lanes, &subject->reach) : GPU_LANES;
    ret->columns = is_cpu         ? products > 0 ? CPU_SUMS / products : CPU_COLUMNS
                   : products > 0 ? GPU_COLUMNS / GPU_TALL
                                  : GPU_COLUMNS;
    ret->rows = is_cpu ? 1 : products > 0 ? GPU_ROWS * GPU_TALL / products : GPU_ROWS;
    ret->column_group = is_cpu ? 1 : ret->columns * ret->rows;
    ret->row_group = is_cpu ? products > 0 ? PRODUCT_STRIP : CPU_STRIP : GPU_STRIP;
}

static int fit(struct transform *transform, struct error *why)
{
    struct transform_tuning *tuning = &transform->tuning;
    const struct taps_reach *reach = &tuning->recipe.reach;
    if (!can_do(reach, transform->device, &transform->image))
        return error_set(why, ERANGE,
                         "engine.technique = direct is for short filters: expected auto, fused or "
                         "staged");
    tuning->lanes = tuning->lanes < GPU_LANES ? GPU_LANES : tuning->lanes;
    if (gpu_device_is_cpu(transform->device) && products_of(transform) > 0)
        tuning->column_group = 1;
    while (work_bytes(transform) > transform->device->local_bytes && tuning->row_group > 1)
        tuning->row_group /= 2;
    while (work_bytes(transform) > transform->device->local_bytes && tuning->columns > 1)
        tuning->columns /= 2;
    if (work_bytes(transform) > transform->device->local_bytes)
        return error_set(why, ERANGE,
                         "taps of radius %u need %zu bytes of local memory, but %s has "
                         "%llu",
                         reach->radius, work_bytes(transform), transform->device->name,
                         (unsigned long long)transform->device->local_bytes);
    transform_plan_border(transform, reach->radius);
    return 0;
}

/* ---- the response -------------------------------------------------------------------------- */

/* The taps of a product (direct.cl), and the numbers before them. */
static size_t set_size(const struct transform *transform)
{
    return transform->tuning.column_group > 1 ? 2 * (size_t)side_of(transform)
                                              : 4 * ((size_t)radius_of(transform) + 1);
}

static size_t head_size(const struct transform *transform)
{
    return (transform->tuning.column_group > 1 ? 0 : 1) + has_middle(transform);
}

static size_t count_response(const struct transform *transform)
{
    const size_t side = side_of(transform), products = products_of(transform);
    return products > 0 ? head_size(transform) + products * set_size(transform) : side * side;
}

/* A convolution takes samples from the other side of the place. */
static void put_taps(float *values, uint32_t radius, const struct taps *taps)
{
    const uint32_t side = 2 * radius + 1, own = 2 * taps->radius + 1;
    const uint32_t spare = radius - taps->radius;
    for (uint32_t i = 0; i < side * side; i++)
        values[i] = 0;
    for (uint32_t y = 0; y < own; y++)
        for (uint32_t x = 0; x < own; x++)
            values[(spare + y) * side + spare + x] =
                (float)taps->tap[(own - 1 - y) * own + own - 1 - x];
}

/* Those of either side of the middle, the one for samples to the right, or below, first. */
static void put_sides(float *values, uint32_t most, const double *taps, uint32_t radius)
{
    for (uint32_t i = 0; i <= radius; i++) {
        values[i] = (float)taps[radius - i];
        values[most + 1 + i] = (float)taps[radius + i];
    }
}

static void put_products(float *values, const struct transform *transform, const struct taps *taps)
{
    const uint32_t side = side_of(transform), own = 2 * taps->radius + 1;
    const uint32_t radius = radius_of(transform), spare = radius - taps->radius;
    const bool is_shared = transform->tuning.column_group > 1;
    for (size_t i = 0; i < count_response(transform); i++)
        values[i] = 0;
    if (!is_shared)
        values[0] = (float)taps->radius;
    if (has_middle(transform))
        values[head_size(transform) - 1] = (float)taps->middle;
    for (uint32_t p = 0; p < taps->products; p++) {
        float *set = values + head_size(transform) + p * set_size(transform);
        for (uint32_t i = 0; i < own && is_shared; i++) {
            set[spare + i] = (float)taps->across[p][own - 1 - i];
            set[side + spare + i] = (float)taps->down[p][own - 1 - i];
        }
        if (!is_shared) {
            put_sides(set, radius, taps->across[p], taps->radius);
            put_sides(set + 2 * (size_t)(radius + 1), radius, taps->down[p], taps->radius);
        }
    }
}

/* Before there is a filter frames are only measured. */
static void put_nothing(float *values, const struct transform *transform)
{
    memset(values, 0, count_response(transform) * sizeof *values);
    values[0] = (float)radius_of(transform);
}

/* Returns whether the kernel can do the taps of lines. One of several items can do all lines. */
static bool suits_lines(const struct transform *transform, const struct taps *taps)
{
    const enum taps_line line = transform->tuning.recipe.reach.line;
    const bool is_suited =
        transform->tuning.column_group > 1 ||
        (line <= taps->line && (line != TAPS_EQUAL || taps->radius == radius_of(transform)));
    return products_of(transform) == 0 ||
           (is_suited && (taps->middle == 0 || has_middle(transform)));
}

/* The taps of a smaller picture are even: both sides are the same. Those along columns come
 * first. */
static int fill_stride(const struct transform *transform, float *values,
                       const struct filter_chain *chain, const struct taps_samples *samples,
                       struct error *why)
{
    const uint32_t most = radius_of(transform);
    float *first = values + head_size(transform), *second = first + 2 * (size_t)(most + 1);
    struct taps_stride taps = {.radius = 0};
    put_nothing(values, transform);
    if (chain->count == 0)
        return 0;
    const int r = taps_stride_find(&taps, chain, samples, why);
    if (r < 0)
        return r;
    if (taps.radius > most || transform->tuning.recipe.reach.line > taps.line)
        return error_set(why, EINVAL, "the filter has taps of radius %u: expected at most %u",
                         taps.radius, most);
    values[0] = (float)taps.radius;
    for (uint32_t i = 0; i <= taps.radius; i++) {
        first[i] = first[most + 1 + i] = (float)taps.down[i];
        second[i] = second[most + 1 + i] = (float)taps.across[i];
    }
    return 0;
}

static int fill_response(const struct transform *transform, float *values,
                         const struct filter_chain *chain, double sub_x, double sub_y,
                         struct error *why)
{
    const struct taps_samples samples = transform_taps_samples(transform, sub_x, sub_y);
    if (samples.stride > 0)
        return fill_stride(transform, values, chain, &samples, why);
    struct taps *taps = malloc(sizeof *taps);
    if (taps == NULL)
        return error_set(why, ENOMEM, "out of memory while computing the taps of a filter");
    int r = taps_find(taps, chain, &samples, why);
    const uint32_t radius = radius_of(transform), products = products_of(transform);
    const bool is_product =
        taps->products > 0 && taps->products <= products && suits_lines(transform, taps);
    if (r == 0 && chain->count == 0 && !suits_lines(transform, taps))
        put_nothing(values, transform);
    else if (r == 0 && (taps->radius > radius || (products > 0 && !is_product)))
        r = error_set(why, EINVAL,
                      "the filter has taps of radius %u, a sum of %u products: expected at most "
                      "%u, %u",
                      taps->radius, taps->products, radius, products);
    else if (r == 0 && products > 0)
        put_products(values, transform, taps);
    else if (r == 0)
        put_taps(values, radius, taps);
    free(taps);
    return r;
}

/* ---- dispatches ---------------------------------------------------------------------------- */

static void list_dispatches(struct transform *transform)
{
    const struct transform_tuning *tuning = &transform->tuning;
    transform_add_blocks(transform, "direct", (size_t)tuning->columns * tuning->lanes,
                         (size_t)tuning->rows * tuning->row_group, work_bytes(transform));
    transform_list_view(transform);
}

/* Writes the layout of the result, if it is a smaller picture. */
static void put_smaller(FILE *out, const struct transform_image *image)
{
    const bool is_byte = !image->deep_result && image->kind != SAMPLE_F32 &&
                         (image->kind != SAMPLE_U16 || image->grey_result);
    const unsigned stride = transform_stride(image);
    transform_put_constant(out, "STRIDE", stride > 0 ? stride : 1);
    transform_put_constant(out, "SMALLER_WIDTH", image->smaller.width);
    transform_put_constant(out, "SMALLER_HEIGHT", image->smaller.height);
    transform_put_constant(out, "SMALLER_STRIDE", image->smaller.stride);
    transform_put_constant(out, "SMALLER_OFFSET", image->smaller.offset);
    transform_put_constant(out, "SMALLER_STEP", image->smaller.step);
    transform_put_constant(out, "SMALLER_APART", image->smaller.apart);
    transform_put_constant(out, "SMALLER_BYTES", is_byte ? 1 : image->kind == SAMPLE_F32 ? 4 : 2);
}

/* U is along columns, as columns come first. */
static void put_source(FILE *out, const struct transform *transform)
{
    const enum taps_line line = transform->tuning.recipe.reach.line;
    transform_put_constant(out, "RADIUS", radius_of(transform));
    transform_put_constant(out, "PRODUCTS", products_of(transform));
    transform_put_constant(out, "MIDDLE", has_middle(transform));
    transform_put_constant(out, "ODD", line == TAPS_ANY);
    transform_put_constant(out, "SMALL", line == TAPS_SMALL);
    transform_put_constant(out, "EQUAL", line == TAPS_EQUAL);
    transform_put_constant(out, "CACHED_LOCAL", transform->device->midgard);
    put_smaller(out, &transform->image);
    transform_put_blocks(out, transform);
    if (products_of(transform) == 0) {
        transform_put_file(out, "direct_cached.cl");
        transform_put_file(out, "direct_taps.cl");
        transform_put_file(out, "direct_whole.cl");
    } else if (transform->tuning.column_group > 1) {
        transform_put_file(out, "direct_shared.cl");
    } else {
        transform_put_file(out, "direct_lines.cl");
        transform_put_file(out, line == TAPS_EQUAL ? "direct_equal.cl" : "direct_short.cl");
        if (line != TAPS_EQUAL) {
            const bool has_stride = transform->image.smaller.width > 0;
            transform_put_file(out, "direct_float.cl");
            transform_put_file(out, has_stride ? "direct_stride.cl" : "direct_products.cl");
        }
    }
    transform_put_file(out, "direct.cl");
}

/* ---- what the tuner tries ------------------------------------------------------------------ */

static void vary_columns(const struct tuner *tuner, struct tuner_values *ret)
{
    const bool is_cpu = gpu_device_is_cpu(tuner->subject.device);
    for (unsigned columns = is_cpu ? 2 : 16; columns <= (is_cpu ? 8 : 64); columns *= 2) {
        struct transform_tuning tuning = tuner->best;
        tuning.columns = columns;
        if (!is_cpu)
            tuning.column_group = columns * tuning.rows;
        tuner_add(ret, &tuning);
    }
}

static void vary_strips(const struct tuner *tuner, struct tuner_values *ret)
{
    const bool is_cpu = gpu_device_is_cpu(tuner->subject.device);
    for (unsigned strip = is_cpu ? 32 : 4; strip <= (is_cpu ? 128 : 16); strip *= 2) {
        struct transform_tuning tuning = tuner->best;
        tuning.row_group = strip;
        tuner_add(ret, &tuning);
    }
}

static vary_fn *const settings[] = {tuner_vary_lanes, vary_columns, vary_strips, NULL};

const struct technique technique_direct = {.name = "direct",
                                           .complex_file = "planar.cl",
                                           .is_direct = true,
                                           .makes_smaller = true,
                                           .cost = cost,
                                           .describe = describe,
                                           .start = start,
                                           .fit = fit,
                                           .memory = transform_border_memory,
                                           .count_response = count_response,
                                           .fill_response = fill_response,
                                           .filling_bytes = transform_taps_bytes,
                                           .make_tables = transform_make_border_maps,
                                           .list_dispatches = list_dispatches,
                                           .put_source = put_source,
                                           .settings = settings};
