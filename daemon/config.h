/* The configuration file: one struct, fully validated.
 *
 * config/fftd.conf lists every key with its default and its unit; config_keys.c holds the one table
 * from which parsing, defaults, `--set KEY=VALUE` and error messages follow; config_file.c reads
 * libconfig files, presets included; config_paths.c knows the environment. Every error reads
 * "FILE:LINE: key = value: what was expected".
 *
 * Threads: none of its own; a struct config belongs to whoever holds it. */
#ifndef FFTD_CONFIG_H
#define FFTD_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"
#include "core/filter.h"
#include "core/frame_memory.h"
#include "core/settings.h"
#include "gpu/engine.h"

#define CONFIG_TEXT 256

/* What the camera does while nobody reads its frames. */
enum config_idle { CONFIG_IDLE_RUN, CONFIG_IDLE_PAUSE };

struct config {
    char name[64]; /* [A-Za-z0-9_-]+ */
    char source[CONFIG_TEXT];
    uint32_t width, height; /* 0: the source's choice */
    double rate;
    uint32_t fourcc;
    unsigned buffers;
    enum frame_way memory;
    bool loop;
    uint32_t seed;
    double stall_timeout_s;
    enum config_idle idle;
    struct settings controls; /* of the camera's own, set whenever it is opened */

    char device[CONFIG_TEXT];     /* OpenCL: "auto", "gpu", "cpu", an index, or part of a name */
    struct engine_options engine; /* precision, border, margin, planes, technique, tune */
    double frame_timeout_s, build_timeout_s;
    char cache_dir[CONFIG_TEXT]; /* after config_finish a directory, or empty: none */

    struct filter_chain filter;

    unsigned slots;
    bool checksum;
    unsigned max_clients;
    char runtime_dir[CONFIG_TEXT]; /* after config_finish a directory */
    uint64_t frames;               /* stop after so many; 0: never */
};

/* One key, as the table has it. What it takes as text is the same on a command line and in a
 * file, where texts are quoted and numbers and booleans are not. */
enum config_type {
    CONFIG_STRING, /* char[size] */
    CONFIG_NUMBER, /* double */
    CONFIG_INT,    /* int */
    CONFIG_UINT,   /* unsigned and uint32_t */
    CONFIG_UINT64,
    CONFIG_BOOL,
    CONFIG_CHOICE,   /* an enum, by the index of its name in choices */
    CONFIG_SIZE,     /* "WIDTHxHEIGHT": two uint32_t */
    CONFIG_FORMAT,   /* a pixel format's name: its fourcc */
    CONFIG_FILTER,   /* a chain or preset:NAME; in a file also a list of groups */
    CONFIG_SETTINGS, /* NAME=VALUE, ... or none; in a file also a group */
};

struct config_key {
    const char *name;    /* "engine.precision" */
    const char *initial; /* the default as text */
    const char *summary; /* one line of help */
    enum config_type type;
    size_t offset, size; /* of the field in struct config */
    const char *unit;    /* "px"; NULL: none */
    bool live;           /* a running daemon that reads its file again takes it over */
    double min, max;
    /* A word that stands for a value outside the range: margin = "auto" is -1. NULL: none. */
    const char *word;
    double word_value;
    const char *const *choices; /* CONFIG_CHOICE only, NULL-terminated */
    /* CONFIG_STRING only: what is accepted, and that in words; NULL: anything. */
    bool (*valid)(const char *text);
    const char *expects;
};

const struct config_key *config_keys(unsigned *ret_count);
const struct config_key *config_key_by_name(const char *name);

/* What a key takes, in words: "a number 0.1 .. 1000 frames/s, or auto". */
#define CONFIG_EXPECTS_BYTES 360
void config_key_expects(const struct config_key *key, char *text, size_t size);

/* Every key at its default. (Not config_init: libconfig has a function of that name.) */
void config_defaults(struct config *ret);

/* Reads a libconfig file over what *config holds; unchanged on failure. -ENOENT / -EACCES /
 * -EINVAL. */
int config_load(struct config *config, const char *path, struct error *why);

/* Sets one key from text ("engine.precision=half"), as --set and fftd-ctl set do; unchanged on
 * failure. `origin` stands in messages where FILE:LINE would ("--set"). */
int config_set(struct config *config, const char *assignment, const char *origin,
               struct error *why);

/* The value of a key as text that config_set takes. -ENOENT: no such key. */
int config_get(const struct config *config, const char *name, char *text, size_t size);

/* Reads what a filter may be given as, everywhere: a chain's text, or preset:NAME. */
int config_filter(struct filter_chain *ret, const char *text, struct error *why);

/* The chain in the preset file of this name. Looked for in $FFTD_PRESET_DIR if that is set, else in
 * /etc/fftd/presets, then beside the program (../share/fftd/presets, and config/presets of the
 * source tree it was built in). -ENOENT: there is none; the text lists what there is. */
int config_load_preset(struct filter_chain *ret, const char *name, struct error *why);

/* The same from a file: `filter` as in a configuration, and `summary`, one line about it. */
int config_load_preset_file(struct filter_chain *ret, const char *path, struct error *why);

/* Writes the configuration as a file that config_load reads back to the same, every key with its
 * help before it. */
void config_print(const struct config *config, FILE *file);

/* Fills in what depends on the environment: runtime and cache directories. Checks what no single
 * key can tell. To be called once, after the last change. */
int config_finish(struct config *config, struct error *why);

#endif
