#include "core/frame_memory.h"

#include <errno.h>

const char *const memory_mode_names[] = {[MEMORY_COPIED] = "mmap",
                                         [MEMORY_SHARED] = "userptr",
                                         [MEMORY_IMPORTED] = "dmabuf",
                                         [MEMORY_AUTO] = "auto",
                                         NULL};

const char *const memory_mode_descriptions[] = {
    [MEMORY_COPIED] = "copied",
    [MEMORY_SHARED] = "shared with the source (USERPTR)",
    [MEMORY_IMPORTED] = "imported as dma-bufs",
};

int frame_memory_check(const struct frame_memory *memory, enum memory_mode mode,
                       const size_t offset[], const uint32_t stride[], struct error *why)
{
    if (mode == MEMORY_IMPORTED && !memory->can_import)
        return error_set(why, EOPNOTSUPP, "the device cannot import dma-bufs");
    for (unsigned p = 0; p < memory->plane_count; p++) {
        const struct fftd_plane *plane = &memory->layout.plane[p];
        if (stride[p] != plane->stride)
            return error_set(
                why, EOPNOTSUPP,
                "rows of plane %u are %u bytes apart, but the device reads them %u apart", p,
                stride[p], plane->stride);
        if (offset[p] != plane->offset)
            return error_set(why, EOPNOTSUPP,
                             "plane %u begins at byte %zu, but the device reads it from byte %u", p,
                             offset[p], plane->offset);
    }
    return 0;
}

unsigned frame_memory_count(const struct frame_memory *memory, unsigned wanted)
{
    const unsigned count = wanted + (memory != NULL ? memory->held : 0);
    return count < FRAME_MEMORY_MAX ? count : FRAME_MEMORY_MAX;
}

int frame_memory_share(struct frame_memory *memory, unsigned index, size_t bytes, struct error *why)
{
    return memory->ops->share(memory, index, bytes, why);
}

int frame_memory_import(struct frame_memory *memory, unsigned index, int fd, size_t bytes,
                        struct error *why)
{
    return memory->ops->import(memory, index, fd, bytes, why);
}

uint8_t *frame_memory_address(const struct frame_memory *memory, unsigned index)
{
    return memory->ops->address(memory, index);
}

void frame_memory_clear(struct frame_memory *memory)
{
    memory->ops->clear(memory);
}
