/* What follows from the table of keys alone: defaults, setting from text, text of what is set,
 * messages. Fields are reached by offset, always through memcpy: the enums among them are not the
 * type they are written as. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/format.h"
#include "core/text.h"

#define PRESET_PREFIX "preset:"

_Static_assert(sizeof(enum engine_precision) == sizeof(uint32_t) &&
                   sizeof(enum plan_border) == sizeof(uint32_t),
               "CONFIG_CHOICE stores enums as uint32_t");
_Static_assert(offsetof(struct config, height) == offsetof(struct config, width) + sizeof(uint32_t),
               "CONFIG_SIZE stores both at once");

const struct config_key *config_key_by_name(const char *name)
{
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

/* ---- what a key takes, in words ---- */

static void append_choices(char *text, size_t size, const char *const *choices)
{
    text_append(text, size, "one of ");
    for (unsigned i = 0; choices[i] != NULL; i++)
        text_append(text, size, "%s%s", i == 0 ? "" : ", ", choices[i]);
}

static void append_formats(char *text, size_t size)
{
    char names[320];
    format_names(names, sizeof names);
    text_append(text, size, "one of %s", names);
}

void config_key_expects(const struct config_key *key, char *text, size_t size)
{
    const char *space = key->unit != NULL ? " " : "", *unit = key->unit != NULL ? key->unit : "";
    text[0] = '\0';
    switch (key->type) {
    case CONFIG_STRING:
        text_append(text, size, "%s (at most %zu bytes)", key->expects, key->size - 1);
        break;
    case CONFIG_NUMBER:
        text_append(text, size, "a number %g .. %g%s%s", key->min, key->max, space, unit);
        break;
    case CONFIG_INT:
    case CONFIG_UINT:
    case CONFIG_UINT64:
        text_append(text, size, "a whole number %.0f .. %.0f%s%s", key->min, key->max, space, unit);
        break;
    case CONFIG_BOOL:
        text_append(text, size, "true or false");
        break;
    case CONFIG_CHOICE:
        append_choices(text, size, key->choices);
        break;
    case CONFIG_SIZE:
        text_append(text, size, "WIDTHxHEIGHT, %.0fx%.0f .. %.0fx%.0f%s%s", key->min, key->min,
                    key->max, key->max, space, unit);
        break;
    case CONFIG_FORMAT:
        append_formats(text, size);
        break;
    case CONFIG_FILTER:
        text_append(text, size, "FILTER:NAME=VALUE,... | ..., preset:NAME or none");
        break;
    case CONFIG_SETTINGS:
        text_append(text, size, "NAME=VALUE, ... or none; `fftd-ctl camera controls` lists them");
        break;
    }
    if (key->word != NULL)
        text_append(text, size, ", or %s", key->word);
}

static int unknown_key(const char *name, const char *origin, struct error *why)
{
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    /* Of a known group its keys are listed, otherwise the groups and keys of the top. */
    const char *dot = strchr(name, '.');
    size_t group = 0;
    for (unsigned i = 0; dot != NULL && i < count; i++)
        if (strncmp(keys[i].name, name, (size_t)(dot - name) + 1) == 0)
            group = (size_t)(dot - name) + 1;

    char quoted[TEXT_QUOTE_BYTES], known[256] = "", hint[64] = "";
    struct text_guess guess = TEXT_GUESS(name);
    const char *last = "";
    for (unsigned i = 0; i < count; i++) {
        text_guess_try(&guess, keys[i].name);
        if (strncmp(keys[i].name, name, group) != 0)
            continue;
        const char *shown = keys[i].name + group;
        size_t length = strcspn(shown, ".");
        if (strncmp(shown, last, length + 1) == 0)
            continue;
        text_append(known, sizeof known, "%s%.*s%s", *last == '\0' ? "" : ", ", (int)length, shown,
                    shown[length] == '.' ? ".*" : "");
        last = shown;
    }
    if (guess.best != NULL)
        snprintf(hint, sizeof hint, "; did you mean %s?", guess.best);
    return error_set(why, EINVAL, "%s: unknown key %s: expected one of %s%s", origin,
                     text_quote(quoted, name), known, hint);
}

/* ---- text to fields ---- */

static void *field(struct config *config, const struct config_key *key)
{
    return (char *)config + key->offset;
}

static const void *const_field(const struct config *config, const struct config_key *key)
{
    return (const char *)config + key->offset;
}

static int read_number(double *ret, const struct config_key *key, const char *text)
{
    double number;
    int r = text_to_number(&number, text);
    if (r < 0)
        return r;
    bool is_whole = number == floor(number);
    if (number < key->min || number > key->max || (key->type != CONFIG_NUMBER && !is_whole))
        return -ERANGE;
    *ret = number;
    return 0;
}

static void store_uint(struct config *config, const struct config_key *key, uint32_t value)
{
    memcpy(field(config, key), &value, sizeof value);
}

static int set_number(struct config *config, const struct config_key *key, const char *text)
{
    double number = key->word_value;
    bool is_word = key->word != NULL && strcmp(text, key->word) == 0;
    int r = is_word ? 0 : read_number(&number, key, text);
    if (r < 0)
        return r;
    if (key->type == CONFIG_NUMBER) {
        memcpy(field(config, key), &number, sizeof number);
    } else if (key->type == CONFIG_UINT64) {
        uint64_t whole = (uint64_t)number;
        memcpy(field(config, key), &whole, sizeof whole);
    } else if (key->type == CONFIG_INT) {
        int whole = (int)number;
        memcpy(field(config, key), &whole, sizeof whole);
    } else {
        store_uint(config, key, (uint32_t)number);
    }
    return 0;
}

static int set_string(struct config *config, const struct config_key *key, const char *text)
{
    if (strlen(text) >= key->size || !key->valid(text))
        return -EINVAL;
    strcpy(field(config, key), text);
    return 0;
}

static int set_bool(struct config *config, const struct config_key *key, const char *text)
{
    bool value = strcmp(text, "true") == 0;
    if (!value && strcmp(text, "false") != 0)
        return -EINVAL;
    memcpy(field(config, key), &value, sizeof value);
    return 0;
}

static int set_choice(struct config *config, const struct config_key *key, const char *text)
{
    for (unsigned i = 0; key->choices[i] != NULL; i++) {
        if (strcmp(key->choices[i], text) == 0) {
            store_uint(config, key, i);
            return 0;
        }
    }
    return -EINVAL;
}

static int set_size(struct config *config, const struct config_key *key, const char *text)
{
    uint32_t side[2] = {0, 0};
    if (strcmp(text, key->word) != 0) {
        char width[TEXT_NUMBER_BYTES];
        size_t length = strcspn(text, "x");
        if (text[length] != 'x' || length >= sizeof width)
            return -EINVAL;
        memcpy(width, text, length);
        width[length] = '\0';
        double columns, rows;
        if (read_number(&columns, key, width) < 0 || read_number(&rows, key, text + length + 1) < 0)
            return -EINVAL;
        side[0] = (uint32_t)columns;
        side[1] = (uint32_t)rows;
    }
    memcpy(field(config, key), side, sizeof side);
    return 0;
}

static int set_format(struct config *config, const struct config_key *key, const char *text)
{
    const struct format_info *format = format_by_name(text);
    if (format == NULL && strcmp(text, key->word) != 0)
        return -EINVAL;
    store_uint(config, key, format != NULL ? format->fourcc : 0);
    return 0;
}

/* -EINVAL without a text: the caller says what was expected. Texts of parts have more to say. */
static int set_value(struct config *config, const struct config_key *key, const char *text,
                     struct error *why)
{
    switch (key->type) {
    case CONFIG_STRING:
        return set_string(config, key, text);
    case CONFIG_NUMBER:
    case CONFIG_INT:
    case CONFIG_UINT:
    case CONFIG_UINT64:
        return set_number(config, key, text);
    case CONFIG_BOOL:
        return set_bool(config, key, text);
    case CONFIG_CHOICE:
        return set_choice(config, key, text);
    case CONFIG_SIZE:
        return set_size(config, key, text);
    case CONFIG_FORMAT:
        return set_format(config, key, text);
    case CONFIG_FILTER:
        return config_filter(field(config, key), text, why);
    case CONFIG_SETTINGS:
        return settings_parse(field(config, key), text, why);
    }
    return -EINVAL;
}

static int set_key(struct config *config, const char *name, const char *text, const char *origin,
                   struct error *why)
{
    const struct config_key *key = config_key_by_name(name);
    if (key == NULL)
        return unknown_key(name, origin, why);
    int r = set_value(config, key, text, why);
    if (r < 0 && (key->type == CONFIG_FILTER || key->type == CONFIG_SETTINGS))
        return error_prefix(why, -r, "%s: %s", origin, name);
    if (r < 0) {
        char quoted[TEXT_QUOTE_BYTES], expected[CONFIG_EXPECTS_BYTES];
        config_key_expects(key, expected, sizeof expected);
        return error_set(why, EINVAL, "%s: %s = %s: expected %s", origin, name,
                         text_quote(quoted, text), expected);
    }
    return 0;
}

int config_set(struct config *config, const char *assignment, const char *origin, struct error *why)
{
    char copy[FILTER_TEXT_BYTES + 64], quoted[TEXT_QUOTE_BYTES];
    if (strlen(assignment) >= sizeof copy)
        return error_set(why, EINVAL, "%s: %s is too long: expected at most %zu bytes", origin,
                         text_quote(quoted, assignment), sizeof copy - 1);
    strcpy(copy, assignment);
    char *value = text_cut_at(copy, '=');
    if (value == NULL)
        return error_set(why, EINVAL, "%s: %s: expected KEY=VALUE", origin,
                         text_quote(quoted, assignment));
    return set_key(config, text_trim(copy), text_trim(value), origin, why);
}

int config_filter(struct filter_chain *ret, const char *text, struct error *why)
{
    const size_t prefix = sizeof PRESET_PREFIX - 1;
    if (strncmp(text, PRESET_PREFIX, prefix) == 0)
        return config_load_preset(ret, text + prefix, why);
    return filter_chain_parse(ret, text, why);
}

void config_defaults(struct config *ret)
{
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    memset(ret, 0, sizeof *ret);
    for (unsigned i = 0; i < count; i++) {
        int r = set_value(ret, &keys[i], keys[i].initial, NULL);
        assert(r == 0); /* a default its own row refuses is a mistake in the table */
        (void)r;
    }
}

/* ---- fields to text ---- */

static uint32_t load_uint(const struct config *config, const struct config_key *key)
{
    uint32_t value;
    memcpy(&value, const_field(config, key), sizeof value);
    return value;
}

static double load_number(const struct config *config, const struct config_key *key)
{
    if (key->type == CONFIG_NUMBER) {
        double number;
        memcpy(&number, const_field(config, key), sizeof number);
        return number;
    }
    if (key->type == CONFIG_UINT64) {
        uint64_t whole;
        memcpy(&whole, const_field(config, key), sizeof whole);
        return (double)whole;
    }
    if (key->type == CONFIG_INT) {
        int whole;
        memcpy(&whole, const_field(config, key), sizeof whole);
        return whole;
    }
    return load_uint(config, key);
}

static bool is_word(const struct config *config, const struct config_key *key)
{
    return key->word != NULL && load_number(config, key) == key->word_value;
}

static void print_value(const struct config *config, const struct config_key *key, char *text,
                        size_t size)
{
    if (is_word(config, key)) {
        snprintf(text, size, "%s", key->word);
        return;
    }
    switch (key->type) {
    case CONFIG_STRING:
        snprintf(text, size, "%s", (const char *)const_field(config, key));
        break;
    case CONFIG_NUMBER:
    case CONFIG_INT:
    case CONFIG_UINT:
    case CONFIG_UINT64:
        text_from_number(load_number(config, key), text, size);
        break;
    case CONFIG_BOOL:
        snprintf(text, size, "%s", *(const bool *)const_field(config, key) ? "true" : "false");
        break;
    case CONFIG_CHOICE:
        snprintf(text, size, "%s", key->choices[load_uint(config, key)]);
        break;
    case CONFIG_SIZE:
        snprintf(text, size, "%ux%u", config->width, config->height);
        break;
    case CONFIG_FORMAT:
        snprintf(text, size, "%s", format_by_fourcc(load_uint(config, key))->name);
        break;
    case CONFIG_FILTER:
        filter_chain_print(const_field(config, key), text, size);
        break;
    case CONFIG_SETTINGS:
        settings_print(const_field(config, key), text, size);
        break;
    }
}

int config_get(const struct config *config, const char *name, char *text, size_t size)
{
    const struct config_key *key = config_key_by_name(name);
    if (key == NULL)
        return -ENOENT;
    print_value(config, key, text, size);
    return 0;
}

static bool is_quoted(const struct config *config, const struct config_key *key)
{
    switch (key->type) {
    case CONFIG_NUMBER:
    case CONFIG_INT:
    case CONFIG_UINT:
    case CONFIG_UINT64:
        return is_word(config, key);
    case CONFIG_BOOL:
        return false;
    case CONFIG_STRING:
    case CONFIG_CHOICE:
    case CONFIG_SIZE:
    case CONFIG_FORMAT:
    case CONFIG_FILTER:
    case CONFIG_SETTINGS:
        return true;
    }
    return true;
}

static void print_quoted(const char *text, FILE *file)
{
    fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        if ((unsigned char)*text < ' ')
            fprintf(file, "\\x%02x", (unsigned char)*text);
        else
            fputc(*text, file);
    }
    fputc('"', file);
}

void config_print(const struct config *config, FILE *file)
{
    char value[FILTER_TEXT_BYTES], expected[CONFIG_EXPECTS_BYTES];
    const char *group = "";
    size_t group_length = 0;
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    for (unsigned i = 0; i < count; i++) {
        const char *dot = strchr(keys[i].name, '.');
        size_t length = dot != NULL ? (size_t)(dot - keys[i].name) : 0;
        if (length != group_length || strncmp(group, keys[i].name, length) != 0) {
            if (group_length > 0)
                fprintf(file, "};\n\n");
            group = keys[i].name;
            group_length = length;
            if (length > 0)
                fprintf(file, "%.*s = {\n", (int)length, group);
        }
        print_value(config, &keys[i], value, sizeof value);
        const char *indent = length > 0 ? "    " : "";
        config_key_expects(&keys[i], expected, sizeof expected);
        fprintf(file, "%s# %s: %s\n%s%s = ", indent, keys[i].summary, expected, indent,
                dot != NULL ? dot + 1 : keys[i].name);
        if (is_quoted(config, &keys[i]))
            print_quoted(value, file);
        else
            fputs(value, file);
        fprintf(file, ";\n%s", length > 0 ? "" : "\n");
    }
    if (group_length > 0)
        fprintf(file, "};\n");
}
