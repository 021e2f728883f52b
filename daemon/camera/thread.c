#include "camera/thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>

#include "camera/reconcile.h"
#include "core/clock.h"

/* The events that have woken the thread. */
struct work {
    bool woken, engine, source, room;
    bool source_polled; /* otherwise the source's silence means nothing */
};

/* An engine and a room for each output follow. */
enum { POLL_WAKE, POLL_SOURCE, POLL_ENGINES, POLL_ROOMS = POLL_ENGINES + CONFIG_MAX_OUTPUTS };
#define POLL_COUNT (POLL_ROOMS + CONFIG_MAX_OUTPUTS)

static void wait_for_work(struct reconciler *reconciler, struct work *ret)
{
    struct frame_path *path = &reconciler->path;
    bool polled = path->recovery.phase != SOURCE_STREAMING || frame_path_wants_frame(path);
    struct pollfd fds[POLL_COUNT] = {
        [POLL_WAKE] = {.fd = reconciler->mailbox->wake_fd, .events = POLLIN},
        [POLL_SOURCE] = {.fd = polled ? recovery_fd(&path->recovery) : -1,
                         .events = POLLIN | POLLPRI},
    };
    for (unsigned i = POLL_ENGINES; i < POLL_COUNT; i++)
        fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
    FOR_EACH_CONST_OUTPUT (path, output) {
        const unsigned number = output_number(output);
        if (output->flights > 0)
            fds[POLL_ENGINES + number].fd = engine_fd(output->engine);
        fds[POLL_ROOMS + number].fd = frame_path_room_fd(path, output);
    }
    int64_t until_ns =
        clock_earlier_ns(reconcile_deadline_ns(reconciler), frame_path_deadline_ns(path));
    if (polled)
        until_ns = clock_earlier_ns(until_ns, recovery_deadline_ns(&path->recovery));

    int64_t left_ns = until_ns - clock_now_ns();
    struct timespec timeout = clock_timespec(left_ns > 0 ? left_ns : 0);
    int count = ppoll(fds, POLL_COUNT, &timeout, NULL);
    *ret = (struct work){
        .woken = count > 0 && fds[POLL_WAKE].revents != 0,
        .source = count > 0 && fds[POLL_SOURCE].revents != 0,
        .source_polled = polled,
    };
    for (unsigned i = 0; count > 0 && i < CONFIG_MAX_OUTPUTS; i++) {
        ret->engine |= fds[POLL_ENGINES + i].revents != 0;
        ret->room |= fds[POLL_ROOMS + i].revents != 0;
    }
}

/* Moves frames. Slow work is left to reconcile, which runs afterwards: the source is not polled
 * during that work, so it is polled again before it can count as stalled. */
static void do_work(struct reconciler *reconciler, const struct work *work)
{
    struct frame_path *path = &reconciler->path;
    if (work->woken) {
        eventfd_t count;
        eventfd_read(reconciler->mailbox->wake_fd, &count);
        reconcile_receive(reconciler);
    }
    if (work->room)
        frame_path_take_room(path);
    if (work->engine)
        frame_path_collect(path);
    if (path->recovery.phase == SOURCE_STREAMING && work->source)
        frame_path_take(path);
    else if (work->source_polled)
        recovery_step(&path->recovery, work->source);
    frame_path_check_deadlines(path, clock_now_ns());
}

static void announce_end(struct mailbox *mailbox)
{
    pthread_mutex_lock(&mailbox->lock);
    mailbox->ended = true;
    pthread_cond_signal(&mailbox->ended_cond);
    pthread_mutex_unlock(&mailbox->lock);
}

void *camera_thread(void *argument)
{
    struct reconciler *reconciler = argument;

    for (reconcile(reconciler); !reconciler->desired.stop; reconcile(reconciler)) {
        struct work work;
        wait_for_work(reconciler, &work);
        do_work(reconciler, &work);
    }
    frame_path_finish(&reconciler->path);
    FOR_EACH_OUTPUT (&reconciler->path, output)
        output_cancel_snapshots(output, reconciler->mailbox, -ECANCELED);
    request_fail(reconciler->requests, -ECANCELED, "fftd is stopping");
    mailbox_answer(reconciler->mailbox, reconciler->requests);
    announce_end(reconciler->mailbox);
    return NULL;
}
