/* The socket on which browsers connect: on the loopback interface, or a UNIX socket. */
#ifndef FFTD_VIEW_LISTEN_H
#define FFTD_VIEW_LISTEN_H

#include <stddef.h>

struct listen_socket {
    int fd;
    const char *path;  /* the UNIX socket that this program has created; NULL: none */
    char address[256]; /* to be shown: "http://127.0.0.1:8787/", or the path */
};

/* Opens the socket that `where` names: "127.0.0.1:8787", "[::1]:8787" or a path with a '/'. If
 * systemd has passed a socket, uses that instead. Returns 0 or an exit code; *ret_why then says
 * what is wrong. */
int listen_open(struct listen_socket *ret, const char *where, char *ret_why, size_t size);

/* Removes a UNIX socket that listen_open created. The descriptor belongs to the server. */
void listen_finish(const struct listen_socket *socket);

#endif
