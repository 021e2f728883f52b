/* The daemon learns that a client has released a file by asking for a write lease, which the kernel
 * grants only if nobody else has the file open or mapped. Descriptors in messages that nobody has
 * read count as open. Two kinds of descriptors do not:
 *
 * - A descriptor that was opened with O_PATH keeps the file but does not count. The end of a loan
 *   therefore truncates the file, and such a descriptor has an empty one.
 * - The first descriptor that memfd_create returns is not counted correctly. The file is therefore
 *   opened again, and only those descriptors are used.
 *
 * Where the kernel grants no leases, every loan lasts LIMIT_LOAN_S. */
#include "bus/loan.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "core/client_limits.h"
#include "core/clock.h"

#define LOOK_US 1000000 /* the interval between two searches for released frames */

/* If a client reopens the file while the lease is held, the kernel signals this process. SIGURG is
 * ignored by default; the usual signal, SIGIO, would end the process. */
static bool is_released(int fd)
{
    return fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
}

static bool is_over(const struct loan *loan)
{
    if (loan->due_us == 0)
        return false;
    bool released = true;
    for (unsigned i = 0; i < LOAN_FRAMES; i++)
        released &= loan->fd[i] < 0 || is_released(loan->fd[i]);
    return released || clock_now_us() >= loan->due_us;
}

/* Ends the loans that are over. Returns the number of loans that were sent and go on. */
static unsigned collect(struct loans *loans)
{
    unsigned sent = 0;
    for (struct loan *loan = loans->first, *next; loan != NULL; loan = next) {
        next = loan->next;
        if (is_over(loan))
            loan_end(loan);
        else
            sent += loan->due_us != 0;
    }
    return sent;
}

static int look_again(struct loans *loans)
{
    int r = sd_event_source_set_time_relative(loans->timer, LOOK_US);
    return r < 0 ? r : sd_event_source_set_enabled(loans->timer, SD_EVENT_ONESHOT);
}

static int on_timer(sd_event_source *source, uint64_t time_us, void *userdata)
{
    (void)source, (void)time_us;
    return collect(userdata) > 0 ? look_again(userdata) : 0;
}

int loans_init(struct loans *ret, struct sd_event *event, struct worker *worker)
{
    *ret = (struct loans){.worker = worker};
    return sd_event_add_time(event, &ret->timer, CLOCK_MONOTONIC, UINT64_MAX, 0, on_timer, ret);
}

static void detach(struct loan *loan)
{
    if (loan->loans == NULL)
        return;
    struct loan **link = &loan->loans->first;
    while (*link != loan)
        link = &(*link)->next;
    *link = loan->next;
    loan->loans = NULL;
}

static void forget(struct loan *loan)
{
    detach(loan);
    for (unsigned i = 0; i < LOAN_FRAMES; i++)
        if (loan->fd[i] >= 0)
            close(loan->fd[i]);
    free(loan);
}

void loans_finish(struct loans *loans)
{
    while (loans->first != NULL) {
        struct loan *loan = loans->first;
        loans->first = loan->next;
        loan->loans = NULL;
        if (loan->due_us != 0)
            forget(loan);
        /* A loan that was not sent is ended by the call that waits for its frames. */
    }
    loans->timer = sd_event_source_disable_unref(loans->timer);
}

int loan_begin(struct loan **ret, struct loans *loans, uid_t uid, struct error *why)
{
    unsigned count = 0, of_user = 0;

    collect(loans);
    for (const struct loan *each = loans->first; each != NULL; each = each->next) {
        count++;
        of_user += each->uid == uid;
    }
    if (of_user >= LIMIT_LOANS_OF_USER)
        return error_set(why, EUSERS,
                         "user %u has %u snapshots, the limit: read them, and close their "
                         "descriptors",
                         (unsigned)uid, of_user);
    if (count >= LIMIT_LOANS)
        return error_set(why, EUSERS, "clients have %u snapshots, the limit: try again later",
                         count);
    struct loan *loan = malloc(sizeof *loan);
    if (loan == NULL)
        return error_set(why, ENOMEM, "out of memory");
    *loan = (struct loan){.loans = loans, .next = loans->first, .uid = uid, .fd = {-1, -1}};
    loans->first = loan;
    *ret = loan;
    return 0;
}

static int write_all(int fd, const uint8_t *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, data + done, size - done);
        if (n < 0)
            return -errno;
        done += (size_t)n;
    }
    return 0;
}

static int reopen(int fd, int flags)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int again = open(path, flags | O_CLOEXEC);
    return again < 0 ? -errno : again;
}

int loan_frame(struct loan *loan, const char *name, const uint8_t *frame, size_t size)
{
    const unsigned i = loan->fd[0] >= 0;
    int r, readable = -1;
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    /* Not sealed against shrinking, because the end of the loan truncates it. */
    if ((r = write_all(fd, frame, size)) < 0)
        goto out;
    if (fchmod(fd, 0600) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_GROW | F_SEAL_WRITE) < 0) {
        r = -errno;
        goto out;
    }
    if ((r = readable = reopen(fd, O_RDONLY)) < 0)
        goto out;
    if ((r = loan->fd[i] = reopen(fd, O_RDWR)) < 0)
        close(readable);
out:
    close(fd);
    return r < 0 ? r : readable;
}

void loan_sent(struct loan *loan)
{
    loan->due_us = clock_now_us() + UINT64_C(1000000) * LIMIT_LOAN_S;
    if (look_again(loan->loans) < 0)
        loan_end(loan);
}

static void empty(struct job *job)
{
    const struct loan *loan = (const struct loan *)job; /* job is its first member */
    for (unsigned i = 0; i < LOAN_FRAMES; i++)
        if (loan->fd[i] >= 0) {
            int r = ftruncate(loan->fd[i], 0);
            (void)r; /* the file is this process's own and not sealed against it */
        }
}

static void emptied(struct job *job, bool is_cancelled)
{
    (void)is_cancelled;
    forget((struct loan *)job);
}

void loan_end(struct loan *loan)
{
    struct loans *loans = loan != NULL ? loan->loans : NULL;
    if (loan == NULL)
        return;
    if (loans == NULL) {
        empty(&loan->job);
        forget(loan);
        return;
    }
    detach(loan);
    loan->job = (struct job){.uid = loan->uid, .run = empty, .done = emptied};
    worker_add(loans->worker, &loan->job);
}
