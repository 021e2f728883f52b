/* The ring's internals, shared by the files of this folder. */
#ifndef FFTD_RING_PRIVATE_H
#define FFTD_RING_PRIVATE_H

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

#include "ring/ring.h"

/* ---- memory.c: the memfd ---- */

struct ring_memory {
    int fd;        /* the daemon's own, for reading and writing */
    int client_fd; /* the same file opened O_RDONLY: what clients get */
    uint8_t *base;
    size_t bytes;
};

/* Creates a memfd of that size, filled with zeroes; seals and maps it. */
int ring_memory_create(struct ring_memory *ret, size_t bytes, struct error *why);

/* Maps a memfd that ring_memory_create made in another process. Takes the descriptor over, on
 * failure too. -EPROTO: it is not sealed, or cannot hold a header. */
int ring_memory_adopt(struct ring_memory *ret, int fd, struct error *why);

/* Unmaps and closes. */
void ring_memory_finish(struct ring_memory *memory);

/* ---- waker.c: a thread that wakes readers, so that the writer does not have to ---- */

/* The writing end of one client's wake-up pipe; part of the client's record. */
struct ring_listener {
    int fd;
    struct ring_listener *next;
};

struct waker {
    pthread_t thread;
    sem_t work;
    uint32_t *futex;
    pthread_mutex_t lock; /* protects the list; the writer never takes it */
    struct ring_listener *listeners;
    bool stop;
};

/* Starts the thread. Readers may sleep on the word `futex`. */
int waker_start(struct waker *waker, uint32_t *futex, struct error *why);

/* Requests one round of waking and returns at once. Any thread. */
void waker_poke(struct waker *waker);

/* Completes the requested rounds, then ends the thread. */
void waker_stop(struct waker *waker);

/* ---- ring.c ---- */

struct ring {
    struct ring_memory memory;
    struct fftd_ring_header *header;
    struct fftd_format format; /* header, format and geometry are kept here so that nothing in */
    uint32_t header_bytes;     /* shared memory decides where the writer writes */
    uint32_t data_offset;
    uint64_t slot_stride;
    unsigned slot_count;
    struct waker waker;

    /* Shared by the writer and the server: the owner of each slot. 0: none; RING_OPEN: the writer;
     * any other value: the number of clients that hold the slot. */
    uint32_t owner[FFTD_MAX_SLOTS];
    bool checksum;
    bool kept; /* a successor may find it; used while adopting, by the server, while destroying */
    uint64_t newest_sequence; /* stored by the writer, loaded by any thread */

    /* For the writing thread. */
    unsigned newest_slot; /* slot_count before the first frame */
    unsigned open_count;

    /* For the server's thread. */
    unsigned held_slots; /* slots with at least one holder */
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

/* Every publication writes to the listener's pipe, until the listener is removed. */
void ring_add_listener(struct ring *ring, struct ring_listener *listener);
void ring_remove_listener(struct ring *ring, struct ring_listener *listener);

#endif
