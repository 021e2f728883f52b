/* Slots lent to clients.
 *
 * The writer and the server contend only for a slot's owner word, by one compare-and-swap each: the
 * writer changes 0 to RING_OPEN, the server adds one to any other value. Neither waits if it loses:
 * the writer tries the next oldest slot, and the server answers that the frame was overwritten. The
 * number of held slots is checked before a slot is touched, so the writer always finds one. */
#include "ring/private.h"

#include <errno.h>

#include "ring/slot.h"

unsigned ring_lends(const struct ring *ring)
{
    return ring->slot_count - RING_MAX_OPEN - 1;
}

static unsigned find_slot(const struct ring *ring, uint64_t sequence)
{
    unsigned slot = 0;
    while (slot < ring->slot_count && slot_load(ring->sequence[slot]) != sequence)
        slot++;
    return slot;
}

int ring_hold(struct ring *ring, uint64_t sequence, unsigned *ret_slot, struct error *why)
{
    unsigned slot = sequence == 0 ? ring->slot_count : find_slot(ring, sequence);
    if (slot == ring->slot_count)
        return error_set(why, ENOENT, "frame %llu is not in the ring; the newest is %llu",
                         (unsigned long long)sequence, (unsigned long long)ring_newest(ring));

    uint32_t holders = slot_load(ring->owner[slot]);
    do {
        if (holders == RING_OPEN)
            return error_set(why, ENOENT, "frame %llu is being overwritten",
                             (unsigned long long)sequence);
        if (holders == 0 && ring_is_done_with(ring, sequence))
            return error_set(why, ENOENT, "frame %llu has been read, and may be overwritten",
                             (unsigned long long)sequence);
        if (holders == 0 && ring->held_slots >= ring_lends(ring))
            return error_set(why, EBUSY,
                             "all frames that clients may hold are held: %u of a ring of %u slots",
                             ring_lends(ring), ring->slot_count);
    } while (!__atomic_compare_exchange_n(&ring->owner[slot], &holders, holders + 1, true,
                                          __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
    if (holders == 0)
        ring->held_slots++;
    /* The writer may have reused the slot between the search and the swap, but cannot from here. */
    if (slot_load(ring->sequence[slot]) != sequence) {
        ring_release(ring, slot);
        return error_set(why, ENOENT, "frame %llu has just been overwritten",
                         (unsigned long long)sequence);
    }
    *ret_slot = slot;
    return 0;
}

void ring_release(struct ring *ring, unsigned slot)
{
    /* Release: the holder has read the frame before the writer claims the slot again. */
    if (__atomic_fetch_sub(&ring->owner[slot], 1, __ATOMIC_RELEASE) == 1)
        ring->held_slots--;
}
