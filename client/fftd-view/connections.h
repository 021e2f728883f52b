/* The open connections, and how long each may still take. The library's own time limit begins again
 * with each byte, so that a request that never ends would never end. */
#ifndef FFTD_VIEW_CONNECTIONS_H
#define FFTD_VIEW_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define CONNECTIONS_MAX      192
#define CONNECTION_IDLE_S    10 /* until the headers of the next request are complete */
#define CONNECTION_REQUEST_S 30 /* for a request and its answer, except streams */

struct connections;
struct connection;

/* 0 or -errno. */
int connections_create(struct connections **ret);
void connections_destroy(struct connections *connections); /* NULL is allowed */

/* A descriptor for poll(): readable when connections_sweep has something to look at. */
int connections_fd(const struct connections *connections);

/* Called by the server's thread. open returns NULL if there are CONNECTIONS_MAX. */
struct connection *connections_open(struct connections *connections, int fd);
void connections_close(struct connections *connections, struct connection *connection);

/* A request is complete, or its answer; a stream has no time limit. connection may be NULL. */
void connections_begin(struct connections *connections, struct connection *connection,
                       bool is_stream);
void connections_end(struct connections *connections, struct connection *connection);

/* Shuts down those whose time is over; the server's thread then closes them. */
void connections_sweep(struct connections *connections);

#endif
