/* The thread that makes what takes long: responses for filter chains, and engines.
 *
 * It owns the OpenCL device and every engine: engines are built and destroyed only here, so that
 * an engine can never go away under a design that reads it, and frames never wait for either. The
 * camera thread borrows the newest engine from the moment it takes it until it gives it back.
 *
 * Of requests that wait only the newest is carried out. A chain whose support is larger than the
 * engine's padding allows for (where the margin is left to us) gets a new engine; meanwhile frames
 * go on with the old one.
 *
 * A device may hang: an engine given back with frames that it never lets go of is put aside, since
 * neither it nor its device can be closed before that, and the next one is built on the device
 * opened anew. After two of them, or when the driver does not come back from building, nothing more
 * is to be hoped for: DESIGNER_STUCK. */
#ifndef FFTD_DESIGNER_H
#define FFTD_DESIGNER_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "core/error.h"
#include "core/filter.h"
#include "gpu/engine.h"

struct designer;

/* What the thread has made. `result` tells of the newest request; engine and response may be what
 * an earlier one left. */
struct design {
    int result; /* 0, or -errno with `why` */
    struct error why;
    uint64_t result_serial; /* of the chain that the request was about */
    struct engine *engine;  /* which the response is for; NULL: there is nothing to apply */
    struct engine_response *response; /* the taker's */
    uint32_t source;                  /* fourcc of the frames the engine takes */
    struct fftd_format format;        /* of those it makes */
    uint64_t serial;                  /* of the response */
};

/* Opens config->device (-ENODEV) and starts the thread. wake_fd is an eventfd that becomes readable
 * when designer_take has something; it stays the caller's. The first chain is config->filter, with
 * serial 1; nothing is made before designer_want_engine. */
int designer_create(struct designer **ret, const struct config *config, int wake_fd,
                    struct error *why);

/* Ends the thread, destroys every engine, closes the device. Engines must have been given back.
 * -EBUSY: the thread did not come back from the OpenCL driver until deadline_ns (a kernel being
 * compiled cannot be interrupted), or the device keeps frames of an engine: call it again, or end
 * the process by _exit. NULL is allowed. */
int designer_destroy(struct designer *designer, int64_t deadline_ns);

/* Name of the device, valid as long as the designer. Before designer_want_engine only. */
const char *designer_device_name(const struct designer *designer);
const char *designer_device_memory(const struct designer *designer); /* likewise; valid forever */

/* Asks for another chain, any thread. Returns its serial. */
uint64_t designer_want_chain(struct designer *designer, const struct filter_chain *chain);
void designer_get_chain(struct designer *designer, struct filter_chain *ret);

/* Asks for a new engine that makes frames of this format from those with the fourcc `source`, with
 * the newest chain's response. */
void designer_want_engine(struct designer *designer, uint32_t source,
                          const struct fftd_format *format);

/* The result, if there is one. */
bool designer_take(struct designer *designer, struct design *ret);

/* Gives an engine back for good; its frames under way must have been abandoned. failed: it lost
 * or kept a frame, so the device is opened anew before the next engine is built on it. */
void designer_give_back(struct designer *designer, struct engine *engine, bool failed);

/* A search for settings under which the engine is faster (engine_search): step by step, between
 * requests, while frames go on, more slowly. When it ends well, the engine is built anew with
 * what was found. With config->engine.tune "auto" it begins by itself once on a GPU, with
 * "exhaustive" on any device, if nothing was found before. */
struct tuning_status {
    bool running;    /* or about to */
    bool exhaustive; /* the one that runs, or the last one */
    bool tuned;      /* the engine's settings were found by a search */
    struct engine_search_progress progress;
    int result; /* of the last one: 0; -ECANCELED; else -errno */
    struct error why;
};

/* Any thread. -EBUSY: one runs. It begins as soon as there is an engine; what goes wrong later is
 * in the status. */
int designer_tune(struct designer *designer, bool exhaustive, struct error *why);
void designer_stop_tuning(struct designer *designer);
void designer_get_tuning(struct designer *designer, struct tuning_status *ret);

enum designer_state {
    DESIGNER_IDLE,
    DESIGNER_BUSY, /* in the driver, which may keep frames waiting meanwhile */
    DESIGNER_STUCK
};

/* Any thread. */
enum designer_state designer_get_state(struct designer *designer);

#endif
