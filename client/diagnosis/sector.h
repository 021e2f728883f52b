/* Chooses the part of the spectrum in which columns or rows that differ are taken out. Pure.
 *
 * Columns that differ at random have the same power at every frequency along their axis, and none
 * beside it. A scene has most of its power at low frequencies, but how much of it is along an axis
 * differs: walls and fences have much. A sector takes both. So each candidate is tried: the power
 * that it takes from the scene and the power that it leaves of the stripes add up to the mean
 * squared error after it, and the least one counts.
 *
 * The picture is mirrored at its borders, as the daemon does it.
 *
 * Source of the maths: Wiener, Extrapolation, Interpolation, and Smoothing of Stationary Time
 * Series (1949), for the error of a filter as a sum over frequencies; Ahmed, Natarajan and Rao,
 * IEEE Trans. Computers C-23 (1974), for the cosine transform. */
#ifndef FFTD_DIAGNOSIS_SECTOR_H
#define FFTD_DIAGNOSIS_SECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "filters/filter.h"

#define SECTOR_TEXT 80 /* bytes of a stage */

struct sector_view {
    const float *luma; /* width x height numbers, rows side by side */
    uint32_t width, height;
    bool of_rows;                     /* rows differ, and not columns */
    bool has_stripes;                 /* they are still in luma */
    double stripes, noise;            /* standard deviations of both, in the unit of luma */
    const struct filter_chain *other; /* what else filters the picture */
};

/* Writes the stage whose error is least: empty if none is worth it, or if there is no memory. */
void sector_choose(const struct sector_view *view, char ret[SECTOR_TEXT]);

#endif
