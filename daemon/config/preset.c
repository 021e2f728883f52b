/* A preset's name becomes part of a path and may come from a client. It therefore contains neither
 * a slash nor a dot. */
#include "config/preset.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/chain.h"
#include "config/tree.h"
#include "core/text.h"

#define PREFIX     "preset:"
#define SUFFIX     ".conf"
#define MAX_PLACES 4

/* ---- from a file ---- */

static int apply_preset_member(struct filter_chain *chain, const struct config_tree *tree,
                               const config_setting_t *setting, struct error *why)
{
    char origin[CONFIG_ORIGIN_BYTES], quoted[TEXT_QUOTE_BYTES];
    const char *name = config_setting_name(setting), *text = config_setting_get_string(setting);
    bool is_filter = strcmp(name, "filter") == 0, is_summary = strcmp(name, "summary") == 0;
    config_tree_origin(tree, setting, origin);
    if (!is_filter && !is_summary)
        return error_set(why, EINVAL, "%s: unknown key %s: expected filter or summary in a preset",
                         origin, text_quote(quoted, name));
    if (is_filter && config_setting_is_list(setting))
        return config_chain_read(chain, tree, setting, why);
    if (text == NULL)
        return error_set(why, EINVAL, "%s: %s is %s: expected %s", origin, name,
                         config_tree_shape(setting),
                         is_filter ? "a chain in quotes or a list ( ... )" : "a line in quotes");
    int r = is_filter ? filter_chain_parse(chain, text, why) : 0;
    return r < 0 ? error_prefix(why, -r, "%s: filter", origin) : 0;
}

int config_load_preset_file(struct filter_chain *ret, const char *path, struct error *why)
{
    struct config_tree tree;
    int r = config_tree_init(&tree, path, why);
    if (r != 0)
        return r;
    struct filter_chain chain;
    const config_setting_t *root = config_root_setting(&tree.parsed);
    if (config_setting_get_member(root, "filter") == NULL)
        r = error_set(why, EINVAL, "%s: filter is missing: expected filter = ( ... );", path);
    for (int i = 0; r == 0 && i < config_setting_length(root); i++)
        r = apply_preset_member(&chain, &tree, config_setting_get_elem(root, (unsigned)i), why);
    if (r == 0)
        *ret = chain;
    config_tree_finish(&tree);
    return r;
}

/* ---- by name ---- */

struct places {
    unsigned count;
    char path[MAX_PLACES][PATH_MAX];
};

static void add_place(struct places *places, const char *base, const char *relative)
{
    int length = snprintf(places->path[places->count], PATH_MAX, "%s%s", base, relative);
    if (length < PATH_MAX)
        places->count++;
}

static void list_places(struct places *ret)
{
    ret->count = 0;
    const char *only = getenv("FFTD_PRESET_DIR");
    if (only != NULL && *only != '\0') {
        add_place(ret, only, "");
        return;
    }
    add_place(ret, "/etc/fftd/presets", "");
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return;
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    add_place(ret, program, "/../share/fftd/presets"); /* bin/ and share/ of one prefix */
    add_place(ret, program, "/../config/presets");     /* build/ of the source tree */
    add_place(ret, program, "/../../config/presets");  /* build/san-... */
}

static int is_preset(const struct dirent *entry)
{
    const char *suffix = strrchr(entry->d_name, '.');
    return suffix != NULL && suffix != entry->d_name && strcmp(suffix, SUFFIX) == 0;
}

struct listing {
    char known[300];
    struct text_guess guess;
    char best[NAME_MAX + 1];
};

static void list_preset(struct listing *listing, char *file_name)
{
    *strrchr(file_name, '.') = '\0';
    text_append(listing->known, sizeof listing->known, "%s%s",
                listing->known[0] != '\0' ? ", " : "", file_name);
    text_guess_try(&listing->guess, file_name);
    if (listing->guess.best == file_name) { /* freed with the directory's list */
        snprintf(listing->best, sizeof listing->best, "%s", file_name);
        listing->guess.best = listing->best;
    }
}

static void list_presets(struct listing *listing, const char *place)
{
    struct dirent **entries;
    int count = scandir(place, &entries, is_preset, alphasort);
    if (count < 0)
        return;
    for (int i = 0; i < count; i++) {
        list_preset(listing, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

static int unknown_preset(const char *name, const struct places *places, struct error *why)
{
    char quoted[TEXT_QUOTE_BYTES];
    struct listing listing = {.guess = TEXT_GUESS(name)};
    for (unsigned i = 0; i < places->count; i++)
        list_presets(&listing, places->path[i]);
    if (listing.known[0] == '\0')
        return error_set(why, ENOENT, "unknown preset %s: %s contains no presets",
                         text_quote(quoted, name), places->path[0]);
    const char *best = listing.guess.best;
    return error_set(why, ENOENT, "unknown preset %s: expected one of %s%s%s%s",
                     text_quote(quoted, name), listing.known, best != NULL ? "; did you mean " : "",
                     best != NULL ? best : "", best != NULL ? "?" : "");
}

int config_load_preset(struct filter_chain *ret, const char *name, struct error *why)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-";
    struct places places;
    list_places(&places);
    bool is_name = *name != '\0' && name[strspn(name, allowed)] == '\0';
    for (unsigned i = 0; is_name && i < places.count; i++) {
        char path[PATH_MAX + NAME_MAX];
        int length = snprintf(path, sizeof path, "%s/%s" SUFFIX, places.path[i], name);
        if ((size_t)length < sizeof path && access(path, F_OK) == 0)
            return config_load_preset_file(ret, path, why);
    }
    return unknown_preset(name, &places, why);
}

int config_filter(struct filter_chain *ret, const char *text, struct error *why)
{
    const size_t prefix = sizeof PREFIX - 1;
    if (strncmp(text, PREFIX, prefix) == 0)
        return config_load_preset(ret, text + prefix, why);
    return filter_chain_parse(ret, text, why);
}
