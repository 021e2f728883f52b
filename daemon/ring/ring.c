/* The writer: which slot is written next, and how a frame becomes visible.
 *
 * The order of the stores is in slot.h, the lending of slots in hold.c, the waking in waker.c. The
 * writer keeps its state (geometry, numbers, owners) in its own memory, and reads nothing from the
 * shared pages. */
#include "ring/private.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "ring/slot.h"

#define PAGE_BYTES 4096u

static uint64_t round_up(uint64_t bytes, uint64_t multiple)
{
    return (bytes + multiple - 1) / multiple * multiple;
}

/* ---- creating ---- */

static int check_plane(const struct fftd_format *format, unsigned index, struct error *why)
{
    const struct fftd_plane *plane = &format->plane[index];
    uint64_t end = plane->offset + (uint64_t)(plane->rows - 1) * plane->stride + plane->row_bytes;
    if (plane->rows == 0 || plane->row_bytes == 0 || plane->row_bytes > plane->stride)
        return error_set(
            why, EINVAL,
            "ring: plane %u has %u rows of %u bytes with a stride of %u: expected rows "
            "that do not overlap",
            index, plane->rows, plane->row_bytes, plane->stride);
    if (end > format->frame_bytes)
        return error_set(why, EINVAL, "ring: plane %u ends at byte %llu of a frame of %u bytes",
                         index, (unsigned long long)end, format->frame_bytes);
    return 0;
}

static int check_format(const struct fftd_format *format, struct error *why)
{
    if (format->width == 0 || format->width > FFTD_MAX_SIDE || format->height == 0 ||
        format->height > FFTD_MAX_SIDE)
        return error_set(why, EINVAL, "ring: frame size %ux%u: expected 1x1 .. %ux%u",
                         format->width, format->height, FFTD_MAX_SIDE, FFTD_MAX_SIDE);
    if (format->plane_count == 0 || format->plane_count > FFTD_MAX_PLANES)
        return error_set(why, EINVAL, "ring: frames of %u planes: expected 1 .. %u",
                         format->plane_count, FFTD_MAX_PLANES);
    for (unsigned i = 0; i < format->plane_count; i++) {
        int r = check_plane(format, i, why);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Computes all offsets. Returns the size of the ring, or 0 if this machine cannot address it. */
static size_t set_geometry(struct ring *ring, const struct fftd_format *format, unsigned slots,
                           uint32_t motion_bytes)
{
    ring->format = *format;
    ring->slot_count = slots;
    ring->newest_slot = slots;
    ring->header_bytes = (uint32_t)round_up(sizeof(struct fftd_ring_header), PAGE_BYTES);
    /* Frames begin on pages, because many devices write the host's memory only at such addresses.
     */
    ring->data_offset = (uint32_t)round_up((uint64_t)RING_LEAST_OFFSET + motion_bytes, PAGE_BYTES);
    ring->slot_stride = round_up((uint64_t)ring->data_offset + format->frame_bytes, PAGE_BYTES);
    uint64_t bytes = ring->header_bytes + slots * ring->slot_stride;
    return bytes > SIZE_MAX / 2 ? 0 : (size_t)bytes;
}

static void write_header(struct ring *ring, uint64_t first_sequence)
{
    struct fftd_ring_header *header = ring->header;
    header->abi = FFTD_RING_ABI;
    header->header_bytes = ring->header_bytes;
    header->ring_bytes = ring->memory.mapping->bytes;
    header->slot_count = ring->slot_count;
    header->data_offset = ring->data_offset;
    header->slot_stride = ring->slot_stride;
    header->generation = ring->generation;
    header->format = ring->format;
    header->first_sequence = first_sequence;
    header->state = ring->state;
    header->heartbeat_ns = clock_now_ns();
    header->epoch = ring->epoch;
    __atomic_store_n(&header->magic, FFTD_RING_MAGIC, __ATOMIC_RELEASE);
}

static int check_request(const struct fftd_format *format, unsigned slots, uint64_t first_sequence,
                         struct error *why)
{
    if (slots < FFTD_MIN_SLOTS || slots > FFTD_MAX_SLOTS)
        return error_set(why, EINVAL, "ring: %u slots: expected %u .. %u", slots, FFTD_MIN_SLOTS,
                         FFTD_MAX_SLOTS);
    if (first_sequence == 0)
        return error_set(why, EINVAL, "ring: the first sequence number is 0: expected 1 or more");
    return check_format(format, why);
}

/* Frees a ring that has no thread. */
static void release(struct ring *ring)
{
    if (ring->room_fd >= 0)
        close(ring->room_fd);
    ring_memory_finish(&ring->memory);
    free(ring);
}

int ring_create(struct ring **ret, const struct fftd_format *format, unsigned slots,
                uint32_t motion_bytes, uint32_t generation, uint32_t epoch, uint64_t first_sequence,
                struct error *why)
{
    int r = check_request(format, slots, first_sequence, why);
    if (r < 0)
        return r;
    struct ring *ring = calloc(1, sizeof *ring);
    if (ring == NULL)
        return error_set(why, ENOMEM, "ring: out of memory");
    size_t bytes = set_geometry(ring, format, slots, motion_bytes);
    r = bytes == 0
            ? error_set(why, ENOMEM, "ring: %u slots of %u bytes do not fit into the address space",
                        slots, format->frame_bytes)
            : ring_memory_create(&ring->memory, bytes, why);
    if (r < 0) {
        free(ring);
        return r;
    }
    ring->header = (struct fftd_ring_header *)ring->memory.mapping->base;
    ring->generation = generation;
    ring->epoch = epoch;
    ring->state = FFTD_STATE_STARTING;
    ring->newest_sequence = first_sequence - 1;
    ring->keep_from = first_sequence;
    write_header(ring, first_sequence);
    ring->room_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    r = ring->room_fd < 0 ? error_set(why, errno, "ring: eventfd: %s", strerror(errno))
                          : waker_start(&ring->waker, &ring->header->futex, why);
    if (r < 0)
        release(ring);
    else
        *ret = ring;
    return r;
}

/* ---- asking ---- */

const struct fftd_format *ring_format(const struct ring *ring)
{
    return &ring->format;
}

uint32_t ring_motion_room(const struct ring *ring)
{
    return ring->data_offset - RING_LEAST_OFFSET;
}

unsigned ring_slots(const struct ring *ring)
{
    return ring->slot_count;
}

uint32_t ring_generation(const struct ring *ring)
{
    return ring->generation;
}

uint32_t ring_epoch(const struct ring *ring)
{
    return ring->epoch;
}

/* ---- writing ---- */

struct fftd_slot *ring_slot(const struct ring *ring, unsigned slot)
{
    return (struct fftd_slot *)((uint8_t *)ring->header + ring->header_bytes +
                                slot * ring->slot_stride);
}

uint8_t *ring_frame(const struct ring *ring, unsigned slot)
{
    return (uint8_t *)ring_slot(ring, slot) + ring->data_offset;
}

/* The oldest slot that has no owner and is not the newest frame. slot_count: there is none, which
 * lasts only until the server has finished giving one back. */
static unsigned find_oldest(const struct ring *ring)
{
    unsigned oldest = ring->slot_count;
    uint64_t oldest_sequence = UINT64_MAX;
    for (unsigned i = 0; i < ring->slot_count; i++) {
        uint64_t sequence = slot_load(ring->sequence[i]);
        if (slot_load(ring->owner[i]) == 0 && i != ring->newest_slot &&
            sequence < oldest_sequence) {
            oldest = i;
            oldest_sequence = sequence;
        }
    }
    return oldest;
}

static bool claim(struct ring *ring, unsigned slot)
{
    uint32_t no_owner = 0;
    /* Acquire: what a client read before it released the slot was read before it is rewritten. */
    return slot < ring->slot_count &&
           __atomic_compare_exchange_n(&ring->owner[slot], &no_owner, RING_OPEN, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void give_back(struct ring *ring, unsigned slot)
{
    slot_close(ring_slot(ring, slot), ++ring->lock[slot]);
    /* Release: when the server takes the slot for a client, it sees which frame is in it. */
    __atomic_store_n(&ring->owner[slot], 0, __ATOMIC_RELEASE);
    ring->open_count--;
}

void ring_begin(struct ring *ring, struct ring_write *ret)
{
    assert(ring->open_count < RING_MAX_OPEN);
    /* ring.h shows that there always is a free slot. The server may take the one that was found
     * before it is claimed; the search then finds the next one. */
    unsigned slot = find_oldest(ring);
    while (!claim(ring, slot))
        slot = find_oldest(ring);
    ring->open_count++;
    slot_store(ring->sequence[slot], 0);
    slot_open(ring_slot(ring, slot), ++ring->lock[slot]);
    ret->slot = slot;
    ret->data = ring_frame(ring, slot);
}

/* FNV-1a over the frame's rows, without the padding between them. */
static uint64_t frame_checksum(const struct fftd_format *format, const uint8_t *frame)
{
    uint64_t sum = 0xcbf29ce484222325u;
    for (unsigned p = 0; p < format->plane_count; p++) {
        const struct fftd_plane *plane = &format->plane[p];
        for (uint32_t row = 0; row < plane->rows; row++) {
            const uint8_t *bytes = frame + plane->offset + (size_t)row * plane->stride;
            for (uint32_t i = 0; i < plane->row_bytes; i++)
                sum = (sum ^ bytes[i]) * 0x100000001b3u;
        }
    }
    return sum;
}

/* The first match is also stored where clients look that know only one. */
static void store_matches(const struct ring *ring, struct fftd_slot *slot,
                          const struct ring_meta *meta)
{
    const struct fftd_match none = {.score = 0};
    const struct fftd_matches matches = {.count = meta->match_count,
                                         .offset = ring->data_offset - RING_MATCHES_BYTES};
    slot_store_words((uint8_t *)slot + FFTD_MATCH_OFFSET,
                     meta->match_count > 0 ? &meta->match[0] : &none, sizeof none);
    slot_store_words((uint8_t *)slot + FFTD_MATCHES_OFFSET, &matches, sizeof matches);
    slot_store_words((uint8_t *)slot + matches.offset, meta->match,
                     meta->match_count * sizeof meta->match[0]);
}

int64_t ring_publish(struct ring *ring, const struct ring_write *write,
                     const struct ring_meta *meta)
{
    struct fftd_slot *slot = ring_slot(ring, write->slot);
    bool checksum = __atomic_load_n(&ring->checksum, __ATOMIC_RELAXED);
    uint64_t sum = checksum ? frame_checksum(&ring->format, write->data) : 0;
    uint64_t sequence = ring->newest_sequence + 1;
    int64_t published_ns = clock_now_ns();

    const bool has_motion = meta->motion != NULL && meta->motion_bytes <= ring_motion_room(ring);
    const bool has_match = meta->match_count > 0;
    slot_store(slot->flags, meta->flags | (checksum ? FFTD_FLAG_CHECKSUM : 0) |
                                (has_motion ? FFTD_FLAG_MOTION : 0) |
                                (has_match ? FFTD_FLAG_MATCH | FFTD_FLAG_MATCHES : 0));
    slot_store(slot->sequence, sequence);
    slot_store(slot->source_sequence, meta->source_sequence);
    slot_store(slot->filter_serial, meta->filter_serial);
    slot_store(slot->captured_ns, meta->captured_ns);
    slot_store(slot->dequeued_ns, meta->dequeued_ns);
    slot_store(slot->submitted_ns, meta->submitted_ns);
    slot_store(slot->finished_ns, meta->finished_ns);
    slot_store(slot->published_ns, published_ns);
    slot_store(slot->checksum, sum);
    slot_store_words(&slot->measures, &meta->measures, sizeof meta->measures);
    store_matches(ring, slot, meta);
    slot_store_words((uint8_t *)slot + FFTD_SIMILARITY_OFFSET, &meta->similarity,
                     sizeof meta->similarity);
    if (has_motion)
        slot_store_words((uint8_t *)slot + FFTD_MOTION_OFFSET, meta->motion, meta->motion_bytes);
    slot_store(ring->sequence[write->slot], sequence);
    give_back(ring, write->slot);

    ring->newest_slot = write->slot;
    slot_store(ring->header->heartbeat_ns, published_ns);
    slot_announce(ring->header, sequence, write->slot);
    slot_bump(ring->header);
    __atomic_store_n(&ring->newest_sequence, sequence, __ATOMIC_RELEASE);
    waker_wake(&ring->waker);
    return published_ns;
}

void ring_cancel(struct ring *ring, const struct ring_write *write)
{
    give_back(ring, write->slot);
}

/* ---- state ---- */

/* A retired ring stays retired. */
static void change_state(struct ring *ring, enum fftd_state state)
{
    uint32_t now = __atomic_load_n(&ring->state, __ATOMIC_SEQ_CST);
    do {
        if (now == state || now == FFTD_STATE_RETIRED)
            return;
    } while (!__atomic_compare_exchange_n(&ring->state, &now, state, true, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST));
    /* Two threads may change it at once: the newer state must be published last. */
    do {
        now = __atomic_load_n(&ring->state, __ATOMIC_SEQ_CST);
        __atomic_store_n(&ring->header->state, now, __ATOMIC_SEQ_CST);
    } while (__atomic_load_n(&ring->state, __ATOMIC_SEQ_CST) != now);
    slot_bump(ring->header);
    waker_poke(&ring->waker);
}

void ring_set_state(struct ring *ring, enum fftd_state state, int64_t heartbeat_ns)
{
    slot_store(ring->header->heartbeat_ns, heartbeat_ns);
    change_state(ring, state);
}

void ring_retire(struct ring *ring)
{
    change_state(ring, FFTD_STATE_RETIRED);
}

bool ring_is_retired(const struct ring *ring)
{
    return __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE) == FFTD_STATE_RETIRED;
}

void ring_set_checksum(struct ring *ring, bool on)
{
    __atomic_store_n(&ring->checksum, on, __ATOMIC_RELAXED);
}

uint64_t ring_newest(const struct ring *ring)
{
    return __atomic_load_n(&ring->newest_sequence, __ATOMIC_ACQUIRE);
}

void ring_destroy(struct ring *ring)
{
    if (ring == NULL)
        return;
    change_state(ring, FFTD_STATE_RETIRED);
    waker_stop(&ring->waker);
    release(ring);
}
