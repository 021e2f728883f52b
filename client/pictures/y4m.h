/* Writes frames as YUV4MPEG2, the uncompressed video that most tools read from a pipe, or without
 * headers. Nothing is written after the first error; the caller checks ferror(file) and errno. */
#ifndef FFTD_PICTURES_Y4M_H
#define FFTD_PICTURES_Y4M_H

#include <stdio.h>

#include "pixels.h"

/* What the header of a stream says about its pictures, apart from their format. */
struct y4m_shape {
    char interlacing;            /* p: not interlaced; otherwise t, b, m or ? */
    unsigned aspect_x, aspect_y; /* the proportions of a pixel */
};
#define Y4M_USUAL_SHAPE ((struct y4m_shape){'p', 1, 1})

/* Writes the stream header, for formats that have a Y4M colour space (layout->y4m is not NULL).
 * Returns its bytes. */
size_t y4m_write_header(FILE *file, const struct fftd_pixel_format *layout,
                        const struct fftd_format *format, struct y4m_shape shape);

/* Writes Y, U and V in this order, whatever their order in the format. `row` is scratch memory of
 * y4m_row_bytes() bytes. */
void y4m_write_frame(FILE *file, const struct pixels *pixels, uint8_t *row);
size_t y4m_row_bytes(const struct fftd_pixel_format *layout, const struct fftd_format *format);

/* Writes the frame's planes without the padding of rows. */
void y4m_write_raw(FILE *file, const struct pixels *pixels);

#endif
