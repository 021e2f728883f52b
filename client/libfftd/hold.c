/* Holding frames, and pinning the memory that they are in.
 *
 * The daemon keeps a held frame of the current ring. A ring that has been retired is no longer
 * written, so there the mapping is all that has to be kept: it is closed with the last hold. */
#include <errno.h>

#include "link.h"
#include "read.h"
#include "slot.h"

/* Returns whether the daemon still writes into this map's ring, as far as this process knows. */
static bool is_written(const struct fftd *camera, const struct map *map)
{
    return map == camera->current && !read_is_retired(camera);
}

int fftd_hold(struct fftd *camera, const struct fftd_frame *frame)
{
    struct map *map = read_find_map(camera, frame);
    if (map == NULL || !slot_intact(map_slot(map, frame->slot), frame->lock))
        return -ENOENT;
    if (map->hold_sequence[frame->slot] != frame->sequence)
        map_lose_holds(map, frame->slot);
    if (map->hold_count[frame->slot] == 0 && is_written(camera, map)) {
        int r = link_hold(camera, frame->slot, frame->sequence);
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
    /* A daemon that cannot be reached has dropped the hold with the connection. */
    if (--map->hold_count[frame->slot] == 0 && is_written(camera, map))
        link_update_holds(camera);
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
