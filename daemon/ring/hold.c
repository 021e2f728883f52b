/* Slots lent to clients.
 *
 * A slot's owner word is the only thing the writer and the server contend for, by one
 * compare-and-swap each: the writer takes 0 to RING_OPEN, the server adds one to anything else.
 * Whoever loses goes on without waiting: the writer to the next oldest slot, the server to the
 * answer that the frame is gone. The number of held slots is bounded before a slot is touched, so
 * not even for a moment are there too few for the writer. */
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
    while (slot < ring->slot_count && slot_load(ring_slot(ring, slot)->sequence) != sequence)
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
        if (holders == 0 && ring->held_slots >= ring_lends(ring))
            return error_set(why, EBUSY, "%u frames are held already; a ring of %u slots lends %u",
                             ring->held_slots, ring->slot_count, ring_lends(ring));
    } while (!__atomic_compare_exchange_n(&ring->owner[slot], &holders, holders + 1, true,
                                          __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
    if (holders == 0)
        ring->held_slots++;
    /* The writer may have come and gone between the search and the swap; now it cannot. */
    if (slot_load(ring_slot(ring, slot)->sequence) != sequence) {
        ring_release(ring, slot);
        return error_set(why, ENOENT, "frame %llu has just been overwritten",
                         (unsigned long long)sequence);
    }
    *ret_slot = slot;
    return 0;
}

void ring_release(struct ring *ring, unsigned slot)
{
    /* Release: the holder's reading of the frame comes before the writer's next claim. */
    if (__atomic_fetch_sub(&ring->owner[slot], 1, __ATOMIC_RELEASE) == 1)
        ring->held_slots--;
}

void ring_add_listener(struct ring *ring, struct ring_listener *listener)
{
    pthread_mutex_lock(&ring->waker.lock);
    listener->next = ring->waker.listeners;
    ring->waker.listeners = listener;
    pthread_mutex_unlock(&ring->waker.lock);
}

void ring_remove_listener(struct ring *ring, struct ring_listener *listener)
{
    pthread_mutex_lock(&ring->waker.lock);
    struct ring_listener **link = &ring->waker.listeners;
    while (*link != NULL && *link != listener)
        link = &(*link)->next;
    if (*link != NULL)
        *link = listener->next;
    pthread_mutex_unlock(&ring->waker.lock);
}
