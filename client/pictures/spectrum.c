/* The spectrum covers at most SPECTRUM_SIDE x SPECTRUM_SIDE pixels in the middle of the frame. They
 * are not scaled, so that cycles per pixel keep their meaning. The mean is subtracted, because it
 * would dominate the scale. A Hann window hides the jump between opposite edges, which would appear
 * as a cross. A smaller frame is padded with zeros.
 *
 * The transform is the textbook radix-2 FFT, which is fast enough for one image. */
#include "spectrum.h"

#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define N       SPECTRUM_SIDE
#define FLOOR   1e-9 /* black, as a fraction of the greatest power */
#define FFTD_PI 3.14159265358979323846

/* Computes exp(-2 pi i k / N), which every pass uses. */
static void fill_twiddles(double complex twiddle[N / 2])
{
    for (size_t k = 0; k < N / 2; k++)
        twiddle[k] = cexp(-2 * I * FFTD_PI * (double)k / N);
}

/* Transforms in place: bit reversal, then log2(N) passes of butterflies. `step` is the distance
 * between two elements: 1 in rows, N in columns. */
static void transform(double complex *data, size_t step, const double complex twiddles[N / 2])
{
    for (size_t i = 0, j = 0; i < N; i++) {
        if (i < j) {
            double complex swapped = data[i * step];
            data[i * step] = data[j * step];
            data[j * step] = swapped;
        }
        size_t bit = N / 2;
        while (bit > 0 && j & bit) {
            j ^= bit;
            bit /= 2;
        }
        j |= bit;
    }
    for (size_t half = 1; half < N; half *= 2)
        for (size_t k = 0; k < half; k++) {
            double complex twiddle = twiddles[k * (N / 2 / half)];
            for (size_t i = k; i < N; i += 2 * half) {
                double complex a = data[i * step], b = twiddle * data[(i + half) * step];
                data[i * step] = a + b;
                data[(i + half) * step] = a - b;
            }
        }
}

static double hann(uint32_t i, uint32_t length)
{
    return 0.5 - 0.5 * cos(2 * FFTD_PI * (i + 0.5) / length);
}

static void load(double complex *data, const struct pixels *pixels)
{
    unsigned component = pixels->layout->family == FFTD_FAMILY_RGB ? 1 : 0;
    uint32_t width = pixels->format->width < N ? pixels->format->width : N;
    uint32_t height = pixels->format->height < N ? pixels->format->height : N;
    uint32_t left = (pixels->format->width - width) / 2;
    uint32_t top = (pixels->format->height - height) / 2;
    double mean = 0;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            mean += pixels_sample(pixels, component, left + x, top + y);
    mean /= (double)width * height;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            data[y * N + x] = (pixels_sample(pixels, component, left + x, top + y) - mean) *
                              hann(x, width) * hann(y, height);
}

int spectrum_create(double **ret, const struct pixels *pixels)
{
    double complex *data = calloc((size_t)N * N, sizeof *data);
    double *power = malloc((size_t)N * N * sizeof *power);
    if (data == NULL || power == NULL) {
        free(data);
        free(power);
        return -ENOMEM;
    }
    double complex twiddles[N / 2];
    fill_twiddles(twiddles);
    load(data, pixels);
    for (size_t y = 0; y < N; y++)
        transform(data + y * N, 1, twiddles);
    for (size_t x = 0; x < N; x++)
        transform(data + x, N, twiddles);
    for (size_t y = 0; y < N; y++)
        for (size_t x = 0; x < N; x++) {
            double complex value = data[(y + N / 2) % N * N + (x + N / 2) % N];
            power[y * N + x] = creal(value) * creal(value) + cimag(value) * cimag(value);
        }
    free(data);
    *ret = power;
    return 0;
}

int spectrum_draw(struct picture *ret, const double *power, const double *reference)
{
    double greatest = 0;
    for (size_t i = 0; i < (size_t)N * N; i++)
        greatest = fmax(greatest, reference[i]);
    int r = picture_create(ret, N, N);
    if (r < 0 || greatest == 0)
        return r;
    for (size_t i = 0; i < (size_t)N * N; i++) {
        double level = 1 - log10(fmin(fmax(power[i] / greatest, FLOOR), 1)) / log10(FLOOR);
        uint8_t grey = (uint8_t)lrint(255 * level);
        for (unsigned c = 0; c < 3; c++)
            ret->rgb[3 * i + c] = grey;
    }
    return 0;
}
