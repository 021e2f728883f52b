#include "estimators/flicker_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DARK       4.0F   /* means of rows below this are not used: rounding is an eighth of them */
#define BRIGHT     252.0F /* samples above this may be limited: 3 steps leave room for noise */
#define BRIGHT_MAX 0.05F  /* of a row's samples; chosen on the clips of tests/unit/flicker.c */
/* Shifts below this are errors of the estimate, whose largest is 0.03 in tests/unit/motion.c,
 * unless they add up to three times this. */
#define STILL_PX   0.05
#define DRIFT_PX   0.15

int rows_create(struct rows **ret, unsigned width, unsigned height, struct error *why)
{
    struct rows *rows = calloc(1, sizeof *rows);
    if (rows == NULL)
        return error_set(why, ENOMEM, "out of memory for the means of rows");
    rows->width = width;
    rows->height = height;
    rows->bin_px = height > ROWS_BINS ? (double)height / ROWS_BINS : 1;
    rows->last = calloc((size_t)width * height, sizeof *rows->last);
    for (unsigned i = 0; i < 2; i++) {
        rows->sum[i] = calloc((size_t)height + 1, sizeof *rows->sum[i]);
        rows->bad[i] = calloc((size_t)height + 1, sizeof *rows->bad[i]);
    }
    if (rows->last == NULL || rows->sum[0] == NULL || rows->sum[1] == NULL ||
        rows->bad[0] == NULL || rows->bad[1] == NULL) {
        rows_destroy(rows);
        return error_set(why, ENOMEM, "out of memory for the means of %u rows", height);
    }
    *ret = rows;
    return 0;
}

void rows_destroy(struct rows *rows)
{
    if (rows == NULL)
        return;
    for (unsigned i = 0; i < 2; i++) {
        free(rows->sum[i]);
        free(rows->bad[i]);
    }
    free(rows->last);
    free(rows);
}

void rows_clear(struct rows *rows)
{
    rows->count = 0;
    rows->still_x = rows->still_y = 0;
}

/* The mean of a row from column `first` to `end`, with parts of columns; `bright` counts samples
 * that may be limited. */
static float row_mean(const float *row, double first, double end, unsigned *bright)
{
    const unsigned begin = (unsigned)ceil(first), stop = (unsigned)floor(end);
    float sum[4] = {0};
    unsigned count[4] = {0};
    unsigned x = begin;
    for (; x + 4 <= stop; x += 4)
        for (unsigned i = 0; i < 4; i++) {
            sum[i] += row[x + i];
            count[i] += row[x + i] > BRIGHT;
        }
    for (; x < stop; x++)
        sum[0] += row[x];
    double total = (double)sum[0] + sum[1] + sum[2] + sum[3];
    if (begin > first)
        total += (begin - first) * row[begin - 1];
    if (end > stop)
        total += (end - stop) * row[stop];
    *bright = count[0] + count[1] + count[2] + count[3];
    return (float)(total / (end - first));
}

/* Adds up the logarithms of the rows' means over the columns from `first` to `end`. */
static void add_up_rows(struct rows *rows, unsigned which, const float *luma, double first,
                        double end)
{
    for (unsigned y = 0; y < rows->height; y++) {
        unsigned bright;
        const float mean = row_mean(luma + (size_t)y * rows->width, first, end, &bright);
        /* Numbers that are no numbers are not in this range either. */
        const bool is_good =
            mean >= DARK && mean <= 255 && (float)bright <= BRIGHT_MAX * (float)(end - first);
        rows->sum[which][y + 1] = rows->sum[which][y] + (is_good ? log((double)mean) : 0);
        rows->bad[which][y + 1] = rows->bad[which][y] + !is_good;
    }
}

/* The sum over all rows above `at`, between the values at whole rows by Catmull and Rom. */
static double sum_above(const double *sum, unsigned height, double at)
{
    const unsigned i = at >= height ? height - 1 : (unsigned)at;
    const double t = at - i;
    const double p1 = sum[i], p2 = sum[i + 1];
    const double p0 = i > 0 ? sum[i - 1] : 2 * p1 - p2;
    const double p3 = i + 2 <= height ? sum[i + 2] : 2 * p2 - p1;
    return p1 + 0.5 * t *
                    (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * (3 * (p1 - p2) + p3 - p0)));
}

/* The mean over the rows from `at` on; false if one of them cannot be used. */
static bool bin_mean(const struct rows *rows, unsigned which, double at, double *ret)
{
    const double end = at + rows->bin_px;
    if (at < 0 || end > rows->height)
        return false;
    const unsigned first = at < 1 ? 0 : (unsigned)at - 1;
    const unsigned last = end + 2 > rows->height ? rows->height : (unsigned)end + 2;
    if (rows->bad[which][last] != rows->bad[which][first])
        return false;
    *ret = (sum_above(rows->sum[which], rows->height, end) -
            sum_above(rows->sum[which], rows->height, at)) /
           rows->bin_px;
    return true;
}

/* Ignores shifts that are errors of the estimate, so that still scenes stay exactly still. */
static void settle(struct rows *rows, double *dx, double *dy)
{
    rows->still_x += *dx;
    rows->still_y += *dy;
    if (hypot(*dx, *dy) < STILL_PX && hypot(rows->still_x, rows->still_y) < DRIFT_PX) {
        *dx = *dy = 0;
        return;
    }
    *dx = rows->still_x;
    *dy = rows->still_y;
    rows->still_x = rows->still_y = 0;
}

static struct rows_frame *next_frame(struct rows *rows)
{
    if (rows->count == ROWS_FRAMES) {
        memmove(rows->frame, rows->frame + 1, (ROWS_FRAMES - 1) * sizeof *rows->frame);
        rows->count--;
    }
    return &rows->frame[rows->count++];
}

/* Whether the scene is the one before, and by how much it has moved. */
static bool follow(struct rows *rows, const struct motion *motion, double *ret_dx, double *ret_dy)
{
    *ret_dx = *ret_dy = 0;
    if (rows->count == 0 || motion == NULL)
        return false;
    double dx = motion->dx, dy = motion->dy;
    settle(rows, &dx, &dy);
    if (!(fabs(dx) < 0.5 * rows->width) || !(fabs(dy) < 0.5 * rows->height))
        return false;
    *ret_dx = dx;
    *ret_dy = dy;
    return true;
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
    double value, value_before;
    frame->value[i] = 0;
    if (!bin_mean(rows, 1, bin_place(rows, frame, bin), &value))
        *since = frame->serial + 1;
    else if (before == NULL || !rows_is_valid(rows, before, bin) ||
             !bin_mean(rows, 0, bin_place(rows, before, bin), &value_before))
        *since = frame->serial;
    else
        frame->value[i] = before->value[bin - before->first_bin] + (float)(value - value_before);
}

void rows_add(struct rows *rows, const float *luma, int64_t captured_ns,
              const struct motion *motion)
{
    double dx, dy;
    const bool is_same = follow(rows, motion, &dx, &dy);
    const double width = rows->width;
    double offset_px = dy;
    if (is_same)
        offset_px += rows->frame[rows->count - 1].offset_px;
    else
        rows_clear(rows);
    add_up_rows(rows, 0, rows->last, fmax(0, -dx), width + fmin(0, -dx));
    add_up_rows(rows, 1, luma, fmax(0, dx), width + fmin(0, dx));
    memcpy(rows->last, luma, (size_t)rows->width * rows->height * sizeof *luma);

    struct rows_frame *frame = next_frame(rows);
    frame->captured_ns = captured_ns;
    frame->serial = ++rows->serial;
    frame->offset_px = offset_px;
    frame->first_bin = (int)ceil(-offset_px / rows->bin_px - 1e-9);
    const double room_px = rows->height - offset_px - frame->first_bin * rows->bin_px;
    frame->bins = (unsigned)floor(room_px / rows->bin_px + 1e-9);
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
