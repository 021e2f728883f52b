#include "estimators/flicker/flicker_model.h"

#include <math.h>

#define STEPS 32u /* in a cycle */

double flicker_model_light(const struct flicker_model *model, double cycles)
{
    const double phase = 2 * M_PI * (cycles - floor(cycles));
    double light = 0;
    for (unsigned h = 0; h < FLICKER_HARMONICS; h++)
        light += creal(model->light[h]) * cos((h + 1) * phase) -
                 cimag(model->light[h]) * sin((h + 1) * phase);
    return light;
}

double flicker_model_still(const double still[FLICKER_STILL], double place)
{
    double sum = 0;
    for (unsigned i = FLICKER_STILL; i-- > 0;)
        sum = (sum + still[i]) * place;
    return sum;
}

/* The logarithm of the mean over a cycle. */
static double mean_light(const struct flicker_model *model)
{
    double sum = 0;
    for (unsigned i = 0; i < STEPS; i++)
        sum += exp(flicker_model_light(model, (double)i / STEPS)) / STEPS;
    return log(sum);
}

void flicker_model_gains(const struct flicker_model *model, double phase, unsigned height,
                         float *ret_gain)
{
    const double mean = mean_light(model);
    for (unsigned row = 0; row < height; row++) {
        const double light = flicker_model_light(model, phase + model->rows_cycles * row);
        ret_gain[row] = (float)fmin(2, fmax(0.5, exp(mean - light)));
    }
}
