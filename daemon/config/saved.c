/* The file reads
 *
 *     filter = "...";
 *     camera = { controls = "..."; };
 *     instead_of = { filter = "..."; camera = { controls = "..."; }; };
 *
 * where each value is optional. */
#include "config/saved.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/key.h"
#include "config/tree.h"
#include "config/value.h"
#include "gpu/cache.h"

/* ---- where ---- */

/* Writes DIR of the file's path. */
static int find_directory(char path[PATH_MAX])
{
    static const struct {
        const char *variable, *below;
    } places[] = {{"STATE_DIRECTORY", ""},
                  {NULL, "/var/lib/fftd"},
                  {"XDG_STATE_HOME", "/fftd"},
                  {"HOME", "/.local/state/fftd"}};
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        const bool is_fixed = places[i].variable == NULL;
        const char *base = is_fixed ? "" : getenv(places[i].variable);
        if (is_fixed ? geteuid() != 0 : base == NULL || base[0] != '/')
            continue;
        /* systemd joins several directories with colons; the first one is taken. */
        const int length =
            snprintf(path, PATH_MAX, "%.*s%s", (int)strcspn(base, ":"), base, places[i].below);
        return length < PATH_MAX ? 0 : -ENAMETOOLONG;
    }
    return -ENOENT;
}

int config_saved_find(struct config *config, const struct config *asked, struct error *why)
{
    char directory[PATH_MAX], path[PATH_MAX];
    const int r = find_directory(directory);
    if (r == -ENOENT)
        return error_set(why, ENOENT,
                         "control.allow_save = true: there is no directory to save in: expected "
                         "STATE_DIRECTORY, XDG_STATE_HOME or HOME in the environment");
    if (r < 0 || snprintf(path, sizeof path, "%s/%s.conf", directory, asked->name) >= PATH_MAX)
        return error_set(why, ENAMETOOLONG,
                         "control.allow_save = true: the path of the directory to save in is too "
                         "long");
    strcpy(config->saved.path, path);
    return 0;
}

/* ---- reading ---- */

static const struct config_key *find_key(unsigned which)
{
    return config_key_find(config_saved_names[which], "", NULL);
}

static const char *look_up(const struct config_tree *tree, const char *group, unsigned which)
{
    char path[64];
    const char *text = NULL;
    snprintf(path, sizeof path, "%s%s", group, config_saved_names[which]);
    return config_lookup_string(&tree->parsed, path, &text) == CONFIG_TRUE ? text : NULL;
}

/* Sets a key if the file has it and the configuration has the value that it replaced. */
static int read_key(struct config *config, const struct config_tree *tree, unsigned which,
                    struct error *why)
{
    const struct config_key *key = find_key(which);
    const char *value = look_up(tree, "", which), *before = look_up(tree, "instead_of.", which);
    struct config was = *config;
    if (value == NULL)
        return 0;
    /* A value that this version does not know any more is not the configuration's. */
    if (before == NULL || config_key_set(&was, key, before, tree->path, NULL) < 0 ||
        !config_key_equal(config, &was, key))
        return error_set(why, ESTALE,
                         "%s: %s is ignored: the configuration has another one since it was saved",
                         tree->path, key->name);
    return config_key_set(config, key, value, tree->path, why);
}

void config_saved_read(struct config *config)
{
    struct config_saved *saved = &config->saved;
    struct config_tree tree;
    struct error why;
    const int r = config_tree_init(&tree, saved->path, &why);
    if (r < 0) {
        if (r != -ENOENT)
            saved->problem = why;
        return;
    }
    for (unsigned i = 0; i < CONFIG_SAVED_KEYS; i++) {
        const bool is_there = look_up(&tree, "", i) != NULL;
        saved->is_used[i] = is_there && read_key(config, &tree, i, &saved->problem) == 0;
    }
    config_tree_finish(&tree);
}

/* ---- writing ---- */

static void print_keys(const struct config *config, const bool is_there[], const char *indent,
                       FILE *file)
{
    char value[FILTER_TEXT_BYTES];
    for (unsigned i = 0; i < CONFIG_SAVED_KEYS; i++) {
        const char *dot = strchr(config_saved_names[i], '.');
        if (!is_there[i])
            continue;
        config_key_print(config, find_key(i), value, sizeof value);
        fputs(indent, file);
        if (dot != NULL)
            fprintf(file, "%.*s = { ", (int)(dot - config_saved_names[i]), config_saved_names[i]);
        fprintf(file, "%s = ", dot != NULL ? dot + 1 : config_saved_names[i]);
        config_print_quoted(value, file);
        fputs(dot != NULL ? "; };\n" : ";\n", file);
    }
}

static int print_saved(char **ret, const struct config *base, const struct config *next)
{
    size_t size;
    FILE *file = open_memstream(ret, &size);
    if (file == NULL)
        return -ENOMEM;
    fputs(
        "# What clients of fftd have saved. A value goes before that of the configuration for as\n"
        "# long as the configuration has the one under instead_of. To go back, remove this file.\n",
        file);
    print_keys(next, next->saved.is_used, "", file);
    fputs("instead_of = {\n", file);
    print_keys(base, next->saved.is_used, "    ", file);
    fputs("};\n", file);
    if (fclose(file) == 0)
        return 0;
    free(*ret);
    return -ENOMEM;
}

static int replace_file(const struct config *base, const struct config *next, bool has_any,
                        struct error *why)
{
    char directory[PATH_MAX], *text = NULL;
    strcpy(directory, next->saved.path);
    char *slash = strrchr(directory, '/');
    *slash = '\0';
    int r = has_any ? print_saved(&text, base, next) : 0;
    if (r < 0)
        return error_set(why, -r, "out of memory");
    r = cache_replace(directory, slash + 1, text, why);
    free(text);
    return r;
}

int config_saved_write(const struct config *base, const struct config *wanted,
                       const bool which[CONFIG_SAVED_KEYS], struct config_saved *ret,
                       bool *ret_changed, struct error *why)
{
    struct config now = *base, next;
    bool is_changed = false, has_any = false;
    memset(now.saved.is_used, 0, sizeof now.saved.is_used);
    config_saved_read(&now);
    next = now;
    next.saved.problem = (struct error){.text = ""};
    for (unsigned i = 0; i < CONFIG_SAVED_KEYS; i++) {
        const struct config_key *key = find_key(i);
        if (which[i]) {
            config_key_copy(&next, wanted, key);
            next.saved.is_used[i] = !config_key_equal(wanted, base, key);
        }
        is_changed = is_changed || next.saved.is_used[i] != now.saved.is_used[i] ||
                     !config_key_equal(&next, &now, key);
        has_any = has_any || next.saved.is_used[i];
    }
    /* This also deletes what is ignored. */
    const int r = is_changed || now.saved.problem.text[0] != '\0'
                      ? replace_file(base, &next, has_any, why)
                      : 0;
    if (r < 0)
        return r;
    *ret = next.saved;
    *ret_changed = is_changed;
    return 0;
}
