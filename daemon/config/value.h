/* One value: the field of a key, wherever it is, from text or from a file, and strings as they are
 * written in files.
 *
 * Threads: any; nothing is kept between calls. */
#ifndef FFTD_CONFIG_VALUE_H
#define FFTD_CONFIG_VALUE_H

#include <stddef.h>
#include <stdio.h>

#include "config/tree.h"
#include "config/type.h"
#include "core/error.h"

/* Writes what the key accepts, in words: "a number 0.1 .. 1000 frames/s, or auto". */
#define CONFIG_EXPECTS_BYTES 360
void config_value_expects(const struct config_key *key, char *text, size_t size);

/* Writes one character as it stands between quotes in libconfig's syntax, and returns it. */
#define CONFIG_ESCAPE_BYTES 5
const char *config_escape(char c, char ret[CONFIG_ESCAPE_BYTES]);

/* Writes a string in libconfig's syntax. */
void config_print_quoted(const char *text, FILE *file);

/* Sets the field from text. On failure it is unchanged, and the text reads
 * "ORIGIN: key = value: expected ...". -EINVAL, or why a preset cannot be read. */
int config_value_set(void *field, const struct config_key *key, const char *value,
                     const char *origin, struct error *why);

/* Sets the field from a file, in which only some types may be lists or groups. Errors as above. */
int config_value_read(void *field, const struct config_key *key, const struct config_tree *tree,
                      const config_setting_t *setting, struct error *why);

#endif
