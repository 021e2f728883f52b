/* idle = "pause": the camera and the GPU sleep while nobody wants frames.
 *
 * Pausing waits a while after the last reader has gone: readers that come again at once, because
 * the ring is another one or their program was started anew, should not find a camera that takes
 * long to start. The same goes for the start of the daemon, whose first frames show that everything
 * works. */
#include "camera_private.h"

#include <sys/eventfd.h>

void camera_set_attended(struct camera *camera, bool attended)
{
    atomic_store(&camera->attended, attended);
    eventfd_write(camera->wake_fd, 1);
}

static bool is_wanted(struct camera *camera)
{
    if (camera->config.idle == CONFIG_IDLE_RUN || atomic_load(&camera->attended))
        return true;
    pthread_mutex_lock(&camera->lock);
    bool wanted = camera->waiting != NULL;
    pthread_mutex_unlock(&camera->lock);
    return wanted;
}

void camera_consider_rest(struct camera *camera, int64_t now_ns)
{
    if (is_wanted(camera)) {
        camera->resting = false;
        camera->rest_ns = INT64_MAX;
    } else if (now_ns >= camera->rest_ns) {
        camera->resting = true;
        camera->rest_ns = INT64_MAX;
    } else if (!camera->resting && camera->rest_ns == INT64_MAX) {
        camera->rest_ns = now_ns + CAMERA_GRACE_NS;
    }
}
