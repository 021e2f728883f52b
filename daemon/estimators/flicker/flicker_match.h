/* Compares frames with what the others of a history show of the scene; for flicker.h and
 * flicker_frame.h alone. Pure. Threads: a fit is used by one at a time. */
#ifndef FFTD_ESTIMATORS_FLICKER_FLICKER_MATCH_H
#define FFTD_ESTIMATORS_FLICKER_FLICKER_MATCH_H

#include "estimators/flicker/flicker_light.h"

#define LIGHT_OFFSET 0.0005 /* expected change of exposure, logarithm */
#define LIGHT_NOISE  3e-4   /* least standard deviation of a value, logarithm */

/* Forgets the frames that the history does not have any more. */
void light_align(struct light_fit *fit, const struct rows *rows);

/* Adds the newest frame of the history and forgets those that it does not have any more. Returns
 * whether it is lit. The phase is looked for near `phase`, or everywhere if that is not finite. */
bool light_add(struct light_fit *fit, const struct rows *rows, double phase);

/* Begins with frame `first` of the history, whose phase is known to within `error`, a standard
 * deviation in cycles, and matches all frames after it. The light, its row period and the noise
 * must be set. Returns whether the newest frame is lit. */
bool light_begin(struct light_fit *fit, const struct rows *rows, unsigned first, double phase,
                 double error);

/* Begins again with the newest frame of the history, in a scene of which nothing is known. */
void light_predict(struct light_fit *fit, const struct rows *rows, double phase);

/* Returns the residual sum of squares of all used frames with this light, and the number of their
 * samples. */
double light_squares(const struct light_fit *fit, const struct rows *rows, unsigned *ret_samples);

#endif
