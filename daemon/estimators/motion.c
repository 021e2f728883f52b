#include "estimators/motion.h"

#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fft.h"

/* Where a comment gives no other reason, a threshold was chosen on the clips of
 * tests/unit/motion.c; a name in brackets is the test that fails when it is moved far, "error" the
 * figure that moves. */
#define MAX_SIDE     256u  /* pixels; a larger square costs more than it improves */
#define TAPER        0.125 /* for the fit; the correlation needs 0.5, which leaks less [error] */
#define SKIPPED      1     /* spectral columns left out on each side of column 0 */
#define NOISE_MARGIN 1.5   /* powers below this multiple of the noise are noise [error] */
#define FLOOR_POWER  1e-4  /* of a sample: far below that of rounding to 8 bits, 1/12 */
#define MODEL_ERROR  0.002 /* limits the weights to 1 / MODEL_ERROR [error] */
/* Weight of the frequencies that count, and confidence, which is the mean cosine of their errors of
 * phase: 0.6 is an error of 53 degrees. [rotations_and_cuts_are_unsure, bands_are_not_motion] */
#define SIGNIFICANT  2.0
#define SURE         0.6
/* Significant frequencies below which a picture is plain. By chance the mean cosine of 40 phases,
 * half of which are mirrored, has a standard deviation of sqrt(1 / 40) = 0.16. */
#define MIN_COUNT    40u
#define PEAKS        3u  /* of the correlation, tried one after the other */
#define PEAK_RADIUS  2   /* pixels around a peak that belong to it */
#define MAX_REST     1.5 /* pixels between the correlation's peak, which is whole, and the fit */
#define FIT_PASSES   2
#define FIT_STEPS    6

struct motion_estimator {
    unsigned width, height;           /* of pictures */
    unsigned side;                    /* of the square */
    unsigned area_width, area_height; /* the part in the middle that is kept */
    struct fft *fft;
    float *area[2];       /* the last one and the new one */
    float complex *work;  /* both squares, one in each part of the numbers */
    float complex *cross; /* phase of the cross spectrum */
    float *weight;        /* for the fit */
    float *scratch;
    bool has_last;
    unsigned significant; /* frequencies in the last comparison */
};

/* Where both squares are compared along one axis. */
struct extent {
    unsigned first[2]; /* in the last area and in the new one */
    unsigned length;
    double taper; /* of the window's length, at both ends */
    double rest;  /* pixels by which the new window is moved on */
};

static unsigned lesser(unsigned a, unsigned b)
{
    return a < b ? a : b;
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
    m->side = MOTION_MIN_SIZE;
    while (m->side < MAX_SIDE && 2 * m->side <= lesser(width, height))
        m->side *= 2;
    m->area_width = lesser(width, 2 * m->side);
    m->area_height = lesser(height, 2 * m->side);
    const size_t area = (size_t)m->area_width * m->area_height;
    const size_t square = (size_t)m->side * m->side;
    int err = fft_create(&m->fft, m->side, why);
    if (err < 0)
        goto fail;
    m->area[0] = calloc(area, sizeof *m->area[0]);
    m->area[1] = calloc(area, sizeof *m->area[1]);
    m->work = calloc(square, sizeof *m->work);
    m->cross = calloc(square, sizeof *m->cross);
    m->weight = calloc(square, sizeof *m->weight);
    m->scratch = calloc(square, sizeof *m->scratch);
    if (m->area[0] == NULL || m->area[1] == NULL || m->work == NULL || m->cross == NULL ||
        m->weight == NULL || m->scratch == NULL) {
        err = error_set(why, ENOMEM, "out of memory for an estimator of motion");
        goto fail;
    }
    *ret = m;
    return 0;
fail:
    motion_destroy(m);
    return err;
}

void motion_destroy(struct motion_estimator *m)
{
    if (m == NULL)
        return;
    fft_destroy(m->fft);
    free(m->area[0]);
    free(m->area[1]);
    free(m->work);
    free(m->cross);
    free(m->weight);
    free(m->scratch);
    free(m);
}

void motion_reset(struct motion_estimator *m)
{
    m->has_last = false;
}

/* Keeps the middle of a picture as the new area; the new one becomes the last one. */
static void keep_area(struct motion_estimator *m, const float *luma)
{
    float *area = m->area[0];
    m->area[0] = m->area[1];
    m->area[1] = area;
    const size_t left = (m->width - m->area_width) / 2, top = (m->height - m->area_height) / 2;
    for (unsigned y = 0; y < m->area_height; y++)
        for (unsigned x = 0; x < m->area_width; x++) {
            const float value = luma[(top + y) * m->width + left + x];
            area[(size_t)y * m->area_width + x] = isfinite(value) ? value : 0;
        }
}

/* The part of an axis of `size` pixels that both pictures show, if one is `shift` pixels on. */
static struct extent shared_extent(unsigned size, unsigned side, int shift, double taper)
{
    struct extent e = {.taper = taper};
    const unsigned common = size - (unsigned)abs(shift);
    e.length = lesser(side, common);
    const unsigned margin = (common - e.length) / 2;
    e.first[0] = margin + (unsigned)(shift < 0 ? -shift : 0);
    e.first[1] = margin + (unsigned)(shift > 0 ? shift : 0);
    return e;
}

/* A window with ends like those of Hann's, moved on by `rest`. */
static void draw_window(float *window, const struct extent *e, double rest)
{
    for (unsigned i = 0; i < e->length; i++) {
        const double at = (i + 0.5 - rest) / e->length, edge = fmin(at, 1 - at) / e->taper;
        window[i] = (float)(edge <= 0 ? 0 : edge >= 1 ? 1 : 0.5 - 0.5 * cos(M_PI * edge));
    }
}

/* Puts one windowed square without its mean in the real or imaginary part of the work. Returns the
 * sum of the squares of the window. */
static double put_square(struct motion_estimator *m, unsigned which, const struct extent e[2])
{
    float window[2][MAX_SIDE];
    for (unsigned axis = 0; axis < 2; axis++)
        draw_window(window[axis], &e[axis], which == 1 ? e[axis].rest : 0);
    const float *area =
        m->area[which] + (size_t)e[1].first[which] * m->area_width + e[0].first[which];
    double sum = 0, weights = 0, squares = 0;
    for (unsigned y = 0; y < e[1].length; y++) {
        double row = 0, row_weights = 0, row_squares = 0;
        for (unsigned x = 0; x < e[0].length; x++) {
            row += window[0][x] * area[(size_t)y * m->area_width + x];
            row_weights += window[0][x];
            row_squares += window[0][x] * window[0][x];
        }
        sum += row * window[1][y];
        weights += row_weights * window[1][y];
        squares += row_squares * window[1][y] * window[1][y];
    }
    const float mean = (float)(weights > 0 ? sum / weights : 0);
    float *numbers = (float *)m->work + which;
    for (unsigned y = 0; y < e[1].length; y++)
        for (unsigned x = 0; x < e[0].length; x++)
            numbers[2 * ((size_t)y * m->side + x)] =
                (area[(size_t)y * m->area_width + x] - mean) * window[0][x] * window[1][y];
    return squares;
}

static int by_size(const void *a, const void *b)
{
    const float p = *(const float *)a, q = *(const float *)b;
    return (p > q) - (p < q);
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
    qsort(m->scratch, count, sizeof *m->scratch, by_size);
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
static void compare(struct motion_estimator *m, const struct extent e[2])
{
    const unsigned side = m->side, mask = side - 1;
    memset(m->work, 0, (size_t)side * side * sizeof *m->work);
    double squares = put_square(m, 0, e);
    squares = 0.5 * (squares + put_square(m, 1, e));
    fft_square(m->fft, m->work, false);
    const double noise = noise_power(m) + FLOOR_POWER * squares;
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
};

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
            if (crealf(m->work[i]) > crealf(m->work[best]))
                best = i;
        const int x = (int)(best % m->side), y = (int)(best / m->side);
        ret[p] = (struct peak){x < side / 2 ? x : x - side, y < side / 2 ? y : y - side};
        for (int v = y - PEAK_RADIUS; v <= y + PEAK_RADIUS; v++)
            for (int u = x - PEAK_RADIUS; u <= x + PEAK_RADIUS; u++)
                m->work[(size_t)(v & (side - 1)) * m->side + (unsigned)(u & (side - 1))] =
                    -INFINITY;
    }
}

/* The sums of one step of the fit, and how well the shift explains the phases. */
struct sums {
    double xx, xy, yy, x, y, cosine, significant_cosine;
};

static struct sums add_up(const struct motion_estimator *m, double dx, double dy)
{
    const unsigned side = m->side;
    const double unit = 2 * M_PI / side;
    struct sums sums = {.xx = 0};
    for (unsigned v = 0; v < side; v++) {
        const double ky = unit * (v < side / 2 ? (double)v : (double)v - side);
        /* The spectrum of real numbers: half of it says everything. */
        for (unsigned u = SKIPPED + 1; u < side / 2; u++) {
            const size_t at = (size_t)v * side + u;
            const double w = m->weight[at];
            if (w <= 0)
                continue;
            const double kx = unit * u, turn = kx * dx + ky * dy;
            const double c = cos(turn), s = sin(turn);
            const double re = crealf(m->cross[at]) * c - cimagf(m->cross[at]) * s;
            const double im = crealf(m->cross[at]) * s + cimagf(m->cross[at]) * c;
            sums.xx += w * kx * kx;
            sums.xy += w * kx * ky;
            sums.yy += w * ky * ky;
            sums.x -= w * kx * im;
            sums.y -= w * ky * im;
            sums.cosine += w * re;
            if (m->weight[at] > SIGNIFICANT)
                sums.significant_cosine += re;
        }
    }
    return sums;
}

/* Fits the plane; improves dx and dy. Returns how well it explains the significant phases, 0 .. 1,
 * or 0 if the phases cannot say. */
static double fit_plane(const struct motion_estimator *m, double *dx, double *dy)
{
    for (unsigned step = 0; step < FIT_STEPS; step++) {
        const struct sums s = add_up(m, *dx, *dy);
        const double determinant = s.xx * s.yy - s.xy * s.xy;
        if (!(determinant > 1e-6 * s.xx * s.yy))
            return 0;
        const double x = (s.yy * s.x - s.xy * s.y) / determinant;
        const double y = (s.xx * s.y - s.xy * s.x) / determinant;
        *dx += x;
        *dy += y;
        if (fabs(*dx) > MAX_REST || fabs(*dy) > MAX_REST)
            return 0;
        if (fabs(x) < 1e-5 && fabs(y) < 1e-5)
            break;
    }
    const double explained = 2 * add_up(m, *dx, *dy).significant_cosine / m->significant;
    return explained < 0 ? 0 : explained > 1 ? 1 : explained;
}

/* The shift near a peak of the correlation; unsure if a plane does not fit. */
static struct motion refine(struct motion_estimator *m, struct peak peak)
{
    struct motion none = {.dx = 0};
    if (abs(peak.x) > (int)m->side / 3 || abs(peak.y) > (int)m->side / 3)
        return none;
    struct extent e[2] = {shared_extent(m->area_width, m->side, peak.x, TAPER),
                          shared_extent(m->area_height, m->side, peak.y, TAPER)};
    double dx = 0, dy = 0, confidence = 0;
    for (unsigned pass = 0; pass < FIT_PASSES; pass++) {
        e[0].rest = dx;
        e[1].rest = dy;
        compare(m, e);
        confidence = m->significant < MIN_COUNT ? 0 : fit_plane(m, &dx, &dy);
        if (confidence <= 0)
            return none;
    }
    return (struct motion){.dx = peak.x + dx,
                           .dy = peak.y + dy,
                           .confidence = confidence,
                           .is_sure = confidence >= SURE};
}

void motion_observe(struct motion_estimator *m, const float *luma, struct motion *ret)
{
    *ret = (struct motion){.dx = 0};
    keep_area(m, luma);
    const bool has_last = m->has_last;
    m->has_last = true;
    if (!has_last)
        return;
    const struct extent e[2] = {shared_extent(m->area_width, m->side, 0, 0.5),
                                shared_extent(m->area_height, m->side, 0, 0.5)};
    compare(m, e);
    if (m->significant < MIN_COUNT) {
        ret->is_plain = true;
        return;
    }
    struct peak peaks[PEAKS];
    find_peaks(m, peaks);
    for (unsigned p = 0; p < PEAKS && !ret->is_sure; p++) {
        const struct motion found = refine(m, peaks[p]);
        if (found.confidence > ret->confidence)
            *ret = found;
    }
}
