/* Snapshot and SnapshotAfter. A callback of the camera gets the next frame; it is called exactly
 * once. A worker copies the frame, and then the call is answered and its record freed. A peer may
 * wait for one snapshot at a time.
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
    struct job job; /* the copy */
    struct peer_call call;
    struct loan *loan;
    struct fftd_format format;
    struct snapshot_origin origin;
    const uint8_t *before; /* in the memory of `after`; NULL: not asked for */
    uint8_t *after;
    int result;          /* 0, or -errno */
    int fd[LOAN_FRAMES]; /* to send: before, after; -1: none */
};

void snapshot_fail(struct peer *peer, unsigned output, const char *name, const char *text)
{
    struct peer_call *call = peer->call[PEER_CALL_SNAPSHOT];
    if (call == NULL || peer_output_of(peer, call->message) != output)
        return;
    peer_call_fail(call, name, text);
    peer_call_end(call);
}

static int append_frame(sd_bus_message *reply, int fd)
{
    return fd >= 0 ? sd_bus_message_append(reply, "h", fd) : 0; /* sd-bus duplicates it */
}

static int answer(const struct snapshot_call *call)
{
    sd_bus_message *reply = NULL;
    int r = sd_bus_message_new_method_return(call->call.message, &reply);
    if (r >= 0)
        r = append_frame(reply, call->fd[0]);
    if (r >= 0)
        r = append_frame(reply, call->fd[1]);
    value_append_format(reply, &call->format, NULL, &call->origin);
    sd_bus_message_append(reply, "t", call->origin.sequence);
    if (r >= 0)
        return value_send(reply);
    sd_bus_message_unref(reply);
    return r;
}

static const char *reason_of(int result)
{
    return result == -EAGAIN  ? "the camera's format has changed: try again"
           : result == -EBUSY ? "the source waits for its readers"
                              : strerror(-result);
}

/* Answers the call unless its peer has left, and ends it. */
static void end(struct snapshot_call *call)
{
    int r = call->result;
    if (call->call.message != NULL && r >= 0) {
        call->call.peer->unread_snapshots++;
        r = answer(call);
    }
    if (call->call.message != NULL && r >= 0)
        loan_sent(call->loan);
    else
        loan_end(call->loan);
    if (call->call.message != NULL && r < 0)
        sd_bus_reply_method_errorf(call->call.message, BUS_ERROR_FAILED,
                                   "cannot take a snapshot: %s", reason_of(r));
    for (unsigned i = 0; i < LOAN_FRAMES; i++)
        if (call->fd[i] >= 0)
            close(call->fd[i]);
    free(call->after);
    peer_call_end(&call->call);
    free(call);
}

static void copy(struct job *job)
{
    struct snapshot_call *call = (struct snapshot_call *)job; /* job is its first member */
    const size_t size = call->format.frame_bytes;
    int r = 0;
    if (call->before != NULL)
        r = call->fd[0] = loan_frame(call->loan, "fftd-before", call->before, size);
    if (r >= 0)
        r = call->fd[1] = loan_frame(call->loan, "fftd-after", call->after, size);
    call->result = r < 0 ? r : 0;
    free(call->after);
    call->after = NULL;
}

static void copied(struct job *job, bool is_cancelled)
{
    struct snapshot_call *call = (struct snapshot_call *)job;
    if (is_cancelled)
        call->result = -ECANCELED;
    end(call);
}

static void done(void *context, int result, const struct fftd_format *format, const uint8_t *before,
                 uint8_t *after, const struct snapshot_origin *origin)
{
    struct snapshot_call *call = context;
    const struct peer *peer = call->call.peer;
    call->result = result;
    call->format = *format;
    call->origin = *origin;
    call->before = before;
    call->after = after;
    if (peer == NULL || result < 0) {
        end(call);
        return;
    }
    call->job = (struct job){.uid = peer->uid, .run = copy, .done = copied};
    worker_add(peer->services->worker[WORKER_FRAMES], &call->job);
}

/* Both frames of a snapshot have one format, so smaller frames have none from before the filter. */
static int check(const struct peer *peer, unsigned output, bool with_before, sd_bus_error *error)
{
    struct camera_status status;

    if (sd_bus_can_send(peer->bus, SD_BUS_TYPE_UNIX_FD) <= 0)
        return sd_bus_error_set(error, SD_BUS_ERROR_NOT_SUPPORTED,
                                "this connection carries no descriptors: the client must negotiate "
                                "them in the handshake");
    camera_get_status(peer->services->hooks.camera, output, &status);
    if (!camera_may_deliver(status.state) ||
        status.format.width == 0) /* the camera is not open yet */
        return sd_bus_error_setf(error, BUS_ERROR_NOT_ONLINE,
                                 "there are no frames: the camera is %s",
                                 camera_state_names[status.state]);
    if (with_before && status.captured.fourcc != 0 &&
        (status.format.width != status.captured.width ||
         status.format.height != status.captured.height))
        return sd_bus_error_setf(error, SD_BUS_ERROR_NOT_SUPPORTED,
                                 "frames of %ux%u become %ux%u, and a snapshot shows both sides of "
                                 "the filter in one size: expected SnapshotAfter, or output.size = "
                                 "auto",
                                 status.captured.width, status.captured.height, status.format.width,
                                 status.format.height);
    if (peer->call[PEER_CALL_SNAPSHOT] != NULL)
        return sd_bus_error_set(error, BUS_ERROR_BUSY,
                                "this client already waits for a snapshot: one at a time");
    return 0;
}

static int request(sd_bus_message *message, struct peer *peer, bool with_before,
                   sd_bus_error *error)
{
    struct error why;
    const unsigned output = peer_output_of(peer, message);
    int r = check(peer, output, with_before, error);
    if (r < 0)
        return r;
    if (peer_has_read_everything(peer))
        peer->unread_snapshots = 0;
    struct snapshot_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return -ENOMEM;
    call->fd[0] = call->fd[1] = -1;
    r = loan_begin(&call->loan, &peer->services->loans[peer->is_watcher], peer->uid, &why);
    if (r < 0) {
        free(call);
        return sd_bus_error_set(error, BUS_ERROR_BUSY, why.text);
    }
    r = camera_snapshot(peer->services->hooks.camera, output, with_before, done, call);
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
