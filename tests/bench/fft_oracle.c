/* The expected result of every subject, in double precision and without a Fourier transform.
 *
 * The filter is H = 1 - G / 2 except H(0) = 1, where G is a Gaussian of SIGMA pixels. It is the
 * identity minus half a blur, and the blur is a convolution along x and then y with a few taps. H
 * is nowhere small, so it hides no error at any frequency. H never exceeds 1, so a subject that
 * works in place can repeat it without overflow, and results stay in 0 .. 255. */
#include "fft.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "transform/plan.h"

#define SIGMA 2.0
/* Cut at the Nyquist frequency, where G is 3e-9, its taps fall to that order at 12 px. */
#define REACH 24

const char fft_chain[] = "sharpen:amount=1,sigma=2 | gain:dc=1,ac=0.5";

/* Computes the taps of a circular blur of n samples: the inverse transform of G by definition. */
static void blur_taps(double taps[REACH + 1], uint32_t n)
{
    for (int i = 0; i <= REACH; i++) {
        taps[i] = 0;
        for (uint32_t k = 0; k < n; k++) {
            const double f = (k <= n / 2 ? (double)k : (double)k - n) / n;
            const uint32_t turn = (uint32_t)((uint64_t)k * (unsigned)i % n);
            taps[i] += exp(-2 * M_PI * M_PI * SIGMA * SIGMA * f * f) * cos(2 * M_PI * turn / n) / n;
        }
    }
}

/* Computes blurred[x] from `line`, which has REACH more samples on both sides. */
static void blur_row(double *blurred, const double *line, uint32_t n, const double *taps)
{
    for (uint32_t x = 0; x < n; x++)
        blurred[x] = taps[0] * line[x + REACH];
    for (uint32_t i = 1; i <= REACH; i++)
        for (uint32_t x = 0; x < n; x++)
            blurred[x] += taps[i] * (line[x + REACH - i] + line[x + REACH + i]);
}

struct oracle {
    uint32_t px, py;
    int32_t map_x[PLAN_MAX_LENGTH], map_y[PLAN_MAX_LENGTH]; /* padded to pixel coordinates */
    double taps_x[REACH + 1], taps_y[REACH + 1];
    double line[PLAN_MAX_LENGTH + 2 * REACH];
    double *blurred; /* along x, py rows of width */
};

/* Blurs every row of the extended image, but only in the image's columns. Returns the mean. */
static double blur_rows(struct oracle *o, const struct scene *scene)
{
    double sum = 0;
    for (uint32_t y = 0; y < o->py; y++) {
        const uint8_t *row = scene->pixels + (size_t)o->map_y[y] * scene->width;
        for (uint32_t x = 0; x < o->px + 2 * REACH; x++)
            o->line[x] = row[o->map_x[(x + o->px - REACH) % o->px]];
        for (uint32_t x = 0; x < o->px; x++)
            sum += o->line[x + REACH];
        blur_row(o->blurred + (size_t)y * scene->width, o->line, scene->width, o->taps_x);
    }
    return sum / o->px / o->py;
}

static void blur_columns(const struct oracle *o, const struct scene *scene, double mean,
                         double *result)
{
    const uint32_t width = scene->width;
    for (uint32_t y = 0; y < scene->height; y++) {
        double *out = result + (size_t)y * width;
        for (uint32_t x = 0; x < width; x++)
            out[x] = scene->pixels[(size_t)y * width + x] + mean / 2;
        for (int i = -REACH; i <= REACH; i++) {
            const double *in = o->blurred + (y + o->py + (uint32_t)i) % o->py * (size_t)width;
            for (uint32_t x = 0; x < width; x++)
                out[x] -= o->taps_y[abs(i)] / 2 * in[x];
        }
    }
}

int fft_oracle(double *result, const struct scene *scene, const struct cost *cost,
               struct error *why)
{
    struct oracle *o = malloc(sizeof *o);
    double *blurred = malloc((size_t)cost->padded_y * scene->width * sizeof *blurred);
    int r = 0;
    if (o == NULL || blurred == NULL) {
        r = error_set(why, ENOMEM, "out of memory while computing the reference");
        goto out;
    }
    o->px = cost->padded_x;
    o->py = cost->padded_y;
    o->blurred = blurred;
    plan_border_map(o->map_x, o->px, scene->width, PLAN_MIRROR);
    plan_border_map(o->map_y, o->py, scene->height, PLAN_MIRROR);
    blur_taps(o->taps_x, o->px);
    blur_taps(o->taps_y, o->py);
    const double mean = blur_rows(o, scene);
    blur_columns(o, scene, mean, result);
out:
    free(blurred);
    free(o);
    return r;
}
