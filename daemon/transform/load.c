/* Plans transforms, and loads whose spectrum has several results. A result of a load differs from
 * the rest of a transform of its own only in where `middle` reads the spectrum, so its pixels are
 * the same bit for bit if the lengths are. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "transform/transform_private.h"

const struct technique *const transform_techniques[TRANSFORM_TECHNIQUES] = {
    [TRANSFORM_FUSED] = &technique_fused,         [TRANSFORM_STAGED] = &technique_staged,
    [TRANSFORM_DIRECT] = &technique_direct,       [TRANSFORM_TILES] = &technique_tiles,
    [TRANSFORM_HALF_RATE] = &technique_half_rate, [TRANSFORM_TWICE] = &technique_direct_twice,
};

/* Lengths that all results can have may cost this much more than the best ones for the captured
 * size alone. */
#define MOST_COST      1.1

/* How many times as much a smaller picture costs with half as many lanes. Much of its time goes to
 * memory, and longer lines take up to a fifth more of main's than plan_cost says
 * (docs/results/2026-11-28-outputs-shown.md). */
#define HALF_THE_LANES 1.15

static void limit(unsigned *group, size_t most)
{
    if (*group > most)
        *group = (unsigned)most;
}

/* Fills in the plan and the settings of a transform without another one behind it. */
static int fit(struct transform *transform, struct error *why)
{
    transform->technique = transform_techniques[transform->tuning.technique];
    const int r = transform->technique->fit(transform, why);
    limit(&transform->tuning.column_group, transform->device->max_group);
    limit(&transform->tuning.row_group, transform->device->max_group);
    return r;
}

/* ---- results ------------------------------------------------------------------------------- */

/* Returns the lanes of a result of this size if its load has the lengths of `plan`; 0: they do not
 * suit the size with any. Fewer lanes suit more widths and heights of a smaller picture. */
static unsigned result_lanes(const struct transform *load, const struct plan *plan,
                             const struct transform_size *size)
{
    struct plan_limits limits =
        transform_limits(load->device, &load->image, &load->border, &load->tuning);
    struct plan smaller;
    limits.smaller_width = size->width;
    limits.smaller_height = size->height;
    if (size->width == limits.width && size->height == limits.height)
        return limits.lanes;
    while (plan_smaller(&smaller, plan, &limits) < 0) {
        if (limits.lanes <= TRANSFORM_LEAST_LANES)
            return 0;
        limits.lanes /= 2;
    }
    return limits.lanes;
}

/* The image of a smaller picture's transform: the result. */
static struct transform_image smaller_image(const struct transform_image *image)
{
    const bool is_grey =
        image->grey_result || image->kind == SAMPLE_RGB8 || image->kind == SAMPLE_BAYER;
    return (struct transform_image){.count = image->count,
                                    .apart = image->smaller.apart,
                                    .width = image->smaller.width,
                                    .height = image->smaller.height,
                                    .stride = image->smaller.stride,
                                    .offset = image->smaller.offset,
                                    .step = image->smaller.step,
                                    .kind = image->deep_result ? SAMPLE_U16
                                            : is_grey          ? SAMPLE_U8
                                                               : image->kind,
                                    .bits = image->bits,
                                    .deep_result = image->deep_result};
}

/* The recipe of a smaller picture: without what is done where captured samples are loaded. H is
 * complex, because the samples are between those of the image. */
static struct recipe smaller_recipe(const struct recipe *recipe)
{
    struct recipe ret = *recipe;
    for (unsigned i = 0; i < recipe_table.count; i++)
        if (recipe_table.member[i].is_load)
            memset((char *)&ret + recipe_table.member[i].offset, 0, recipe_table.member[i].size);
    ret.denoise = (struct denoise_settings){.block = 0};
    ret.stack = STACK_NOT;
    ret.weighs_details = false;
    ret.complex_response = true;
    return ret;
}

int transform_sketch_result(struct transform **ret, const struct transform *load,
                            const struct transform_image *image, const struct recipe *recipe,
                            struct error *why)
{
    const bool is_smaller = image->smaller.width > 0;
    struct transform *result = calloc(1, sizeof *result);
    if (result == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a transform");
    result->device = load->device;
    result->image = is_smaller ? smaller_image(image) : *image;
    result->border = load->border;
    result->tuning = load->tuning;
    result->tuning.recipe = is_smaller ? smaller_recipe(recipe) : *recipe;
    result->larger = load;
    const unsigned lanes = result_lanes(
        load, &load->plan, &(struct transform_size){result->image.width, result->image.height});
    if (lanes > 0) /* else fit says which lengths are missing */
        result->tuning.lanes = lanes;
    const int r = fit(result, why);
    if (r < 0) {
        free(result);
        return r;
    }
    *ret = result;
    return 0;
}

int transform_fit(struct transform *transform, struct error *why)
{
    const struct technique *technique = transform_techniques[transform->tuning.technique];
    const bool is_smaller = transform->image.smaller.width > 0;
    if (is_smaller && !technique->makes_smaller)
        return error_set(why, ERANGE,
                         "engine.technique = %s makes no smaller pictures: expected auto or fused",
                         technique->name);
    const int r = fit(transform, why);
    return r < 0 || !is_smaller || technique->is_direct
               ? r
               : transform_sketch_result(&transform->smaller, transform, &transform->image,
                                         &transform->tuning.recipe, why);
}

/* ---- loads --------------------------------------------------------------------------------- */

/* Returns whether captured samples are loaded as they are. */
static bool loads_plainly(const struct recipe *recipe)
{
    bool is_plain = !recipe_loads_before(recipe) && recipe->curve.kind == CURVE_NONE &&
                    recipe->view == VIEW_PICTURE;
    for (unsigned i = 0; i < recipe_table.count; i++) {
        const struct recipe_member *member = &recipe_table.member[i];
        const char *value = (const char *)recipe + member->offset;
        for (size_t k = 0; member->is_load && k < member->size; k++)
            is_plain &= value[k] == 0;
    }
    return is_plain;
}

bool transform_loads_plainly(const struct transform *transform)
{
    return transform->tuning.technique == TRANSFORM_FUSED &&
           loads_plainly(&transform->tuning.recipe);
}

/* The image without what concerns its results. */
static struct transform_image captured_image(const struct transform_image *image)
{
    struct transform_image ret = *image;
    ret.keep_others = ret.grey_result = ret.deep_result = false;
    ret.result_stride = 0;
    memset(&ret.smaller, 0, sizeof ret.smaller);
    return ret;
}

static bool is_same_image(const struct transform_image *a, const struct transform_image *b)
{
    return a->count == b->count && a->apart == b->apart && a->width == b->width &&
           a->height == b->height && a->stride == b->stride && a->offset == b->offset &&
           a->step == b->step && a->kind == b->kind && a->bits == b->bits &&
           memcmp(a->rgb, b->rgb, sizeof a->rgb) == 0 && a->mosaic.red_x == b->mosaic.red_x &&
           a->mosaic.red_y == b->mosaic.red_y && a->mosaic.bits == b->mosaic.bits &&
           a->mosaic.colour == b->mosaic.colour && a->mosaic.demosaic == b->mosaic.demosaic;
}

bool transform_load_suits(const struct transform *load, const struct transform_image *image,
                          const struct transform_border *border, const struct recipe *recipe)
{
    const struct transform_image captured = captured_image(image);
    const struct plan *plan = &load->plan;
    const bool is_smaller = image->smaller.width > 0;
    const struct transform_size size = {is_smaller ? image->smaller.width : image->width,
                                        is_smaller ? image->smaller.height : image->height};
    return loads_plainly(recipe) && recipe->precision == load->tuning.recipe.precision &&
           is_same_image(&captured, &load->image) && border->mode == load->border.mode &&
           border->value == load->border.value &&
           plan->x.length >= image->width + border->margin_x &&
           plan->y.length >= image->height + border->margin_y &&
           result_lanes(load, plan, &size) > 0;
}

/* Returns the cost of a frame with these lengths: of the load, of a result of the captured size,
 * and of all smaller ones, which are in proportion to their area. HUGE_VAL: a result has no
 * lengths. */
static double cost_of_all(const struct transform *load, const struct plan *plan,
                          const struct plan_limits *limits, const struct transform_size *sizes,
                          unsigned count)
{
    double areas = (double)plan->width * plan->height;
    for (unsigned k = 0; k < count; k++) {
        const unsigned lanes = result_lanes(load, plan, &sizes[k]);
        if (lanes == 0)
            return HUGE_VAL;
        if (sizes[k].width != plan->width || sizes[k].height != plan->height)
            areas += (double)sizes[k].width * sizes[k].height *
                     pow(HALF_THE_LANES, log2((double)limits->lanes / lanes));
    }
    return plan_cost(plan, limits) * areas;
}

/* Replaces the lengths by those with which a frame costs the least of those that all results can
 * have, if the load alone costs little more with them. */
static int fit_sizes(struct transform *load, const struct transform_size *sizes, unsigned count,
                     struct error *why)
{
    struct plan ranked[PLAN_MAX_RANKED];
    const struct plan_limits limits =
        transform_limits(load->device, &load->image, &load->border, &load->tuning);
    const unsigned ranked_count = plan_rank(ranked, PLAN_MAX_RANKED, &limits);
    const double most = MOST_COST * plan_cost(&load->plan, &limits);
    double least = HUGE_VAL;
    for (unsigned i = 0; i < ranked_count && plan_cost(&ranked[i], &limits) <= most; i++) {
        const double cost = cost_of_all(load, &ranked[i], &limits, sizes, count);
        if (cost >= least)
            continue;
        least = cost;
        load->tuning.length_x = ranked[i].x.length;
        load->tuning.length_y = ranked[i].y.length;
    }
    return least < HUGE_VAL ? fit(load, why) : 0;
}

int transform_sketch_load(struct transform **ret, const struct gpu_device *device,
                          const struct transform_image *image,
                          const struct transform_border *border,
                          const struct transform_tuning *tuning, const struct transform_size *sizes,
                          unsigned size_count, struct error *why)
{
    if (tuning->technique != TRANSFORM_FUSED || !loads_plainly(&tuning->recipe))
        return error_set(why, ERANGE, "the transform has a load of its own");
    const struct transform_size own = {image->smaller.width, image->smaller.height};
    struct transform *load = calloc(1, sizeof *load);
    if (load == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a transform");
    load->device = device;
    load->image = captured_image(image);
    load->border = *border;
    load->tuning = *tuning;
    load->tuning.recipe = (struct recipe){.precision = tuning->recipe.precision};
    load->is_load = true;
    int r = fit(load, why);
    if (r == 0)
        r = fit_sizes(load, sizes, size_count, why);
    /* Not earlier, because each result that asks should get the same load. */
    if (r == 0 && image->smaller.width > 0 && result_lanes(load, &load->plan, &own) == 0) {
        load->tuning.length_x = tuning->length_x;
        load->tuning.length_y = tuning->length_y;
        load->image.smaller = image->smaller;
        r = fit(load, why);
    }
    if (r < 0) {
        free(load);
        return r;
    }
    load->image = captured_image(image);
    *ret = load;
    return 0;
}
