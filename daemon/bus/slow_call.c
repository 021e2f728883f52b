#include "bus/slow_call.h"

#include <errno.h>
#include <stdlib.h>

#include "config/image.h"

/* An output may be removed before the call is carried out, and while it is. */
static bool lacks_output(struct slow_call *call)
{
    if (peer_has_output_of(call->peer, call->message))
        return false;
    sd_bus_error_set(&call->error, BUS_ERROR_NO_SUCH_OUTPUT, "the output was removed");
    return true;
}

static bool prepare(struct job *job)
{
    struct slow_call *call = (struct slow_call *)job; /* job is its first member */
    return !lacks_output(call) &&
           (call->ops->prepare == NULL || call->ops->prepare(call, &call->error) >= 0);
}

static void run(struct job *job)
{
    struct slow_call *call = (struct slow_call *)job;
    config_cancel_images(&job->cancelled);
    call->result = call->ops->run(call, &call->why);
    config_cancel_images(NULL);
    config_trim_images();
}

static void destroy(struct slow_call *call)
{
    if (call->ops->finish != NULL)
        call->ops->finish(call);
    sd_bus_error_free(&call->error);
    sd_bus_message_unref(call->message);
    free(call);
}

static void done(struct job *job, bool is_cancelled)
{
    struct slow_call *call = (struct slow_call *)job;
    if (!is_cancelled) {
        const bool has_failed = sd_bus_error_is_set(&call->error) || lacks_output(call);
        const int r = has_failed ? -1 : call->ops->answer(call, &call->error);
        if (r == SLOW_CALL_REPEAT) {
            job_repeat(job);
            return;
        }
        if (r < 0)
            sd_bus_reply_method_errno(call->message, r, &call->error);
        peer_resume(call->peer);
    }
    peer_call_end(&call->waiting);
    destroy(call);
}

static void on_leave(struct peer_call *waiting)
{
    struct slow_call *call =
        (struct slow_call *)((char *)waiting - offsetof(struct slow_call, waiting));
    job_cancel(&call->job);
}

int slow_call_start(struct slow_call *call, const struct slow_call_ops *ops, struct peer *peer,
                    sd_bus_message *message)
{
    call->job = (struct job){.uid = peer->uid, .prepare = prepare, .run = run, .done = done};
    call->ops = ops;
    call->hooks = &peer->services->hooks;
    call->peer = peer;
    call->message = sd_bus_message_ref(message);
    call->error = SD_BUS_ERROR_NULL;
    call->result = -ECANCELED;
    peer_call_begin(peer, PEER_CALL_SLOW, &call->waiting, message);
    call->waiting.on_leave = on_leave;
    call->waiting.outlives_connection =
        ops->is_change && sd_bus_message_get_expect_reply(message) == 0;
    worker_add(peer->services->worker[ops->is_change ? WORKER_CHANGES : WORKER_QUESTIONS],
               &call->job);
    return 1;
}
