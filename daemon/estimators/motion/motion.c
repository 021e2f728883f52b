#include "estimators/motion/motion.h"

#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fft.h"
#include "core/order.h"
#include "estimators/motion/motion_cells.h"

/* Where a comment gives no other reason, a threshold was chosen on the pairs of
 * tests/unit/motion.c and tests/unit/motion_pairs.c. */
#define MAX_SIDE      256u            /* pixels; a larger square costs more than it improves */
#define MAX_AREA      CELLS_MAX_WIDTH /* pixels of a side that are compared */
#define MAX_LEVELS    4u              /* from MAX_AREA to MAX_SIDE there are three */
#define LARGEST       1e6F            /* largest sample, so that a sum of squares fits a float */
#define SKIPPED       1               /* spectral columns left out on each side of column 0 */
#define NOISE_MARGIN  1.5             /* powers below this multiple of the noise are noise */
#define FLOOR_POWER   1e-4  /* variance of a sample, far below the 1/12 of rounding to 8 bits */
#define MODEL_ERROR   0.002 /* limits the weights to 1 / MODEL_ERROR */
#define SIGNIFICANT   2.0   /* weight of the frequencies that count */
#define MIN_COUNT     40u   /* significant frequencies below which a picture is plain */
#define PEAKS         4u    /* peaks of the correlation that are tried, the highest first */
#define PEAK_RADIUS   2     /* pixels around a peak that belong to it */
#define MAX_SHIFT     0.4   /* share of a side */
#define COARSE_PASSES 4u
#define FINE_PASSES   1u
#define NOISE_LIMIT   2.0 /* times the noise of the highest frequencies */
#define FLOOR_NOISE   0.1 /* variance of rounding to 8 bits */
#define CLEAR         0.7 /* agreement from which much lower peaks are not tried */
#define LOW           0.4 /* height of these, as a share of the highest one */
#define SAME          2.0 /* pixels; two peaks that lead closer to each other are one */
#define RIVAL         0.8 /* agreement with another shift, as a share of the best one */
/* A shift is sure from this agreement on, of as many cells, if its deviation is as small. The
 * highest agreement of a rotation was 0.2, the lowest with a large object before the scene 0.25. */
#define SURE          0.3
#define MIN_AGREED    3.0
#define MAX_DEVIATION 0.1 /* pixels */
/* A shift below as many pixels is held back more by columns' offsets with the finer kernel than
 * with the smoother one, and less above (tests/unit/motion.c, columns_do_not_hold_back). */
#define HOLDING       1.5

/* The pictures at half the size of the level before. */
struct level {
    unsigned width, height;
    float *picture[2]; /* the last one and the new one */
};

struct motion_estimator {
    unsigned width, height; /* the pictures' size */
    struct level level[MAX_LEVELS];
    unsigned levels;
    unsigned side; /* side of the square that is transformed at the last level */
    struct fft *fft;
    struct cells_work *cells;
    bool has_last;
    bool is_compared;     /* the last two, which have details */
    double noise;         /* its variance in the last comparison, and that of fine texture */
    unsigned significant; /* frequencies in the last comparison */
    /* Sized for the largest square; smaller ones leave the remaining pages untouched, so unused. */
    float complex work[MAX_SIDE * MAX_SIDE];  /* one square is the real part, one the imaginary */
    float complex cross[MAX_SIDE * MAX_SIDE]; /* phase of the cross spectrum */
    float weight[MAX_SIDE * MAX_SIDE];        /* weights of the phases */
    float scratch[MAX_SIDE * MAX_SIDE];
};

static unsigned lesser(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static bool allocate(struct motion_estimator *m)
{
    m->cells = cells_create();
    bool is_complete = m->cells != NULL;
    for (unsigned k = 0; k < m->levels; k++)
        for (unsigned i = 0; i < 2; i++) {
            struct level *level = &m->level[k];
            const size_t count = (size_t)level->width * level->height + CELLS_SPARE;
            level->picture[i] = calloc(count, sizeof *level->picture[i]);
            is_complete = level->picture[i] != NULL && is_complete;
        }
    return is_complete;
}

int motion_create(struct motion_estimator **ret, unsigned width, unsigned height, struct error *why)
{
    if (width < MOTION_MIN_SIZE || height < MOTION_MIN_SIZE)
        return error_set(why, EINVAL,
                         "motion cannot be estimated in pictures of %u x %u pixels: expected at "
                         "least %u x %u",
                         width, height, MOTION_MIN_SIZE, MOTION_MIN_SIZE);
    struct motion_estimator *m = calloc(1, sizeof *m);
    if (m == NULL)
        return error_set(why, ENOMEM, "out of memory for an estimator of motion");
    m->width = width;
    m->height = height;
    m->level[0] =
        (struct level){.width = lesser(width, MAX_AREA), .height = lesser(height, MAX_AREA)};
    m->levels = 1;
    while (lesser(m->level[m->levels - 1].width, m->level[m->levels - 1].height) > MAX_SIDE) {
        const struct level *last = &m->level[m->levels - 1];
        m->level[m->levels++] =
            (struct level){.width = last->width / 2, .height = last->height / 2};
    }
    const struct level *last = &m->level[m->levels - 1];
    m->side = MOTION_MIN_SIZE;
    while (m->side < MAX_SIDE && (m->side < last->width || m->side < last->height))
        m->side *= 2;
    int err = fft_create(&m->fft, m->side, why);
    if (err == 0 && !allocate(m))
        err = error_set(why, ENOMEM, "out of memory for an estimator of motion");
    if (err < 0) {
        motion_destroy(m);
        return err;
    }
    *ret = m;
    return 0;
}

void motion_destroy(struct motion_estimator *m)
{
    if (m == NULL)
        return;
    fft_destroy(m->fft);
    cells_destroy(m->cells);
    for (unsigned k = 0; k < m->levels; k++)
        for (unsigned i = 0; i < 2; i++)
            free(m->level[k].picture[i]);
    free(m);
}

void motion_reset(struct motion_estimator *m)
{
    m->has_last = false;
}

/* Keeps the middle of a picture, and it at smaller sizes, as the new one. */
static void keep_picture(struct motion_estimator *m, const float *luma)
{
    for (unsigned k = 0; k < m->levels; k++) {
        struct level *level = &m->level[k];
        float *picture = level->picture[0];
        level->picture[0] = level->picture[1];
        level->picture[1] = picture;
        if (k > 0) {
            const unsigned stride = level[-1].width;
            const float *from = level[-1].picture[1];
            for (unsigned y = 0; y < level->height; y++, from += 2 * (size_t)stride)
                for (unsigned x = 0; x < level->width; x++)
                    *picture++ = 0.25F * (from[2 * x] + from[2 * x + 1] + from[2 * x + stride] +
                                          from[2 * x + stride + 1]);
            continue;
        }
        const size_t left = (m->width - level->width) / 2, top = (m->height - level->height) / 2;
        for (unsigned y = 0; y < level->height; y++)
            for (unsigned x = 0; x < level->width; x++) {
                const float value = luma[(top + y) * m->width + left + x];
                *picture++ = value > -LARGEST && value < LARGEST ? value : 0;
            }
    }
}

/* A window like Hann's. */
static void draw_window(float *window, unsigned length)
{
    for (unsigned i = 0; i < length; i++)
        window[i] = (float)(0.5 - 0.5 * cos(2 * M_PI * (i + 0.5) / length));
}

/* Puts the windowed middle of a picture without its mean in the real or imaginary part of the work.
 * Returns the sum of the squares of the window. */
static double put_square(struct motion_estimator *m, unsigned which)
{
    const struct level *level = &m->level[m->levels - 1];
    const unsigned width = lesser(level->width, m->side), height = lesser(level->height, m->side);
    float window[2][MAX_SIDE];
    draw_window(window[0], width);
    draw_window(window[1], height);
    const float *from = level->picture[which] +
                        (size_t)((level->height - height) / 2) * level->width +
                        (level->width - width) / 2;
    double sum = 0, weights = 0, squares = 0;
    for (unsigned y = 0; y < height; y++) {
        double row = 0, row_weights = 0, row_squares = 0;
        for (unsigned x = 0; x < width; x++) {
            row += window[0][x] * from[(size_t)y * level->width + x];
            row_weights += window[0][x];
            row_squares += window[0][x] * window[0][x];
        }
        sum += row * window[1][y];
        weights += row_weights * window[1][y];
        squares += row_squares * window[1][y] * window[1][y];
    }
    const float mean = (float)(sum / weights);
    float *numbers = (float *)m->work + which;
    for (unsigned y = 0; y < height; y++)
        for (unsigned x = 0; x < width; x++)
            numbers[2 * ((size_t)y * m->side + x)] =
                (from[(size_t)y * level->width + x] - mean) * window[0][x] * window[1][y];
    return squares;
}

/* The power of the noise: the median of the highest frequencies, whose powers are distributed
 * exponentially. `work` holds the transform of both squares. */
static double noise_power(struct motion_estimator *m)
{
    const unsigned side = m->side, edge = side / 16;
    unsigned count = 0;
    for (unsigned y = side / 2 - edge; y < side / 2 + edge; y++)
        for (unsigned x = side / 2 - edge; x < side / 2 + edge; x++) {
            const float complex z = m->work[(size_t)y * side + x];
            m->scratch[count++] = crealf(z) * crealf(z) + cimagf(z) * cimagf(z);
        }
    qsort(m->scratch, count, sizeof *m->scratch, order_floats);
    return m->scratch[count / 2] / M_LN2 / 2; /* the work adds the powers of two squares */
}

/* Fills `weight` with the mean power of the 3 x 3 frequencies around each one, of both squares. */
static void smooth_power(struct motion_estimator *m)
{
    const unsigned side = m->side, mask = side - 1;
    for (unsigned y = 0; y < side; y++)
        for (unsigned x = 0; x < side; x++) {
            const size_t at = (size_t)y * side + x;
            const float complex z = m->work[at];
            const float complex other =
                m->work[(size_t)((side - y) & mask) * side + ((side - x) & mask)];
            /* The sum of both numbers' powers is twice the sum of both squares'. */
            m->weight[at] = (crealf(z) * crealf(z) + cimagf(z) * cimagf(z) +
                             crealf(other) * crealf(other) + cimagf(other) * cimagf(other)) /
                            4;
        }
    for (unsigned y = 0; y < side; y++) {
        const float *row = m->weight + (size_t)y * side;
        for (unsigned x = 0; x < side; x++)
            m->scratch[(size_t)y * side + x] = row[(x - 1) & mask] + row[x] + row[(x + 1) & mask];
    }
    for (unsigned y = 0; y < side; y++) {
        const float *above = m->scratch + (size_t)((y - 1) & mask) * side;
        const float *row = m->scratch + (size_t)y * side;
        const float *below = m->scratch + (size_t)((y + 1) & mask) * side;
        for (unsigned x = 0; x < side; x++)
            m->weight[(size_t)y * side + x] = (above[x] + row[x] + below[x]) / 9;
    }
}

/* Fills the phases of the cross spectrum (last conjugated, times new) and their weights: the
 * cross spectrum's size times S / (N^2 + 2 S N), for signal S in noise N. */
static void compare(struct motion_estimator *m)
{
    const unsigned side = m->side, mask = side - 1;
    memset(m->work, 0, (size_t)side * side * sizeof *m->work);
    double squares = put_square(m, 0);
    squares = 0.5 * (squares + put_square(m, 1));
    fft_square(m->fft, m->work, false);
    const double noise = noise_power(m) + FLOOR_POWER * squares;
    m->noise = noise / squares;
    smooth_power(m);
    m->significant = 0;
    for (unsigned y = 0; y < side; y++)
        for (unsigned x = 0; x < side; x++) {
            const size_t at = (size_t)y * side + x;
            const double signal = m->weight[at] - NOISE_MARGIN * noise;
            const bool is_band = x <= SKIPPED || x >= side - SKIPPED;
            const bool is_nyquist = x == side / 2 || y == side / 2;
            m->cross[at] = 0;
            m->weight[at] = 0;
            if (is_band || is_nyquist || signal <= 0)
                continue;
            const float complex z = m->work[at];
            const float complex other =
                conjf(m->work[(size_t)((side - y) & mask) * side + ((side - x) & mask)]);
            const float complex last = (z + other) / 2, sum = (z - other) / 2; /* i times new */
            /* conj(last) * sum / i */
            const float re = crealf(last) * cimagf(sum) - cimagf(last) * crealf(sum);
            const float im = -(crealf(last) * crealf(sum) + cimagf(last) * cimagf(sum));
            const double power = sqrt((double)re * re + (double)im * im);
            if (power <= 0)
                continue;
            const double w = power * signal / (noise * noise + 2 * signal * noise);
            m->weight[at] = (float)(w / (1 + MODEL_ERROR * w));
            m->cross[at] = (float)(re / power) + (float)(im / power) * I;
            if (m->weight[at] > SIGNIFICANT)
                m->significant++;
        }
}

struct peak {
    int x, y;
    float height;
};

/* The shift of a number of the correlation. */
static struct peak shift_at(const struct motion_estimator *m, size_t at)
{
    const int side = (int)m->side, x = (int)(at % m->side), y = (int)(at / m->side);
    return (struct peak){.x = x < side / 2 ? x : x - side, .y = y < side / 2 ? y : y - side};
}

/* Pictures that are further apart have too little in common. */
static bool is_possible(const struct motion_estimator *m, size_t at)
{
    const struct level *level = &m->level[m->levels - 1];
    const struct peak shift = shift_at(m, at);
    return abs(shift.x) <= MAX_SHIFT * lesser(m->side, level->width) &&
           abs(shift.y) <= MAX_SHIFT * lesser(m->side, level->height);
}

/* No number around it is larger. What was a peak is -INFINITY. */
static bool is_summit(const struct motion_estimator *m, size_t at)
{
    const unsigned mask = m->side - 1, x = (unsigned)at & mask, y = (unsigned)(at / m->side);
    for (unsigned v = y - 1; v != y + 2; v++)
        for (unsigned u = x - 1; u != x + 2; u++)
            if (crealf(m->work[(size_t)(v & mask) * m->side + (u & mask)]) > crealf(m->work[at]))
                return false;
    return true;
}

/* Finds the highest peaks of the correlation. */
static void find_peaks(struct motion_estimator *m, struct peak ret[PEAKS])
{
    const int side = (int)m->side;
    const size_t count = (size_t)side * side;
    for (size_t i = 0; i < count; i++)
        m->work[i] = m->cross[i] * (m->weight[i] / (1 + m->weight[i]));
    fft_square(m->fft, m->work, true);
    for (unsigned p = 0; p < PEAKS; p++) {
        size_t best = 0;
        for (size_t i = 0; i < count; i++)
            if (crealf(m->work[i]) > crealf(m->work[best]) && is_possible(m, i) && is_summit(m, i))
                best = i;
        const int x = (int)(best % m->side), y = (int)(best / m->side);
        ret[p] = shift_at(m, best);
        ret[p].height = crealf(m->work[best]);
        for (int v = y - PEAK_RADIUS; v <= y + PEAK_RADIUS; v++)
            for (int u = x - PEAK_RADIUS; u <= x + PEAK_RADIUS; u++)
                m->work[(size_t)(v & (side - 1)) * m->side + (unsigned)(u & (side - 1))] =
                    -INFINITY;
    }
}

static bool is_agreed(const struct cells_shift *shift)
{
    return shift->agreement >= SURE && shift->agreed >= MIN_AGREED;
}

static bool refine(struct motion_estimator *m, unsigned k, unsigned passes, bool is_even,
                   bool is_fine, struct cells_shift *shift)
{
    const struct level *level = &m->level[k];
    const struct cells_pictures pictures = {level->picture[0], level->picture[1], level->width,
                                            level->height,     is_even,           is_fine};
    return cells_refine(m->cells, &pictures, passes, shift);
}

static bool refine_level(struct motion_estimator *m, unsigned k, unsigned passes, bool is_even,
                         struct cells_shift *shift)
{
    return refine(m, k, passes, is_even, false, shift);
}

/* Offsets of a sensor's columns stand while the scene moves, and pull a short shift along x to
 * zero. The finer kernel lets more of them pass. Those of rows go with the rows' means. */
static bool may_be_held_back(const struct cells_shift *shift)
{
    return fabs(shift->dx) < HOLDING;
}

/* One pass that smooths less, at full size. Returns false, and leaves `shift` as it is, where too
 * little agrees with it, and where a fixed pattern would count more. */
static bool refine_finely(struct motion_estimator *m, bool is_even, struct cells_shift *shift)
{
    struct cells_shift found = {.dx = shift->dx, .dy = shift->dy, .noise = INFINITY};
    if (may_be_held_back(shift) || !refine(m, 0, FINE_PASSES, is_even, true, &found) ||
        !is_agreed(&found))
        return false;
    *shift = found;
    return true;
}

/* The best shift at the last level; returns the agreement with the best of the others, as a share
 * of that with the best one. */
static double choose(struct motion_estimator *m, struct cells_shift *ret)
{
    const unsigned last = m->levels - 1;
    struct peak peaks[PEAKS];
    struct cells_shift found[PEAKS] = {{.dx = 0}};
    unsigned count = 0, best = 0;
    double rival = 0, noise = INFINITY;
    find_peaks(m, peaks);
    for (unsigned p = 0; p < PEAKS; p++) {
        if (count > 0 && found[0].agreement > CLEAR && peaks[p].height < LOW * peaks[0].height)
            break;
        found[count] = (struct cells_shift){
            .dx = peaks[p].x, .dy = peaks[p].y, .noise = NOISE_LIMIT * m->noise + FLOOR_NOISE};
        if (refine_level(m, last, COARSE_PASSES, false, &found[count]))
            noise = fmin(noise, found[count++].noise);
    }
    if (count == 0)
        return 1;
    for (unsigned p = 0; p < count; p++) {
        /* Where nearly nothing agrees, the noise seemed larger. */
        if (found[p].noise > noise) {
            found[p].noise = noise;
            if (!refine_level(m, last, 1, false, &found[p]))
                found[p].agreed = found[p].agreement = 0;
        }
        if (found[p].agreed > found[best].agreed)
            best = p;
    }
    for (unsigned p = 0; p < count; p++)
        if (hypot(found[p].dx - found[best].dx, found[p].dy - found[best].dy) > SAME)
            rival = fmax(rival, found[p].agreed / found[best].agreed);
    *ret = found[best];
    return rival;
}

/* The shift of the last level, improved in the larger pictures. clear: 0 .. 1, none like it. */
static struct motion at_full_size(struct motion_estimator *m, const struct cells_shift *coarse,
                                  double clear, bool is_even)
{
    struct cells_shift shift = *coarse;
    unsigned k = m->levels - 1;
    /* Where the full size shows nothing but noise, the smaller one has to do. */
    while (k > 0 && shift.agreement > 0) {
        struct cells_shift finer = {.dx = 2 * shift.dx, .dy = 2 * shift.dy, .noise = INFINITY};
        if (!(k == 1 && refine_finely(m, is_even, &finer)) &&
            !refine_level(m, k - 1, FINE_PASSES, is_even, &finer))
            break;
        shift = finer;
        k--;
    }
    if (m->levels == 1 && is_agreed(&shift))
        refine_finely(m, is_even, &shift);
    const double scale = 1u << k;
    struct motion motion = {
        .dx = scale * shift.dx, .dy = scale * shift.dy, .confidence = clear * shift.agreement};
    motion.is_sure = motion.confidence >= SURE && shift.agreed >= MIN_AGREED &&
                     scale * shift.deviation < MAX_DEVIATION;
    return motion;
}

void motion_observe(struct motion_estimator *m, const float *luma, struct motion *ret)
{
    *ret = (struct motion){.dx = 0};
    keep_picture(m, luma);
    const bool has_last = m->has_last;
    m->has_last = true;
    m->is_compared = false;
    if (!has_last)
        return;
    compare(m);
    if (m->significant < MIN_COUNT) {
        ret->is_plain = true;
        return;
    }
    m->is_compared = true;
    struct cells_shift shift = {.dx = 0};
    const double rival = choose(m, &shift);
    const double ambiguous = rival > RIVAL ? fmin(rival, 1) : 0;
    *ret = at_full_size(m, &shift, 1 - ambiguous, false);
    ret->is_ambiguous = ambiguous > 0 && shift.agreement >= SURE;
}

bool motion_near(struct motion_estimator *m, double dx, double dy, struct motion *ret)
{
    const double scale = 1u << (m->levels - 1);
    struct cells_shift shift = {
        .dx = dx / scale, .dy = dy / scale, .noise = NOISE_LIMIT * m->noise + FLOOR_NOISE};
    if (!m->is_compared || !refine_level(m, m->levels - 1, COARSE_PASSES, true, &shift))
        return false;
    const struct motion found = at_full_size(m, &shift, 1, true);
    if (found.is_sure)
        *ret = found;
    return found.is_sure;
}
