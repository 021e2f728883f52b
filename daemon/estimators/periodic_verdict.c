#include "estimators/periodic_verdict.h"

#include <math.h>

/* Multiples of the strongest of the 16 frequencies around. Noise alone exceeds c times that with
 * the probability 1 / binomial(16 + c, c): once in 4845 patches for 4, in 153 for 2. */
#define SEEN        4
#define NOT_ITS_OWN 2
/* Of the amplitude, by which a patch may differ from the others. Chosen on the clips of
 * tests/unit/periodic.c. */
#define UNEVEN      0.4

void verdict_add(struct verdict *ret, const struct patch *patch, const struct patch_sample *sample,
                 double amplitude, double complex direction)
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
    const double turned = cimag(sample->amplitude * conj(direction)) / amplitude / (2 * M_PI);
    const double x = patch->to_x;
    const double y = patch->to_y;
    ret->m[0] += weight;
    ret->m[1] += weight * x;
    ret->m[2] += weight * y;
    ret->m[3] += weight * x * x;
    ret->m[4] += weight * x * y;
    ret->m[5] += weight * y * y;
    ret->v[0] += weight * turned;
    ret->v[1] += weight * turned * x;
    ret->v[2] += weight * turned * y;
}

bool verdict_slopes(const struct verdict *v, double *ret_x, double *ret_y)
{
    if (v->m[0] <= 0)
        return false;
    const double xx = v->m[3] - v->m[1] * v->m[1] / v->m[0];
    const double xy = v->m[4] - v->m[1] * v->m[2] / v->m[0];
    const double yy = v->m[5] - v->m[2] * v->m[2] / v->m[0];
    const double tx = v->v[1] - v->m[1] * v->v[0] / v->m[0];
    const double ty = v->v[2] - v->m[2] * v->v[0] / v->m[0];
    const double det = xx * yy - xy * xy;
    if (!(det > 1e-3 * xx * yy))
        return false;
    *ret_x = (tx * yy - ty * xy) / det;
    *ret_y = (ty * xx - tx * xy) / det;
    return true;
}
