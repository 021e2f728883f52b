#include "config/config.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "config/type.h"
#include "core/secret.h"
#include "core/text.h"

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
    const struct config_key *key;
    int r = config_key_find(&key, text_trim(copy), origin, why);
    return r < 0 ? r : config_key_set(config, key, text_trim(value), origin, why);
}

int config_get(const struct config *config, const char *name, char *text, size_t size)
{
    const struct config_key *key = config_key_by_name(name);
    if (key == NULL)
        return -ENOENT;
    config_key_print(config, key, text, size);
    return 0;
}

/* ---- as a file ---- */

static bool is_quoted(const struct config_key *key, const char *value)
{
    bool is_word = key->word != NULL && strcmp(value, key->word) == 0;
    bool is_second = key->second_word != NULL && strcmp(value, key->second_word) == 0;
    return is_word || is_second || !key->type->is_literal;
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
        config_key_print(config, &keys[i], value, sizeof value);
        const char *indent = length > 0 ? "    " : "";
        config_key_expects(&keys[i], expected, sizeof expected);
        fprintf(file, "%s# %s: %s\n%s%s = ", indent, keys[i].summary, expected, indent,
                dot != NULL ? dot + 1 : keys[i].name);
        if (is_quoted(&keys[i], value))
            print_quoted(value, file);
        else
            fputs(value, file);
        fprintf(file, ";\n%s", length > 0 ? "" : "\n");
    }
    if (group_length > 0)
        fprintf(file, "};\n");
}
