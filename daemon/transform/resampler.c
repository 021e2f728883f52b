/* A separable convolution of numbers of 16 bits, columns first. The compiler makes vectors, for
 * which the Makefile has -O3 for this file. Along columns a vector has neighbouring samples of a
 * row. Then blocks are transposed, so along rows it has the same sample of neighbouring rows.
 *
 * Samples are signed, in 256ths of a step, so neutral chroma stays exactly that. The sum of the
 * magnitudes of all taps can be 1.5. Each convolution halves the unit, so no sum exceeds 2^15. */
#include "transform/resampler.h"

#include <errno.h>
#include <math.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/vectors.h"
#include "transform/plan.h"

/* A Kaiser window. With these two, nothing above 1 (resampler.h) is more than -50 dB at ratios of
 * 1.25 to 8; a lower cutoff would blur more. */
#define BETA    5.3
#define CUTOFF  0.715

#define GROUP   64  /* rows of the result that are made together, summed over its components */
#define STRIP   128 /* columns that are convolved together: their rows stay in the first cache */
#define AT_ONCE 4   /* the number of taps is a multiple of this */
#define ALIGNED 64  /* bytes of a cache line; a 64-byte vector that crosses one is slower */
#ifdef __x86_64__
#define BLOCK   32 /* side of a transposed block: 32 numbers of 16 bits fill a 64-byte vector */
#define FETCHES true
#else
#define BLOCK   16
#define FETCHES false /* boards may have frames in memory that is not cached */
#endif
#define SUM_BYTES (BLOCK * STRIP * sizeof(int16_t))
#define NEUTRAL   128
#define UNIT      256   /* a step */
#define LAST      6     /* the bits of a step after two convolutions */
#define ONE       16384 /* taps whose sum is this make half of the unit */

struct resampler {
    struct resampler_size size;
    struct resampler_axis axis[2]; /* along rows and columns; multiples of AT_ONCE taps */
    uint32_t group;                /* rows of the result that are made together */
    int16_t *strip;                /* [row][STRIP]: the samples that these rows need */
    int16_t *middle; /* [column][component][row of the group]; as `strip`, it ends with room
                        for taps of samples that do not exist */
    int16_t *sums;   /* to be transposed: BLOCK rows of STRIP, or BLOCK columns */
};

/* ---- taps ---------------------------------------------------------------------------------- */

static double bessel_i0(double x)
{
    double sum = 1, term = 1;
    for (int k = 1; term > 1e-17 * sum; k++) {
        term *= x * x / (4. * k * k);
        sum += term;
    }
    return sum;
}

double resampler_impulse(double distance)
{
    const double inside = 1 - distance * distance / (RESAMPLER_REACH * RESAMPLER_REACH);
    const double phase = M_PI * CUTOFF * distance;
    if (inside <= 0)
        return 0;
    return CUTOFF * (phase == 0 ? 1 : sin(phase) / phase) * bessel_i0(BETA * sqrt(inside)) /
           bessel_i0(BETA);
}

static uint32_t count_taps(uint32_t length, uint32_t to_length)
{
    const double wanted = length == to_length ? 1 : 2. * RESAMPLER_REACH * length / to_length;
    return (uint32_t)ceil(fmin(wanted, length) / AT_ONCE) * AT_ONCE;
}

/* Rounds taps; the largest one takes what the sum lacks then, so constant planes stay the same. */
static void round_taps(int16_t *ret, const double *weight, uint32_t taps)
{
    double sum = 0;
    uint32_t largest = 0;
    long rest = ONE;
    for (uint32_t k = 0; k < taps; k++)
        sum += weight[k];
    for (uint32_t k = 0; k < taps; k++) {
        ret[k] = (int16_t)lrint(weight[k] / sum * ONE);
        rest -= ret[k];
        largest = ret[k] > ret[largest] ? k : largest;
    }
    ret[largest] = (int16_t)(ret[largest] + rest);
}

static int fill_axis(struct resampler_axis *axis, uint32_t length, uint32_t to_length)
{
    const double ratio = (double)length / to_length;
    const bool stays = length == to_length;
    const double reach = stays ? 0 : RESAMPLER_REACH * ratio;
    double *weight = calloc(axis->taps, sizeof *weight);
    if (weight == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < to_length; i++) {
        const double middle = (i + 0.5) * ratio - 0.5;
        const long from = (long)ceil(middle - reach), to = (long)floor(middle + reach);
        const long last = (long)length - (long)axis->taps;
        const long most = from < last ? from : last, first = most > 0 ? most : 0;
        memset(weight, 0, axis->taps * sizeof *weight);
        for (long k = from; k <= to; k++) {
            const long at = plan_mirror(k, length) - first;
            if (at >= 0 && at < (long)axis->taps)
                weight[at] += stays ? 1 : resampler_impulse((k - middle) / ratio);
        }
        axis->first[i] = (uint32_t)first;
        round_taps(axis->tap + (size_t)i * axis->taps, weight, axis->taps);
    }
    free(weight);
    return 0;
}

/* ---- life ---------------------------------------------------------------------------------- */

static uint32_t group_rows(const struct resampler_size *size)
{
    return GROUP / size->channels;
}

static size_t strip_bytes(const struct resampler_size *size)
{
    const size_t all = (size_t)size->rows + AT_ONCE;
    const size_t some = (size_t)group_rows(size) * size->rows / size->to_rows + 1 +
                        count_taps(size->rows, size->to_rows);
    return (some < all ? some : all) * STRIP * sizeof(int16_t);
}

static size_t middle_bytes(const struct resampler_size *size)
{
    return ((size_t)size->columns + AT_ONCE) * GROUP * sizeof(int16_t);
}

static uint64_t axis_bytes(uint32_t length, uint32_t to_length)
{
    return (uint64_t)to_length *
           (sizeof(uint32_t) + count_taps(length, to_length) * sizeof(int16_t));
}

size_t resampler_tap_count(const struct resampler_size *size)
{
    return (size_t)size->to_columns * count_taps(size->columns, size->to_columns) +
           (size_t)size->to_rows * count_taps(size->rows, size->to_rows);
}

uint64_t resampler_bytes(const struct resampler_size *size)
{
    return strip_bytes(size) + middle_bytes(size) + SUM_BYTES +
           axis_bytes(size->columns, size->to_columns) + axis_bytes(size->rows, size->to_rows);
}

static int16_t *make_numbers(size_t bytes)
{
    const size_t whole = (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
    int16_t *ret = aligned_alloc(ALIGNED, whole);
    return ret == NULL ? NULL : memset(ret, 0, whole);
}

static int allocate(struct resampler *resampler, const struct resampler_size *size)
{
    struct resampler_axis *across = &resampler->axis[0], *down = &resampler->axis[1];
    across->taps = count_taps(size->columns, size->to_columns);
    down->taps = count_taps(size->rows, size->to_rows);
    across->first = calloc((size_t)size->to_columns + size->to_rows, sizeof *across->first);
    across->tap = calloc(resampler_tap_count(size), sizeof *across->tap);
    resampler->strip = make_numbers(strip_bytes(size));
    resampler->middle = make_numbers(middle_bytes(size));
    resampler->sums = make_numbers(SUM_BYTES);
    if (across->first == NULL || across->tap == NULL || resampler->strip == NULL ||
        resampler->middle == NULL || resampler->sums == NULL)
        return -ENOMEM;
    down->first = across->first + size->to_columns;
    down->tap = across->tap + (size_t)size->to_columns * across->taps;
    return 0;
}

int resampler_create(struct resampler **ret, const struct resampler_size *size, struct error *why)
{
    struct resampler *resampler = calloc(1, sizeof *resampler);
    int r = -ENOMEM;
    if (resampler != NULL) {
        resampler->size = *size;
        resampler->group = group_rows(size);
        r = allocate(resampler, size);
    }
    if (r == 0)
        r = fill_axis(&resampler->axis[0], size->columns, size->to_columns);
    if (r == 0)
        r = fill_axis(&resampler->axis[1], size->rows, size->to_rows);
    if (r < 0) {
        resampler_destroy(resampler);
        return error_set(why, ENOMEM, "out of memory while preparing smaller planes of chroma");
    }
    *ret = resampler;
    return 0;
}

void resampler_destroy(struct resampler *resampler)
{
    if (resampler == NULL)
        return;
    free(resampler->axis[0].first);
    free(resampler->axis[0].tap);
    free(resampler->strip);
    free(resampler->middle);
    free(resampler->sums);
    free(resampler);
}

const struct resampler_axis *resampler_axes(const struct resampler *resampler)
{
    return resampler->axis;
}

/* ---- a frame ------------------------------------------------------------------------------- */

/* Rounded to the nearest. Processors have an instruction for this, which the compiler finds. */
static inline int16_t multiply(int16_t sample, int16_t tap)
{
    return (int16_t)((((int32_t)sample * tap >> 14) + 1) >> 1);
}

/* Computes `width` neighbouring sums for each of the samples i to end - 1 of an axis. Samples along
 * it are `pitch` numbers apart, and `from` begins with sample `begin`. The sums of a sample stay in
 * registers until all of its taps are added; the compiler manages that only if the loop over the
 * taps runs at least once. */
static ALWAYS_INLINE void convolve(int16_t *restrict to, unsigned width,
                                   const int16_t *restrict from, uint32_t begin, size_t pitch,
                                   const struct resampler_axis *axis, uint32_t i, uint32_t end)
{
    for (; i < end; i++, to += width) {
        const int16_t *restrict tap = axis->tap + (size_t)i * axis->taps;
        const int16_t *restrict at = from + (axis->first[i] - begin) * pitch;
        int16_t sum[STRIP];
        uint32_t k = 0;
        for (unsigned x = 0; x < width; x++)
            sum[x] = 0;
        do {
            for (unsigned x = 0; x < width; x++)
                sum[x] = (int16_t)(sum[x] + multiply(at[x], tap[k]) +
                                   multiply(at[pitch + x], tap[k + 1]));
            k += 2;
            at += 2 * pitch;
        } while (k < axis->taps);
        for (unsigned x = 0; x < width; x++)
            to[x] = sum[x];
    }
}

static ALWAYS_INLINE void widen(int16_t *restrict to, const uint8_t *restrict from, size_t stride,
                                unsigned step, uint32_t count, uint32_t rows)
{
    for (; rows > 0; rows--, to += STRIP, from += stride)
        for (uint32_t i = 0; i < count; i++)
            to[i] = (int16_t)((from[(size_t)i * step] - NEUTRAL) * UNIT);
}

/* Interleaves the two halves of a block. Compilers have vectors for that. */
static ALWAYS_INLINE void interleave(int16_t *restrict to, const int16_t *restrict from)
{
    for (int i = 0; i < BLOCK * BLOCK / 2; i++) {
        to[2 * i] = from[i];
        to[2 * i + 1] = from[BLOCK * BLOCK / 2 + i];
    }
}

/* Transposes BLOCK x BLOCK numbers. Each of the four or five steps rotates the bits of a number's
 * index by one, so after the last one row and column are swapped. The first step reads the source
 * rows in place. */
static ALWAYS_INLINE void transpose(int16_t *restrict to, const int16_t *restrict from,
                                    size_t from_pitch)
{
    alignas(ALIGNED) int16_t other[BLOCK * BLOCK];
    int16_t *const first = BLOCK == 32 ? to : other;
    for (size_t k = 0; k < BLOCK / 2; k++) {
        const int16_t *a = from + k * from_pitch, *b = a + BLOCK / 2 * from_pitch;
        for (size_t i = 0; i < BLOCK; i++) {
            first[2 * (k * BLOCK + i)] = a[i];
            first[2 * (k * BLOCK + i) + 1] = b[i];
        }
    }
    if (BLOCK == 32)
        interleave(other, to);
    interleave(to, other);
    interleave(other, to);
    interleave(to, other);
}

/* Rounds a block of the result, and writes at most `columns` columns and `rows` rows of it. Halves
 * are rounded up in two steps, so that numbers of 16 bits suffice. */
static ALWAYS_INLINE void store(uint8_t *to, size_t stride, const int16_t *restrict block,
                                uint32_t columns, uint32_t rows)
{
    uint8_t bytes[BLOCK * BLOCK];
    for (int i = 0; i < BLOCK * BLOCK; i++) {
        int16_t value = (int16_t)((((block[i] >> (LAST - 1)) + 1) >> 1) + NEUTRAL);
        value = value < 0 ? 0 : value;
        bytes[i] = (uint8_t)(value > 255 ? 255 : value);
    }
    if (columns >= BLOCK) /* a length that the compiler knows */
        for (uint32_t i = 0; i < rows && i < BLOCK; i++)
            memcpy(to + i * stride, bytes + (size_t)i * BLOCK, BLOCK);
    else
        for (uint32_t i = 0; i < rows && i < BLOCK; i++)
            memcpy(to + i * stride, bytes + (size_t)i * BLOCK, columns);
}

/* The next five functions are separate because the compiler would run out of registers in a single
 * one. */
LONG_VECTORS static void widen_strip(int16_t *strip, const uint8_t *from, size_t stride,
                                     unsigned step, uint32_t count, uint32_t rows)
{
    if (step == 1 && count == STRIP)
        widen(strip, from, stride, 1, STRIP, rows);
    else if (step == 1)
        widen(strip, from, stride, 1, count, rows);
    else
        widen(strip, from, stride, 2, count, rows);
}

/* Convolves the strip into rows i to end - 1 of the result. */
LONG_VECTORS static void convolve_strip(const struct resampler *resampler, uint32_t begin,
                                        uint32_t i, uint32_t end)
{
    convolve(resampler->sums, STRIP, resampler->strip, begin, STRIP, &resampler->axis[1], i, end);
}

/* Transposes `count` columns of the sums. */
LONG_VECTORS static void turn_strip(int16_t *to, size_t group, const int16_t *sums, uint32_t count)
{
    alignas(ALIGNED) int16_t block[BLOCK * BLOCK];
    for (uint32_t x = 0; x < count; x += BLOCK) {
        transpose(block, sums + x, STRIP);
        for (uint32_t i = 0; i < BLOCK && x + i < count; i++)
            memcpy(to + (x + i) * group, block + (size_t)i * BLOCK, BLOCK * sizeof *block);
    }
}

/* Convolves the group's rows into columns i to end - 1 of the result. */
LONG_VECTORS static void convolve_rows(const struct resampler *resampler, uint32_t i, uint32_t end)
{
    convolve(resampler->sums, GROUP, resampler->middle, 0, GROUP, &resampler->axis[0], i, end);
}

/* Transposes the sums, and writes at most `columns` columns and `rows` rows of them. */
LONG_VECTORS static void turn_rows(const struct resampler *resampler, uint8_t *to, size_t stride,
                                   uint32_t columns, uint32_t rows)
{
    const uint32_t group = resampler->group;
    alignas(ALIGNED) int16_t block[BLOCK * BLOCK];
    for (uint32_t i = 0; i < group && i < rows; i += BLOCK) {
        transpose(block, resampler->sums + i, group);
        store(to + i * stride, stride, block, columns, rows - i);
    }
}

/* Reads a byte of each cache line, so that rows come from memory in the order of their addresses.
 * Strips alone would fetch two lines from each row in turn, which takes twice as long. */
static void fetch_rows(const uint8_t *from, size_t stride, size_t row_bytes, uint32_t rows)
{
    for (; rows > 0; rows--, from += stride)
        for (size_t i = 0; i < row_bytes; i += ALIGNED)
            (void)*(const volatile uint8_t *)(from + i);
}

/* Makes `rows` rows of the result, from row y on, out of the `needed` rows of samples that begin at
 * `from`. */
static void make_group(const struct resampler *resampler, uint8_t *to, size_t to_stride,
                       const uint8_t *from, size_t stride, unsigned step, uint32_t y, uint32_t rows,
                       uint32_t needed)
{
    const struct resampler_size *size = &resampler->size;
    const uint32_t columns = size->columns * size->channels;
    const uint32_t to_columns = size->to_columns * size->channels;
    for (uint32_t x = 0; x < columns; x += STRIP) {
        const uint32_t count = columns - x < STRIP ? columns - x : STRIP;
        widen_strip(resampler->strip, from + (size_t)x * step, stride, step, count, needed);
        for (uint32_t i = 0; i < rows; i += BLOCK) {
            convolve_strip(resampler, resampler->axis[1].first[y], y + i,
                           y + (rows - i < BLOCK ? rows : i + BLOCK));
            turn_strip(resampler->middle + (size_t)x * resampler->group + i, resampler->group,
                       resampler->sums, count);
        }
    }
    for (uint32_t x = 0; x < to_columns; x += BLOCK) {
        const uint32_t end = x + BLOCK < to_columns ? x + BLOCK : to_columns;
        convolve_rows(resampler, x / size->channels, end / size->channels);
        turn_rows(resampler, to + x, to_stride, to_columns - x, rows);
    }
}

void resampler_run(struct resampler *resampler, uint8_t *to, size_t to_stride, const uint8_t *from,
                   size_t stride, unsigned step)
{
    const struct resampler_size *size = &resampler->size;
    const struct resampler_axis *down = &resampler->axis[1];
    const size_t row_bytes = ((size_t)size->columns * size->channels - 1) * step + 1;
    uint32_t fetched = 0;
    for (uint32_t y = 0; y < size->to_rows; y += resampler->group) {
        const uint32_t rows =
            size->to_rows - y < resampler->group ? size->to_rows - y : resampler->group;
        const uint32_t begin = down->first[y], last = down->first[y + rows - 1] + down->taps;
        const uint32_t end = last < size->rows ? last : size->rows;
        if (FETCHES)
            fetch_rows(from + fetched * stride, stride, row_bytes, end - fetched);
        fetched = end;
        make_group(resampler, to + y * to_stride, to_stride, from + begin * stride, stride, step, y,
                   rows, end - begin);
    }
}
