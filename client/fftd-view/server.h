/* The HTTP server: which path shows what, and who may ask.
 *
 * Threads: one thread of libmicrohttpd serves all connections; each camera has a thread for its
 * frames (view_camera.h), one for its state (status.h), one for frames before and after the filter
 * (comparison.h) and, if filters may be changed, one for that (changer.h); the main thread sleeps,
 * ends connections whose time is over, and waits for signals. A connection that waits for a frame
 * or an answer is suspended, so that the server's thread waits for nothing but sockets.
 *
 * Paths are those of a table made at the start; no file is opened. Memory is bounded: connections,
 * streams and the bytes of a request have limits, a stream holds at most one picture, and a camera
 * two. */
#ifndef FFTD_VIEW_SERVER_H
#define FFTD_VIEW_SERVER_H

#include "view_camera.h"

struct server;

struct server_options {
    const char *const *names; /* of the cameras */
    unsigned name_count;      /* 1 .. CAMERA_MAX_COUNT */
    const char *const *hosts; /* see access_check; NULL at the end */
    unsigned fps;
    int quality;
    const char *token; /* which requests that change filters must have; NULL: none may */
};

/* Serves the socket fd, which it takes over if it succeeds. The options' texts must stay. 0 or
 * -errno. */
int server_create(struct server **ret, int fd, const struct server_options *options);

/* Ends all connections and threads. NULL is allowed. */
void server_destroy(struct server *server);

/* A descriptor for poll(), and what to call when it is readable. */
int server_fd(const struct server *server);
void server_sweep(struct server *server);

#endif
