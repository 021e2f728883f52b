#include "observer/blur_noise.h"

#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/fft.h"

#define SIDE         64u /* pixels of a patch */
#define BINS         (SIDE * SIDE)
#define FINE         (2 * SIDE) /* bins along each axis of the blur's response */
#define REACH        3u /* how far the window's spectrum reaches, in bins of the finer response */
#define MAX_COLUMNS  7u /* patches */
#define MAX_ROWS     5u
#define LEAST_F      (1.5 / SIDE) /* the window spreads the mean's power over the bins below */
#define MOST_CLIPPED (BINS / 10)  /* samples of a patch that are black or white */
#define LIMIT        4.           /* times the mean: more power is not noise, but a pattern */
#define ITERATIONS   30
#define LEAST_BINS   8 /* in which the blur has to leave this share of the picture's power */
#define LEAST_SHARE  0.01
#define LEAST_POWER  0.01 /* square of a standard deviation in grey levels */
/* What is best for undoing blurs is not the ratio of both powers: edges of pictures and errors of
 * the blur's size act as noise, too. Chosen on random blurred photographs
 * (tests/bench/wiener_defaults.py). */
#define FACTOR       2.
#define LEAST        0.002
#define MOST         10.
#define MEMORY       8 /* pictures of which the result is the mean */

struct blur_noise {
    uint32_t width, height;
    unsigned columns, rows; /* how many patches */
    struct fft *fft;
    float window[SIDE];
    double window_sum, window_sum2; /* over a patch, of the values and of their squares */
    /* The model's power in a bin for A = 1; 0: the bin is not used. */
    float picture[BINS];
    float complex square[BINS];
    float power[BINS]; /* mean over the patches */
    double log_noise;  /* mean of the pictures' */
    unsigned seen;     /* pictures, MEMORY at most */
};

/* ---- the model ---- */

static double frequency(unsigned bin, unsigned count)
{
    return (bin < count / 2 ? (double)bin : (double)bin - count) / count;
}

/* The transform of a point spread at the frequencies of a grid is that of the image wrapped around
 * the grid. */
static int transform_image(double *power, const struct filter_image *image, struct error *why)
{
    struct fft *fft = NULL;
    const int r = fft_create(&fft, FINE, why);
    if (r < 0)
        return r;
    float complex *square = calloc((size_t)FINE * FINE, sizeof *square);
    if (square == NULL) {
        fft_destroy(fft);
        return error_set(why, ENOMEM, "out of memory for the response of image %s", image->name);
    }
    for (unsigned y = 0; y < image->rows; y++)
        for (unsigned x = 0; x < image->columns; x++)
            square[(size_t)(y % FINE) * FINE + x % FINE] +=
                image->pixel[(size_t)y * image->columns + x] / (float)image->sum;
    fft_square(fft, square, false);
    for (unsigned i = 0; i < FINE * FINE; i++)
        power[i] =
            (double)(crealf(square[i]) * crealf(square[i]) + cimagf(square[i]) * cimagf(square[i]));
    free(square);
    fft_destroy(fft);
    return 0;
}

static int blur_power(double *ret, const struct blur *blur, struct error *why)
{
    if (blur->shape == BLUR_IMAGE)
        return transform_image(ret, blur->image, why);
    for (unsigned y = 0; y < FINE; y++)
        for (unsigned x = 0; x < FINE; x++) {
            const double b = blur_response(blur, frequency(x, FINE), frequency(y, FINE));
            ret[(size_t)y * FINE + x] = b * b;
        }
    return 0;
}

/* The power of Hann's window at distances of half a bin, relative to that at 0. */
static double window_power(unsigned half_bins)
{
    const double d = half_bins / 2.;
    if (half_bins == 0)
        return 1;
    const double w = half_bins == 2 ? 0.5 : sin(M_PI * d) / (M_PI * d) / (1 - d * d);
    return w * w;
}

/* The window spreads the power of each frequency, which fills the zeros of a blur's response.
 * Returns the number of bins that show the picture. */
static unsigned make_model(struct blur_noise *noise, const double *blur, double falloff)
{
    double weight[2 * REACH + 1], sum = 0;
    for (unsigned i = 0; i <= 2 * REACH; i++) {
        weight[i] = window_power(i > REACH ? i - REACH : REACH - i);
        sum += weight[i];
    }
    unsigned bins = 0;
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++) {
            const double f = hypot(frequency(x, SIDE), frequency(y, SIDE));
            double mean = 0;
            for (unsigned j = 0; j <= 2 * REACH; j++)
                for (unsigned i = 0; i <= 2 * REACH; i++) {
                    const unsigned row = (2 * y + FINE + j - REACH) % FINE;
                    const unsigned column = (2 * x + FINE + i - REACH) % FINE;
                    mean += weight[j] * weight[i] * blur[(size_t)row * FINE + column];
                }
            mean /= sum * sum;
            if (f <= LEAST_F)
                continue;
            noise->picture[y * SIDE + x] =
                (float)(mean * pow(f / BLUR_NOISE_AT, -falloff)) + 1e-30F;
            bins += mean > LEAST_SHARE;
        }
    return bins;
}

/* ---- the spectrum ---- */

static size_t patch_origin(uint32_t length, unsigned number, unsigned count)
{
    return count > 1 ? (size_t)(length - SIDE) * number / (count - 1) : (length - SIDE) / 2;
}

/* Makes a patch the real or the imaginary part of what is transformed. Returns false if it shows no
 * noise, because too much of it is clipped. */
static bool load_patch(struct blur_noise *noise, const float *luma, bool is_second)
{
    float sum = 0;
    unsigned clipped = 0;
    for (unsigned y = 0; y < SIDE; y++) {
        const float *from = luma + (size_t)y * noise->width;
        float row = 0;
        for (unsigned x = 0; x < SIDE; x++) {
            row += noise->window[x] * from[x];
            clipped += from[x] <= 0 || from[x] >= 255;
        }
        sum += row * noise->window[y];
    }
    if (clipped > MOST_CLIPPED)
        return false;
    const float mean = sum / (float)noise->window_sum;
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++) {
            const float value =
                (luma[(size_t)y * noise->width + x] - mean) * noise->window[x] * noise->window[y];
            float complex *to = &noise->square[y * SIDE + x];
            *to = is_second ? crealf(*to) + value * I : value;
        }
    return true;
}

/* The power of two patches at k and -k is that of their transform there. */
static void add_spectrum(struct blur_noise *noise)
{
    fft_square(noise->fft, noise->square, false);
    for (unsigned i = 0; i < BINS; i++)
        noise->power[i] += crealf(noise->square[i]) * crealf(noise->square[i]) +
                           cimagf(noise->square[i]) * cimagf(noise->square[i]);
}

/* Returns the number of patches that the mean spectrum has. */
static unsigned find_spectrum(struct blur_noise *noise, const float *luma)
{
    unsigned patches = 0;
    for (unsigned i = 0; i < BINS; i++)
        noise->power[i] = 0;
    for (unsigned row = 0; row < noise->rows; row++)
        for (unsigned column = 0; column < noise->columns; column++) {
            const size_t at = patch_origin(noise->height, row, noise->rows) * noise->width +
                              patch_origin(noise->width, column, noise->columns);
            if (load_patch(noise, luma + at, patches % 2 != 0) && patches++ % 2 != 0)
                add_spectrum(noise);
        }
    if (patches % 2 != 0)
        add_spectrum(noise);
    for (unsigned i = 0; i < BINS && patches > 0; i++)
        noise->power[i] /= (float)(noise->window_sum2 * patches);
    return patches;
}

/* ---- the fit ---- */

/* The power of the sharp picture at BLUR_NOISE_AT, and that of the noise. */
struct powers {
    double picture, noise;
};

/* Sums over the bins for a step of Fisher's scoring: the derivatives of the likelihood by the
 * logarithms of both powers, and the expectations of the second ones. */
struct scores {
    double picture, noise;
    double picture2, noise2, both;
};

static struct scores add_scores(const struct blur_noise *noise, const struct powers *powers)
{
    struct scores ret = {.picture = 0};
    for (unsigned i = 0; i < BINS; i++) {
        if (noise->picture[i] <= 0)
            continue;
        const double of_picture = powers->picture * (double)noise->picture[i];
        const double mean = of_picture + powers->noise;
        const double excess = fmin((double)noise->power[i] / mean, LIMIT) - 1;
        const double share = of_picture / mean;
        ret.picture += excess * share;
        ret.noise += excess * (1 - share);
        ret.picture2 += share * share;
        ret.noise2 += (1 - share) * (1 - share);
        ret.both += share * (1 - share);
    }
    return ret;
}

/* A step that is too large is far from the maximum, where its direction is all that counts. */
static double step_of(double change)
{
    return exp(fmax(-1, fmin(1, change)));
}

/* Begins with all of the power, for both. */
static struct powers begin_at(const struct blur_noise *noise)
{
    double power = 0, model = 0, least = INFINITY;
    for (unsigned i = 0; i < BINS; i++)
        if (noise->picture[i] > 0) {
            power += (double)noise->power[i];
            model += (double)noise->picture[i];
            least = fmin(least, (double)noise->power[i]);
        }
    return (struct powers){.picture = power / model, .noise = fmax(2 * least, LEAST_POWER)};
}

/* Returns the ratio of both powers; 0: the picture does not show it. */
static double find_ratio(const struct blur_noise *noise)
{
    struct powers at = begin_at(noise);
    for (unsigned i = 0; i < ITERATIONS; i++) {
        const struct scores scores = add_scores(noise, &at);
        const double determinant =
            scores.picture2 * scores.noise2 * (1 + 1e-9) - scores.both * scores.both + 1e-30;
        const double of_picture =
            step_of((scores.noise2 * scores.picture - scores.both * scores.noise) / determinant);
        const double of_noise =
            step_of((scores.picture2 * scores.noise - scores.both * scores.picture) / determinant);
        at.picture *= of_picture;
        at.noise = fmax(at.noise * of_noise, LEAST_POWER);
        if (fabs(of_picture - 1) < 0.003 && fabs(of_noise - 1) < 0.003)
            break;
    }
    return at.picture > 0 ? at.noise / at.picture : 0;
}

double blur_noise_observe(struct blur_noise *noise, const float *luma)
{
    const double ratio = noise->rows > 0 && find_spectrum(noise, luma) > 0 ? find_ratio(noise) : 0;
    if (ratio > 0) {
        const double found = log(fmin(FACTOR * ratio + LEAST, MOST));
        noise->seen += noise->seen < MEMORY;
        noise->log_noise += (found - noise->log_noise) / noise->seen;
    }
    return noise->seen > 0 ? exp(noise->log_noise) : 0;
}

/* ---- life ---- */

static void make_window(struct blur_noise *noise)
{
    double sum = 0, sum2 = 0;
    for (unsigned i = 0; i < SIDE; i++) {
        const double value = 0.5 - 0.5 * cos(2 * M_PI * (i + 0.5) / SIDE);
        noise->window[i] = (float)value;
        sum += value;
        sum2 += value * value;
    }
    noise->window_sum = sum * sum;
    noise->window_sum2 = sum2 * sum2;
}

/* Without patches, nothing is ever found. */
int blur_noise_create(struct blur_noise **ret, uint32_t width, uint32_t height,
                      const struct blur_noise_options *options, struct error *why)
{
    struct blur_noise *noise = calloc(1, sizeof *noise);
    double *blur = malloc((size_t)FINE * FINE * sizeof *blur);
    int r = 0;
    if (noise == NULL || blur == NULL)
        r = error_set(why, ENOMEM, "out of memory for the noise of blurred pictures");
    if (r == 0)
        r = fft_create(&noise->fft, SIDE, why);
    if (r == 0)
        r = blur_power(blur, &options->blur, why);
    if (r < 0) {
        blur_noise_destroy(noise);
        free(blur);
        return r;
    }
    noise->width = width;
    noise->height = height;
    make_window(noise);
    const unsigned bins = make_model(noise, blur, options->falloff);
    if (width >= SIDE && height >= SIDE && bins >= LEAST_BINS) {
        noise->columns = width / SIDE < MAX_COLUMNS ? width / SIDE : MAX_COLUMNS;
        noise->rows = height / SIDE < MAX_ROWS ? height / SIDE : MAX_ROWS;
    }
    free(blur);
    *ret = noise;
    return 0;
}

void blur_noise_destroy(struct blur_noise *noise)
{
    if (noise == NULL)
        return;
    fft_destroy(noise->fft);
    free(noise);
}
