/* Reading a libconfig file into a tree.
 *
 * libconfig's scanner ends the process when reading fails half-way, for example on a directory.
 * Files are therefore read here and passed to it as text, and @include is refused. */
#include "config/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/text.h"

#define MAX_FILE_BYTES (256 * 1024)

/* ---- reading ---- */

/* *ret is the caller's to free, after a failure as well. */
static int read_file(char **ret, const char *path, struct error *why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        int err = errno;
        return error_set(why, err == ENOENT || err == EACCES ? err : EINVAL,
                         "%s: cannot open the file: %s", path, strerror(err));
    }
    char *text = malloc(MAX_FILE_BYTES + 1);
    size_t length = 0;
    ssize_t got = -1;
    int r = 0;
    while (text != NULL && length <= MAX_FILE_BYTES &&
           (got = read(fd, text + length, MAX_FILE_BYTES + 1 - length)) > 0)
        length += (size_t)got;
    if (text == NULL)
        r = error_set(why, ENOMEM, "%s: out of memory while reading the file", path);
    else if (got < 0)
        r = error_set(why, EINVAL, "%s: cannot read the file: %s", path, strerror(errno));
    else if (length > MAX_FILE_BYTES)
        r = error_set(why, EINVAL, "%s: the file is too large: expected at most %d bytes", path,
                      MAX_FILE_BYTES);
    else if (memchr(text, '\0', length) != NULL)
        r = error_set(why, EINVAL, "%s: the file contains a zero byte: expected text", path);
    else
        text[length] = '\0';
    close(fd);
    *ret = text;
    return r;
}

/* ---- mistakes that libconfig does not report ---- */

/* Returns the text after the closing quote, or NULL if the quote is missing. */
static const char *skip_string(const char *at)
{
    for (at++; *at != '"'; at++) {
        if (*at == '\\')
            at++;
        if (*at == '\0')
            return NULL;
    }
    return at + 1;
}

static const char *skip_comment(const char *at)
{
    if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at + 2, "*/");
        return end != NULL ? end + 2 : at + strlen(at);
    }
    return at + strcspn(at, "\n");
}

static bool is_comment(const char *at)
{
    return at[0] == '#' || (at[0] == '/' && (at[1] == '/' || at[1] == '*'));
}

/* Returns whether a word of letters, digits and points is an integer that does not fit an int. */
static bool is_too_large(const char *word, size_t length)
{
    bool is_hex = word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
    const char *digits = is_hex ? "0123456789abcdefABCDEFxX" : "0123456789";
    return strspn(word, digits) >= length && strtoull(word, NULL, is_hex ? 16 : 10) > INT_MAX;
}

static unsigned line_of(const char *text, const char *at)
{
    unsigned line = 1;
    for (; text < at; text++)
        line += *text == '\n';
    return line;
}

/* Refuses @include, integers that libconfig 1.5 would silently cut to 32 bits, and strings without
 * a closing quote, which libconfig reports at the end of the file. */
static int check_words(const char *text, const char *path, struct error *why)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
    for (const char *at = text, *next; *at != '\0'; at = next) {
        size_t length = strspn(at, word);
        next = at + (length > 0 ? length : 1);
        if (length > 0 && is_too_large(at, length))
            return error_set(why, EINVAL, "%s:%u: %.*s is out of range: expected at most %d", path,
                             line_of(text, at), length < 40 ? (int)length : 40, at, INT_MAX);
        if (*at == '@')
            return error_set(why, EINVAL,
                             "%s:%u: @include: expected one complete file for each camera", path,
                             line_of(text, at));
        if (is_comment(at))
            next = skip_comment(at);
        if (*at == '"')
            next = skip_string(at);
        if (next == NULL)
            return error_set(why, EINVAL,
                             "%s:%u: the string that begins here has no end: expected \"", path,
                             line_of(text, at));
    }
    return 0;
}

/* ---- parsing ---- */

static int parse_error(const config_t *parsed, const char *path, struct error *why)
{
    const char *text = config_error_text(parsed);
    bool is_duplicate = strstr(text, "duplicate") != NULL;
    return error_set(why, EINVAL, "%s:%d: %s: expected %s", path, config_error_line(parsed), text,
                     is_duplicate ? "every key once" : "KEY = VALUE; or GROUP = { ... };");
}

int config_tree_parse(struct config_tree *ret, const char *text, const char *path,
                      struct error *why)
{
    int r = check_words(text, path, why);
    if (r < 0)
        return r;
    ret->path = path;
    config_init(&ret->parsed);
    if (config_read_string(&ret->parsed, text) == CONFIG_TRUE)
        return 0;
    r = parse_error(&ret->parsed, path, why);
    config_destroy(&ret->parsed);
    return r;
}

int config_tree_init(struct config_tree *ret, const char *path, struct error *why)
{
    char *text = NULL;
    int r = read_file(&text, path, why);
    if (r == 0)
        r = config_tree_parse(ret, text, path, why);
    free(text);
    return r;
}

void config_tree_finish(struct config_tree *tree)
{
    config_destroy(&tree->parsed);
}

const char *config_tree_origin(const struct config_tree *tree, const config_setting_t *setting,
                               char origin[CONFIG_ORIGIN_BYTES])
{
    snprintf(origin, CONFIG_ORIGIN_BYTES, "%.*s:%u", CONFIG_ORIGIN_BYTES - 16, tree->path,
             config_setting_source_line(setting));
    return origin;
}

/* ---- values as text ---- */

bool config_tree_scalar(const config_setting_t *setting, char text[CONFIG_VALUE_BYTES])
{
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        snprintf(text, CONFIG_VALUE_BYTES, "%lld", config_setting_get_int64(setting));
        return true;
    case CONFIG_TYPE_FLOAT:
        text_from_number(config_setting_get_float(setting), text, CONFIG_VALUE_BYTES);
        return true;
    case CONFIG_TYPE_BOOL:
        strcpy(text, config_setting_get_bool(setting) ? "true" : "false");
        return true;
    case CONFIG_TYPE_STRING: {
        const char *string = config_setting_get_string(setting);
        if (strlen(string) >= CONFIG_VALUE_BYTES)
            return false;
        strcpy(text, string);
        return true;
    }
    default: /* a group, an array or a list; libconfig's types are plain integers */
        return false;
    }
}

bool config_tree_scalar_or_pair(const config_setting_t *setting, char text[CONFIG_VALUE_BYTES])
{
    if (!config_setting_is_array(setting) && !config_setting_is_list(setting))
        return config_tree_scalar(setting, text);
    if (config_setting_length(setting) != 2)
        return false;
    char first[CONFIG_VALUE_BYTES], second[CONFIG_VALUE_BYTES];
    if (!config_tree_scalar(config_setting_get_elem(setting, 0), first) ||
        !config_tree_scalar(config_setting_get_elem(setting, 1), second))
        return false;
    return snprintf(text, CONFIG_VALUE_BYTES, "%s/%s", first, second) < CONFIG_VALUE_BYTES;
}

bool config_tree_is_quoted_literal(const config_setting_t *setting)
{
    double unused;
    const char *text = config_setting_get_string(setting);
    return text != NULL && (text_to_number(&unused, text) == 0 || strcmp(text, "true") == 0 ||
                            strcmp(text, "false") == 0);
}

const char *config_tree_shape(const config_setting_t *setting)
{
    if (config_setting_is_group(setting))
        return "a group { ... }";
    if (config_setting_is_list(setting))
        return "a list ( ... )";
    if (config_setting_is_array(setting))
        return "an array [ ... ]";
    const char *text = config_setting_get_string(setting);
    return text != NULL && strlen(text) >= CONFIG_VALUE_BYTES ? "too long" : "a value";
}
