#include "service/notifier.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/text.h"
#include "service/log.h"
#include "service/socket.h"

#define NAME_BYTES    32
#define TEXT_BYTES    1024
#define LAST_WORDS_NS (100 * NS_PER_MS)

#define KIND_KEEP     (NOTIFIER_STOPPING + 1)
#define KIND_FORGET   (NOTIFIER_STOPPING + 2)
#define BIT(kind)     (1u << (kind))

struct message {
    struct message *next;
    unsigned kind;
    int fd;                /* KIND_KEEP; -1 otherwise */
    char name[NAME_BYTES]; /* KIND_KEEP, KIND_FORGET */
    char text[];
};

struct notifier {
    int fd;                    /* -1: there is no manager */
    sd_event_source *writable; /* enabled while messages are queued */
    struct message *queue;     /* oldest first */
};

/* ---- the queue ---- */

static void message_free(struct message *message)
{
    if (message->fd >= 0)
        close(message->fd);
    free(message);
}

/* Removes queued messages of these kinds, and with this name if it is not NULL. Returns whether
 * there was one. */
static bool remove_queued(struct notifier *notifier, unsigned kinds, const char *name)
{
    bool found = false;
    for (struct message **link = &notifier->queue; *link != NULL;) {
        struct message *message = *link;
        if ((kinds & BIT(message->kind)) == 0 ||
            (name != NULL && strcmp(message->name, name) != 0)) {
            link = &message->next;
            continue;
        }
        *link = message->next;
        message_free(message);
        found = true;
    }
    return found;
}

/* ---- sending ---- */

/* Sends queued messages until the socket is full. A message that cannot be sent for another reason
 * is dropped, as sd_notify does. */
static void flush(struct notifier *notifier)
{
    while (notifier->queue != NULL) {
        struct message *message = notifier->queue;
        const int r = socket_send(notifier->fd, message->text, strlen(message->text), &message->fd,
                                  message->fd >= 0);
        if (r == -EAGAIN || r == -ENOBUFS)
            break;
        notifier->queue = message->next;
        message_free(message);
    }
    sd_event_source_set_enabled(notifier->writable,
                                notifier->queue != NULL ? SD_EVENT_ON : SD_EVENT_OFF);
}

static int on_writable(sd_event_source *source, int fd, uint32_t revents, void *context)
{
    (void)source, (void)fd, (void)revents;
    flush(context);
    return 0;
}

/* Drops the message if there is no memory for it; the next one may succeed. */
static void append(struct notifier *notifier, unsigned kind, const char *name, int fd,
                   const char *text)
{
    const size_t bytes = strlen(text) + 1;
    struct message *message = malloc(sizeof *message + bytes);
    if (message == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    *message = (struct message){.kind = kind, .fd = fd};
    snprintf(message->name, sizeof message->name, "%s", name);
    memcpy(message->text, text, bytes);
    struct message **end = &notifier->queue;
    while (*end != NULL)
        end = &(*end)->next;
    *end = message;
    flush(notifier);
}

void notifier_send(struct notifier *notifier, enum notifier_kind kind, const char *lines,
                   const char *status)
{
    static const unsigned obsolete[] = {
        [NOTIFIER_STATUS] = BIT(NOTIFIER_STATUS),
        [NOTIFIER_WATCHDOG] = BIT(NOTIFIER_WATCHDOG),
        [NOTIFIER_RELOADING] = BIT(NOTIFIER_STATUS) | BIT(NOTIFIER_RELOADING) | BIT(NOTIFIER_READY),
        [NOTIFIER_READY] = BIT(NOTIFIER_STATUS) | BIT(NOTIFIER_READY),
        [NOTIFIER_STOPPING] = BIT(NOTIFIER_STATUS) | BIT(NOTIFIER_WATCHDOG) |
                              BIT(NOTIFIER_RELOADING) | BIT(NOTIFIER_READY),
    };
    char text[TEXT_BYTES], clean[TEXT_BYTES - 128];
    if (notifier->fd < 0)
        return;
    if (status == NULL) {
        snprintf(text, sizeof text, "%s", lines);
    } else {
        snprintf(clean, sizeof clean, "%s", status);
        text_clean(clean);
        snprintf(text, sizeof text, "%.100s%sSTATUS=%s", lines, *lines != '\0' ? "\n" : "", clean);
    }
    remove_queued(notifier, obsolete[kind], NULL);
    append(notifier, kind, "", -1, text);
}

void notifier_keep(struct notifier *notifier, const char *name, int fd)
{
    char text[64];
    if (notifier->fd < 0)
        return;
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (copy < 0) {
        log_warning("cannot give '%s' to the service manager: %s", name, strerror(errno));
        return;
    }
    snprintf(text, sizeof text, "FDSTORE=1\nFDNAME=%s", name);
    append(notifier, KIND_KEEP, name, copy, text);
}

void notifier_forget(struct notifier *notifier, const char *name)
{
    char text[64];
    if (notifier->fd < 0 || remove_queued(notifier, BIT(KIND_KEEP), name))
        return;
    remove_queued(notifier, BIT(KIND_FORGET), name);
    snprintf(text, sizeof text, "FDSTOREREMOVE=1\nFDNAME=%s", name);
    append(notifier, KIND_FORGET, name, -1, text);
}

/* ---- life ---- */

/* -ENOENT: NOTIFY_SOCKET is not set. */
static int connect_to_manager(int *ret_fd)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path == NULL || *path == '\0')
        return -ENOENT;
    if ((path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof address.sun_path)
        return -EINVAL;
    memcpy(address.sun_path, path, strlen(path));
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    const socklen_t bytes =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + (path[0] == '/'));
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)&address, bytes) < 0) {
        const int r = -errno;
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

int notifier_create(struct notifier **ret, struct sd_event *event, struct error *why)
{
    struct notifier *notifier = calloc(1, sizeof *notifier);
    if (notifier == NULL)
        return error_set(why, ENOMEM,
                         "out of memory while creating the connection to the service manager");
    notifier->fd = -1;
    int r = connect_to_manager(&notifier->fd);
    if (r < 0 && r != -ENOENT)
        log_warning("cannot notify the service manager at NOTIFY_SOCKET=%s: %s",
                    getenv("NOTIFY_SOCKET"), strerror(-r));
    if (notifier->fd >= 0) {
        r = sd_event_add_io(event, &notifier->writable, notifier->fd, EPOLLOUT, on_writable,
                            notifier);
        if (r >= 0)
            r = sd_event_source_set_enabled(notifier->writable, SD_EVENT_OFF);
        if (r < 0) {
            notifier_destroy(notifier);
            return error_set(why, -r, "cannot watch the service manager's socket: %s",
                             strerror(-r));
        }
    }
    *ret = notifier;
    return 0;
}

void notifier_destroy(struct notifier *notifier)
{
    if (notifier == NULL)
        return;
    const int64_t deadline_ns = clock_now_ns() + LAST_WORDS_NS;
    struct pollfd wait = {.fd = notifier->fd, .events = POLLOUT};
    int64_t left_ns;
    while (notifier->queue != NULL && (left_ns = deadline_ns - clock_now_ns()) > 0) {
        poll(&wait, 1, (int)(left_ns / NS_PER_MS) + 1);
        flush(notifier);
    }
    remove_queued(notifier, ~0u, NULL);
    sd_event_source_disable_unref(notifier->writable);
    if (notifier->fd >= 0)
        close(notifier->fd);
    free(notifier);
}
