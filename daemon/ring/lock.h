/* The lock of the waker's list. The writer only ever tries it; the server and the waker's thread
 * wait for it.
 *
 * It is not a mutex of the C library because the writer takes it while the reader of a frame waits.
 * After a frame the processor's caches have nothing of that library any more, and its trylock and
 * unlock take 1.0 to 1.7 us longer than this (docs/results/2026-11-25-lone-reader.md). */
#ifndef FFTD_RING_LOCK_H
#define FFTD_RING_LOCK_H

#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum lock_state {
    LOCK_FREE,
    LOCK_TAKEN,
    LOCK_WANTED, /* taken, and somebody may be asleep until it is free */
};

/* Zeroes are a free lock. */
struct list_lock {
    uint32_t state; /* enum lock_state; atomic */
};

/* Takes the lock if it is free; no system call. */
static inline bool lock_try(struct list_lock *lock)
{
    uint32_t expected = LOCK_FREE;
    return __atomic_compare_exchange_n(&lock->state, &expected, LOCK_TAKEN, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

/* Waits until the lock is free, then takes it. */
static inline void lock_take(struct list_lock *lock)
{
    if (lock_try(lock))
        return;
    /* A thread that has slept cannot know whether others still sleep, so the lock remains
     * wanted. */
    while (__atomic_exchange_n(&lock->state, LOCK_WANTED, __ATOMIC_ACQUIRE) != LOCK_FREE)
        syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, LOCK_WANTED, NULL, NULL, 0);
}

/* Never blocks; one system call if the lock is wanted. */
static inline void lock_release(struct list_lock *lock)
{
    if (__atomic_exchange_n(&lock->state, LOCK_FREE, __ATOMIC_RELEASE) == LOCK_WANTED)
        syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

#endif
