/* Chooses the components of a frame that are filtered: luma, or every colour. Components of the
 * same shape at equal distances share one transform, one response and its dispatches. Each dispatch
 * has a fixed cost, and three small ones do not fill a GPU. */
#include <math.h>
#include <string.h>

#include "engine/engine_private.h"

/* Describes one component, whose samples are `sub_x` and `sub_y` luma pixels apart. */
static struct transform_image component_image(const struct engine *engine, unsigned plane,
                                              unsigned offset, unsigned step, unsigned sub_x,
                                              unsigned sub_y)
{
    const struct fftd_format *format = &engine->source, *result = &engine->format;
    struct transform_image image = {
        .count = 1,
        .width = (format->width + sub_x - 1) / sub_x,
        .height = (format->height + sub_y - 1) / sub_y,
        .stride = format->plane[plane].stride,
        .offset = format->plane[plane].offset + offset,
        .step = step,
        .kind = SAMPLE_U8,
        .bits = 8,
        .result_stride = result->plane[plane].stride,
    };
    if (recipe_is_smaller(&engine->options.recipe)) {
        image.smaller.width = (result->width + sub_x - 1) / sub_x;
        image.smaller.height = (result->height + sub_y - 1) / sub_y;
        image.smaller.stride = result->plane[plane].stride;
        image.smaller.offset = result->plane[plane].offset + offset;
        image.smaller.step = step;
    }
    return image;
}

/* A result that is a plane of luma of its own: of frames with colour, or of a mosaic, or with more
 * bits than captured samples. */
static void make_grey(struct transform_image *image, const struct engine *engine)
{
    const struct recipe *recipe = &engine->options.recipe;
    image->deep_result = recipe->depth == RECIPE_DEPTH_16;
    image->grey_result = image->deep_result || (recipe->planes == RECIPE_LUMA_ONLY &&
                                                engine->info->family != FAMILY_GREY);
    if (image->grey_result) {
        image->smaller.offset = 0;
        image->smaller.step = image->deep_result ? 2 : 1;
    }
}

static struct transform_image luma_image(const struct engine *engine)
{
    const struct format_info *info = engine->info;
    struct transform_image image = component_image(engine, 0, info->offset, info->step, 1, 1);
    image.kind = info->kind;
    image.bits = info->bits;
    memcpy(image.rgb, info->rgb, sizeof image.rgb);
    make_grey(&image, engine);
    image.keep_others = !image.grey_result && !recipe_is_smaller(&engine->options.recipe) &&
                        (info->kind == SAMPLE_RGB8 || (info->kind == SAMPLE_U8 && info->step > 1));
    return image;
}

/* Describes `count` colours of a mosaic, beginning with `colour`: 0 .. 2, or 3 for luma. */
static struct transform_image mosaic_image(const struct engine *engine, unsigned colour,
                                           unsigned count)
{
    const struct format_info *info = engine->info;
    const struct format_info *result = format_by_fourcc(engine->format.fourcc);
    struct transform_image image = component_image(engine, 0, 0, info->step, 1, 1);
    image.kind = SAMPLE_BAYER;
    image.count = count;
    make_grey(&image, engine);
    image.keep_others = colour == 3 && !image.grey_result;
    memcpy(image.rgb, result->rgb, sizeof image.rgb);
    image.mosaic.red_x = info->red_x;
    image.mosaic.red_y = info->red_y;
    image.mosaic.bits = info->bits;
    image.mosaic.colour = (uint8_t)colour;
    image.mosaic.demosaic = engine->options.recipe.demosaic;
    return image;
}

/* The images to filter. Similar images share an entry. `sub` holds the distance between two samples
 * of the entry in luma pixels, in x and in y. */
struct component_list {
    struct transform_image image[MAX_COMPONENTS];
    unsigned sub[MAX_COMPONENTS][2];
    unsigned count;
};

/* Returns whether two images differ only in their offset. */
static bool is_alike(const struct transform_image *a, const struct transform_image *b)
{
    return a->width == b->width && a->height == b->height && a->stride == b->stride &&
           a->step == b->step && a->kind == b->kind && a->bits == b->bits && !a->keep_others &&
           !b->keep_others && a->smaller.stride == b->smaller.stride;
}

/* Adds an image to the last entry if it is similar and follows at the same distance; otherwise
 * makes a new entry. */
static void list_image(struct component_list *list, const struct transform_image *image,
                       unsigned sub_x, unsigned sub_y)
{
    struct transform_image *last = list->count > 0 ? &list->image[list->count - 1] : NULL;
    if (last != NULL && is_alike(last, image) && image->offset > last->offset &&
        (last->count == 1 ||
         (image->offset - last->offset == last->count * last->apart &&
          image->smaller.offset - last->smaller.offset == last->count * last->smaller.apart))) {
        last->smaller.apart = (image->smaller.offset - last->smaller.offset) / last->count;
        last->apart = (image->offset - last->offset) / last->count++;
        return;
    }
    list->image[list->count] = *image;
    list->sub[list->count][0] = sub_x;
    list->sub[list->count++][1] = sub_y;
}

/* Lists red, green and blue in their order in memory. */
static void list_colours(struct component_list *list, const struct engine *engine)
{
    const struct format_info *info = engine->info;
    const unsigned first = info->rgb[0] < info->rgb[2] ? info->rgb[0] : info->rgb[2];
    for (unsigned i = 0; i < 3; i++) {
        struct transform_image image = component_image(engine, 0, first + i, info->step, 1, 1);
        list_image(list, &image, 1, 1);
    }
}

static void list_chroma(struct component_list *list, const struct engine *engine)
{
    const struct format_info *info = engine->info;
    if (info->plane_count == 1 && info->kind == SAMPLE_U8 && info->step == 2) {
        /* In YUYV and UYVY two luma samples share one sample of each chroma component. */
        list->image[0].keep_others = false;
        for (unsigned i = 0; i < 2; i++) {
            const struct transform_image image =
                component_image(engine, 0, (info->offset ^ 1u) + 2 * i, 4, 2, 1);
            list_image(list, &image, 2, 1);
        }
    }
    for (unsigned plane = 1; plane < info->plane_count; plane++) {
        const struct format_plane *p = &info->plane[plane];
        for (unsigned i = 0; i < p->bytes_per_pixel; i++) {
            const struct transform_image image =
                component_image(engine, plane, i, p->bytes_per_pixel, p->sub_x, p->sub_y);
            list_image(list, &image, p->sub_x, p->sub_y);
        }
    }
}

static void list_components(struct component_list *list, const struct engine *engine)
{
    const bool mosaic = engine->info->kind == SAMPLE_BAYER;
    const bool all = engine->options.recipe.planes == RECIPE_ALL;
    list->count = 0;
    if (all && engine->info->kind == SAMPLE_RGB8) {
        list_colours(list, engine);
        return;
    }
    const struct transform_image image =
        !mosaic ? luma_image(engine) : mosaic_image(engine, all ? 0 : 3, all ? 3 : 1);
    list_image(list, &image, 1, 1);
    if (all)
        list_chroma(list, engine);
}

/* Returns the samples to add to an axis: twice the support, because each half of the pad serves one
 * edge. It is at most half the length, so that a wide filter does not double the work. */
static uint32_t margin(const struct engine *engine, double support_px, uint32_t length,
                       unsigned sub)
{
    if (engine->options.margin >= 0)
        return ((uint32_t)engine->options.margin + sub - 1) / sub;
    const double wanted = ceil(2 * support_px / sub);
    return wanted < length / 2. ? (uint32_t)wanted : length / 2;
}

/* The recipe of the next component. A view of what was captured shows it without corrections, and
 * one with the picture has the same kernels as the picture. */
static struct recipe component_recipe(const struct engine *engine)
{
    const struct recipe *recipe = &engine->options.recipe;
    struct recipe ret = engine->component_count == 0 ? *recipe : recipe_of_chroma(recipe);
    ret.corrections &= recipe->view != VIEW_PEAKS;
    if (view_has_picture(recipe->view))
        ret.view = VIEW_PICTURE;
    return ret;
}

void engine_set_reach(struct engine_options *options, const struct gpu_device *device)
{
    const enum engine_technique technique = options->technique;
    const struct taps_reach most = {
        .is_short = technique != ENGINE_FUSED && technique != ENGINE_STAGED,
        .radius = technique == ENGINE_TILES  ? TAPS_MAX_TILE_RADIUS
                  : technique == ENGINE_AUTO ? transform_tile_radius(device)
                                             : 0,
        .half_radius = technique == ENGINE_AUTO || technique == ENGINE_DIRECT
                           ? transform_half_radius(device)
                           : 0};
    options->recipe.reach = options->recipe.chroma_reach = most;
}

static void set_technique(struct tuner_subject *subject, enum engine_technique technique)
{
    static const enum transform_technique of[] = {[ENGINE_FUSED] = TRANSFORM_FUSED,
                                                  [ENGINE_STAGED] = TRANSFORM_STAGED,
                                                  [ENGINE_DIRECT] = TRANSFORM_DIRECT,
                                                  [ENGINE_TILES] = TRANSFORM_TILES};
    const bool is_half = technique == ENGINE_DIRECT && subject->reach.half_radius > 0;
    const bool is_short = subject->reach.is_short &&
                          (subject->image.smaller.width == 0 || gpu_device_is_cpu(subject->device));
    subject->any_technique = technique == ENGINE_AUTO ||
                             (technique == ENGINE_DIRECT && !is_short && !is_half) ||
                             (technique == ENGINE_TILES && taps_reach_is_far(subject->reach));
    subject->technique = subject->any_technique ? TRANSFORM_FUSED
                         : is_half              ? TRANSFORM_HALF_RATE
                                                : of[technique];
}

static void add_component(struct engine *engine, const struct transform_image *image,
                          const unsigned sub[2], double support_px)
{
    struct component *c = &engine->component[engine->component_count];
    c->engine = engine;
    c->subject = (struct tuner_subject){
        .device = engine->device,
        .image = *image,
        .border = {.mode = engine->options.border,
                   .value = engine->options.border_value * ((1u << image->bits) - 1),
                   .margin_x = margin(engine, support_px, image->width, sub[0]),
                   .margin_y = margin(engine, support_px, image->height, sub[1])},
        .precision = engine->options.recipe.precision,
    };
    c->sub_x = sub[0];
    c->sub_y = sub[1];
    c->recipe = component_recipe(engine);
    c->subject.reach = c->recipe.reach;
    set_technique(&c->subject, engine->options.technique);
    engine->component_count++;
}

void engine_list_components(struct engine *engine, double support_px)
{
    struct component_list list;
    list_components(&list, engine);
    for (unsigned i = 0; i < list.count; i++)
        add_component(engine, &list.image[i], list.sub[i], support_px);
}

int engine_make_components(struct engine *engine, double support_px, const char *cache_dir,
                           const struct engine_observer *observer, struct error *why)
{
    double pad_px = HUGE_VAL;
    engine_list_components(engine, support_px);
    for (unsigned i = 0; i < engine->component_count; i++) {
        struct component *component = &engine->component[i];
        const int r = component_prepare(component, cache_dir, why);
        if (r < 0)
            return r;
        const struct plan *plan = transform_plan(component_transform(component));
        if (transform_is_direct(component_transform(component)))
            continue;
        pad_px = fmin(pad_px, (plan->x.length - plan->width) * component->sub_x);
        pad_px = fmin(pad_px, (plan->y.length - plan->height) * component->sub_y);
    }
    /* If margin() has limited the padding, more support would not give more of it. */
    engine->support_px = fmax(pad_px / 2, support_px);
    return engine_build_steps(engine, cache_dir, observer, why);
}

bool engine_is_tuned(const struct engine *engine)
{
    for (unsigned i = 0; i < engine->component_count; i++)
        if (!engine->component[i].tuned)
            return false;
    return true;
}

const struct plan *engine_plan(const struct engine *engine, unsigned index)
{
    for (unsigned i = 0; i < engine->component_count; i++) {
        const struct component *c = &engine->component[i];
        if (index < c->subject.image.count)
            return transform_plan(component_transform(c));
        index -= c->subject.image.count;
    }
    return NULL;
}
