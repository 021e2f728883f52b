#include "daemon_bus.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <fftd/fftd.h>

#include <microhttpd.h>

#include "common/bus.h"
#include "core/clock.h"
#include "view_camera.h"

#define CALL_US 2000000

int daemon_bus_start(struct daemon_bus *bus, const char *place, const char *socket,
                     void *(*run)(void *), void *context)
{
    *bus = (struct daemon_bus){.place = place, .socket = socket, .fd = -1};
    pthread_mutex_init(&bus->lock, NULL);
    clock_cond_init(&bus->changed);
    return -pthread_create(&bus->thread, NULL, run, context);
}

void daemon_bus_stop(struct daemon_bus *bus)
{
    pthread_mutex_lock(&bus->lock);
    bus->stopping = true;
    pthread_cond_signal(&bus->changed);
    if (bus->fd >= 0)
        shutdown(bus->fd, SHUT_RDWR);
    pthread_mutex_unlock(&bus->lock);
}

void daemon_bus_finish(struct daemon_bus *bus)
{
    daemon_bus_close(bus);
    pthread_cond_destroy(&bus->changed);
    pthread_mutex_destroy(&bus->lock);
}

int daemon_bus_open(struct daemon_bus *bus)
{
    char dir[PATH_MAX];
    int r = 0;
    /* Reads pending signals, which would accumulate, and notices the end of the daemon. */
    while (bus->bus != NULL && (r = sd_bus_process(bus->bus, NULL)) > 0)
        ;
    if (r < 0)
        daemon_bus_close(bus);
    if (bus->bus != NULL)
        return 0;
    r = fftd_runtime_dir(bus->place, dir, sizeof dir);
    if (r < 0 || (r = bus_connect(&bus->bus, dir, bus->socket)) < 0)
        return r;
    pthread_mutex_lock(&bus->lock);
    bus->fd = sd_bus_get_fd(bus->bus);
    if (bus->stopping)
        shutdown(bus->fd, SHUT_RDWR);
    pthread_mutex_unlock(&bus->lock);
    r = bus_await(bus->bus, CALL_US);
    if (r < 0)
        daemon_bus_close(bus);
    return r;
}

void daemon_bus_close(struct daemon_bus *bus)
{
    pthread_mutex_lock(&bus->lock);
    bus->fd = -1;
    pthread_mutex_unlock(&bus->lock);
    bus->bus = sd_bus_close_unref(bus->bus);
}

void daemon_bus_explain(const struct daemon_bus *bus, int error, char *text, size_t size)
{
    const bool is_control = strcmp(bus->socket, "control") == 0;
    if (error == -EACCES || error == -EPERM)
        snprintf(text, size,
                 "permission denied for the %s of fftd; fftd-view must run as a member of the "
                 "group %s, or as the user who started the daemon",
                 is_control ? "control socket" : "sockets", is_control ? "fftd-admin" : "fftd");
    else if ((error == -ENOENT || error == -ECONNREFUSED) && strchr(bus->place, '/') != NULL)
        snprintf(text, size,
                 "no daemon is running in %s; start one with `fftd --runtime-dir %s ...`",
                 bus->place, bus->place);
    else if (error == -ENOENT || error == -ECONNREFUSED)
        snprintf(text, size,
                 "no daemon named %s is running; start it with `systemctl start fftd@%s`",
                 bus->place, bus->place);
    else
        snprintf(text, size, "the daemon does not answer: %s", strerror(-error));
}

static unsigned status_of(int error, const sd_bus_error *said)
{
    static const struct {
        const char *name;
        unsigned status;
    } known[] = {
        {"org.fftd.Error.InvalidFilter", MHD_HTTP_UNPROCESSABLE_CONTENT},
        {"org.fftd.Error.NoSuchStage", MHD_HTTP_UNPROCESSABLE_CONTENT},
        {"org.fftd.Error.InvalidView", MHD_HTTP_UNPROCESSABLE_CONTENT},
        {DAEMON_BUS_INVALID_CONTROL, MHD_HTTP_UNPROCESSABLE_CONTENT},
        {"org.fftd.Error.FilterChanged", MHD_HTTP_CONFLICT},
        {SD_BUS_ERROR_NOT_SUPPORTED, MHD_HTTP_UNPROCESSABLE_CONTENT},
        {SD_BUS_ERROR_UNKNOWN_METHOD, MHD_HTTP_BAD_GATEWAY},
        {SD_BUS_ERROR_INVALID_ARGS, MHD_HTTP_BAD_GATEWAY},
    };
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++)
        if (sd_bus_error_has_name(said, known[i].name))
            return known[i].status;
    return error == -EACCES || error == -EPERM ? MHD_HTTP_FORBIDDEN : MHD_HTTP_SERVICE_UNAVAILABLE;
}

struct image *daemon_bus_error(const struct daemon_bus *bus, int error, const sd_bus_error *said)
{
    const unsigned status = status_of(error, said);
    char text[IMAGE_ERROR_BYTES];
    if (sd_bus_error_is_set(said) && said->message != NULL &&
        (status != MHD_HTTP_SERVICE_UNAVAILABLE || strncmp(said->name, "org.fftd.", 9) == 0))
        return image_error(status, said->message);
    daemon_bus_explain(bus, error, text, sizeof text);
    return image_error(status, text);
}
