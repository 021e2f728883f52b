/* Moves the picture of each frame by a distance of its own: the frame is filtered with the response
 * times the phase ramp exp(-2 pi i (fx x + fy y)) (kernels/ramp.cl).
 *
 * The product is a dispatch of its own in the queue of the frame, into a buffer of its slot,
 * because frames in flight overlap. A frame that is not moved has nothing of this.
 *
 * Threads: ramp_create in the thread that builds the engine, everything else in the submitting
 * one. */
#ifndef FFTD_ENGINE_RAMP_H
#define FFTD_ENGINE_RAMP_H

#include "engine/engine_private.h"

struct ramp;

/* For an engine whose components are built, with complex responses. */
int ramp_create(struct ramp **ret, const struct engine *engine, struct error *why);

/* The queues must be empty. NULL is allowed. */
void ramp_destroy(struct ramp *ramp);

/* Enqueues the product for one component of the frame in a slot, which moves it by shift[0] pixels
 * of luma to the right and shift[1] down. The previous frame of the slot must have ended. *response
 * is replaced by the product. first: NULL, or receives the event of the dispatch; the caller
 * releases it. */
int ramp_enqueue(struct ramp *ramp, struct slot *slot, unsigned component, const double shift[2],
                 cl_mem *response, cl_event *first, struct error *why);

#endif
