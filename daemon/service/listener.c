#include "service/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "core/client_limits.h"
#include "service/log.h"
#include "service/socket.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16; parisc and sparc have other numbers */
#endif

#define PAUSE_US 500000u /* after accepting has failed */

struct listener {
    struct listener_options options;
    int fd;
    sd_event_source *source;
    sd_event_source *resume; /* armed during a pause */
    bool failure_logged;     /* no connection has succeeded since then */
};

static void log_failure(struct listener *listener, const char *what, const char *reason)
{
    if (!listener->failure_logged)
        log_warning("%s: %s: %s", listener->options.name, what, reason);
    listener->failure_logged = true;
}

/* Has the kernel refuse descriptors when a client sends them. Dropping them can block: the last
 * close of a TCP socket waits for as long as its SO_LINGER says. An older kernel has no such
 * option; the descriptors are dropped then. */
static void refuse_descriptors(int listen_fd)
{
    const int off = 0;
    setsockopt(listen_fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof off);
}

static void serve(struct listener *listener, int fd)
{
    struct error why = {""};
    const int r = listener->options.connected(listener->options.context, fd, socket_uid(fd), &why);
    if (r >= 0)
        listener->failure_logged = false;
    else if (r != -ECONNRESET && r != -EPIPE && r != -ENOTCONN)
        log_failure(listener, "connection refused", why.text[0] != '\0' ? why.text : strerror(-r));
}

static int on_resume(sd_event_source *source, uint64_t now_us, void *userdata)
{
    struct listener *listener = userdata;
    (void)source, (void)now_us;
    return sd_event_source_set_enabled(listener->source, SD_EVENT_ON);
}

/* The socket stays readable while nothing can be accepted. Without a pause the loop would never
 * sleep. */
static int pause_accepting(struct listener *listener)
{
    int r = sd_event_source_set_enabled(listener->source, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_source_set_time_relative(listener->resume, PAUSE_US);
    if (r >= 0)
        r = sd_event_source_set_enabled(listener->resume, SD_EVENT_ONESHOT);
    return r;
}

static int on_connection(sd_event_source *source, int listen_fd, uint32_t revents, void *userdata)
{
    struct listener *listener = userdata;
    (void)source, (void)revents;

    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        serve(listener, fd);
        return 0;
    }
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
        return 0;
    log_failure(listener, "cannot accept connections, retrying twice a second", strerror(errno));
    return pause_accepting(listener);
}

int listener_create(struct listener **ret, struct sd_event *event, int listen_fd,
                    const struct listener_options *options, struct error *why)
{
    struct listener *listener = calloc(1, sizeof *listener);
    if (listener == NULL) {
        close(listen_fd);
        return error_set(why, ENOMEM, "%s: out of memory", options->name);
    }
    *listener = (struct listener){.options = *options, .fd = listen_fd};
    refuse_descriptors(listen_fd);
    /* A connection may end before it is accepted, and accept must not wait for another one. */
    int r = fcntl(listen_fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
    if (r >= 0)
        r = sd_event_add_io(event, &listener->source, listen_fd, EPOLLIN, on_connection, listener);
    if (r >= 0)
        r = sd_event_source_set_priority(listener->source, options->priority);
    if (r >= 0)
        r = sd_event_source_set_ratelimit(listener->source, LIMIT_ACCEPT_INTERVAL_US,
                                          LIMIT_ACCEPTS);
    if (r >= 0)
        r = sd_event_add_time(event, &listener->resume, CLOCK_MONOTONIC, UINT64_MAX, 0, on_resume,
                              listener);
    if (r < 0) {
        listener_destroy(listener);
        return error_set(why, -r, "%s: cannot watch the socket: %s", options->name, strerror(-r));
    }
    *ret = listener;
    return 0;
}

void listener_destroy(struct listener *listener)
{
    if (listener == NULL)
        return;
    sd_event_source_disable_unref(listener->source);
    sd_event_source_disable_unref(listener->resume);
    close(listener->fd);
    free(listener);
}
