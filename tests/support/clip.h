/* Synthetic clips for the estimators: scenes that look like photographs, textures, sensor noise.
 *
 * A clip is made from a seed, and frames may be asked for in any order; the same frame of the same
 * clip is always the same. */
#ifndef FFTD_TESTS_CLIP_H
#define FFTD_TESTS_CLIP_H

#include <stdbool.h>
#include <stdint.h>

enum clip_scene {
    CLIP_NATURAL, /* 1/f noise, a gradient and shapes with edges */
    CLIP_SMOOTH,  /* a gradient and few shapes */
    CLIP_BLINDS,
    CLIP_BRICKS,
    CLIP_FABRIC,
    CLIP_GRATING, /* a sine in a part of the frame */
    CLIP_CHECKERBOARD,
    CLIP_SCENES
};

struct clip {
    unsigned width, height;
    unsigned canvas_width, canvas_height;
    float *canvas;       /* the scene, larger than a frame */
    double pan_x, pan_y; /* pixels per frame */
    double sigma;        /* of the sensor noise */
    double corners;      /* what the lens leaves of the light there, 0 .. 1; clip_make() sets 1 */
    double uneven;       /* of the pixels' gains, standard deviation; clip_make() sets 0 */
    double contrast;     /* of the scene, whose middle is 120; clip_make() sets 1 */
    uint64_t sensor;     /* chooses the pixels' gains; clip_make() sets the seed */
    uint64_t seed;
};

/* Random numbers, the same on all machines. */
double clip_uniform(uint64_t *state, double from, double to);
double clip_normal(uint64_t *state);

/* Dark corners as lenses have them: of 50 to 100 % in half of the clips, and 1 in the others. */
double clip_corners(uint64_t *state);

void clip_make(struct clip *ret, enum clip_scene scene, unsigned width, unsigned height,
               bool is_panning, double sigma, uint64_t seed);
void clip_clear(struct clip *clip);

/* Frame `index` (0 .. 63) without interference, not rounded. */
void clip_frame(const struct clip *clip, unsigned index, float *ret);

#endif
