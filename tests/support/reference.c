#include "support/reference.h"

#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "transform/resampler.h"

/* Returns the coordinate in 0 .. n - 1 that padded coordinate i repeats, or -1 for the constant. It
 * walks step by step from the edge, which is slow but obviously right. */
static long extend(long i, long padded, long n, enum plan_border border)
{
    if (i < n)
        return i;
    if (n < 1)
        abort();
    const long pad = padded - n;
    const int after = i - n < (pad + 1) / 2; /* continues the far edge */
    long steps = after ? i - (n - 1) : padded - i;
    long at = after ? n - 1 : 0, direction = after ? 1 : -1;
    switch (border) {
    case PLAN_CONSTANT:
        return -1;
    case PLAN_REPLICATE:
        return at;
    case PLAN_WRAP:
        for (; steps > 0; steps--)
            at = (at + direction + n) % n;
        return at;
    case PLAN_MIRROR:
        direction = -direction;
        for (; steps > 0 && n > 1; steps--) {
            if (at + direction < 0 || at + direction >= n)
                direction = -direction;
            at += direction;
        }
        return at;
    }
    abort();
}

/* The extended image, its half spectrum times H / (px py), and the transforms between them. */
struct buffers {
    double *image;
    fftw_complex *spectrum;
    fftw_plan forward, inverse;
};

static void transform_and_filter(struct buffers *ret, const struct reference *r, const double *in)
{
    const long px = r->padded_x, py = r->padded_y, half = px / 2 + 1;
    double *image = fftw_malloc(sizeof *image * (size_t)(px * py));
    fftw_complex *spectrum = fftw_malloc(sizeof *spectrum * (size_t)(half * py));
    *ret = (struct buffers){
        .image = image,
        .spectrum = spectrum,
        .forward = fftw_plan_dft_r2c_2d((int)py, (int)px, image, spectrum, FFTW_ESTIMATE),
        .inverse = fftw_plan_dft_c2r_2d((int)py, (int)px, spectrum, image, FFTW_ESTIMATE)};

    for (long y = 0; y < py; y++)
        for (long x = 0; x < px; x++) {
            const long sx = extend(x, px, r->width, r->border);
            const long sy = extend(y, py, r->height, r->border);
            image[y * px + x] = sx < 0 || sy < 0 ? r->border_value : in[sy * (long)r->width + sx];
        }
    fftw_execute(ret->forward);
    for (long v = 0; v < py; v++)
        for (long u = 0; u < half; u++) {
            const double fx = (double)u / (double)px / r->sub_x;
            const double fy = (double)(v <= py / 2 ? v : v - py) / (double)py / r->sub_y;
            /* At half the sampling rate +f and -f are the same frequency. */
            const double mx = 2 * u == px ? -fx : fx, my = 2 * v == py ? -fy : fy;
            const double magnitude = cabs(spectrum[v * half + u]);
            if (r->threshold > 0)
                spectrum[v * half + u] *=
                    fmax(0, magnitude - r->threshold) / fmax(magnitude, 1e-30);
            spectrum[v * half + u] *=
                (filter_chain_response(r->chain, fx, fy) + filter_chain_response(r->chain, mx, fy) +
                 filter_chain_response(r->chain, fx, my) +
                 filter_chain_response(r->chain, mx, my)) /
                4 / ((double)px * (double)py);
        }
}

static void release(struct buffers *buffers)
{
    fftw_destroy_plan(buffers->forward);
    fftw_destroy_plan(buffers->inverse);
    fftw_free(buffers->image);
    fftw_free(buffers->spectrum);
}

void reference_filter(const struct reference *r, const double *in, double *out)
{
    struct buffers buffers;
    transform_and_filter(&buffers, r, in);
    fftw_execute(buffers.inverse);
    for (uint32_t y = 0; y < r->height; y++)
        for (uint32_t x = 0; x < r->width; x++)
            out[y * r->width + x] = buffers.image[y * r->padded_x + x];
    release(&buffers);
}

/* The gain of a frequency, as a part of the highest one that is kept. */
static double edge_gain(double frequency, double edge)
{
    if (frequency >= 1)
        return 0;
    return frequency <= 1 - edge ? 1 : 0.5 + 0.5 * cos(M_PI * (frequency - 1 + edge) / edge);
}

/* The factors of a line of `count` samples from frequencies 0 .. padded - 1: exponential functions
 * at the places of the samples, with the edge. */
static double complex *factors(uint32_t count, uint32_t length, uint32_t padded, double edge)
{
    double complex *ret = malloc(sizeof *ret * (size_t)count * padded);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < padded; k++) {
            const double frequency = 2 * k <= padded ? k : (double)k - padded;
            const double at = (i + 0.5) * length / count - 0.5;
            const double gain =
                count == length ? 1
                                : edge_gain(fabs(frequency) / padded * 2 * length / count, edge);
            ret[(size_t)i * padded + k] = gain * cexp(2 * M_PI * I * frequency * at / padded);
        }
    return ret;
}

void reference_smaller(const struct reference *r, const double *in, uint32_t width, uint32_t height,
                       double edge, double *out)
{
    const uint32_t px = r->padded_x, py = r->padded_y, half = px / 2 + 1;
    double complex *along_x = factors(width, r->width, px, edge);
    double complex *along_y = factors(height, r->height, py, edge);
    double complex *line = malloc(sizeof *line * half);
    struct buffers buffers;
    transform_and_filter(&buffers, r, in);
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t u = 0; u < half; u++)
            line[u] = 0;
        for (uint32_t v = 0; v < py; v++)
            for (uint32_t u = 0; u < half && along_y[(size_t)y * py + v] != 0; u++)
                line[u] += buffers.spectrum[(size_t)v * half + u] * along_y[(size_t)y * py + v];
        for (uint32_t x = 0; x < width; x++) {
            double sum = 0;
            for (uint32_t u = 0; u < half; u++)
                sum +=
                    (u == 0 || 2 * u == px ? 1 : 2) * creal(line[u] * along_x[(size_t)x * px + u]);
            out[(size_t)y * width + x] = sum;
        }
    }
    free(along_x);
    free(along_y);
    free(line);
    release(&buffers);
}

/* Sample i of a line of `to` samples that are made of `from`, which are `step` apart. */
static double resample_one(const double *in, long from, long step, long to, long i)
{
    const double ratio = (double)from / (double)to, middle = ((double)i + 0.5) * ratio - 0.5;
    const long reach = (long)ceil(RESAMPLER_REACH * ratio) + 1;
    double sum = 0, weights = 0;
    if (from == to)
        return in[i * step];
    for (long k = (long)middle - reach; k <= (long)middle + reach; k++) {
        const double weight = resampler_impulse(((double)k - middle) / ratio);
        long at = k;
        while (at < 0 || at >= from)
            at = at < 0 ? -at : 2 * (from - 1) - at;
        sum += weight * in[at * step];
        weights += weight;
    }
    return sum / weights;
}

void reference_resample(const double *in, uint32_t width, uint32_t height, double *out,
                        uint32_t to_width, uint32_t to_height)
{
    double *lines = malloc(sizeof *lines * width * to_height);
    for (uint32_t y = 0; y < to_height; y++)
        for (uint32_t x = 0; x < width; x++)
            lines[(size_t)y * width + x] = resample_one(in + x, height, width, to_height, y);
    for (uint32_t y = 0; y < to_height; y++)
        for (uint32_t x = 0; x < to_width; x++)
            out[(size_t)y * to_width + x] =
                resample_one(lines + (size_t)y * width, width, 1, to_width, x);
    free(lines);
}

void reference_spectrum(const struct reference *r, const double *in, double *out)
{
    const long px = r->padded_x, py = r->padded_y, half = px / 2 + 1;
    struct buffers buffers;
    transform_and_filter(&buffers, r, in);
    for (long v = 0; v < py; v++)
        for (long u = 0; u < px; u++) {
            const bool is_there = u < half; /* the others are conjugates of the opposite ones */
            const long at = is_there ? v * half + u : (py - v) % py * half + px - u;
            out[v * px + u] = cabs(buffers.spectrum[at]);
        }
    release(&buffers);
}

/* ---- mosaics ---- */

static unsigned mosaic_colour(const char *name, long x, long y)
{
    const char letter = name[1 + 2 * (y & 1) + (x & 1)];
    return letter == 'R' ? 0 : letter == 'G' ? 1 : 2;
}

static long mirror(long i, long length)
{
    return i < 0 ? -i : i >= length ? 2 * length - 2 - i : i;
}

/* Sixteenths of the samples around a pixel, for a colour that is nearest to the left and right,
 * above and below, on all four sides, or at the corners: Malvar, He and Cutler (2004), figure 2. */
enum { ALONG_ROWS, ALONG_COLUMNS, ON_FOUR_SIDES, AT_CORNERS, TABLES };
static const double weights[][TABLES][5][5] = {
    [DEMOSAIC_BILINEAR] = {{{0}, {0}, {0, 8, 0, 8, 0}},
                           {{0}, {0, 0, 8}, {0}, {0, 0, 8}},
                           {{0}, {0, 0, 4}, {0, 4, 0, 4, 0}, {0, 0, 4}},
                           {{0}, {0, 4, 0, 4, 0}, {0}, {0, 4, 0, 4, 0}}},
    [DEMOSAIC_GRADIENTS] =
        {{{0, 0, 1, 0, 0},
          {0, -2, 0, -2, 0},
          {-2, 8, 10, 8, -2},
          {0, -2, 0, -2, 0},
          {0, 0, 1, 0, 0}},
         {{0, 0, -2, 0, 0},
          {0, -2, 8, -2, 0},
          {1, 0, 10, 0, 1},
          {0, -2, 8, -2, 0},
          {0, 0, -2, 0, 0}},
         {{0, 0, -2, 0, 0}, {0, 0, 4, 0, 0}, {-2, 4, 8, 4, -2}, {0, 0, 4, 0, 0}, {0, 0, -2, 0, 0}},
         {{0, 0, -3, 0, 0},
          {0, 4, 0, 4, 0},
          {-3, 0, 12, 0, -3},
          {0, 4, 0, 4, 0},
          {0, 0, -3, 0, 0}}},
};

double reference_mosaic(const char *name, enum demosaic demosaic, const double *samples, long width,
                        long height, long x, long y, unsigned colour)
{
    const int beside = mosaic_colour(name, x + 1, y) == colour;
    const int above = mosaic_colour(name, x, y + 1) == colour;
    const unsigned table = beside && above ? ON_FOUR_SIDES
                           : beside        ? ALONG_ROWS
                           : above         ? ALONG_COLUMNS
                                           : AT_CORNERS;
    double sum = 0;
    if (mosaic_colour(name, x, y) == colour)
        return samples[y * width + x];
    for (long v = -2; v <= 2; v++)
        for (long u = -2; u <= 2; u++)
            sum += weights[demosaic][table][v + 2][u + 2] *
                   samples[mirror(y + v, height) * width + mirror(x + u, width)];
    return sum / 16;
}

double reference_error(const double *a, const double *b, uint64_t count)
{
    double difference = 0, norm = 0;
    for (uint64_t i = 0; i < count; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return norm > 0 ? sqrt(difference / norm) : sqrt(difference);
}

double reference_noise(uint64_t *state)
{
    /* SplitMix64 (Steele, Lea, Flood 2014). */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}
