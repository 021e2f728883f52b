/* A fade of one response into another: the frames that are submitted meanwhile are filtered with a
 * blend of both. Frame i of N is filtered with from + i/N (to - from), so the last one is filtered
 * with the new response itself.
 *
 * Each slot has a blended response of its own, because frames in flight overlap. The blend is a
 * dispatch in the queue of its frame. A frame without a fade has nothing of this.
 *
 * Threads: fade_create in the designing thread, everything else in the submitting one. */
#ifndef FFTD_ENGINE_FADE_H
#define FFTD_ENGINE_FADE_H

#include "engine/engine_private.h"

struct fade;

/* Prepares a fade of `frames` frames to a response, and compiles the kernel unless the device has
 * it. from: where the fade begins; NULL: at the response in use when it does. The fade keeps the
 * buffers of `from`, which stays the caller's. */
int fade_create(struct fade **ret, const struct engine *engine, const struct engine_response *to,
                unsigned frames, const struct engine_response *from, struct error *why);
void fade_destroy(struct fade *fade); /* NULL is allowed */

/* Begins at the response in use: that of the running fade, or, if there is none (NULL), `in_use`.
 */
void fade_begin(struct fade *fade, const struct fade *running,
                const struct component in_use[MAX_COMPONENTS]);

/* Counts a frame. Returns the fade, which blends its responses, or NULL if it has ended: then it is
 * destroyed. NULL is allowed. */
struct fade *fade_next(struct fade *fade);

#endif
