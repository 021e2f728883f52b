/* The thread for work that takes longer than a frame: it samples filter chains' responses and
 * builds engines.
 *
 * It owns the OpenCL device and every engine (builder.h), so that an engine never disappears while
 * a response is designed for it, and frames never wait for either. The camera's thread borrows the
 * newest engine from designer_take until designer_return_engine.
 *
 * A filter may come into use by a fade. If it needs another engine, the fade begins on that engine,
 * for which the previous filter is designed as well; a fade that still runs on the old engine ends
 * first. A filter with another curve (core/curve.h), other noise reduction (filters/denoise.h)
 * or another view (filters/view.h) comes into use at once, because no engine has both.
 *
 * Only the newest waiting request is carried out. A chain gets a new engine if its support is
 * larger than the engine's padding allows for (where the margin is automatic), or if its recipe
 * (filters/recipe.h) is not the engine's. Until then frames are filtered by the old one. */
#ifndef FFTD_DESIGNER_DESIGNER_H
#define FFTD_DESIGNER_DESIGNER_H

#include <stdbool.h>
#include <stdint.h>

#include "designer/handover.h"
#include "config/config.h"
#include "core/error.h"
#include "filters/filter.h"
#include "engine/engine.h"

struct designer;

/* Opens config->engine.device (-ENODEV) and starts the thread. wake_fd is an eventfd that becomes
 * readable when designer_take has something; it stays the caller's. The first chain is
 * config->filter, with serial 1. Nothing is built before designer_request_engine. other: NULL, or
 * the designer of another output, whose device this one uses; then nothing here waits for the
 * driver. */
int designer_create(struct designer **ret, const struct designer *other,
                    const struct config *config, int wake_fd, const struct designer_share *share,
                    struct error *why);

/* Sets plan->use of this designer's output: what an engine with the plan's loads takes, without
 * tuned settings. Any thread. */
int designer_plan(const struct designer *designer, const struct engine_frames *frames,
                  const struct filter_chain *chain, enum view_kind view, struct designer_plan *plan,
                  struct error *why);

/* Checks that there is memory for frames of an output that is to be added, and reserves it
 * (designer_check_memory). config: the output's. Nothing here waits for the driver. */
int designer_check_beside(const struct designer *other, const struct config *config,
                          const struct designer_share *share, const struct engine_frames *frames,
                          struct error *why);

/* After the engine was returned: ends the thread without waiting for it.
 * Writes this eventfd when designer_destroy need not wait any more. */
void designer_end(struct designer *designer, int ended_fd);

/* Ends the thread, destroys every engine, closes the device. Engines must have been returned.
 * -EBUSY: the thread was in the OpenCL driver until deadline_ns (a compilation cannot be
 * interrupted), or the device keeps frames of an engine: call it again, or end the process by
 * _exit. NULL is allowed. */
int designer_destroy(struct designer *designer, int64_t deadline_ns);

/* The device's name and memory, before the first designer_request_engine only. The texts are valid
 * for as long as the designer exists. */
const char *designer_device_name(const struct designer *designer);
const char *designer_device_memory(const struct designer *designer);

/* The budget of memory, which does not change. */
struct budget designer_budget(const struct designer *designer);

/* Camera's thread: asks for the response of another chain, or for another view, which replace what
 * was taken last in a fade of that many frames; 0: at once. frames: also for an engine for these
 * frames; NULL: not. The serial that was taken last asks for nothing: it withdraws what was
 * requested since. */
void designer_request_filter(struct designer *designer, const struct filter_chain *chain,
                             enum view_kind view, uint64_t serial, unsigned fade_frames,
                             const struct engine_frames *frames);

/* Camera's thread, while the engine does not fade: sets the noise that was estimated for chains
 * that ask for it (filter_chain_take_noise); 0: none was. If the response in use would change
 * visibly, it is designed again, at most every two seconds. */
void designer_set_noise(struct designer *designer, double noise);

/* Any thread: returns the chain, its view and its serial as taken last. The caller drops the chain.
 * 0: none was taken yet. */
uint64_t designer_get_taken(struct designer *designer, struct filter_chain *ret,
                            enum view_kind *ret_view);

/* Camera's thread: asks for an engine for these frames, with the newest chain's response. */
void designer_request_engine(struct designer *designer, const struct engine_frames *frames);

/* Camera's thread: takes the result, if there is one. is_fading: the engine in use fades. */
bool designer_take(struct designer *designer, bool is_fading, struct design *ret);

/* Camera's thread: returns an engine for good; its frames in flight must have been abandoned.
 * failed: it lost or kept a frame, so the device is opened again before the next engine is built.
 */
void designer_return_engine(struct designer *designer, struct engine *engine, bool failed);

/* Any thread: checks that the memory for a chain, its view and its frames is within the budget
 * (builder_check_memory), without tuned settings. reserves: it is counted as this output's. */
int designer_check_memory(const struct designer *designer, const struct engine_frames *frames,
                          const struct filter_chain *chain, enum view_kind view, bool reserves,
                          struct error *why);

struct tuning_status {
    bool running;    /* a search runs, or is about to begin */
    bool exhaustive; /* the search that runs, or the last one */
    bool tuned;      /* the engine uses settings that a search has found */
    struct engine_search_progress progress;
    int result; /* 0: the last search succeeded; -ECANCELED: it was stopped; another -errno: it
                   failed */
    struct error why;
};

/* Any thread: begins, ends and reports a search for settings under which the engine is faster
 * (engine_search). It runs step by step between requests and slows frames down. When it succeeds,
 * the engine is rebuilt with the settings found. With config->engine.options.tune "auto" one search
 * begins automatically on a GPU, with "exhaustive" on any device, if none has succeeded before.
 * -EBUSY: one is running. */
int designer_tune(struct designer *designer, bool exhaustive, struct error *why);
void designer_stop_tuning(struct designer *designer);
void designer_get_tuning(struct designer *designer, struct tuning_status *ret);

/* The designer's work in the driver, and the OpenCL programs of the engine that is being built. */
struct build_progress {
    unsigned number;      /* goes up with each engine that needs a compilation */
    unsigned done, total; /* programs; total 0: none is being compiled */
    int64_t since_ns;     /* when it entered the driver, CLOCK_MONOTONIC; 0: it is not there */
    bool is_late;         /* the driver exceeds engine.build_timeout */
};

/* Any thread; wake_fd becomes readable when it changes. */
void designer_get_build_progress(struct designer *designer, struct build_progress *ret);

enum designer_state {
    DESIGNER_IDLE,
    DESIGNER_BUSY, /* in the driver, which may delay frames */
    DESIGNER_STUCK /* the driver or the device has hung, and no more engines are built */
};

/* Any thread. */
enum designer_state designer_get_state(struct designer *designer);

#endif
