/* The time of a frame on the device in use and on the host's own CPU device. Pure. */
#ifndef FFTD_CORE_COMPARISON_H
#define FFTD_CORE_COMPARISON_H

#include <stdbool.h>

#define COMPARISON_TEXT 256

/* Both times are from the submission of a frame to its result, copies included. */
struct comparison {
    double device_ms, cpu_ms;
    char cpu_device[COMPARISON_TEXT]; /* the name of the CPU device */
};

/* Below this share of the device's time the CPU device is faster. A smaller difference may be
 * noise, and does not pay for the load on the processor. */
#define COMPARISON_CLEARLY_LESS 0.9

static inline bool comparison_favours_cpu(const struct comparison *comparison)
{
    return comparison->cpu_ms < COMPARISON_CLEARLY_LESS * comparison->device_ms;
}

#endif
