#include "estimators/match_sheet.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/fft.h"

#define MIN_SIDE 64u /* a square's side */
#define MAX_SIDE 1024u
#define LANES    8u

static unsigned parts(unsigned length, unsigned step)
{
    return (length + step - 1) / step;
}

/* ---- life ---- */

static unsigned pairs(const struct match_sheet *sheet)
{
    const unsigned squares = parts(sheet->places.columns, sheet->step.columns) *
                             parts(sheet->places.rows, sheet->step.rows);
    return parts(squares, 2);
}

/* Chooses the sides of squares for which the transforms cost least, and what they yield. */
static void choose_side(struct match_sheet *sheet, struct match_extent largest)
{
    double least = INFINITY;
    unsigned best = MAX_SIDE;
    for (unsigned side = MIN_SIDE; side <= MAX_SIDE; side *= 2) {
        if (side < largest.columns || side < largest.rows)
            continue;
        sheet->step = (struct match_extent){side - largest.columns + 1, side - largest.rows + 1};
        const double cost = pairs(sheet) * pow(side, 2) * log2(side);
        if (cost < least) {
            least = cost;
            best = side;
        }
    }
    sheet->side = best;
    sheet->step = (struct match_extent){best - largest.columns + 1, best - largest.rows + 1};
}

int match_sheet_init(struct match_sheet *sheet, struct match_extent smallest,
                     struct match_extent largest, struct error *why)
{
    sheet->places = (struct match_extent){sheet->picture.columns - smallest.columns + 1,
                                          sheet->picture.rows - smallest.rows + 1};
    choose_side(sheet, largest);
    const size_t numbers = (size_t)sheet->side * sheet->side;
    sheet->square = malloc((pairs(sheet) + 1) * numbers * sizeof *sheet->square);
    sheet->score = malloc(match_area(sheet->places) * sizeof *sheet->score);
    sheet->sum = calloc(2 * (size_t)sheet->picture.columns, sizeof *sheet->sum);
    if (sheet->square == NULL || sheet->score == NULL || sheet->sum == NULL)
        return -ENOMEM;
    sheet->spectrum = sheet->square + numbers;
    sheet->square_sum = sheet->sum + sheet->picture.columns;
    return fft_create(&sheet->fft, sheet->side, why);
}

void match_sheet_finish(struct match_sheet *sheet)
{
    fft_destroy(sheet->fft);
    free(sheet->square);
    free(sheet->score);
    free(sheet->sum);
    free(sheet->blocks);
}

float complex *match_sheet_kernel(const struct match_sheet *sheet, const struct match_shape *shape)
{
    const size_t numbers = (size_t)sheet->side * sheet->side;
    float complex *kernel = calloc(numbers, sizeof *kernel);
    if (kernel == NULL)
        return NULL;
    for (unsigned y = 0; y < shape->image.rows; y++)
        for (unsigned x = 0; x < shape->image.columns; x++)
            kernel[(size_t)y * sheet->side + x] =
                shape->pixel[(size_t)y * shape->image.columns + x];
    fft_square(sheet->fft, kernel, false);
    for (size_t i = 0; i < numbers; i++)
        kernel[i] = conjf(kernel[i]) / (float)numbers;
    return kernel;
}

/* ---- sums of products at all places ---- */

/* The first place of a square; false: there is no such square. */
static bool place_of(const struct match_sheet *sheet, unsigned index, struct match_extent *ret)
{
    const unsigned across = parts(sheet->places.columns, sheet->step.columns);
    *ret = (struct match_extent){index % across * sheet->step.columns,
                                 index / across * sheet->step.rows};
    return ret->rows < sheet->places.rows;
}

/* Adds the part of the picture that begins at a place, times a factor of 1 or i. Subtracting the
 * mean keeps more precision, and changes no sum, since the template has no mean. */
static void load(const struct match_sheet *sheet, float complex *square,
                 const struct match_extent *from, float complex factor)
{
    const unsigned columns = match_lesser(sheet->side, sheet->picture.columns - from->columns);
    const unsigned rows = match_lesser(sheet->side, sheet->picture.rows - from->rows);
    for (unsigned y = 0; y < rows; y++) {
        const float *row =
            sheet->luma + (size_t)(from->rows + y) * sheet->picture.columns + from->columns;
        for (unsigned x = 0; x < columns; x++)
            square[(size_t)y * sheet->side + x] += factor * (row[x] - sheet->mean);
    }
}

void match_sheet_transform(struct match_sheet *sheet)
{
    const size_t numbers = (size_t)sheet->side * sheet->side;
    struct match_extent first, second;
    for (unsigned i = 0; place_of(sheet, i, &first); i += 2) {
        float complex *square = sheet->spectrum + i / 2 * numbers;
        memset(square, 0, numbers * sizeof *square);
        load(sheet, square, &first, 1);
        if (place_of(sheet, i + 1, &second))
            load(sheet, square, &second, I);
        fft_square(sheet->fft, square, false);
    }
}

static void store(struct match_sheet *sheet, const struct match_extent *places,
                  const struct match_extent *to, bool second)
{
    if (to->columns >= places->columns || to->rows >= places->rows)
        return;
    const unsigned columns = match_lesser(sheet->step.columns, places->columns - to->columns);
    const unsigned rows = match_lesser(sheet->step.rows, places->rows - to->rows);
    for (unsigned y = 0; y < rows; y++)
        for (unsigned x = 0; x < columns; x++) {
            const float complex value = sheet->square[(size_t)y * sheet->side + x];
            sheet->score[(size_t)(to->rows + y) * places->columns + to->columns + x] =
                second ? cimagf(value) : crealf(value);
        }
}

/* The template is real, so the real and the imaginary part of a square do not mix. */
static void correlate(struct match_sheet *sheet, const struct match_shape *shape,
                      const float complex *kernel)
{
    const struct match_extent *places = &shape->places;
    const size_t numbers = (size_t)sheet->side * sheet->side;
    struct match_extent first, second;
    for (unsigned i = 0; place_of(sheet, i, &first); i += 2) {
        const float complex *spectrum = sheet->spectrum + i / 2 * numbers;
        for (size_t k = 0; k < numbers; k++) {
            const float complex a = spectrum[k], b = kernel[k];
            sheet->square[k] = (crealf(a) * crealf(b) - cimagf(a) * cimagf(b)) +
                               (crealf(a) * cimagf(b) + cimagf(a) * crealf(b)) * I;
        }
        fft_square(sheet->fft, sheet->square, true);
        store(sheet, places, &first, false);
        if (place_of(sheet, i + 1, &second))
            store(sheet, places, &second, true);
    }
}

/* ---- scores of all places ---- */

/* Adds a row of the picture to the sums of columns, or subtracts it again. */
static void add_row(struct match_sheet *sheet, unsigned y, double sign)
{
    const float *row = sheet->luma + (size_t)y * sheet->picture.columns;
    for (unsigned x = 0; x < sheet->picture.columns; x++) {
        const double value = (double)(row[x] - sheet->mean);
        sheet->sum[x] += sign * value;
        sheet->square_sum[x] += sign * value * value;
    }
}

/* Returns the least sum of squared differences of a window that has a score. */
static double least_variation(const struct match_shape *shape)
{
    return (double)match_area(shape->image) * MATCH_MIN_DEVIATION * MATCH_MIN_DEVIATION;
}

/* Divides one row of sums of products by what a perfect match would have. */
static void normalise_row(const struct match_sheet *sheet, const struct match_shape *shape,
                          float *score)
{
    const unsigned wide = shape->image.columns;
    const double count = (double)match_area(shape->image), least = least_variation(shape);
    double sum = 0, square_sum = 0;
    for (unsigned x = 0; x < wide - 1; x++) {
        sum += sheet->sum[x];
        square_sum += sheet->square_sum[x];
    }
    for (unsigned x = 0; x < shape->places.columns; x++) {
        sum += sheet->sum[x + wide - 1];
        square_sum += sheet->square_sum[x + wide - 1];
        const double variation = square_sum - sum * sum / count;
        const double value = (double)score[x] / sqrt(variation * shape->variation);
        score[x] = variation >= least ? (float)fmax(-1, fmin(value, 1)) : NAN;
        sum -= sheet->sum[x];
        square_sum -= sheet->square_sum[x];
    }
}

static void normalise(struct match_sheet *sheet, const struct match_shape *shape)
{
    const unsigned high = shape->image.rows;
    memset(sheet->sum, 0, sheet->picture.columns * sizeof *sheet->sum);
    memset(sheet->square_sum, 0, sheet->picture.columns * sizeof *sheet->square_sum);
    for (unsigned y = 0; y < high - 1; y++)
        add_row(sheet, y, 1);
    for (unsigned y = 0; y < shape->places.rows; y++) {
        add_row(sheet, y + high - 1, 1);
        normalise_row(sheet, shape, sheet->score + (size_t)y * shape->places.columns);
        add_row(sheet, y, -1);
    }
}

/* Returns whether no neighbour has a better score. If neighbours are equal, only the last is a
 * peak. */
static bool is_peak(const struct match_sheet *sheet, struct match_extent places, unsigned x,
                    unsigned y)
{
    const float *score = sheet->score + (size_t)y * places.columns + x;
    const int bottom = y + 1 < places.rows ? 1 : 0, right = x + 1 < places.columns ? 1 : 0;
    for (int dy = y > 0 ? -1 : 0; dy <= bottom; dy++)
        for (int dx = x > 0 ? -1 : 0; dx <= right; dx++) {
            const float other = score[dy * (ptrdiff_t)places.columns + dx];
            if (other > *score || (other == *score && (dy > 0 || (dy == 0 && dx > 0))))
                return false;
        }
    return true;
}

/* Inserts a place into a list with the best one first. It belongs there. */
static unsigned insert(struct match_place *list, unsigned count, unsigned capacity,
                       struct match_place found)
{
    unsigned i = count < capacity ? count : count - 1;
    for (; i > 0 && list[i - 1].score < found.score; i--)
        list[i] = list[i - 1];
    list[i] = found;
    return count < capacity ? count + 1 : count;
}

static unsigned find_peaks(const struct match_sheet *sheet, struct match_extent places,
                           struct match_place *ret, unsigned capacity)
{
    unsigned count = 0;
    for (unsigned y = 0; y < places.rows; y++)
        for (unsigned x = 0; x < places.columns; x++) {
            const double score = (double)sheet->score[(size_t)y * places.columns + x];
            if (isnan(score) || (count == capacity && score <= ret[count - 1].score))
                continue;
            if (is_peak(sheet, places, x, y))
                count = insert(ret, count, capacity, (struct match_place){x, y, score});
        }
    return count;
}

unsigned match_sheet_search(struct match_sheet *sheet, const struct match_shape *shape,
                            const float complex *kernel, struct match_place *ret, unsigned capacity)
{
    correlate(sheet, shape, kernel);
    normalise(sheet, shape);
    return find_peaks(sheet, shape->places, ret, capacity);
}

/* ---- the score of one place ---- */

/* Adds up a window in lanes, which compilers vectorise. */
static double window_mean(const struct match_sheet *sheet, const struct match_shape *shape,
                          const float *first)
{
    const unsigned wide = shape->image.columns;
    double sum = 0;
    for (unsigned y = 0; y < shape->image.rows; y++) {
        const float *row = first + (size_t)y * sheet->picture.columns;
        float lane[LANES] = {0};
        unsigned x = 0;
        for (; x + LANES <= wide; x += LANES)
            for (unsigned k = 0; k < LANES; k++)
                lane[k] += row[x + k];
        for (unsigned k = 0; x + k < wide; k++)
            lane[k] += row[x + k];
        for (unsigned k = 0; k < LANES; k++)
            sum += (double)lane[k];
    }
    return sum / (double)match_area(shape->image);
}

double match_sheet_score(const struct match_sheet *sheet, const struct match_shape *shape,
                         unsigned left, unsigned top)
{
    const unsigned wide = shape->image.columns;
    const float *first = sheet->luma + (size_t)top * sheet->picture.columns + left;
    const float mean = (float)window_mean(sheet, shape, first);
    double products = 0, variation = 0;
    for (unsigned y = 0; y < shape->image.rows; y++) {
        const float *row = first + (size_t)y * sheet->picture.columns;
        const float *pixel = shape->pixel + (size_t)y * wide;
        float product[LANES] = {0}, square[LANES] = {0};
        unsigned x = 0;
        for (; x + LANES <= wide; x += LANES)
            for (unsigned k = 0; k < LANES; k++) {
                const float rest = row[x + k] - mean;
                product[k] += pixel[x + k] * rest;
                square[k] += rest * rest;
            }
        for (unsigned k = 0; x + k < wide; k++) {
            const float rest = row[x + k] - mean;
            product[k] += pixel[x + k] * rest;
            square[k] += rest * rest;
        }
        for (unsigned k = 0; k < LANES; k++) {
            products += (double)product[k];
            variation += (double)square[k];
        }
    }
    return variation >= least_variation(shape) ? products / sqrt(variation * shape->variation)
                                               : (double)NAN;
}
