/* The daemon's command line: what to do, and what overrides the configuration file. */
#ifndef FFTD_OPTIONS_H
#define FFTD_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "config.h"
#include "core/error.h"

enum options_action {
    OPTIONS_RUN,
    OPTIONS_CHECK,        /* print the resulting configuration */
    OPTIONS_LIST_DEVICES, /* cameras and OpenCL devices */
    OPTIONS_HELP,
    OPTIONS_VERSION
};

/* An option that sets a configuration key. */
struct options_override {
    const char *option; /* "--size", for messages */
    const char *key;    /* "camera.size"; NULL: value is the whole KEY=VALUE */
    const char *value;
};

struct options {
    enum options_action action;
    const char *config_path; /* NULL: none */
    bool json;
    bool wait; /* for a camera that is not there yet */
    int max_priority;
    unsigned override_count;
    struct options_override *override; /* in the order of the command line */
};

/* Reads a command line; texts stay in argv. -EINVAL: the text says which option is wrong, as far as
 * that can be told without the configuration. options_finish frees what it made. */
int options_parse(struct options *ret, int argc, char *argv[], struct error *why);
void options_finish(struct options *options);

/* The configuration these options ask for: defaults, the file, the overrides; may be called again
 * to read the file anew. exit_code: the sysexits code a failure means, EX_CONFIG or EX_USAGE. */
int options_configure(const struct options *options, struct config *ret, int *exit_code,
                      struct error *why);

void options_print_help(FILE *file);

#endif
