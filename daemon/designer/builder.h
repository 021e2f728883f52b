/* Owns the OpenCL devices and every engine: builds them, closes them, and copes with a device that
 * does not finish its frames.
 *
 * There is one device, which engine.device selects, unless that is "auto", the device is no CPU,
 * and frames of an engine have taken less time on the CPU device beside it (engine/comparison.h).
 * Then that engine is built on the CPU device (core/comparison.h says at which difference). An
 * engine whose times are not known is built on the selected device. If the CPU device does not
 * build an engine, it is not tried again.
 *
 * A device may hang. An engine whose frames the device never finishes cannot be destroyed, nor can
 * its device be closed. It is put aside, and the next engine is built on the device opened again.
 * After BUILDER_MAX_STUCK of them no further engine is built.
 *
 * Threads: one at a time; every call may take as long as the driver does. */
#ifndef FFTD_DESIGNER_BUILDER_H
#define FFTD_DESIGNER_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "core/budget.h"
#include "core/comparison.h"
#include "core/error.h"
#include "designer/builder_memory.h"
#include "designer/frames.h"
#include "designer/shares.h"
#include "filters/filter.h"
#include "filters/view.h"
#include "engine/engine.h"

#define BUILDER_MAX_STUCK   2

/* Engines that the camera's thread can return between two calls: the one it used, and one that it
 * never used. */
#define BUILDER_MAX_CLOSING 4

/* An engine whose frames the device has not finished, and that device. */
struct stuck_engine {
    struct engine *engine;
    struct gpu_device *device;
};

/* Where engines are built. */
enum builder_place { BUILDER_SELECTED, BUILDER_CPU, BUILDER_PLACES };

struct builder_device {
    struct gpu_device *opened; /* NULL: not yet, or it could not be opened again */
    bool is_suspect;           /* it is to be opened again before the next engine is built */
    unsigned engine_count;     /* on the device, except those that are stuck */
};

/* (fields: settings, the devices, the newest engine, and those that are stuck.) */
struct builder {
    char selector[CONFIG_TEXT];
    char cache_dir[CONFIG_TEXT];
    struct engine_options options;   /* for the engines to build; the view may be set at any time */
    struct engine_observer observer; /* learns how the compilation of an engine goes */
    struct builder_device device[BUILDER_PLACES];
    enum builder_place place; /* where the newest engine is */
    struct engine *engine;    /* the newest one; NULL: none, or it has been closed */
    struct engine_frames frames;
    struct recipe built; /* the engine's */
    double support_px;   /* support that the engine's padding allows for */
    struct stuck_engine stuck[BUILDER_MAX_STUCK + BUILDER_MAX_CLOSING];
    unsigned stuck_count;
    struct builder_memory memory; /* on the selected device */
    bool cpu_finds_motion;        /* in engines on the CPU device; false: the observer does */
    struct gpu_device *cpu;       /* outline of the CPU device; NULL: it was not opened yet */
    struct error cpu_problem;     /* why no engine is built there; empty: nothing prevents it */
    struct budget_use use;        /* by the newest engine, and everything around it */
    struct device_choice choice;
};

/* Opens config->engine.device; -ENODEV. other: NULL, or that of another output's builder, which
 * selects the same device: then it is opened when the first engine is built, so this takes no time.
 * share: NULL, or the output's part of the budget. */
int builder_init(struct builder *ret, const struct builder_memory *other,
                 const struct config *config, const struct designer_share *share,
                 const struct engine_observer *observer, struct error *why);

/* Closes the devices; every engine must have been closed and none be stuck. */
void builder_finish(struct builder *builder);

/* A fade into the response to design. */
struct builder_fade {
    unsigned frames;             /* 0: none */
    const struct engine *engine; /* in use when it begins */
    struct filter_chain from;    /* the chain in use then */
    uint64_t from_serial;
};

/* Returns whether one engine can filter two chains with their views, for a fade from one to the
 * other. */
bool builder_can_fade(const struct filter_chain *from, enum view_kind from_view,
                      const struct filter_chain *to, enum view_kind to_view);

/* Returns whether a search for the newest engine is to begin automatically. That happens once, and
 * on a CPU, which gains little, only if the configuration asks for it. */
bool builder_wants_search(const struct builder *builder);

/* Makes builder->engine suit a chain, and samples the chain's response for it, which comes into use
 * with that fade. With frames, the engine is built for them. Without (NULL), it is replaced only if
 * needed: its padding must allow for the chain's support, and its recipe must be the chain's
 * (recipe_of) with the settings of builder->options. In a fade it suits both chains
 * (builder_can_fade). On failure the engine is as before. */
int builder_design(struct builder *builder, const struct engine_frames *frames,
                   const struct filter_chain *chain, const struct builder_fade *fade,
                   struct engine_response **ret, struct error *why);

/* Lets every device be opened again before the next engine is built on it, once its engines have
 * been closed or put aside; and returns whether any will be. */
void builder_suspect(struct builder *builder);
bool builder_is_suspect(const struct builder *builder);

/* Returns whether the newest engine reaches farther than a chain needs, because it was built for a
 * fade: one for the chain alone may be faster. */
bool builder_reaches_too_far(const struct builder *builder, const struct filter_chain *chain);

/* Destroys an engine, or puts it aside if the device keeps frames of it. */
void builder_close_engine(struct builder *builder, struct engine *engine);

/* Destroys the engines that were put aside and whose frames are finished by now. */
void builder_release_stuck(struct builder *builder);

#endif
