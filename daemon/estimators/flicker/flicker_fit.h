/* Finds out how a history of rows flickers, if nothing but the row period is given; for flicker.h
 * and flicker_frame.h alone. Pure.
 *
 * A wave is fitted to each frame, against what the frames before it show of the scene. The scene
 * explains any constant, so amplitudes are known up to one that is common to all frames. Light of a
 * constant depth moves them along a circle around it. Frames without the light are at the centre of
 * this circle (flicker_leap.h). The result is where light_improve() begins.
 *
 * Source of the maths: Kasa, IEEE Trans. Instrumentation and Measurement 25 (1976), for circles. */
#ifndef FFTD_ESTIMATORS_FLICKER_FLICKER_FIT_H
#define FFTD_ESTIMATORS_FLICKER_FLICKER_FIT_H

#include <stdbool.h>

#include "estimators/flicker/flicker_light.h"
#include "estimators/flicker/flicker_rows.h"

/* Returns the share of the squares that waves of that row period explain in every second bin of the
 * newest frames. still: the known effect of the sensor's rows (flicker_model.h). */
double fit_explained(const struct rows *rows, double rows_cycles,
                     const double still[FLICKER_STILL]);

/* Fills the light and the phases of all frames. Returns false if they do not determine a circle, or
 * if it is not known which of them have the light. */
bool fit_start(const struct rows *rows, double rows_cycles, const double still[FLICKER_STILL],
               struct light_fit *ret);

#endif
