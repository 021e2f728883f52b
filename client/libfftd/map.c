/* The daemon that made the ring is not trusted. Reading its memory could fail in three ways:
 * - The memory could shrink under the mapping (SIGBUS). The seal against shrinking prevents that.
 * - A page could be missing when it is first read (SIGBUS), if it had to be a huge page. Only
 *   memory of tmpfs is taken: an ordinary memfd.
 * - An offset in the header could point outside. So the header is copied, and the copy is checked
 *   in 64 bits against the size that the kernel reports. */
#include "map.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "slot.h"

static bool plane_fits(const struct fftd_plane *plane, uint32_t frame_bytes)
{
    if (plane->rows == 0 || plane->row_bytes == 0 || plane->row_bytes > plane->stride)
        return false;
    uint64_t end = plane->offset + (uint64_t)(plane->rows - 1) * plane->stride + plane->row_bytes;
    return end <= frame_bytes;
}

static bool format_is_sound(const struct fftd_format *format)
{
    if (format->width == 0 || format->width > FFTD_MAX_SIDE || format->height == 0 ||
        format->height > FFTD_MAX_SIDE || format->plane_count == 0 ||
        format->plane_count > FFTD_MAX_PLANES)
        return false;
    for (unsigned i = 0; i < format->plane_count; i++)
        if (!plane_fits(&format->plane[i], format->frame_bytes))
            return false;
    return true;
}

static bool header_is_sound(const struct fftd_ring_header *header, uint64_t bytes)
{
    if (header->magic != FFTD_RING_MAGIC || header->abi != FFTD_RING_ABI ||
        header->ring_bytes != bytes)
        return false;
    if (header->slot_count < FFTD_MIN_SLOTS || header->slot_count > FFTD_MAX_SLOTS ||
        header->header_bytes < sizeof *header || header->header_bytes % 4096 != 0 ||
        header->data_offset < sizeof(struct fftd_slot) || header->data_offset % 128 != 0 ||
        header->slot_stride % 4096 != 0)
        return false;
    if (!format_is_sound(&header->format))
        return false;
    /* The first comparison keeps the product of the second within 64 bits. */
    return header->slot_stride <= bytes &&
           (uint64_t)header->data_offset + header->format.frame_bytes <= header->slot_stride &&
           header->header_bytes + header->slot_count * header->slot_stride <= bytes;
}

bool map_is_sound(int fd)
{
    struct statfs about;
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) && fstatfs(fd, &about) == 0 &&
           about.f_type == TMPFS_MAGIC;
}

int map_open(struct map *ret, int fd)
{
    struct stat st;
    if (!map_is_sound(fd) || fstat(fd, &st) < 0)
        return -EPROTO;
    uint64_t bytes = (uint64_t)st.st_size;
    if (bytes < sizeof(struct fftd_ring_header))
        return -EPROTO;
    if (bytes > SIZE_MAX / 2)
        return -EFBIG;
    void *base = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return -errno;

    struct fftd_ring_header header;
    memcpy(&header, base, sizeof header);
    /* Keeps the compiler from checking the copy and then using the original. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (!header_is_sound(&header, bytes)) {
        munmap(base, (size_t)bytes);
        return -EPROTO;
    }
    *ret = (struct map){
        .base = base,
        .bytes = (size_t)bytes,
        .device = st.st_dev,
        .inode = st.st_ino,
        .header_bytes = header.header_bytes,
        .data_offset = header.data_offset,
        .slot_stride = (size_t)header.slot_stride,
        .slot_count = header.slot_count,
        .generation = header.generation,
        .format = header.format,
    };
    return 0;
}

void map_close(struct map *map)
{
    if (map->serial != 0)
        munmap((void *)map->base, map->bytes);
    map->serial = 0;
}

void map_close_unused(struct map *map)
{
    if (map->hold_total == 0 && map->pins == 0)
        map_close(map);
}

const struct fftd_ring_header *map_header(const struct map *map)
{
    return (const struct fftd_ring_header *)map->base;
}

const struct fftd_slot *map_slot(const struct map *map, unsigned slot)
{
    return (const struct fftd_slot *)(map->base + map->header_bytes + slot * map->slot_stride);
}

bool map_is(const struct map *map, int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_dev == map->device && st.st_ino == map->inode;
}

bool map_is_retired(const struct map *map)
{
    return slot_load(map_header(map)->state) == FFTD_STATE_RETIRED;
}

uint64_t map_held(const struct map *map, unsigned slot)
{
    return map->hold_count[slot] > 0 ? map->hold_sequence[slot] : 0;
}

void map_lose_holds(struct map *map, unsigned slot)
{
    map->hold_total -= map->hold_count[slot];
    map->hold_count[slot] = 0;
}
