#include "core/settings.h"

#include <errno.h>
#include <string.h>

#include "core/text.h"

static int check_name(const char *name, struct error *why)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    char quoted[TEXT_QUOTE_BYTES];
    if (*name == '\0' || name[strspn(name, allowed)] != '\0' || strlen(name) >= SETTINGS_NAME_BYTES)
        return error_set(why, EINVAL,
                         "%s is not the name of a control: expected at most %d lower-case "
                         "letters, digits and _",
                         text_quote(quoted, name), SETTINGS_NAME_BYTES - 1);
    return 0;
}

static int check_value(const char *name, const char *value, struct error *why)
{
    char quoted[TEXT_QUOTE_BYTES];
    size_t length = 0;
    while (value[length] >= ' ' && value[length] <= '~' && strchr(",=\"\\", value[length]) == NULL)
        length++;
    if (length == 0 || value[length] != '\0' || length >= sizeof((struct setting *)NULL)->value)
        return error_set(why, EINVAL,
                         "%s = %s: expected a number, true, false or the name of a menu entry "
                         "without a comma, =, \" or \\",
                         name, text_quote(quoted, value));
    return 0;
}

static void remove_name(struct settings *settings, const char *name)
{
    for (unsigned i = 0; i < settings->count; i++) {
        if (strcmp(settings->item[i].name, name) != 0)
            continue;
        settings->count--;
        memmove(&settings->item[i], &settings->item[i + 1],
                (settings->count - i) * sizeof settings->item[0]);
        return;
    }
}

int settings_put(struct settings *settings, const char *name, const char *value, struct error *why)
{
    struct setting setting;
    int r = check_name(name, why);
    if (r == 0)
        r = check_value(name, value, why);
    if (r < 0)
        return r;
    /* name and value may point into the list, which is about to change. */
    strcpy(setting.name, name);
    strcpy(setting.value, value);
    struct settings result = *settings;
    remove_name(&result, setting.name);
    if (result.count == SETTINGS_MAX)
        return error_set(why, EINVAL, "%s = %s: expected at most %d controls", setting.name,
                         setting.value, SETTINGS_MAX);
    result.item[result.count++] = setting;
    *settings = result;
    return 0;
}

bool settings_equal(const struct settings *a, const struct settings *b)
{
    if (a->count != b->count)
        return false;
    for (unsigned i = 0; i < a->count; i++)
        if (strcmp(a->item[i].name, b->item[i].name) != 0 ||
            strcmp(a->item[i].value, b->item[i].value) != 0)
            return false;
    return true;
}

int settings_merge(struct settings *settings, const struct settings *newer, struct error *why)
{
    struct settings result = *settings;
    for (unsigned i = 0; i < newer->count; i++) {
        int r = settings_put(&result, newer->item[i].name, newer->item[i].value, why);
        if (r < 0)
            return r;
    }
    *settings = result;
    return 0;
}

int settings_parse(struct settings *ret, const char *text, struct error *why)
{
    struct settings settings = {.count = 0};
    char copy[SETTINGS_TEXT_BYTES], quoted[TEXT_QUOTE_BYTES];
    if (strlen(text) >= sizeof copy)
        return error_set(why, EINVAL, "%s is too long: expected at most %zu bytes",
                         text_quote(quoted, text), sizeof copy - 1);
    strcpy(copy, text);
    char *name = text_trim(copy);
    if (strcmp(name, "none") == 0)
        name = NULL;
    while (name != NULL) {
        char *next = text_cut_at(name, ','), *value = text_cut_at(name, '=');
        if (value == NULL)
            return error_set(why, EINVAL, "%s: expected NAME=VALUE, ..., or none",
                             text_quote(quoted, name));
        int r = settings_put(&settings, text_trim(name), text_trim(value), why);
        if (r < 0)
            return r;
        name = next;
    }
    *ret = settings;
    return 0;
}

void settings_print(const struct settings *settings, char *text, size_t size)
{
    text[0] = '\0';
    for (unsigned i = 0; i < settings->count; i++)
        text_append(text, size, "%s%s=%s", i == 0 ? "" : ", ", settings->item[i].name,
                    settings->item[i].value);
    if (settings->count == 0)
        text_append(text, size, "none");
}
