/* One camera: its frames, for all browsers that show it.
 *
 * A thread of its own reads the ring, but only while somebody waits for a picture and for
 * CAMERA_LINGER_NS after that. It encodes each frame at most once, and only if somebody waits for
 * it. A slow browser gets fewer frames, and does not slow the others down. The functions below may
 * be called from any thread. */
#ifndef FFTD_VIEW_CAMERA_H
#define FFTD_VIEW_CAMERA_H

#include "image.h"
#include "http/waiter.h"

#define CAMERA_MAX_COUNT 16 /* per server */
#define CAMERA_LINGER_NS (2 * NS_PER_S)

struct camera;

struct camera_options {
    const char *place; /* the daemon's name; or the directory of its sockets, with a / */
    unsigned fps;      /* the most pictures per second; at least 1 */
    int quality;       /* JPEG quality: 1 .. 100 */
};

/* Starts the thread. The options' texts must stay valid. The daemon need not run. 0 or -errno. */
int camera_create(struct camera **ret, const struct camera_options *options);

/* Resumes all waiters. From then on camera_take returns -ECANCELED. */
void camera_stop(struct camera *camera);

/* Frees the camera, after camera_stop, when no connection uses it any more. NULL is allowed. */
void camera_destroy(struct camera *camera);

const char *camera_place(const struct camera *camera);

/* Returns the name of the camera of a place: that of its directory. */
const char *camera_name_of(const char *place);

/* Returns the newest picture or spectrum (waiter->kind) that shows another frame than `after`. The
 * caller unrefs *ret. If there is none, adds the waiter, suspends its connection and returns
 * -EAGAIN; the caller tries again when the connection is resumed.
 *   -ETIMEDOUT  there was none for WAITER_PATIENCE_NS
 *   -ECANCELED  the program ends */
int camera_take(struct camera *camera, struct waiter *waiter, uint64_t after, struct image **ret);

#endif
