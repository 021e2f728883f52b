/* Scenes for tests of estimators: sums of waves whose power falls with frequency, and discs with
 * soft edges. A scene is a function of the place, so any shift or rotation of it is exact. */
#ifndef FFTD_TESTS_SCENE_H
#define FFTD_TESTS_SCENE_H

#include <stdint.h>

#define SCENE_WAVES 120
#define SCENE_DISCS 14

struct scene {
    double fx[SCENE_WAVES], fy[SCENE_WAVES]; /* cycles/pixel, at most 0.35 */
    double amplitude[SCENE_WAVES], phase[SCENE_WAVES];
    double x[SCENE_DISCS], y[SCENE_DISCS], radius[SCENE_DISCS], level[SCENE_DISCS];
};

/* Random numbers that depend on the seed alone: uniform in 0 .. 1, and normal. */
double scene_uniform(uint64_t *seed);
double scene_normal(uint64_t *seed);

/* A scene around (0, 0), about `size` pixels wide, of a standard deviation of about 40. */
void scene_make(struct scene *scene, double size, uint64_t *seed);

/* Fills width x height samples, around 128 and limited to 0 .. 255. The place (x, y) of the scene
 * is in the middle, turned by that angle. */
void scene_draw(const struct scene *scene, double x, double y, double angle_rad, unsigned width,
                unsigned height, float *ret);

#endif
