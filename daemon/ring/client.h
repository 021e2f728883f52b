/* Declarations that the files of the frames socket's server share: server.c (connections),
 * client_request.c (one request and its reply), client.c (the resources of one client). Each calls
 * only those after it. Event loop's thread. */
#ifndef FFTD_RING_CLIENT_H
#define FFTD_RING_CLIENT_H

#include <systemd/sd-event.h>

#include "core/admission.h"
#include "ring/private.h"

struct ring_server {
    sd_event *event;
    struct ring *ring;           /* NULL: none yet */
    struct admission *admission; /* the server's own, or that of another one */
    struct admission own_admission;
    struct client *clients;
    unsigned client_count;       /* all of them admitted */
    struct ring_store store;     /* all NULL: none */
    sd_event_source *keep_timer; /* armed while a client is to be put into the store */
    ring_server_watch_fn *watch; /* NULL: none */
    void *watch_context;
    uint64_t last_id;
    uint64_t attached;
    uint64_t refused;
};

struct client {
    struct ring_server *server;
    struct client *next;
    struct client **link; /* what points to this client */
    struct admission_entry admitted;
    sd_event_source *source;
    sd_event_source *deadline; /* for the first request; NULL after it */
    int fd;
    struct ring_listener wake; /* fd -1: not attached */
    struct ring_memory word;   /* the page of the wake-up word; no mapping: none */
    uint64_t id;               /* names the client in the store */
    bool kept;                 /* is in the store */
    int64_t attached_ns;       /* when the client attached first */
    bool leaving;              /* dropped, but has not received all replies */
    uint64_t held;             /* bit s: slot s of the server's ring is held */
    bool lossless;             /* the ring waits for it */
    uint64_t needs;            /* lossless: the oldest frame that it has not read */
};

/* ---- client_request.c ---- */

/* Carries out the request of `bytes` bytes and sends the reply. -errno: the client must be
 * dropped, because it sent garbage, speaks another ABI or does not read its replies. */
int client_answer(struct client *client, const struct fftd_message *request, ssize_t bytes);

/* Sends the reason of a refusal over a connection that is not admitted, and counts it. */
void client_refuse(struct ring_server *server, int fd, const struct error *why);

/* ---- client.c ---- */

/* Attaches the client to the server's ring, again if it is attached already. Makes a wake-up socket
 * and, with with_word, a wake-up word; without, *ret_word_fd is -1. The caller sends and closes
 * both descriptors. */
int client_attach(struct client *client, bool with_word, int *ret_wake_fd, int *ret_word_fd,
                  struct error *why);

/* Closes the wake-up socket and unmaps the word. Does nothing for a client that is not attached. */
void client_detach(struct client *client);

/* A client holds a frame once, however often it asks, and at most half of the frames that all
 * clients may hold: -EBUSY. Otherwise as ring_hold; releasing a frame that is not held is -ENOENT.
 */
int client_hold(struct client *client, uint64_t sequence, struct error *why);
int client_release(struct client *client, uint64_t sequence, struct error *why);
void client_release_all(struct client *client);

/* Makes the ring keep frames for the client until it has read them, or detaches. Returns the first
 * one. */
uint64_t client_require(struct client *client);

/* The client, for which the ring keeps frames, has read those up to this one. */
void client_read(struct client *client, uint64_t sequence);

/* Puts the connection into the store if it has lasted long enough since the client attached.
 * Returns when that will be the case; INT64_MAX: there is nothing to do. */
int64_t client_keep(struct client *client);

/* Removes the connection from the store. */
void client_forget(struct client *client);

#endif
