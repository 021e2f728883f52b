/* The clock of the ring: CLOCK_MONOTONIC, in nanoseconds. */
#ifndef FFTD_COMMON_MONOTONIC_H
#define FFTD_COMMON_MONOTONIC_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)

static inline int64_t monotonic_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Microseconds, which sd-bus uses. */
static inline uint64_t monotonic_now_us(void)
{
    return (uint64_t)monotonic_now_ns() / 1000;
}

static inline struct timespec monotonic_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

#endif
