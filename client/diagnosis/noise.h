/* Estimates random noise, which differs in each frame, from two frames. Pure.
 *
 * Two frames of the same scene differ by their noise. The second is moved back by the shift between
 * them, in whole pixels. The difference is seen through the diagonal details of a Haar transform,
 * which hardly see what the shift has left; of blocks of 16 x 16 pixels, those that vary least
 * within a level of brightness count. The variance of blocks of one level is that of a
 * sensor: sigma^2 + shot * level.
 *
 * Sources of the maths: Donoho and Johnstone, Biometrika 81 (1994), for the diagonal details; Foi,
 * Trimeche, Katkovnik and Egiazarian, IEEE Trans. Image Processing 17 (2008), for the line through
 * variances and levels. */
#ifndef FFTD_DIAGNOSIS_NOISE_H
#define FFTD_DIAGNOSIS_NOISE_H

#include <stdint.h>

#define NOISE_LEVELS 16u

/* Variances by level of brightness; {0} has none. */
struct noise_sums {
    double weight[NOISE_LEVELS], variance[NOISE_LEVELS], level[NOISE_LEVELS];
};

struct noise_result {
    double sigma; /* standard deviation at the mean level of what was seen, grey levels of 255 */
    double floor; /* standard deviation at black */
    double shot;  /* by how much the variance grows with each grey level; 0: it cannot be told */
};

/* Compares two frames of 0 .. 255 that differ by a shift in whole pixels: what is at (x, y) in
 * `before` is at (x + dx, y + dy) in `luma`. -ENOMEM. */
int noise_compare(struct noise_sums *sums, const float *before, const float *luma, uint32_t width,
                  uint32_t height, int dx, int dy);

/* Zero without data. */
struct noise_result noise_solve(const struct noise_sums *sums);

#endif
