/* A camera as the main thread sees it; camera.c and camera_filter.c share it. */
#ifndef FFTD_CAMERA_CAMERA_PRIVATE_H
#define FFTD_CAMERA_CAMERA_PRIVATE_H

#include <pthread.h>

#include "camera/camera.h"
#include "camera/mailbox.h"
#include "camera/reconcile.h"
#include "designer/shares.h"
#include "observer/observer.h"

struct camera {
    struct config config; /* as at the start, but for the outputs */
    uint64_t
        settled_source; /* number of the newest desired source whose result this thread knows */
    uint64_t newest_serial[CONFIG_MAX_OUTPUTS]; /* given to a change of the filter or the view */
    unsigned events[CONFIG_MAX_OUTPUTS];        /* posted here, for the next camera_take_events */
    struct mailbox mailbox;
    struct reconciler_output output[CONFIG_MAX_OUTPUTS]; /* designer NULL: the place is free */
    uint64_t begun;                                      /* outputs so far */
    struct observer *observer;
    struct designer_shares shares; /* what the outputs' designers share */
    struct reconciler reconciler;  /* belongs to the camera's thread while that runs */
    pthread_t thread;
    bool joined;
};

/* Returns whether the result of the newest change of the source is known. */
static inline bool camera_is_source_settled(const struct camera *camera)
{
    return camera->mailbox.desired.source.number == camera->settled_source;
}

/* Returns whether this is the number of an output that was not removed. */
static inline bool camera_has_output(const struct camera *camera, unsigned output)
{
    return camera->mailbox.desired.output[output].exists; /* this thread's own */
}

/* Sets the frames of an output, and returns whether they are known: the camera was open, and no
 * other source is being tried. */
bool camera_get_frames(struct camera *camera, unsigned output, struct engine_frames *ret);

/* Frees the places of outputs that have ended. */
void camera_free_places(struct camera *camera);

#endif
