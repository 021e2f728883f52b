#include "before.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <fftd/fftd.h>

/* The format of frames that are twice as wide, without gaps. */
static struct fftd_format twice(const struct fftd_format *format)
{
    struct fftd_format wide = *format;
    uint32_t offset = 0;
    wide.width *= 2;
    for (unsigned p = 0; p < wide.plane_count; p++) {
        wide.plane[p].row_bytes *= 2;
        wide.plane[p].stride = wide.plane[p].row_bytes;
        wide.plane[p].offset = offset;
        offset += wide.plane[p].stride * wide.plane[p].rows;
    }
    wide.frame_bytes = offset;
    return wide;
}

static int skip_frames(struct before *before, uint64_t skip)
{
    int r = 1;
    for (uint64_t i = 0; i < skip && r > 0; i++)
        r = input_read(&before->input, before->frame);
    return r < 0 ? r : 0;
}

int before_open(struct before *ret, const char *path, const struct input_request *request,
                const struct fftd_format *format, uint64_t skip)
{
    const struct fftd_pixel_format *layout = fftd_pixel_format(format->fourcc);
    struct input *input = &ret->input;
    int r = input_open(input, path, request);
    if (r < 0)
        return r;
    if (layout == NULL || format->fourcc != input->format.fourcc ||
        format->width % layout->sub_x != 0) {
        snprintf(input->why, sizeof input->why,
                 "%s of %u columns becomes %s: expected the same format, and an even width",
                 fftd_pixel_format(input->format.fourcc)->name, input->format.width,
                 layout != NULL ? layout->name : "another");
        return -EINVAL;
    }
    ret->wide = twice(format);
    if (input->format.frame_bytes == 0 || ret->wide.frame_bytes == 0)
        return -EINVAL;
    ret->frame = malloc(input->format.frame_bytes);
    ret->both = malloc(ret->wide.frame_bytes);
    if (ret->frame == NULL || ret->both == NULL) {
        snprintf(input->why, sizeof input->why, "out of memory");
        return -ENOMEM;
    }
    return skip_frames(ret, skip);
}

int before_put_beside(struct before *before, struct pixels *pixels)
{
    const int r = input_read(&before->input, before->frame);
    if (r == 0)
        snprintf(before->input.why, sizeof before->input.why, "the recording has become shorter");
    if (r <= 0)
        return r < 0 ? r : -EINVAL;
    const uint8_t *from = before->frame;
    for (unsigned p = 0; p < before->wide.plane_count; p++) {
        const struct fftd_plane *plane = &before->wide.plane[p];
        const uint32_t half = plane->row_bytes / 2;
        uint8_t *to = before->both + plane->offset;
        for (uint32_t y = 0; y < plane->rows; y++, from += half, to += plane->stride) {
            memcpy(to, from, half);
            memcpy(to + half, pixels->plane[p] + (size_t)y * pixels->stride[p], half);
        }
        pixels->plane[p] = before->both + plane->offset;
        pixels->stride[p] = plane->stride;
    }
    pixels->format = &before->wide;
    return 0;
}

void before_close(struct before *before)
{
    input_close(&before->input);
    free(before->frame);
    free(before->both);
}
