/* The Makefile has -O3 and -fno-math-errno for this file. */
#include "estimators/motion/motion_correlation.h"

#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/fft.h"
#include "core/order.h"
#include "core/vectors.h"

/* Thresholds were chosen on the pairs of tests/unit/motion.c and tests/unit/motion_pairs.c. */
#define MAX_SIDE     CORRELATION_MAX_SIDE
#define MIN_SIDE     16u /* side of the smallest pictures */
#define PEAKS        CORRELATION_PEAKS
#define SKIPPED      1     /* spectral columns left out on each side of column 0 */
#define SMALL        1e-5F /* scales spectra: products of four numbers fit a float */
#define NOISE_MARGIN 1.5   /* powers below this multiple of the noise are noise */
#define FLOOR_POWER  1e-4  /* variance of a sample, far below the 1/12 of rounding to 8 bits */
#define MODEL_ERROR  0.002 /* limits the weights to 1 / MODEL_ERROR */
#define SIGNIFICANT  2.0   /* weight of the frequencies that count */
#define PEAK_RADIUS  2     /* pixels around a peak that belong to it */
#define MAX_SHIFT    0.4   /* share of a side */

struct correlation {
    unsigned width, height; /* size of the pictures */
    unsigned side;          /* side of the square that is transformed */
    struct fft *fft;
    /* Sized for the largest square; smaller ones leave the remaining pages untouched, so unused. */
    float complex work[MAX_SIDE * MAX_SIDE];  /* one square is the real part, one the imaginary */
    float complex cross[MAX_SIDE * MAX_SIDE]; /* the weighted phases of the cross spectrum */
    float power[MAX_SIDE * MAX_SIDE];
    float scratch[MAX_SIDE * MAX_SIDE];
};

static unsigned lesser(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

int correlation_create(struct correlation **ret, unsigned width, unsigned height, struct error *why)
{
    struct correlation *c = calloc(1, sizeof *c);
    if (c == NULL)
        return error_set(why, ENOMEM, "out of memory for an estimator of motion");
    c->width = width;
    c->height = height;
    c->side = MIN_SIDE;
    while (c->side < MAX_SIDE && (c->side < width || c->side < height))
        c->side *= 2;
    const int r = fft_create(&c->fft, c->side, why);
    if (r < 0) {
        correlation_destroy(c);
        return r;
    }
    *ret = c;
    return 0;
}

void correlation_destroy(struct correlation *c)
{
    if (c == NULL)
        return;
    fft_destroy(c->fft);
    free(c);
}

/* A window like Hann's. */
static void draw_window(float *window, unsigned length)
{
    for (unsigned i = 0; i < length; i++)
        window[i] = (float)(0.5 - 0.5 * cos(2 * M_PI * (i + 0.5) / length));
}

/* Puts the windowed middle of a picture without its mean in the real or imaginary part of the work.
 * Returns the sum of the squares of the window. */
static double put_square(struct correlation *c, const float *picture, unsigned which)
{
    const unsigned width = lesser(c->width, c->side), height = lesser(c->height, c->side);
    float window[2][MAX_SIDE];
    draw_window(window[0], width);
    draw_window(window[1], height);
    const float *from =
        picture + (size_t)((c->height - height) / 2) * c->width + (c->width - width) / 2;
    double sum = 0, weights = 0, squares = 0;
    for (unsigned y = 0; y < height; y++) {
        double row = 0, row_weights = 0, row_squares = 0;
        for (unsigned x = 0; x < width; x++) {
            row += window[0][x] * from[(size_t)y * c->width + x];
            row_weights += window[0][x];
            row_squares += window[0][x] * window[0][x];
        }
        sum += row * window[1][y];
        weights += row_weights * window[1][y];
        squares += row_squares * window[1][y] * window[1][y];
    }
    const float mean = (float)(sum / weights);
    float *numbers = (float *)c->work + which;
    for (unsigned y = 0; y < height; y++)
        for (unsigned x = 0; x < width; x++)
            numbers[2 * ((size_t)y * c->side + x)] =
                (from[(size_t)y * c->width + x] - mean) * window[0][x] * window[1][y];
    return squares;
}

/* The power of the noise: the median of the highest frequencies, whose powers are distributed
 * exponentially. `work` holds the transform of both squares. */
static double noise_power(struct correlation *c)
{
    const unsigned side = c->side, edge = side / 16;
    unsigned count = 0;
    for (unsigned y = side / 2 - edge; y < side / 2 + edge; y++)
        for (unsigned x = side / 2 - edge; x < side / 2 + edge; x++) {
            const float complex z = c->work[(size_t)y * side + x];
            c->scratch[count++] = crealf(z) * crealf(z) + cimagf(z) * cimagf(z);
        }
    qsort(c->scratch, count, sizeof *c->scratch, order_floats);
    return c->scratch[count / 2] / M_LN2 / 2; /* the work adds the powers of two squares */
}

/* Fills `power` with the mean over both squares of the 3 x 3 frequencies around each one. */
VECTORS static void smooth_power(struct correlation *c)
{
    const unsigned side = c->side, mask = side - 1;
    for (unsigned y = 0; y < side; y++)
        for (unsigned x = 0; x < side; x += FLOATS) {
            floats re, im, other_re, other_im;
            fft_take(c->work + (size_t)y * side, x, &re, &im);
            fft_take_opposite(c->work + (size_t)((side - y) & mask) * side, side, x, &other_re,
                              &other_im);
            /* The sum of both numbers' powers is twice the sum of both squares'. */
            FLOATS_AT(c->power + (size_t)y * side + x) =
                (re * re + im * im + other_re * other_re + other_im * other_im) / 4;
        }
    for (unsigned y = 0; y < side; y++) {
        const float *row = c->power + (size_t)y * side;
        float *restrict to = c->scratch + (size_t)y * side;
        to[0] = row[mask] + row[0] + row[1];
        for (unsigned x = 1; x < mask; x++)
            to[x] = row[x - 1] + row[x] + row[x + 1];
        to[mask] = row[mask - 1] + row[mask] + row[0];
    }
    for (unsigned y = 0; y < side; y++) {
        const float *above = c->scratch + (size_t)((y - 1) & mask) * side;
        const float *row = c->scratch + (size_t)y * side;
        const float *below = c->scratch + (size_t)((y + 1) & mask) * side;
        float *restrict to = c->power + (size_t)y * side;
        for (unsigned x = 0; x < side; x++)
            to[x] = (above[x] + row[x] + below[x]) / 9;
    }
}

/* Fills FLOATS numbers of `cross` with the phases of the cross spectrum (last conjugated, times
 * new), times w / (1 + w). Their weight w is, for signal S in noise N, the magnitude of the cross
 * spectrum times S / (N^2 + 2 S N), up to a limit. Counts the significant ones. */
static ALWAYS_INLINE void weigh(struct correlation *c, unsigned y, unsigned x, float noise,
                                ints *significant)
{
    const unsigned side = c->side;
    const float scale = 0.5F * SMALL / sqrtf(noise);
    floats re, im, other_re, other_im;
    fft_take(c->work + (size_t)y * side, x, &re, &im);
    fft_take_opposite(c->work + (size_t)((side - y) & (side - 1)) * side, side, x, &other_re,
                      &other_im);
    const floats last_re = scale * (re + other_re), last_im = scale * (im - other_im);
    const floats sum_re = scale * (re - other_re), sum_im = scale * (im + other_im); /* i * new */
    /* conj(last) * sum / i */
    const floats cross_re = last_re * sum_im - last_im * sum_re;
    const floats cross_im = -(last_re * sum_re + last_im * sum_im);
    const floats square = cross_re * cross_re + cross_im * cross_im;
    floats size = {0};
    for (unsigned i = 0; i < FLOATS; i++)
        size[i] = sqrtf(square[i]);
    const floats beyond = FLOATS_AT(c->power + (size_t)y * side + x) / noise - (float)NOISE_MARGIN;
    const floats signal = FLOATS_IF(beyond > 0, beyond);
    const floats gain = signal / (1 + 2 * signal) / (SMALL * SMALL);
    const floats weight = gain / (1 + (float)MODEL_ERROR * gain * size);
    const floats kept = weight / (1 + weight * size);
    const floats a = cross_re * kept, b = cross_im * kept;
    float *to = (float *)(c->cross + (size_t)y * side + x);
    FLOATS_AT(to) = FLOATS_OF(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    FLOATS_AT(to + FLOATS) = FLOATS_OF(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    *significant -= weight * size > (float)SIGNIFICANT;
}

/* Fills `cross`. Returns how many of its numbers are significant. */
VECTORS static unsigned weigh_all(struct correlation *c, float noise)
{
    const unsigned side = c->side, half = side / 2;
    ints significant = {0};
    unsigned sum = 0;
    memset(c->power + (size_t)half * side, 0, side * sizeof *c->power);
    for (unsigned y = 0; y < side; y++) {
        /* The columns around zero, and half a cycle a pixel, get no power, and so no weight. */
        float *power = c->power + (size_t)y * side;
        power[half] = 0;
        for (unsigned x = 0; x <= SKIPPED; x++)
            power[x] = power[(side - x) & (side - 1)] = 0;
        for (unsigned x = 0; x < side; x += FLOATS)
            weigh(c, y, x, noise, &significant);
    }
    for (unsigned i = 0; i < FLOATS; i++)
        sum += (unsigned)significant[i];
    return sum;
}

unsigned correlation_compare(struct correlation *c, const float *last, const float *next,
                             double *ret_noise)
{
    const unsigned side = c->side;
    memset(c->work, 0, (size_t)side * side * sizeof *c->work);
    double squares = put_square(c, last, 0);
    squares = 0.5 * (squares + put_square(c, next, 1));
    fft_square(c->fft, c->work, false);
    const double noise = noise_power(c) + FLOOR_POWER * squares;
    *ret_noise = noise / squares;
    smooth_power(c);
    return weigh_all(c, (float)noise);
}

/* The shift of a number of the correlation. */
static struct correlation_peak shift_at(const struct correlation *c, size_t at)
{
    const int side = (int)c->side, x = (int)(at % c->side), y = (int)(at / c->side);
    return (struct correlation_peak){.x = x < side / 2 ? x : x - side,
                                     .y = y < side / 2 ? y : y - side};
}

/* Pictures that are further apart have too little in common. */
static bool is_possible(const struct correlation *c, size_t at)
{
    const struct correlation_peak shift = shift_at(c, at);
    return abs(shift.x) <= MAX_SHIFT * lesser(c->side, c->width) &&
           abs(shift.y) <= MAX_SHIFT * lesser(c->side, c->height);
}

/* No number around it is larger. What was a peak is -INFINITY. */
static bool is_summit(const struct correlation *c, size_t at)
{
    const unsigned mask = c->side - 1, x = (unsigned)at & mask, y = (unsigned)(at / c->side);
    for (unsigned v = y - 1; v != y + 2; v++)
        for (unsigned u = x - 1; u != x + 2; u++)
            if (c->scratch[(size_t)(v & mask) * c->side + (u & mask)] > c->scratch[at])
                return false;
    return true;
}

/* Returns whether one of `count` numbers is larger than this. */
static ALWAYS_INLINE bool has_larger(const float *number, unsigned count, float than)
{
    int larger = 0;
    for (unsigned i = 0; i < count; i++)
        larger |= number[i] > than;
    return larger != 0;
}

/* Returns the index of the largest number of the correlation that is possible and a peak; 0 if none
 * is larger than the first. */
VECTORS static size_t find_largest(const struct correlation *c)
{
    const unsigned side = c->side;
    size_t best = 0;
    for (size_t row = 0; row < (size_t)side * side; row += side) {
        if (!has_larger(c->scratch + row, side, c->scratch[best]))
            continue;
        for (size_t i = row; i < row + side; i++)
            if (c->scratch[i] > c->scratch[best] && is_possible(c, i) && is_summit(c, i))
                best = i;
    }
    return best;
}

void correlation_find_peaks(struct correlation *c, struct correlation_peak ret[PEAKS])
{
    const int side = (int)c->side;
    const size_t count = (size_t)side * side;
    fft_square(c->fft, c->cross, true);
    for (size_t i = 0; i < count; i++)
        c->scratch[i] = crealf(c->cross[i]);
    for (unsigned p = 0; p < PEAKS; p++) {
        const size_t best = find_largest(c);
        const int x = (int)(best % c->side), y = (int)(best / c->side);
        ret[p] = shift_at(c, best);
        ret[p].height = c->scratch[best];
        for (int v = y - PEAK_RADIUS; v <= y + PEAK_RADIUS; v++)
            for (int u = x - PEAK_RADIUS; u <= x + PEAK_RADIUS; u++)
                c->scratch[(size_t)(v & (side - 1)) * c->side + (unsigned)(u & (side - 1))] =
                    -INFINITY;
    }
}
