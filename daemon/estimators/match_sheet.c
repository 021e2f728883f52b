#include "estimators/match_sheet.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fft.h"
#include "core/vectors.h"

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

/* Returns how many numbers a summed-area table of the picture has. */
static size_t table_size(struct match_extent picture)
{
    return ((size_t)picture.columns + 1) * (picture.rows + 1);
}

uint64_t match_sheet_bytes(struct match_extent picture, struct match_extent smallest,
                           struct match_extent largest, uint64_t *ret_kernel)
{
    struct match_sheet sheet = {.picture = picture, .places = match_places(picture, smallest)};
    choose_side(&sheet, largest);
    *ret_kernel = (uint64_t)sheet.side * sheet.side * sizeof *sheet.square;
    return 2 * (uint64_t)table_size(picture) * sizeof *sheet.sum +
           match_area(sheet.places) * sizeof *sheet.rank + (pairs(&sheet) + 1) * *ret_kernel;
}

int match_sheet_init_sums(struct match_sheet *sheet)
{
    const size_t size = table_size(sheet->picture);
    sheet->sum = calloc(2 * size, sizeof *sheet->sum);
    if (sheet->sum == NULL)
        return -ENOMEM;
    sheet->square_sum = sheet->sum + size;
    return 0;
}

int match_sheet_init(struct match_sheet *sheet, struct match_extent smallest,
                     struct match_extent largest, struct error *why)
{
    sheet->places = match_places(sheet->picture, smallest);
    choose_side(sheet, largest);
    const size_t numbers = (size_t)sheet->side * sheet->side;
    sheet->square = malloc((pairs(sheet) + 1) * numbers * sizeof *sheet->square);
    sheet->rank = malloc(match_area(sheet->places) * sizeof *sheet->rank);
    if (sheet->square == NULL || sheet->rank == NULL)
        return -ENOMEM;
    sheet->spectrum = sheet->square + numbers;
    return fft_create(&sheet->fft, sheet->side, why);
}

void match_sheet_finish(struct match_sheet *sheet)
{
    fft_destroy(sheet->fft);
    free(sheet->square);
    free(sheet->rank);
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

static void transform(struct match_sheet *sheet)
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
    sheet->is_transformed = true;
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
            sheet->rank[(size_t)(to->rows + y) * places->columns + to->columns + x] =
                second ? cimagf(value) : crealf(value);
        }
}

/* The template is real, so the real and the imaginary part of a square do not mix. */
VECTORS static void correlate(struct match_sheet *sheet, const struct match_extent *places,
                              const float complex *kernel)
{
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

/* ---- sums of windows ---- */

static float mean_of(const float *luma, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)luma[i];
    return (float)(sum / (double)count);
}

/* Subtracting the mean keeps the sums small, and so precise. */
static void sum_up(struct match_sheet *sheet)
{
    const unsigned columns = sheet->picture.columns, line = columns + 1;
    for (unsigned y = 0; y < sheet->picture.rows; y++) {
        const float *row = sheet->luma + (size_t)y * columns;
        double *sum = sheet->sum + (size_t)(y + 1) * line;
        double *square_sum = sheet->square_sum + (size_t)(y + 1) * line;
        double left = 0, square_left = 0;
        for (unsigned x = 1; x < line; x++) {
            const double value = (double)(row[x - 1] - sheet->mean);
            left += value;
            square_left += value * value;
            sum[x] = *(sum + x - line) + left;
            square_sum[x] = *(square_sum + x - line) + square_left;
        }
    }
}

void match_sheet_take(struct match_sheet *sheet)
{
    sheet->mean = mean_of(sheet->luma, match_area(sheet->picture));
    sum_up(sheet);
    sheet->is_transformed = false;
}

/* The sums over windows of one size whose first pixels are in one row. */
struct window_row {
    const double *upper, *lower; /* corners in the columns of a window's first pixel */
    unsigned wide;
};

static ALWAYS_INLINE struct window_row window_row(const struct match_sheet *sheet,
                                                  const double *sums, struct match_extent window,
                                                  unsigned y)
{
    const size_t line = (size_t)sheet->picture.columns + 1;
    return (struct window_row){sums + y * line, sums + (y + window.rows) * line, window.columns};
}

static ALWAYS_INLINE double window_sum(struct window_row row, unsigned x)
{
    return row.lower[x + row.wide] - row.lower[x] - row.upper[x + row.wide] + row.upper[x];
}

/* Returns the least sum of squared differences of a window that has a score. */
static double least_variation(struct match_extent window)
{
    return (double)match_area(window) * MATCH_MIN_DEVIATION * MATCH_MIN_DEVIATION;
}

/* ---- ranks of all places ---- */

/* NaN: the window has no score. */
static ALWAYS_INLINE float rank_of(float products, struct window_row sums,
                                   struct window_row square_sums, unsigned x, double count,
                                   double least)
{
    const double sum = window_sum(sums, x);
    const double variation = window_sum(square_sums, x) - sum * sum / count;
    return variation >= least ? products * fabsf(products) / (float)variation : NAN;
}

VECTORS static void rank_places(struct match_sheet *sheet, struct match_extent window,
                                struct match_extent places)
{
    const double count = (double)match_area(window), least = least_variation(window);
    for (unsigned y = 0; y < places.rows; y++) {
        const struct window_row sums = window_row(sheet, sheet->sum, window, y);
        const struct window_row square_sums = window_row(sheet, sheet->square_sum, window, y);
        float *rank = sheet->rank + (size_t)y * places.columns;
        unsigned x = 0;
        for (; x + LANES <= places.columns; x += LANES)
            for (unsigned k = 0; k < LANES; k++)
                rank[x + k] = rank_of(rank[x + k], sums, square_sums, x + k, count, least);
        for (; x < places.columns; x++)
            rank[x] = rank_of(rank[x], sums, square_sums, x, count, least);
    }
}

/* Returns whether no neighbour has a better rank. If neighbours are equal, only the last is a
 * peak. */
static bool is_peak(const struct match_sheet *sheet, struct match_extent places, unsigned x,
                    unsigned y)
{
    const float *rank = sheet->rank + (size_t)y * places.columns + x;
    const int bottom = y + 1 < places.rows ? 1 : 0, right = x + 1 < places.columns ? 1 : 0;
    for (int dy = y > 0 ? -1 : 0; dy <= bottom; dy++)
        for (int dx = x > 0 ? -1 : 0; dx <= right; dx++) {
            const float other = rank[dy * (ptrdiff_t)places.columns + dx];
            if (other > *rank || (other == *rank && (dy > 0 || (dy == 0 && dx > 0))))
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

static void rank_all(struct match_sheet *sheet, struct match_extent window,
                     struct match_extent places, const float complex *kernel)
{
    if (!sheet->is_transformed)
        transform(sheet);
    correlate(sheet, &places, kernel);
    rank_places(sheet, window, places);
}

unsigned match_sheet_search(struct match_sheet *sheet, struct match_extent window,
                            struct match_extent places, const float complex *kernel,
                            struct match_place *ret, unsigned capacity)
{
    unsigned count = 0;
    rank_all(sheet, window, places, kernel);
    for (unsigned y = 0; y < places.rows; y++)
        for (unsigned x = 0; x < places.columns; x++) {
            const double rank = (double)sheet->rank[(size_t)y * places.columns + x];
            if (isnan(rank) || (count == capacity && rank <= ret[count - 1].score))
                continue;
            if (is_peak(sheet, places, x, y))
                count = insert(ret, count, capacity, (struct match_place){x, y, rank});
        }
    return count;
}

unsigned match_sheet_search_all(struct match_sheet *sheet, struct match_extent window,
                                struct match_extent places, const float complex *kernel,
                                double least_rank, struct match_place *ret, unsigned capacity)
{
    unsigned count = 0;
    rank_all(sheet, window, places, kernel);
    for (unsigned y = 0; y < places.rows && count < capacity; y++)
        for (unsigned x = 0; x < places.columns && count < capacity; x++) {
            const double rank = (double)sheet->rank[(size_t)y * places.columns + x];
            if (rank >= least_rank && is_peak(sheet, places, x, y))
                ret[count++] = (struct match_place){x, y, rank};
        }
    return count;
}

/* ---- the score of one place ---- */

VECTORS double match_sheet_score(const struct match_sheet *sheet, const struct match_shape *shape,
                                 unsigned left, unsigned top)
{
    const struct match_extent window = shape->image;
    const double sum = window_sum(window_row(sheet, sheet->sum, window, top), left);
    const double square_sum = window_sum(window_row(sheet, sheet->square_sum, window, top), left);
    const double mean = sum / (double)match_area(window), variation = square_sum - sum * mean;
    const float level = (float)mean + sheet->mean;
    double products = 0;
    if (variation < least_variation(window))
        return (double)NAN;
    for (unsigned y = 0; y < window.rows; y++) {
        const float *row = sheet->luma + (size_t)(top + y) * sheet->picture.columns + left;
        const float *pixel = shape->pixel + (size_t)y * window.columns;
        float product[LANES] = {0};
        unsigned x = 0;
        for (; x + LANES <= window.columns; x += LANES)
            for (unsigned k = 0; k < LANES; k++)
                product[k] += pixel[x + k] * (row[x + k] - level);
        for (unsigned k = 0; x + k < window.columns; k++)
            product[k] += pixel[x + k] * (row[x + k] - level);
        for (unsigned k = 0; k < LANES; k++)
            products += (double)product[k];
    }
    return products / sqrt(variation * shape->variation);
}
