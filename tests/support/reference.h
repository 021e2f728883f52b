/* The expected result of a filter in double precision, by its definition in daemon/engine/engine.h.
 * Only the response H is shared with the code under test. */
#ifndef FFTD_TESTS_REFERENCE_H
#define FFTD_TESTS_REFERENCE_H

#include <stdint.h>

#include "filters/filter.h"
#include "core/mosaic.h"
#include "transform/plan.h"

struct reference {
    uint32_t width, height;
    uint32_t padded_x, padded_y;
    enum plan_border border;
    double border_value;
    double sub_x, sub_y;
    double threshold; /* each number F of the DFT is multiplied by max(0, 1 - threshold / |F|) */
    const struct filter_chain *chain;
};

/* Filters in[width * height] into out by FFTW in double precision. */
void reference_filter(const struct reference *reference, const double *in, double *out);

/* As reference_filter, but a picture of width x height samples: the lowest frequencies alone, at
 * the middles of what its samples cover. Along an axis that becomes shorter, a raised cosine over
 * the last `edge` of these frequencies (0 .. 1) reduces them to 0. */
void reference_smaller(const struct reference *reference, const double *in, uint32_t width,
                       uint32_t height, double edge, double *out);

/* Makes a plane smaller as daemon/transform/resampler.h says, of which it uses only the impulse
 * response. */
void reference_resample(const double *in, uint32_t width, uint32_t height, double *out,
                        uint32_t to_width, uint32_t to_height);

/* Fills in |F H| / (padded_x padded_y) for each frequency of the extended image, padded_y rows of
 * padded_x, where F is its DFT. */
void reference_spectrum(const struct reference *reference, const double *in, double *out);

/* Returns one colour (0 .. 2: red, green, blue) of a pixel of a mosaic with a name like "SGRBG10",
 * by the tables of the article, in units of its samples. */
double reference_mosaic(const char *name, enum demosaic demosaic, const double *samples, long width,
                        long height, long x, long y, unsigned colour);

/* ||a - b|| / ||b|| over count numbers. */
double reference_error(const double *a, const double *b, uint64_t count);

/* Deterministic noise, uniform in [0, 1). */
double reference_noise(uint64_t *state);

#endif
