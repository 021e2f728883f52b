/* Corners that a lens has darkened, measured where the picture moves. Pure.
 *
 * The lens stands still, and the scene moves behind it. So each part of the scene is seen at
 * several places of the lens. In all frames of a scene together, the logarithm of a sample is the
 * sum of the scene's there, the lens's at its place, and what a frame has of its own: its light,
 * an error of its shift, and what is left of the flicker's bands. Least squares find all of them
 * at once; the scene may be anything. How much the frames then still differ tells the error.
 *
 * The gain is 1 + a r^2 + b r^4, which is what the stage `vignette` has, and does not fall.
 *
 * Source of the maths: Goldman and Chen, Vignette and Exposure Calibration and Compensation, IEEE
 * Int. Conf. on Computer Vision (2005); Frisch and Waugh, Partial Time Regressions as Compared with
 * Individual Trends, Econometrica 1 (1933), for the scene, which is eliminated beforehand. */
#ifndef FFTD_DIAGNOSIS_LENS_H
#define FFTD_DIAGNOSIS_LENS_H

#include <stdbool.h>
#include <stdint.h>

#include "shading.h"

#define LENS_VIEWS 12u  /* frames of a scene, at most */
#define LENS_REACH 0.15 /* smaller sides by which a frame may be away from a scene's first */

struct lens;

/* bands: the frequency of the flicker's bands, cycles a row; 0: there are none. -ENOMEM. */
int lens_create(struct lens **ret, uint32_t width, uint32_t height, double bands);
void lens_destroy(struct lens *lens); /* NULL is allowed */

/* Adds a frame of 0 .. 255, or NaN where a sample is cut off, to the scene: what is at (u, v) in
 * the scene is at (u + x, v + y) in the frame, but for a part of a pixel. Frames beyond LENS_VIEWS,
 * and what is farther away than LENS_REACH, are ignored. */
void lens_add(struct lens *lens, const float *luma, double x, double y);

/* Adds the scene's equations to those of the scenes before, and begins another scene. */
void lens_end(struct lens *lens);

/* Returns whether the scenes determine the gain. */
bool lens_solve(const struct lens *lens, struct shading_gain *ret);

#endif
