/* The controls of a camera, as they were set last, and which of them the camera rejected. They are
 * set again whenever the camera is opened. Camera's thread only. */
#ifndef FFTD_CAMERA_SOURCE_CONTROLS_H
#define FFTD_CAMERA_SOURCE_CONTROLS_H

#include <stdint.h>

#include "capture/capture.h"
#include "core/error.h"
#include "core/settings.h"

/* The list of an open camera's controls, as read last. Reading it takes the camera's thread
 * milliseconds, and much longer with a slow driver, while clients may ask for it as often as they
 * like. Clients therefore share a reading: it is good for a second, or for a hundred times the time
 * that it took, if that is longer. Readings take at most 1 % of the thread's time. */
struct control_list {
    int64_t expires_ns; /* CLOCK_MONOTONIC; 0: nothing was read */
    int result; /* 0 or the -errno of the reading; a failure is kept, because failing is slow as
                   well */
    struct error why;
    struct capture_controls *controls; /* NULL if the reading failed */
};

struct source_controls {
    struct settings settings; /* set whenever the camera is opened */
    struct error problem;     /* which of them it rejected; empty if it took all */
    struct control_list list;
};

/* Sets controls one by one, so that one which this camera lacks does not cost the others;
 * `problem` says which were rejected. `settings` may be controls->settings. */
void source_controls_apply(struct source_controls *controls, struct capture *capture,
                           const struct settings *settings);

/* Adds settings to those that are set whenever the camera is opened. Those that differ are applied
 * now, unless capture is NULL. */
void source_controls_add(struct source_controls *controls, struct capture *capture,
                         const struct settings *settings);

/* Sets controls now, all or none, and whenever the camera is opened. Errors as
 * capture_set_controls. */
int source_controls_set(struct source_controls *controls, struct capture *capture,
                        const struct settings *settings, struct error *why);

/* Returns a copy of the list, which the caller frees. Errors as capture_list_controls; -ENOMEM. */
int source_controls_list(struct source_controls *controls, struct capture *capture,
                         struct capture_controls **ret, struct error *why);

/* Forgets the reading. Call it when the camera was closed; what sets controls does it, too. */
void source_controls_forget(struct source_controls *controls);

#endif
