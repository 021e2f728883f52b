#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sysexits.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>

#define BACKLOG    64
/* The kernel keeps at most this much of a stream for a browser that does not read; the kernel
 * counts it twice. Without the limit it grows to megabytes, and the picture is seconds old. */
#define SEND_BYTES (128 * 1024)

union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    struct sockaddr_un path;
};

static bool is_loopback(const union address *address)
{
    return address->any.sa_family == AF_INET
               ? ntohl(address->four.sin_addr.s_addr) >> 24 == 127
               : memcmp(&address->six.sin6_addr, &in6addr_loopback, sizeof in6addr_loopback) == 0;
}

/* Parses "127.0.0.1:8787" or "[::1]:8787". False: it is neither. */
static bool parse(const char *where, union address *ret, socklen_t *ret_bytes)
{
    char host[64];
    const char *colon = strrchr(where, ':');
    if (colon == NULL || (size_t)(colon - where) >= sizeof host)
        return false;
    char *end;
    const unsigned long port = strtoul(colon + 1, &end, 10);
    if (colon[1] < '0' || colon[1] > '9' || *end != '\0' || port > 65535)
        return false;
    snprintf(host, sizeof host, "%.*s", (int)(colon - where), where);
    *ret = (union address){0};
    const size_t length = strlen(host);
    if (length > 2 && host[0] == '[' && host[length - 1] == ']') {
        host[length - 1] = '\0';
        ret->six.sin6_family = AF_INET6;
        ret->six.sin6_port = htons((uint16_t)port);
        *ret_bytes = sizeof ret->six;
        return inet_pton(AF_INET6, host + 1, &ret->six.sin6_addr) == 1;
    }
    ret->four.sin_family = AF_INET;
    ret->four.sin_port = htons((uint16_t)port);
    *ret_bytes = sizeof ret->four;
    return inet_pton(AF_INET, host, &ret->four.sin_addr) == 1;
}

/* Removes a socket on which nobody listens any more. */
static void remove_stale(const union address *address, socklen_t bytes)
{
    struct stat st;
    if (lstat(address->path.sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
        return;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (connect(fd, &address->any, bytes) < 0 && errno == ECONNREFUSED)
        unlink(address->path.sun_path);
    close(fd);
}

static int open_address(struct listen_socket *ret, const union address *address, socklen_t bytes,
                        const char *where, char *ret_why, size_t size)
{
    const int on = 1, send_bytes = SEND_BYTES;
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        goto fail;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
    if (bind(fd, &address->any, bytes) < 0 || listen(fd, BACKLOG) < 0)
        goto fail;
    ret->fd = fd;
    return 0;
fail:
    snprintf(ret_why, size, "cannot listen on %s: %s", where, strerror(errno));
    const int code = errno == EACCES ? EX_NOPERM : EX_UNAVAILABLE;
    if (fd >= 0)
        close(fd);
    return code;
}

static int open_path(struct listen_socket *ret, const char *path, char *ret_why, size_t size)
{
    union address address = {.path.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.path.sun_path) {
        snprintf(ret_why, size, "--listen %s: expected a path of at most %zu bytes", path,
                 sizeof address.path.sun_path - 1);
        return EX_USAGE;
    }
    snprintf(address.path.sun_path, sizeof address.path.sun_path, "%s", path);
    remove_stale(&address, sizeof address.path);
    int code = open_address(ret, &address, sizeof address.path, path, ret_why, size);
    if (code == 0) {
        ret->path = path;
        snprintf(ret->address, sizeof ret->address, "%s", path);
    }
    return code;
}

/* Writes the address that the socket has: the port may have been 0. */
static void describe(struct listen_socket *ret)
{
    union address address = {.any = {0}};
    socklen_t bytes = sizeof address;
    char host[INET6_ADDRSTRLEN];
    if (getsockname(ret->fd, &address.any, &bytes) < 0)
        return;
    if (address.any.sa_family == AF_INET)
        snprintf(ret->address, sizeof ret->address, "http://%s:%u/",
                 inet_ntop(AF_INET, &address.four.sin_addr, host, sizeof host),
                 ntohs(address.four.sin_port));
    else if (address.any.sa_family == AF_INET6)
        snprintf(ret->address, sizeof ret->address, "http://[%s]:%u/",
                 inet_ntop(AF_INET6, &address.six.sin6_addr, host, sizeof host),
                 ntohs(address.six.sin6_port));
    else
        snprintf(ret->address, sizeof ret->address, "%.*s", (int)sizeof address.path.sun_path,
                 address.path.sun_path);
}

int listen_open(struct listen_socket *ret, const char *where, char *ret_why, size_t size)
{
    union address address;
    socklen_t bytes;
    *ret = (struct listen_socket){.fd = -1};
    const int passed = sd_listen_fds(1);
    if (passed > 1 ||
        (passed == 1 && sd_is_socket(SD_LISTEN_FDS_START, AF_UNSPEC, SOCK_STREAM, 1) <= 0)) {
        snprintf(ret_why, size, "systemd passed %d sockets: expected one that listens", passed);
        return EX_CONFIG;
    }
    if (passed == 1) {
        const int send_bytes = SEND_BYTES;
        ret->fd = SD_LISTEN_FDS_START;
        setsockopt(ret->fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
        fcntl(ret->fd, F_SETFL, O_NONBLOCK); /* the server accepts until the queue is empty */
        describe(ret);
        return 0;
    }
    if (strchr(where, '/') != NULL)
        return open_path(ret, where, ret_why, size);
    if (!parse(where, &address, &bytes)) {
        snprintf(ret_why, size,
                 "--listen %s: expected 127.0.0.1:PORT, [::1]:PORT or a path with a '/'", where);
        return EX_USAGE;
    }
    if (!is_loopback(&address)) {
        snprintf(ret_why, size,
                 "--listen %s: expected an address of this machine alone, such as 127.0.0.1:8787; "
                 "for other machines put a proxy with TLS and passwords in front of it",
                 where);
        return EX_USAGE;
    }
    int code = open_address(ret, &address, bytes, where, ret_why, size);
    if (code == 0)
        describe(ret);
    return code;
}

void listen_finish(const struct listen_socket *socket)
{
    if (socket->path != NULL)
        unlink(socket->path);
}
