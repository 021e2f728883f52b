/* Directories in which presets and images are found by name.
 *
 * Threads: any; nothing is kept between calls. */
#ifndef FFTD_CONFIG_DIRS_H
#define FFTD_CONFIG_DIRS_H

#include <limits.h>
#include <stdbool.h>

#include "core/error.h"

#define CONFIG_MAX_DIRS   4
#define CONFIG_PATH_BYTES (PATH_MAX + NAME_MAX)

struct config_dirs {
    unsigned count;
    char path[CONFIG_MAX_DIRS][PATH_MAX];
};

/* The directory in the environment variable, if it is set. Otherwise /etc/fftd/FOLDER,
 * ../share/fftd/FOLDER beside the program, and config/FOLDER of the source tree that the program
 * was built in. */
void config_find_dirs(struct config_dirs *ret, const char *variable, const char *folder);

/* Finds the first file NAMESUFFIX. The caller has checked that the name contains no slash. */
bool config_find_in_dirs(const struct config_dirs *dirs, const char *name, const char *suffix,
                         char path[CONFIG_PATH_BYTES]);

/* Calls visit with each name that config_find_in_dirs would find, in the order of the directories
 * and then of the alphabet. */
void config_list_dirs(const struct config_dirs *dirs, const char *suffix,
                      void (*visit)(void *context, const char *name), void *context);

/* Returns -ENOENT with a text that lists the names that exist. what: "preset". */
int config_fail_unknown(const struct config_dirs *dirs, const char *what, const char *name,
                        const char *suffix, struct error *why);

#endif
