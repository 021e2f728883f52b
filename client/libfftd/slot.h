/* The reader's side of the shared memory: every load that order matters to is made here. The
 * writer's half, and the list of what must be visible before what, is daemon/ring/slot.h.
 *
 * A reader trusts the daemon to be careful, not to be sane: nothing loaded from the ring is used
 * as an offset or an index before it has been compared with the copy of the geometry that map.c
 * checked once. What these functions return may be stale or wrong, never dangerous. */
#ifndef LIBFFTD_SLOT_H
#define LIBFFTD_SLOT_H

#include <stdbool.h>

#include <fftd/ring.h>

#define slot_load(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

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

/* Acquire: whoever sees this frame named sees its slot closed. */
static inline uint64_t ring_load_newest(const struct fftd_ring_header *header)
{
    return __atomic_load_n(&header->newest, __ATOMIC_ACQUIRE);
}

/* Begins looking at a slot; false while it is being written. Acquire: what is read after this is
 * at least as new as the frame the lock belongs to. */
static inline bool slot_enter(const struct fftd_slot *slot, uint32_t *ret_lock)
{
    uint32_t lock = __atomic_load_n(&slot->lock, __ATOMIC_ACQUIRE);
    if (lock & 1u)
        return false;
    *ret_lock = lock;
    return true;
}

/* Whether everything read since slot_enter belongs to one frame. The fence keeps those reads
 * before the second look at the lock: had one of them seen a newer byte, this load would see the
 * lock that was made odd before that byte was written. */
static inline bool slot_intact(const struct fftd_slot *slot, uint32_t lock)
{
    slot_fence_acquire();
    return slot_load(slot->lock) == lock;
}

#endif
