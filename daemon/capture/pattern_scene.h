/* The test scenes of pattern:. Pure.
 *
 * A scene is a picture in Y'CbCr: Y' from 0 to 1, Cb and Cr from -0.5 to 0.5 (BT.601 luma
 * weights). Its luma is the same in every format, up to number of bits and range; grey formats
 * show the luma alone. A scene is still, or noise in every frame, or a moving object over a still
 * background, so that a source never draws a whole scene twice. */
#ifndef FFTD_CAPTURE_PATTERN_SCENE_H
#define FFTD_CAPTURE_PATTERN_SCENE_H

#include <stdint.h>

#include "core/error.h"

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

#endif
