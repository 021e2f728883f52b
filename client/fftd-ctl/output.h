/* Files that a command writes. Nothing is ever written through a link that somebody else may have
 * planted: the last component of the path is not followed, except to a terminal, a device such as
 * /dev/null, or a pipe, if the link belongs to this user or root. */
#ifndef FFTD_CTL_OUTPUT_H
#define FFTD_CTL_OUTPUT_H

#include <limits.h>
#include <stdio.h>

enum output_kind {
    OUTPUT_WHOLE,  /* the file appears under its name when it is complete */
    OUTPUT_STREAM, /* the file can be read while it grows */
};

struct output_file {
    FILE *file;
    char path[PATH_MAX];
    char temporary[PATH_MAX]; /* empty: what is written is in its place already */
};

/* Opens a file for writing; "-" and /dev/stdout are stdout. An existing file is replaced: at the
 * end (OUTPUT_WHOLE) or now. Returns -errno. */
int output_open(struct output_file *ret, const char *path, enum output_kind kind);

/* Closes the file and gives it its name. A file of which a part could not be written is removed,
 * if it has no name yet. Returns 0 or -errno of the first error; stdout is only flushed. */
int output_close(struct output_file *output);

/* Closes and removes what was written so far, unless it is a stream or no regular file. */
void output_discard(struct output_file *output);

#endif
