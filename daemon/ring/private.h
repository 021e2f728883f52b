/* What the files of this folder share: the ring's inside. */
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

/* Creates, fills with zeroes, seals and maps a memfd of that size. */
int ring_memory_create(struct ring_memory *ret, size_t bytes, struct error *why);

/* Maps one that was created by ring_memory_create in another process. Takes the descriptor over, on
 * failure too. -EPROTO: it is not sealed, or cannot hold a header. */
int ring_memory_adopt(struct ring_memory *ret, int fd, struct error *why);

/* Unmaps and closes. */
void ring_memory_finish(struct ring_memory *memory);

/* ---- waker.c: a thread that wakes readers, so that the writer need not ---- */

/* One client's wake-up pipe, the writing end; lives in the client's own record. */
struct ring_listener {
    int fd;
    struct ring_listener *next;
};

struct waker {
    pthread_t thread;
    sem_t work;
    uint32_t *futex;
    pthread_mutex_t lock; /* of the list; the writer never takes it */
    struct ring_listener *listeners;
    bool stop;
};

/* Starts the thread. `futex` is the word readers may sleep on. */
int waker_start(struct waker *waker, uint32_t *futex, struct error *why);

/* Asks for one round of waking and returns at once. Any thread. */
void waker_poke(struct waker *waker);

/* Does the rounds asked for, then ends the thread. */
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

    /* Between the writer and the server: who owns a slot. 0: nobody; RING_OPEN: the writer; else
     * the number of clients that hold it. */
    uint32_t owner[FFTD_MAX_SLOTS];
    bool checksum;
    bool kept; /* a successor may find it. The adopter's, the server's, the destroyer's, in turn */
    uint64_t newest_sequence; /* stored by the writer, loaded by anybody */

    /* The writing thread's. */
    unsigned newest_slot; /* slot_count before the first frame */
    unsigned open_count;

    /* The server thread's. */
    unsigned held_slots; /* slots with at least one holder */
};

#define RING_OPEN UINT32_MAX

struct fftd_slot *ring_slot(const struct ring *ring, unsigned slot);

bool ring_is_retired(const struct ring *ring);

/* ---- hold.c: for the server's thread ---- */

/* How many slots clients may hold, all together. */
unsigned ring_lends(const struct ring *ring);

/* Adds a holder to the slot in which that frame lies. -ENOENT: there is none; -EBUSY: as many
 * slots as may be are held. */
int ring_hold(struct ring *ring, uint64_t sequence, unsigned *ret_slot, struct error *why);

/* Takes a holder off. */
void ring_release(struct ring *ring, unsigned slot);

/* Has the listener's pipe written to at every publication, until removed. */
void ring_add_listener(struct ring *ring, struct ring_listener *listener);
void ring_remove_listener(struct ring *ring, struct ring_listener *listener);

#endif
