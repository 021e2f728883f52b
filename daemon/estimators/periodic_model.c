/* Prediction from a copy of what was found. */
#include <complex.h>
#include <math.h>

#include "estimators/periodic.h"
#include "estimators/periodic_track.h"

unsigned periodic_model_waves(const struct periodic_model *model, int64_t at_ns,
                              struct wave ret[CORRECTION_MAX_WAVES])
{
    const double after_ns = (double)(at_ns - model->newest_ns);
    unsigned count = 0;
    for (unsigned i = 0; i < model->count; i++) {
        struct wave wave = model->track[i].wave;
        double turn;
        if (!track_turn(model->track[i].drift, model->track[i].step, model->interval_ns, after_ns,
                        &turn))
            continue;
        const double complex amplitude = (wave.re + wave.im * I) * cexp(2 * M_PI * I * turn);
        wave.re = creal(amplitude);
        wave.im = cimag(amplitude);
        ret[count++] = wave;
    }
    return count;
}
