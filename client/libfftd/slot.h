/* The reader's half of the shared memory: all loads whose order matters. daemon/ring/slot.h has
 * the writer's half, and says which store must be visible before which load.
 *
 * The reader does not trust the ring's contents. No value from the ring is used as an offset or
 * index before it is compared with the geometry that map.c has checked. A returned value may be
 * stale or wrong, but it is safe to use. */
#ifndef LIBFFTD_SLOT_H
#define LIBFFTD_SLOT_H

#include <stdbool.h>
#include <stddef.h>

#include <fftd/ring.h>

#define slot_load(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

/* Measures are floats and integers of 32 bits each, which are loaded as words. */
typedef uint32_t __attribute__((may_alias)) slot_word;
static inline void slot_load_words(void *ret, const void *first, size_t bytes)
{
    const slot_word *from = first;
    slot_word *to = ret;
    for (size_t i = 0; i < bytes / sizeof *to; i++)
        to[i] = slot_load(from[i]);
}

#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan" /* see daemon/ring/slot.h */
#endif
static inline void slot_fence_acquire(void)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/* Acquire: a reader that sees this frame announced also sees its slot complete. */
static inline uint64_t ring_load_newest(const struct fftd_ring_header *header)
{
    return __atomic_load_n(&header->newest, __ATOMIC_ACQUIRE);
}

/* Begins to read a slot; false while it is being written. Acquire: later loads are at least as new
 * as the frame that the lock belongs to. */
static inline bool slot_enter(const struct fftd_slot *slot, uint32_t *ret_lock)
{
    uint32_t lock = __atomic_load_n(&slot->lock, __ATOMIC_ACQUIRE);
    if (lock & 1u)
        return false;
    *ret_lock = lock;
    return true;
}

/* Returns whether everything read since slot_enter belongs to one frame. The fence orders those
 * loads before this one. The writer makes the lock odd before it writes a byte, so if one of those
 * loads saw a newer byte, this one sees the newer lock. */
static inline bool slot_intact(const struct fftd_slot *slot, uint32_t lock)
{
    slot_fence_acquire();
    return slot_load(slot->lock) == lock;
}

#endif
