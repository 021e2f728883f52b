/* A parsed libconfig file, with the file and line of each value for messages, and scalars as text.
 * This layer knows no keys.
 *
 * Threads: a tree belongs to its caller. */
#ifndef FFTD_CONFIG_TREE_H
#define FFTD_CONFIG_TREE_H

#include <libconfig.h>
#include <stdbool.h>

#include "core/error.h"
#include "filters/filter.h"

#define CONFIG_ORIGIN_BYTES 160
#define CONFIG_VALUE_BYTES  FILTER_TEXT_BYTES /* the longest value a file may have, as text */

struct config_tree {
    config_t parsed;
    const char *path; /* the caller's; for messages */
};

/* Reads and parses a file. -ENOENT, -EACCES, -ENOMEM or -EINVAL; the text begins with
 * "FILE:LINE: ", or with "FILE: " if the file cannot be read. After a failure there is nothing to
 * finish. */
int config_tree_init(struct config_tree *ret, const char *path, struct error *why);

/* Parses a text as if it were the file of that path. Errors as above. */
int config_tree_parse(struct config_tree *ret, const char *text, const char *path,
                      struct error *why);
void config_tree_finish(struct config_tree *tree);

/* Writes "FILE:LINE" of a value, as messages begin, and returns it. */
const char *config_tree_origin(const struct config_tree *tree, const config_setting_t *setting,
                               char origin[CONFIG_ORIGIN_BYTES]);

/* Writes a scalar as a command line would give it. False: it is a group, a list or an array, or it
 * is too long. */
bool config_tree_scalar(const config_setting_t *setting, char text[CONFIG_VALUE_BYTES]);

/* The same, and also a pair of numbers: (0.25, 0) is "0.25/0". */
bool config_tree_scalar_or_pair(const config_setting_t *setting, char text[CONFIG_VALUE_BYTES]);

/* Returns whether a number, true or false is in quotes, which makes it a string to libconfig. */
bool config_tree_is_quoted_literal(const config_setting_t *setting);

/* Describes a value of an unexpected type, for messages: "a group { ... }". */
const char *config_tree_shape(const config_setting_t *setting);

#endif
