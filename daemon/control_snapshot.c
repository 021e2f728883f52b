/* Snapshot: the one call that is answered later, when the next frame is there. The call is kept in
 * a struct that belongs to the camera's callback, which comes exactly once, whatever becomes of the
 * caller meanwhile; so the caller is only pointed at, and cut off when it goes or is answered
 * earlier. One snapshot a peer at a time.
 *
 * The frames go out as two sealed memfds: nothing of the size of a frame passes through a socket,
 * and neither side can change what the other sees. Until a peer has read an answer, its frames are
 * our memory, and its descriptors count against us: there may be few such answers. */
#include "control_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/socket.h"

#define MAX_UNREAD_SNAPSHOTS 4 /* more than one, because signals may lie unread as well */

struct snapshot {
    struct peer *peer;    /* NULL: nobody waits any more */
    sd_bus_message *call; /* NULL with it */
};

static void cut_off(struct snapshot *snapshot)
{
    if (snapshot->peer != NULL)
        snapshot->peer->waiting = NULL;
    snapshot->peer = NULL;
    snapshot->call = sd_bus_message_unref(snapshot->call);
}

void control_snapshot_forget(struct peer *peer)
{
    if (peer->waiting != NULL)
        cut_off(peer->waiting);
}

void control_snapshot_fail(struct peer *peer, const char *name, const char *text)
{
    char clean[CONTROL_TEXT_BYTES];
    if (peer->waiting == NULL)
        return;
    sd_bus_reply_method_errorf(peer->waiting->call, name, "%s", control_text(clean, text));
    cut_off(peer->waiting);
}

static int frame_to_memfd(const char *name, const uint8_t *frame, size_t size)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, frame + done, size - done);
        if (n < 0) {
            int r = -errno;
            close(fd);
            return r;
        }
        done += (size_t)n;
    }
    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    return fd;
}

static int append_frame(sd_bus_message *reply, const char *name, const uint8_t *frame, size_t size)
{
    int fd = frame_to_memfd(name, frame, size);
    if (fd < 0)
        return fd;
    int r = sd_bus_message_append(reply, "h", fd); /* duplicates it */
    close(fd);
    return r;
}

static int answer(sd_bus_message *call, const struct fftd_format *format, const uint8_t *before,
                  const uint8_t *after, uint64_t sequence)
{
    sd_bus_message *reply = NULL;
    int r = sd_bus_message_new_method_return(call, &reply);
    if (r >= 0)
        r = append_frame(reply, "fftd-before", before, format->frame_bytes);
    if (r >= 0)
        r = append_frame(reply, "fftd-after", after, format->frame_bytes);
    if (r >= 0)
        r = control_append_format(reply, format);
    if (r >= 0)
        r = sd_bus_message_append(reply, "t", sequence);
    if (r >= 0)
        r = sd_bus_send(NULL, reply, NULL);
    sd_bus_message_unref(reply);
    return r;
}

static void done(void *context, int result, const struct fftd_format *format, const uint8_t *before,
                 const uint8_t *after, uint64_t sequence)
{
    struct snapshot *snapshot = context;
    int r = result;

    if (snapshot->call != NULL && r >= 0) {
        snapshot->peer->unread_snapshots++;
        r = answer(snapshot->call, format, before, after, sequence);
    }
    if (snapshot->call != NULL && r < 0)
        sd_bus_reply_method_errorf(snapshot->call, CONTROL_ERROR_FAILED,
                                   "no snapshot could be made: %s", strerror(-r));
    cut_off(snapshot);
    free(snapshot);
}

static bool has_read_everything(const struct peer *peer)
{
    uint64_t queued = 0;
    return sd_bus_get_n_queued_write(peer->bus, &queued) >= 0 && queued == 0 &&
           !socket_is_unread(peer->socket_fd);
}

int control_snapshot(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    struct camera *camera = peer->control->hooks.camera;
    struct camera_status status;

    if (sd_bus_can_send(peer->bus, SD_BUS_TYPE_UNIX_FD) <= 0)
        return sd_bus_error_set(error, SD_BUS_ERROR_NOT_SUPPORTED,
                                "this connection passes no descriptors: a client must ask for that "
                                "in the handshake");
    camera_get_status(camera, &status);
    if (!camera_may_deliver(status.state))
        return sd_bus_error_setf(error, CONTROL_ERROR_NOT_ONLINE,
                                 "no frame comes: the camera is %s",
                                 camera_state_name(status.state));
    if (peer->waiting != NULL)
        return sd_bus_error_set(error, CONTROL_ERROR_BUSY,
                                "one snapshot at a time: this client already waits for one");
    if (peer->socket_fd < 0)
        peer->socket_fd = fcntl(sd_bus_get_fd(peer->bus), F_DUPFD_CLOEXEC, 0);
    if (peer->socket_fd < 0)
        return -errno;
    if (has_read_everything(peer))
        peer->unread_snapshots = 0;
    if (peer->unread_snapshots >= MAX_UNREAD_SNAPSHOTS)
        return sd_bus_error_setf(error, CONTROL_ERROR_BUSY,
                                 "%u snapshots are answered already: this client has to read them "
                                 "first",
                                 peer->unread_snapshots);
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);
    if (snapshot == NULL)
        return -ENOMEM;
    int r = camera_snapshot(camera, done, snapshot);
    if (r < 0) {
        free(snapshot);
        return sd_bus_error_setf(error, CONTROL_ERROR_BUSY, "no snapshot can be taken now: %s",
                                 strerror(-r));
    }
    snapshot->peer = peer;
    snapshot->call = sd_bus_message_ref(call);
    peer->waiting = snapshot;
    return 1; /* answered later */
}
