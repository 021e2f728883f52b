/* Snapshot: answered with the next frame, by a callback of the camera that is called exactly once
 * and frees the record of the call. A peer may wait for one snapshot at a time.
 *
 * The frames are sent as two sealed memfds: no frame passes through a socket, and neither side can
 * change what the other sees. Until a peer has received an answer, the frames in it are the
 * daemon's memory and its descriptors count against the daemon's limit. The number of such answers
 * is therefore limited. */
#include "control/methods.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "control/value.h"

#define MAX_UNREAD_SNAPSHOTS 4 /* more than one, because signals may be unread as well */

void control_snapshot_fail(struct peer *peer, const char *name, const char *text)
{
    struct peer_call *call = peer->call[PEER_CALL_SNAPSHOT];
    char clean[VALUE_TEXT_BYTES];
    if (call == NULL)
        return;
    sd_bus_reply_method_errorf(call->message, name, "%s", value_clean_text(clean, text));
    peer_call_end(call);
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
        r = value_append_format(reply, format);
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
    struct peer_call *call = context;
    int r = result;

    if (call->message != NULL && r >= 0) {
        call->peer->unread_snapshots++;
        r = answer(call->message, format, before, after, sequence);
    }
    if (call->message != NULL && r < 0)
        sd_bus_reply_method_errorf(call->message, CONTROL_ERROR_FAILED,
                                   "cannot take a snapshot: %s", strerror(-r));
    peer_call_end(call);
    free(call);
}

int control_snapshot(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    struct camera *camera = peer->services->hooks.camera;
    struct camera_status status;

    if (sd_bus_can_send(peer->bus, SD_BUS_TYPE_UNIX_FD) <= 0)
        return sd_bus_error_set(error, SD_BUS_ERROR_NOT_SUPPORTED,
                                "this connection carries no descriptors: the client must negotiate "
                                "them in the handshake");
    camera_get_status(camera, &status);
    if (!camera_may_deliver(status.state))
        return sd_bus_error_setf(error, CONTROL_ERROR_NOT_ONLINE,
                                 "there are no frames: the camera is %s",
                                 camera_state_name(status.state));
    if (peer->call[PEER_CALL_SNAPSHOT] != NULL)
        return sd_bus_error_set(error, CONTROL_ERROR_BUSY,
                                "this client already waits for a snapshot: one at a time");
    if (peer_has_read_everything(peer))
        peer->unread_snapshots = 0;
    if (peer->unread_snapshots >= MAX_UNREAD_SNAPSHOTS)
        return sd_bus_error_setf(error, CONTROL_ERROR_BUSY,
                                 "this client has %u unread snapshots: it must read them first",
                                 peer->unread_snapshots);
    struct peer_call *waiting = calloc(1, sizeof *waiting);
    if (waiting == NULL)
        return -ENOMEM;
    int r = camera_snapshot(camera, done, waiting);
    if (r < 0) {
        free(waiting);
        return sd_bus_error_setf(error, CONTROL_ERROR_BUSY, "cannot take a snapshot now: %s",
                                 strerror(-r));
    }
    peer_call_begin(peer, PEER_CALL_SNAPSHOT, waiting, call);
    return 1; /* answered later */
}
