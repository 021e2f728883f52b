/* The options of a program. They may precede or follow its operands. */
#ifndef FFTD_COMMON_USAGE_H
#define FFTD_COMMON_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Prints "PROGRAM: MESSAGE; see PROGRAM --help" to stderr. Returns the exit code EX_USAGE. */
int usage_error(const char *program, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An option, and where its value goes: `member` bytes into the program's own struct. */
struct usage_option {
    const char *name;
    char letter; /* 0: none */
    int has_arg; /* as getopt_long has it */
    size_t member;
    /* Stores a value, NULL if it is optional and was left out. False: it is not as `expected` says.
     * Without this function a value is stored as a const char *, and true for an option that takes
     * none. */
    bool (*take)(void *member, const char *text);
    const char *expected;
};

/* What a command line has apart from the values of its options. */
struct usage {
    uint64_t given;    /* the bits of the options, by their index */
    bool help;         /* -h or --help */
    bool version;      /* --version */
    char problem[300]; /* the first mistake; empty: none */
};

/* Reads all options, even after a mistake. Moves the operands to the end of argv, and returns the
 * index of the first one. */
int usage_parse(struct usage *ret, const struct usage_option *options, unsigned count, void *values,
                int argc, char **argv);

/* Does so for a program without operands, and prints its help or its version. Returns 0; an exit
 * code, after a mistake; or -1: nothing is left to do. */
int usage_begin(const char *program, const char *help, const struct usage_option *options,
                unsigned count, void *values, int argc, char **argv);

/* Store a number of at least 1 in a uint64_t, and 0.01 to 86400 seconds (1 without a text) in a
 * double. */
bool usage_take_count(void *member, const char *text);
bool usage_take_seconds(void *member, const char *text);

/* Checks the value of --name, the name of a camera or a runtime directory. Returns 0 or EX_USAGE.
 */
int usage_check_camera(const char *program, const char *name);

/* Writes the camera's name, or the last component of a directory's path. */
void usage_name_camera(const char *camera, char *ret, size_t size);

/* Reads a whole number from 1 to `most`. False: the text is something else. */
bool usage_parse_count(const char *text, uint64_t most, uint64_t *ret);

#endif
