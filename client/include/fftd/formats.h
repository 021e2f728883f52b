/* fftd/formats.h - the pixel formats of fftd's frames. This is the only table of them: the daemon,
 * libfftd, fftd-ctl, the GStreamer element and the Python module all derive what they need from it.
 *
 * Programs should ask fftd_pixel_format (fftd.h) about the fourcc of a frame. The table below is
 * for other languages, and for programs that want it at compile time.
 *
 * A frame's pixels have one component (GREY: Y) or three (YUV: Y, U, V; RGB: R, G, B). Sample x of
 * row y of component c is found at
 *
 *     plane[c.plane].offset + y * plane[c.plane].stride + c.offset + x * c.step
 *
 * bytes into the frame, where plane[] is struct fftd_format's (ring.h). A sample is one byte, or
 * two bytes, little-endian, where it has more than 8 bits; unused upper bits are 0. The first
 * component, R, G and B have a sample for each pixel. U and V have one for each group of
 * sub_x * sub_y pixels: ceil(width / sub_x) by ceil(height / sub_y) samples.
 *
 * DRM and V4L2 give the same bytes opposite names. DRM names an RGB format by the bits of a
 * little-endian word, most significant bits first; V4L2 names most of them by the bytes in memory,
 * first byte first:
 *
 *     bytes in memory   V4L2                 DRM                  GStreamer
 *     R G B             RGB24   'RGB3'       BGR888    'BG24'     RGB
 *     B G R             BGR24   'BGR3'       RGB888    'RG24'     BGR
 *     X R G B           XRGB32  'BX24'       BGRX8888  'BX24'     xRGB
 *     B G R X           XBGR32  'XR24'       XRGB8888  'XR24'     BGRx
 *
 * V4L2's XBGR32 is the exception: its bytes are B G R X. fftd uses V4L2's names, as cameras and
 * v4l2-ctl do, and DRM's codes. V4L2's RGB32 and BGR32 are older names of the last two layouts with
 * an undefined fourth byte, and are not supported. */
#ifndef FFTD_FORMATS_H
#define FFTD_FORMATS_H

#include <stddef.h>
#include <stdint.h>

#include <fftd/ring.h>

enum fftd_pixel_family {
    FFTD_FAMILY_GREY = 0,
    FFTD_FAMILY_YUV = 1,
    FFTD_FAMILY_RGB = 2,
};

/* The position of a component's samples; see above. */
struct fftd_pixel_component {
    uint8_t plane;
    uint8_t offset; /* bytes */
    uint8_t step;   /* bytes */
};

/* One format. Later versions of the library may add members at the end. */
struct fftd_pixel_format {
    const char *name;      /* the configuration's and V4L2's name: "NV12", "GREY", "RGB24" */
    const char *gstreamer; /* the format in GStreamer's video/x-raw caps; NULL: it has none */
    const char *y4m;       /* Y4M's colour space with the same samples; NULL: it has none */
    uint32_t fourcc;       /* DRM's code, which struct fftd_format has */
    uint32_t v4l2;         /* V4L2's code for all planes in one buffer */
    uint32_t v4l2_multi;   /* V4L2's code for a buffer for each plane; 0: none */
    uint32_t family;       /* enum fftd_pixel_family */
    uint8_t bits;          /* significant bits of a sample: 8, 10, 12, 16 */
    uint8_t plane_count;
    uint8_t sub_x, sub_y; /* pixels for each sample of U and V, across and down */
    struct fftd_pixel_component component[3]; /* GREY: only the first is used */
};

/* The table. FFTD_PIXEL_FORMATS(F) expands to one F(...) for each format, with the arguments
 *
 *     name, DRM code, V4L2 code, V4L2 code for a buffer for each plane, GStreamer, Y4M,
 *     family, bits, planes, sub_x, sub_y, Y or R, U or G, V or B
 *
 * Codes are tuples of four characters (all 0: none), components are (plane, offset, step). */
/* clang-format off */
#define FFTD_PIXEL_FORMATS(F)                                                                     \
    F(GREY,   ('R','8',' ',' '), ('G','R','E','Y'), (0,0,0,0),         "GRAY8",     "mono",       \
      GREY, 8,  1, 1, 1, (0,0,1), (0,0,0), (0,0,0))                                               \
    F(Y10,    ('R','1','0',' '), ('Y','1','0',' '), (0,0,0,0),         NULL,        "mono10",     \
      GREY, 10, 1, 1, 1, (0,0,2), (0,0,0), (0,0,0))                                               \
    F(Y12,    ('R','1','2',' '), ('Y','1','2',' '), (0,0,0,0),         NULL,        "mono12",     \
      GREY, 12, 1, 1, 1, (0,0,2), (0,0,0), (0,0,0))                                               \
    F(Y16,    ('R','1','6',' '), ('Y','1','6',' '), (0,0,0,0),         "GRAY16_LE", "mono16",     \
      GREY, 16, 1, 1, 1, (0,0,2), (0,0,0), (0,0,0))                                               \
    F(YUYV,   ('Y','U','Y','V'), ('Y','U','Y','V'), (0,0,0,0),         "YUY2",      "422",        \
      YUV,  8,  1, 2, 1, (0,0,2), (0,1,4), (0,3,4))                                               \
    F(UYVY,   ('U','Y','V','Y'), ('U','Y','V','Y'), (0,0,0,0),         "UYVY",      "422",        \
      YUV,  8,  1, 2, 1, (0,1,2), (0,0,4), (0,2,4))                                               \
    F(NV12,   ('N','V','1','2'), ('N','V','1','2'), ('N','M','1','2'), "NV12",      "420jpeg",    \
      YUV,  8,  2, 2, 2, (0,0,1), (1,0,2), (1,1,2))                                               \
    F(NV21,   ('N','V','2','1'), ('N','V','2','1'), ('N','M','2','1'), "NV21",      "420jpeg",    \
      YUV,  8,  2, 2, 2, (0,0,1), (1,1,2), (1,0,2))                                               \
    F(NV16,   ('N','V','1','6'), ('N','V','1','6'), ('N','M','1','6'), "NV16",      "422",        \
      YUV,  8,  2, 2, 1, (0,0,1), (1,0,2), (1,1,2))                                               \
    F(YUV420, ('Y','U','1','2'), ('Y','U','1','2'), ('Y','M','1','2'), "I420",      "420jpeg",    \
      YUV,  8,  3, 2, 2, (0,0,1), (1,0,1), (2,0,1))                                               \
    F(YVU420, ('Y','V','1','2'), ('Y','V','1','2'), ('Y','M','2','1'), "YV12",      "420jpeg",    \
      YUV,  8,  3, 2, 2, (0,0,1), (2,0,1), (1,0,1))                                               \
    F(RGB24,  ('B','G','2','4'), ('R','G','B','3'), (0,0,0,0),         "RGB",       NULL,         \
      RGB,  8,  1, 1, 1, (0,0,3), (0,1,3), (0,2,3))                                               \
    F(BGR24,  ('R','G','2','4'), ('B','G','R','3'), (0,0,0,0),         "BGR",       NULL,         \
      RGB,  8,  1, 1, 1, (0,2,3), (0,1,3), (0,0,3))                                               \
    F(XRGB32, ('B','X','2','4'), ('B','X','2','4'), (0,0,0,0),         "xRGB",      NULL,         \
      RGB,  8,  1, 1, 1, (0,1,4), (0,2,4), (0,3,4))                                               \
    F(XBGR32, ('X','R','2','4'), ('X','R','2','4'), (0,0,0,0),         "BGRx",      NULL,         \
      RGB,  8,  1, 1, 1, (0,2,4), (0,1,4), (0,0,4))

/* Formats of sensors without an image processor: one colour per pixel, in cells of 2 x 2. No frame
 * of the ring has such a format: the daemon publishes them as XBGR32 or GREY. FFTD_MOSAIC_FORMATS(M)
 * expands to one M(name, V4L2 code, bits, bytes of a sample, red_x, red_y) for each; red is at
 * (red_x, red_y) of a cell and blue is opposite. */
#define FFTD_MOSAIC_FORMATS(M)                                                                    \
    M(SBGGR8,  ('B','A','8','1'),  8, 1, 1, 1) M(SGBRG8,  ('G','B','R','G'),  8, 1, 0, 1)         \
    M(SGRBG8,  ('G','R','B','G'),  8, 1, 1, 0) M(SRGGB8,  ('R','G','G','B'),  8, 1, 0, 0)         \
    M(SBGGR10, ('B','G','1','0'), 10, 2, 1, 1) M(SGBRG10, ('G','B','1','0'), 10, 2, 0, 1)         \
    M(SGRBG10, ('B','A','1','0'), 10, 2, 1, 0) M(SRGGB10, ('R','G','1','0'), 10, 2, 0, 0)         \
    M(SBGGR12, ('B','G','1','2'), 12, 2, 1, 1) M(SGBRG12, ('G','B','1','2'), 12, 2, 0, 1)         \
    M(SGRBG12, ('B','A','1','2'), 12, 2, 1, 0) M(SRGGB12, ('R','G','1','2'), 12, 2, 0, 0)         \
    M(SBGGR16, ('B','Y','R','2'), 16, 2, 1, 1) M(SGBRG16, ('G','B','1','6'), 16, 2, 0, 1)         \
    M(SGRBG16, ('G','R','1','6'), 16, 2, 1, 0) M(SRGGB16, ('R','G','1','6'), 16, 2, 0, 0)
/* clang-format on */

/* For users of these macros: a component's tuple as an initializer, and one member of it. */
/* clang-format off */
#define FFTD_COMPONENT(plane, offset, step) {(plane), (offset), (step)}
/* clang-format on */
#define FFTD_COMPONENT_OFFSET(plane, offset, step) (offset)
#define FFTD_COMPONENT_STEP(plane, offset, step)   (step)

#endif
