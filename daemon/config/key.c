#include "config/key.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/type.h"
#include "core/secret.h"
#include "core/text.h"

/* ---- names ---- */

const struct config_key *config_key_by_name(const char *name)
{
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

static int unknown_key(const char *name, const char *origin, struct error *why)
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
    return error_set(why, EINVAL, "%s: unknown key %s: expected one of %s%s", origin,
                     text_quote(quoted, name), known, hint);
}

int config_key_find(const struct config_key **ret, const char *name, const char *origin,
                    struct error *why)
{
    const struct config_key *key = config_key_by_name(name);
    if (key == NULL)
        return unknown_key(name, origin, why);
    *ret = key;
    return 0;
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

void config_key_expects(const struct config_key *key, char *text, size_t size)
{
    text[0] = '\0';
    key->type->expects(key, text, size);
    if (key->word != NULL)
        text_append(text, size, ", %s%s", key->second_word == NULL ? "or " : "", key->word);
    if (key->second_word != NULL)
        text_append(text, size, " or %s", key->second_word);
}

int config_key_set(struct config *config, const struct config_key *key, const char *value,
                   const char *origin, struct error *why)
{
    char shown[TEXT_QUOTE_BYTES], quoted[TEXT_QUOTE_BYTES], expected[CONFIG_EXPECTS_BYTES];
    int r = key->type->parse(field(config, key), key, value, why);
    if (r == 0)
        return 0;
    if (key->type->explains)
        return error_prefix(why, -r, "%s: %s", origin, key->name);
    config_key_expects(key, expected, sizeof expected);
    return error_set(why, EINVAL, "%s: %s = %s: expected %s", origin, key->name,
                     text_quote(quoted, secret_hide(shown, sizeof shown, value)), expected);
}

void config_key_print(const struct config *config, const struct config_key *key, char *text,
                      size_t size)
{
    key->type->print(const_field(config, key), key, text, size);
}

bool config_key_equal(const struct config *a, const struct config *b, const struct config_key *key)
{
    return key->type->equal(const_field(a, key), const_field(b, key), key);
}

void config_key_copy(struct config *to, const struct config *from, const struct config_key *key)
{
    memcpy(field(to, key), const_field(from, key), key->size);
}
