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

#include <stdbool.h>
#include <stdint.h>

#define NOISE_LEVELS 16u

/* Variances by level of brightness; {0} has none. */
struct noise_sums {
    double weight[NOISE_LEVELS], variance[NOISE_LEVELS], level[NOISE_LEVELS];
    /* The variances of all levels in the same details and in those four times as large, of blocks
     * in which not too much of the large ones is cut off. */
    double fine, coarse;
};

struct noise_result {
    double sigma; /* standard deviation at the mean level of what was seen, grey levels of 255 */
    double floor; /* standard deviation at black */
    double shot;  /* by how much the variance grows with each grey level; 0: it cannot be told */
};

/* Two frames of 0 .. 255 that differ by a shift in whole pixels: what is at (x, y) in `before` is
 * at (x + dx, y + dy) in `luma`. */
struct noise_pair {
    const float *before, *luma;
    uint32_t width, height;
    int dx, dy;
};

/* Adds what a pair shows. -ENOMEM. */
int noise_compare(struct noise_sums *sums, const struct noise_pair *pair);

/* Returns whether the compared frames differ by noise alone. Noise is as strong in coarse details
 * as in fine ones; frames of different scenes, or with a shift that is wrong by whole pixels,
 * differ more in coarse ones. An error of less than a pixel goes unnoticed. False without data. */
bool noise_is_white(const struct noise_sums *sums);

/* Zero without data. */
struct noise_result noise_solve(const struct noise_sums *sums);

#endif
