#include "sector.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/dft.h"

#define MOST_BESIDE 32u /* frequencies across the sector that are looked at, with the axis */
#define BESIDE      28u /* thousandths of the frequencies; a sector takes hardly any others */
#define WORTH_IT    0.9 /* share of the stripes' power; a sector that leaves more is not worth it */

/* The power of the scene, as parts of its mean square, by the frequency across the axis and along
 * it, each in halves of the frequencies of the picture. */
struct spectrum {
    unsigned beside, along;
    double *power;
};

static double level_at(const struct sector_view *view, size_t along, size_t across)
{
    return (double)
        view->luma[view->of_rows ? along * view->width + across : across * view->width + along];
}

/* Writes the cosine transform across the axis, for one frequency. */
static void transform_across(const struct sector_view *view, unsigned k, unsigned length,
                             double *wave, double complex *ret)
{
    const size_t across = view->of_rows ? view->width : view->height;
    const double scale = sqrt((k > 0 ? 2. : 1.) / (double)across);
    for (size_t y = 0; y < across; y++)
        wave[y] = scale * cos(M_PI * ((double)y + 0.5) * k / (double)across);
    for (size_t x = 0; x < length; x++) {
        double sum = 0;
        for (size_t y = 0; y < across; y++)
            sum += wave[y] * level_at(view, x, y);
        ret[x] = ret[2 * length - 1 - x] = sum;
    }
}

static int find_power(const struct sector_view *view, struct spectrum *ret)
{
    const unsigned along = view->of_rows ? view->height : view->width;
    const unsigned across = view->of_rows ? view->width : view->height;
    unsigned beside = 2 + across * BESIDE / 1000;
    if (beside > MOST_BESIDE)
        beside = MOST_BESIDE;
    struct dft *dft = NULL;
    double *wave = malloc(across * sizeof *wave);
    double *power = calloc((size_t)beside * along, sizeof *power);
    double complex *line = malloc(2 * (size_t)along * sizeof *line);
    int r = wave == NULL || power == NULL || line == NULL ? -1 : dft_create(&dft, 2 * along, NULL);
    for (unsigned k = 0; k < beside && r == 0; k++) {
        transform_across(view, k, along, wave, line);
        dft_line(dft, line);
        for (unsigned i = 0; i < along; i++)
            power[(size_t)k * along + i] =
                (creal(line[i]) * creal(line[i]) + cimag(line[i]) * cimag(line[i])) /
                (2. * along * along * across);
    }
    dft_destroy(dft);
    free(wave);
    free(line);
    if (r < 0)
        free(power);
    else
        *ret = (struct spectrum){beside, along, power};
    return r;
}

/* Returns the mean squared error that a stage leaves, or, without one, that of the stripes. */
static double error_of(const struct sector_view *view, const struct spectrum *spectrum,
                       const struct filter_chain *stage)
{
    const double across = view->of_rows ? view->width : view->height;
    const double noise = view->noise * view->noise / across / spectrum->along;
    const double line = view->stripes * view->stripes / spectrum->along;
    double taken = 0, left = 0;
    for (unsigned k = 0; k < spectrum->beside; k++)
        for (unsigned i = 1; i < spectrum->along; i++) {
            const double a = i / 2. / spectrum->along, b = k / 2. / across;
            const double fx = view->of_rows ? b : a, fy = view->of_rows ? a : b;
            const double h = creal(filter_chain_response(stage, fx, fy));
            const double others = cabs(filter_chain_response(view->other, fx, fy));
            const double stripes = k == 0 ? line : 0;
            const double scene = spectrum->power[(size_t)k * spectrum->along + i] - noise -
                                 (view->has_stripes ? stripes : 0);
            taken += others * others * (1 - h) * (1 - h) * scene;
            left += others * others * h * h * stripes;
        }
    return fmax(taken, 0) + left;
}

void sector_choose(const struct sector_view *view, char ret[SECTOR_TEXT])
{
    static const double above[] = {0.02, 0.03, 0.05, 0.07, 0.1, 0.14, 0.2, 0.28};
    struct filter_chain stage = {0};
    struct spectrum spectrum;
    ret[0] = '\0';
    if (find_power(view, &spectrum) < 0)
        return;
    double least = WORTH_IT * error_of(view, &spectrum, &stage);
    for (unsigned i = 0; i < sizeof above / sizeof above[0]; i++) {
        char text[SECTOR_TEXT];
        snprintf(text, sizeof text, "directional:angle=%d,width=0.5,keep=outside,above=%g",
                 view->of_rows ? 90 : 0, above[i]);
        if (filter_chain_parse(&stage, text, NULL) < 0)
            continue;
        const double error = error_of(view, &spectrum, &stage);
        if (!(error < least))
            continue;
        least = error;
        snprintf(ret, SECTOR_TEXT, "%s", text);
    }
    free(spectrum.power);
}
