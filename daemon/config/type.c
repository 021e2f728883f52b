/* Fields are read and written by memcpy, because an enum's field is accessed as int32_t, which is
 * not the type it is declared as. */
#include "config/type.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config/chain.h"
#include "config/preset.h"
#include "config/tree.h"
#include "filters/filter.h"
#include "core/format.h"
#include "core/settings.h"
#include "core/text.h"

static bool is_word(const struct config_key *key, const char *text)
{
    return key->word != NULL && strcmp(text, key->word) == 0;
}

/* ---- strings ---- */

static void expects_string(const struct config_key *key, char *text, size_t size)
{
    text_append(text, size, "%s (at most %zu bytes)", key->expects, key->size - 1);
}

static int parse_string(void *field, const struct config_key *key, const char *text,
                        struct error *why)
{
    (void)why;
    if (strlen(text) >= key->size || !key->valid(text))
        return -EINVAL;
    strcpy(field, text);
    return 0;
}

static void print_string(const void *field, const struct config_key *key, char *text, size_t size)
{
    (void)key;
    snprintf(text, size, "%s", (const char *)field);
}

const struct config_type config_type_string = {
    .expects = expects_string,
    .parse = parse_string,
    .print = print_string,
};

/* ---- numbers ---- */

static bool read_word(double *ret, const struct config_key *key, const char *text)
{
    const bool is_second = key->second_word != NULL && strcmp(text, key->second_word) == 0;
    if (!is_second && !is_word(key, text))
        return false;
    *ret = is_second ? key->second_value : key->word_value;
    return true;
}

static int read_number(double *ret, const struct config_key *key, const char *text)
{
    double number;
    int r = text_to_number(&number, text);
    if (r < 0)
        return r;
    if (number < key->min || number > key->max)
        return -ERANGE;
    *ret = number;
    return 0;
}

static int read_whole(double *ret, const struct config_key *key, const char *text)
{
    double number;
    int r = read_number(&number, key, text);
    if (r < 0)
        return r;
    if (number != floor(number))
        return -EINVAL;
    *ret = number;
    return 0;
}

static void print_number_or_word(double number, const struct config_key *key, char *text,
                                 size_t size)
{
    if (key->word != NULL && number == key->word_value)
        snprintf(text, size, "%s", key->word);
    else if (key->second_word != NULL && number == key->second_value)
        snprintf(text, size, "%s", key->second_word);
    else
        text_from_number(number, text, size);
}

static void expects_number(const struct config_key *key, char *text, size_t size)
{
    text_append(text, size, "a number %g .. %g", key->min, key->max);
    if (key->unit != NULL)
        text_append(text, size, " %s", key->unit);
}

static int parse_number(void *field, const struct config_key *key, const char *text,
                        struct error *why)
{
    double number;
    int r = read_word(&number, key, text) ? 0 : read_number(&number, key, text);
    (void)why;
    if (r == 0)
        memcpy(field, &number, sizeof number);
    return r;
}

static void print_number(const void *field, const struct config_key *key, char *text, size_t size)
{
    double number;
    memcpy(&number, field, sizeof number);
    print_number_or_word(number, key, text, size);
}

const struct config_type config_type_number = {
    .expects = expects_number,
    .parse = parse_number,
    .print = print_number,
    .is_literal = true,
};

static void expects_whole(const struct config_key *key, char *text, size_t size)
{
    text_append(text, size, "a whole number %.0f .. %.0f", key->min, key->max);
    if (key->unit != NULL)
        text_append(text, size, " %s", key->unit);
}

static void store_int32(void *field, int32_t value)
{
    memcpy(field, &value, sizeof value);
}

static int32_t load_int32(const void *field)
{
    int32_t value;
    memcpy(&value, field, sizeof value);
    return value;
}

/* No key has values above INT32_MAX, so that a signed and an unsigned field are the same bytes. */
static int parse_whole(void *field, const struct config_key *key, const char *text,
                       struct error *why)
{
    double number;
    int r = read_word(&number, key, text) ? 0 : read_whole(&number, key, text);
    (void)why;
    if (r == 0)
        store_int32(field, (int32_t)number);
    return r;
}

static void print_whole(const void *field, const struct config_key *key, char *text, size_t size)
{
    print_number_or_word(load_int32(field), key, text, size);
}

const struct config_type config_type_whole = {
    .expects = expects_whole,
    .parse = parse_whole,
    .print = print_whole,
    .is_literal = true,
};

/* ---- booleans ---- */

static int parse_bool(void *field, const struct config_key *key, const char *text,
                      struct error *why)
{
    bool value = strcmp(text, "true") == 0;
    (void)key, (void)why;
    if (!value && strcmp(text, "false") != 0)
        return -EINVAL;
    memcpy(field, &value, sizeof value);
    return 0;
}

static void print_bool(const void *field, const struct config_key *key, char *text, size_t size)
{
    bool value;
    (void)key;
    memcpy(&value, field, sizeof value);
    snprintf(text, size, "%s", value ? "true" : "false");
}

const struct config_type config_type_bool = {
    .accepts = "true or false",
    .parse = parse_bool,
    .print = print_bool,
    .is_literal = true,
};

/* ---- names ---- */

static void expects_choice(const struct config_key *key, char *text, size_t size)
{
    text_append(text, size, "one of ");
    for (unsigned i = 0; key->choices[i] != NULL; i++)
        text_append(text, size, "%s%s", i == 0 ? "" : ", ", key->choices[i]);
}

static int parse_choice(void *field, const struct config_key *key, const char *text,
                        struct error *why)
{
    (void)why;
    for (unsigned i = 0; key->choices[i] != NULL; i++) {
        if (strcmp(key->choices[i], text) == 0) {
            store_int32(field, (int32_t)i);
            return 0;
        }
    }
    return -EINVAL;
}

static void print_choice(const void *field, const struct config_key *key, char *text, size_t size)
{
    snprintf(text, size, "%s", key->choices[load_int32(field)]);
}

const struct config_type config_type_choice = {
    .expects = expects_choice,
    .parse = parse_choice,
    .print = print_choice,
};

static void expects_format(const struct config_key *key, char *text, size_t size)
{
    char names[320];
    (void)key;
    format_names(names, sizeof names);
    text_append(text, size, "one of %s", names);
}

static int parse_format(void *field, const struct config_key *key, const char *text,
                        struct error *why)
{
    const struct format_info *format = format_by_name(text);
    (void)why;
    if (format == NULL && !is_word(key, text))
        return -EINVAL;
    store_int32(field, format != NULL ? (int32_t)format->fourcc : 0);
    return 0;
}

static void print_format(const void *field, const struct config_key *key, char *text, size_t size)
{
    const struct format_info *format = format_by_fourcc((uint32_t)load_int32(field));
    snprintf(text, size, "%s", format != NULL ? format->name : key->word);
}

const struct config_type config_type_format = {
    .expects = expects_format,
    .parse = parse_format,
    .print = print_format,
};

/* ---- sizes ---- */

static void expects_size(const struct config_key *key, char *text, size_t size)
{
    text_append(text, size, "WIDTHxHEIGHT, %.0fx%.0f .. %.0fx%.0f %s", key->min, key->min, key->max,
                key->max, key->unit);
}

static int parse_size(void *field, const struct config_key *key, const char *text,
                      struct error *why)
{
    double columns = 0, rows = 0;
    (void)why;
    if (!is_word(key, text)) {
        char width[TEXT_NUMBER_BYTES];
        size_t length = strcspn(text, "x");
        if (text[length] != 'x' || length >= sizeof width)
            return -EINVAL;
        memcpy(width, text, length);
        width[length] = '\0';
        if (read_whole(&columns, key, width) < 0 || read_whole(&rows, key, text + length + 1) < 0)
            return -EINVAL;
    }
    uint32_t side[2] = {(uint32_t)columns, (uint32_t)rows};
    memcpy(field, side, sizeof side);
    return 0;
}

static void print_size(const void *field, const struct config_key *key, char *text, size_t size)
{
    uint32_t side[2];
    memcpy(side, field, sizeof side);
    if (side[0] == 0)
        snprintf(text, size, "%s", key->word);
    else
        snprintf(text, size, "%ux%u", side[0], side[1]);
}

const struct config_type config_type_size = {
    .expects = expects_size,
    .parse = parse_size,
    .print = print_size,
};

/* ---- filter chains ---- */

static int parse_filter(void *field, const struct config_key *key, const char *text,
                        struct error *why)
{
    (void)key;
    return config_filter(field, text, why);
}

static void print_filter(const void *field, const struct config_key *key, char *text, size_t size)
{
    (void)key;
    filter_chain_print(field, text, size);
}

/* Images of one name may differ. */
static bool equal_filters(const void *a, const void *b)
{
    return filter_chain_equal(a, b);
}

static int read_filter(void *field, const struct config_key *key, const struct config_tree *tree,
                       const config_setting_t *list, struct error *why)
{
    (void)key;
    return config_chain_read(field, tree, list, why);
}

const struct config_type config_type_filter = {
    .accepts = "FILTER:NAME=VALUE,... | ..., preset:NAME or none",
    .parse = parse_filter,
    .print = print_filter,
    .equal = equal_filters,
    .read = read_filter,
    .compound = CONFIG_TYPE_LIST,
    .explains = true,
};

/* ---- settings ---- */

static int parse_settings(void *field, const struct config_key *key, const char *text,
                          struct error *why)
{
    (void)key;
    return settings_parse(field, text, why);
}

static void print_settings(const void *field, const struct config_key *key, char *text, size_t size)
{
    (void)key;
    settings_print(field, text, size);
}

static int read_settings(void *field, const struct config_key *key, const struct config_tree *tree,
                         const config_setting_t *group, struct error *why)
{
    struct settings settings = {.count = 0};
    for (int i = 0; i < config_setting_length(group); i++) {
        const config_setting_t *member = config_setting_get_elem(group, (unsigned)i);
        const char *name = config_setting_name(member);
        char text[CONFIG_VALUE_BYTES], origin[CONFIG_ORIGIN_BYTES];
        config_tree_origin(tree, member, origin);
        if (!config_tree_scalar(member, text))
            return error_set(why, EINVAL, "%s: %s.%s is %s: expected a value", origin, key->name,
                             name, config_tree_shape(member));
        int r = settings_put(&settings, name, text, why);
        if (r < 0)
            return error_prefix(why, -r, "%s: %s", origin, key->name);
    }
    memcpy(field, &settings, sizeof settings);
    return 0;
}

const struct config_type config_type_settings = {
    .accepts = "NAME=VALUE, ... or none; `fftd-ctl camera controls` lists them",
    .parse = parse_settings,
    .print = print_settings,
    .read = read_settings,
    .compound = CONFIG_TYPE_GROUP,
    .explains = true,
};
