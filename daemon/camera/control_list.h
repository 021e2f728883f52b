/* The list of an open camera's controls. Reading it takes the camera's thread milliseconds, and
 * much longer with a slow driver, while clients may ask for it as often as they like. Clients
 * therefore share a reading: it is good for a second, or for a hundred times the time that it took,
 * if that is longer. Readings take at most 1 % of the thread's time.
 *
 * Camera's thread only. All zero: nothing was read. */
#ifndef FFTD_CAMERA_CONTROL_LIST_H
#define FFTD_CAMERA_CONTROL_LIST_H

#include <stdint.h>

#include "capture/capture.h"
#include "core/error.h"

struct control_list {
    int64_t expires_ns; /* CLOCK_MONOTONIC; 0: nothing was read */
    int result; /* 0 or the -errno of the reading; a failure is kept, because failing is slow as
                   well */
    struct error why;
    struct capture_controls *controls; /* NULL if the reading failed */
};

/* Returns a copy of the list, which the caller frees. Errors as capture_list_controls; -ENOMEM. */
int control_list_get(struct control_list *list, struct capture *capture,
                     struct capture_controls **ret, struct error *why);

/* Forgets the reading. Call it when the controls may have changed: they were set, or the camera was
 * closed. */
void control_list_forget(struct control_list *list);

#endif
