/* Snapshot and SnapshotAfter. A callback of the camera answers them with the next frame; it is
 * called exactly once and frees the record of the call. A peer may wait for one snapshot at a time.
 *
 * The frames are sent as sealed memfds (loan.h): no frame passes through a socket. Until a peer has
 * received an answer, the descriptors in it count against the daemon's limit, so it counts
 * as a peer until then (peer.c). */
#include "bus/methods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bus/loan.h"
#include "bus/value.h"

struct snapshot_call {
    struct peer_call call;
    struct loan *loan;
};

void snapshot_fail(struct peer *peer, const char *name, const char *text)
{
    struct peer_call *call = peer->call[PEER_CALL_SNAPSHOT];
    if (call == NULL)
        return;
    peer_call_fail(call, name, text);
    peer_call_end(call);
}

static int append_frame(sd_bus_message *reply, struct loan *loan, const char *name,
                        const uint8_t *frame, size_t size)
{
    int fd = loan_frame(loan, name, frame, size);
    if (fd < 0)
        return fd;
    int r = sd_bus_message_append(reply, "h", fd); /* sd-bus duplicates the descriptor */
    close(fd);
    return r;
}

/* before: NULL for SnapshotAfter. */
static int answer(struct snapshot_call *call, const struct fftd_format *format,
                  const uint8_t *before, const uint8_t *after, uint64_t sequence,
                  uint64_t filter_serial)
{
    sd_bus_message *reply = NULL;
    int r = sd_bus_message_new_method_return(call->call.message, &reply);
    if (r >= 0 && before != NULL)
        r = append_frame(reply, call->loan, "fftd-before", before, format->frame_bytes);
    if (r >= 0)
        r = append_frame(reply, call->loan, "fftd-after", after, format->frame_bytes);
    if (r >= 0)
        r = value_append_format(reply, format, 0, filter_serial);
    if (r >= 0)
        r = sd_bus_message_append(reply, "t", sequence);
    if (r >= 0)
        r = sd_bus_send(NULL, reply, NULL);
    sd_bus_message_unref(reply);
    return r;
}

static void done(void *context, int result, const struct fftd_format *format, const uint8_t *before,
                 const uint8_t *after, uint64_t sequence, uint64_t filter_serial)
{
    struct snapshot_call *call = context;
    int r = result;

    if (call->call.message != NULL && r >= 0) {
        call->call.peer->unread_snapshots++;
        r = answer(call, format, before, after, sequence, filter_serial);
    }
    if (call->call.message != NULL && r >= 0)
        loan_sent(call->loan);
    else
        loan_end(call->loan);
    if (call->call.message != NULL && r < 0)
        sd_bus_reply_method_errorf(call->call.message, BUS_ERROR_FAILED,
                                   "cannot take a snapshot: %s", strerror(-r));
    peer_call_end(&call->call);
    free(call);
}

static int check(const struct peer *peer, sd_bus_error *error)
{
    struct camera_status status;

    if (sd_bus_can_send(peer->bus, SD_BUS_TYPE_UNIX_FD) <= 0)
        return sd_bus_error_set(error, SD_BUS_ERROR_NOT_SUPPORTED,
                                "this connection carries no descriptors: the client must negotiate "
                                "them in the handshake");
    camera_get_status(peer->services->hooks.camera, &status);
    if (!camera_may_deliver(status.state) ||
        status.format.width == 0) /* the camera is not open yet */
        return sd_bus_error_setf(error, BUS_ERROR_NOT_ONLINE,
                                 "there are no frames: the camera is %s",
                                 camera_state_name(status.state));
    if (peer->call[PEER_CALL_SNAPSHOT] != NULL)
        return sd_bus_error_set(error, BUS_ERROR_BUSY,
                                "this client already waits for a snapshot: one at a time");
    return 0;
}

static int request(sd_bus_message *message, struct peer *peer, bool with_before,
                   sd_bus_error *error)
{
    struct error why;
    int r = check(peer, error);
    if (r < 0)
        return r;
    if (peer_has_read_everything(peer))
        peer->unread_snapshots = 0;
    struct snapshot_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return -ENOMEM;
    r = loan_begin(&call->loan, &peer->services->loans[peer->is_watcher], peer->uid, &why);
    if (r < 0) {
        free(call);
        return sd_bus_error_set(error, BUS_ERROR_BUSY, why.text);
    }
    r = camera_snapshot(peer->services->hooks.camera, with_before, done, call);
    if (r < 0) {
        loan_end(call->loan);
        free(call);
        return sd_bus_error_setf(error, BUS_ERROR_BUSY, "cannot take a snapshot now: %s",
                                 strerror(-r));
    }
    peer_call_begin(peer, PEER_CALL_SNAPSHOT, &call->call, message);
    return 1; /* answered later */
}

int method_snapshot(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    const struct config_output *output = &peer->services->hooks.config->output;

    if (peer->is_watcher && !output->watch_unfiltered)
        return sd_bus_error_setf(error, SD_BUS_ERROR_ACCESS_DENIED,
                                 "permission denied: this socket shows only filtered pictures "
                                 "(SnapshotAfter); to see the picture before the filter, use "
                                 "%s/control, or set output.watch_unfiltered = true",
                                 output->runtime_dir);
    return request(call, peer, true, error);
}

int method_snapshot_after(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    return request(call, userdata, false, error);
}
