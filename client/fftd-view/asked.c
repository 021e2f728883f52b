#include "asked.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/clock.h"

/* The socket stays open while browsers ask, which they do once a second. */
#define KEEP_NS (5 * NS_PER_S)

struct asked {
    struct daemon_bus bus;
    const struct asked_kind *kind;
    void *context;
    /* The lock of the bus protects these. */
    struct waiter *waiters;
    struct image *answer; /* NULL before the first one */
    int64_t fresh_until_ns, last_ns;
};

/* ---- the thread ---- */

static void refresh(struct asked *asked)
{
    pthread_mutex_unlock(&asked->bus.lock);
    const int64_t began_ns = clock_now_ns();
    struct image *answer = asked->kind->ask(&asked->bus, asked->context);
    pthread_mutex_lock(&asked->bus.lock);
    image_unref(asked->answer);
    asked->answer = answer;
    asked->last_ns = clock_now_ns();
    const int64_t took_ns = asked->last_ns - began_ns;
    asked->fresh_until_ns =
        asked->last_ns + (took_ns > asked->kind->fresh_ns ? took_ns : asked->kind->fresh_ns);
    waiter_resume(&asked->waiters, WAITER_ASKED);
}

/* Closes the connection when nobody has asked for a while. */
static void close_bus(struct asked *asked)
{
    struct image *answer = asked->answer;
    asked->answer = NULL;
    asked->fresh_until_ns = 0;
    pthread_mutex_unlock(&asked->bus.lock);
    image_unref(answer);
    daemon_bus_close(&asked->bus);
    pthread_mutex_lock(&asked->bus.lock);
}

static void *run(void *userdata)
{
    struct asked *asked = userdata;
    pthread_mutex_lock(&asked->bus.lock);
    while (!asked->bus.stopping) {
        const struct timespec until = clock_timespec(asked->last_ns + KEEP_NS);
        if (asked->waiters != NULL)
            refresh(asked);
        else if (asked->answer == NULL && asked->bus.bus == NULL)
            pthread_cond_wait(&asked->bus.changed, &asked->bus.lock);
        else if (pthread_cond_timedwait(&asked->bus.changed, &asked->bus.lock, &until) ==
                     ETIMEDOUT &&
                 asked->waiters == NULL)
            close_bus(asked);
    }
    pthread_mutex_unlock(&asked->bus.lock);
    return NULL;
}

/* ---- from other threads ---- */

int asked_create(struct asked **ret, const char *place, const char *socket,
                 const struct asked_kind *kind, void *context)
{
    struct asked *asked = calloc(1, sizeof *asked);
    if (asked == NULL)
        return -ENOMEM;
    asked->kind = kind;
    asked->context = context;
    int r = daemon_bus_start(&asked->bus, place, socket, run, asked);
    if (r < 0) {
        free(asked);
        return r;
    }
    *ret = asked;
    return 0;
}

void asked_stop(struct asked *asked)
{
    if (asked == NULL)
        return;
    daemon_bus_stop(&asked->bus);
    pthread_mutex_lock(&asked->bus.lock);
    waiter_resume_all(&asked->waiters);
    pthread_mutex_unlock(&asked->bus.lock);
}

void asked_destroy(struct asked *asked)
{
    if (asked == NULL)
        return;
    pthread_join(asked->bus.thread, NULL);
    daemon_bus_finish(&asked->bus);
    image_unref(asked->answer);
    free(asked);
}

int asked_take(struct asked *asked, struct waiter *waiter, struct image **ret)
{
    int r = 0;
    pthread_mutex_lock(&asked->bus.lock);
    if (asked->bus.stopping) {
        r = -ECANCELED;
    } else if (clock_now_ns() >= asked->fresh_until_ns && !waiter->is_over) {
        waiter->is_over = true; /* it waits only once */
        waiter->kind = WAITER_ASKED;
        waiter_add(&asked->waiters, waiter);
        pthread_cond_signal(&asked->bus.changed);
        r = -EAGAIN;
    } else if (asked->answer == NULL) {
        r = -ENOMEM;
    } else {
        *ret = image_ref(asked->answer);
    }
    pthread_mutex_unlock(&asked->bus.lock);
    return r;
}
