/* Hands designs over from the designer's thread to the camera's, and engines back. It knows the
 * newest design, which waits to be taken, what was taken last, and which engines are to be closed.
 *
 * Threads: any, with the designer's lock held. */
#ifndef FFTD_DESIGNER_HANDOVER_H
#define FFTD_DESIGNER_HANDOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "designer/builder.h"
#include "core/error.h"
#include "engine/engine.h"
#include "filters/filter.h"
#include "filters/view.h"
#include "filters/warp.h"

/* A result of the designer's thread. `result` is that of the newest request; engine and response
 * may come from an earlier one. */
struct design {
    int result; /* 0, or -errno with `why` */
    struct error why;
    uint64_t result_serial;             /* serial of the request's chain */
    struct engine_frames result_frames; /* the frames that the request was for */
    struct engine *engine;            /* that the response is for; NULL: nothing is to be applied */
    struct engine_response *response; /* belongs to the caller of designer_take */
    struct budget_use memory;         /* that the camera takes with it */
    struct device_choice device;      /* why the engine is on its device */
    struct engine_frames frames;      /* the frames that the engine is built for */
    uint64_t serial;                  /* serial of the response's chain */
    enum view_kind view;              /* view that the response is for */
    struct filter_adaptation adapts;  /* what its chain asks for, */
    struct warp_middle middle;        /* and what it does to the middle of frames */
    bool waits_for_fade;              /* if it is for another engine than the one in use */
};

struct handover {
    bool posted; /* `design` waits to be taken */
    struct design design;
    struct filter_chain chain; /* the chain that was designed */

    struct engine *borrowed; /* the newest engine that the camera's thread has; NULL: none */
    unsigned load_changes;   /* engine_loads_changes when it was last compared with others */
    /* The chain that was taken last, and its response's other properties. */
    struct filter_chain taken_chain;
    enum view_kind taken_view;
    uint64_t taken_serial; /* 0: none was taken */

    struct engine *closing[BUILDER_MAX_CLOSING]; /* returned, or never taken */
    unsigned closing_count;
};

/* Drops the chains; nothing may be posted and no engine be left. */
void handover_finish(struct handover *handover);

/* Posts a chain's design, and replaces one that was not taken. Discards a design for an engine that
 * has been returned. Returns whether a design waits to be taken. */
bool handover_post(struct handover *handover, struct design *design,
                   const struct filter_chain *chain);

/* Takes what was posted. is_fading: the engine in use fades, so a design may have to wait. */
bool handover_take(struct handover *handover, bool is_fading, struct design *ret);

/* Discards what waits to be applied; a failure still has to be reported. */
void handover_drop(struct handover *handover);

/* Returns whether the borrowed engine would share another load now (engine_has_better_load), if
 * anything has changed since the last call. loads: NULL: it shares none. The camera's thread only.
 */
bool handover_has_better_load(struct handover *handover, struct engine_loads *loads);

/* Takes an engine back. */
void handover_return(struct handover *handover, struct engine *engine);

/* Adds an engine to those that are to be closed. */
void handover_add_closing(struct handover *handover, struct engine *engine);

/* Moves the engines that are to be closed into ret; returns how many. */
unsigned handover_take_closing(struct handover *handover, struct engine *ret[BUILDER_MAX_CLOSING]);

/* Returns whether a design can begin with a fade from what was taken last. */
bool handover_can_fade(const struct handover *handover, const struct filter_chain *to,
                       enum view_kind to_view);

/* Returns the fade from what was taken last. Its chain holds its images, and the caller drops it.
 */
struct builder_fade handover_fade(const struct handover *handover, unsigned frames);

/* Returns whether the fade still begins with what was taken last. */
bool handover_is_current(const struct handover *handover, const struct builder_fade *fade);

#endif
