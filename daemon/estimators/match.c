#include "estimators/match.h"

#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fft.h"

#define MIN_SIDE 64u /* of a square */
#define MAX_SIDE 1024u

/* Columns and rows of numbers. */
struct extent {
    unsigned columns, rows;
};

struct matcher {
    struct extent picture, image;
    struct extent places;   /* at which the template is inside of the picture */
    struct extent step;     /* places that one square yields */
    double image_variation; /* sum of (t - mean t)^2 */
    unsigned side;          /* of a square */
    struct fft *fft;
    float complex *kernel;    /* conjugate spectrum of the template without its mean, over side^2 */
    float complex *square;    /* of two parts of the picture, the second one times i */
    float *score;             /* of each place; the sums of products before */
    double *sum, *square_sum; /* of columns of the picture, as high as the template */
};

static unsigned lesser(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned parts(unsigned length, unsigned step)
{
    return (length + step - 1) / step;
}

/* ---- life ---- */

/* The sides of squares for which the transforms cost least, and what they yield. */
static void choose_side(struct matcher *m)
{
    double least = INFINITY;
    for (unsigned side = MIN_SIDE; side <= MAX_SIDE; side *= 2) {
        if (side < m->image.columns || side < m->image.rows)
            continue;
        const struct extent step = {side - m->image.columns + 1, side - m->image.rows + 1};
        const unsigned squares =
            parts(m->places.columns, step.columns) * parts(m->places.rows, step.rows);
        const double cost = parts(squares, 2) * pow(side, 2) * log2(side);
        if (cost < least) {
            least = cost;
            m->side = side;
            m->step = step;
        }
    }
}

static void transform_template(struct matcher *m, const struct filter_image *image)
{
    const double count = (double)image->columns * image->rows, mean = image->sum / count;
    const size_t numbers = (size_t)m->side * m->side;
    memset(m->kernel, 0, numbers * sizeof *m->kernel);
    for (unsigned y = 0; y < image->rows; y++)
        for (unsigned x = 0; x < image->columns; x++) {
            const double rest = (double)image->pixel[(size_t)y * image->columns + x] - mean;
            m->image_variation += rest * rest;
            m->kernel[(size_t)y * m->side + x] = (float)rest;
        }
    fft_square(m->fft, m->kernel, false);
    for (size_t i = 0; i < numbers; i++)
        m->kernel[i] = conjf(m->kernel[i]) / (float)numbers;
}

int matcher_create(struct matcher **ret, unsigned width, unsigned height,
                   const struct filter_image *image, struct error *why)
{
    if (image->columns > width || image->rows > height)
        return error_set(why, EINVAL,
                         "match: image %s has %u x %u pixels, frames %u x %u: expected a template "
                         "that fits in",
                         image->name, image->columns, image->rows, width, height);
    struct matcher *m = calloc(1, sizeof *m);
    if (m == NULL)
        return error_set(why, ENOMEM, "out of memory for a matcher");
    m->picture = (struct extent){width, height};
    m->image = (struct extent){image->columns, image->rows};
    m->places = (struct extent){width - image->columns + 1, height - image->rows + 1};
    choose_side(m);
    const size_t numbers = (size_t)m->side * m->side;
    m->kernel = malloc(numbers * sizeof *m->kernel);
    m->square = malloc(numbers * sizeof *m->square);
    m->score = malloc((size_t)m->places.columns * m->places.rows * sizeof *m->score);
    m->sum = calloc(width, sizeof *m->sum);
    m->square_sum = calloc(width, sizeof *m->square_sum);
    int r = 0;
    if (m->kernel == NULL || m->square == NULL || m->score == NULL || m->sum == NULL ||
        m->square_sum == NULL)
        r = error_set(why, ENOMEM, "out of memory for matches in %ux%u", width, height);
    if (r == 0)
        r = fft_create(&m->fft, m->side, why);
    if (r < 0) {
        matcher_destroy(m);
        return r;
    }
    transform_template(m, image);
    *ret = m;
    return 0;
}

void matcher_destroy(struct matcher *m)
{
    if (m == NULL)
        return;
    fft_destroy(m->fft);
    free(m->kernel);
    free(m->square);
    free(m->score);
    free(m->sum);
    free(m->square_sum);
    free(m);
}

/* ---- sums of products ---- */

/* The first place of a square; false: there is no such square. */
static bool place_of(const struct matcher *m, unsigned index, struct extent *ret)
{
    const unsigned across = parts(m->places.columns, m->step.columns);
    *ret = (struct extent){index % across * m->step.columns, index / across * m->step.rows};
    return ret->rows < m->places.rows;
}

/* Adds the part of the picture that begins at a place, times a factor of 1 or i. The mean is taken
 * off, which loses less of the floats and changes no sum, since the template has none. */
static void load(struct matcher *m, const float *luma, float mean, const struct extent *from,
                 float complex factor)
{
    const unsigned columns = lesser(m->side, m->picture.columns - from->columns);
    const unsigned rows = lesser(m->side, m->picture.rows - from->rows);
    for (unsigned y = 0; y < rows; y++) {
        const float *row = luma + (size_t)(from->rows + y) * m->picture.columns + from->columns;
        for (unsigned x = 0; x < columns; x++)
            m->square[(size_t)y * m->side + x] += factor * (row[x] - mean);
    }
}

static void store(struct matcher *m, const struct extent *to, bool second)
{
    const unsigned columns = lesser(m->step.columns, m->places.columns - to->columns);
    const unsigned rows = lesser(m->step.rows, m->places.rows - to->rows);
    for (unsigned y = 0; y < rows; y++)
        for (unsigned x = 0; x < columns; x++) {
            const float complex value = m->square[(size_t)y * m->side + x];
            m->score[(size_t)(to->rows + y) * m->places.columns + to->columns + x] =
                second ? cimagf(value) : crealf(value);
        }
}

/* The template is real, so the real and the imaginary part of a square do not mix. */
static void correlate(struct matcher *m, const float *luma, float mean)
{
    const size_t numbers = (size_t)m->side * m->side;
    struct extent first, second;
    for (unsigned i = 0; place_of(m, i, &first); i += 2) {
        const bool has_second = place_of(m, i + 1, &second);
        memset(m->square, 0, numbers * sizeof *m->square);
        load(m, luma, mean, &first, 1);
        if (has_second)
            load(m, luma, mean, &second, I);
        fft_square(m->fft, m->square, false);
        for (size_t k = 0; k < numbers; k++) {
            const float complex a = m->square[k], b = m->kernel[k];
            m->square[k] = (crealf(a) * crealf(b) - cimagf(a) * cimagf(b)) +
                           (crealf(a) * cimagf(b) + cimagf(a) * crealf(b)) * I;
        }
        fft_square(m->fft, m->square, true);
        store(m, &first, false);
        if (has_second)
            store(m, &second, true);
    }
}

/* ---- scores ---- */

/* Adds a row of the picture to the sums of columns, or takes it off again. */
static void add_row(struct matcher *m, const float *row, float mean, double sign)
{
    for (unsigned x = 0; x < m->picture.columns; x++) {
        const double value = (double)(row[x] - mean);
        m->sum[x] += sign * value;
        m->square_sum[x] += sign * value * value;
    }
}

/* Divides one row of sums of products by what a perfect match would have. */
static void normalise_row(struct matcher *m, float *score)
{
    const double count = (double)m->image.columns * m->image.rows;
    const double least = count * MATCH_MIN_DEVIATION * MATCH_MIN_DEVIATION;
    double sum = 0, square_sum = 0;
    for (unsigned x = 0; x < m->image.columns - 1; x++) {
        sum += m->sum[x];
        square_sum += m->square_sum[x];
    }
    for (unsigned x = 0; x < m->places.columns; x++) {
        sum += m->sum[x + m->image.columns - 1];
        square_sum += m->square_sum[x + m->image.columns - 1];
        const double variation = square_sum - sum * sum / count;
        const double value = (double)score[x] / sqrt(variation * m->image_variation);
        score[x] = variation >= least ? (float)fmax(-1, fmin(value, 1)) : NAN;
        sum -= m->sum[x];
        square_sum -= m->square_sum[x];
    }
}

static void normalise(struct matcher *m, const float *luma, float mean)
{
    const size_t columns = m->picture.columns;
    memset(m->sum, 0, columns * sizeof *m->sum);
    memset(m->square_sum, 0, columns * sizeof *m->square_sum);
    for (unsigned y = 0; y < m->image.rows - 1; y++)
        add_row(m, luma + y * columns, mean, 1);
    for (unsigned y = 0; y < m->places.rows; y++) {
        add_row(m, luma + (y + m->image.rows - 1) * columns, mean, 1);
        normalise_row(m, m->score + (size_t)y * m->places.columns);
        add_row(m, luma + y * columns, mean, -1);
    }
}

/* Where a parabola through three neighbouring scores has its peak, from the middle one, which is
 * the greatest: -0.5 .. 0.5. */
static double peak_between(float before, float middle, float after)
{
    const double bend = (double)before - 2 * (double)middle + (double)after;
    return bend < 0 ? 0.5 * ((double)before - (double)after) / bend : 0; /* false: NaN, too */
}

void matcher_find(struct matcher *m, const float *luma, struct match *ret)
{
    const size_t columns = m->places.columns, count = columns * m->places.rows;
    const size_t pixels = (size_t)m->picture.columns * m->picture.rows;
    double sum = 0;
    size_t best = count;
    for (size_t i = 0; i < pixels; i++)
        sum += (double)luma[i];
    const float mean = (float)(sum / (double)pixels);
    correlate(m, luma, mean);
    normalise(m, luma, mean);
    for (size_t i = 0; i < count; i++)
        if (!isnan(m->score[i]) && (best == count || m->score[i] > m->score[best]))
            best = i;
    *ret = (struct match){.x = NAN, .y = NAN, .score = 0};
    if (best == count)
        return;
    const size_t x = best % columns, y = best / columns;
    const size_t middle_x = x + m->image.columns / 2, middle_y = y + m->image.rows / 2;
    const float *score = m->score + best;
    ret->score = (double)*score;
    ret->x = (double)middle_x;
    ret->y = (double)middle_y;
    if (x > 0 && x + 1 < columns)
        ret->x += peak_between(score[-1], score[0], score[1]);
    if (y > 0 && y + 1 < m->places.rows)
        ret->y += peak_between(*(score - columns), score[0], score[columns]);
}
