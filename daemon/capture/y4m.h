/* Parses the headers of YUV4MPEG2 files (yuv4mpeg(5)). Pure; safe for any input.
 *
 * A file is one line "YUV4MPEG2 W640 H480 F30:1 C420jpeg", then for each frame a line "FRAME",
 * parameters allowed, and the planes without gaps. */
#ifndef FFTD_CAPTURE_Y4M_H
#define FFTD_CAPTURE_Y4M_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/format.h"

#define Y4M_MAX_HEADER 1024 /* bytes of a header line of file or frame, newline included */

/* Returns whether a file that begins with these bytes claims to be Y4M. */
bool y4m_is_y4m(const uint8_t *bytes, size_t count);

/* Reads the file's header from its first `count` bytes. *ret_bytes is the header's length, newline
 * included. The rate is 0/1 if the file has none. -EINVAL: damaged; -EOPNOTSUPP: a
 * colour space that fftd does not support; the text lists those that it does. */
int y4m_parse_header(const uint8_t *bytes, size_t count, struct fftd_format *ret, size_t *ret_bytes,
                     struct error *why);

/* Reads a frame's header in the same way. */
int y4m_parse_frame(const uint8_t *bytes, size_t count, size_t *ret_bytes, struct error *why);

#endif
