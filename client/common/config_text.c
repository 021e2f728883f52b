/* The syntax is that of libconfig's manual, "Configuration Files": settings NAME = VALUE, each
 * followed by a semicolon, a comma or nothing. */
#include "config_text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 100 /* a value that makes its line longer gets a line for each stage */

/* Where a setting is. All point into the text; `end` is the first character that is not part. */
struct span {
    const char *name, *value, *end;
};

/* ---- reading ---- */

static const char *skip_comment(const char *at, const char *end)
{
    if (at[0] == '#' || (at[0] == '/' && at + 1 < end && at[1] == '/')) {
        while (at < end && *at != '\n')
            at++;
        return at;
    }
    if (at[0] != '/' || at + 1 >= end || at[1] != '*')
        return at;
    for (at += 2; at + 1 < end; at++)
        if (at[0] == '*' && at[1] == '/')
            return at + 2;
    return end;
}

/* Skips spaces and comments. */
static const char *skip_blank(const char *at, const char *end)
{
    for (;;) {
        while (at < end && strchr(" \t\r\n\f", *at) != NULL)
            at++;
        const char *next = at < end ? skip_comment(at, end) : at;
        if (next == at)
            return at;
        at = next;
    }
}

/* Skips a string, a number or a name, or one character of something else. NULL: a string without an
 * end. */
static const char *skip_token(const char *at, const char *end)
{
    const char *begin = at;
    if (*at == '"') {
        for (at++; at < end && *at != '"'; at++)
            if (*at == '\\')
                at++;
        return at < end ? at + 1 : NULL;
    }
    while (at < end && strchr(" \t\r\n\f;:,(){}[]\"#=", *at) == NULL && skip_comment(at, end) == at)
        at++;
    return at > begin ? at : at + 1;
}

/* Skips a value: a number or a name; strings that follow each other; or a list, an array or a
 * group, up to its last bracket. NULL: there is none. */
static const char *skip_value(const char *at, const char *end)
{
    unsigned depth = 0;
    if (at >= end || strchr(";:,)}]#=", *at) != NULL)
        return NULL;
    for (;;) {
        const bool is_string = *at == '"';
        depth += strchr("([{", *at) != NULL;
        depth -= strchr(")]}", *at) != NULL;
        const char *after = skip_token(at, end);
        if (after == NULL)
            return NULL;
        at = skip_blank(after, end);
        if (depth == 0 && !(is_string && at < end && *at == '"'))
            return after;
        if (at >= end)
            return NULL;
    }
}

/* Reads the setting that begins at `at`. Returns what follows it, or NULL. */
static const char *read_setting(struct span *ret, const char *at, const char *end)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-*";
    ret->name = at;
    while (at < end && strchr(letters, *at) != NULL)
        at++;
    if (at == ret->name)
        return NULL;
    at = skip_blank(at, end);
    if (at >= end || (*at != '=' && *at != ':'))
        return NULL;
    ret->value = skip_blank(at + 1, end);
    ret->end = skip_value(ret->value, end);
    if (ret->end == NULL)
        return NULL;
    at = skip_blank(ret->end, end);
    return at < end && (*at == ';' || *at == ',') ? at + 1 : ret->end;
}

static bool has_name(const struct span *setting, const char *name, size_t length)
{
    static const char ends[] = " \t\r\n\f=:#/";
    return strncmp(setting->name, name, length) == 0 && strchr(ends, setting->name[length]) != NULL;
}

/* Finds a setting between `at` and `end`. Returns 1, 0 if there is none, or -EINVAL. */
static int find(struct span *ret, const char *at, const char *end, const char *name, size_t length)
{
    for (at = skip_blank(at, end); at < end; at = skip_blank(at, end)) {
        at = read_setting(ret, at, end);
        if (at == NULL)
            return -EINVAL;
        if (has_name(ret, name, length))
            return 1;
    }
    return 0;
}

/* ---- writing ---- */

static void quote(FILE *file, const char *text, size_t length)
{
    putc('"', file);
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else if (c < ' ' || c == 0x7f)
            fprintf(file, "\\x%02x", c);
        else
            putc(c, file);
    }
    putc('"', file);
}

void config_text_quote(FILE *file, const char *text)
{
    quote(file, text, strlen(text));
}

/* Writes a value that begins in this column: on one line, or a line for each stage. */
static void write_value(FILE *file, const char *value, size_t column)
{
    static const char separator[] = " | ";
    const char *next;
    if (column + strlen(value) + sizeof "\"\";" - 1 <= LINE_BYTES) {
        config_text_quote(file, value);
        return;
    }
    for (; (next = strstr(value + 1, separator)) != NULL; value = next) {
        quote(file, value, (size_t)(next - value));
        fprintf(file, "\n%*s", (int)column, "");
    }
    config_text_quote(file, value);
}

static size_t column_of(const char *text, const char *at)
{
    size_t column = 0;
    while (at > text && at[-1] != '\n')
        at--, column++;
    return column;
}

static void write_setting(FILE *file, const char *indent, const char *name, const char *value)
{
    fprintf(file, "%s%s = ", indent, name);
    write_value(file, value, strlen(indent) + strlen(name) + sizeof " = " - 1);
    fputs(";\n", file);
}

/* Puts a setting before the last bracket of a group: on a line of its own, if the bracket has one.
 */
static void add_to_group(FILE *file, const char *text, const struct span *group, const char *name,
                         const char *value)
{
    const char *bracket = group->end - 1, *line = bracket;
    while (line > text && strchr(" \t", line[-1]) != NULL)
        line--;
    const bool has_line = line > text && line[-1] == '\n';
    const char *place = has_line ? line : bracket;
    fwrite(text, 1, (size_t)(place - text), file);
    if (!has_line)
        putc('\n', file);
    write_setting(file, "    ", name, value);
    fputs(place, file);
}

static void add_to_end(FILE *file, const char *text, const char *group, size_t length,
                       const char *name, const char *value)
{
    const size_t bytes = strlen(text);
    fputs(text, file);
    if (bytes > 0 && text[bytes - 1] != '\n')
        putc('\n', file);
    if (length > 0)
        fprintf(file, "%.*s = {\n", (int)length, group);
    write_setting(file, length > 0 ? "    " : "", name, value);
    if (length > 0)
        fputs("};\n", file);
}

static int write_text(FILE *file, const char *text, const char *key, const char *value)
{
    const char *dot = strchr(key, '.'), *name = dot != NULL ? dot + 1 : key;
    const size_t length = dot != NULL ? (size_t)(dot - key) : 0;
    const char *begin = text, *end = text + strlen(text);
    struct span group = {.name = NULL}, setting;
    int r = length > 0 ? find(&group, begin, end, key, length) : 1;
    if (r > 0 && length > 0) {
        if (*group.value != '{')
            return -EINVAL;
        begin = group.value + 1;
        end = group.end - 1;
    }
    const bool has_group = r > 0;
    if (has_group)
        r = find(&setting, begin, end, name, strlen(name));
    if (r < 0)
        return r;
    if (r > 0) {
        fwrite(text, 1, (size_t)(setting.value - text), file);
        write_value(file, value, column_of(text, setting.value));
        fputs(setting.end, file);
    } else if (has_group && length > 0) {
        add_to_group(file, text, &group, name, value);
    } else {
        add_to_end(file, text, key, length, name, value);
    }
    return 0;
}

int config_text_set(char **ret, const char *text, const char *key, const char *value)
{
    char *copy = NULL;
    size_t size;
    FILE *file = open_memstream(&copy, &size);
    if (file == NULL)
        return -ENOMEM;
    int r = write_text(file, text, key, value);
    if (fclose(file) != 0)
        r = -ENOMEM;
    if (r == 0)
        *ret = copy;
    else
        free(copy);
    return r;
}
