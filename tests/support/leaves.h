/* Scenes for tests of estimators: dead leaves, which are textured discs and rectangles that hide
 * each other. Their power falls about as that of photographs does. A scene is a function of the
 * place, so it can be shifted by fractions of a pixel, and rotated. */
#ifndef FFTD_TESTS_LEAVES_H
#define FFTD_TESTS_LEAVES_H

#include <stdint.h>

struct leaf {
    double x, y, angle_rad;
    double half[2]; /* of its length and width; pixels */
    double level, slope[2];
    double amplitude, fx, fy, phase; /* of its texture */
    unsigned is_disc;
};

struct leaves {
    struct leaf *leaf;
    unsigned count;
};

/* Where a picture is in the scene: the place in its middle, its rotation about it, and the standard
 * deviation of the lens' blur, at which edges are as soft. */
struct leaves_view {
    double x, y, angle_rad, blur_px;
};

/* Covers about size x size pixels around (0, 0). fineness: 0, large leaves without texture, to 1.
 */
void leaves_make(struct leaves *ret, double size, double fineness, uint64_t *seed);
void leaves_clear(struct leaves *leaves);

/* Draws over width x height samples, which are around 128. */
void leaves_draw(const struct leaves *leaves, const struct leaves_view *view, unsigned width,
                 unsigned height, float *samples);

#endif
