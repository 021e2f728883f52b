/* The writer of the shared-memory ring (ring.c) and the server of the frames socket (server.c).
 *
 * No function here waits for a reader. The layout and the reader's side are in
 * client/include/fftd/ring.h.
 *
 * Threads: ring_begin, ring_publish, ring_cancel and ring_set_state belong to the writing thread;
 * the server runs in the event loop's thread. Each ring has a third thread that wakes readers, so
 * that publishing costs the same with no client and with a hundred.
 *
 * Slots. RING_MAX_OPEN of N slots may be open for writing, and one is the newest published frame,
 * which is not rewritten before there is a newer one. All clients together may hold the
 * other N - RING_MAX_OPEN - 1, so the writer always finds a slot. A ring of FFTD_MIN_SLOTS lends
 * none. */
#ifndef FFTD_RING_RING_H
#define FFTD_RING_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/error.h"
#include "fftd/ring.h"

/* Frames that may be written at the same time; the engine's frames in flight. */
#define RING_MAX_OPEN 3u

struct ring;
struct ring_server;
struct sd_event;

/* Creates a ring: memfd, preallocated, sealed against growing, shrinking and all other writers
 * (memory.c). format is copied; its plane offsets and strides are what clients will see. slots is
 * within FFTD_MIN_SLOTS .. FFTD_MAX_SLOTS; first_sequence is that of the first frame, at least 1.
 * motion_bytes: room in each slot for a field of motion, which is a struct fftd_motion with its
 * vectors and confidences; 0 leaves about 3 KiB, the rest of the slot's first page.
 * -EINVAL: not a layout; -ENOMEM / -ENOSPC: no memory for it. */
int ring_create(struct ring **ret, const struct fftd_format *format, unsigned slots,
                uint32_t motion_bytes, uint32_t generation, uint32_t epoch, uint64_t first_sequence,
                struct error *why);

/* Creates a ring that follows the one a previous process left, for the same frames: one more in
 * generation and epoch, and the next sequence number. The state is offline until ring_set_state.
 * fd is the old ring's, for reading; closed, on failure too. -EPROTO: it is not a ring; otherwise
 * as ring_create. */
int ring_continue(struct ring **ret, int fd, struct error *why);

/* Reports to readers that another ring replaces this one. Any thread. */
void ring_retire(struct ring *ring);

/* Retires the ring and unmaps it, unless ring_keep_mapped keeps the mapping. Clients keep theirs.
 * The server must not use the ring any more. NULL is allowed. */
void ring_destroy(struct ring *ring);

const struct fftd_format *ring_format(const struct ring *ring);
unsigned ring_slots(const struct ring *ring);
uint32_t ring_motion_room(const struct ring *ring); /* bytes for a field of motion in a slot */
uint32_t ring_generation(const struct ring *ring);
uint32_t ring_epoch(const struct ring *ring);

/* The properties of a frame that its slot records, besides the sequence and the publication
 * time. */
struct ring_meta {
    uint64_t source_sequence;
    uint64_t filter_serial;
    int64_t captured_ns, dequeued_ns, submitted_ns, finished_ns;
    uint32_t flags;                /* FFTD_FLAG_...; the ring adds CHECKSUM if that is on */
    struct fftd_measures measures; /* zeros without FFTD_FLAG_MEASURES */
    struct fftd_match match[FFTD_MAX_MATCHES]; /* the chain's */
    uint32_t match_count;              /* the ring adds FFTD_FLAG_MATCH and FFTD_FLAG_MATCHES */
    struct fftd_similarity similarity; /* zeros without FFTD_FLAG_SIMILARITY */
    const void *motion;    /* struct fftd_motion with what follows it; NULL: none. The ring
                              adds FFTD_FLAG_MOTION if it has room for it */
    uint32_t motion_bytes; /* a multiple of 4 */
};

/* A ring that is lossless keeps each frame until every reader that asked for it has read it, and at
 * least one has; its writer asks ring_has_room before it takes a frame. Off by default. To be set
 * while the source can wait, by the writing thread. */
void ring_set_lossless(struct ring *ring, bool on);
bool ring_is_lossless(const struct ring *ring);

/* Returns whether ring_begin would overwrite no frame that is kept; stays so until ring_begin. */
bool ring_has_room(const struct ring *ring);

/* Returns whether no published frame is kept: all have been read, or the ring is not lossless. */
bool ring_is_read(const struct ring *ring);

/* An eventfd, readable after readers have made progress. The writer polls it while there is no
 * room, and reads it. */
int ring_room_fd(const struct ring *ring);

/* A slot being written. Several may be open at once (frames in flight). */
struct ring_write {
    unsigned slot;
    uint8_t *data; /* first byte of the frame, at the start of a page */
};

/* Takes the oldest slot that is neither held by a client, nor open, nor the newest frame, and marks
 * it as being written. Never blocks and never fails; at most RING_MAX_OPEN writes may be open. */
void ring_begin(struct ring *ring, struct ring_write *ret);

/* Gives the frame the next sequence number, makes it visible and wakes readers. Returns the
 * publication time; ring_newest returns the frame's number from then on. */
int64_t ring_publish(struct ring *ring, const struct ring_write *write,
                     const struct ring_meta *meta);

/* Drops any open write: readers never see it, and no sequence number is lost. */
void ring_cancel(struct ring *ring, const struct ring_write *write);

/* The first byte of a slot's frame. Any thread; only the writer of the slot may access it. */
uint8_t *ring_frame(const struct ring *ring, unsigned slot);

/* Keeps the daemon's mapping of the ring's memory until ring_unmap, even after ring_destroy, for a
 * device that writes frames into slots. Any thread; ring_unmap takes NULL. A slot of which nobody
 * knows whether the device still writes it stays open; its ring is then replaced. */
struct ring_mapping;
struct ring_mapping *ring_keep_mapped(struct ring *ring);
void ring_unmap(struct ring_mapping *mapping);

/* Changes the published state, wakes readers if it changed; heartbeat_ns becomes the heartbeat. A
 * published frame is a heartbeat too, but leaves the state alone. */
void ring_set_state(struct ring *ring, enum fftd_state state, int64_t heartbeat_ns);

/* Sets whether published frames carry a checksum, which costs a pass over each frame. Off by
 * default. */
void ring_set_checksum(struct ring *ring, bool on);

/* The newest published frame's number; first_sequence - 1 before the first frame. The next ring
 * always continues at ring_newest + 1. Any thread. */
uint64_t ring_newest(const struct ring *ring);

/* Serves clients of the frames socket (AF_UNIX SOCK_SEQPACKET) in this event loop, at most
 * max_clients at the same time. The ring may be NULL (clients get the answer to try again) and may
 * be replaced at any time, from the loop's thread: clients see the old one retired and attach
 * again. */
int ring_server_create(struct ring_server **ret, struct sd_event *event, unsigned max_clients,
                       struct error *why);

/* Serves a new connection of a process of this user. Takes the descriptor over, on failure too.
 * -EUSERS: too many clients, which is also reported to the client. */
int ring_server_accept(struct ring_server *server, int fd, uid_t uid, struct error *why);

/* Replaces the ring; the server keeps a pointer to the new one. Retires the old one and releases
 * all holds on it; the caller still destroys it. */
void ring_server_set_ring(struct ring_server *server, struct ring *ring);
void ring_server_destroy(struct ring_server *server);

/* Destroys the server of a ring that nobody will serve any more: every connection ends, also in the
 * store, and clients see the ring retired. Its writer may not have ended yet. */
void ring_server_end(struct ring_server *server);

/* Calls `changed` after the first client has connected and after the last one has left, in the
 * loop's thread. To be called before there is a client. */
typedef void ring_server_watch_fn(void *context, bool has_clients);
void ring_server_watch(struct ring_server *server, ring_server_watch_fn *changed, void *context);

/* Counts its clients together with those of another server, which outlives it: the limit in all,
 * and that of one user, are for both. To be called before there is a client. */
void ring_server_join(struct ring_server *server, struct ring_server *other);

/* Where descriptors outlive this process (systemd's fd store): `keep` puts a copy there under a
 * name, `forget` removes everything with that name. A new ring replaces the old one. The ring of
 * the first output is RING_STORE_NAME, and the names of its clients' connections are
 * RING_STORE_CLIENT and a number. With another output's name they are "ring-small" and
 * "client-small-1". */
#define RING_STORE_NAME   "ring"
#define RING_STORE_CLIENT "client-"
#define RING_STORE_BYTES  80 /* the longest name */
struct ring_store {
    void (*keep)(void *context, const char *name, int fd);
    void (*forget)(void *context, const char *name);
    void *context;
    char output[RING_STORE_BYTES - 32]; /* empty: the first one */
};

/* Writes the name of an output's ring. */
void ring_store_name(const char *output, char name[RING_STORE_BYTES]);

/* Returns the number in the name of an output's client; 0: it is not one that this program gave. */
uint64_t ring_store_client_id(const char *output, const char *name);

/* To be called before there is a ring or a client. */
void ring_server_set_store(struct ring_server *server, const struct ring_store *store);

/* Continues to serve a connection that a previous process kept under this name; max_clients does
 * not apply. Takes the descriptor over, on failure too. -EINVAL: no client has such a name. */
int ring_server_adopt(struct ring_server *server, int fd, const char *name, struct error *why);

struct ring_server_stats {
    unsigned clients;  /* including dropped ones that have not received all replies yet */
    uint64_t attached; /* since start */
    uint64_t refused;  /* since start: garbage, wrong ABI, too many clients, no memory */
    uint64_t held_slots;
};
void ring_server_get_stats(const struct ring_server *server, struct ring_server_stats *ret);

#endif
