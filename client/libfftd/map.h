/* One ring, mapped read-only and checked, and the client's holds on its frames. */
#ifndef LIBFFTD_MAP_H
#define LIBFFTD_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <fftd/ring.h>

/* The geometry is a copy that was checked once: nothing that the daemon writes into the header
 * later can move a pointer of this process. */
struct map {
    uint32_t serial; /* counts the attachments of a struct fftd; 0: nothing is mapped here */
    const uint8_t *base;
    size_t bytes;
    dev_t device; /* device and inode identify the memfd */
    ino_t inode;
    uint32_t header_bytes;
    uint32_t data_offset;
    size_t slot_stride;
    unsigned slot_count;
    uint32_t generation;
    struct fftd_format format;
    unsigned pins;
    unsigned hold_total;
    unsigned hold_count[FFTD_MAX_SLOTS]; /* how often the client holds the slot's frame */
    uint64_t hold_sequence[FFTD_MAX_SLOTS];
    uint64_t asked_sequence[FFTD_MAX_SLOTS]; /* the frame that the daemon was asked to hold; 0:
                                                none */
};

/* Returns whether every byte of the file stays readable while it is mapped. */
bool map_is_sound(int fd);

/* Maps the ring behind the descriptor, which remains the caller's. -EPROTO: the ring could shrink,
 * or its header points outside it. */
int map_open(struct map *ret, int fd);
void map_close(struct map *map);

/* Closes a map that is no longer the current one, unless frames of it are held or pinned. */
void map_close_unused(struct map *map);

const struct fftd_ring_header *map_header(const struct map *map);
const struct fftd_slot *map_slot(const struct map *map, unsigned slot);

/* Returns whether the descriptor is the memfd that is mapped here. */
bool map_is(const struct map *map, int fd);

/* Returns whether no more frames will be published in this ring. */
bool map_is_retired(const struct map *map);

/* Returns the sequence of the frame that the client holds in this slot; 0: none. */
uint64_t map_held(const struct map *map, unsigned slot);

/* Forgets the holds on the slot's frame, which has been overwritten. */
void map_lose_holds(struct map *map, unsigned slot);

#endif
