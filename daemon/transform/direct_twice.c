/* The direct technique in two dispatches: along columns, and then along rows
 * (kernels/transform/direct_twice.cl). It serves one product of taps that are even on a Mali
 * Midgard, by the counts of its compiler: in two dispatches all sums stay in registers. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "transform/tuner_private.h"

#define LANES       4
#define STRIP       4
#define GROUP       32 /* more would be idle at the ends of lines */
#define MOST_RADIUS TAPS_MAX_LOW_RADIUS

/* Parts of the time of a transform with `fused` on Midgard, of which `staged` takes 0.6. */
#define FIXED_COST  0.07
#define RADIUS_COST 0.03

static bool can_do(const struct taps_reach *reach)
{
    return reach->is_short && reach->products == 1 && reach->line != TAPS_ANY &&
           !reach->has_middle && reach->radius <= MOST_RADIUS;
}

/* Elsewhere one dispatch takes less. */
static double cost(const struct tuner_subject *subject)
{
    return can_do(&subject->reach) && subject->device->midgard
               ? FIXED_COST + RADIUS_COST * subject->reach.radius
               : HUGE_VAL;
}

static void describe(const struct transform *transform, char *text, size_t size)
{
    const uint32_t side = 2 * transform->tuning.recipe.reach.radius + 1;
    text_append(text, size, "in two dispatches, with up to %u + %u taps", side, side);
}

static int fit(struct transform *transform, struct error *why)
{
    struct transform_tuning *tuning = &transform->tuning;
    if (!can_do(&tuning->recipe.reach))
        return error_set(why, ERANGE,
                         "the filter is not one product of even taps with a radius of at most %u",
                         MOST_RADIUS);
    tuning->lanes = LANES;
    tuning->columns = tuning->rows = 1;
    tuning->column_group = GROUP;
    tuning->row_group = STRIP;
    transform_plan_border(transform, tuning->recipe.reach.radius);
    return 0;
}

/* ---- memory -------------------------------------------------------------------------------- */

static uint32_t whole_strips(uint32_t length)
{
    return (length + STRIP - 1) / STRIP * STRIP;
}

/* The size of what the first dispatch stores for all images. */
static size_t lines_bytes(const struct transform *transform)
{
    const struct transform_image *image = &transform->image;
    return (size_t)image->count * whole_strips(image->width) * whole_strips(image->height) *
           sizeof(cl_float);
}

static size_t map_entries(const struct transform *transform, uint32_t length)
{
    return whole_strips(length) + 2 * (size_t)transform->tuning.recipe.reach.radius;
}

static struct transform_bytes memory(const struct transform *transform)
{
    const struct transform_image *image = &transform->image;
    const uint64_t maps =
        (map_entries(transform, image->width) + map_entries(transform, image->height)) *
        sizeof(cl_int);
    return (struct transform_bytes){
        .tables = maps, .frame = lines_bytes(transform), .making = maps};
}

/* A map begins with what is before the image; strips may end behind what is needed. What it names
 * are `apart` numbers from each other. */
static int make_map(cl_mem *ret, const struct transform *transform, uint32_t length, uint32_t apart,
                    struct error *why)
{
    const uint32_t radius = transform->tuning.recipe.reach.radius, padded = length + 2 * radius;
    const size_t count = map_entries(transform, length);
    int32_t *map = calloc(count + padded, sizeof *map);
    if (map == NULL)
        return error_set(why, ENOMEM, "out of memory while making the map of a border");
    int32_t *of_transform = map + count;
    plan_border_map(of_transform, padded, length, transform->border.mode);
    for (uint32_t i = 0; i < padded; i++)
        map[i] = of_transform[(i + padded - radius) % padded] * (int32_t)apart;
    const int r = opencl_make_table(ret, transform->device->context, map, count * sizeof *map, why);
    free(map);
    return r;
}

static int make_tables(struct transform *transform, struct error *why)
{
    const struct transform_image *image = &transform->image;
    const int r =
        make_map(&transform->map_x, transform, image->width, whole_strips(image->height), why);
    return r < 0 ? r : make_map(&transform->map_y, transform, image->height, 1, why);
}

static int make_buffers(cl_mem *ret_spectra, cl_mem *ret_lines, const struct transform *transform,
                        struct error *why)
{
    (void)ret_spectra;
    return opencl_make_buffer(ret_lines, transform->device->context, CL_MEM_READ_WRITE,
                              lines_bytes(transform), NULL, why);
}

/* ---- the response -------------------------------------------------------------------------- */

/* The taps of an axis, in whole vectors. */
static size_t tap_count(const struct transform *transform)
{
    return transform->tuning.recipe.reach.radius / 4 * 4 + 4;
}

static size_t count_response(const struct transform *transform)
{
    return 2 * tap_count(transform);
}

static int fill_response(const struct transform *transform, float *values,
                         const struct filter_chain *chain, double sub_x, double sub_y,
                         struct error *why)
{
    const struct taps_samples samples = transform_taps_samples(transform, sub_x, sub_y);
    const uint32_t radius = transform->tuning.recipe.reach.radius;
    struct taps *taps = malloc(sizeof *taps);
    if (taps == NULL)
        return error_set(why, ENOMEM, "out of memory while computing the taps of a filter");
    int r = taps_find(taps, chain, &samples, why);
    if (r == 0 && (taps->products != 1 || (taps->line == TAPS_ANY && taps->radius > 0) ||
                   taps->middle != 0 || taps->radius > radius))
        r = error_set(why, EINVAL,
                      "the filter has %u products of taps of radius %u: expected one product of "
                      "even taps with a radius of at most %u",
                      taps->products, taps->radius, radius);
    memset(values, 0, count_response(transform) * sizeof *values);
    for (uint32_t i = 0; r == 0 && i <= taps->radius; i++) {
        values[i] = (float)taps->down[0][taps->radius + i];
        values[tap_count(transform) + i] = (float)taps->across[0][taps->radius + i];
    }
    free(taps);
    return r;
}

/* ---- dispatches ---------------------------------------------------------------------------- */

/* Returns a dispatch that covers `across` rows of `along` samples in whole groups and strips. */
static struct dispatch dispatch_of(const struct transform *transform, uint32_t along,
                                   uint32_t across)
{
    const uint32_t count = transform->image.count, items = transform->tuning.column_group;
    return (struct dispatch){.dimensions = count > 1 ? 3 : 2,
                             .global = {(along + LANES * items - 1) / (LANES * items) * items,
                                        (across + STRIP - 1) / STRIP, count},
                             .local = {items, 1, 1}};
}

static void list_dispatches(struct transform *transform)
{
    const struct transform_image *image = &transform->image;
    struct dispatch down = dispatch_of(transform, image->width, image->height);
    struct dispatch across = dispatch_of(transform, image->height, image->width);
    const struct argument of_down[] = {ARGUMENT(IMAGE), ARGUMENT(LINES),
                                       ARGUMENT_OF_TABLE(transform->map_y), ARGUMENT(RESPONSE),
                                       ARGUMENT(CORRECTION)};
    const struct argument of_across[] = {ARGUMENT(LINES),
                                         ARGUMENT(IMAGE),
                                         {.kind = transform_store_argument(transform)},
                                         ARGUMENT_OF_TABLE(transform->map_x),
                                         ARGUMENT(RESPONSE)};
    strcpy(down.kernel, "twice_down");
    strcpy(across.kernel, "twice_across");
    memcpy(down.argument, of_down, sizeof of_down);
    memcpy(across.argument, of_across, sizeof of_across);
    transform_add_dispatch(transform, down);
    transform_add_dispatch(transform, across);
    transform_list_view(transform);
}

static void put_source(FILE *out, const struct transform *transform)
{
    transform_put_constant(out, "RADIUS", transform->tuning.recipe.reach.radius);
    transform_put_constant(out, "PRODUCTS", 1);
    transform_put_constant(out, "EQUAL", 0);
    transform_put_constant(out, "SMALL", 0);
    transform_put_constant(out, "CACHED_LOCAL", 1);
    transform_put_constant(out, "LINES", whole_strips(transform->image.width));
    transform_put_constant(out, "LINE_PITCH", whole_strips(transform->image.height));
    transform_put_blocks(out, transform);
    transform_put_file(out, "direct_twice.cl");
}

static vary_fn *const settings[] = {NULL};

const struct technique technique_direct_twice = {.name = "direct",
                                                 .complex_file = "planar.cl",
                                                 .is_direct = true,
                                                 .cost = cost,
                                                 .describe = describe,
                                                 .fit = fit,
                                                 .memory = memory,
                                                 .count_response = count_response,
                                                 .fill_response = fill_response,
                                                 .filling_bytes = transform_taps_bytes,
                                                 .make_tables = make_tables,
                                                 .make_buffers = make_buffers,
                                                 .list_dispatches = list_dispatches,
                                                 .put_source = put_source,
                                                 .settings = settings};
