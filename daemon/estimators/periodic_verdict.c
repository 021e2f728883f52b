#include "estimators/periodic_verdict.h"

#include <math.h>

/* Multiples of the strongest of the 16 frequencies around. Noise alone exceeds c times that with
 * the probability 1 / binomial(16 + c, c): once in 4845 patches for 4, in 153 for 2. */
#define SEEN        4
#define NOT_ITS_OWN 2
/* Of the amplitude, by which a patch may differ from the others. Chosen on the clips of
 * tests/unit/periodic.c. */
#define UNEVEN      0.4

void verdict_add(struct verdict *ret, const struct patch_sample *sample, double amplitude)
{
    const double off = cabs(sample->amplitude);
    const double weight = 1 / (sample->power + 0.01 * amplitude * amplitude + 1e-6);
    ret->patches++;
    if (amplitude * amplitude < SEEN * sample->power_most)
        return;
    ret->seen++;
    if (off * off > UNEVEN * UNEVEN * amplitude * amplitude + NOT_ITS_OWN * sample->power_most)
        return;
    ret->agreeing++;
    ret->correction += weight * sample->amplitude;
    ret->weight += weight;
}
