/* The open connections, and their time limits. libmicrohttpd's own limit restarts with each byte,
 * so a request could arrive for ever, byte by byte. */
#ifndef FFTD_VIEW_CONNECTIONS_H
#define FFTD_VIEW_CONNECTIONS_H

#include <stdbool.h>

#define CONNECTIONS_MAX      192
#define CONNECTION_IDLE_S    10 /* the limit for the headers of the next request */
#define CONNECTION_REQUEST_S 30 /* the limit for a request and its answer, except a stream */

struct connections;
struct connection;

/* 0 or -errno. */
int connections_create(struct connections **ret);
void connections_destroy(struct connections *connections); /* NULL is allowed */

/* Returns a descriptor for poll(), which is readable when connections_sweep has to be called. */
int connections_fd(const struct connections *connections);

/* The server's thread calls these. connections_open returns NULL if there are CONNECTIONS_MAX. */
struct connection *connections_open(struct connections *connections, int fd);
void connections_close(struct connections *connections, struct connection *connection);

/* Called when a request begins, and when its answer is complete. A stream has no time limit. The
 * connection may be NULL. */
void connections_begin(struct connections *connections, struct connection *connection,
                       bool is_stream);
void connections_end(struct connections *connections, struct connection *connection);

/* Shuts down connections that have exceeded their limits; the server's thread then closes them. */
void connections_sweep(struct connections *connections);

#endif
