/* An ordered list of names with values: what a camera's own controls are to be set to. Pure. Only
 * the camera knows what the names mean and which values they accept. */
#ifndef FFTD_CORE_SETTINGS_H
#define FFTD_CORE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

#define SETTINGS_MAX        32
#define SETTINGS_NAME_BYTES 32
#define SETTINGS_TEXT_BYTES 2304 /* enough for the text of any list */

struct setting {
    char name[SETTINGS_NAME_BYTES]; /* [a-z0-9_]+ */
    char value[36];                 /* printable, without comma, = and quotes */
};

struct settings {
    unsigned count;
    struct setting item[SETTINGS_MAX];
};

/* Reads "brightness=128, power_line_frequency=50 Hz"; "none" is the empty list. -EINVAL: ret is
 * unchanged. */
int settings_parse(struct settings *ret, const char *text, struct error *why);

/* Writes the text that settings_parse reads back. */
void settings_print(const struct settings *settings, char *text, size_t size);

/* Returns whether both have the same names and values in the same order. */
bool settings_equal(const struct settings *a, const struct settings *b);

/* Puts one setting at the end and removes an earlier one of the same name. -EINVAL: the name or the
 * value is not valid, or there are too many. */
int settings_put(struct settings *settings, const char *name, const char *value, struct error *why);

/* Puts all of `newer` at the end in the same way. -EINVAL: there would be too many; *settings is
 * unchanged. */
int settings_merge(struct settings *settings, const struct settings *newer, struct error *why);

#endif
