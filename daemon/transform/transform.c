#include "transform/transform_private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "transform/response.h"

/* ---- life ---------------------------------------------------------------------------------- */

int transform_sketch(struct transform **ret, const struct gpu_device *device,
                     const struct transform_image *image, const struct transform_border *border,
                     const struct transform_tuning *tuning, struct error *why)
{
    struct transform *transform = calloc(1, sizeof *transform);
    if (transform == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a transform");
    transform->device = device;
    transform->image = *image;
    transform->border = *border;
    transform->tuning = *tuning;
    const int r = transform_fit(transform, why);
    if (r < 0) {
        transform_destroy(transform);
        return r;
    }
    *ret = transform;
    return 0;
}

int transform_equip(struct transform *transform, struct error *why)
{
    int r = 0;
    if (transform->technique->make_tables != NULL)
        r = transform->technique->make_tables(transform, why);
    if (r == 0)
        r = transform_make_places(transform, why);
    return r < 0 || transform->smaller == NULL ? r : transform_equip(transform->smaller, why);
}

int transform_build(struct transform *transform, bool compile, const char *cache_dir,
                    struct error *warning, struct error *why)
{
    int r = 0, missing = 0;
    if (transform->program == NULL)
        r = transform_get_program(transform, compile, cache_dir, warning, why);
    if (r == 0 && transform->program == NULL)
        missing = (int)transform->dispatch_count;
    if (r == 0 && transform->smaller != NULL)
        r = transform_build(transform->smaller, compile, cache_dir, warning, why);
    return r < 0 ? r : r + missing;
}

int transform_create(struct transform **ret, const struct gpu_device *device,
                     const struct transform_image *image, const struct transform_border *border,
                     const struct transform_tuning *tuning, const char *cache_dir,
                     struct error *warning, struct error *why)
{
    struct transform *transform = NULL;
    int r = transform_sketch(&transform, device, image, border, tuning, why);
    if (r < 0)
        return r;
    r = transform_equip(transform, why);
    if (r == 0)
        r = transform_build(transform, true, cache_dir, warning, why);
    if (r < 0) {
        transform_destroy(transform);
        return r;
    }
    *ret = transform;
    return 0;
}

void transform_destroy(struct transform *transform)
{
    if (transform == NULL)
        return;
    transform_destroy(transform->smaller);
    opencl_release_program(transform->program);
    const cl_mem buffers[] = {transform->map_x,       transform->map_y,     transform->pairs,
                              transform->frequencies, transform->twiddle_x, transform->twiddle_y,
                              transform->places,      transform->origins,   transform->crop};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        opencl_release_buffer(buffers[i]);
    free(transform);
}

const struct plan *transform_plan(const struct transform *transform)
{
    return transform_loaded(transform);
}

const struct transform_tuning *transform_tuning(const struct transform *transform)
{
    return &transform->tuning;
}

void transform_describe(const struct transform *transform, char *text, size_t size)
{
    const struct transform_tuning *tuning = &transform->tuning;
    snprintf(text, size, "%s ", transform->technique->name);
    if (transform->technique->describe != NULL)
        transform->technique->describe(transform, text, size);
    else
        text_append(text, size, "%s, %s",
                    tuning->recipe.precision == RECIPE_HALF ? "half" : "float",
                    tuning->order == PLAN_ROWS_FIRST ? "rows first" : "columns first");
    const struct transform_image *result = &transform_of_result(transform)->image;
    if (transform_is_smaller(transform_of_result(transform)))
        text_append(text, size, ", made %ux%u", result->width, result->height);
    else if (result->smaller.width > 0)
        text_append(text, size, ", made %ux%u", result->smaller.width, result->smaller.height);
}

bool transform_is_direct(const struct transform *transform)
{
    return transform->technique->is_direct;
}

unsigned transform_dispatches(const struct transform *transform)
{
    return transform->dispatch_count +
           (transform->smaller != NULL ? transform->smaller->dispatch_count : 0);
}

/* The bytes of all input images and of all results. */
static double image_bytes(const struct transform_image *image, bool result)
{
    static const unsigned sample_bytes[] = {
        [SAMPLE_U8] = 1, [SAMPLE_U16] = 2, [SAMPLE_RGB8] = 3, [SAMPLE_BAYER] = 1, [SAMPLE_F32] = 4};
    const bool mosaic = image->kind == SAMPLE_BAYER;
    const double samples = (double)image->width * image->height;
    if (result && image->smaller.width > 0)
        return (double)image->count * image->smaller.width * image->smaller.height *
               image->smaller.step;
    const double plane =
        samples * (image->keep_others || image->grey_result || mosaic ? image->step
                                                                      : sample_bytes[image->kind]);
    if (result && image->grey_result)
        return image->deep_result ? 2 * samples : samples;
    if (!mosaic)
        return image->count * plane;
    return result ? image->count * samples * (image->keep_others ? 4 : 1) : plane;
}

size_t transform_table_bytes(const struct transform *transform)
{
    const size_t samples = (size_t)transform->image.width * transform->image.height;
    return samples * recipe_load_bytes(&transform->tuning.recipe);
}

/* The bytes of the spectrum's lines that the response of a smaller picture can reach. */
static double spectrum_bytes(const struct transform *transform)
{
    const struct plan *plan = &transform->plan;
    if (transform->technique->is_direct) /* none, only what one dispatch leaves to the next */
        return (double)transform->technique->memory(transform).frame;
    const double second = plan_second(plan)->length;
    const double lines = plan_first(&transform_of_result(transform)->plan)->length;
    return lines * second * (double)transform_stored_bytes(transform) * transform->image.count;
}

/* For a result of another transform's spectrum, the middle one reads the lines of that spectrum
 * that it keeps and writes its own, which the last one reads. */
static double result_traffic(const struct transform *result, unsigned dispatch)
{
    const double own = spectrum_bytes(result);
    const double longer =
        (double)plan_second(&result->larger->plan)->length / plan_second(&result->plan)->length;
    return dispatch == 0 ? longer * own + own + (double)transform_response_bytes(result)
                         : own + image_bytes(&result->image, true) +
                               (result->image.keep_others ? image_bytes(&result->image, false) : 0);
}

double transform_dispatch_traffic(const struct transform *transform, unsigned dispatch)
{
    if (transform->smaller != NULL && dispatch > 0)
        return result_traffic(transform->smaller, dispatch - 1);
    if (transform->larger != NULL)
        return result_traffic(transform, dispatch);
    const struct transform_image *image = &transform->image;
    const enum view_kind view = transform->tuning.recipe.view;
    const bool has_edges = view == VIEW_EDGES, has_spectrum = view_is_spectrum(view);
    const double drawn = (double)transform_drawn_bytes(transform);
    /* Without those that draw edges. */
    const unsigned count = transform->dispatch_count - transform_edge_dispatches(transform);
    const bool is_first = dispatch == 0;
    if (transform->is_load && dispatch > 0)
        return 0; /* results read what it completes instead of what they are said to read */
    const bool is_last = dispatch + 1 == count && !transform_only_loads(transform);
    if (dispatch >= count)
        return drawn + (dispatch + 1 == transform->dispatch_count ? image_bytes(image, true) : 0);
    const double spectra = spectrum_bytes(transform); /* if any */
    const double captured =
        recipe_loads_before(&transform->tuning.recipe)
            ? (double)image->count * image->width * image->height * sizeof(float)
            : image_bytes(image, false);
    const double in = is_first ? captured : is_last && has_spectrum ? drawn : spectra;
    const double filtered = (double)image->width * image->height * sizeof(cl_ushort);
    const double out = !is_last ? spectra : has_edges ? filtered : image_bytes(image, true);
    const bool reads_again =
        is_last && (view == VIEW_DIFFERENCE || (view == VIEW_PICTURE && image->keep_others));
    const double kept = reads_again ? image_bytes(image, false) : 0;
    /* The store of RGB and of a mosaic reads the captured colours again. */
    const bool recolours =
        image->keep_others && (image->kind == SAMPLE_RGB8 || image->kind == SAMPLE_BAYER);
    const bool loads_again = reads_again && (recolours || view == VIEW_DIFFERENCE);
    const double table = is_first || loads_again ? (double)transform_table_bytes(transform) : 0;
    /* The dispatches after the middle one are the inverses of those before it, or the view. */
    const bool is_middle = !transform_only_loads(transform) &&
                           (has_spectrum ? dispatch + 2 == count : dispatch == count / 2);
    const double middle = (double)transform_response_bytes(transform) + (has_spectrum ? drawn : 0);
    return in + out + kept + table + (is_middle ? middle : 0);
}

double transform_traffic(const struct transform *transform)
{
    double bytes = 0;
    for (unsigned i = 0; i < transform_dispatches(transform); i++)
        bytes += transform_dispatch_traffic(transform, i);
    return bytes;
}

/* ---- response ------------------------------------------------------------------------------ */

/* The numbers of a response: H, and then the threshold; or taps. */
static size_t response_numbers(const struct transform *of)
{
    const struct transform *transform = transform_of_result(of);
    if (transform->technique->is_direct)
        return transform->technique->count_response(transform);
    const struct response_layout layout = transform_response_layout(transform);
    return response_count(&layout) + transform->tuning.recipe.thresholds;
}

bool transform_response_is_half(const struct transform *transform)
{
    return transform->tuning.recipe.precision == RECIPE_HALF && !transform->technique->is_direct;
}

size_t transform_response_bytes(const struct transform *transform)
{
    return response_numbers(transform) *
           (transform_response_is_half(transform) ? sizeof(cl_half) : sizeof(cl_float));
}

size_t transform_response_frequencies(const struct transform *transform, uint16_t (*ret)[2])
{
    const struct response_layout layout = transform_response_layout(transform_of_result(transform));
    const size_t count = response_part_count(&layout);
    const struct plan *plan = layout.plan, *loaded = layout.loaded;
    if (ret != NULL)
        response_frequencies(ret, &layout);
    for (size_t i = 0; ret != NULL && i < count; i++) {
        ret[i][0] = (uint16_t)transform_loaded_frequency(ret[i][0], plan_first(plan)->length,
                                                         plan_first(loaded)->length);
        ret[i][1] = transform_loaded_frequency(ret[i][1], plan_second(plan)->length,
                                               plan_second(loaded)->length);
    }
    return count;
}

static int fill(const struct transform *transform, float *values, double scale,
                const struct filter_chain *chain, double sub_x, double sub_y, uint32_t *ret_band,
                struct error *why)
{
    const struct response_layout layout = transform_response_layout(transform_of_result(transform));
    const struct plan *plan = transform_loaded(transform);
    const double white = (1u << transform->image.bits) - 1;
    if (transform->tuning.recipe.thresholds)
        values[response_count(&layout)] = (float)(filter_chain_threshold(chain) * white / 255 /
                                                  sqrt((double)plan->x.length * plan->y.length));
    const int r = response_fill(values, &layout, chain, sub_x, sub_y, scale, why);
    /* A view of the spectrum draws the powers of all pairs. */
    if (r == 0 && ret_band != NULL)
        *ret_band = view_is_spectrum(transform->tuning.recipe.view)
                        ? plan_pair_count(layout.plan)
                        : response_band(values, &layout, scale);
    return r;
}

int transform_response_fill(const struct transform *transform, void *response,
                            const struct filter_chain *chain, double sub_x, double sub_y,
                            uint32_t *ret_band, struct error *why)
{
    const struct plan *plan = transform_loaded(transform);
    if (transform->technique->is_direct) {
        if (ret_band != NULL)
            *ret_band = 0;
        return transform->technique->fill_response(transform, response, chain, sub_x, sub_y, why);
    }
    if (!transform_response_is_half(transform))
        return fill(transform, response, 0.5 / plan->x.length / plan->y.length, chain, sub_x, sub_y,
                    ret_band, why);
    const size_t count = response_numbers(transform);
    float *values = malloc(count * sizeof *values);
    if (values == NULL)
        return error_set(why, ENOMEM, "out of memory while computing a filter's response");
    const int r = fill(transform, values, 1, chain, sub_x, sub_y, ret_band, why);
    cl_half *half = response;
    for (size_t i = 0; r == 0 && i < count; i++)
        half[i] =
            cl_half_from_float(fmaxf(fminf(values[i], CL_HALF_MAX), -CL_HALF_MAX), CL_HALF_RTE);
    free(values);
    return r;
}

/* ---- memory -------------------------------------------------------------------------------- */

/* Besides what the technique takes, a view has a table (draw.c), and keeps some of the spectra or
 * samples. */
struct transform_bytes transform_bytes(const struct transform *transform)
{
    const struct plan *plan = &transform->plan;
    struct transform_bytes ret = transform->technique->memory(transform);
    if (view_is_spectrum(transform->tuning.recipe.view))
        ret.tables += ((uint64_t)plan->x.length + plan->y.length) * sizeof(cl_uint);
    ret.frame += transform_drawn_bytes(transform);
    if (transform->smaller != NULL) {
        const struct transform_bytes smaller = transform_bytes(transform->smaller);
        ret.tables += smaller.tables;
        ret.frame += smaller.frame;
        ret.making += smaller.making;
    }
    return ret;
}

/* In half precision H is computed as floats first. */
uint64_t transform_filling_bytes(const struct transform *transform,
                                 const struct filter_chain *chain, double sub_x, double sub_y)
{
    const struct response_layout layout = transform_response_layout(transform_of_result(transform));
    if (transform->technique->is_direct)
        return transform->technique->filling_bytes(transform, chain, sub_x, sub_y);
    return response_filling_bytes(&layout, chain, sub_x, sub_y) +
           (transform_response_is_half(transform)
                ? (uint64_t)transform_response_bytes(transform) * 2
                : 0);
}
