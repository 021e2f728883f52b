/* Wakes readers on the writer's behalf.
 *
 * Waking a process costs a microsecond or more, and each one woken may take the processor from
 * whoever woke it: with 32 clients a frame path that wakes them itself pays for all of them. So
 * the writer posts a semaphore and goes on, and this thread does the rest: first one FUTEX_WAKE
 * for all who sleep on the word, then a byte into every client's pipe.
 *
 * The thread is neither the event loop's, where a long D-Bus call would delay frames, nor ever
 * blocked: the pipes' writing ends are nonblocking and belong to this process alone, so a client
 * that does not read has a full pipe and nobody minds. One that died breaks its pipe; SIGPIPE is
 * blocked here, like every signal, since signals are the main thread's. */
#include "ring/private.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void wake_everybody(struct waker *waker)
{
    static const char byte = 1;
    syscall(SYS_futex, waker->futex, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    pthread_mutex_lock(&waker->lock);
    for (const struct ring_listener *l = waker->listeners; l != NULL; l = l->next) {
        /* Full or broken pipes are their readers' affair; the server notices who has gone. */
        if (write(l->fd, &byte, 1) < 0)
            continue;
    }
    pthread_mutex_unlock(&waker->lock);
}

static void *waker_main(void *context)
{
    struct waker *waker = context;
    bool stop;
    do {
        while (sem_wait(&waker->work) < 0)
            continue; /* EINTR */
        while (sem_trywait(&waker->work) == 0)
            continue; /* rounds asked for meanwhile are this one */
        stop = __atomic_load_n(&waker->stop, __ATOMIC_ACQUIRE);
        wake_everybody(waker);
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
