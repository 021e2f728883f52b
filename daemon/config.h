/* The configuration file: one struct, fully validated.
 *
 * config/fftd.conf lists every key with its default and its unit; config.c holds the one table
 * from which parsing, defaults, `--set KEY=VALUE` and error messages follow. Every error reads
 * "FILE:LINE: key = value: what was expected". */
#ifndef FFTD_CONFIG_H
#define FFTD_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/filter.h"
#include "gpu/engine.h"

#define CONFIG_TEXT 256

struct config {
    char name[64];          /* [A-Za-z0-9_-]+ */
    char source[CONFIG_TEXT];
    uint32_t width, height; /* 0: the source's choice */
    double rate;
    uint32_t fourcc;
    unsigned buffers;
    bool loop;
    uint32_t seed;
    double stall_timeout_s;

    char device[CONFIG_TEXT]; /* OpenCL: "auto", "gpu", "cpu", an index, or part of a name */
    struct engine_options engine; /* precision, border, margin, planes, technique, tune */
    char cache_dir[CONFIG_TEXT];  /* empty: none */

    struct filter_chain filter;

    unsigned slots;
    bool checksum;
    unsigned max_clients;
    char runtime_dir[CONFIG_TEXT];
    uint64_t frames; /* stop after so many; 0: never */
};

/* Every key at its default. */
void config_init(struct config *ret);

/* Reads a libconfig file over what *config holds; unchanged on failure. -ENOENT / -EACCES /
 * -EINVAL. */
int config_load(struct config *config, const char *path, struct error *why);

/* Sets one key from text ("engine.precision=half"), as --set and fftd-ctl set do; unchanged on
 * failure. `origin` stands in messages where FILE:LINE would ("--set"). */
int config_set(struct config *config, const char *assignment, const char *origin,
               struct error *why);

/* Fills in what depends on the environment: runtime and cache directories. Checks what no single
 * key can tell. */
int config_finish(struct config *config, struct error *why);

#endif
