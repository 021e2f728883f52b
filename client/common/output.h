/* Files that a program writes where its user asks it to. All are opened here, as the lint checks.
 *
 * Nothing is written where another user of the machine may have planted something. In a directory
 * like /tmp, which others may write and which has the sticky bit, a link, a directory, a pipe or a
 * device of a user other than this one, root or the owner of that directory is not used. Linux
 * refuses some of that, too, if fs.protected_symlinks and fs.protected_fifos are set. An existing
 * file is never written into, but replaced, so that neither a link to it nor a program that has it
 * open gets anything.
 *
 * A link as the last component of the path is replaced, too, unless it belongs to this user or
 * root and leads to a pipe or a device such as /dev/null. */
#ifndef FFTD_COMMON_OUTPUT_H
#define FFTD_COMMON_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#define OUTPUT_WHY_BYTES 160

enum output_kind {
    OUTPUT_WHOLE,     /* the file gets its name when it is complete */
    OUTPUT_PRIVATE,   /* the same, for this user only */
    OUTPUT_NEW,       /* must not exist yet */
    OUTPUT_STREAM,    /* the file can be read while it grows */
    OUTPUT_CONTINUED, /* must exist, as a file of this user; is written at its beginning */
};

struct output_file {
    FILE *file;
    int folder; /* where names are; -1: nothing is left to rename or to remove */
    char name[NAME_MAX + 1];
    char
        temporary[NAME_MAX + 1]; /* the name until it is complete; empty: it already has its name */
    bool is_synced;             /* must be on the disk before it gets its name, and the name then */
    bool is_partial;            /* without a temporary name: is removed after an error */
    char why[OUTPUT_WHY_BYTES]; /* after a failure of output_open: the reason in words */
};

/* Opens a file for writing; "-" and /dev/stdout are stdout, /dev/fd/N and the like that descriptor.
 * An existing file is replaced at the end (OUTPUT_WHOLE, OUTPUT_PRIVATE) or at once
 * (OUTPUT_STREAM). Returns 0 or -errno. -EPERM: another user may have planted something there. */
int output_open(struct output_file *ret, const char *path, enum output_kind kind);

/* Gives a file (OUTPUT_PRIVATE) the owner, the group and the mode of the one that it replaces, and
 * lets output_close write it to the disk before it replaces that one. Returns 0 or -errno. */
int output_keep(struct output_file *output, const struct stat *replaced);

/* Closes the file and gives it its name; stdout is only flushed. After a write error, a file that
 * had to be complete is removed. Returns 0, or -errno of the first error. */
int output_close(struct output_file *output);

/* Closes the file and removes what was written, as far as it has to be complete. */
void output_discard(struct output_file *output);

/* Creates a directory for output files, unless it exists. Returns 0 or -errno, with the reason in
 * words; whether something that exists is a directory is left to output_open. */
int output_make_directory(const char *path, char why[OUTPUT_WHY_BYTES]);

/* Returns whether the value of --output names a file, which need not exist; false for a directory
 * or NULL. */
bool output_is_file(const char *path);

/* Returns whether output_open writes into what the path names instead of replacing it: a
 * descriptor, a pipe or a device. */
bool output_is_stream(const char *path);

#endif
