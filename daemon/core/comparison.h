/* The time of a frame on a device and on the host's own CPU device, and which one filters. Pure. */
#ifndef FFTD_CORE_COMPARISON_H
#define FFTD_CORE_COMPARISON_H

#include <stdbool.h>

#include "core/error.h"

#define COMPARISON_TEXT 256

/* Both times are from the submission of a frame to its result, copies included. */
struct comparison {
    double device_ms, cpu_ms;
    char device[COMPARISON_TEXT], cpu_device[COMPARISON_TEXT]; /* their names */
    bool is_automatic; /* the configuration leaves the choice between both to the times */
    bool uses_cpu;     /* frames are filtered on the CPU device */
    char problem[COMPARISON_TEXT]; /* why they are not, although it was chosen; empty: nothing */
};

/* Why an engine is on its device. */
struct device_choice {
    bool is_compared; /* the times of its frames are known */
    struct comparison comparison;
    struct error warning; /* about the cache with the times; empty: none */
};

/* Below this share of the other's time a device is clearly faster. A smaller difference may be
 * noise (docs/results/2026-11-26-steps.md), and does not pay for the load on the processor, nor for
 * moving the frames to another device. */
#define COMPARISON_CLEARLY_LESS 0.9

static inline bool comparison_favours_cpu(const struct comparison *comparison)
{
    return comparison->cpu_ms < COMPARISON_CLEARLY_LESS * comparison->device_ms;
}

/* Returns whether the CPU device is to filter the frames. Between both limits nothing changes, so
 * that times measured again do not move the frames to and fro. */
static inline bool comparison_chooses_cpu(const struct comparison *comparison, bool is_on_cpu)
{
    const bool favours_device =
        comparison->device_ms < COMPARISON_CLEARLY_LESS * comparison->cpu_ms;
    return comparison_favours_cpu(comparison) || (is_on_cpu && !favours_device);
}

#endif
