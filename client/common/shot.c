#include "shot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bus.h"
#include "core/clock.h"

static int read_planes(sd_bus_message *reply, struct fftd_format *format)
{
    const char *key;
    uint32_t value;
    int r = bus_enter_list(reply, "aa{su}");
    while (r >= 0 && (r = sd_bus_message_enter_container(reply, 'a', "{su}")) > 0) {
        if (format->plane_count == FFTD_MAX_PLANES)
            return -EPROTO;
        struct fftd_plane *plane = &format->plane[format->plane_count++];
        while ((r = sd_bus_message_read(reply, "{su}", &key, &value)) > 0) {
            uint32_t *field = strcmp(key, "offset") == 0      ? &plane->offset
                              : strcmp(key, "stride") == 0    ? &plane->stride
                              : strcmp(key, "row_bytes") == 0 ? &plane->row_bytes
                              : strcmp(key, "rows") == 0      ? &plane->rows
                                                              : NULL;
            if (field != NULL)
                *field = value;
        }
        if (r >= 0)
            r = sd_bus_message_exit_container(reply);
    }
    return r < 0 ? r : bus_exit_list(reply);
}

static int read_other(sd_bus_message *reply, const char *key, void *format)
{
    return strcmp(key, "planes") == 0 ? read_planes(reply, format)
                                      : sd_bus_message_skip(reply, "v");
}

static int read_format(sd_bus_message *reply, struct shot *ret)
{
    struct fftd_format *format = &ret->format;
    int full_range = 0;
    const struct bus_field fields[] = {
        {"fourcc", "u", &format->fourcc},        {"width", "u", &format->width},
        {"height", "u", &format->height},        {"matrix", "y", &format->matrix},
        {"full_range", "b", &full_range},        {"filter_serial", "t", &ret->filter_serial},
        {"captured_ns", "x", &ret->captured_ns},
    };
    const int r =
        bus_read_fields(reply, fields, sizeof fields / sizeof fields[0], read_other, format);
    format->full_range = (uint8_t)full_range;
    return r == 0 ? -ENXIO : r;
}

/* Even a frame of the greatest size takes less. */
#define MAX_FRAME_BYTES ((uint64_t)FFTD_MAX_SIDE * FFTD_MAX_SIDE * 4 + (1u << 20))

/* Sets the frame's size to the end of its last plane. -EFBIG: the daemon describes an impossible
 * frame. */
static int find_size(struct fftd_format *format)
{
    uint64_t size = 0;
    for (unsigned i = 0; i < format->plane_count; i++) {
        const struct fftd_plane *plane = &format->plane[i];
        const uint64_t rows = plane->rows > 0 ? plane->rows - 1 : 0;
        const uint64_t end = plane->offset + rows * plane->stride + plane->row_bytes;
        size = end > size ? end : size;
    }
    format->frame_bytes = (uint32_t)size;
    return size > MAX_FRAME_BYTES ? -EFBIG : 0;
}

static int read_memory(int fd, size_t size, uint8_t **ret)
{
    ssize_t got = 1;
    uint8_t *memory = malloc(size > 0 ? size : 1);
    if (memory == NULL)
        return -ENOMEM;
    for (size_t done = 0; got > 0 && done < size; done += (size_t)got)
        got = pread(fd, memory + done, size - done, (off_t)done);
    if (got > 0) {
        *ret = memory;
        return 0;
    }
    got = got < 0 ? -errno : -ENODATA;
    free(memory);
    return (int)got;
}

/* The caller frees *ret_memory, even after a failure. */
static int read_frame(int fd, const struct fftd_format *format, uint8_t **ret_memory,
                      struct pixels *ret)
{
    int r = read_memory(fd, format->frame_bytes, ret_memory);
    return r < 0 ? r : pixels_from_memory(ret, format, *ret_memory, format->frame_bytes);
}

void shot_finish(struct shot *shot)
{
    for (unsigned i = 0; i < 2; i++)
        free(shot->memory[i]);
}

int shot_read(struct shot *ret, sd_bus_message *reply, bool with_before)
{
    int before = -1, after;
    int r = with_before ? sd_bus_message_read(reply, "h", &before) : 0;
    ret->captured_ns = clock_now_ns();
    if (r >= 0)
        r = sd_bus_message_read(reply, "h", &after);
    if (r >= 0)
        r = read_format(reply, ret);
    if (r >= 0)
        r = find_size(&ret->format);
    if (r >= 0 && with_before)
        r = read_frame(before, &ret->format, &ret->memory[0], &ret->before);
    if (r >= 0)
        r = read_frame(after, &ret->format, &ret->memory[1], &ret->after);
    return r < 0 ? r : sd_bus_message_read(reply, "t", &ret->sequence);
}
