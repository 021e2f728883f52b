/* The HTTP server.
 *
 * Threads: one thread of libmicrohttpd serves all connections. Each camera has a thread for its
 * frames (view_camera.h), one for its state (status.h), one for frames before and after the filter
 * (comparison.h) and, if filters may be changed, one for changes (changer.h). The main thread waits
 * for signals, and ends connections that exceed their time limit. A connection that waits for a
 * frame or an answer is suspended, so that the server's thread waits only for sockets.
 *
 * No file is opened. Memory is bounded: connections, streams and the bytes of a request have
 * limits, a stream holds at most one picture, and a camera two. */
#ifndef FFTD_VIEW_SERVER_H
#define FFTD_VIEW_SERVER_H

#include "view_camera.h"

struct server;

struct server_options {
    const char *const *places; /* where the cameras are; see camera_options */
    unsigned count;            /* 1 .. CAMERA_MAX_COUNT */
    const char *const *hosts;  /* see access_check; NULL at the end */
    uint64_t fps, quality;     /* see camera_options */
    const char *token;         /* required of requests that change filters; NULL: refuse them all */
};

/* Serves the socket fd, which it takes over if it succeeds. The options' texts must stay valid. 0
 * or -errno. */
int server_create(struct server **ret, int fd, const struct server_options *options);

/* Ends all connections and threads. NULL is allowed. */
void server_destroy(struct server *server);

/* A descriptor for poll(), and the function to call when it is readable. */
int server_fd(const struct server *server);
void server_sweep(struct server *server);

#endif
