/* The configuration of one camera: one struct, fully validated.
 *
 * config/fftd.conf lists every key with its default and its unit. Files call each other downwards:
 *
 *     paths.c    directories from the environment
 *     file.c     libconfig files, key by key
 *     key.c      one key, or every key: names, defaults, printing
 *     keys.c     the table of keys
 *     outputs.c  the key `outputs`, and the configuration of each output
 *     value.c    one value: from text or a file, with its messages
 *     type.c     the types of keys
 *     saved.c    what was saved over the bus, which goes before the file
 *     preset.c   filters by name
 *     chain.c    filters written as a list of groups
 *     tree.c     libconfig
 *
 * Every error reads "FILE:LINE: key = value: expected ...".
 *
 * Threads: a struct config belongs to its owner's thread. */
#ifndef FFTD_CONFIG_CONFIG_H
#define FFTD_CONFIG_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "capture/capture.h"
#include "transform/engine_options.h"
#include "core/error.h"
#include "filters/filter.h"
#include "core/settings.h"

#define CONFIG_TEXT        256 /* bytes of a string key, with its final zero byte */
#define CONFIG_OUTPUT_NAME 32  /* bytes of an output's name, with its final zero byte */
#define CONFIG_MAX_OUTPUTS 8   /* for a camera, main among them */

/* The camera streams or pauses while no client reads its frames. */
enum config_idle { CONFIG_IDLE_RUN, CONFIG_IDLE_PAUSE };

struct config_camera {
    struct capture_request source; /* when it changes, the source is opened again */
    double stall_timeout_s;        /* without a frame, 0.1 .. 3600 */
    enum config_idle idle;
    struct settings controls; /* the camera's own controls, set whenever it is opened */
};

struct config_engine {
    char device[CONFIG_TEXT]; /* OpenCL: "auto", "gpu", "cpu", an index, or part of a name */
    struct engine_options options;
    unsigned memory_mib;         /* that may be taken from the host, and from the device; 0: auto */
    double frame_timeout_s;      /* for one frame on the device, 0.1 .. 3600 */
    double build_timeout_s;      /* for building another engine, 1 .. 3600 */
    bool compile_ahead;          /* in idle time, what the next filter may need */
    char cache_dir[CONFIG_TEXT]; /* after config_finish a directory, or empty for none */
};

/* The blocks of fields of motion. */
enum config_motion { CONFIG_MOTION_OFF, CONFIG_MOTION_16, CONFIG_MOTION_32, CONFIG_MOTION_64 };

/* Pixels of a side; 0 without fields. */
static inline unsigned config_motion_block(enum config_motion motion)
{
    return motion == CONFIG_MOTION_OFF ? 0 : 8u << motion;
}

/* What finds fields of motion. */
enum config_motion_by {
    CONFIG_MOTION_AUTO,    /* the device, if it has memory of its own */
    CONFIG_MOTION_DEVICE,  /* for each frame, which waits for its field */
    CONFIG_MOTION_OBSERVER /* beside the frames, for some of them */
};

struct config_output {
    uint32_t width, height;          /* published frames, 16 .. 8192 each; 0: as captured */
    unsigned slots;                  /* frames in the ring, 4 .. 64 */
    bool checksum;                   /* frames carry one */
    bool lossless;                   /* the ring waits for readers that ask for it */
    bool measures;                   /* frames carry those of the picture before the filter */
    enum config_motion motion;       /* frames carry fields of motion; then measures is true, too */
    enum config_motion_by motion_by; /* what finds them */
    unsigned max_clients;            /* 1 .. LIMIT_CLIENTS */
    bool watch_unfiltered;           /* watchers may take snapshots from before the filter */
    char runtime_dir[CONFIG_TEXT];   /* has the sockets; after config_finish a directory */
    unsigned frames;                 /* the daemon ends after this number of frames; 0: unlimited */
};

struct config_control {
    bool allow_save; /* changers may save the filter and the controls (saved.h) */
};

/* The keys that can be saved, and what the file that they are saved in has of them. */
enum { CONFIG_SAVED_FILTER, CONFIG_SAVED_CONTROLS, CONFIG_SAVED_KEYS };
extern const char *const config_saved_names[CONFIG_SAVED_KEYS]; /* "filter" */
struct config_saved {
    char path[PATH_MAX];             /* the file, which need not exist; empty: not allowed */
    bool is_used[CONFIG_SAVED_KEYS]; /* the key has its value from there */
    struct error problem;            /* why something there is ignored; empty: nothing is */
};

/* A picture of the camera beside that of `filter` and `output`, with a filter, a size, a rate and a
 * ring of its own. Everything else is as for that one. */
struct config_named_output {
    char name[CONFIG_OUTPUT_NAME]; /* [A-Za-z0-9-]+, and not "main" */
    uint32_t width, height;        /* as in struct config_output */
    double fps;                    /* frames/s at most, 0.01 .. 1000; 0: every frame */
    int32_t planes;                /* an enum recipe_planes, plus 1; 0: engine.planes */
    int32_t depth;                 /* an enum recipe_depth */
    double edge;                   /* recipe.crop_edge */
    struct filter_chain filter;
    bool is_added; /* while the daemon runs, and no file names it */
};

struct config_outputs {
    unsigned count; /* places, up to the last that is used */
    struct config_named_output output[CONFIG_MAX_OUTPUTS - 1];
};

/* The groups of the file. */
struct config {
    char name[64]; /* [A-Za-z0-9_-]+ */
    struct config_camera camera;
    struct config_engine engine;
    struct filter_chain filter;
    struct config_output output;
    struct config_control control;
    struct config_outputs outputs;
    struct config_saved saved; /* no key */
};

/* The outputs of a camera are numbered: 0 is "main", the picture of `filter` and `output`, and the
 * named ones follow in their order. One that is removed while the daemon runs leaves its place
 * free, without a name, so that the others keep their numbers. */
#define CONFIG_MAIN_OUTPUT "main"
static inline unsigned config_output_count(const struct config *config)
{
    return 1 + config->outputs.count;
}
const char *config_output_name(const struct config *config, unsigned output);

/* Returns whether an output has this number. */
bool config_has_output(const struct config *config, unsigned output);

/* Returns the number of the output with this name, or -ENOENT. */
int config_find_output(const struct config *config, const char *name);

/* Puts an output into a free place, or frees the place. The filters hold their images. */
void config_put_output(struct config *config, unsigned output,
                       const struct config_named_output *named);
void config_clear_output(struct config *config, unsigned output);

/* Sets one member of an output from text: "size", "640x360". Errors as config_set. */
int config_set_output(struct config_named_output *output, const char *member, const char *value,
                      const char *origin, struct error *why);

/* Returns the greatest rate of an output; 0: it has every frame. */
double config_output_fps(const struct config *config, unsigned output);

/* Returns whether two outputs have the same values, but for the filter. */
bool config_output_alike(const struct config_named_output *a, const struct config_named_output *b);

/* Returns the output of a list with this name; NULL: there is none. */
const struct config_named_output *config_outputs_find(const struct config_outputs *outputs,
                                                      const char *name);

/* Writes the configuration of a camera whose only output is this one. */
void config_of_named(struct config *ret, const struct config *config,
                     const struct config_named_output *named);
void config_of_output(struct config *ret, const struct config *config, unsigned output);

/* Hold and drop the images of all filters (filter_chain_hold). */
void config_hold_filters(const struct config *config);
void config_drop_filters(const struct config *config);
void config_outputs_hold(const struct config_outputs *outputs);
void config_outputs_drop(const struct config_outputs *outputs);

/* All keys, in the order of config/fftd.conf (keys.c). */
struct config_key;
const struct config_key *config_keys(unsigned *ret_count);

/* Sets every key to its default. (libconfig has a config_init.) */
void config_defaults(struct config *ret);

/* Reads a libconfig file; the keys that it names replace those of *config. On failure *config is
 * unchanged. -ENOENT, -EACCES, -ENOMEM or -EINVAL. */
int config_load(struct config *config, const char *path, struct error *why);

/* Sets one key from "KEY=VALUE", as --set does. On failure *config is unchanged. Messages begin
 * with `origin` ("--set") as those about a file begin with FILE:LINE. */
int config_set(struct config *config, const char *assignment, const char *origin,
               struct error *why);

/* Writes the configuration as a file that config_load reads back to the same values, with each
 * key's summary before it, and the file that it was saved in. */
void config_print(const struct config *config, FILE *file);

/* Checks whether the configuration allows a view of an output: of a smaller size there is only the
 * picture. -EINVAL. */
int config_check_view(const struct config *config, unsigned output, enum view_kind view,
                      struct error *why);

/* Replaces "auto" and "none" by the directories that the environment asks for, and checks that keys
 * agree with each other. Call it once, after the last change. On failure *config is unchanged.
 * -EINVAL or -ENAMETOOLONG. */
int config_finish(struct config *config, struct error *why);

#endif
