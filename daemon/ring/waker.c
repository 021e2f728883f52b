/* Wakes readers.
 *
 * Waking a process costs microseconds, and the process that wakes up may preempt the thread that
 * woke it. With 32 clients this would delay the frame path 32 times. The writer therefore wakes at
 * most DIRECT_READERS readers, which costs no more than waking a thread; if there are more, it only
 * posts a semaphore, and the waker's thread wakes them all.
 *
 * A reader sleeps on its client's own word, because a process that can map a word can move those
 * that sleep on it. To wake each reader there takes a system call, after each of which a reader
 * that was woken may take the processor. So the thread moves the sleepers to a word that only the
 * daemon has, the common word, when half of the time to the next frame is over. The round then
 * wakes all of them with one call. If they were fewer than it had moved, some have left, and the
 * round wakes each client separately, since it cannot know which.
 *
 * A reader that does not sleep on the common word is woken by FUTEX_WAKE on its own. If nobody
 * sleeps there, the client is busy or waits on its wake-up socket, and gets a byte. Readers that
 * sleep on the ring's word are last, and the writer wakes one of them at most: any reader can make
 * thousands of threads sleep there, and waking them must delay neither the writer nor other
 * readers.
 *
 * The event loop does not do this, because a long D-Bus call there would delay frames. Neither the
 * writer nor the thread blocks: sockets are written with MSG_DONTWAIT, and a client that does not
 * read only has a full one; the writer takes the list's lock only if it is free, and otherwise
 * leaves the round to the thread. Signals are blocked in the thread because the main thread handles
 * them. */
#include "ring/private.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"

/* To wake one reader costs what it costs to wake the thread. With two, the writer's call takes more
 * than twice as long as handing over (docs/results/2026-11-24-lone-reader.md). */
#define DIRECT_READERS 1

/* When frames are rare, readers are moved this long after the last one. */
#define GATHER_NS      (10 * NS_PER_MS)

/* Wakes up to `most` sleepers, and returns how many there were. */
static long wake_sleepers(uint32_t *word, int most)
{
    return syscall(SYS_futex, word, FUTEX_WAKE, most, NULL, NULL, 0);
}

/* Returns whether there was one. */
static bool move_sleeper(uint32_t *from, uint32_t value, uint32_t *to)
{
    return syscall(SYS_futex, from, FUTEX_CMP_REQUEUE, 0, 1L, to, value) > 0;
}

static void wake_reader(const struct ring_listener *listener)
{
    static const char byte = 1;
    if (listener->word != NULL && wake_sleepers(listener->word, 1) > 0)
        return;
    /* A full or closed socket is not an error; the server notices closed connections. */
    send(listener->fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* The caller holds the lock. */
static void wake_listeners(struct waker *waker)
{
    /* Release: a reader that loads the new word sees the frame that was stored before. */
    for (struct ring_listener *l = waker->listeners; l != NULL; l = l->next)
        if (l->word != NULL)
            __atomic_fetch_add(l->word, 1, __ATOMIC_RELEASE);
    const bool complete =
        waker->gathered > 0 && wake_sleepers(&waker->common, INT_MAX) == (long)waker->gathered;
    waker->gathered = 0;
    for (struct ring_listener *l = waker->listeners; l != NULL; l = l->next) {
        if (!l->gathered || !complete)
            wake_reader(l);
        l->gathered = false;
    }
}

void waker_round(struct waker *waker)
{
    lock_take(&waker->lock);
    wake_listeners(waker);
    lock_release(&waker->lock);
    wake_sleepers(waker->futex, INT_MAX);
}

/* One sleeper of a client, however many there are, so that a round wakes no more than there are
 * clients. A client that leaves stays in the count, as its sleeper stays on the common word. */
void waker_gather(struct waker *waker)
{
    lock_take(&waker->lock);
    for (struct ring_listener *l = waker->listeners; l != NULL; l = l->next) {
        if (l->word == NULL || l->gathered || waker->listener_count <= DIRECT_READERS)
            continue;
        const uint32_t now = __atomic_load_n(l->word, __ATOMIC_RELAXED);
        l->gathered = move_sleeper(l->word, now, &waker->common);
        waker->gathered += l->gathered;
    }
    lock_release(&waker->lock);
}

/* Returns whether all clients have been woken. Nobody waits here for the lock, which the server
 * holds while a client comes or goes, and the thread during its rounds. */
static bool wake_few(struct waker *waker)
{
    if (!lock_try(&waker->lock))
        return false;
    const bool few = waker->listener_count <= DIRECT_READERS && waker->gathered == 0;
    if (few)
        wake_listeners(waker);
    lock_release(&waker->lock);
    return few;
}

/* Waits for a request; gathers the readers if none has come by then. */
static void await_work(struct waker *waker, int64_t gather_ns)
{
    const struct timespec due = clock_timespec(gather_ns);
    int r;
    do
        r = sem_clockwait(&waker->work, CLOCK_MONOTONIC, &due);
    while (r < 0 && errno == EINTR);
    if (r == 0)
        return;
    waker_gather(waker);
    while (sem_wait(&waker->work) < 0)
        continue; /* EINTR */
}

static void *waker_main(void *context)
{
    struct waker *waker = context;
    int64_t round_ns = clock_now_ns(), pause_ns = GATHER_NS;
    bool stop;
    do {
        await_work(waker, round_ns + pause_ns);
        while (sem_trywait(&waker->work) == 0)
            continue; /* this round also serves these requests */
        const int64_t now_ns = clock_now_ns();
        pause_ns = (now_ns - round_ns) / 2;
        if (pause_ns > GATHER_NS)
            pause_ns = GATHER_NS;
        round_ns = now_ns;
        stop = __atomic_load_n(&waker->stop, __ATOMIC_ACQUIRE);
        waker_round(waker);
    } while (!stop);
    return NULL;
}

int waker_start(struct waker *waker, uint32_t *futex, struct error *why)
{
    sigset_t all, old;
    *waker = (struct waker){0};
    waker->futex = futex;
    sem_init(&waker->work, 0, 0);

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int r = -pthread_create(&waker->thread, NULL, waker_main, waker);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (r < 0) {
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

void waker_wake(struct waker *waker)
{
    if (!wake_few(waker) || wake_sleepers(waker->futex, 1) > 0)
        waker_poke(waker);
}

void waker_add(struct waker *waker, struct ring_listener *listener)
{
    lock_take(&waker->lock);
    listener->gathered = false;
    listener->next = waker->listeners;
    waker->listeners = listener;
    waker->listener_count++;
    lock_release(&waker->lock);
}

void waker_remove(struct waker *waker, struct ring_listener *listener)
{
    lock_take(&waker->lock);
    struct ring_listener **link = &waker->listeners;
    while (*link != NULL && *link != listener)
        link = &(*link)->next;
    if (*link != NULL) {
        *link = listener->next;
        waker->listener_count--;
    }
    lock_release(&waker->lock);
}

void waker_stop(struct waker *waker)
{
    __atomic_store_n(&waker->stop, true, __ATOMIC_RELEASE);
    sem_post(&waker->work);
    pthread_join(waker->thread, NULL);
    sem_destroy(&waker->work);
}
