/* The writer of the shared-memory ring (ring.c) and the server of the frames socket (server.c).
 *
 * Promise: the writer never waits for a reader. The layout and the reader's side are in
 * client/include/fftd/ring.h.
 *
 * Threads: ring_begin, ring_publish, ring_cancel and ring_set_state belong to the writing thread;
 * the server runs in the event loop's thread; what they share (held slots, the list of eventfds)
 * is inside and never blocks the writer. */
#ifndef FFTD_RING_WRITER_H
#define FFTD_RING_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "fftd/ring.h"

struct ring;
struct ring_server;
struct sd_event;

/* Creates a ring: memfd, preallocated, sealed against growing and shrinking, mode 0400. format is
 * copied; its plane offsets and strides are what clients will see. slots is within
 * FFTD_MIN_SLOTS .. FFTD_MAX_SLOTS. -ENOMEM / -ENOSPC: no memory for it. */
int ring_create(struct ring **ret, const struct fftd_format *format, unsigned slots,
                uint32_t generation, uint32_t epoch, uint64_t first_sequence, struct error *why);

/* Flags the ring retired, wakes everybody, unmaps. Clients keep their mapping. NULL is allowed. */
void ring_destroy(struct ring *ring);

const struct fftd_format *ring_format(const struct ring *ring);

/* What the frame's slot will say besides its sequence and publication time. */
struct ring_meta {
    uint64_t source_sequence;
    uint64_t filter_serial;
    int64_t captured_ns, dequeued_ns, submitted_ns, finished_ns;
    uint32_t flags; /* FFTD_FLAG_..., CHECKSUM is added by the ring when asked for */
};

/* A slot being written. Several may be open at once (frames in flight), but are published in the
 * order they were begun. */
struct ring_write {
    unsigned slot;
    uint64_t sequence;
    uint8_t *data; /* first byte of the frame, 128-byte aligned */
};

/* Takes the oldest slot that is neither held by a client nor open, marks it as being written, and
 * gives it the next sequence number. Never blocks; never fails while at most two writes are open,
 * since clients can never hold so many that fewer than 3 slots are free. */
void ring_begin(struct ring *ring, struct ring_write *ret);

/* Makes the frame visible, then wakes readers. Returns the publication time. */
int64_t ring_publish(struct ring *ring, const struct ring_write *write,
                     const struct ring_meta *meta);

/* Gives the newest begun slot up: readers never see it, its sequence number is used again. */
void ring_cancel(struct ring *ring, const struct ring_write *write);

/* Changes the published state, wakes readers if it changed; `now_ns` becomes the heartbeat. */
void ring_set_state(struct ring *ring, enum fftd_state state, int64_t now_ns);

/* Whether publications carry a checksum (costs a pass over the frame). Off by default. */
void ring_set_checksum(struct ring *ring, bool on);

/* Newest published sequence. */
uint64_t ring_newest(const struct ring *ring);

/* Serves a listening AF_UNIX SOCK_SEQPACKET socket in this event loop; takes the descriptor over.
 * The ring may be NULL (clients are told to try again) and be replaced at any time, from the
 * loop's thread: old clients see it retired and attach anew. max_clients bounds the clients. */
int ring_server_create(struct ring_server **ret, struct sd_event *event, int listen_fd,
                       unsigned max_clients, struct error *why);
void ring_server_set_ring(struct ring_server *server, struct ring *ring);
void ring_server_destroy(struct ring_server *server);

struct ring_server_stats {
    unsigned clients;
    uint64_t attached; /* since start */
    uint64_t refused;  /* garbage, wrong ABI, too many */
    unsigned held_slots;
};
void ring_server_get_stats(const struct ring_server *server, struct ring_server_stats *ret);

#endif
