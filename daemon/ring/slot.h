/* The writer's side of the shared memory: this file makes every store that readers depend on.
 *
 * The fields are plain integers, because the ring's layout is an ABI; they are accessed with the
 * compiler's atomic builtins. Readers are in other processes and only ever load. Which store must
 * be visible before which other, and to whom (the reader's half is client/libfftd/slot.h):
 *
 *   1. lock odd         before  any byte of the new frame     else a torn frame could look whole
 *      slot_open: release fence after the store; pairs with the reader's acquire fence between its
 *      last look at the frame and its second look at the lock: if it saw one new byte, it sees
 *      the odd lock (or a later one).
 *   2. the whole frame  before  lock even                     else half a frame would look whole
 *      slot_close: release store; pairs with the reader's acquire load of the lock. Bytes that
 *      other threads or the GPU wrote are covered too: the engine reported their completion to the
 *      writing thread, which orders them before this store.
 *   3. lock even        before  header.newest names the slot  else a reader would look too early
 *      slot_announce: release store; pairs with the acquire load of newest. This one only saves
 *      work: 1 and 2 protect the reader even if newest is wrong.
 *   4. newest, state    before  the futex word changes        else a reader could miss a wake-up
 *      slot_bump: release; a reader loads the word (acquire), then newest, and goes to sleep only
 *      if the kernel still finds the word it loaded. So it has seen the change or does not sleep.
 *   5. the futex word   before  the wake-up call              (waker.c; a system call after the
 *      store, in a thread that a semaphore woke)
 *
 * The frame itself is written by memcpy, OpenCL or DMA, not by atomic stores, while a slow reader
 * may be looking at it: in C's terms a data race, inherent in every seqlock whose payload is not
 * made of atomics. It is sound because the reader uses such bytes for nothing before it has
 * looked at the lock again, and because no compiler can see both sides: they are in different
 * processes, and ordered by the fences above. */
#ifndef FFTD_RING_SLOT_H
#define FFTD_RING_SLOT_H

#include <stddef.h>

#include "fftd/ring.h"

#define slot_store(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)
#define slot_load(field)         __atomic_load_n(&(field), __ATOMIC_RELAXED)

/* Measures are floats and integers of 32 bits each, which are stored as words. */
typedef uint32_t __attribute__((may_alias)) slot_word;
static inline void slot_store_words(void *first, const void *values, size_t bytes)
{
    const slot_word *from = values;
    slot_word *to = first;
    for (size_t i = 0; i < bytes / sizeof *to; i++)
        slot_store(to[i], from[i]);
}

/* GCC warns that ThreadSanitizer does not model fences. Here it does not have to: it watches the
 * fields above, which are all atomic. */
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
static inline void slot_fence_release(void)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
}
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/* Marks the slot as being written, so that readers reject it. `lock` is odd, and larger than the
 * last one. With sequence 0, a search by number skips the slot. */
static inline void slot_open(struct fftd_slot *slot, uint32_t lock)
{
    slot_store(slot->lock, lock);
    slot_fence_release();
    slot_store(slot->sequence, 0);
}

/* Ends what slot_open began. A reader that sees the even lock sees all that was stored since. */
static inline void slot_close(struct fftd_slot *slot, uint32_t lock)
{
    __atomic_store_n(&slot->lock, lock, __ATOMIC_RELEASE);
}

static inline void slot_announce(struct fftd_ring_header *header, uint64_t sequence, unsigned slot)
{
    __atomic_store_n(&header->newest, FFTD_NEWEST(sequence, slot), __ATOMIC_RELEASE);
}

static inline void slot_bump(struct fftd_ring_header *header)
{
    __atomic_fetch_add(&header->futex, 1, __ATOMIC_RELEASE);
}

#endif
