#include "estimators/flicker_model.h"

#include <math.h>

#include "core/clock.h"

#define LARGEST_SKIP 4    /* observed frames may be every fourth one */
#define STEPS        32u  /* of a cycle */
#define CLOCK_S      5e-5 /* moves of a time stamp that need no jitter as a reason */

/* The time of a frame after the reference, without the jitter of its time stamp. */
static double regular_time(const struct flicker_model *model, int64_t at_ns)
{
    const double time_s = (double)(at_ns - model->reference_ns) / NS_PER_S;
    if (model->period_s <= 0)
        return time_s;
    for (unsigned skip = 1; skip <= LARGEST_SKIP; skip++) {
        const double period_s = model->period_s / skip;
        const double regular_s = period_s * round(time_s / period_s);
        if (fabs(regular_s - time_s) <= CLOCK_S + 4 * model->jitter_s)
            return regular_s;
    }
    return time_s;
}

double flicker_model_light(const struct flicker_model *model, double cycles)
{
    const double phase = 2 * M_PI * (cycles - floor(cycles));
    double light = 0;
    for (unsigned h = 0; h < FLICKER_HARMONICS; h++)
        light += model->re[h] * cos((h + 1) * phase) - model->im[h] * sin((h + 1) * phase);
    return light;
}

/* The logarithm of the mean over a cycle. */
static double mean_light(const struct flicker_model *model)
{
    double sum = 0;
    for (unsigned i = 0; i < STEPS; i++)
        sum += exp(flicker_model_light(model, (double)i / STEPS)) / STEPS;
    return log(sum);
}

void flicker_model_gains(const struct flicker_model *model, int64_t at_ns, unsigned height,
                         float *ret_gain)
{
    if (!model->is_valid || at_ns > model->until_ns) {
        for (unsigned row = 0; row < height; row++)
            ret_gain[row] = 1;
        return;
    }
    const double cycles = model->frequency_hz * regular_time(model, at_ns);
    const double mean = mean_light(model);
    for (unsigned row = 0; row < height; row++) {
        const double light = flicker_model_light(model, cycles + model->rows_cycles * row);
        ret_gain[row] = (float)fmin(2, fmax(0.5, exp(mean - light)));
    }
}
