/* The spectrum covers at most SPECTRUM_SIDE x SPECTRUM_SIDE pixels in the middle of the frame. They
 * are not scaled, so that cycles per pixel keep their meaning. The mean is subtracted, because it
 * would dominate the scale. A Hann window hides the jump between opposite edges, which would appear
 * as a cross. A smaller frame is padded with zeros. */
#include "spectrum.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/dft.h"

#define N     SPECTRUM_SIDE
#define FLOOR 1e-9 /* black, as a fraction of the greatest power */

static double hann(uint32_t i, uint32_t length)
{
    return 0.5 - 0.5 * cos(2 * M_PI * (i + 0.5) / length);
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
    double complex line[N];
    double complex *data = calloc((size_t)N * N, sizeof *data);
    double *power = malloc((size_t)N * N * sizeof *power);
    struct dft *dft = NULL;
    if (data == NULL || power == NULL || dft_create(&dft, N, NULL) < 0) {
        free(data);
        free(power);
        return -ENOMEM;
    }
    load(data, pixels);
    dft_axis(dft, data, line, N, N, 1, N);
    dft_axis(dft, data, line, N, N, N, 1);
    dft_destroy(dft);
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
