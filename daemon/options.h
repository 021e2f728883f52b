/* The daemon's command line: what to do, and which keys of the configuration it overrides.
 *
 * Threads: the main thread, except for options_configure and options_save, which any thread may
 * call. */
#ifndef FFTD_OPTIONS_H
#define FFTD_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "config/config.h"
#include "core/error.h"

enum options_action {
    OPTIONS_RUN,
    OPTIONS_CHECK,        /* print the resulting configuration */
    OPTIONS_LIST_DEVICES, /* cameras and OpenCL devices */
    OPTIONS_LIST_FILTERS, /* the kinds of filters, or one of them */
    OPTIONS_LIST_PRESETS,
    OPTIONS_COMPILE_AHEAD, /* ahead.h */
    OPTIONS_HELP,
    OPTIONS_VERSION
};

/* An option that sets a configuration key. */
struct options_override {
    const char *option; /* "size", for messages */
    char *assignment;   /* "camera.size=640x480", on the heap */
};

struct options {
    enum options_action action;
    const char *config_path; /* NULL: no file */
    const char *operand;     /* OPTIONS_LIST_FILTERS: only this kind; NULL: all.
                                OPTIONS_COMPILE_AHEAD: for what */
    bool json;               /* OPTIONS_LIST_... only */
    bool wait;               /* for a camera that is absent, instead of giving up */
    int max_priority;        /* syslog's; less important messages are not logged */
    unsigned override_count;
    struct options_override *override; /* in the order of the command line */
    char **overridden;                 /* the keys of these; the last is NULL */
};

/* Reads a command line; config_path points into argv. Values of keys are not checked before
 * options_configure. Overwrites passwords in argv, because every user can read the command line of
 * a process. -EINVAL: the text names the wrong option. -ENOMEM. After success options_finish frees
 * what this allocated. */
int options_parse(struct options *ret, int argc, char *argv[], struct error *why);
void options_finish(struct options *options);

/* Makes the configuration from the defaults, the file, what was saved (config/saved.h) and the
 * overrides, in this order. A reload calls it again. On failure *exit_code is EX_CONFIG or
 * EX_USAGE, and *ret is unchanged. */
int options_configure(const struct options *options, struct config *ret, int *exit_code,
                      struct error *why);

/* Saves the values that `wanted` has of these keys, for the next options_configure
 * (config_saved_write). -EACCES: the configuration does not allow it. */
int options_save(const struct options *options, const struct config *wanted,
                 const bool which[CONFIG_SAVED_KEYS], struct config_saved *ret, bool *ret_changed,
                 struct error *why);

/* Writes the absolute path of the configuration's file, without following a link that it is; empty:
 * there is none. */
void options_file(const struct options *options, char ret[PATH_MAX]);

void options_print_help(FILE *file);

#endif
