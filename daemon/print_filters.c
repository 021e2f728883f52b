/* Prints the kinds of filters, and the presets: as text and as JSON. */
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "config/preset.h"
#include "core/text.h"
#include "filters/filter.h"
#include "filters/filter_value.h"
#include "print.h"
#include "service/log.h"

/* Writes `"KEY": "TEXT"`, after a comma unless it is the first entry of its object. */
static void print_entry(bool is_first, const char *key, const char *text)
{
    static char json[TEXT_JSON_BYTES(FILTER_TEXT_BYTES)];
    printf("%s\"%s\": %s", is_first ? "{" : ", ", key, text_to_json(json, sizeof json, text));
}

/* ---- kinds ---- */

static void print_number(const char *key, double value)
{
    char text[TEXT_NUMBER_BYTES];
    text_from_number(value, text, sizeof text);
    printf(", \"%s\": %s", key, text);
}

static void print_parameter_json(const struct filter_param *param)
{
    char limits[FILTER_EXPECTS_BYTES], initial[FILTER_INITIAL_BYTES];
    filter_value_limits(limits, param);
    filter_value_initial(initial, param);
    print_entry(true, "name", param->name);
    print_entry(false, "summary", param->summary);
    print_entry(false, "type", filter_value_type(param));
    print_entry(false, "unit", param->unit != NULL ? param->unit : "");
    printf(", \"required\": %s", param->required ? "true" : "false");
    print_entry(false, "expected", limits);
    print_entry(false, "default", initial);
    if (filter_value_has_range(param)) {
        print_number("minimum", param->min);
        print_number("maximum", param->max);
    }
    if (param->type == FILTER_CHOICE) {
        fputs(", \"choices\": [", stdout);
        for (unsigned i = 0; param->choices[i] != NULL; i++)
            printf("%s\"%s\"", i > 0 ? ", " : "", param->choices[i]);
        putchar(']');
    }
    putchar('}');
}

static void print_kind_json(const struct filter_kind *kind)
{
    print_entry(true, "name", kind->name);
    print_entry(false, "group", kind->group);
    print_entry(false, "summary", kind->summary);
    print_entry(false, "formula", kind->formula);
    print_entry(false, "example", kind->example);
    fputs(", \"parameters\": [", stdout);
    for (unsigned i = 0; i < filter_param_count(kind); i++) {
        fputs(i > 0 ? ", " : "", stdout);
        print_parameter_json(&kind->param[i]);
    }
    fputs("]}", stdout);
}

static void print_parameter(const struct filter_param *param)
{
    char expected[FILTER_EXPECTS_BYTES], initial[FILTER_INITIAL_BYTES];
    filter_value_initial(initial, param);
    printf("    %-8s %s", param->name, filter_value_expects(expected, param));
    if (param->required)
        fputs(", required", stdout);
    else if (*initial != '\0')
        printf(", default %s", initial);
    printf("\n             %s\n", param->summary);
}

static void print_kind(const struct filter_kind *kind)
{
    printf("%s: %s\n    %s\n", kind->name, kind->summary, kind->formula);
    for (unsigned i = 0; i < filter_param_count(kind); i++)
        print_parameter(&kind->param[i]);
}

int print_filters(const char *only, bool json)
{
    unsigned count;
    const struct filter_kind *const *kinds = filter_kinds(&count), *kind = NULL;
    struct error why;
    if (only != NULL && filter_kind_find(&kind, only, &why) < 0) {
        log_error("%s", why.text);
        return EX_DATAERR;
    }
    if (json && only == NULL)
        putchar('[');
    for (unsigned i = 0; i < count; i++) {
        if (only != NULL && kinds[i] != kind)
            continue;
        if (json && only == NULL && i > 0)
            fputs(", ", stdout);
        if (json)
            print_kind_json(kinds[i]);
        else
            print_kind(kinds[i]);
    }
    if (json)
        puts(only == NULL ? "]" : "");
    return print_end();
}

/* ---- presets ---- */

/* A chain's text names its images, which need not exist for that: each is one pixel here. */
static int load_no_image(const struct filter_image **ret, const char *name, struct error *why)
{
    static const char pixel[] = "1\n";
    struct filter_image *image;
    const int r = filter_image_parse(&image, name, pixel, sizeof pixel - 1, why);
    if (r == 0)
        *ret = image; /* freed with the process */
    return r;
}

struct preset_listing {
    bool json;
    unsigned count;
};

static void print_preset(void *context, const char *name)
{
    struct preset_listing *listing = context;
    char summary[CONFIG_SUMMARY_BYTES] = "", text[FILTER_TEXT_BYTES] = "";
    struct filter_chain chain;
    struct error why = {""};
    const int r = config_load_preset(&chain, summary, name, &why);
    if (r == 0)
        filter_chain_print(&chain, text, sizeof text);
    listing->count++;
    if (listing->json) {
        fputs(listing->count > 1 ? ", " : "", stdout);
        print_entry(true, "name", name);
        print_entry(false, "summary", summary);
        print_entry(false, r == 0 ? "filter" : "problem", r == 0 ? text : why.text);
        putchar('}');
        return;
    }
    printf("%s: %s\n    %s%s\n", name, text_clean(summary),
           r == 0 ? "" : "cannot be used: ", r == 0 ? text : text_clean(why.text));
}

int print_presets(bool json)
{
    struct preset_listing listing = {.json = json};
    filter_image_set_loader(load_no_image);
    if (json)
        putchar('[');
    config_list_presets(print_preset, &listing);
    if (json)
        puts("]");
    else if (listing.count == 0)
        puts("none");
    return print_end();
}
