/* The test scenes of pattern:, and their conversion to any format. Pure.
 *
 * A scene is a picture in Y'CbCr: Y' from 0 to 1, Cb and Cr from -0.5 to 0.5 (BT.601 luma
 * weights). Its luma is the same in every format, up to number of bits and range; grey formats
 * show the luma alone. A scene is still, or noise in every frame, or a moving object over a still
 * background, so that a source never draws a whole scene twice. */
#ifndef FFTD_CAPTURE_PATTERN_H
#define FFTD_CAPTURE_PATTERN_H

#include <stdint.h>

#include "core/error.h"
#include "core/format.h"

/* The periodic noise of the scene `moire`: amplitude * cos(2 pi (fx x + fy y)) is added to the
 * luma of the still background of `scene`; x and y in pixels from the top left one, frequencies in
 * cycles a pixel, amplitudes in parts of full luma. The sum never leaves the range of luma. */
struct pattern_wave {
    double fx, fy;
    double amplitude;
};
#define PATTERN_MOIRE_WAVES 3
extern const struct pattern_wave pattern_moire[PATTERN_MOIRE_WAVES];

enum pattern_motion {
    PATTERN_STILL,  /* every frame is the same */
    PATTERN_NOISE,  /* every frame is new: all codes of every sample are equally likely */
    PATTERN_OBJECT, /* an object moves over a still background */
};

/* One row of a picture, an element a pixel. */
struct pattern_line {
    float *y, *cb, *cr;
};

struct pattern_canvas {
    uint32_t width, height; /* pixels */
    uint32_t seed;
};

struct pattern_scene {
    const char *name;
    enum pattern_motion motion;
    /* Draws a row of the still part; NULL: the scene has none. */
    void (*draw)(const struct pattern_canvas *canvas, uint32_t row, struct pattern_line line);
};

/* -EINVAL: no such scene; the text lists them. */
int pattern_find(const struct pattern_scene **ret, const char *name, struct error *why);

/* The object that moves in PATTERN_OBJECT; it fills its canvas. */
extern const struct pattern_scene pattern_object_scene;

/* Draws the still part of a scene into a frame of that layout. -ENOMEM. */
int pattern_draw_still(const struct pattern_scene *scene, const struct fftd_format *format,
                       uint32_t seed, uint8_t *frame, struct error *why);

/* Draws frame `index` of PATTERN_NOISE. */
void pattern_draw_noise(const struct fftd_format *format, uint64_t index, uint32_t seed,
                        uint8_t *frame);

/* A rectangle of pixels; all even, so that it covers whole chroma samples. */
struct pattern_rectangle {
    uint32_t x, y, width, height;
};

/* Where the object is in frame `index`. Its size never changes; 0 x 0 if the frame is too small
 * for one. */
struct pattern_rectangle pattern_object_at(const struct fftd_format *format, uint64_t index);

/* Draws the object alone; it must not be 0 x 0. *ret_format is its layout, *ret its bytes, which
 * the caller frees. */
int pattern_draw_object(const struct fftd_format *format, struct fftd_format *ret_format,
                        uint8_t **ret, struct error *why);

/* Copies pixels from (from_x, from_y) of the frame `from` to the rectangle `where` of the frame
 * `to`. Both positions are even; sizes are odd only at the frames' edges. Both frames have the same
 * fourcc. */
void pattern_copy(uint8_t *to, const struct fftd_format *to_format, struct pattern_rectangle where,
                  const uint8_t *from, const struct fftd_format *from_format, uint32_t from_x,
                  uint32_t from_y);

/* Sets the colour description of a scene's frames: sRGB; Y'CbCr by BT.601 where it is not RGB. */
void pattern_set_colour(struct fftd_format *format);

#endif
