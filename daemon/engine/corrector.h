/* The correction of one frame in flight in device memory, as kernels/transform/correct.cl reads it.
 *
 * A slot of the engine owns a corrector and uses it in its own queue. The factors of the waves are
 * computed in double precision and stored as floats, so that a wave's error is below 1e-6 of its
 * amplitude. One thread at a time may use a corrector. */
#ifndef FFTD_ENGINE_CORRECTOR_H
#define FFTD_ENGINE_CORRECTOR_H

#include "filters/correction.h"
#include "core/error.h"
#include "transform/transform.h"

struct corrector;

/* The transform has tuning.recipe.corrections; it is read only by this call. The queue is in order
 * and must outlive the corrector. */
int corrector_create(struct corrector **ret, const struct transform *transform,
                     cl_command_queue queue, struct error *why);

/* The queue must be empty. NULL is allowed. */
void corrector_destroy(struct corrector *corrector);

/* Checks whether an engine built with or without corrections can apply a correction (NULL: none).
 * -EINVAL: it was built without, or there are too many waves. */
int corrector_check(const struct correction *correction, bool corrections, struct error *why);

/* Enqueues the upload of a correction, or of none (NULL), and returns the buffer that the kernels
 * enqueued next read. corrector_check has accepted it. The previous frame that used the
 * corrector must have ended. */
int corrector_set(struct corrector *corrector, const struct correction *correction, cl_mem *ret,
                  struct error *why);

#endif
