/* The structure of a Matroska file of JPEG pictures (RFC 9559). It is written during the recording:
 * no size has to be corrected at the end. Each picture has its own time, so that a missing picture
 * does not change the times of the others. Pure. */
#ifndef FFTD_VIEW_MATROSKA_H
#define FFTD_VIEW_MATROSKA_H

#include <stddef.h>
#include <stdint.h>

#define MATROSKA_TYPE        "video/x-matroska"
#define MATROSKA_BEGIN_BYTES 320 /* the most that matroska_begin writes */
#define MATROSKA_FRAME_BYTES 64  /* the most that matroska_frame writes */

/* Writes what precedes the first picture. Returns the number of bytes. */
size_t matroska_begin(uint8_t *to, uint32_t width, uint32_t height);

/* Writes what precedes each picture, which has picture_bytes bytes. Returns the number of bytes. */
size_t matroska_frame(uint8_t *to, uint64_t time_ms, size_t picture_bytes);

#endif
