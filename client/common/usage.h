/* The options of a program. */
#ifndef FFTD_COMMON_USAGE_H
#define FFTD_COMMON_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Prints "PROGRAM: MESSAGE; see PROGRAM --help" to stderr. Returns the exit code EX_USAGE. */
int usage_error(const char *program, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Checks the value of --name, the name of a camera or a runtime directory. Returns 0 or EX_USAGE.
 */
int usage_check_camera(const char *program, const char *name);

/* Writes the camera's name, or the last component of a directory's path. */
void usage_name_camera(const char *camera, char *ret, size_t size);

/* Reads a whole number from 1 to `most`. False: the text is something else. */
bool usage_parse_count(const char *text, uint64_t most, uint64_t *ret);

#endif
