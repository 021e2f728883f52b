/* What the files of the library share. Nothing here is exported. */
#ifndef LIBFFTD_PRIVATE_H
#define LIBFFTD_PRIVATE_H

#include <stddef.h>
#include <sys/types.h>

#include <fftd/fftd.h>

/* ---- map.c: one ring, mapped and checked ---- */

/* The geometry is a copy, taken and checked once: what the daemon writes into the header later
 * moves no pointer of ours. */
struct map {
    uint32_t serial; /* which attachment of this struct fftd; 0: nothing is mapped here */
    const uint8_t *base;
    size_t bytes;
    dev_t device; /* these two tell whether it is the same memfd again */
    ino_t inode;
    uint32_t header_bytes;
    uint32_t data_offset;
    size_t slot_stride;
    unsigned slot_count;
    uint32_t generation;
    struct fftd_format format;
    unsigned pins;
    unsigned hold_total;
    unsigned hold_count[FFTD_MAX_SLOTS]; /* how often this client holds the frame in a slot */
    uint64_t hold_sequence[FFTD_MAX_SLOTS];
};

/* Maps the ring behind the descriptor, which stays the caller's. -EPROTO: it is not one that can
 * be trusted not to go away or to lead outside itself. */
int map_open(struct map *ret, int fd);
void map_close(struct map *map);

/* Closes a map that is not the current one any more, unless frames of it are held or pinned. */
void map_close_unused(struct map *map);

const struct fftd_ring_header *map_header(const struct map *map);
const struct fftd_slot *map_slot(const struct map *map, unsigned slot);

/* Whether the descriptor is the memfd that is mapped here. */
bool map_is(const struct map *map, int fd);

/* ---- link.c: the frames socket, and what a camera is ---- */

enum link_state {
    LINK_DOWN,    /* no connection; the timer says when to try again */
    LINK_ASKED,   /* ATTACH is sent, the answer is awaited */
    LINK_WAITING, /* connected, but there is no ring to have; the timer says when to ask again */
    LINK_UP,      /* attached */
};

/* Rings that may be mapped at once: the present one, and old ones whose frames are still used. */
#define MAX_MAPS 4

struct fftd {
    enum link_state state;
    int error;    /* what keeps the link from being up: 0 or -errno */
    int epoll_fd; /* watches the next three */
    int timer_fd;
    int socket_fd;  /* -1: none */
    int wake_fd;    /* the wake-up pipe; -1: none */
    int retry_ms;   /* how long to wait before the next attempt */
    bool continued; /* the connection is the one `current` came over */
    struct map map[MAX_MAPS];
    struct map *current; /* NULL before the first ring */
    uint32_t serial;     /* of the newest map */
    uint64_t last;       /* sequence last returned; 0: none */
    char socket_path[108];
};

/* Makes what lives as long as the camera. */
int link_init(struct fftd *camera);
void link_finish(struct fftd *camera);

/* Connects and asks for the ring, or arms the timer to try again. Never waits. */
void link_start(struct fftd *camera);

/* Asks for the ring anew on the connection there is. */
void link_ask(struct fftd *camera);

/* Waits up to timeout_ms (-1: for ever) for something to happen and deals with it. Returns 0, or
 * -EINTR after a signal. */
int link_step(struct fftd *camera, int timeout_ms);

/* One request about a frame of the current ring, and its answer, waited for for a bounded time.
 * Returns the answer's result; -EPIPE, -ETIMEDOUT or -EPROTO if there was none: then the link is
 * down. */
int link_call(struct fftd *camera, enum fftd_request kind, uint64_t sequence);

/* The clock all timeouts go by, in ms. */
int64_t link_now_ms(void);

/* ---- hold.c ---- */

/* Asks a daemon that may not know of it to go on holding what is held of the current ring. */
void hold_again(struct fftd *camera);

/* ---- read.c ---- */

/* Whether the current ring has a frame that fftd_frame has not returned. */
bool read_has_news(struct fftd *camera);

/* Whether no more frames will come to the current ring. */
bool read_is_retired(const struct fftd *camera);

/* The map a frame lies in, NULL if that has been unmapped. */
struct map *read_find_map(struct fftd *camera, const struct fftd_frame *frame);

#endif
