/* YUV4MPEG2, the uncompressed video that most tools read from a pipe; and frames without any
 * header. */
#ifndef FFTD_CTL_Y4M_H
#define FFTD_CTL_Y4M_H

#include <stdio.h>

#include "pixels.h"

/* Whether Y4M has a word for this format (pixels_layout()->y4m). Writes to a FILE; what went wrong
 * is in ferror() and errno. */
void y4m_write_header(FILE *file, const struct pixels_layout *layout,
                      const struct fftd_format *format);

/* The planes of the frame, in the order Y, U, V whatever the format's own is. row is memory for one
 * row: y4m_row_bytes() of the format. */
void y4m_write_frame(FILE *file, const struct pixels *pixels, uint8_t *row);
size_t y4m_row_bytes(const struct pixels_layout *layout, const struct fftd_format *format);

/* The frame's planes as they are, rows without padding. */
void raw_write_frame(FILE *file, const struct pixels *pixels);

#endif
