/* The frame of a Matroska file of JPEG pictures (RFC 9559), which is written while it is recorded:
 * no size in it has to be corrected at the end. Each picture has its own time, so that a picture
 * that is left out does not change the others'. Pure. */
#ifndef FFTD_VIEW_MATROSKA_H
#define FFTD_VIEW_MATROSKA_H

#include <stddef.h>
#include <stdint.h>

#define MATROSKA_TYPE        "video/x-matroska"
#define MATROSKA_BEGIN_BYTES 320 /* at most, of what each function writes */
#define MATROSKA_FRAME_BYTES 64

/* Writes what comes before the first picture. Returns its bytes. */
size_t matroska_begin(uint8_t *to, uint32_t width, uint32_t height);

/* Writes what comes before each picture of this many bytes. Returns its bytes. */
size_t matroska_frame(uint8_t *to, uint64_t time_ms, size_t picture_bytes);

#endif
