/* What a plan's printed times follow from: the rates of the model, or measured ones. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include "transform/cost.h"
#include "transform/forecast.h"

static const struct engine_options options = {.border = PLAN_MIRROR, .margin = -1};

static const struct filter_chain none;

/* Prints a plan; the caller frees it. */
static char *print(const struct forecast_request *request, bool json)
{
    struct error why = {""};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const int r = gpu_forecast(out, request, json, &why);
    fclose(out);
    if (r < 0)
        fail_msg("%s", why.text);
    return text;
}

static char *forecast(const char *device, const struct rates *measured, bool json)
{
    return print(&(struct forecast_request){.device = device,
                                            .measured = measured,
                                            .width = 1280,
                                            .height = 720,
                                            .options = &options,
                                            .filter = &none},
                 json);
}

/* The number behind the first such name after the last precision that begins with this. */
static double number(const char *json, const char *precision, const char *name)
{
    const char *at = strstr(json, precision);
    assert_non_null(at);
    at = strstr(at, name);
    assert_non_null(at);
    return strtod(at + strlen(name), NULL);
}

static double seconds(const struct rates *measured)
{
    char *json = forecast("auto", measured, true);
    const double found = number(json, "\"half\"", "], \"seconds\": ");
    assert_float_equal(number(json, "\"half\"", "\"frames_per_second\": "), 1 / found, 1e-3);
    free(json);
    return found;
}

static struct rates rates_of_the_model(void)
{
    return (struct rates){.cost = cost_midgard.rates,
                          .device = "a \"board\"",
                          .is_counted = true,
                          .cores = 4,
                          .clock_hz = 600e6,
                          .clock_source = "/sys/class/devfreq/ffa30000.gpu/cur_freq"};
}

static void times_follow_from_measured_rates(void **state)
{
    (void)state;
    struct rates same = rates_of_the_model(), half = same, slow_memory = same, slow_start = same;
    const double of_the_model = seconds(NULL);
    assert_float_equal(seconds(&same), of_the_model, 1e-8);

    half.cost.words /= 2;
    half.cost.accesses /= 2;
    half.cost.bytes /= 2;
    assert_float_equal(seconds(&half), 2 * of_the_model, 1e-8);

    /* Memory alone then takes all of the time. */
    slow_memory.cost.bytes = 1e6;
    char *json = forecast("auto", &slow_memory, true);
    const double bytes = number(json, "\"half\"", "\"bytes\": ");
    const double dispatches = number(json, "\"half\"", "\"dispatches\": ");
    free(json);
    assert_float_equal(seconds(&slow_memory), bytes / 1e6, 1e-5);

    slow_start.cost.dispatch_s = 0.01;
    assert_float_equal(seconds(&slow_start), of_the_model + 0.01 * dispatches, 1e-8);
}

static void measured_figures_are_printed(void **state)
{
    static const char *const wanted[] = {"1280x720 on a \"board\".\n",
                                         " 7.25 GB a second",
                                         " 12.5 us ",
                                         " 600 MHz",
                                         "(/sys/class/devfreq/ffa30000.gpu/cur_freq)",
                                         " 4, compute 4.80 G words and 2.40 G acc"};
    (void)state;
    struct rates rates = rates_of_the_model();
    rates.cost.bytes = 7.25e9;
    rates.cost.dispatch_s = 12.5e-6;
    char *text = forecast("auto", &rates, false), *json = forecast("auto", &rates, true);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (strstr(text, wanted[i]) == NULL)
            fail_msg("'%s' is missing in:\n%s", wanted[i], text);
    assert_null(strstr(text, "no Mali-T760"));
    assert_non_null(strstr(json, "\"device\": \"a \\\"board\\\"\""));
    assert_true(number(json, "{", "\"bytes_per_second\": ") == 7.25e9);
    assert_true(number(json, "{", "\"clock\": ") == 600e6);
    free(text);
    free(json);

    rates.is_counted = false;
    text = forecast("auto", &rates, false);
    assert_non_null(strstr(text, "no Mali-T760"));
    free(text);
}

/* The name of a measured device selects no model. */
static void only_a_table_needs_a_known_device(void **state)
{
    const struct rates rates = rates_of_the_model();
    struct forecast_request request = {
        .device = "mali-t628", .width = 64, .height = 48, .options = &options, .filter = &none};
    struct error why = {""};
    (void)state;
    assert_int_equal(gpu_forecast(stdout, &request, true, &why), -EINVAL);
    assert_non_null(strstr(why.text, "expected mali-t760"));
    request.measured = &rates;
    free(forecast("mali-t628", &rates, true));
    request.width = 0;
    assert_int_equal(gpu_forecast(stdout, &request, true, &why), -EINVAL);
}

/* Prints the plan with a filter, padded alike for all filters. */
static char *forecast_filter(const char *filter, enum recipe_planes planes)
{
    const struct engine_options fixed = {
        .border = PLAN_MIRROR, .margin = 100, .recipe.planes = planes};
    struct filter_chain chain;
    assert_int_equal(filter_chain_parse(&chain, filter, NULL), 0);
    const struct forecast_request request = {
        .device = "auto", .width = 1280, .height = 720, .options = &fixed, .filter = &chain};
    return print(&request, true);
}

/* A narrower band needs less of everything, for chroma, too. A filter that lets the highest
 * frequencies through has the plan of no filter. */
static void what_a_filter_does_not_let_through_is_left_out(void **state)
{
    static const char *const filters[] = {"gain:ac=0", "gaussian-blur:sigma=20",
                                          "gaussian-blur:sigma=5", "none"};
    static const char *const names[] = {
        "\"words\": ", "\"accesses\": ", "\"bytes\": ", "\"seconds\": ", "], \"seconds\": "};
    static const char *const precisions[] = {"\"float\"", "\"half\""};
    (void)state;
    for (enum recipe_planes planes = RECIPE_LUMA; planes <= RECIPE_ALL; planes++) {
        char *json[4], *sharper = forecast_filter("sharpen:amount=1,sigma=2", planes);
        for (unsigned f = 0; f < 4; f++)
            json[f] = forecast_filter(filters[f], planes);
        for (unsigned i = 0; i < 2 * sizeof names / sizeof names[0]; i++) {
            double last = 0;
            for (unsigned f = 0; f < 4; f++) {
                const double next = number(json[f], precisions[i % 2], names[i / 2]);
                assert_true(next > last);
                last = next;
            }
        }
        assert_string_equal(sharper, json[3]);
        free(sharper);
        for (unsigned f = 0; f < 4; f++)
            free(json[f]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_follow_from_measured_rates),
        cmocka_unit_test(measured_figures_are_printed),
        cmocka_unit_test(what_a_filter_does_not_let_through_is_left_out),
        cmocka_unit_test(only_a_table_needs_a_known_device),
    };
    return cmocka_run_group_tests_name("forecast", tests, NULL, NULL);
}
