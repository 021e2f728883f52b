/* Fits a light, its row period and the phases of all frames together, from what they are about; for
 * flicker.h and flicker_frame.h alone. Pure. Threads: a fit is used by one at a time. */
#ifndef FFTD_ESTIMATORS_FLICKER_FLICKER_IMPROVE_H
#define FFTD_ESTIMATORS_FLICKER_FLICKER_IMPROVE_H

#include "estimators/flicker/flicker_light.h"

struct light_options {
    bool moves_rows_cycles;
    const struct flicker_model *prior; /* what the light is like; NULL: not known */
};

/* Improves the light, its row period and all phases, in this number of steps. */
void light_improve(struct light_fit *fit, const struct rows *rows,
                   const struct light_options *options, unsigned steps);

#endif
