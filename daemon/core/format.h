/* Pixel formats and memory layouts of frames. Pure.
 *
 * The table of formats is fftd/formats.h, which clients share; struct format_info is a row of it
 * with what only the daemon needs. The layout of a frame is the ring's struct fftd_format, from
 * the camera to the client. */
#ifndef FFTD_CORE_FORMAT_H
#define FFTD_CORE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "fftd/formats.h"
#include "fftd/ring.h"

/* How the samples to be filtered are stored in a plane. */
enum sample_kind {
    SAMPLE_U8,    /* one byte a sample, `step` bytes apart */
    SAMPLE_U16,   /* little-endian, low `bits` bits used, `step` bytes apart */
    SAMPLE_RGB8,  /* luma is computed from three bytes, `step` bytes a pixel */
    SAMPLE_BAYER, /* a sensor's mosaic, one colour a pixel; `step` bytes a sample, low `bits` used
                   */
    SAMPLE_F32,   /* floats, neither rounded nor clamped: only for tests and benchmarks */
};

enum pixel_family {
    FAMILY_GREY = FFTD_FAMILY_GREY,
    FAMILY_YUV = FFTD_FAMILY_YUV,
    FAMILY_RGB = FFTD_FAMILY_RGB,
    FAMILY_MOSAIC, /* clients never see one */
};

/* The pixels of one plane: ceil(W / sub_x) by ceil(H / sub_y) of them for a frame of W x H, each of
 * bytes_per_pixel bytes (YUYV: 2, NV12's chroma plane: 2). */
struct format_plane {
    uint8_t sub_x, sub_y;
    uint8_t bytes_per_pixel;
};

struct format_info {
    uint32_t fourcc;      /* DRM; V4L2's own for mosaics, which DRM has no codes for */
    uint32_t published;   /* the format that clients get instead (mosaics), or 0 */
    const char *name;     /* in the configuration and in messages: "NV12", "GREY", "RGB24" */
    const char *y4m;      /* Y4M's colour space with the same samples, or NULL */
    uint32_t v4l2_fourcc; /* the V4L2 pixel format with the same bytes, single buffer */
    uint32_t v4l2_multi;  /* the V4L2 format with a buffer for each plane (NM12), or 0 */
    enum pixel_family family;
    uint8_t plane_count;
    struct format_plane plane[FFTD_MAX_PLANES];
    struct fftd_pixel_component component[3]; /* Y, U, V or R, G, B; mosaics: unused */
    /* Luma is always in plane 0: the first sample `offset` bytes into a row, then every `step`.
     * SAMPLE_RGB8: offsets of R, G and B within a pixel. */
    enum sample_kind kind;
    uint8_t bits; /* significant bits of a sample: 8, 10, 12, 16 */
    uint8_t offset;
    uint8_t step;
    uint8_t rgb[3];
    uint8_t red_x, red_y;     /* SAMPLE_BAYER: where red is in a cell of 2 x 2; blue is opposite */
    uint8_t align_x, align_y; /* width and height must be multiples of these (chroma siting) */
};

/* The rows of FFTD_PIXEL_FORMATS, then those of FFTD_MOSAIC_FORMATS. */
const struct format_info *format_table(unsigned *ret_count);
const struct format_info *format_by_fourcc(uint32_t fourcc);
const struct format_info *format_by_name(const char *name);     /* case-insensitive */
const struct format_info *format_by_v4l2(uint32_t v4l2_fourcc); /* matches either V4L2 code */

/* The format in which clients get frames that are captured in this one. */
uint32_t format_published(uint32_t fourcc);

/* The same if they get luma alone: GREY, also for mosaics with more than 8 bits, or the format
 * itself if it has no colour. */
uint32_t format_luma(uint32_t fourcc);

/* Stores luma, 0 .. 255, as a sample of a format without colour: rounded, halves to even, and
 * clamped to the range of its samples. */
void format_put_luma(uint8_t *sample, const struct format_info *format, double luma);

/* Writes the comma-separated names of all formats, for error messages. */
void format_names(char *text, size_t size);

/* Fills the layout of a W x H frame, planes one after another without gaps, rows padded to a
 * multiple of `align` bytes (a power of two; 1 = packed). Colour is left unspecified (2), range
 * limited for YUV and full for RGB and grey, rate 0/1. -EINVAL names the size or the fourcc. */
int format_layout(struct fftd_format *ret, uint32_t fourcc, uint32_t width, uint32_t height,
                  uint32_t align, struct error *why);

#endif
