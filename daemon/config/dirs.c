#include "config/dirs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/text.h"

static void add_dir(struct config_dirs *dirs, const char *base, const char *relative,
                    const char *folder)
{
    int length = snprintf(dirs->path[dirs->count], PATH_MAX, "%s%s%s", base, relative, folder);
    if (length < PATH_MAX)
        dirs->count++;
}

void config_find_dirs(struct config_dirs *ret, const char *variable, const char *folder)
{
    ret->count = 0;
    const char *only = getenv(variable);
    if (only != NULL && *only != '\0') {
        add_dir(ret, only, "", "");
        return;
    }
    add_dir(ret, "/etc/fftd/", "", folder);
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return;
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    add_dir(ret, program, "/../share/fftd/", folder); /* bin/ and share/ of one prefix */
    add_dir(ret, program, "/../config/", folder);     /* build/ of the source tree */
    add_dir(ret, program, "/../../config/", folder);  /* build/san-... */
}

bool config_find_in_dirs(const struct config_dirs *dirs, const char *name, const char *suffix,
                         char path[CONFIG_PATH_BYTES])
{
    for (unsigned i = 0; i < dirs->count; i++) {
        int length = snprintf(path, CONFIG_PATH_BYTES, "%s/%s%s", dirs->path[i], name, suffix);
        if (length < CONFIG_PATH_BYTES && access(path, F_OK) == 0)
            return true;
    }
    return false;
}

/* ---- what there is ---- */

/* The names of all presets that fftd has, in a message that has room for the rest. */
#define KNOWN_BYTES 360

struct listing {
    char known[KNOWN_BYTES];
    unsigned left_out; /* names for which there was no place */
    struct text_guess guess;
    char best[NAME_MAX + 1];
};

/* Ends the name before the suffix. False: it does not have one, or nothing else. */
static bool cut_suffix(char *file_name, const char *suffix)
{
    const size_t length = strlen(file_name), cut = strlen(suffix);
    if (file_name[0] == '.' || length <= cut || strcmp(file_name + length - cut, suffix) != 0)
        return false;
    file_name[length - cut] = '\0';
    return true;
}

static void list_name(void *context, const char *name)
{
    struct listing *listing = context;
    if (strlen(listing->known) + strlen(name) + sizeof ", " > sizeof listing->known)
        listing->left_out++;
    else
        text_append(listing->known, sizeof listing->known, "%s%s",
                    listing->known[0] != '\0' ? ", " : "", name);
    text_guess_try(&listing->guess, name);
    if (listing->guess.best == name) { /* freed with the directory's list */
        snprintf(listing->best, sizeof listing->best, "%s", name);
        listing->guess.best = listing->best;
    }
}

void config_list_dirs(const struct config_dirs *dirs, const char *suffix,
                      void (*visit)(void *context, const char *name), void *context)
{
    struct config_dirs earlier = {.count = 0};
    char path[CONFIG_PATH_BYTES];
    for (unsigned dir = 0; dir < dirs->count; dir++) {
        struct dirent **entries;
        int count = scandir(dirs->path[dir], &entries, NULL, alphasort);
        for (int i = 0; i < count; i++) {
            char *name = entries[i]->d_name;
            if (cut_suffix(name, suffix) && !config_find_in_dirs(&earlier, name, suffix, path))
                visit(context, name);
            free(entries[i]);
        }
        if (count >= 0)
            free(entries);
        memcpy(earlier.path[dir], dirs->path[dir], sizeof earlier.path[dir]);
        earlier.count++;
    }
}

int config_fail_unknown(const struct config_dirs *dirs, const char *what, const char *name,
                        const char *suffix, struct error *why)
{
    char quoted[TEXT_QUOTE_BYTES], others[40] = "";
    struct listing listing = {.guess = TEXT_GUESS(name)};
    config_list_dirs(dirs, suffix, list_name, &listing);
    if (listing.known[0] == '\0')
        return error_set(why, ENOENT, "unknown %s %s: %s contains no %ss", what,
                         text_quote(quoted, name), dirs->path[0], what);
    const char *best = listing.guess.best;
    if (listing.left_out > 0)
        snprintf(others, sizeof others, " and %u more", listing.left_out);
    return error_set(why, ENOENT, "unknown %s %s: expected one of %s%s%s%s%s", what,
                     text_quote(quoted, name), listing.known, others,
                     best != NULL ? "; did you mean " : "", best != NULL ? best : "",
                     best != NULL ? "?" : "");
}
