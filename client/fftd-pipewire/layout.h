/* The layout of a ring's frames in a buffer of PipeWire.
 *
 * PipeWire's consumers expect GStreamer's default layout: all planes adjacent in one block of
 * memory, rows that begin at multiples of four bytes, and room for whole groups of rows that share
 * their chroma. */
#ifndef FFTD_PIPEWIRE_LAYOUT_H
#define FFTD_PIPEWIRE_LAYOUT_H

#include <stdint.h>

#include <fftd/fftd.h>

struct layout {
    struct fftd_format format; /* the format of the ring's frames */
    uint32_t video_format;     /* enum spa_video_format */
    uint32_t plane_count;
    struct fftd_plane plane[FFTD_MAX_PLANES]; /* in a buffer; the rest of each row is 0 */
    uint32_t bytes;                           /* the size of a buffer */
};

/* Describes frames of a format.
 *   -EOPNOTSUPP  PipeWire has no such format
 *   -EPROTO      the format lacks planes, rows or bytes that its pixels need */
int layout_init(struct layout *ret, const struct fftd_format *format);

/* Copies a frame of layout->format into a buffer of layout->bytes. The caller then checks that the
 * frame was not overwritten during the copy. */
void layout_copy(const struct layout *layout, const struct fftd_frame *frame, uint8_t *buffer);

#endif
