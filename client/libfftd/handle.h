/* The contents of a struct fftd. link.c owns the connection, read.c the position in the ring. */
#ifndef LIBFFTD_HANDLE_H
#define LIBFFTD_HANDLE_H

#include <fftd/fftd.h>

#include "map.h"

enum link_state {
    LINK_DOWN,    /* no connection; the timer starts the next attempt */
    LINK_ASKED,   /* ATTACH was sent; its reply has not arrived yet */
    LINK_WAITING, /* connected, but the daemon has no ring; the timer starts the next request */
    LINK_UP,      /* attached */
};

/* Rings that can be mapped at once: the current one, and old ones with frames in use. */
#define MAX_MAPS     4

/* Requests that can be unanswered at once. The daemon disconnects a client that leaves more than
 * a few replies unread. */
#define MAX_REQUESTS 4

struct link_request {
    enum fftd_request kind;
    unsigned slot; /* slot and sequence of the frame, for HOLD and RELEASE */
    uint64_t sequence;
};

struct fftd {
    enum link_state state;
    int error;    /* why the link is not up: -errno; 0: it is up, or the reply is pending */
    int epoll_fd; /* watches the next three */
    int timer_fd;
    int socket_fd;                             /* -1: none */
    int wake_fd;                               /* the wake-up socket; -1: none */
    const uint32_t *word;                      /* the wake-up word; NULL: this daemon has none */
    int retry_ms;                              /* pause before the next attempt */
    bool continued;                            /* the present connection delivered `current` */
    struct link_request request[MAX_REQUESTS]; /* unanswered; replies come in the same order */
    unsigned request_count;
    int hold_result; /* the result of the last HOLD that was answered */
    struct map map[MAX_MAPS];
    struct map *current; /* NULL before the first ring */
    uint32_t serial;     /* the newest map's serial */
    uint64_t last;       /* the sequence that was returned last; 0: none */
    bool lossless;       /* the daemon keeps frames until this client reports them read */
    uint64_t told;       /* lossless: the last sequence reported as read */
    char socket_path[108];
};

#endif
