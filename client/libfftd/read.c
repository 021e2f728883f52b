/* Reads frames from the ring: chooses the slot, and checks what it finds there. slot.h has the
 * order of the loads. */
#include "read.h"

#include <errno.h>
#include <string.h>

#include "link.h"
#include "slot.h"

/* A slot can be overwritten while it is read, and so can the next one. With a correct daemon that
 * does not happen twice in a row, because each takes the time of a frame. */
#define MAX_TRIES 16

struct map *read_find_map(struct fftd *camera, const struct fftd_frame *frame)
{
    for (unsigned i = 0; i < MAX_MAPS; i++)
        if (frame->ring != 0 && camera->map[i].serial == frame->ring &&
            frame->slot < camera->map[i].slot_count)
            return &camera->map[i];
    return NULL;
}

bool read_is_retired(const struct fftd *camera)
{
    return camera->current != NULL && map_is_retired(camera->current);
}

bool read_has_news(struct fftd *camera)
{
    if (camera->current == NULL)
        return false;
    uint64_t sequence = FFTD_NEWEST_SEQUENCE(ring_load_newest(map_header(camera->current)));
    /* The daemon has been restarted and could not continue the numbers. A ring without a frame does
     * not say so: its first number may be the next one. */
    if (sequence != 0 && sequence < camera->last)
        camera->last = 0;
    return sequence > camera->last;
}

/* Describes one slot. False: it does not contain this frame, or no longer. */
static bool view_slot(const struct map *map, unsigned index, uint64_t sequence,
                      struct fftd_frame *view)
{
    const struct fftd_slot *slot = map_slot(map, index);
    if (!slot_enter(slot, &view->lock) || slot_load(slot->sequence) != sequence)
        return false;
    view->sequence = sequence;
    view->source_sequence = slot_load(slot->source_sequence);
    view->filter_serial = slot_load(slot->filter_serial);
    view->captured_ns = slot_load(slot->captured_ns);
    view->dequeued_ns = slot_load(slot->dequeued_ns);
    view->submitted_ns = slot_load(slot->submitted_ns);
    view->finished_ns = slot_load(slot->finished_ns);
    view->published_ns = slot_load(slot->published_ns);
    view->checksum = slot_load(slot->checksum);
    view->flags = slot_load(slot->flags);
    if (!slot_intact(slot, view->lock))
        return false;

    const uint8_t *data = (const uint8_t *)slot + map->data_offset;
    view->slot = index;
    view->ring = map->serial;
    view->format = &map->format;
    for (unsigned i = 0; i < FFTD_MAX_PLANES; i++) {
        bool used = i < map->format.plane_count;
        view->plane[i] = used ? data + map->format.plane[i].offset : NULL;
        view->stride[i] = used ? map->format.plane[i].stride : 0;
    }
    return true;
}

/* A daemon that waits for this client needs room for frames in flight. Each message wakes
 * it, so one is sent for every quarter of the ring. */
static void tell_read(struct fftd *camera)
{
    if (camera->last >= camera->told + camera->current->slot_count / 4)
        link_tell_read(camera, camera->last);
}

static void accept_view(struct fftd *camera, const struct fftd_frame *view, struct fftd_frame *ret)
{
    tell_read(camera); /* the frame before */
    *ret = *view;
    ret->missed = camera->last != 0 ? view->sequence - camera->last - 1 : 0;
    camera->last = view->sequence;
}

/* Returns the slot of the oldest announced frame after `last`; slot_count: there is none. A slot is
 * complete shortly before its frame is announced. Such a frame is not returned yet, because `last`
 * would then exceed the newest sequence, which is the sign of a restarted daemon. */
static unsigned find_next(const struct map *map, uint64_t last, uint64_t *ret_sequence)
{
    const uint64_t announced = ring_load_newest(map_header(map));
    const uint64_t newest = FFTD_NEWEST_SEQUENCE(announced);
    unsigned found = map->slot_count;
    uint64_t oldest = UINT64_MAX;
    /* A reader that keeps up need not read the headers of all slots, which are rarely cached. */
    if (newest == last + 1 && FFTD_NEWEST_SLOT(announced) < map->slot_count) {
        *ret_sequence = newest;
        return FFTD_NEWEST_SLOT(announced);
    }
    for (unsigned i = 0; i < map->slot_count; i++) {
        uint64_t sequence = slot_load(map_slot(map, i)->sequence);
        if (sequence > last && sequence <= newest && sequence < oldest) {
            found = i;
            oldest = sequence;
        }
    }
    *ret_sequence = oldest;
    return found;
}

/* Returns the newest frame's slot in the same way. */
static unsigned find_newest(const struct map *map, uint64_t last, uint64_t *ret_sequence)
{
    const uint64_t announced = ring_load_newest(map_header(map));
    *ret_sequence = FFTD_NEWEST_SEQUENCE(announced);
    return *ret_sequence > last ? FFTD_NEWEST_SLOT(announced) : map->slot_count;
}

static int take(struct fftd *camera, struct fftd_frame *ret,
                unsigned (*find)(const struct map *map, uint64_t last, uint64_t *ret_sequence))
{
    struct fftd_frame view;
    for (unsigned tries = 0; tries < MAX_TRIES && read_has_news(camera); tries++) {
        const struct map *map = camera->current;
        uint64_t sequence;
        const unsigned slot = find(map, camera->last, &sequence);
        if (slot < map->slot_count && view_slot(map, slot, sequence, &view)) {
            accept_view(camera, &view, ret);
            return 0;
        }
    }
    return -EAGAIN;
}

int fftd_frame(struct fftd *camera, struct fftd_frame *ret)
{
    return take(camera, ret, find_newest);
}

int fftd_next(struct fftd *camera, struct fftd_frame *ret)
{
    return take(camera, ret, find_next);
}

bool fftd_frame_valid(const struct fftd *camera, const struct fftd_frame *frame)
{
    const struct map *map = read_find_map((struct fftd *)camera, frame);
    return map != NULL && slot_intact(map_slot(map, frame->slot), frame->lock);
}

/* Copies what a flag says that the frame's slot has, at an offset from the slot's first byte. */
static int copy_from_slot(const struct fftd *camera, const struct fftd_frame *frame, uint32_t flag,
                          uint32_t offset, void *ret, size_t bytes)
{
    const struct map *map = read_find_map((struct fftd *)camera, frame);
    slot_word copy[FFTD_MAX_MATCHES * sizeof(struct fftd_match) / sizeof(slot_word)]; /* the most */
    if ((frame->flags & flag) == 0)
        return -ENODATA;
    if (map == NULL)
        return -ENOENT;
    if (offset > map->data_offset || bytes > map->data_offset - offset)
        return -ENODATA;
    const struct fftd_slot *slot = map_slot(map, frame->slot);
    slot_load_words(copy, (const uint8_t *)slot + offset, bytes);
    if (!slot_intact(slot, frame->lock))
        return -ENOENT;
    memcpy(ret, copy, bytes);
    return 0;
}

int fftd_frame_measures(const struct fftd *camera, const struct fftd_frame *frame,
                        struct fftd_measures *ret)
{
    return copy_from_slot(camera, frame, FFTD_FLAG_MEASURES, offsetof(struct fftd_slot, measures),
                          ret, sizeof *ret);
}

int fftd_frame_match(const struct fftd *camera, const struct fftd_frame *frame,
                     struct fftd_match *ret)
{
    return copy_from_slot(camera, frame, FFTD_FLAG_MATCH, FFTD_MATCH_OFFSET, ret, sizeof *ret);
}

int fftd_frame_matches(const struct fftd *camera, const struct fftd_frame *frame,
                       struct fftd_match *ret, uint32_t capacity)
{
    struct fftd_match match[FFTD_MAX_MATCHES];
    struct fftd_matches matches = {.count = 1, .offset = FFTD_MATCH_OFFSET};
    uint32_t flag = FFTD_FLAG_MATCH;
    int r = 0;
    if ((frame->flags & FFTD_FLAG_MATCHES) != 0) { /* not set by older daemons */
        flag = FFTD_FLAG_MATCHES;
        r = copy_from_slot(camera, frame, flag, FFTD_MATCHES_OFFSET, &matches, sizeof matches);
    }
    if (r == 0 && (matches.count == 0 || matches.count > FFTD_MAX_MATCHES ||
                   matches.offset % sizeof(slot_word) != 0))
        return -ENODATA; /* not what the daemon writes */
    if (r == 0)
        r = copy_from_slot(camera, frame, flag, matches.offset, match,
                           matches.count * sizeof match[0]);
    if (r < 0)
        return r;
    memcpy(ret, match, (matches.count < capacity ? matches.count : capacity) * sizeof match[0]);
    return (int)matches.count;
}

int fftd_frame_similarity(const struct fftd *camera, const struct fftd_frame *frame,
                          struct fftd_similarity *ret)
{
    return copy_from_slot(camera, frame, FFTD_FLAG_SIMILARITY, FFTD_SIMILARITY_OFFSET, ret,
                          sizeof *ret);
}

int fftd_frame_motion(const struct fftd *camera, const struct fftd_frame *frame,
                      struct fftd_motion *ret, int16_t *vectors, uint8_t *confidences,
                      uint32_t capacity)
{
    const struct map *map = read_find_map((struct fftd *)camera, frame);
    struct fftd_motion motion;
    const int r =
        copy_from_slot(camera, frame, FFTD_FLAG_MOTION, FFTD_MOTION_OFFSET, &motion, sizeof motion);
    if (r < 0)
        return r;
    const uint32_t blocks = (uint32_t)motion.columns * motion.rows;
    if (map->data_offset <
        FFTD_MOTION_VECTORS_OFFSET + (uint64_t)FFTD_MOTION_BYTES((uint64_t)blocks))
        return -ENODATA; /* not what the daemon writes */
    if (blocks > capacity) {
        *ret = motion;
        return -ENOBUFS;
    }
    const struct fftd_slot *slot = map_slot(map, frame->slot);
    const uint8_t *from = (const uint8_t *)slot + FFTD_MOTION_VECTORS_OFFSET;
    for (uint32_t i = 0; i < blocks; i++) {
        slot_word vector;
        slot_load_words(&vector, from + i * sizeof vector, sizeof vector);
        memcpy(vectors + 2 * (size_t)i, &vector, sizeof vector);
    }
    from += blocks * sizeof(slot_word);
    for (uint32_t i = 0; i < blocks; i += 4) {
        slot_word four;
        slot_load_words(&four, from + i, sizeof four);
        memcpy(confidences + i, &four, blocks - i < 4 ? blocks - i : 4);
    }
    if (!slot_intact(slot, frame->lock))
        return -ENOENT;
    *ret = motion;
    return 0;
}

uint64_t fftd_frame_checksum(const struct fftd_frame *frame)
{
    uint64_t sum = 0xcbf29ce484222325u; /* FNV-1a */
    for (unsigned p = 0; p < frame->format->plane_count; p++) {
        const struct fftd_plane *plane = &frame->format->plane[p];
        for (uint32_t row = 0; row < plane->rows; row++) {
            const uint8_t *bytes = frame->plane[p] + (size_t)row * plane->stride;
            for (uint32_t i = 0; i < plane->row_bytes; i++)
                sum = (sum ^ bytes[i]) * 0x100000001b3u;
        }
    }
    return sum;
}
