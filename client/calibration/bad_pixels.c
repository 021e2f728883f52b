#include "bad_pixels.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEIGHBOURS 8
#define MIN_EXCESS (6 / 255.) /* levels; a pixel that is off by less hardly matters */
#define SIGMAS     6.         /* a bad pixel differs by this many standard deviations */
#define SPREADS    2.         /* and by this many times the spread of its neighbours */
#define NORMAL     1.2533     /* the standard deviation, in mean magnitudes */
#define ALONE      0.5F       /* share of `off` by which a lone pixel differs from each neighbour */

/* How far a pixel is from its neighbours, from the nearest of them, and they from each other. */
struct excess {
    float off, nearest, spread;
};

static unsigned neighbours(float ret[NEIGHBOURS], const float *mean, uint32_t width,
                           uint32_t height, int step, uint32_t x, uint32_t y)
{
    unsigned count = 0;
    for (int v = -step; v <= step; v += step)
        for (int u = -step; u <= step; u += step) {
            const int64_t column = (int64_t)x + u, row = (int64_t)y + v;
            if ((u == 0 && v == 0) || column < 0 || row < 0 || column >= width || row >= height)
                continue;
            const float level = mean[(size_t)row * width + (size_t)column];
            unsigned at = count++;
            for (; at > 0 && ret[at - 1] > level; at--)
                ret[at] = ret[at - 1];
            ret[at] = level;
        }
    return count;
}

/* Compares all pixels with their neighbours. Returns the standard deviation of most of them. */
static double compare(struct excess *ret, const float *mean, uint32_t width, uint32_t height,
                      unsigned step)
{
    double sum = 0;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            const size_t i = (size_t)y * width + x;
            float sorted[NEIGHBOURS];
            const unsigned count = neighbours(sorted, mean, width, height, (int)step, x, y);
            const unsigned low = count / 4, high = count - 1 - low;
            if (count == 0) {
                ret[i] = (struct excess){0, 0, 0};
                continue;
            }
            ret[i].off = mean[i] - (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
            ret[i].spread = sorted[high] - sorted[low];
            ret[i].nearest = INFINITY;
            for (unsigned k = 0; k < count; k++)
                ret[i].nearest = fminf(ret[i].nearest, fabsf(mean[i] - sorted[k]));
            sum += fmin(fabs((double)ret[i].off), MIN_EXCESS);
        }
    return NORMAL * sum / ((double)width * height);
}

static bool stands_out(const struct excess *excess, double sigma, bool is_still)
{
    const double limit = fmax(fmax(MIN_EXCESS, SIGMAS * sigma), SPREADS * (double)excess->spread);
    const float off = fabsf(excess->off);
    return (double)off > limit && (!is_still || excess->nearest >= ALONE * off);
}

/* Returns whether the pixels that would replace a bad one are all bad. */
static bool is_surrounded(const uint8_t *bad, uint32_t width, uint32_t height, uint32_t step,
                          size_t i)
{
    const uint32_t x = (uint32_t)(i % width), y = (uint32_t)(i / width);
    const size_t down = (size_t)step * width;
    return !((x >= step && bad[i - step] == 0) || (x + step < width && bad[i + step] == 0) ||
             (y >= step && bad[i - down] == 0) || (y + step < height && bad[i + down] == 0));
}

int bad_pixels_find(uint8_t *bad, const float *const mean[2], uint32_t width, uint32_t height,
                    unsigned step, bool is_still)
{
    const size_t count = (size_t)width * height;
    struct excess *excess[2];
    double sigma[2];
    for (unsigned half = 0; half < 2; half++)
        excess[half] = malloc(count * sizeof *excess[half]);
    const bool has_memory = excess[0] != NULL && excess[1] != NULL;
    for (unsigned half = 0; half < 2 && has_memory; half++)
        sigma[half] = compare(excess[half], mean[half], width, height, step);
    for (size_t i = 0; i < count && has_memory; i++)
        bad[i] = stands_out(&excess[0][i], sigma[0], is_still) &&
                 stands_out(&excess[1][i], sigma[1], is_still) &&
                 (excess[0][i].off > 0) == (excess[1][i].off > 0);
    for (size_t i = 0; i < count && has_memory; i++)
        if (bad[i] != 0 && is_surrounded(bad, width, height, step, i))
            bad[i] = 0;
    free(excess[0]);
    free(excess[1]);
    return has_memory ? 0 : -ENOMEM;
}
