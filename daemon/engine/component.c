/* Chooses the components of a frame that are filtered: luma, or every colour. Components of the
 * same shape at equal distances share one transform, one response and its dispatches. Each dispatch
 * has a fixed cost, and three small ones do not fill a GPU. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_private.h"
#include "filters/filter_adapt.h"
#include "filters/warp.h"
#include "engine/fade.h"

/* Describes one component, whose samples are `sub_x` and `sub_y` luma pixels apart. */
static struct transform_image component_image(const struct engine *engine, unsigned plane,
                                              unsigned offset, unsigned step, unsigned sub_x,
                                              unsigned sub_y)
{
    const struct fftd_format *format = &engine->source;
    return (struct transform_image){
        .count = 1,
        .width = (format->width + sub_x - 1) / sub_x,
        .height = (format->height + sub_y - 1) / sub_y,
        .stride = format->plane[plane].stride,
        .offset = format->plane[plane].offset + offset,
        .step = step,
        .kind = SAMPLE_U8,
        .bits = 8,
        .result_stride = engine->format.plane[plane].stride,
    };
}

/* Whether frames with colour, or a mosaic, become a plane of luma. */
static bool drops_colour(const struct engine *engine)
{
    return engine->options.recipe.planes == RECIPE_LUMA_ONLY && engine->info->family != FAMILY_GREY;
}

static struct transform_image luma_image(const struct engine *engine)
{
    const struct format_info *info = engine->info;
    struct transform_image image = component_image(engine, 0, info->offset, info->step, 1, 1);
    image.kind = info->kind;
    image.bits = info->bits;
    memcpy(image.rgb, info->rgb, sizeof image.rgb);
    image.grey_result = drops_colour(engine);
    image.keep_others = !image.grey_result &&
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
    image.grey_result = drops_colour(engine);
    image.keep_others = colour == 3 && !image.grey_result;
    memcpy(image.rgb, result->rgb, sizeof image.rgb);
    image.mosaic.red_x = info->red_x;
    image.mosaic.red_y = info->red_y;
    image.mosaic.bits = info->bits;
    image.mosaic.colour = (uint8_t)colour;
    return image;
}

/* The images to filter. Similar images share an entry. `sub` holds the distance between two samples
 * of the entry in luma pixels, in x and in y. */
struct component_list {
    struct transform_image image[MAX_COMPONENTS];
    unsigned sub[MAX_COMPONENTS][2];
    unsigned count;
};

/* Whether two images differ only in their offset. */
static bool is_alike(const struct transform_image *a, const struct transform_image *b)
{
    return a->width == b->width && a->height == b->height && a->stride == b->stride &&
           a->step == b->step && a->kind == b->kind && a->bits == b->bits && !a->keep_others &&
           !b->keep_others;
}

/* Adds an image to the last entry if it is similar and follows at the same distance; otherwise
 * makes a new entry. */
static void list_image(struct component_list *list, const struct transform_image *image,
                       unsigned sub_x, unsigned sub_y)
{
    struct transform_image *last = list->count > 0 ? &list->image[list->count - 1] : NULL;
    if (last != NULL && is_alike(last, image) && image->offset > last->offset &&
        (last->count == 1 || image->offset - last->offset == last->count * last->apart)) {
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

/* The recipe of the next component. A view of what was captured shows it without corrections. */
static struct recipe component_recipe(const struct engine *engine)
{
    const struct recipe *recipe = &engine->options.recipe;
    struct recipe ret = engine->component_count == 0 ? *recipe : recipe_of_chroma(recipe);
    ret.corrections &= recipe->view != VIEW_PEAKS;
    return ret;
}

static int make_component(struct engine *engine, const struct transform_image *image,
                          const unsigned sub[2], double support_px, const char *cache_dir,
                          struct error *why)
{
    struct component *c = &engine->component[engine->component_count];
    const struct tuner_subject *subject = &c->subject;
    struct transform_tuning tuning;
    c->subject = (struct tuner_subject){
        .device = engine->device,
        .image = *image,
        .border = {.mode = engine->options.border,
                   .value = engine->options.border_value * ((1u << image->bits) - 1),
                   .margin_x = margin(engine, support_px, image->width, sub[0]),
                   .margin_y = margin(engine, support_px, image->height, sub[1])},
        .precision = engine->options.recipe.precision,
        .any_technique = engine->options.technique == ENGINE_AUTO,
        .technique =
            engine->options.technique == ENGINE_STAGED ? TRANSFORM_STAGED : TRANSFORM_FUSED,
    };
    c->sub_x = sub[0];
    c->sub_y = sub[1];
    tuner_start(&tuning, subject);
    if (engine->options.tune != ENGINE_TUNE_OFF)
        c->tuned = tuner_find(&tuning, subject, cache_dir, &engine->warning);
    tuning.recipe = component_recipe(engine);
    int r = transform_prepare(&c->transform, engine->device, image, &subject->border, &tuning,
                              cache_dir, &engine->warning, why);
    if (r == -ERANGE && subject->any_technique) {
        tuning.technique = TRANSFORM_STAGED;
        r = transform_prepare(&c->transform, engine->device, image, &subject->border, &tuning,
                              cache_dir, &engine->warning, why);
    }
    engine->component_count++; /* on failure, too, so that it is released */
    if (r < 0 || tuning.recipe.denoise.block == 0)
        return r;
    return denoiser_prepare(&c->denoiser, engine->device, image, &tuning.recipe, 0, cache_dir,
                            &engine->warning, why);
}

static unsigned component_missing(const struct component *c)
{
    return transform_missing(c->transform) + denoiser_missing(c->denoiser);
}

/* Compiles the kernels that were not in the cache, and reports the progress. */
static int build_components(struct engine *engine, const char *cache_dir,
                            const struct engine_observer *observer, struct error *why)
{
    unsigned total = 0, done = 0;
    for (unsigned i = 0; i < engine->component_count; i++)
        total += component_missing(&engine->component[i]);
    const bool report = total > 0 && observer != NULL && observer->on_build != NULL;
    if (report)
        observer->on_build(observer->context, 0, total);
    for (unsigned i = 0; i < engine->component_count; i++) {
        const struct component *c = &engine->component[i];
        const unsigned missing = component_missing(c);
        int r = transform_build(c->transform, cache_dir, &engine->warning, why);
        if (r == 0 && c->denoiser != NULL)
            r = denoiser_build(c->denoiser, cache_dir, &engine->warning, why);
        if (r < 0)
            return r;
        done += missing;
        if (report && missing > 0)
            observer->on_build(observer->context, done, total);
    }
    return 0;
}

int engine_make_components(struct engine *engine, double support_px, const char *cache_dir,
                           const struct engine_observer *observer, struct error *why)
{
    struct component_list list;
    double pad_px = HUGE_VAL;
    list_components(&list, engine);
    for (unsigned i = 0; i < list.count; i++) {
        const int r =
            make_component(engine, &list.image[i], list.sub[i], support_px, cache_dir, why);
        if (r < 0)
            return r;
        const struct plan *plan = transform_plan(engine->component[i].transform);
        pad_px = fmin(pad_px, (double)(plan->x.length - plan->width) * list.sub[i][0]);
        pad_px = fmin(pad_px, (double)(plan->y.length - plan->height) * list.sub[i][1]);
    }
    /* If margin() has limited the padding, more support would not give more of it. */
    engine->support_px = fmax(pad_px / 2, support_px);
    return build_components(engine, cache_dir, observer, why);
}

bool engine_is_tuned(const struct engine *engine)
{
    for (unsigned i = 0; i < engine->component_count; i++)
        if (!engine->component[i].tuned)
            return false;
    return true;
}

void engine_describe(struct engine *engine)
{
    const struct component *c = &engine->component[0];
    const struct plan *plan = transform_plan(c->transform);
    const struct transform_tuning *tuning = transform_tuning(c->transform);
    char needs[128];
    unsigned dispatches = 0;
    double traffic = 0;
    for (unsigned i = 0; i < engine->component_count; i++) {
        dispatches += transform_dispatches(engine->component[i].transform);
        traffic += transform_traffic(engine->component[i].transform);
        if (engine->component[i].denoiser != NULL) {
            dispatches += denoiser_dispatches(engine->component[i].denoiser);
            traffic += denoiser_traffic(engine->component[i].denoiser);
        }
    }
    recipe_describe(&tuning->recipe, needs, sizeof needs);
    snprintf(engine->description, sizeof engine->description,
             "%s %s, %s, %ux%u in %ux%u, %u dispatches, %.1f bytes a pixel, lanes %u, "
             "groups %u and %u%s, %s",
             tuning->technique == TRANSFORM_FUSED ? "fused" : "staged",
             tuning->recipe.precision == RECIPE_HALF ? "half" : "float",
             tuning->order == PLAN_ROWS_FIRST ? "rows first" : "columns first", plan->width,
             plan->height, plan->x.length, plan->y.length, dispatches,
             traffic / plan->width / plan->height, tuning->lanes, tuning->column_group,
             tuning->row_group, needs, engine_is_tuned(engine) ? "tuned" : "not tuned");
}

void engine_release_components(struct engine *engine)
{
    for (unsigned i = 0; i < engine->component_count; i++) {
        transform_destroy(engine->component[i].transform);
        if (engine->component[i].response.numbers != NULL)
            clReleaseMemObject(engine->component[i].response.numbers);
        if (engine->component[i].table != NULL)
            clReleaseMemObject(engine->component[i].table);
        denoiser_past_destroy(engine->component[i].past);
        denoiser_destroy(engine->component[i].denoiser);
        if (engine->component[i].noise != NULL)
            clReleaseMemObject(engine->component[i].noise);
    }
}

const struct plan *engine_plan(const struct engine *engine, unsigned index)
{
    for (unsigned i = 0; i < engine->component_count; i++) {
        const struct component *c = &engine->component[i];
        if (index < c->subject.image.count)
            return transform_plan(c->transform);
        index -= c->subject.image.count;
    }
    return NULL;
}

/* Samples one component's response into a device buffer. */
static int design_component(const struct engine *engine, const struct component *c,
                            const struct filter_chain *chain, struct transform_response *ret,
                            struct error *why)
{
    const size_t size = transform_response_bytes(c->transform);
    void *values = malloc(size);
    if (values == NULL)
        return error_set(why, ENOMEM, "out of memory while computing a filter's response");
    int r =
        transform_response_fill(c->transform, values, chain, c->sub_x, c->sub_y, &ret->band, why);
    if (r == 0)
        r = engine_upload(engine, &ret->numbers, values, size, why);
    free(values);
    return r;
}

/* Whether chroma passes through. */
static bool leaves_chroma(const struct engine *engine)
{
    return engine->options.recipe.planes == RECIPE_LUMA &&
           engine->options.recipe.view == VIEW_PICTURE &&
           (engine->info->plane_count > 1 ||
            (engine->info->kind == SAMPLE_U8 && engine->info->step > 1));
}

/* Whether colours are those of the captured pixel, with the change of luma. (A load that moves
 * pixels moves these, too.) */
static bool leaves_rgb(const struct engine *engine)
{
    return engine->options.recipe.planes == RECIPE_LUMA &&
           engine->options.recipe.view == VIEW_PICTURE &&
           (engine->info->kind == SAMPLE_RGB8 || engine->info->kind == SAMPLE_BAYER);
}

/* Colour differences have no brightness: their shot noise is taken to be that of middle grey. */
#define CHROMA_LEVEL 128

int engine_design(const struct engine *engine, const struct filter_chain *chain,
                  struct engine_response **ret, struct error *why)
{
    int r = recipe_check(&engine->options.recipe, chain, why);
    if (r < 0)
        return r;
    if ((warp_is_needed(chain) && leaves_chroma(engine)) ||
        (filter_chain_stabilises(chain) && (leaves_chroma(engine) || leaves_rgb(engine))))
        return error_set(why, EINVAL,
                         "the filter moves pixels, but engine.planes = luma leaves the colour "
                         "where it was captured: expected engine.planes = all or luma-only");
    const struct denoise denoise = filter_chain_denoise(chain);
    struct engine_response *response = calloc(1, sizeof *response);
    if (response == NULL)
        return error_set(why, ENOMEM, "out of memory while computing a filter's response");
    for (unsigned i = 0; i < engine->component_count && r == 0; i++) {
        r = engine_design_table(engine, i, chain, &response->table[i], why);
        if (r == 0)
            r = design_component(engine, &engine->component[i], chain, &response->of[i], why);
        if (r == 0 && engine->component[i].denoiser != NULL)
            r = denoiser_noise(&response->noise[i], engine->component[i].denoiser, &denoise.noise,
                               i > 0 ? CHROMA_LEVEL : -1, why);
    }
    if (r < 0) {
        engine_response_free(response);
        return r;
    }
    *ret = response;
    return 0;
}

void engine_response_free(struct engine_response *response)
{
    if (response == NULL)
        return;
    for (unsigned i = 0; i < MAX_COMPONENTS; i++) {
        if (response->of[i].numbers != NULL)
            clReleaseMemObject(response->of[i].numbers);
        if (response->table[i] != NULL)
            clReleaseMemObject(response->table[i]);
        if (response->noise[i] != NULL)
            clReleaseMemObject(response->noise[i]);
    }
    fade_destroy(response->fade);
    free(response);
}

int engine_design_fade(struct engine *engine, struct engine_response *response, unsigned frames,
                       struct engine_response *from, struct error *why)
{
    const int r = fade_create(&response->fade, engine, response, frames, from, why);
    engine_response_free(from);
    return r;
}

static void swap_buffers(cl_mem *a, cl_mem *b)
{
    const cl_mem old = *a;
    *a = *b;
    *b = old;
}

void engine_apply(struct engine *engine, struct engine_response *response, uint64_t serial)
{
    struct fade *fade = response->fade;
    response->fade = NULL;
    if (fade != NULL)
        fade_begin(fade, engine->filter.fade, engine->component);
    fade_destroy(engine->filter.fade);
    engine->filter.fade = fade;
    engine->filter.serial = serial;
    for (unsigned i = 0; i < engine->component_count; i++) {
        if (engine->component[i].table != NULL || response->table[i] != NULL)
            denoiser_past_forget(engine->component[i].past); /* loaded with another table */
        const struct transform_response old = engine->component[i].response;
        engine->component[i].response = response->of[i];
        response->of[i] = old;
        swap_buffers(&engine->component[i].table, &response->table[i]);
        swap_buffers(&engine->component[i].noise, &response->noise[i]);
    }
    engine_response_free(response);
}

bool engine_is_fading(const struct engine *engine)
{
    return engine->filter.fade != NULL;
}
