/* The first ring of a process whose predecessor has left one.
 *
 * A sealed ring can never be mapped for writing again, so no process takes over the ring of
 * another. It reads the numbers that the old ring ended with, and continues them in a ring of its
 * own for the same frames. Clients attach to that one over the connections they have. Frames of the
 * old ring that they hold stay as they are, because nobody can write them any more. */
#include "ring/private.h"

#include <errno.h>
#include <unistd.h>

#include "core/clock.h"

/* No ring gets here: at 1000 frames a second this is four million years. Higher numbers come from a
 * damaged header, and would not fit into FFTD_NEWEST. */
#define LAST_SEQUENCE (UINT64_C(1) << 57)

/* A field of the largest frames in the smallest blocks is smaller than this. */
#define MOST_OFFSET   (8u << 20)

static bool read_part(int fd, void *ret, size_t bytes, uint64_t offset)
{
    return pread(fd, ret, bytes, (off_t)offset) == (ssize_t)bytes;
}

static bool has_frame(int fd, const struct fftd_ring_header *header, uint64_t sequence)
{
    struct fftd_slot slot;
    for (unsigned i = 0; i < header->slot_count; i++) {
        const uint64_t offset = header->header_bytes + i * header->slot_stride;
        if (read_part(fd, &slot, sizeof slot, offset) && slot.sequence == sequence)
            return true;
    }
    return false;
}

/* Reads the header, and the number that the next frame gets. */
static int read_predecessor(int fd, struct fftd_ring_header *ret, uint64_t *ret_next,
                            struct error *why)
{
    if (!read_part(fd, ret, sizeof *ret, 0) || ret->magic != FFTD_RING_MAGIC ||
        ret->abi != FFTD_RING_ABI || ret->slot_count > FFTD_MAX_SLOTS || ret->first_sequence == 0 ||
        ret->data_offset < RING_LEAST_OFFSET || ret->data_offset > MOST_OFFSET)
        return error_set(why, EPROTO,
                         "ring: the previous process left something that is not a ring");
    uint64_t next = FFTD_NEWEST_SEQUENCE(ret->newest) + 1;
    if (next < ret->first_sequence)
        next = ret->first_sequence;
    /* The process may have ended after it had completed a frame, and before it announced it. That
     * frame is lost to readers that rely on announcements, but its number is used up. */
    if (has_frame(fd, ret, next))
        next++;
    if (next > LAST_SEQUENCE)
        return error_set(why, EPROTO, "ring: the previous process left a ring with sequence %llu",
                         (unsigned long long)next);
    *ret_next = next;
    return 0;
}

int ring_continue(struct ring **ret, int fd, struct error *why)
{
    struct fftd_ring_header header;
    uint64_t next = 0;
    int r = read_predecessor(fd, &header, &next, why);
    close(fd);
    if (r == 0)
        r = ring_create(ret, &header.format, header.slot_count,
                        header.data_offset - RING_LEAST_OFFSET, header.generation + 1,
                        header.epoch + 1, next, why);
    if (r == 0)
        ring_set_state(*ret, FFTD_STATE_OFFLINE, clock_now_ns());
    return r;
}
