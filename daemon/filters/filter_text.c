/* Chains from text, and back. This file knows kinds only through filter_kind.h, and none by name.
 *
 * Messages are written to terminals and sent over D-Bus, which requires UTF-8. Therefore the user's
 * text goes through text_quote; the rest is ASCII from the kinds. */
#include "filters/filter.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "filters/filter_value.h"
#include "core/text.h"

int filter_param_index(const struct filter_kind *kind, const char *name)
{
    for (unsigned i = 0; i < filter_param_count(kind); i++)
        if (strcmp(kind->param[i].name, name) == 0)
            return (int)i;
    return -1;
}

void filter_stage_init(struct filter_stage *ret, const struct filter_kind *kind)
{
    *ret = (struct filter_stage){.kind = kind};
    for (unsigned i = 0; i < filter_param_count(kind); i++) {
        double initial = kind->param[i].required ? NAN : kind->param[i].initial;
        ret->value[i] = (struct filter_value){.number = initial, .second = initial};
    }
}

/* The names that would have been right, for a message about an unknown one. */
struct known_names {
    char list[sizeof((struct error){0}.text)]; /* no message has room for more */
    struct text_guess guess;
};

static void add_name(struct known_names *known, const char *name)
{
    text_guess_try(&known->guess, name);
    text_append(known->list, sizeof known->list, "%s%s", known->list[0] == '\0' ? "" : ", ", name);
}

static int refuse_unknown(const char *what, const struct known_names *known, struct error *why)
{
    const char *best = known->guess.best;
    char quoted[TEXT_QUOTE_BYTES];
    return error_set(why, EINVAL, "unknown %s %s: expected one of %s%s%s%s", what,
                     text_quote(quoted, known->guess.typed), known->list,
                     best != NULL ? "; did you mean " : "", best != NULL ? best : "",
                     best != NULL ? "?" : "");
}

int filter_kind_find(const struct filter_kind **ret, const char *name, struct error *why)
{
    const struct filter_kind *kind = filter_kind_by_name(name);
    if (kind != NULL) {
        *ret = kind;
        return 0;
    }
    struct known_names known = {.guess = TEXT_GUESS(name)};
    unsigned count;
    const struct filter_kind *const *kinds = filter_kinds(&count);
    for (unsigned i = 0; i < count; i++)
        add_name(&known, kinds[i]->name);
    return refuse_unknown("filter", &known, why);
}

static int unknown_param(const struct filter_kind *kind, const char *name, struct error *why)
{
    char quoted[TEXT_QUOTE_BYTES];
    if (filter_param_count(kind) == 0)
        return error_set(why, EINVAL, "%s: unknown parameter %s: expected none", kind->name,
                         text_quote(quoted, name));
    struct known_names known = {.guess = TEXT_GUESS(name)};
    for (unsigned i = 0; i < filter_param_count(kind); i++)
        add_name(&known, kind->param[i].name);
    refuse_unknown("parameter", &known, why);
    return error_prefix(why, EINVAL, "%s", kind->name);
}

/* ---- text to stages ---- */

int filter_stage_set(struct filter_stage *stage, const char *param, const char *text,
                     struct error *why)
{
    int index = filter_param_index(stage->kind, param);
    if (index < 0)
        return unknown_param(stage->kind, param, why);

    const struct filter_param *about = &stage->kind->param[index];
    int r;
    if (about->type == FILTER_IMAGE) { /* its own message says why it cannot be read */
        r = filter_image_load(&stage->image, text, why);
        return r < 0 ? error_prefix(why, EINVAL, "%s", stage->kind->name) : 0;
    }
    r = filter_value_read(stage, (unsigned)index, text);
    if (r < 0) {
        char quoted[TEXT_QUOTE_BYTES], expected[FILTER_EXPECTS_BYTES];
        return error_set(why, EINVAL, "%s: %s = %s %s: expected %s", stage->kind->name, param,
                         text_quote(quoted, text), filter_value_fault(about, r),
                         filter_value_expects(expected, about));
    }
    return 0;
}

/* Checks that the stage's image is small enough to be summed pixel by pixel, or looked for. */
static int check_summed_image(const struct filter_stage *stage, struct error *why)
{
    const struct filter_image *image = stage->image;
    if (image == NULL || stage->kind->image_response == NULL ||
        (image->columns <= FILTER_IMAGE_KERNEL_SIDE && image->rows <= FILTER_IMAGE_KERNEL_SIDE))
        return 0;
    return error_set(why, EINVAL, "%s: image %s has %ux%u pixels: expected at most %dx%d",
                     stage->kind->name, image->name, image->columns, image->rows,
                     FILTER_IMAGE_KERNEL_SIDE, FILTER_IMAGE_KERNEL_SIDE);
}

int filter_stage_check(const struct filter_stage *stage, struct error *why)
{
    for (unsigned i = 0; i < filter_param_count(stage->kind); i++) {
        const struct filter_param *param = &stage->kind->param[i];
        if (param->required && !filter_value_is_set(stage, i)) {
            char expected[FILTER_EXPECTS_BYTES];
            return error_set(why, EINVAL, "%s: %s is missing: expected %s", stage->kind->name,
                             param->name, filter_value_expects(expected, param));
        }
    }
    int r = stage->kind->check != NULL ? stage->kind->check(stage, why) : 0;
    return r < 0 ? r : check_summed_image(stage, why);
}

static int parse_param(struct filter_stage *stage, char *text, unsigned *seen, struct error *why)
{
    char *value = text_cut_at(text, '=');
    char *name = text_trim(text);
    char quoted[TEXT_QUOTE_BYTES];
    if (value == NULL)
        return error_set(why, EINVAL, "%s: %s is not a parameter: expected NAME=VALUE, ...",
                         stage->kind->name, text_quote(quoted, name));
    int index = filter_param_index(stage->kind, name);
    if (index < 0)
        return unknown_param(stage->kind, name, why);
    if ((*seen & 1u << index) != 0)
        return error_set(why, EINVAL, "%s: %s is given twice", stage->kind->name, name);
    int r = filter_stage_set(stage, name, text_trim(value), why);
    if (r < 0)
        return r;
    *seen |= 1u << index;
    return 0;
}

/* Parses one stage; overwrites the separators in text. */
static int parse_stage(struct filter_stage *ret, char *text, struct error *why)
{
    char *params = text_cut_at(text, ':');
    char *name = text_trim(text);
    if (*name == '\0')
        return error_set(why, EINVAL, "a stage is empty: expected FILTER:NAME=VALUE,...");
    const struct filter_kind *kind = NULL;
    int r = filter_kind_find(&kind, name, why);
    if (r < 0)
        return r;

    struct filter_stage stage;
    filter_stage_init(&stage, kind);
    unsigned seen = 0;
    while (params != NULL) {
        char *param = params;
        params = text_cut_at(param, ',');
        r = parse_param(&stage, param, &seen, why);
        if (r < 0)
            return r;
    }
    r = filter_stage_check(&stage, why);
    if (r < 0)
        return r;
    *ret = stage;
    return 0;
}

static int copy_text(char copy[FILTER_TEXT_BYTES], const char *text, struct error *why)
{
    size_t length = strnlen(text, FILTER_TEXT_BYTES);
    if (length == FILTER_TEXT_BYTES)
        return error_set(why, EINVAL, "the filter is too long: expected at most %d characters",
                         FILTER_TEXT_BYTES - 1);
    memcpy(copy, text, length + 1);
    return 0;
}

int filter_stage_parse(struct filter_stage *ret, const char *text, struct error *why)
{
    char copy[FILTER_TEXT_BYTES];
    int r = copy_text(copy, text, why);
    return r < 0 ? r : parse_stage(ret, copy, why);
}

int filter_chain_parse(struct filter_chain *ret, const char *text, struct error *why)
{
    char copy[FILTER_TEXT_BYTES];
    int r = copy_text(copy, text, why);
    if (r < 0)
        return r;

    struct filter_chain chain = {.count = 0};
    char *rest = text_trim(copy);
    bool is_single = strchr(rest, '|') == NULL;
    if (*rest == '\0' || strcmp(rest, "none") == 0)
        rest = NULL;
    while (rest != NULL) {
        char *stage = rest;
        rest = text_cut_at(stage, '|');
        if (chain.count == FILTER_MAX_STAGES)
            return error_set(why, EINVAL, "the filter has more than %d stages", FILTER_MAX_STAGES);
        r = parse_stage(&chain.stage[chain.count], stage, why);
        if (r < 0)
            return is_single ? r : error_prefix(why, -r, "stage %u", chain.count + 1);
        chain.count++;
    }
    r = filter_chain_check(&chain, why);
    if (r < 0)
        return r;
    *ret = chain;
    return 0;
}

/* ---- images ---- */

void filter_chain_hold(const struct filter_chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        filter_image_hold(chain->stage[i].image);
}

void filter_chain_drop(const struct filter_chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        filter_image_drop(chain->stage[i].image);
}

void filter_chain_assign(struct filter_chain *to, const struct filter_chain *from)
{
    filter_chain_hold(from); /* first, because both may have the same images */
    filter_chain_drop(to);
    *to = *from;
}

/* ---- stages to text ---- */

static void append_stage(char *text, size_t size, const struct filter_stage *stage)
{
    char separator = ':';
    text_append(text, size, "%s", stage->kind->name);
    for (unsigned i = 0; i < filter_param_count(stage->kind); i++) {
        if (!filter_value_is_set(stage, i))
            continue;
        text_append(text, size, "%c%s=", separator, stage->kind->param[i].name);
        filter_value_append(text, size, stage, i);
        separator = ',';
    }
}

void filter_chain_print(const struct filter_chain *chain, char *text, size_t size)
{
    text[0] = '\0';
    if (chain->count == 0)
        text_append(text, size, "none");
    for (unsigned i = 0; i < chain->count; i++) {
        text_append(text, size, "%s", i == 0 ? "" : " | ");
        append_stage(text, size, &chain->stage[i]);
    }
}

static bool equal_stages(const struct filter_stage *a, const struct filter_stage *b)
{
    if (a->kind != b->kind)
        return false;
    for (unsigned i = 0; i < filter_param_count(a->kind); i++)
        if (!filter_value_equal(a, b, i))
            return false;
    return true;
}

bool filter_chain_equal(const struct filter_chain *a, const struct filter_chain *b)
{
    if (a->count != b->count)
        return false;
    for (unsigned i = 0; i < a->count; i++)
        if (!equal_stages(&a->stage[i], &b->stage[i]))
            return false;
    return true;
}
