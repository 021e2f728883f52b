/* The writer of the shared-memory ring (ring.c) and the server of the frames socket (server.c).
 *
 * Promise: the writer never waits for a reader. The layout and the reader's side are in
 * client/include/fftd/ring.h.
 *
 * Threads: ring_begin, ring_publish, ring_cancel and ring_set_state belong to the writing thread;
 * the server runs in the event loop's thread; readers are woken by a third one that each ring
 * brings along, so that publishing costs the same with no client and with a hundred. What the
 * threads share is inside and never blocks the writer.
 *
 * Slots. Of N slots, RING_MAX_OPEN may be open for writing and one is the newest published frame,
 * which is never rewritten before there is a newer one. The rest, N - RING_MAX_OPEN - 1, is what
 * clients may hold, all together: however they behave, the writer finds a slot. A ring of
 * FFTD_MIN_SLOTS works and lends none. */
#ifndef FFTD_RING_WRITER_H
#define FFTD_RING_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "fftd/ring.h"

/* Frames that may be written at the same time; the engine's frames in flight. */
#define RING_MAX_OPEN 3u

struct ring;
struct ring_server;
struct sd_event;

/* Creates a ring: memfd, preallocated, sealed against growing and shrinking, mode 0400. format is
 * copied; its plane offsets and strides are what clients will see. slots is within
 * FFTD_MIN_SLOTS .. FFTD_MAX_SLOTS; first_sequence is that of the first frame, at least 1.
 * -EINVAL: not a layout; -ENOMEM / -ENOSPC: no memory for it. */
int ring_create(struct ring **ret, const struct fftd_format *format, unsigned slots,
                uint32_t generation, uint32_t epoch, uint64_t first_sequence, struct error *why);

/* Takes over a ring that a process before this one has left: frames it was writing are given up,
 * the epoch goes up by one, numbers go on, and the state is offline until told otherwise. It counts
 * as kept already: should this process end soon, its successor may find it too. Takes the
 * descriptor over, on failure too. -ESTALE: it is retired, or not laid out as this daemon would;
 * -EPROTO: it is no ring. */
int ring_adopt(struct ring **ret, int fd, struct error *why);

/* Tells readers that no frame will come here any more: another ring takes this one's place. Any
 * thread. */
void ring_retire(struct ring *ring);

/* Retires the ring (if it is kept for a successor: flags it offline), unmaps. Clients keep their
 * mapping. The server must have been given another ring or NULL before, or have gone. NULL is
 * allowed. */
void ring_destroy(struct ring *ring);

const struct fftd_format *ring_format(const struct ring *ring);
unsigned ring_slots(const struct ring *ring);
uint32_t ring_generation(const struct ring *ring);
uint32_t ring_epoch(const struct ring *ring);

/* What the frame's slot will say besides its sequence and publication time. */
struct ring_meta {
    uint64_t source_sequence;
    uint64_t filter_serial;
    int64_t captured_ns, dequeued_ns, submitted_ns, finished_ns;
    uint32_t flags; /* FFTD_FLAG_..., CHECKSUM is added by the ring when asked for */
};

/* A slot being written. Several may be open at once (frames in flight). */
struct ring_write {
    unsigned slot;
    uint8_t *data; /* first byte of the frame, 128-byte aligned */
};

/* Takes the oldest slot that is neither held by a client nor open nor the newest frame, and marks
 * it as being written. Never blocks and never fails; at most RING_MAX_OPEN writes may be open. */
void ring_begin(struct ring *ring, struct ring_write *ret);

/* Gives the frame the next sequence number, makes it visible, then has readers woken. Returns the
 * publication time; ring_newest is the frame's number from then on. */
int64_t ring_publish(struct ring *ring, const struct ring_write *write,
                     const struct ring_meta *meta);

/* Gives an open write up, whichever it is: readers never see it and no number is lost. */
void ring_cancel(struct ring *ring, const struct ring_write *write);

/* Changes the published state, wakes readers if it changed; heartbeat_ns becomes the heartbeat. A
 * published frame is a heartbeat too, but leaves the state alone. */
void ring_set_state(struct ring *ring, enum fftd_state state, int64_t heartbeat_ns);

/* Whether publications carry a checksum (costs a pass over the frame). Off by default. */
void ring_set_checksum(struct ring *ring, bool on);

/* The newest published frame's number; before this ring's first, the one before first_sequence, so
 * that the next ring goes on at ring_newest + 1 in any case. Any thread. */
uint64_t ring_newest(const struct ring *ring);

/* Serves a listening AF_UNIX SOCK_SEQPACKET socket in this event loop; takes the descriptor over.
 * The ring may be NULL (clients are told to try again) and be replaced at any time, from the
 * loop's thread: old clients see it retired and attach anew. max_clients bounds the clients. */
int ring_server_create(struct ring_server **ret, struct sd_event *event, int listen_fd,
                       unsigned max_clients, struct error *why);
void ring_server_set_ring(struct ring_server *server, struct ring *ring);
void ring_server_destroy(struct ring_server *server);

/* Calls `changed` when the first client has come and when the last one has gone, in the loop's
 * thread. One that only connected counts: it is about to attach. To be called before there is a
 * client. */
typedef void ring_server_watch_fn(void *context, bool has_clients);
void ring_server_watch(struct ring_server *server, ring_server_watch_fn *changed, void *context);

/* Where descriptors outlive this process (systemd's fd store): `keep` puts a copy there under a
 * name, `forget` takes whatever has that name out again. The ring is kept under RING_STORE_NAME,
 * in the place of any before it, each client's connection under a name that begins with
 * RING_STORE_CLIENT. */
#define RING_STORE_NAME   "ring"
#define RING_STORE_CLIENT "client-"
struct ring_store {
    void (*keep)(void *context, const char *name, int fd);
    void (*forget)(void *context, const char *name);
    void *context;
};

/* To be called before there is a ring or a client. */
void ring_server_set_store(struct ring_server *server, const struct ring_store *store);

/* Goes on serving a connection that a process before this one kept under this name. Takes the
 * descriptor over, on failure too. */
int ring_server_adopt(struct ring_server *server, int fd, const char *name, struct error *why);

struct ring_server_stats {
    unsigned clients;  /* those too that were dropped and have not fetched all they were sent */
    uint64_t attached; /* since start */
    uint64_t refused;  /* garbage, wrong ABI, too many */
    unsigned held_slots;
};
void ring_server_get_stats(const struct ring_server *server, struct ring_server_stats *ret);

#endif
