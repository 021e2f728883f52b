/* Prints what the model of a Mali-T760 (estimate.h) says of frames, without one: the plan with
 * which an engine starts there, and the least time of a frame. `make mali-plan` runs it.
 *
 *     build/tests/mali/plan FILTER... WIDTHxHEIGHT...
 *
 * Frames are luma of 8 bits, with the border that the filter needs. Frequencies outside its band
 * (transform/response.h) are left out. The rows of the second table are those of docs/RK3288.md. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/preset.h"
#include "mali/estimate.h"
#include "transform/tuner.h"

static const struct gpu_device mali = {.type = CL_DEVICE_TYPE_GPU,
                                       .midgard = true,
                                       .half_vectors = true,
                                       .max_group = 256,
                                       .local_bytes = 32 * 1024,
                                       .vector_width = 4};

struct forecast {
    struct transform transform;
    struct cost_work work;
    double seconds;
};

/* As an engine chooses it (daemon/engine/component.c). */
static uint32_t margin(double support_px, uint32_t length)
{
    return (uint32_t)fmin(ceil(2 * support_px), length / 2.);
}

static int find_band(uint32_t *ret, const struct transform *transform,
                     const struct filter_chain *filter, struct error *why)
{
    void *response = malloc(transform_response_bytes(transform));
    if (response == NULL)
        return error_set(why, ENOMEM, "out of memory while computing a filter's response");
    const int r = transform_response_fill(transform, response, filter, 1, 1, ret, why);
    free(response);
    return r;
}

static int forecast(struct forecast *ret, uint32_t width, uint32_t height,
                    const struct filter_chain *filter, bool half, struct error *why)
{
    const double support_px = filter_chain_support(filter);
    const struct tuner_subject subject = {
        .device = &mali,
        .image = {.count = 1,
                  .apart = 1,
                  .width = width,
                  .height = height,
                  .stride = width,
                  .step = 1,
                  .bits = 8},
        .border = {.margin_x = margin(support_px, width), .margin_y = margin(support_px, height)},
        .precision = half ? RECIPE_HALF : RECIPE_FLOAT,
        .any_technique = true};
    struct transform *transform = &ret->transform;
    uint32_t band;
    *transform = (struct transform){
        .device = subject.device, .image = subject.image, .border = subject.border};
    tuner_start(&transform->tuning, &subject);
    transform->tuning.recipe.complex_response = filter_chain_is_complex(filter);
    int r = transform_fit(transform, why);
    if (r == 0)
        r = find_band(&band, transform, filter, why);
    if (r < 0)
        return r;
    ret->seconds = estimate_staged(&ret->work, transform, &cost_midgard, band);
    return 0;
}

static unsigned dispatches(const struct transform *transform)
{
    struct pass pass[PLAN_MAX_STAGES];
    return 2 * (transform_passes(pass, transform, &transform->plan.y) +
                transform_passes(pass, transform, &transform->plan.x)) -
           1;
}

static void print_radices(const struct plan_axis *axis, const char *after)
{
    for (unsigned i = 0; i < axis->stage_count; i++)
        printf("%u%s", axis->radix[i], i + 1 < axis->stage_count ? " " : after);
}

static void print_plan(const char *size, const char *filter, const struct forecast *forecast)
{
    const struct transform *transform = &forecast->transform;
    printf("| %s | `%s` | %s | %ux%u | ", size, filter,
           transform->tuning.recipe.precision == RECIPE_HALF ? "half" : "float",
           transform->plan.x.length, transform->plan.y.length);
    print_radices(&transform->plan.x, " x ");
    print_radices(&transform->plan.y, " | ");
    printf("%u | %u | %.1f | %.1f | %.1f | %.2f |\n", transform->tuning.stages_per_dispatch,
           dispatches(transform), forecast->work.words / 1e6, forecast->work.accesses / 1e6,
           forecast->work.bytes / 1e6, forecast->seconds * 1e3);
}

static int read_size(const char *text, uint32_t *ret_width, uint32_t *ret_height, struct error *why)
{
    char *x, *end = NULL;
    const unsigned long width = strtoul(text, &x, 10);
    const unsigned long height = *x == 'x' ? strtoul(x + 1, &end, 10) : 0;
    if (end == NULL || *end != '\0' || width - 1 >= PLAN_MAX_LENGTH ||
        height - 1 >= PLAN_MAX_LENGTH)
        return error_set(why, EINVAL, "%s is not WIDTHxHEIGHT, of 1 to %d", text, PLAN_MAX_LENGTH);
    *ret_width = (uint32_t)width;
    *ret_height = (uint32_t)height;
    return 0;
}

/* Calls row() with the forecasts in float and in half precision of each size and each filter. */
static int for_each(char **argument, int count,
                    void (*row)(const char *size, const char *filter, const struct forecast *both),
                    struct error *why)
{
    int r = 0;
    for (int s = 0; s < count; s++)
        for (int f = 0; f < count && r == 0; f++) {
            uint32_t width = 0, height = 0;
            struct filter_chain chain;
            struct forecast both[2];
            if (!isdigit((unsigned char)*argument[s]) || isdigit((unsigned char)*argument[f]))
                continue;
            r = read_size(argument[s], &width, &height, why);
            if (r == 0)
                r = config_filter(&chain, argument[f], why);
            for (int half = 0; half < 2 && r == 0; half++)
                r = forecast(&both[half], width, height, &chain, half == 1, why);
            if (r == 0)
                row(argument[s], argument[f], both);
        }
    return r;
}

static void print_plans(const char *size, const char *filter, const struct forecast *both)
{
    print_plan(size, filter, &both[0]);
    print_plan(size, filter, &both[1]);
}

static void print_times(const char *size, const char *filter, const struct forecast *both)
{
    printf("| %s | `%s` | %.2f | %.2f | %.0f |\n", size, filter, both[0].seconds * 1e3,
           both[1].seconds * 1e3, 1 / fmin(both[0].seconds, both[1].seconds));
}

int main(int argc, char **argv)
{
    struct error why;
    printf("| frame | filter | precision | padded | radices | stages a dispatch | dispatches | "
           "M words | M accesses | MB | at least, ms |\n"
           "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    int r = for_each(argv + 1, argc - 1, print_plans, &why);
    printf("\n| frame | filter | float, ms | half precision, ms | so at most, frames per second |\n"
           "| --- | --- | --- | --- | --- |\n");
    if (r == 0)
        r = for_each(argv + 1, argc - 1, print_times, &why);
    if (r == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "plan: %s\n", why.text);
    return EXIT_FAILURE;
}
