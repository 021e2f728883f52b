/* The ring's internals, shared by the files of this folder. */
#ifndef FFTD_RING_PRIVATE_H
#define FFTD_RING_PRIVATE_H

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

#include "ring/lock.h"
#include "ring/ring.h"

/* The matches are the last bytes of a slot before the frame. The bytes between the field of motion
 * and them are free. */
#define RING_MATCHES_BYTES ((uint32_t)(FFTD_MAX_MATCHES * sizeof(struct fftd_match)))
#define RING_LEAST_OFFSET  (FFTD_MOTION_OFFSET + RING_MATCHES_BYTES)

/* ---- memory.c: the memfd ---- */

/* The only mapping of the memory that can be written. It ends with its last reference. */
struct ring_mapping {
    unsigned references; /* atomic */
    uint8_t *base;
    size_t bytes;
};

struct ring_memory {
    int fd; /* read-only: what clients and a successor get */
    struct ring_mapping *mapping;
};

/* Creates a memfd of that size, filled with zeroes; maps and seals it. */
int ring_memory_create(struct ring_memory *ret, size_t bytes, struct error *why);

/* Closes, and drops the ring's reference to the mapping. */
void ring_memory_finish(struct ring_memory *memory);

/* ---- waker.c: waking readers ---- */

/* How one client is woken; part of the client's record. */
struct ring_listener {
    int fd;         /* our end of its wake-up socket */
    uint32_t *word; /* its wake-up word; NULL: it has not asked for one */
    bool gathered;  /* a reader that slept there has been moved to the common word */
    struct ring_listener *next;
};

struct waker {
    pthread_t thread;
    sem_t work;
    uint32_t *futex;
    struct list_lock lock; /* protects the list and `gathered`; the writer never waits for it */
    struct ring_listener *listeners;
    unsigned listener_count;
    uint32_t common;   /* the common word, which no client can map; its value is never used */
    unsigned gathered; /* sleepers moved there since those there were woken */
    bool stop;
};

/* Starts the thread. Readers may sleep on the word `futex`. */
int waker_start(struct waker *waker, uint32_t *futex, struct error *why);

/* Requests one round of waking and returns at once. Any thread. */
void waker_poke(struct waker *waker);

/* Wakes all readers if there are few, and otherwise requests a round. Never blocks; the number of
 * system calls is bounded, whatever clients do. Any thread. */
void waker_wake(struct waker *waker);

/* The work of the waker's thread. A round wakes every client. Gathering, between two rounds, moves
 * one sleeper of each client to the common word, where the next round wakes all of them with one
 * system call. */
void waker_round(struct waker *waker);
void waker_gather(struct waker *waker);

/* Every round wakes the listener, until it is removed. For the server's thread. */
void waker_add(struct waker *waker, struct ring_listener *listener);
void waker_remove(struct waker *waker, struct ring_listener *listener);

/* Completes the requested rounds, then ends the thread. */
void waker_stop(struct waker *waker);

/* ---- ring.c ---- */

/* The daemon decides only by this struct. The shared memory gets copies, and is only written.
 * (fields: what three threads share of one ring, each group with its thread.) */
struct ring {
    struct ring_memory memory;
    struct fftd_ring_header *header;
    struct fftd_format format;
    uint32_t header_bytes;
    uint32_t data_offset;
    uint64_t slot_stride;
    unsigned slot_count;
    uint32_t generation;
    uint32_t epoch;
    struct waker waker;

    /* For any thread. */
    uint32_t state; /* enum fftd_state */
    bool checksum;
    uint64_t newest_sequence; /* stored by the writer */
    bool lossless;            /* frames from keep_from on are kept */
    uint64_t keep_from;       /* stored by the server; never goes back */
    int room_fd;              /* the server tells the writer that keep_from has grown */

    /* Shared by the writer and the server: the owner of each slot, and the frame in it. Owners: 0:
     * none; RING_OPEN: the writer; any other value: the number of clients that hold the slot. */
    uint32_t owner[FFTD_MAX_SLOTS];
    uint64_t sequence[FFTD_MAX_SLOTS]; /* 0: none */

    /* For the writing thread. */
    uint32_t lock[FFTD_MAX_SLOTS];
    unsigned newest_slot; /* slot_count before the first frame */
    unsigned open_count;

    /* For the server's thread. */
    unsigned held_slots; /* slots with at least one holder */
    bool kept;           /* is in the store */
};

#define RING_OPEN UINT32_MAX

struct fftd_slot *ring_slot(const struct ring *ring, unsigned slot);

bool ring_is_retired(const struct ring *ring);

/* ---- hold.c: for the server's thread ---- */

/* The number of slots that all clients together may hold. */
unsigned ring_lends(const struct ring *ring);

/* Adds a holder to the slot of that frame. -ENOENT: the frame is not in the ring; -EBUSY: no more
 * slots may be held. */
int ring_hold(struct ring *ring, uint64_t sequence, unsigned *ret_slot, struct error *why);

/* Removes a holder. */
void ring_release(struct ring *ring, unsigned slot);

/* ---- lossless.c: for the server's thread ---- */

/* Keeps frames from this one on, and none before it. Does nothing if an older one is not kept any
 * more. */
void ring_keep_from(struct ring *ring, uint64_t sequence);

/* Returns whether the writer may take the slot of that frame before its holders are asked. */
bool ring_is_done_with(const struct ring *ring, uint64_t sequence);

#endif
