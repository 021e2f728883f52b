/* Keeping frames until they are read.
 *
 * One number says which frames are kept: those from keep_from on. It is the oldest frame that any
 * reader of this kind still needs, and never goes back. So a reader that attaches can be promised
 * all frames from keep_from on without stopping the writer: they are in the ring, and stay there.
 * If the last reader leaves, the number stays as it is, and the next one continues there.
 *
 * The writer does not wait here. It takes no frame from its source while there is no room, and is
 * woken by room_fd. */
#include "ring/private.h"

#include <sys/eventfd.h>

#include "ring/slot.h"

void ring_set_lossless(struct ring *ring, bool on)
{
    __atomic_store_n(&ring->lossless, on, __ATOMIC_RELEASE);
}

bool ring_is_lossless(const struct ring *ring)
{
    return __atomic_load_n(&ring->lossless, __ATOMIC_ACQUIRE);
}

/* Acquire: the readers have read what was kept before the writer overwrites it. */
static uint64_t kept_from(const struct ring *ring)
{
    return __atomic_load_n(&ring->keep_from, __ATOMIC_ACQUIRE);
}

/* ring_begin takes the oldest slot of those that are looked at here. No other thread can take the
 * one that is found: the server lends no frame that is done with (hold.c). */
bool ring_has_room(const struct ring *ring)
{
    if (!ring_is_lossless(ring))
        return true;
    const uint64_t from = kept_from(ring);
    for (unsigned i = 0; i < ring->slot_count; i++)
        if (slot_load(ring->owner[i]) == 0 && i != ring->newest_slot &&
            slot_load(ring->sequence[i]) < from)
            return true;
    return false;
}

bool ring_is_read(const struct ring *ring)
{
    return !ring_is_lossless(ring) || kept_from(ring) > ring_newest(ring);
}

int ring_room_fd(const struct ring *ring)
{
    return ring->room_fd;
}

void ring_keep_from(struct ring *ring, uint64_t sequence)
{
    if (sequence <= ring->keep_from)
        return;
    __atomic_store_n(&ring->keep_from, sequence, __ATOMIC_RELEASE);
    eventfd_write(ring->room_fd, 1);
}

bool ring_is_done_with(const struct ring *ring, uint64_t sequence)
{
    return ring_is_lossless(ring) && sequence < ring->keep_from && sequence != ring_newest(ring);
}
