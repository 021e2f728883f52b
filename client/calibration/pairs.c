#include "pairs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PAIRS 1024
#define MIN_SCORE 0.5   /* the least score of a usable shift */
#define MIN_SHIFT 1.    /* px; a smaller shift says little about any offset */
#define ROUNDS    4     /* iterations of the means; the first two weight all differences alike */
#define TUNING    4.685 /* standard deviations, for an efficiency of 95 % */
#define BIN       (1 / 4096.) /* levels; a sixteenth of a grey level */
#define BINS      1024
#define MIN_SIGMA (0.25 / 255) /* levels */
#define CUT       (0.5 / 255)  /* levels */

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

int pairs_init(struct pairs *ret, uint32_t width, uint32_t height, unsigned step)
{
    const size_t count = (size_t)width * height;
    struct pairs pairs = {.width = width,
                          .height = height,
                          .step = step,
                          .pair = calloc(MAX_PAIRS, sizeof *pairs.pair),
                          .difference = malloc(count * sizeof *pairs.difference),
                          .effect = malloc(((size_t)width + height) * sizeof *pairs.effect),
                          .sum = malloc(2 * ((size_t)width + height) * sizeof *pairs.sum)};
    bool is_complete =
        pairs.pair != NULL && pairs.difference != NULL && pairs.effect != NULL && pairs.sum != NULL;
    for (unsigned i = 0; i <= PAIRS_KEPT; i++) {
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
    for (unsigned i = 0; i <= PAIRS_KEPT; i++) {
        free(pairs->kept[i].level);
        align_destroy(pairs->kept[i].picture);
    }
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

/* Computes the differences of both frames where they show the same part of the scene. */
static void subtract(const struct pairs *pairs, const struct pair *pair, const float *first,
                     const float *second)
{
    const struct pair_axis *column = &pair->column, *row = &pair->row;
    const ptrdiff_t step = pairs->step, stride = pairs->width;
    const ptrdiff_t shift = row->whole * stride + column->whole;
    float *difference = pairs->difference;
    for (uint32_t y = row->begin; y < row->begin + row->count; y++)
        for (uint32_t x = column->begin; x < column->begin + column->count; x++) {
            const ptrdiff_t at = y * stride + x;
            *difference++ = (float)(align_sample(first + at, step, step * stride, -column->part / 2,
                                                 -row->part / 2) -
                                    align_sample(second + at + shift, step, step * stride,
                                                 column->part / 2, row->part / 2));
        }
}

/* One iteration: means over columns and over rows, each without what the other one explains.
 * Returns the median residual of the previous iteration, from which sigma is derived. */
static double update_means(const struct pairs *pairs, const struct pair *pair, double sigma)
{
    const uint32_t width = pair->column.count, height = pair->row.count;
    float *column = pairs->effect, *row = column + width;
    float *sum = pairs->sum, *row_sum = sum + width;
    float *weight = pair->column.weight, *row_weight = pair->row.weight;
    uint32_t count[BINS] = {0}, total = 0;
    memset(sum, 0, width * sizeof *sum);
    memset(weight, 0, width * sizeof *weight);
    for (uint32_t y = 0; y < height; y++) {
        const float *difference = pairs->difference + (size_t)y * width;
        double along = 0, weights = 0;
        for (uint32_t x = 0; x < width; x++) {
            if (!isfinite(difference[x]))
                continue;
            const float error = difference[x] - column[x] - row[y];
            const double bin = fabs((double)error) / BIN;
            count[bin < BINS ? (unsigned)bin : BINS - 1]++;
            total++;
            const double w = sigma > 0 ? pairs_weight((double)error, sigma) : 1;
            sum[x] += (float)(w * (double)(difference[x] - row[y]));
            weight[x] += (float)w;
            along += w * (double)(difference[x] - column[x]);
            weights += w;
        }
        row_sum[y] = (float)along;
        row_weight[y] = (float)weights;
    }
    double mean = 0;
    for (uint32_t x = 0; x < width; x++)
        column[x] = weight[x] > 0 ? sum[x] / weight[x] : 0;
    for (uint32_t y = 0; y < height; y++) {
        row[y] = row_weight[y] > 0 ? row_sum[y] / row_weight[y] : 0;
        mean += (double)row[y] / height;
    }
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
    double sigma = 0;
    memset(pairs->effect, 0, ((size_t)width + height) * sizeof *pairs->effect);
    for (unsigned i = 0; i < ROUNDS; i++) {
        const double median = update_means(pairs, pair, sigma);
        sigma = i == 0 ? 0 : fmax(1.4826 * median, MIN_SIGMA);
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

/* Adds a pair if both frames show the same scene at different places. */
static int compare(struct pairs *pairs, const struct kept_frame *frame,
                   const struct kept_frame *other)
{
    struct align_shift shift;
    struct pair pair = {0};
    align_find(frame->picture, other->picture, &shift);
    const double x = shift.whole_x + shift.part_x, y = shift.whole_y + shift.part_y;
    if (shift.score < MIN_SCORE || (fabs(x) < MIN_SHIFT && fabs(y) < MIN_SHIFT))
        return 0;
    int r = init_axis(&pair.column, pairs->width, pairs->step, shift.whole_x, shift.part_x);
    if (r == 0)
        r = init_axis(&pair.row, pairs->height, pairs->step, shift.whole_y, shift.part_y);
    if (r == 0 && pair.column.count > 0 && pair.row.count > 0) {
        subtract(pairs, &pair, frame->level, other->level);
        find_means(pairs, &pair);
        pairs->pair[pairs->count++] = pair;
    } else {
        finish_pair(&pair);
    }
    return r;
}

/* ---- frames ---- */

static int keep(const struct pairs *pairs, struct kept_frame *frame, const float *level)
{
    align_destroy(frame->picture);
    frame->picture = NULL;
    for (size_t i = 0; i < (size_t)pairs->width * pairs->height; i++)
        frame->level[i] = pairs_is_cut(level[i]) ? NAN : level[i];
    return align_create(&frame->picture, level, pairs->width, pairs->height, pairs->step);
}

int pairs_add(struct pairs *pairs, const float *level)
{
    const unsigned newest = pairs->frames % (PAIRS_KEPT + 1);
    const unsigned others = pairs->frames < PAIRS_KEPT ? pairs->frames : PAIRS_KEPT;
    if (pairs->count + others > MAX_PAIRS)
        return 0;
    int r = keep(pairs, &pairs->kept[newest], level);
    for (unsigned back = 1; back <= others && r == 0; back++)
        r = compare(pairs, &pairs->kept[newest],
                    &pairs->kept[(pairs->frames - back) % (PAIRS_KEPT + 1)]);
    if (r == 0)
        pairs->frames++;
    return r;
}
