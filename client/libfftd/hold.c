/* Holding frames, and pinning the memory they lie in.
 *
 * A frame of the ring that is being written is held by the daemon on our behalf. A frame of a
 * ring that is written no more needs nobody's help but ours: its mapping stays until the last such
 * frame is released. */
#include "private.h"

#include <errno.h>

#include "slot.h"

/* Whether the daemon still writes into this map's ring, as far as we know. */
static bool is_written(const struct fftd *camera, const struct map *map)
{
    return map == camera->current && !read_is_retired(camera);
}

static int ask_to_hold(struct fftd *camera, const struct map *map, uint64_t sequence)
{
    int r = link_call(camera, FFTD_REQUEST_HOLD, sequence);
    /* The ring may have been replaced while we asked: then the frame stays by itself. */
    return r == -ENOENT && !is_written(camera, map) ? 0 : r;
}

/* The slot's holds are void: its frame has been overwritten by a daemon that did not know. */
static void lose_holds(struct map *map, unsigned slot)
{
    map->hold_total -= map->hold_count[slot];
    map->hold_count[slot] = 0;
}

void hold_again(struct fftd *camera)
{
    struct map *map = camera->current;
    for (unsigned i = 0; i < map->slot_count && camera->state == LINK_UP; i++)
        if (map->hold_count[i] > 0 && ask_to_hold(camera, map, map->hold_sequence[i]) == -ENOENT)
            lose_holds(map, i);
}

int fftd_hold(struct fftd *camera, const struct fftd_frame *frame)
{
    struct map *map = read_find_map(camera, frame);
    if (map == NULL || !slot_intact(map_slot(map, frame->slot), frame->lock))
        return -ENOENT;
    if (map->hold_sequence[frame->slot] != frame->sequence)
        lose_holds(map, frame->slot);
    if (map->hold_count[frame->slot] == 0 && is_written(camera, map)) {
        int r = ask_to_hold(camera, map, frame->sequence);
        if (r < 0)
            return r;
    }
    map->hold_sequence[frame->slot] = frame->sequence;
    map->hold_count[frame->slot]++;
    map->hold_total++;
    return 0;
}

int fftd_release(struct fftd *camera, const struct fftd_frame *frame)
{
    struct map *map = read_find_map(camera, frame);
    if (map == NULL || map->hold_count[frame->slot] == 0 ||
        map->hold_sequence[frame->slot] != frame->sequence)
        return -ENOENT;
    map->hold_total--;
    /* If the daemon cannot be told, it has gone, and the hold with it. */
    if (--map->hold_count[frame->slot] == 0 && is_written(camera, map))
        link_call(camera, FFTD_REQUEST_RELEASE, frame->sequence);
    if (map != camera->current)
        map_close_unused(map);
    return 0;
}

int fftd_pin(struct fftd *camera, const struct fftd_frame *frame)
{
    struct map *map = read_find_map(camera, frame);
    if (map == NULL)
        return -ENOENT;
    map->pins++;
    return 0;
}

int fftd_unpin(struct fftd *camera, const struct fftd_frame *frame)
{
    struct map *map = read_find_map(camera, frame);
    if (map == NULL || map->pins == 0)
        return -ENOENT;
    map->pins--;
    if (map != camera->current)
        map_close_unused(map);
    return 0;
}
