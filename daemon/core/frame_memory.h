/* Memory that a source writes frames into and a device reads them from in place.
 *
 * Neither side knows the other: the device's side (daemon/engine) implements this, the source's
 * (daemon/capture) uses it, and the camera, which owns it, brings the two together. Frames have
 * an index, which both use. There are two modes:
 *
 *     shared      the device's side makes the memory, and the source writes into it (USERPTR); a
 *                 device with memory of its own is sent each frame from there
 *     imported    the source's driver makes the memory, and the device imports it as a dma-buf
 *
 * Neither side may write while the other reads. A shared frame belongs to the source until it is
 * submitted, and again once it has been collected. An imported frame always belongs to the driver,
 * but its buffer is queued again only after the frame has been collected. A source that has stopped
 * calls frame_memory_clear; frames that the device still reads remain until it has finished.
 *
 * Threads: only the one that submits frames. */
#ifndef FFTD_CORE_FRAME_MEMORY_H
#define FFTD_CORE_FRAME_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "fftd/ring.h"

/* How a device gets a frame, the best mode last. MEMORY_AUTO requests the best one that works. */
enum memory_mode { MEMORY_COPIED, MEMORY_SHARED, MEMORY_IMPORTED, MEMORY_AUTO };

#define FRAME_MEMORY_MAX 32 /* frames */

struct frame_memory;

struct frame_memory_ops {
    int (*share)(struct frame_memory *memory, unsigned index, size_t bytes, struct error *why);
    int (*import)(struct frame_memory *memory, unsigned index, int fd, size_t bytes,
                  struct error *why);
    uint8_t *(*address)(const struct frame_memory *memory, unsigned index);
    void (*clear)(struct frame_memory *memory);
};

struct frame_memory {
    const struct frame_memory_ops *ops;
    struct fftd_format layout; /* the layout that the device requires */
    unsigned plane_count;      /* planes that the device reads, from the first on */
    bool can_import;           /* dma-bufs */
    unsigned held;             /* frames that the device keeps at once */
};

/* Names of the modes in the configuration and in messages: "mmap", "userptr", "dmabuf", "auto";
 * NULL. */
extern const char *const memory_mode_names[];

/* In words, of the modes that frames can be in: "shared with the source (USERPTR)". */
extern const char *const memory_mode_descriptions[];

/* Checks that the mode supports frames whose planes begin offset[] bytes after the memory does,
 * with rows stride[] bytes apart. -EOPNOTSUPP: it does not; the text has the reason. */
int frame_memory_check(const struct frame_memory *memory, enum memory_mode mode,
                       const size_t offset[], const uint32_t stride[], struct error *why);

/* The number of frames for a source that needs `wanted` for itself: those and the ones that the
 * device holds, at most FRAME_MEMORY_MAX. memory may be NULL: the device holds none. */
unsigned frame_memory_count(const struct frame_memory *memory, unsigned wanted);

/* Makes memory for a frame: `bytes` bytes at frame_memory_address, at the start of a page.
 * -EOPNOTSUPP: the device cannot. */
int frame_memory_share(struct frame_memory *memory, unsigned index, size_t bytes,
                       struct error *why);

/* Imports a dma-buf of `bytes` bytes as a frame; the caller keeps the descriptor and may close it.
 * -EOPNOTSUPP: the device cannot import it. */
int frame_memory_import(struct frame_memory *memory, unsigned index, int fd, size_t bytes,
                        struct error *why);

/* The address of a shared frame while it is the source's. It may change each time that the device
 * has used the frame. */
uint8_t *frame_memory_address(const struct frame_memory *memory, unsigned index);

/* Releases all frames. */
void frame_memory_clear(struct frame_memory *memory);

#endif
