/* libconfig files to settings. Scalars go through config_set as text, so that a file and a command
 * line obey the same table; what is checked here is only what a file adds: that 1 is not "1".
 *
 * libconfig's scanner ends the process when reading fails half-way (a directory, say), so files
 * are read here and handed over as text; and @include, which would bring that back, is refused. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <libconfig.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/text.h"

#define MAX_FILE_BYTES (256 * 1024)
#define ORIGIN_BYTES   160
#define NAME_BYTES     64

/* ---- reading ---- */

static int read_file(char **ret, const char *path, struct error *why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        int err = errno;
        return error_set(why, err == ENOENT || err == EACCES ? err : EINVAL,
                         "%s: can not be opened: %s", path, strerror(err));
    }
    char *text = malloc(MAX_FILE_BYTES + 1);
    size_t length = 0;
    ssize_t got = -1;
    int r;
    if (text == NULL) {
        r = error_set(why, ENOMEM, "%s: no memory to read it", path);
        goto fail;
    }
    while (length <= MAX_FILE_BYTES &&
           (got = read(fd, text + length, MAX_FILE_BYTES + 1 - length)) > 0)
        length += (size_t)got;
    if (got < 0) {
        r = error_set(why, EINVAL, "%s: can not be read: %s", path, strerror(errno));
        goto fail;
    }
    if (length > MAX_FILE_BYTES) {
        r = error_set(why, EINVAL, "%s: is too large: expected at most %d bytes", path,
                      MAX_FILE_BYTES);
        goto fail;
    }
    text[length] = '\0';
    if (strlen(text) != length) {
        r = error_set(why, EINVAL, "%s: holds a zero byte: expected text", path);
        goto fail;
    }
    close(fd);
    *ret = text;
    return 0;
fail:
    free(text);
    close(fd);
    return r;
}

/* ---- what libconfig would let pass ---- */

/* Past the closing quote; NULL: there is none. */
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

/* Whether a word of letters, digits and points is an integer that does not fit an int. */
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

/* @include; integers, which libconfig 1.5 cuts to 32 bits without a word; and texts without an end,
 * which it reports where the file ends. */
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
                             "%s:%u: @include: expected one file for one camera, without includes",
                             path, line_of(text, at));
        if (is_comment(at))
            next = skip_comment(at);
        if (*at == '"')
            next = skip_string(at);
        if (next == NULL)
            return error_set(why, EINVAL, "%s:%u: a text begins here and does not end: expected \"",
                             path, line_of(text, at));
    }
    return 0;
}

/* ---- parsing ---- */

/* A parsed file and where it came from, for messages. */
struct parsed {
    config_t tree;
    const char *path;
};

static int parse_error(const config_t *tree, const char *path, struct error *why)
{
    const char *text = config_error_text(tree);
    bool is_duplicate = strstr(text, "duplicate") != NULL;
    return error_set(why, EINVAL, "%s:%d: %s: expected %s", path, config_error_line(tree), text,
                     is_duplicate ? "every key once" : "KEY = VALUE; or GROUP = { ... };");
}

static int parsed_init(struct parsed *ret, const char *path, struct error *why)
{
    char *text = NULL;
    int r = read_file(&text, path, why);
    if (r != 0)
        return r;
    r = check_words(text, path, why);
    if (r == 0) {
        ret->path = path;
        config_init(&ret->tree);
        if (config_read_string(&ret->tree, text) != CONFIG_TRUE) {
            r = parse_error(&ret->tree, path, why);
            config_destroy(&ret->tree);
        }
    }
    free(text);
    return r;
}

static void parsed_finish(struct parsed *file)
{
    config_destroy(&file->tree);
}

static const char *origin_of(const struct parsed *file, const config_setting_t *setting,
                             char origin[ORIGIN_BYTES])
{
    snprintf(origin, ORIGIN_BYTES, "%.*s:%u", ORIGIN_BYTES - 16, file->path,
             config_setting_source_line(setting));
    return origin;
}

/* ---- settings as text ---- */

/* The text a scalar would be given as on a command line. False: it is none. */
static bool scalar_text(const config_setting_t *setting, char text[FILTER_TEXT_BYTES])
{
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        snprintf(text, FILTER_TEXT_BYTES, "%lld", config_setting_get_int64(setting));
        return true;
    case CONFIG_TYPE_FLOAT:
        text_from_number(config_setting_get_float(setting), text, FILTER_TEXT_BYTES);
        return true;
    case CONFIG_TYPE_BOOL:
        strcpy(text, config_setting_get_bool(setting) ? "true" : "false");
        return true;
    case CONFIG_TYPE_STRING: {
        const char *string = config_setting_get_string(setting);
        if (strlen(string) >= FILTER_TEXT_BYTES)
            return false;
        strcpy(text, string);
        return true;
    }
    default: /* of libconfig's integers: a group, an array, a list */
        return false;
    }
}

/* The same, also for two numbers (0.25, 0): a pair. */
static bool value_text(const config_setting_t *setting, char text[FILTER_TEXT_BYTES])
{
    if (!config_setting_is_array(setting) && !config_setting_is_list(setting))
        return scalar_text(setting, text);
    if (config_setting_length(setting) != 2)
        return false;
    char first[FILTER_TEXT_BYTES], second[FILTER_TEXT_BYTES];
    if (!scalar_text(config_setting_get_elem(setting, 0), first) ||
        !scalar_text(config_setting_get_elem(setting, 1), second))
        return false;
    return snprintf(text, FILTER_TEXT_BYTES, "%s/%s", first, second) < FILTER_TEXT_BYTES;
}

/* Quotes around a number or a truth value make it another thing in libconfig, and most likely not
 * what was meant. */
static bool is_quoted_literal(const config_setting_t *setting)
{
    double unused;
    const char *text = config_setting_get_string(setting);
    return text != NULL && (text_to_number(&unused, text) == 0 || strcmp(text, "true") == 0 ||
                            strcmp(text, "false") == 0);
}

static const char *shape_of(const config_setting_t *setting)
{
    if (config_setting_is_group(setting))
        return "a group { ... }";
    if (config_setting_is_list(setting))
        return "a list ( ... )";
    if (config_setting_is_array(setting))
        return "an array [ ... ]";
    return "a value";
}

/* ---- filters ---- */

static int set_param(struct filter_stage *stage, const config_setting_t *setting, struct error *why)
{
    const char *name = config_setting_name(setting);
    char text[FILTER_TEXT_BYTES];
    int index = filter_param_index(stage->kind, name);
    if (index >= 0 && !value_text(setting, text))
        return error_set(why, EINVAL, "%s: %s is %s: expected a value", stage->kind->name, name,
                         shape_of(setting));
    enum filter_type type = index >= 0 ? stage->kind->param[index].type : FILTER_CHOICE;
    if ((type == FILTER_NUMBER || type == FILTER_BOOL) && is_quoted_literal(setting))
        return error_set(why, EINVAL, "%s: %s = \"%s\" is in quotes: expected a %s",
                         stage->kind->name, name, text,
                         type == FILTER_NUMBER ? "number" : "truth value");
    return filter_stage_set(stage, name, index >= 0 ? text : "", why);
}

static int read_stage(struct filter_stage *ret, const struct parsed *file,
                      const config_setting_t *group, struct error *why)
{
    char origin[ORIGIN_BYTES];
    const char *type;
    if (!config_setting_is_group(group) || !config_setting_lookup_string(group, "type", &type))
        return error_set(why, EINVAL, "%s: filter: expected stages { type = \"FILTER\"; ... }",
                         origin_of(file, group, origin));

    struct filter_stage stage;
    const struct filter_kind *kind = NULL;
    int r = filter_kind_find(&kind, type, why);
    if (r < 0)
        return error_prefix(why, -r, "%s: filter", origin_of(file, group, origin));
    filter_stage_init(&stage, kind);
    for (int i = 0; i < config_setting_length(group); i++) {
        const config_setting_t *setting = config_setting_get_elem(group, (unsigned)i);
        if (strcmp(config_setting_name(setting), "type") == 0)
            continue;
        r = set_param(&stage, setting, why);
        if (r < 0)
            return error_prefix(why, -r, "%s: filter", origin_of(file, setting, origin));
    }
    r = filter_stage_check(&stage, why);
    if (r < 0)
        return error_prefix(why, -r, "%s: filter", origin_of(file, group, origin));
    *ret = stage;
    return 0;
}

static int read_chain(struct filter_chain *ret, const struct parsed *file,
                      const config_setting_t *list, struct error *why)
{
    struct filter_chain chain = {.count = 0};
    int count = config_setting_length(list);
    if (count > FILTER_MAX_STAGES) {
        char origin[ORIGIN_BYTES];
        return error_set(why, EINVAL, "%s: filter has %d stages: expected at most %d",
                         origin_of(file, list, origin), count, FILTER_MAX_STAGES);
    }
    for (int i = 0; i < count; i++) {
        int r = read_stage(&chain.stage[i], file, config_setting_get_elem(list, (unsigned)i), why);
        if (r < 0)
            return r;
        chain.count++;
    }
    *ret = chain;
    return 0;
}

/* ---- settings ---- */

static int read_settings(struct settings *ret, const struct parsed *file, const char *key,
                         const config_setting_t *group, struct error *why)
{
    struct settings settings = {.count = 0};
    for (int i = 0; i < config_setting_length(group); i++) {
        const config_setting_t *member = config_setting_get_elem(group, (unsigned)i);
        const char *name = config_setting_name(member);
        char text[FILTER_TEXT_BYTES], origin[ORIGIN_BYTES];
        origin_of(file, member, origin);
        if (!scalar_text(member, text))
            return error_set(why, EINVAL, "%s: %s.%s is %s: expected a value", origin, key, name,
                             shape_of(member));
        int r = settings_put(&settings, name, text, why);
        if (r < 0)
            return error_prefix(why, -r, "%s: %s", origin, key);
    }
    *ret = settings;
    return 0;
}

/* ---- configurations ---- */

static int apply_value(struct config *config, const struct parsed *file,
                       const struct config_key *key, const config_setting_t *setting,
                       struct error *why)
{
    char text[FILTER_TEXT_BYTES], origin[ORIGIN_BYTES], expected[CONFIG_EXPECTS_BYTES];
    origin_of(file, setting, origin);
    if (key->type == CONFIG_FILTER && config_setting_is_list(setting))
        return read_chain(&config->filter, file, setting, why);
    if (key->type == CONFIG_SETTINGS && config_setting_is_group(setting))
        return read_settings(&config->controls, file, key->name, setting, why);

    config_key_expects(key, expected, sizeof expected);
    if (!scalar_text(setting, text))
        return error_set(why, EINVAL, "%s: %s is %s: expected %s", origin, key->name,
                         shape_of(setting), expected);
    bool is_number = key->type == CONFIG_NUMBER || key->type == CONFIG_INT ||
                     key->type == CONFIG_UINT || key->type == CONFIG_UINT64;
    if ((is_number || key->type == CONFIG_BOOL) && is_quoted_literal(setting))
        return error_set(why, EINVAL, "%s: %s = \"%s\" is in quotes: expected %s", origin,
                         key->name, text, expected);

    char assignment[NAME_BYTES + FILTER_TEXT_BYTES];
    snprintf(assignment, sizeof assignment, "%s=%s", key->name, text);
    return config_set(config, assignment, origin, why);
}

static bool is_group_name(const char *name)
{
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    size_t length = strlen(name);
    for (unsigned i = 0; i < count; i++)
        if (strncmp(keys[i].name, name, length) == 0 && keys[i].name[length] == '.')
            return true;
    return false;
}

static int apply_member(struct config *config, const struct parsed *file, const char *group,
                        const config_setting_t *setting, struct error *why)
{
    char name[2 * NAME_BYTES], origin[ORIGIN_BYTES];
    snprintf(name, sizeof name, "%s%s%.*s", group, *group != '\0' ? "." : "", NAME_BYTES,
             config_setting_name(setting));
    const struct config_key *key = config_key_by_name(name);
    if (key != NULL)
        return apply_value(config, file, key, setting, why);
    origin_of(file, setting, origin);
    if (!is_group_name(name)) {
        text_append(name, sizeof name, "=");
        return config_set(config, name, origin, why); /* knows what to say of unknown keys */
    }
    if (!config_setting_is_group(setting))
        return error_set(why, EINVAL, "%s: %s is %s: expected a group { ... }", origin, name,
                         shape_of(setting));
    for (int i = 0; i < config_setting_length(setting); i++) {
        int r =
            apply_member(config, file, name, config_setting_get_elem(setting, (unsigned)i), why);
        if (r < 0)
            return r;
    }
    return 0;
}

int config_load(struct config *config, const char *path, struct error *why)
{
    struct parsed file;
    int r = parsed_init(&file, path, why);
    if (r != 0)
        return r;
    struct config loaded = *config;
    const config_setting_t *root = config_root_setting(&file.tree);
    for (int i = 0; r == 0 && i < config_setting_length(root); i++)
        r = apply_member(&loaded, &file, "", config_setting_get_elem(root, (unsigned)i), why);
    if (r == 0)
        *config = loaded;
    parsed_finish(&file);
    return r;
}

/* ---- presets ---- */

static int apply_preset_member(struct filter_chain *chain, const struct parsed *file,
                               const config_setting_t *setting, struct error *why)
{
    char origin[ORIGIN_BYTES], quoted[TEXT_QUOTE_BYTES];
    const char *name = config_setting_name(setting), *text = config_setting_get_string(setting);
    origin_of(file, setting, origin);
    if (strcmp(name, "filter") == 0 && config_setting_is_list(setting))
        return read_chain(chain, file, setting, why);
    if (strcmp(name, "filter") == 0 && text != NULL) {
        int r = filter_chain_parse(chain, text, why);
        return r < 0 ? error_prefix(why, -r, "%s: filter", origin) : 0;
    }
    if (strcmp(name, "summary") == 0 && text != NULL)
        return 0;
    return error_set(
        why, EINVAL,
        "%s: %s is not for a preset: expected filter = ( ... ); and summary = \"...\";", origin,
        text_quote(quoted, name));
}

int config_load_preset_file(struct filter_chain *ret, const char *path, struct error *why)
{
    struct parsed file;
    int r = parsed_init(&file, path, why);
    if (r != 0)
        return r;
    struct filter_chain chain;
    const config_setting_t *root = config_root_setting(&file.tree);
    if (config_setting_get_member(root, "filter") == NULL)
        r = error_set(why, EINVAL, "%s: filter is missing: expected filter = ( ... );", path);
    for (int i = 0; r == 0 && i < config_setting_length(root); i++)
        r = apply_preset_member(&chain, &file, config_setting_get_elem(root, (unsigned)i), why);
    if (r == 0)
        *ret = chain;
    parsed_finish(&file);
    return r;
}
