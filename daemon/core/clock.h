/* The one clock of the daemon and its clients: CLOCK_MONOTONIC in nanoseconds, as in the ring.
 * Beside it, what a thread has cost. */
#ifndef FFTD_CORE_CLOCK_H
#define FFTD_CORE_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

static inline int64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Microseconds, which libsystemd uses. */
static inline uint64_t clock_now_us(void)
{
    return (uint64_t)clock_now_ns() / 1000;
}

/* Time of a processor that the calling thread has taken. */
static inline int64_t clock_processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* The earlier of two times; INT64_MAX stands for never. */
static inline int64_t clock_earlier_ns(int64_t a_ns, int64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

static inline struct timespec clock_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

/* A condition variable whose timed waits are on this clock. */
static inline void clock_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

#endif
