/* Files that a command writes. Nothing is ever written through a link that another user may have
 * planted. A link as the last component of the path is followed only to a terminal, a device such
 * as /dev/null, or a pipe. It must also belong to this user or root. */
#ifndef FFTD_CTL_OUTPUT_H
#define FFTD_CTL_OUTPUT_H

#include <limits.h>
#include <stdio.h>

#include "ctl.h"
#include "pictures/picture.h"

enum output_kind {
    OUTPUT_WHOLE,  /* the file gets its name when it is complete */
    OUTPUT_STREAM, /* the file can be read while it grows */
};

struct output_file {
    FILE *file;
    char path[PATH_MAX];
    char temporary[PATH_MAX]; /* the name until then; empty: the file already has its name */
};

/* Opens a file for writing; "-" and /dev/stdout are stdout. An existing file is replaced at the end
 * (OUTPUT_WHOLE) or at once. Returns 0 or -errno. */
int output_open(struct output_file *ret, const char *path, enum output_kind kind);

/* Closes the file and gives it its name; stdout is only flushed. After a write error, a file
 * without its name is removed. Returns 0, or -errno of the first error. */
int output_close(struct output_file *output);

/* Returns whether the value of --output names a file, which need not exist; false for a directory
 * or NULL. */
bool output_is_file(const char *path);

/* Writes a PNG file, or to stdout if the path is "-". Prints the reason for a failure, and returns
 * 0 or an exit code; a closed pipe is left to ctl_finish. */
int output_save_picture(const struct ctl *ctl, const struct picture *picture, const char *path);

#endif
