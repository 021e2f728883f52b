/* Corners that a lens has darkened. Pure.
 *
 * In a picture that stands still (lens.h has those that move), the gradients of a scene's logarithm
 * along a radius are as often positive as negative. Those of a vignette add a little to all of
 * them, towards dark. So the median of the radial gradients at a radius is that of the vignette,
 * and their integral is its logarithm; medians ignore edges. This counts only if the halves of the
 * picture agree.
 *
 * The gain is 1 + a r^2 + b r^4, which is what the stage `vignette` has.
 *
 * Source of the maths: Zheng, Yu, Kang, Lin and Kambhamettu, Single-Image Vignetting Correction
 * Using Radial Gradient Symmetry, IEEE Conf. on Computer Vision and Pattern Recognition (2008). */
#ifndef FFTD_DIAGNOSIS_SHADING_H
#define FFTD_DIAGNOSIS_SHADING_H

#include <stdbool.h>
#include <stdint.h>

struct shading;

struct shading_gain {
    double a, b;      /* gain 1 + a r^2 + b r^4, r = 1 in the corners */
    double corner;    /* 0 .. 1: how bright the corners are, in relation to the middle */
    double agreement; /* 0 .. 1: how much of the darkening the half sees that sees the least */
    double error;     /* the standard error of corner; 0: it is not known */
    bool is_measured; /* by what moves, and not guessed from the scene */
};

/* -ENOMEM. */
int shading_create(struct shading **ret, uint32_t width, uint32_t height);
void shading_destroy(struct shading *shading); /* NULL is allowed */

/* Adds a frame of 0 .. 255. */
void shading_add(struct shading *shading, const float *luma);

/* Returns whether the frames determine a gain. */
bool shading_solve(const struct shading *shading, struct shading_gain *ret);

#endif
