/* Wakes readers on the writer's behalf.
 *
 * Waking a process costs a microsecond or more, and the process that wakes up may preempt the
 * thread that woke it. With 32 clients this would delay the frame path 32 times. So the writer only
 * posts a semaphore, and this thread wakes the readers: first by a byte into every client's socket,
 * then by one FUTEX_WAKE for all that sleep on the word. Any reader can make thousands of threads
 * sleep on that word, and waking them must not delay the others.
 *
 * The event loop does not do this, because a long D-Bus call there would delay frames. The thread
 * never blocks: sockets are written with MSG_DONTWAIT, and a client that does not read only has a
 * full one. Signals are blocked here because the main thread handles them. */
#include "ring/private.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void wake_readers(struct waker *waker)
{
    static const char byte = 1;
    pthread_mutex_lock(&waker->lock);
    for (const struct ring_listener *l = waker->listeners; l != NULL; l = l->next) {
        /* A full or closed socket is not an error; the server notices closed connections. */
        if (send(l->fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            continue;
    }
    pthread_mutex_unlock(&waker->lock);
    syscall(SYS_futex, waker->futex, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void *waker_main(void *context)
{
    struct waker *waker = context;
    bool stop;
    do {
        while (sem_wait(&waker->work) < 0)
            continue; /* EINTR */
        while (sem_trywait(&waker->work) == 0)
            continue; /* this round serves these requests too */
        stop = __atomic_load_n(&waker->stop, __ATOMIC_ACQUIRE);
        wake_readers(waker);
    } while (!stop);
    return NULL;
}

int waker_start(struct waker *waker, uint32_t *futex, struct error *why)
{
    sigset_t all, old;
    waker->futex = futex;
    waker->listeners = NULL;
    waker->stop = false;
    sem_init(&waker->work, 0, 0);
    pthread_mutex_init(&waker->lock, NULL);

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int r = -pthread_create(&waker->thread, NULL, waker_main, waker);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (r < 0) {
        pthread_mutex_destroy(&waker->lock);
        sem_destroy(&waker->work);
        return error_set(why, -r, "ring: cannot start the wake-up thread: %s", strerror(-r));
    }
    pthread_setname_np(waker->thread, "fftd-wake");
    return 0;
}

void waker_poke(struct waker *waker)
{
    sem_post(&waker->work);
}

void waker_stop(struct waker *waker)
{
    __atomic_store_n(&waker->stop, true, __ATOMIC_RELEASE);
    sem_post(&waker->work);
    pthread_join(waker->thread, NULL);
    pthread_mutex_destroy(&waker->lock);
    sem_destroy(&waker->work);
}
