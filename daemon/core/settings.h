/* Names with values, in an order that matters: what a camera's own controls are to be set to. Pure;
 * what the names mean and which values they take only the camera knows. */
#ifndef FFTD_CORE_SETTINGS_H
#define FFTD_CORE_SETTINGS_H

#include <stddef.h>

#include "core/error.h"

#define SETTINGS_MAX        32
#define SETTINGS_NAME_BYTES 32
#define SETTINGS_TEXT_BYTES 2304 /* enough for any settings' text */

struct setting {
    char name[SETTINGS_NAME_BYTES]; /* [a-z0-9_]+ */
    char value[36];                 /* printable, without comma, = and quotes */
};

struct settings {
    unsigned count;
    struct setting item[SETTINGS_MAX];
};

/* Reads "brightness=128, power_line_frequency=50 Hz"; "none" is none at all. -EINVAL. */
int settings_parse(struct settings *ret, const char *text, struct error *why);

/* The text that settings_parse reads back. */
void settings_print(const struct settings *settings, char *text, size_t size);

/* Puts one setting behind the others, taking it out where it was before. -EINVAL: name or value is
 * not one; there are too many. */
int settings_put(struct settings *settings, const char *name, const char *value, struct error *why);

/* Puts all of `newer` behind what is there, likewise; all or, where there are too many, none. */
int settings_merge(struct settings *settings, const struct settings *newer, struct error *why);

#endif
