/* Presets: filter chains in files of their own, found by name.
 *
 * Threads: any; nothing is kept between calls. */
#ifndef FFTD_CONFIG_PRESET_H
#define FFTD_CONFIG_PRESET_H

#include <stdbool.h>

#include "core/error.h"
#include "filters/filter.h"

/* Returns whether the text is a name as cameras and presets have: letters, digits, _ and -. */
bool config_is_name(const char *text);

/* Reads a filter as users write it: a chain's text, or preset:NAME. A preset is looked for in
 * $FFTD_PRESET_DIR if that is set, otherwise where dirs.h says. -EINVAL; -ENOENT: there is no such
 * preset, and the text lists those that exist; or why the preset's file cannot be read. */
int config_filter(struct filter_chain *ret, const char *text, struct error *why);

#define CONFIG_SUMMARY_BYTES 200

/* Reads the preset of a name, and the line about it, cut if it is longer; summary may be NULL.
 * -ENOENT as above. After a failure the summary may have been written. */
int config_load_preset(struct filter_chain *ret, char summary[CONFIG_SUMMARY_BYTES],
                       const char *name, struct error *why);

/* Calls visit with the name of each preset that config_filter finds. */
void config_list_presets(void (*visit)(void *context, const char *name), void *context);

/* Reads the chain of a preset file. Its keys are `filter`, as in a configuration, and `summary`,
 * one line about it, which may be NULL here. */
int config_load_preset_file(struct filter_chain *ret, char *summary, const char *path,
                            struct error *why);

#endif
