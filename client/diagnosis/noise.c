#include "noise.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define SIDE        16u /* pixels of a block */
#define DETAILS     64u /* details in a block, one for each 2 x 2 pixels */
#define DARK        6.f /* blocks closer to black or white than this are cut off */
#define BRIGHT      249.f
#define LOWEST      0.3 /* the share of the blocks of a level that count: those that vary least */
#define FEWEST      8u  /* blocks of a level; fewer say nothing */
/* The mean of the smallest 30 % of variances that have 64 degrees of freedom each, of a mean of 1.
 * By simulation of 1e6 normal blocks; it grows slowly with the share. */
#define LOWEST_MEAN 0.806

struct block {
    double level, variance;
};

static int by_level(const void *a, const void *b)
{
    const struct block *x = a, *y = b;
    return (x->level > y->level) - (x->level < y->level);
}

static int by_variance(const void *a, const void *b)
{
    const struct block *x = a, *y = b;
    return (x->variance > y->variance) - (x->variance < y->variance);
}

/* Returns false if the block reaches into what is cut off. */
static bool measure(struct block *ret, const float *before, const float *luma, uint32_t width)
{
    double sum = 0, squares = 0;
    for (unsigned y = 0; y < SIDE; y += 2)
        for (unsigned x = 0; x < SIDE; x += 2) {
            const float *a = before + (size_t)y * width + x, *b = luma + (size_t)y * width + x;
            const float level = (a[0] + a[1] + a[width] + a[width + 1]) / 4;
            const float detail =
                (b[0] - b[1] - b[width] + b[width + 1]) - (a[0] - a[1] - a[width] + a[width + 1]);
            if (level < DARK || level > BRIGHT)
                return false;
            sum += (double)level;
            squares += (double)detail * (double)detail;
        }
    /* A detail adds up eight samples, and has eight times their variance. */
    *ret = (struct block){.level = sum / DETAILS, .variance = squares / DETAILS / 8};
    return true;
}

int noise_compare(struct noise_sums *sums, const float *before, const float *luma, uint32_t width,
                  uint32_t height, int dx, int dy)
{
    const unsigned columns = width / SIDE, rows = height / SIDE;
    unsigned count = 0;
    struct block *block = malloc((size_t)columns * rows * sizeof *block + 1);
    if (block == NULL)
        return -ENOMEM;
    for (unsigned j = 0; j < rows; j++)
        for (unsigned i = 0; i < columns; i++) {
            const int64_t x = i * SIDE, y = j * SIDE;
            if (x + dx < 0 || y + dy < 0 || x + dx + SIDE > width || y + dy + SIDE > height)
                continue;
            count += measure(&block[count], before + (size_t)y * width + (size_t)x,
                             luma + (size_t)(y + dy) * width + (size_t)(x + dx), width);
        }
    qsort(block, count, sizeof *block, by_level);
    for (unsigned first = 0; first < count;) {
        const unsigned at = (unsigned)(block[first].level * NOISE_LEVELS / 256);
        unsigned end = first, used;
        while (end < count && (unsigned)(block[end].level * NOISE_LEVELS / 256) == at)
            end++;
        qsort(block + first, end - first, sizeof *block, by_variance);
        used = end - first < FEWEST ? 0 : (unsigned)ceil(LOWEST * (end - first));
        for (unsigned i = 0; i < used; i++) {
            sums->weight[at] += 1;
            sums->variance[at] += block[first + i].variance / LOWEST_MEAN;
            sums->level[at] += block[first + i].level;
        }
        first = end;
    }
    free(block);
    return 0;
}

struct noise_result noise_solve(const struct noise_sums *sums)
{
    double w = 0, level = 0, variance = 0, xx = 0, xy = 0;
    struct noise_result ret = {0};
    for (unsigned i = 0; i < NOISE_LEVELS; i++) {
        w += sums->weight[i];
        level += sums->level[i];
        variance += sums->variance[i];
    }
    if (w == 0)
        return ret;
    level /= w;
    variance /= w;
    /* A variance is known to a share of itself, so the line is fitted with weights of its inverse
     * square; the mean serves for all, because they differ little. */
    for (unsigned i = 0; i < NOISE_LEVELS; i++) {
        if (sums->weight[i] == 0)
            continue;
        const double x = sums->level[i] / sums->weight[i] - level;
        xx += sums->weight[i] * x * x;
        xy += sums->weight[i] * x * (sums->variance[i] / sums->weight[i] - variance);
    }
    ret.sigma = ret.floor = sqrt(variance);
    /* Brightness has to differ by some 20 levels before a slope means anything. */
    if (xx / w > 20 * 20 && xy > 0) {
        ret.shot = fmin(xy / xx, variance / fmax(level, 1));
        ret.floor = sqrt(fmax(variance - ret.shot * level, 0));
        if (ret.shot * level < 0.3 * variance) {
            ret.shot = 0;
            ret.floor = ret.sigma;
        }
    }
    return ret;
}
