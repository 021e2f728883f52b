/* Loads that engines of several outputs of a camera share: the upload of captured samples and their
 * transform along the first axis (transform_sketch_load). Each engine then has only the rest to do,
 * for its own result.
 *
 * A component whose samples are loaded as they are, and that is transformed as a whole by the fused
 * technique, joins a load that suits it, or begins one. Everything else has a load of its own
 * inside its transform. If several suit, it joins the one whose first output has the lowest
 * number, so that all follow the first output that transforms. A result of the captured size joins
 * only a load of the lengths that it would begin, so that its pixels do not depend on the others.
 *
 * A frame is loaded by the engine that submits it first; those to which the same frame is submitted
 * later use what it has loaded. No engine waits for another one's result: each only waits, on the
 * device, for the load. A result of the captured size of output 0, which is submitted last, is made
 * in place, where the spectrum is in the caches: it waits until the others have read that.
 *
 * Threads: engines are made in any thread; of all engines that share loads only one thread submits
 * frames with a number (engine_job.number). */
#ifndef FFTD_ENGINE_LOAD_H
#define FFTD_ENGINE_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "transform/transform.h"

struct component;
struct load;
struct load_slot;
struct slot;

/* A component's part in a load. */
struct load_use {
    struct load *load;           /* NULL: none */
    unsigned output;             /* engine_options.output */
    uint32_t band;               /* that its newest frame needed; 0: all */
    uint64_t newest;             /* its newest frame's number; 0: it has had none */
    uint32_t length_x, length_y; /* the load that it would begin */
    struct load_use *next;
};

#define LOAD_LATELY 8 /* frames; as many as hardly any output leaves out */

/* Returns whether its newest frame is one of the last LOAD_LATELY before `number`. Number 0
 * stands for the frames that warm up an engine: every result counts for them, so that all kernels
 * are used. A result that has frames less often loads its own if it needs a wider band. */
static inline bool load_use_has_frames(const struct load_use *use, uint64_t number)
{
    return number == 0 || (use->newest != 0 && number < use->newest + LOAD_LATELY);
}

/* Returns whether a component would use a load, by its recipe, with this transform of its own. */
bool load_is_shared(const struct component *component, const struct transform *own);

/* Lets a component use a load, in place of a transform of its own, and plans its result. On failure
 * the component uses none. */
int load_join(struct transform **ret, struct component *component, const struct transform *own,
              struct error *why);

/* Ends the use, after the result was destroyed. NULL load is allowed. */
void load_leave(struct load_use *use);

/* Returns whether another load would be joined now. */
bool load_has_better(const struct component *component);

/* The wider one of two bands. */
static inline uint32_t load_wider(uint32_t a, uint32_t b)
{
    return a == 0 || b == 0 ? 0 : a > b ? a : b;
}

/* As transform_build; waits for another engine that does it. */
int load_build(struct load *load, bool compile, const char *cache_dir, struct error *warning,
               struct error *why);

/* The number of a load among those of a camera, from 1 on; and its transform. */
unsigned load_number(const struct load *load);
const struct transform *load_transform(const struct load *load);

/* Plans the load that a component would begin, and its result, which the caller destroys, the
 * result first. -errno: it would share none. */
int load_sketch(struct transform **ret, struct transform **ret_result,
                const struct component *component, const struct transform *own);

/* Loads the frame of a slot for a component whose result has this band, unless that has been done.
 * The commands that follow in the slot's queue read the image and the spectrum of the buffers until
 * load_give_back. may_write: the result may be made in place. */
int load_take(struct load_slot **ret, struct load_use *use, struct slot *slot, uint32_t band,
              bool may_write, struct transform_buffers *buffers, struct error *why);

/* The band with which frame `number` is loaded: the widest that the newest frames of all results
 * needed, except those that have had no frame lately (load_use_has_frames), as of an output that
 * nobody reads. With the lock held, or in the thread that submits. */
uint32_t load_band(const struct load *load, uint64_t number);

/* How many pairs are transformed along both axes when frame `number` is loaded: those that the
 * newest frames of at least three such results needed. With the lock held, or in the thread that
 * submits. */
uint32_t load_shared_pairs(const struct load *load, uint64_t number);

/* After this event no dispatch of a result reads the spectrum. */
void load_note_read(struct load_slot *slot, cl_event event);

/* The frame's result is finished. NULL is allowed. */
void load_give_back(struct load_slot *slot);

#endif
