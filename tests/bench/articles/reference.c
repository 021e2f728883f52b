/* The reference in double precision: a mixed-radix DFT of any length, and what the filter makes of
 * a picture. */
#include "articles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "filters/filter.h"
#include "transform/plan.h"

/* H is nowhere small, so that it hides no error at any frequency, and never more than 1, so that
 * results stay in 0 .. 255. */
const char reference_chain[] = "sharpen:amount=1,sigma=2 | gain:dc=1,ac=0.5";

static void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (memory == NULL) {
        fprintf(stderr, "articles: out of memory for a reference of %zu bytes\n", bytes);
        exit(1);
    }
    return memory;
}

static size_t smallest_factor(size_t n)
{
    for (size_t p = 2; p * p <= n; p++)
        if (n % p == 0)
            return p;
    return n;
}

struct roots {
    const double complex *w; /* exp(sign 2 pi i k / n) */
    size_t n;
    double complex *leg; /* scratch for one butterfly */
};

/* Decimation in time: p transforms of every p-th number, then butterflies of p numbers. */
static void transform(double complex *out, const double complex *in, size_t n, size_t stride,
                      const struct roots *roots)
{
    if (n <= 1) {
        *out = *in;
        return;
    }
    const size_t p = smallest_factor(n);
    if (p == 0)
        return;
    const size_t m = n / p;
    for (size_t j = 0; j < p; j++)
        transform(out + j * m, in + j * stride, m, stride * p, roots);
    for (size_t k = 0; k < m; k++) {
        for (size_t j = 0; j < p; j++)
            roots->leg[j] = out[j * m + k] * roots->w[j * k * stride % roots->n];
        for (size_t q = 0; q < p; q++) {
            double complex sum = roots->leg[0];
            for (size_t j = 1; j < p; j++)
                sum += roots->leg[j] * roots->w[j * q % p * (roots->n / p)];
            out[k + q * m] = sum;
        }
    }
}

/* All rows of one length share the roots; `step` is the distance between the numbers of a row. */
static void transform_rows(double complex *x, size_t n, size_t rows, size_t step, size_t apart,
                           int sign)
{
    double complex *w = allocate(n * sizeof *w), *leg = allocate(n * sizeof *leg);
    double complex *in = allocate(n * sizeof *in), *out = allocate(n * sizeof *out);
    const struct roots roots = {w, n, leg};
    for (size_t k = 0; k < n; k++)
        w[k] = cexp(sign * 2 * M_PI * I * (double)k / (double)n);
    for (size_t row = 0; row < rows; row++) {
        double complex *at = x + row * apart;
        for (size_t i = 0; i < n; i++)
            in[i] = at[i * step];
        transform(out, in, n, 1, &roots);
        for (size_t i = 0; i < n; i++)
            at[i * step] = out[i];
    }
    free(w);
    free(leg);
    free(in);
    free(out);
}

void reference_dft(double complex *x, size_t n, int sign)
{
    transform_rows(x, n, 1, 1, n, sign);
}

void reference_dft_2d(double complex *x, size_t width, size_t height, int sign)
{
    transform_rows(x, width, height, 1, width, sign);
    transform_rows(x, height, width, width, 1, sign);
}

/* ---- pictures and the filter ---- */

uint8_t *reference_picture(uint32_t width, uint32_t height)
{
    uint8_t *pixels = allocate((size_t)width * height);
    uint32_t state = 1;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            state = state * 1664525u + 1013904223u; /* Numerical Recipes */
            pixels[(size_t)y * width + x] =
                (uint8_t)(32 + (state >> 25) + 64 * (x + y) / (width + height));
        }
    return pixels;
}

static void sample_response(double *response, uint32_t width, uint32_t height)
{
    struct filter_chain chain;
    struct error why;
    if (filter_chain_parse(&chain, reference_chain, &why) < 0)
        abort();
    for (uint32_t v = 0; v < height; v++)
        for (uint32_t u = 0; u < width; u++) {
            const double fx = (u <= width / 2 ? (double)u : (double)u - width) / width;
            const double fy = (v <= height / 2 ? (double)v : (double)v - height) / height;
            *response++ = creal(filter_chain_response(&chain, fx, fy)) / width / height;
        }
}

float *reference_response(uint32_t width, uint32_t height)
{
    const size_t count = (size_t)width * height;
    double *exact = allocate(count * sizeof *exact);
    float *response = allocate(count * sizeof *response);
    sample_response(exact, width, height);
    for (size_t i = 0; i < count; i++)
        response[i] = (float)exact[i];
    free(exact);
    return response;
}

double *reference_filtered(const uint8_t *picture, uint32_t width, uint32_t height, uint32_t px,
                           uint32_t py)
{
    const size_t padded = (size_t)px * py;
    double complex *x = allocate(padded * sizeof *x);
    double *response = allocate(padded * sizeof *response);
    double *result = allocate((size_t)width * height * sizeof *result);
    int32_t *map_x = allocate(px * sizeof *map_x), *map_y = allocate(py * sizeof *map_y);
    plan_border_map(map_x, px, width, PLAN_MIRROR);
    plan_border_map(map_y, py, height, PLAN_MIRROR);
    for (uint32_t v = 0; v < py; v++)
        for (uint32_t u = 0; u < px; u++)
            x[(size_t)v * px + u] = picture[(size_t)map_y[v] * width + (size_t)map_x[u]];
    sample_response(response, px, py);
    reference_dft_2d(x, px, py, -1);
    for (size_t i = 0; i < padded; i++)
        x[i] *= response[i];
    reference_dft_2d(x, px, py, 1);
    for (uint32_t v = 0; v < height; v++)
        for (uint32_t u = 0; u < width; u++)
            result[(size_t)v * width + u] = creal(x[(size_t)v * px + u]);
    free(x);
    free(response);
    free(map_x);
    free(map_y);
    return result;
}
