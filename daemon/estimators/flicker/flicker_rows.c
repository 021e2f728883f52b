#include "estimators/flicker/flicker_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/normal.h"
#include "core/vectors.h"

#define DARK        4.0F /* means of rows below this are not used: rounding is an eighth of them */
#define BRIGHT      252.0F /* samples above this may be limited: 3 steps leave room for noise */
#define BRIGHT_MAX  0.05F  /* share of a row's samples; chosen on tests/unit/flicker.c's clips */
/* A bin is compared in at most this many blocks of at least this width. It can be used if this
 * share of its blocks can be. */
#define MOST_BLOCKS 16u
#define BLOCK_PX    16u
#define USABLE      0.25
/* Blocks whose change is outside the quartiles by more than this many interquartile ranges are left
 * out: "far out" in Tukey, Exploratory Data Analysis (1977). Normal noise has hardly any. */
#define FENCE       3.0
/* A shift is corrected by at most ASIDE_PX. */
#define SMOOTH      20u  /* cosines over a frame: two for each of the most bands, and a mean */
#define HOLD_SMOOTH 1e-3 /* holds cosines that the bins in view may not determine */
#define ASIDE_PX    0.25
#define MISSED_PX   0.05 /* expected error of a shift under flickering light */

int rows_create(struct rows **ret, unsigned width, unsigned height, struct error *why)
{
    struct rows *rows = calloc(1, sizeof *rows);
    if (rows == NULL)
        return error_set(why, ENOMEM, "out of memory for the means of rows");
    rows->width = width;
    rows->height = height;
    rows->bin_px = height > ROWS_BINS ? (double)height / ROWS_BINS : 1;
    rows->last = calloc((size_t)width * height, sizeof *rows->last);
    rows->blocks = width / BLOCK_PX < 1             ? 1
                   : width / BLOCK_PX < MOST_BLOCKS ? width / BLOCK_PX
                                                    : MOST_BLOCKS;
    const size_t sums = rows->blocks * ((size_t)height + 1);
    for (unsigned i = 0; i < 2; i++)
        rows->sum[i] = calloc(sums, sizeof *rows->sum[i]);
    int r = flicker_scene_create(&rows->scene, width, height, (unsigned)lround(rows->bin_px), why);
    if (r == 0 && (rows->last == NULL || rows->sum[0] == NULL || rows->sum[1] == NULL))
        r = error_set(why, ENOMEM, "out of memory for the means of %u rows", height);
    if (r < 0) {
        rows_destroy(rows);
        return r;
    }
    *ret = rows;
    return 0;
}

void rows_destroy(struct rows *rows)
{
    if (rows == NULL)
        return;
    for (unsigned i = 0; i < 2; i++)
        free(rows->sum[i]);
    flicker_scene_destroy(rows->scene);
    free(rows->last);
    free(rows);
}

static void rows_clear(struct rows *rows)
{
    rows->count = 0;
    flicker_scene_settle(rows->scene);
}

void rows_reset(struct rows *rows)
{
    flicker_scene_reset(rows->scene);
    rows_clear(rows);
}

/* The mean of a row from column `first` to `end`, with parts of columns; `bright` counts samples
 * that may be limited. */
static ALWAYS_INLINE float row_mean(const float *row, double first, double end, unsigned *bright)
{
    const unsigned begin = (unsigned)ceil(first), stop = (unsigned)floor(end);
    floats sum = {0}, count = {0};
    double total = 0, counted = 0;
    unsigned x = begin;
    for (; x + FLOATS <= stop; x += FLOATS) {
        const floats own = FLOATS_AT(row + x);
        sum += own;
        count -= __builtin_convertvector(own > BRIGHT, floats);
    }
    for (unsigned i = 0; i < FLOATS; i++) {
        total += (double)sum[i];
        counted += (double)count[i];
    }
    for (; x < stop; x++) {
        total += (double)row[x];
        counted += row[x] > BRIGHT;
    }
    if (begin > first)
        total += (begin - first) * row[begin - 1];
    if (end > stop)
        total += (end - stop) * row[stop];
    *bright = (unsigned)counted;
    return (float)(total / (end - first));
}

/* Edges along the rows are too sharp to find values between rows. Each row becomes the mean of
 * itself, twice, and of its neighbours. */
static void soften(struct rows_sum *sum, unsigned height)
{
    double before = sum[0].log_sum;
    for (unsigned y = 1; y < height; y++) {
        const double own = sum[y].log_sum;
        sum[y].log_sum = 0.25 * (before + 2 * own + sum[y + 1].log_sum);
        before = own;
    }
}

/* Adds up the logarithms of the rows' means in each block of the columns from `first` to `end`. */
VECTORS static void add_up_rows(struct rows *rows, unsigned which, const float *luma, double first,
                                double end)
{
    const double block_px = (end - first) / rows->blocks;
    for (unsigned k = 0; k < rows->blocks; k++) {
        struct rows_sum *sum = rows->sum[which] + k * ((size_t)rows->height + 1);
        const double begin = first + k * block_px;
        const double stop = k + 1 < rows->blocks ? begin + block_px : end;
        for (unsigned y = 0; y < rows->height; y++) {
            unsigned bright;
            const float mean = row_mean(luma + (size_t)y * rows->width, begin, stop, &bright);
            /* NaN is not in this range either. */
            const bool is_good =
                mean >= DARK && mean <= 255 && (float)bright <= BRIGHT_MAX * (float)(stop - begin);
            sum[y + 1].log_sum = sum[y].log_sum + (is_good ? log((double)mean) : 0);
            sum[y + 1].bad = sum[y].bad + !is_good;
        }
        soften(sum, rows->height);
    }
}

/* The newest sums become those of the last frame. */
static void take_last_sums(struct rows *rows)
{
    struct rows_sum *sum = rows->sum[0];
    rows->sum[0] = rows->sum[1];
    rows->sum[1] = sum;
}

/* The sum over all rows above `at`, between the values at whole rows by Catmull and Rom. */
static double sum_above(const struct rows_sum *sum, unsigned height, double at)
{
    const unsigned i = at >= height ? height - 1 : (unsigned)at;
    const double t = at - i;
    const double p1 = sum[i].log_sum, p2 = sum[i + 1].log_sum;
    const double p0 = i > 0 ? sum[i - 1].log_sum : 2 * p1 - p2;
    const double p3 = i + 2 <= height ? sum[i + 2].log_sum : 2 * p2 - p1;
    return p1 + 0.5 * t *
                    (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * (3 * (p1 - p2) + p3 - p0)));
}

/* The mean over the rows from `at` on of a block; false if one of them cannot be used. */
static bool block_mean(const struct rows *rows, unsigned which, unsigned block, double at,
                       double *ret)
{
    const struct rows_sum *sum = rows->sum[which] + block * ((size_t)rows->height + 1);
    const double end = at + rows->bin_px;
    const unsigned first = at < 2 ? 0 : (unsigned)at - 2;
    const unsigned last = end + 3 > rows->height ? rows->height : (unsigned)end + 3;
    if (sum[last].bad != sum[first].bad)
        return false;
    *ret = (sum_above(sum, rows->height, end) - sum_above(sum, rows->height, at)) / rows->bin_px;
    return true;
}

/* Returns whether the new frame, looked at alone, shows enough of the bin that begins there. */
static bool is_usable(const struct rows *rows, double at)
{
    unsigned usable = 0;
    double mean;
    for (unsigned k = 0; k < rows->blocks; k++)
        usable += block_mean(rows, 1, k, at, &mean);
    return usable >= USABLE * rows->blocks;
}

struct block_change {
    double change, level;
};

static int by_change(const void *a, const void *b)
{
    const double p = ((const struct block_change *)a)->change;
    const double q = ((const struct block_change *)b)->change;
    return (p > q) - (p < q);
}

/* Computes by how much a bin has changed. Blocks are means of logarithms, so the effect of the lens
 * on each does not depend on the scene. Light changes all blocks of a bin alike; what moves changes
 * some of them more or less, and these do not count. Dark blocks have more noise and count less.
 * Returns false if too few can be used. */
static bool bin_change(const struct rows *rows, double at, double now, double *ret)
{
    struct block_change block[MOST_BLOCKS];
    double mean = 0, sum = 0, weights = 0;
    unsigned count = 0;
    for (unsigned k = 0; k < rows->blocks; k++) {
        double last, next;
        if (!block_mean(rows, 0, k, at, &last) || !block_mean(rows, 1, k, now, &next))
            continue;
        block[count] = (struct block_change){next - last, exp(0.5 * (last + next))};
        mean += block[count++].level;
    }
    if (count == 0 || count < USABLE * rows->blocks)
        return false;
    mean /= count;
    qsort(block, count, sizeof *block, by_change);
    const double low = block[count / 4].change, high = block[count - 1 - count / 4].change;
    const double fence = FENCE * (high - low);
    for (unsigned i = 0; i < count; i++) {
        if (block[i].change < low - fence || block[i].change > high + fence)
            continue;
        const double weight = fmin(1, block[i].level * block[i].level / (mean * mean));
        sum += weight * block[i].change;
        weights += weight;
    }
    *ret = sum / weights;
    return true;
}

static struct rows_frame *next_frame(struct rows *rows)
{
    if (rows->count == ROWS_FRAMES) {
        memmove(rows->frame, rows->frame + 1, (ROWS_FRAMES - 1) * sizeof *rows->frame);
        rows->count--;
    }
    return &rows->frame[rows->count++];
}

/* Where a bin begins in a frame; at the edges without errors of rounding. */
static double bin_place(const struct rows *rows, const struct rows_frame *frame, int bin)
{
    const double at = bin * rows->bin_px + frame->offset_px;
    return fmin(fmax(at, 0), rows->height - rows->bin_px);
}

static void fill_bin(struct rows *rows, struct rows_frame *frame, const struct rows_frame *before,
                     unsigned i)
{
    const int bin = frame->first_bin + (int)i;
    uint64_t *since = &rows->since[(unsigned)bin % ROWS_RING];
    const double at = bin_place(rows, frame, bin);
    double change;
    frame->value[i] = 0;
    if (!is_usable(rows, at))
        *since = frame->serial + 1;
    else if (before == NULL || !rows_is_valid(rows, before, bin) ||
             !bin_change(rows, bin_place(rows, before, bin), at, &change))
        *since = frame->serial;
    else
        frame->value[i] = before->value[bin - before->first_bin] + (float)change;
}

/* The columns of one bin for missed_shift(): cosines, the change for each pixel that was missed,
 * and the change. False if the bin cannot be used. */
static bool fill_column(const struct rows *rows, const struct rows_frame *frame,
                        const struct rows_frame *before, int bin, double *column)
{
    const double at = bin * rows->bin_px + before->offset_px, end = rows->height - rows->bin_px;
    const double now = bin * rows->bin_px + frame->offset_px;
    double less, more;
    if (!rows_is_valid(rows, before, bin) || at < 0 || at > end || now < ASIDE_PX ||
        now + ASIDE_PX > end || !bin_change(rows, at, now - ASIDE_PX, &less) ||
        !bin_change(rows, at, now + ASIDE_PX, &more))
        return false;
    for (unsigned i = 0; i < SMOOTH; i++)
        column[i] = cos(M_PI * i * (now / rows->height + 0.5 / ROWS_BINS));
    column[SMOOTH] = (less - more) / (2 * ASIDE_PX);
    column[SMOOTH + 1] = 0.5 * (less + more);
    return true;
}

/* By how many pixels the scene has moved beyond what is known: edges along the rows would travel
 * over the bins, and look like light. Light changes bins that are side by side alike, so what is as
 * smooth over the bins as light can be does not count. */
static double missed_shift(const struct rows *rows, const struct rows_frame *frame,
                           const struct rows_frame *before)
{
    double product[SMOOTH + 2][SMOOTH + 1] = {{0}}, work[SMOOTH + 2][SMOOTH + 1];
    double solution[SMOOTH + 1], column[SMOOTH + 2], squares = 0;
    unsigned count = 0;
    for (int bin = frame->first_bin; bin < frame->first_bin + (int)frame->bins; bin++) {
        if (!fill_column(rows, frame, before, bin, column))
            continue;
        for (unsigned i = 0; i < SMOOTH + 2; i++)
            for (unsigned j = 0; j <= i && j <= SMOOTH; j++)
                product[i][j] += column[i] * column[j];
        squares += column[SMOOTH + 1] * column[SMOOTH + 1];
        count++;
    }
    if (count < 2 * SMOOTH)
        return 0;
    for (unsigned i = 0; i < SMOOTH; i++)
        product[i][i] += HOLD_SMOOTH;
    memcpy(work, product, sizeof work);
    normal_solve(work[0], SMOOTH + 1, SMOOTH + 1, solution);
    for (unsigned i = 0; i <= SMOOTH; i++)
        squares -= solution[i] * product[SMOOTH + 1][i];
    /* Noise is not to be taken for a shift. */
    product[SMOOTH][SMOOTH] += fmax(squares, 0) / (count - SMOOTH - 1) / (MISSED_PX * MISSED_PX);
    normal_solve(product[0], SMOOTH + 1, SMOOTH + 1, solution);
    return fmax(-ASIDE_PX, fmin(ASIDE_PX, solution[SMOOTH]));
}

/* Which bins are in view. */
static void place_frame(const struct rows *rows, struct rows_frame *frame, double offset_px)
{
    frame->offset_px = offset_px;
    frame->first_bin = (int)ceil(-offset_px / rows->bin_px - 1e-9);
    const double room_px = rows->height - offset_px - frame->first_bin * rows->bin_px;
    frame->bins = (unsigned)floor(room_px / rows->bin_px + 1e-9);
}

void rows_add(struct rows *rows, const float *luma, int64_t captured_ns)
{
    double dx = 0, dy = 0;
    const bool is_same = flicker_scene_follow(rows->scene, luma, rows->count, &dx, &dy);
    const double width = rows->width;
    double offset_px = dy;
    if (is_same)
        offset_px += rows->frame[rows->count - 1].offset_px;
    else
        rows_clear(rows);
    if (rows->is_whole && dx == 0)
        take_last_sums(rows);
    else
        add_up_rows(rows, 0, rows->last, fmax(0, -dx), width + fmin(0, -dx));
    add_up_rows(rows, 1, luma, fmax(0, dx), width + fmin(0, dx));
    rows->is_whole = dx == 0;
    memcpy(rows->last, luma, (size_t)rows->width * rows->height * sizeof *luma);

    struct rows_frame *frame = next_frame(rows);
    frame->captured_ns = captured_ns;
    frame->serial = ++rows->serial;
    place_frame(rows, frame, offset_px);
    if (is_same && dy != 0)
        place_frame(rows, frame, offset_px + missed_shift(rows, frame, frame - 1));
    for (unsigned i = 0; i < frame->bins; i++)
        fill_bin(rows, frame, rows->count > 1 ? frame - 1 : NULL, i);
}

void rows_trim(struct rows *rows, int64_t oldest_ns)
{
    unsigned old = 0;
    while (old < rows->count && rows->frame[old].captured_ns < oldest_ns)
        old++;
    memmove(rows->frame, rows->frame + old, (rows->count - old) * sizeof *rows->frame);
    rows->count -= old;
}
