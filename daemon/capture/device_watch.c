#include "capture/device_watch.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

int device_watch_open(const char *path)
{
    char directory[PATH_MAX];
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0)
        return -1;
    const char *slash = strrchr(path, '/');
    int length = slash == path ? 1 : (int)(slash - path);
    snprintf(directory, sizeof directory, "%.*s", length, path);
    /* IN_ATTRIB: udev hands the node to its group a moment after creating it. */
    if (inotify_add_watch(fd, directory, IN_CREATE | IN_MOVED_TO | IN_ATTRIB) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

bool device_watch_fired(int fd, const char *path)
{
    union {
        struct inotify_event event;
        char bytes[4096];
    } buffer;
    const char *name = strrchr(path, '/') + 1;
    bool fired = false;
    ssize_t size;

    while ((size = read(fd, buffer.bytes, sizeof buffer.bytes)) > 0) {
        for (ssize_t at = 0; at < size;) {
            const struct inotify_event *event = (const void *)(buffer.bytes + at);
            fired |= event->len > 0 && strcmp(event->name, name) == 0;
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
    return fired;
}
