/* Memory that a source writes frames into and a device reads them from, where they are.
 *
 * Neither side knows the other: the device's side (daemon/gpu) implements this, the source's
 * (daemon/capture) uses it, and the camera, which owns it, brings the two together. Frames are
 * numbered, and one number means the same frame to both. It comes to be in one of two ways:
 *
 *     shared      the device makes the memory, and the source's driver writes into it (USERPTR)
 *     imported    the source's driver makes the memory, and the device takes it as a dma-buf
 *
 * Neither may write while the other reads. Between frame_memory_share and the frame's submission,
 * and again once it has been collected, a shared frame is the source's; an imported one is always
 * the driver's, which gets it back only after it has been collected. A source lets go of all frames
 * (clear) whenever it stops, once nothing writes them any more; frames that the device still works
 * on then live on until it is done with them.
 *
 * Threads: one at a time, that which submits frames. */
#ifndef FFTD_CORE_FRAME_MEMORY_H
#define FFTD_CORE_FRAME_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "fftd/ring.h"

/* The ways of a frame to a device, the best one last; and, to ask for, whichever is the best. */
enum frame_way { FRAME_COPIED, FRAME_SHARED, FRAME_IMPORTED, FRAME_ANY };

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
    struct fftd_format layout;  /* how frames must lie in it */
    unsigned plane_count;       /* so many planes, that is; the device reads no others */
    bool can_share, can_import; /* what the device is able to */
    unsigned held;              /* frames that the device keeps at once */
};

/* What configuration and messages call a way: "mmap", "userptr", "dmabuf", "auto"; NULL. */
extern const char *const frame_way_names[];

/* In words: "shared with the source (USERPTR)". */
const char *frame_way_words(enum frame_way way);

/* Whether frames can come in this way whose planes begin offset[] bytes after the memory does, with
 * rows stride[] bytes apart. -EOPNOTSUPP: no, for a reason that the text tells. */
int frame_memory_check(const struct frame_memory *memory, enum frame_way way, const size_t offset[],
                       const uint32_t stride[], struct error *why);

/* How many frames a source makes that wants so many for itself: as many more as the device keeps,
 * but no more than FRAME_MEMORY_MAX. memory may be NULL: it keeps none. */
unsigned frame_memory_count(const struct frame_memory *memory, unsigned wanted);

/* Makes memory for a frame: so many bytes at frame_memory_address, beginning on a page.
 * -EOPNOTSUPP: the device does not. */
int frame_memory_share(struct frame_memory *memory, unsigned index, size_t bytes,
                       struct error *why);

/* Takes a dma-buf of so many bytes for a frame; the descriptor stays the caller's, who may close
 * it. -EOPNOTSUPP: the device does not take it. */
int frame_memory_import(struct frame_memory *memory, unsigned index, int fd, size_t bytes,
                        struct error *why);

/* Where a shared frame is while it is the source's: after the device has had it, maybe elsewhere.
 */
uint8_t *frame_memory_address(const struct frame_memory *memory, unsigned index);

/* Lets go of all frames. */
void frame_memory_clear(struct frame_memory *memory);

#endif
