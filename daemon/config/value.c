/* A file's values reach their fields as text, as on a command line. Two rules hold for files only
 * and are checked here: 1 is not "1", and only some values may be lists or groups. */
#include "config/value.h"

#include <errno.h>

#include "core/secret.h"
#include "core/text.h"

void config_value_expects(const struct config_key *key, char *text, size_t size)
{
    snprintf(text, size, "%s", key->type->accepts != NULL ? key->type->accepts : "");
    if (key->type->expects != NULL)
        key->type->expects(key, text, size);
    if (key->word != NULL)
        text_append(text, size, ", %s%s", key->second_word == NULL ? "or " : "", key->word);
    if (key->second_word != NULL)
        text_append(text, size, " or %s", key->second_word);
}

const char *config_escape(char c, char ret[CONFIG_ESCAPE_BYTES])
{
    if ((unsigned char)c < ' ')
        snprintf(ret, CONFIG_ESCAPE_BYTES, "\\x%02x", (unsigned char)c);
    else
        snprintf(ret, CONFIG_ESCAPE_BYTES, "%s%c", c == '"' || c == '\\' ? "\\" : "", c);
    return ret;
}

void config_print_quoted(const char *text, FILE *file)
{
    char escaped[CONFIG_ESCAPE_BYTES];
    fputc('"', file);
    for (; *text != '\0'; text++)
        fputs(config_escape(*text, escaped), file);
    fputc('"', file);
}

int config_value_set(void *field, const struct config_key *key, const char *value,
                     const char *origin, struct error *why)
{
    char shown[TEXT_QUOTE_BYTES], quoted[TEXT_QUOTE_BYTES], expected[CONFIG_EXPECTS_BYTES];
    int r = key->type->parse(field, key, value, why);
    if (r == 0)
        return 0;
    if (key->type->explains)
        return error_prefix(why, -r, "%s: %s", origin, key->name);
    config_value_expects(key, expected, sizeof expected);
    return error_set(why, EINVAL, "%s: %s = %s: expected %s", origin, key->name,
                     text_quote(quoted, secret_hide(shown, sizeof shown, value)), expected);
}

int config_value_read(void *field, const struct config_key *key, const struct config_tree *tree,
                      const config_setting_t *setting, struct error *why)
{
    const struct config_type *type = key->type;
    char text[CONFIG_VALUE_BYTES], origin[CONFIG_ORIGIN_BYTES], expected[CONFIG_EXPECTS_BYTES];
    config_tree_origin(tree, setting, origin);
    if (type->read != NULL && config_setting_type(setting) == type->compound)
        return type->read(field, key, tree, setting, why);

    config_value_expects(key, expected, sizeof expected);
    if (!config_tree_scalar(setting, text))
        return error_set(why, EINVAL, "%s: %s is %s: expected %s", origin, key->name,
                         config_tree_shape(setting), expected);
    if (type->is_literal && config_tree_is_quoted_literal(setting))
        return error_set(why, EINVAL, "%s: %s = \"%s\" is in quotes: expected %s", origin,
                         key->name, text, expected);
    return config_value_set(field, key, text_trim(text), origin, why);
}
