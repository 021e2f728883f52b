/* Editing the text of a configuration (libconfig), so that comments, order and spaces stay. Pure.
 */
#ifndef FFTD_COMMON_CONFIG_TEXT_H
#define FFTD_COMMON_CONFIG_TEXT_H

#include <stdio.h>

/* Writes a string in libconfig's syntax. */
void config_text_quote(FILE *file, const char *text);

/* Makes a copy of a configuration in which a key has this string as its value: "filter", or
 * "camera.controls" for one in a group. A key that the text does not have is appended to its group,
 * or to the text. Stages of a filter (separated by " | ") get a line each. The caller frees *ret.
 *
 * -EINVAL: the text is not as libconfig wants it; -ENOMEM. Whoever writes the result lets fftd
 * check that it means what it should. */
int config_text_set(char **ret, const char *text, const char *key, const char *value);

#endif
