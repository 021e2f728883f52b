/* The thread that waits for frames in flight, with clWaitForEvents. A callback of the event would
 * save the thread, but NVIDIA's driver calls it 10 ms late, and keeps a processor busy meanwhile;
 * and some drivers make progress only while a thread waits in them. */
#include "engine/engine_private.h"

#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>

#include "core/clock.h"

/* Returns CL_SUCCESS, or the error with which the commands before the event ended. */
static cl_int wait_for(cl_event done)
{
    const cl_int code = clWaitForEvents(1, &done);
    cl_int status;
    if (code != CL_SUCCESS && code != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
        return code;
    if (clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) !=
        CL_SUCCESS)
        return code;
    return status < 0 ? status : CL_SUCCESS;
}

/* The waiter's thread: frames are finished in the order in which they were submitted. */
static void *wait_for_frames(void *context)
{
    struct engine *engine = context;
    struct waiter *waiter = &engine->waiter;
    pthread_mutex_lock(&engine->mutex);
    for (;;) {
        while (!waiter->stop && waiter->waited == waiter->submitted)
            pthread_cond_wait(&waiter->work, &engine->mutex);
        if (waiter->stop)
            break;
        struct slot *slot = &engine->slot[waiter->waited % engine->options.in_flight];
        pthread_mutex_unlock(&engine->mutex);

        const cl_int status = slot->passed ? CL_SUCCESS : wait_for(slot->done);
        const int64_t finished_ns = clock_now_ns();

        pthread_mutex_lock(&engine->mutex);
        waiter->waited++;
        slot->finished_ns = finished_ns;
        slot->status = status;
        slot->complete = true;
        pthread_cond_signal(&engine->finished);
        eventfd_write(engine->event_fd, 1);
    }
    pthread_mutex_unlock(&engine->mutex);
    return NULL;
}

int engine_start_waiter(struct engine *engine, struct error *why)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int r = -pthread_create(&engine->waiter.thread, NULL, wait_for_frames, engine);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (r < 0)
        return error_set(why, -r, "cannot start a thread: %s", strerror(-r));
    pthread_setname_np(engine->waiter.thread, "fftd-device");
    engine->waiter.runs = true;
    return 0;
}

void engine_stop_waiter(struct engine *engine)
{
    if (!engine->waiter.runs)
        return;
    pthread_mutex_lock(&engine->mutex);
    engine->waiter.stop = true;
    pthread_cond_signal(&engine->waiter.work);
    pthread_mutex_unlock(&engine->mutex);
    pthread_join(engine->waiter.thread, NULL);
}
