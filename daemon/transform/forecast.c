#include "transform/forecast.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "transform/estimate.h"

#define NAME "mali-t760"

/* A Mali-T760 as far as plans depend on it. */
static const struct gpu_device mali = {.type = CL_DEVICE_TYPE_GPU,
                                       .midgard = true,
                                       .half_vectors = true,
                                       .max_group = 256,
                                       .local_bytes = 32 * 1024,
                                       .vector_width = 4};

/* A transform of one or more images, as the engine would start with it. */
struct forecast {
    const char *images; /* "luma" */
    struct transform transform;
    unsigned dispatches;
    struct cost_work work;
    double seconds;
};

static uint32_t margin(const struct engine_options *options, double support_px, uint32_t length,
                       unsigned sub)
{
    if (options->margin >= 0)
        return ((uint32_t)options->margin + sub - 1) / sub;
    return (uint32_t)fmin(ceil(2 * support_px / sub), length / 2.);
}

/* The band of the filter in a plane that has a sample for each `sub` pixels along both axes. */
static int find_band(uint32_t *ret, const struct transform *transform,
                     const struct filter_chain *filter, unsigned sub, struct error *why)
{
    void *response = malloc(transform_response_bytes(transform));
    if (response == NULL)
        return error_set(why, ENOMEM, "out of memory while computing a filter's response");
    const int r = transform_response_fill(transform, response, filter, sub, sub, ret, why);
    free(response);
    return r;
}

static int forecast_images(struct forecast *forecast, const struct engine_options *options,
                           const struct filter_chain *filter, const struct cost_device *cost,
                           unsigned sub, struct error *why)
{
    const double support_px = filter_chain_support(filter);
    struct transform *transform = &forecast->transform;
    struct pass pass[PLAN_MAX_STAGES];
    const uint32_t width = transform->image.width, height = transform->image.height;
    uint32_t band = 0;
    transform->device = &mali;
    transform->border = (struct transform_border){
        .mode = options->border,
        .margin_x = margin(options, support_px, width, sub),
        .margin_y = margin(options, support_px, height, sub),
    };
    transform_default_tuning(&transform->tuning, &mali);
    transform->tuning.recipe.precision = options->recipe.precision;
    transform->tuning.recipe.complex_response = filter_chain_is_complex(filter);
    if (estimate_fastest(&transform->tuning, &mali, &transform->image, &transform->border) ==
        HUGE_VAL)
        return error_set(why, ERANGE, "there is no model of a plan for %ux%u on " NAME, width,
                         height);
    int r = transform_fit(transform, why);
    if (r == 0)
        r = find_band(&band, transform, filter, sub, why);
    if (r < 0)
        return r;
    forecast->seconds = estimate_staged(&forecast->work, transform, cost, band);
    forecast->dispatches = 2 * (transform_passes(pass, transform, &transform->plan.y) +
                                transform_passes(pass, transform, &transform->plan.x)) -
                           1;
    return 0;
}

/* ---- printing ------------------------------------------------------------------------------ */

static void print_radices(FILE *out, const struct plan_axis *axis, const char *between)
{
    for (unsigned i = 0; i < axis->stage_count; i++)
        fprintf(out, "%s%u", i > 0 ? between : "", axis->radix[i]);
}

static void print_line(FILE *out, const char *precision, const struct forecast *forecast)
{
    const struct plan *plan = &forecast->transform.plan;
    fprintf(out, "%-9s  %-6s  %5ux%-5u  %10u  %7.1f  %10.1f  %8.1f  %8.2f  %5u  ", precision,
            forecast->images, plan->x.length, plan->y.length, forecast->dispatches,
            forecast->work.words / 1e6, forecast->work.accesses / 1e6, forecast->work.bytes / 1e6,
            forecast->seconds * 1e3, forecast->transform.tuning.stages_per_dispatch);
    print_radices(out, &plan->x, " ");
    fputs(" x ", out);
    print_radices(out, &plan->y, " ");
    fputs("\n", out);
}

static void print_object(FILE *out, const struct forecast *forecast)
{
    const struct plan *plan = &forecast->transform.plan;
    fprintf(out,
            "{\"images\": \"%s\", \"padded\": [%u, %u], \"stages_per_dispatch\": %u, "
            "\"dispatches\": %u, \"words\": %.0f, \"accesses\": %.0f, \"bytes\": %.0f, "
            "\"seconds\": %.9f, \"radices_x\": [",
            forecast->images, plan->x.length, plan->y.length,
            forecast->transform.tuning.stages_per_dispatch, forecast->dispatches,
            forecast->work.words, forecast->work.accesses, forecast->work.bytes, forecast->seconds);
    print_radices(out, &plan->x, ", ");
    fputs("], \"radices_y\": [", out);
    print_radices(out, &plan->y, ", ");
    fputs("]}", out);
}

static void print_precision(FILE *out, enum recipe_precision precision,
                            const struct forecast *forecast, unsigned count, bool json)
{
    const char *name = precision == RECIPE_HALF ? "half" : "float";
    double seconds = 0;
    if (json)
        fprintf(out, "%s{\"precision\": \"%s\", \"transforms\": [",
                precision == RECIPE_FLOAT ? "" : ", ", name);
    for (unsigned i = 0; i < count; i++) {
        seconds += forecast[i].seconds;
        if (json) {
            fputs(i > 0 ? ", " : "", out);
            print_object(out, &forecast[i]);
        } else {
            print_line(out, name, &forecast[i]);
        }
    }
    if (json)
        fprintf(out, "], \"seconds\": %.9f, \"frames_per_second\": %.3f}", seconds, 1 / seconds);
    else
        fprintf(out, "%-9s  at most %.1f frames a second\n", name, 1 / seconds);
}

static void print_head_json(FILE *out, const struct forecast_request *request,
                            const struct cost_rates *rates)
{
    const struct rates *measured = request->measured;
    const char *name = measured != NULL ? measured->device : NAME;
    char device[TEXT_JSON_BYTES(sizeof measured->device)];
    char source[TEXT_JSON_BYTES(sizeof measured->clock_source)];
    fprintf(out,
            "{\"device\": %s, \"width\": %u, \"height\": %u, \"words_per_second\": %.0f, "
            "\"accesses_per_second\": %.0f, \"bytes_per_second\": %.0f, "
            "\"seconds_per_dispatch\": %.9f, ",
            text_to_json(device, sizeof device, name), request->width, request->height,
            rates->words, rates->accesses, rates->bytes, rates->dispatch_s);
    if (measured != NULL)
        fprintf(out, "\"counted\": %s, \"cores\": %u, \"clock\": %.0f, \"clock_source\": %s, ",
                measured->is_counted ? "true" : "false", measured->cores, measured->clock_hz,
                text_to_json(source, sizeof source, measured->clock_source));
    fputs("\"precisions\": [", out);
}

static void print_head(FILE *out, const struct forecast_request *request,
                       const struct cost_rates *rates)
{
    const struct rates *measured = request->measured;
    if (measured == NULL)
        fprintf(out,
                "%ux%u on a " NAME " that computes %.1f G words and %.1f G accesses and moves "
                "%.1f GB a\nsecond. A dispatch takes the longest of the three; a board takes "
                "longer.\n",
                request->width, request->height, rates->words / 1e9, rates->accesses / 1e9,
                rates->bytes / 1e9);
    else
        fprintf(out,
                "%ux%u on %s.\n"
                "Measured: it moves %.2f GB a second, and a dispatch takes %.1f us without work.\n"
                "Its clock is %.0f MHz (%s).\n"
                "So its cores, %u, compute %.2f G words and %.2f G accesses a second. A dispatch "
                "takes\nthe longest of the three.\n",
                request->width, request->height, measured->device, rates->bytes / 1e9,
                rates->dispatch_s * 1e6, measured->clock_hz / 1e6, measured->clock_source,
                measured->cores, rates->words / 1e9, rates->accesses / 1e9);
    if (measured != NULL && !measured->is_counted)
        fputs(
            "This device is no Mali-T760, whose plans, words and accesses these are: the times are "
            "those of\na T760 with these rates.\n",
            out);
    fputs("\nprecision  images       padded  dispatches  M words  M accesses        MB  least ms  "
          "each   radices\n",
          out);
}

static int check(const struct forecast_request *request, struct error *why)
{
    char quoted[TEXT_QUOTE_BYTES];
    if (request->measured == NULL && strcasecmp(request->device, NAME) != 0 &&
        strcmp(request->device, "auto") != 0)
        return error_set(why, EINVAL, "there is no model of the device %s: expected " NAME,
                         text_quote(quoted, request->device));
    if (request->width == 0 || request->height == 0)
        return error_set(why, EINVAL, "a plan for frames of %ux%u: expected WIDTHxHEIGHT",
                         request->width, request->height);
    if (request->options->technique == ENGINE_FUSED)
        return error_set(why, EINVAL,
                         "there is no model of engine.technique = \"fused\": expected \"staged\" "
                         "or \"auto\"");
    return 0;
}

int gpu_forecast(void *stdio_file, const struct forecast_request *request, bool json,
                 struct error *why)
{
    struct forecast forecast[2][2] = {{{0}}};
    struct cost_device cost = cost_midgard;
    const unsigned count = request->options->recipe.planes == RECIPE_ALL ? 2 : 1;
    int r = check(request, why);
    if (r < 0)
        return r;
    if (request->measured != NULL)
        cost.rates = request->measured->cost;
    for (int p = RECIPE_FLOAT; p <= RECIPE_HALF; p++) {
        struct engine_options chosen = *request->options;
        chosen.recipe.precision = (enum recipe_precision)p;
        for (unsigned i = 0; i < count; i++) {
            const unsigned sub = i + 1; /* of chroma, two */
            forecast[p][i].images = i == 0 ? "luma" : "chroma";
            forecast[p][i].transform.image =
                (struct transform_image){.count = sub,
                                         .apart = 1,
                                         .width = (request->width + sub - 1) / sub,
                                         .height = (request->height + sub - 1) / sub,
                                         .stride = request->width,
                                         .step = sub,
                                         .bits = 8};
            r = forecast_images(&forecast[p][i], &chosen, request->filter, &cost, sub, why);
            if (r < 0)
                return r;
        }
    }
    if (json)
        print_head_json(stdio_file, request, &cost.rates);
    else
        print_head(stdio_file, request, &cost.rates);
    for (int p = RECIPE_FLOAT; p <= RECIPE_HALF; p++)
        print_precision(stdio_file, (enum recipe_precision)p, forecast[p], count, json);
    if (json)
        fputs("]}\n", stdio_file);
    return 0;
}
