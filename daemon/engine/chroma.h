/* Chroma that has to become smaller with luma, and that no filter changes: the host makes it, or a
 * device with memory of its own, which is sent the whole frame (step_chroma). */
#ifndef FFTD_ENGINE_CHROMA_H
#define FFTD_ENGINE_CHROMA_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

struct engine;
struct resampler_size;
struct slot;

/* Returns whether an engine has such chroma, and its sizes. Chroma that keeps its size is copied by
 * the host (upload_copy_planes). */
bool chroma_resampled(const struct engine *engine, struct resampler_size *ret);

/* Chroma that the host makes smaller. Engines with options->loads whose chroma has the same size
 * share memory of chroma_bytes. It holds the chroma of the newest numbered frame: one engine makes
 * it, and the others copy it. An engine that is alone does not use this memory. chroma_share lets
 * an engine take part until chroma_leave; any thread; -ENOMEM.
 *
 * chroma_resample makes the chroma of a slot's job smaller. It writes into the result, or, where
 * chroma alternates with luma, into slot->chroma, and returns the number of bytes written.
 * chroma_put puts slot->chroma into the result once that has luma. */
uint64_t chroma_bytes(const struct resampler_size *size);
int chroma_share(struct engine *engine, const struct resampler_size *size, struct error *why);
void chroma_leave(struct engine *engine);
uint64_t chroma_resample(struct slot *slot);
void chroma_put(const struct slot *slot);

/* Returns whether the device makes that chroma smaller, and not the host (step_chroma): if it has
 * memory of its own and enough local memory, and chroma has planes of its own. The device is then
 * sent all planes. */
bool chroma_is_devices(const struct engine *engine);

#endif
