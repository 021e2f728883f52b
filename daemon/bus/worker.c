#include "bus/worker.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "bus/hooks.h"

/* A job looks at `cancelled` between rows, points and files, but a file may take longer. The
 * process then ends by _exit. */
#define STOP_TIMEOUT_MS 300

struct worker {
    struct job *waiting; /* in the order in which they came */
    struct job *running; /* NULL: the thread waits, or is to end */
    uint64_t round;      /* the round of the job that was started last */
    bool is_ending;
    pthread_t thread;
    sem_t start;              /* posted for each job, and for the end */
    int done_fd;              /* eventfd: the running job has run */
    atomic_bool has_run;      /* orders what the thread has written before what is read then */
    sd_event_source *on_done; /* watches done_fd */
};

static void *run_jobs(void *context)
{
    struct worker *worker = context;
    for (;;) {
        while (sem_wait(&worker->start) < 0)
            ;
        if (worker->running == NULL)
            return NULL;
        worker->running->run(worker->running);
        atomic_store(&worker->has_run, true);
        eventfd_write(worker->done_fd, 1);
    }
}

/* ---- the queue ---- */

static struct job *take_next(struct worker *worker)
{
    struct job **next = &worker->waiting;
    for (struct job **link = &worker->waiting; *link != NULL; link = &(*link)->next)
        if ((*link)->round < (*next)->round)
            next = link;
    struct job *job = *next;
    if (job != NULL)
        *next = job->next;
    return job;
}

static void start_next(struct worker *worker)
{
    struct job *job;
    while (worker->running == NULL && (job = take_next(worker)) != NULL) {
        worker->round = job->round;
        if (job->prepare != NULL && !job->prepare(job)) {
            job->done(job, false);
            continue;
        }
        worker->running = job;
        sem_post(&worker->start);
    }
}

void worker_add(struct worker *worker, struct job *job)
{
    struct job **end = &worker->waiting;
    if (worker->is_ending) {
        job->done(job, true);
        return;
    }
    job->worker = worker;
    job->next = NULL;
    job->round = worker->round + 1;
    for (; *end != NULL; end = &(*end)->next)
        if ((*end)->uid == job->uid && (*end)->round >= job->round)
            job->round = (*end)->round + 1;
    *end = job;
    start_next(worker);
}

void job_repeat(struct job *job)
{
    job->round = 0;
    job->next = job->worker->waiting;
    job->worker->waiting = job;
}

void job_cancel(struct job *job)
{
    atomic_store(&job->cancelled, true);
    for (struct job **link = &job->worker->waiting; *link != NULL; link = &(*link)->next)
        if (*link == job) {
            *link = job->next;
            job->done(job, true);
            return;
        }
}

/* ---- the end of a job ---- */

static void finish(struct worker *worker)
{
    eventfd_t count;
    eventfd_read(worker->done_fd, &count);
    struct job *job = worker->running;
    if (job == NULL || !atomic_exchange(&worker->has_run, false))
        return;
    worker->running = NULL;
    job->done(job, atomic_load(&job->cancelled));
}

static int on_done(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    (void)source, (void)fd, (void)revents;
    finish(userdata);
    start_next(userdata);
    return 0;
}

/* ---- the worker ---- */

int worker_create(struct worker **ret, struct sd_event *event, const char *name, struct error *why)
{
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL)
        return error_set(why, ENOMEM, "out of memory");
    sem_init(&worker->start, 0, 0);
    worker->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = worker->done_fd < 0 ? -errno : 0;
    if (r == 0)
        r = sd_event_add_io(event, &worker->on_done, worker->done_fd, POLLIN, on_done, worker);
    if (r >= 0)
        r = sd_event_source_set_priority(worker->on_done, BUS_PRIORITY);
    if (r >= 0)
        r = -pthread_create(&worker->thread, NULL, run_jobs, worker);
    if (r == 0) {
        pthread_setname_np(worker->thread, name);
        *ret = worker;
        return 0;
    }
    sd_event_source_disable_unref(worker->on_done);
    if (worker->done_fd >= 0)
        close(worker->done_fd);
    sem_destroy(&worker->start);
    free(worker);
    return error_set(why, -r, "cannot start the thread %s: %s", name, strerror(-r));
}

int worker_destroy(struct worker *worker)
{
    if (worker == NULL)
        return 0;
    worker->is_ending = true;
    while (worker->waiting != NULL)
        job_cancel(worker->waiting);
    if (worker->running != NULL) {
        struct pollfd done = {.fd = worker->done_fd, .events = POLLIN};
        job_cancel(worker->running);
        if (poll(&done, 1, STOP_TIMEOUT_MS) <= 0)
            return -EBUSY;
        finish(worker);
    }
    sem_post(&worker->start);
    pthread_join(worker->thread, NULL);
    sd_event_source_disable_unref(worker->on_done);
    close(worker->done_fd);
    sem_destroy(&worker->start);
    free(worker);
    return 0;
}
