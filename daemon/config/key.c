#include "config/key.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "config/config.h"
#include "config/value.h"
#include "core/secret.h"
#include "core/text.h"

/* ---- names ---- */

static void refuse_key(const char *name, const char *origin, struct error *why)
{
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    /* Lists the keys of a known group; otherwise the groups and the keys outside of groups. */
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
    error_set(why, EINVAL, "%s: unknown key %s: expected one of %s%s", origin,
              text_quote(quoted, name), known, hint);
}

const struct config_key *config_key_find(const char *name, const char *origin, struct error *why)
{
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    refuse_key(name, origin, why);
    return NULL;
}

/* ---- values ---- */

static void *field(struct config *config, const struct config_key *key)
{
    return (char *)config + key->offset;
}

static const void *const_field(const struct config *config, const struct config_key *key)
{
    return (const char *)config + key->offset;
}

int config_key_set(struct config *config, const struct config_key *key, const char *value,
                   const char *origin, struct error *why)
{
    return config_value_set(field(config, key), key, value, origin, why);
}

void config_key_print(const struct config *config, const struct config_key *key, char *text,
                      size_t size)
{
    key->type->print(const_field(config, key), key, text, size);
}

bool config_key_equal(const struct config *a, const struct config *b, const struct config_key *key)
{
    char text_a[FILTER_TEXT_BYTES], text_b[FILTER_TEXT_BYTES];
    if (key->type->equal != NULL)
        return key->type->equal(const_field(a, key), const_field(b, key));
    config_key_print(a, key, text_a, sizeof text_a);
    config_key_print(b, key, text_b, sizeof text_b);
    return strcmp(text_a, text_b) == 0;
}

void config_key_copy(struct config *to, const struct config *from, const struct config_key *key)
{
    memcpy(field(to, key), const_field(from, key), key->size);
}

/* ---- all of them ---- */

void config_defaults(struct config *ret)
{
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    memset(ret, 0, sizeof *ret);
    for (unsigned i = 0; i < count; i++) {
        int r = config_key_set(ret, &keys[i], keys[i].initial, "default", NULL);
        assert(r == 0); /* every row of the table accepts its own default */
        (void)r;
    }
}

int config_set(struct config *config, const char *assignment, const char *origin, struct error *why)
{
    char copy[FILTER_TEXT_BYTES + 64], shown[TEXT_QUOTE_BYTES], quoted[TEXT_QUOTE_BYTES];
    secret_hide(shown, sizeof shown, assignment);
    if (strlen(assignment) >= sizeof copy)
        return error_set(why, EINVAL, "%s: %s is too long: expected at most %zu bytes", origin,
                         text_quote(quoted, shown), sizeof copy - 1);
    strcpy(copy, assignment);
    char *value = text_cut_at(copy, '=');
    if (value == NULL)
        return error_set(why, EINVAL, "%s: %s: expected KEY=VALUE", origin,
                         text_quote(quoted, shown));
    const struct config_key *key = config_key_find(text_trim(copy), origin, why);
    return key == NULL ? -EINVAL : config_key_set(config, key, text_trim(value), origin, why);
}

/* ---- as a file ---- */

static bool is_quoted(const struct config_key *key, const char *value)
{
    bool is_word = key->word != NULL && strcmp(value, key->word) == 0;
    bool is_second = key->second_word != NULL && strcmp(value, key->second_word) == 0;
    return is_word || is_second || !key->type->is_literal;
}

static bool is_saved(const struct config *config, const struct config_key *key)
{
    for (unsigned i = 0; i < CONFIG_SAVED_KEYS; i++)
        if (config->saved.is_used[i] && strcmp(config_saved_names[i], key->name) == 0)
            return true;
    return false;
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
        config_key_print(config, &keys[i], value, sizeof value);
        const char *indent = length > 0 ? "    " : "";
        config_value_expects(&keys[i], expected, sizeof expected);
        fprintf(file, "%s# %s: %s\n", indent, keys[i].summary, expected);
        if (is_saved(config, &keys[i]))
            fprintf(file, "%s# (saved in %s)\n", indent, config->saved.path);
        fprintf(file, "%s%s = ", indent, dot != NULL ? dot + 1 : keys[i].name);
        if (is_quoted(&keys[i], value))
            config_print_quoted(value, file);
        else
            fputs(value, file);
        fprintf(file, ";\n%s", length > 0 ? "" : "\n");
    }
    if (group_length > 0)
        fprintf(file, "};\n");
}
