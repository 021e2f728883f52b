#include "estimators/motion/motion_scale.h"

#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/fft.h"
#include "estimators/motion/motion_constants.h"

#define SIDE MOTION_SEARCH_SIDE
#define MASK (SIDE - 1)

struct motion_search {
    struct fft *fft;
    float window[SIDE];
    float complex work[SIDE * SIDE], cross[SIDE * SIDE];
};

int motion_search_create(struct motion_search **ret, struct error *why)
{
    struct motion_search *search = calloc(1, sizeof *search);
    if (search == NULL)
        return error_set(why, ENOMEM, "out of memory for a field of motion");
    const int r = fft_create(&search->fft, SIDE, why);
    if (r < 0) {
        free(search);
        return r;
    }
    for (unsigned i = 0; i < SIDE; i++) /* the root of Hann's: the peak of a shift stays high */
        search->window[i] = (float)sin(M_PI * (i + 0.5) / SIDE);
    *ret = search;
    return 0;
}

void motion_search_destroy(struct motion_search *search)
{
    if (search == NULL)
        return;
    fft_destroy(search->fft);
    free(search);
}

/* Both squares without their means, the last one in the real part and the new one in the other. */
static void load(struct motion_search *search, const struct motion_level *level, unsigned left,
                 unsigned top)
{
    float sum[2] = {0};
    for (unsigned y = 0; y < SIDE; y++) {
        const size_t at = (size_t)(top + y) * level->width + left;
        for (unsigned x = 0; x < SIDE; x++) {
            sum[0] += level->last[at + x];
            sum[1] += level->next[at + x];
        }
    }
    const float mean[2] = {sum[0] / (SIDE * SIDE), sum[1] / (SIDE * SIDE)};
    float *to = (float *)search->work;
    for (unsigned y = 0; y < SIDE; y++) {
        const size_t at = (size_t)(top + y) * level->width + left;
        for (unsigned x = 0; x < SIDE; x++, to += 2) {
            const float window = search->window[x] * search->window[y];
            to[0] = window * (level->last[at + x] - mean[0]);
            to[1] = window * (level->next[at + x] - mean[1]);
        }
    }
}

/* The cross spectrum, conj(last) times new, of squares that were transformed together. */
static void cross_spectrum(struct motion_search *search)
{
    const float *work = (const float *)search->work;
    float *cross = (float *)search->cross, size[SIDE * SIDE], mean = 0;
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++) {
            const unsigned at = y * SIDE + x, other = (-y & MASK) * SIDE + (-x & MASK);
            const float zr = work[2 * at], zi = work[2 * at + 1];
            const float or = work[2 * other], oi = -work[2 * other + 1];
            const float last_re = zr + or, last_im = zi + oi; /* twice the last one */
            const float sum_re = zr - or, sum_im = zi - oi;   /* twice i times the new one */
            const float re = last_re * sum_im - last_im * sum_re;
            const float im = -(last_re * sum_re + last_im * sum_im);
            cross[2 * at] = re;
            cross[2 * at + 1] = im;
            size[at] = sqrtf(re * re + im * im);
            mean += size[at];
        }
    const float least = FLOOR * mean / (SIDE * SIDE) + 1e-9F;
    for (unsigned at = 0; at < SIDE * SIDE; at++) {
        cross[2 * at] /= size[at] + least;
        cross[2 * at + 1] /= size[at] + least;
    }
}

void motion_search_square(struct motion_search *search, const struct motion_level *level,
                          unsigned left, unsigned top, struct motion_peak ret[MOTION_SEARCH_PEAKS])
{
    load(search, level, left, top);
    fft_square(search->fft, search->work, false);
    cross_spectrum(search);
    fft_square(search->fft, search->cross, true);
    float height[SIDE * SIDE];
    for (unsigned i = 0; i < SIDE * SIDE; i++)
        height[i] = crealf(search->cross[i]);
    for (unsigned p = 0; p < MOTION_SEARCH_PEAKS; p++) {
        int x = 0, y = 0;
        float best = -INFINITY;
        for (int v = -REACH; v <= REACH; v++)
            for (int u = -REACH; u <= REACH; u++) {
                const float here = height[((unsigned)v & MASK) * SIDE + ((unsigned)u & MASK)];
                if (here > best) {
                    best = here;
                    x = u;
                    y = v;
                }
            }
        ret[p] = (struct motion_peak){x, y};
        for (int v = y - 1; v <= y + 1; v++)
            for (int u = x - 1; u <= x + 1; u++)
                height[((unsigned)v & MASK) * SIDE + ((unsigned)u & MASK)] = -INFINITY;
    }
}
