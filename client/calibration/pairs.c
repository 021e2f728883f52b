#include "pairs.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PAIRS  1024
#define MAX_EACH   2     /* pairs that a frame makes with others */
#define MIN_SCORE  0.5   /* the least score of a usable shift */
#define MIN_SHIFT  1.    /* px; a smaller shift says little about any offset */
#define SHORT_SIDE 240   /* px; larger pictures are aligned by means of cells, about this many */
#define ROUNDS     4     /* iterations of the means; the first two weight all differences alike */
#define ANY_SIGMA  1.    /* levels; weights all differences nearly alike */
#define TUNING     4.685 /* standard deviations, for an efficiency of 95 % */
#define BIN        (1 / 4096.) /* levels; a sixteenth of a grey level */
#define BINS       1024
#define BIN_ROWS   4            /* every fourth row is enough for the median */
#define MIN_SIGMA  (0.25 / 255) /* levels */
#define CUT        (0.5 / 255)  /* levels */
#define NO_LEVEL   1e9F         /* a difference from a level that may be clipped */
#define LANES      8            /* sums that a processor may add at once */

bool pairs_is_cut(float level)
{
    return level < (float)CUT || level > (float)(1 - CUT);
}

double pairs_weight(double error, double sigma)
{
    const double off = error / (TUNING * sigma);
    return fabs(off) < 1 ? (1 - off * off) * (1 - off * off) : 0;
}

/* ---- memory ---- */

static unsigned scale_of(uint32_t short_side)
{
    return short_side < 2 * SHORT_SIDE ? 1 : short_side / SHORT_SIDE;
}

int pairs_init(struct pairs *ret, uint32_t width, uint32_t height, unsigned step)
{
    const size_t count = (size_t)width * height;
    struct pairs pairs = {.width = width,
                          .height = height,
                          .step = step,
                          .scale = scale_of((width < height ? width : height) / step),
                          .pair = calloc(MAX_PAIRS, sizeof *pairs.pair),
                          .difference = malloc(count * sizeof *pairs.difference),
                          .effect = malloc(((size_t)width + height) * sizeof *pairs.effect),
                          .sum = malloc(2 * (size_t)width * sizeof *pairs.sum)};
    bool is_complete =
        pairs.pair != NULL && pairs.difference != NULL && pairs.effect != NULL && pairs.sum != NULL;
    for (unsigned i = 0; i < PAIRS_KEPT; i++) {
        pairs.kept[i].level = malloc(count * sizeof *pairs.kept[i].level);
        is_complete = is_complete && pairs.kept[i].level != NULL;
    }
    if (!is_complete) {
        pairs_finish(&pairs);
        return -ENOMEM;
    }
    *ret = pairs;
    return 0;
}

static void finish_pair(struct pair *pair)
{
    free(pair->column.difference);
    free(pair->row.difference);
}

void pairs_finish(struct pairs *pairs)
{
    for (unsigned i = 0; i < pairs->count; i++)
        finish_pair(&pairs->pair[i]);
    for (unsigned i = 0; i < PAIRS_KEPT; i++) {
        free(pairs->kept[i].level);
        align_destroy(pairs->kept[i].picture);
    }
    align_destroy(pairs->first);
    free(pairs->pair);
    free(pairs->difference);
    free(pairs->effect);
    free(pairs->sum);
    *pairs = (struct pairs){0};
}

/* ---- one pair ---- */

/* Finds the positions along an axis where both frames have all samples that interpolation needs. */
static int init_axis(struct pair_axis *ret, uint32_t length, unsigned step, int whole, double part)
{
    const int reach = part == 0 ? 0 : (int)step, shift = whole * (int)step;
    const int before = part > 0 ? reach : 0, after = part < 0 ? reach : 0;
    const int begin = before > after - shift ? before : after - shift;
    const int end = (int)length - (after > shift + before ? after : shift + before);
    *ret = (struct pair_axis){.whole = shift, .part = part};
    if (begin >= end)
        return 0;
    ret->begin = (uint32_t)begin;
    ret->count = (uint32_t)(end - begin);
    ret->difference = malloc(2 * (size_t)ret->count * sizeof *ret->difference);
    ret->weight = ret->difference + ret->count;
    return ret->difference != NULL ? 0 : -ENOMEM;
}

/* Adds a row of `count` levels, interpolated at a fraction of `step` samples, -1 .. 1, times a
 * factor. */
static void add_row(float *restrict ret, const float *restrict from, ptrdiff_t step,
                    ptrdiff_t stride, double part_x, double part_y, float factor, uint32_t count)
{
    const float u = (float)fabs(part_x), v = (float)fabs(part_y);
    const float *beside = from + (part_x > 0 ? step : part_x < 0 ? -step : 0);
    const ptrdiff_t down = step * (part_y > 0 ? stride : part_y < 0 ? -stride : 0);
    for (uint32_t x = 0; x < count; x++)
        ret[x] += factor * (1 - v) * ((1 - u) * from[x] + u * beside[x]);
    if (down == 0)
        return;
    for (uint32_t x = 0; x < count; x++)
        ret[x] += factor * v * ((1 - u) * from[x + down] + u * beside[x + down]);
}

/* Computes the differences of both frames where they show the same part of the scene. */
static void subtract(const struct pairs *pairs, const struct pair *pair, const float *first,
                     const float *second)
{
    const struct pair_axis *column = &pair->column, *row = &pair->row;
    const ptrdiff_t step = pairs->step, stride = pairs->width;
    const ptrdiff_t shift = row->whole * stride + column->whole;
    for (uint32_t y = 0; y < row->count; y++) {
        const ptrdiff_t at = (ptrdiff_t)(row->begin + y) * stride + column->begin;
        float *difference = pairs->difference + (size_t)y * column->count;
        memset(difference, 0, column->count * sizeof *difference);
        add_row(difference, first + at, step, stride, -column->part / 2, -row->part / 2, 1,
                column->count);
        add_row(difference, second + at + shift, step, stride, column->part / 2, row->part / 2, -1,
                column->count);
        for (uint32_t x = 0; x < column->count; x++)
            difference[x] = difference[x] == difference[x] ? difference[x] : NO_LEVEL;
    }
}

/* Adds a row's residuals to a histogram. */
static uint32_t count_errors(uint32_t count[BINS], const float *difference, const float *column,
                             float row, uint32_t width)
{
    uint32_t total = 0;
    for (uint32_t x = 0; x < width; x++) {
        const float bin = fabsf(difference[x] - column[x] - row) * (float)(1 / BIN);
        if (difference[x] < NO_LEVEL) {
            count[bin < BINS ? (unsigned)bin : BINS - 1]++;
            total++;
        }
    }
    return total;
}

/* The sums of one row: over all columns, and for each column what this row adds. */
static void add_weights(const float *restrict difference, const float *restrict column, float row,
                        double sigma, uint32_t width, float *restrict sum, float *restrict weight,
                        double ret[2])
{
    const float scale = (float)(1 / (TUNING * sigma));
    float along[LANES] = {0}, weights[LANES] = {0};
    for (uint32_t begin = 0; begin < width; begin += LANES) {
        const uint32_t left = width - begin < LANES ? width - begin : LANES;
        const float *d = difference + begin, *c = column + begin;
        for (uint32_t i = 0; i < left; i++) {
            const float off = (d[i] - c[i] - row) * scale, near = 1 - off * off;
            const float w = near > 0 ? near * near : 0;
            sum[begin + i] += w * (d[i] - row);
            weight[begin + i] += w;
            along[i] += w * (d[i] - c[i]);
            weights[i] += w;
        }
    }
    ret[0] = ret[1] = 0;
    for (unsigned i = 0; i < LANES; i++) {
        ret[0] += (double)along[i];
        ret[1] += (double)weights[i];
    }
}

/* One iteration: means over columns and over rows, each without what the other one explains.
 * Returns the median residual of the previous iteration, from which sigma is derived. */
static double update_means(const struct pairs *pairs, const struct pair *pair, double sigma)
{
    const uint32_t width = pair->column.count, height = pair->row.count;
    float *column = pairs->effect, *row = column + width;
    float *sum = pairs->sum, *weight = pair->column.weight, *row_weight = pair->row.weight;
    uint32_t count[BINS] = {0}, total = 0;
    double mean = 0;
    memset(sum, 0, width * sizeof *sum);
    memset(weight, 0, width * sizeof *weight);
    for (uint32_t y = 0; y < height; y++) {
        const float *difference = pairs->difference + (size_t)y * width;
        double along[2];
        if (y % BIN_ROWS == 0)
            total += count_errors(count, difference, column, row[y], width);
        add_weights(difference, column, row[y], sigma, width, sum, weight, along);
        row[y] = along[1] > 0 ? (float)(along[0] / along[1]) : 0;
        row_weight[y] = (float)along[1];
        mean += (double)row[y] / height;
    }
    for (uint32_t x = 0; x < width; x++)
        column[x] = weight[x] > 0 ? sum[x] / weight[x] : 0;
    for (uint32_t y = 0; y < height; y++)
        row[y] -= (float)mean; /* the columns get what is common to all */
    uint32_t below = 0;
    for (unsigned bin = 0; bin < BINS; bin++) {
        below += count[bin];
        if (2 * below >= total)
            return (bin + 0.5) * BIN;
    }
    return BINS * BIN;
}

static void find_means(const struct pairs *pairs, struct pair *pair)
{
    const uint32_t width = pair->column.count, height = pair->row.count;
    double sigma = ANY_SIGMA;
    memset(pairs->effect, 0, ((size_t)width + height) * sizeof *pairs->effect);
    for (unsigned i = 0; i < ROUNDS; i++) {
        const double median = update_means(pairs, pair, sigma);
        sigma = i == 0 ? ANY_SIGMA : fmax(1.4826 * median, MIN_SIGMA);
    }
    for (uint32_t x = 0; x < width; x++) {
        pair->column.difference[x] = pairs->effect[x];
        pair->column.weight[x] /= (float)(sigma * sigma);
    }
    for (uint32_t y = 0; y < height; y++) {
        pair->row.difference[y] = pairs->effect[width + y];
        pair->row.weight[y] /= (float)(sigma * sigma);
    }
}

/* The shift in samples of `step`, of which align counts `scale` to a cell. */
static int split(double cells, unsigned scale, double *ret_part)
{
    const double samples = cells * scale;
    *ret_part = samples - rint(samples);
    return (int)rint(samples);
}

static bool is_still(const struct pairs *pairs, const struct align_shift *shift)
{
    return fabs(shift->whole_x + shift->part_x) * pairs->scale < MIN_SHIFT &&
           fabs(shift->whole_y + shift->part_y) * pairs->scale < MIN_SHIFT;
}

/* Counts whether a frame still shows the scene where the first one did. A slow scene hardly moves
 * from one frame to the next, but does so in the end. */
static void count_still(struct pairs *pairs, const struct align_picture *picture)
{
    struct align_shift shift;
    align_find(picture, pairs->first, &shift);
    if (shift.score < MIN_SCORE)
        return;
    pairs->alike++;
    pairs->still += is_still(pairs, &shift);
}

/* Adds a pair if both frames show the same scene at different places. Returns 1 if it does, or
 * 0. */
static int compare(struct pairs *pairs, const struct kept_frame *frame,
                   const struct kept_frame *other)
{
    struct align_shift shift;
    struct pair pair = {0};
    double part_x, part_y;
    align_find(frame->picture, other->picture, &shift);
    if (shift.score < MIN_SCORE)
        return 0;
    const double x = shift.whole_x + shift.part_x, y = shift.whole_y + shift.part_y;
    const int whole_x = split(x, pairs->scale, &part_x), whole_y = split(y, pairs->scale, &part_y);
    if (is_still(pairs, &shift))
        return 0;
    int r = init_axis(&pair.column, pairs->width, pairs->step, whole_x, part_x);
    if (r == 0)
        r = init_axis(&pair.row, pairs->height, pairs->step, whole_y, part_y);
    if (r == 0 && pair.column.count > 0 && pair.row.count > 0) {
        subtract(pairs, &pair, frame->level, other->level);
        find_means(pairs, &pair);
        pairs->pair[pairs->count++] = pair;
        return 1;
    }
    finish_pair(&pair);
    return r;
}

/* ---- frames ---- */

static int keep(const struct pairs *pairs, struct kept_frame *frame, const float *level)
{
    align_destroy(frame->picture);
    frame->picture = NULL;
    for (size_t i = 0; i < (size_t)pairs->width * pairs->height; i++)
        frame->level[i] = pairs_is_cut(level[i]) ? NAN : level[i];
    return align_create(&frame->picture, level, pairs->width, pairs->height,
                        pairs->step * pairs->scale);
}

int pairs_add(struct pairs *pairs, const float *level)
{
    const unsigned newest = pairs->frames % PAIRS_KEPT;
    unsigned found = 0;
    if (pairs->count + PAIRS_KEPT > MAX_PAIRS)
        return 0;
    int r = keep(pairs, &pairs->kept[newest], level);
    for (unsigned back = 1; back < PAIRS_KEPT && found < MAX_EACH && r >= 0; back++) {
        if (back > pairs->frames)
            continue;
        r = compare(pairs, &pairs->kept[newest], &pairs->kept[(pairs->frames - back) % PAIRS_KEPT]);
        found += r > 0;
    }
    if (r >= 0 && pairs->first != NULL)
        count_still(pairs, pairs->kept[newest].picture);
    else if (r >= 0)
        r = align_create(&pairs->first, level, pairs->width, pairs->height,
                         pairs->step * pairs->scale);
    if (r < 0)
        return r;
    pairs->frames++;
    return 0;
}
