#include "modes.h"

#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/order.h"
#include "waves.h"

#define LEAST_CYCLES  2.0 /* the half width of a line under a Hann window, in 1 / seconds */
#define FLOOR_BINS    80u /* frequencies on each side whose median is the floor */
#define FALSE_CHANCE  1e-3
#define POWERS_OF_BIN (1 / 12.) /* independent powers that tell as much as the median of a bin */
#define PASSES        3u        /* over the modes of a place, each against what the others leave */
#define MOST_MULTIPLE 5u
#define DISTORTION    0.01 /* multiples of a vibration are weaker, as shifts between pictures */
/* A frequency's standard deviation in terms of the amplitude's, under a Hann window:
 * hz_error = HZ_ERROR / seconds * px_error / px. With white noise, it follows from the sums of
 * w^2 t^2, w t^2, w and w^2. */
#define HZ_ERROR      0.69

/* ---- all frequencies ---- */

struct modes_search {
    double first_hz, step_hz;
    unsigned count;
    double *power[2]; /* amplitude^2 along each axis */
    double *floor[2]; /* its mean by noise alone; count numbers each, like the powers */
    double *scratch;
};

/* Near 0 the power of noise in the displacement grows without end, but that in the differences
 * does not. So the median is taken of the differences' power. */
static double of_differences(const struct modes_search *search, const struct waves *waves,
                             unsigned i)
{
    const double hz = search->first_hz + i * search->step_hz;
    const double moved = sin(0.5 * M_PI * hz * WAVES_HIGHEST / waves->most_hz);
    return moved * moved;
}

static void find_floor(struct modes_search *search, const struct waves *waves)
{
    const unsigned stride = FLOOR_BINS / 8;
    for (unsigned axis = 0; axis < 2; axis++) {
        for (unsigned i = 0; i < search->count; i += stride) {
            const unsigned first = i > FLOOR_BINS ? i - FLOOR_BINS : 0;
            const unsigned end =
                i + FLOOR_BINS < search->count ? i + FLOOR_BINS + 1 : search->count;
            for (unsigned k = first; k < end; k++)
                search->scratch[k - first] =
                    search->power[axis][k] * of_differences(search, waves, k);
            qsort(search->scratch, end - first, sizeof *search->scratch, order_doubles);
            /* The power of noise is distributed exponentially. */
            const double mean = search->scratch[(end - first) / 2] / log(2);
            for (unsigned k = i; k < search->count && k < i + stride; k++)
                search->floor[axis][k] = mean / of_differences(search, waves, k);
        }
    }
}

static int search_create(struct modes_search *ret, const struct waves *waves)
{
    const double first_hz = LEAST_CYCLES / waves->seconds;
    const double step_hz = 1 / WAVES_OVERSAMPLING / waves->seconds;
    *ret = (struct modes_search){.first_hz = first_hz, .step_hz = step_hz};
    ret->count =
        waves->most_hz > first_hz ? 1 + (unsigned)((waves->most_hz - first_hz) / step_hz) : 1;
    ret->scratch = malloc(5 * (size_t)ret->count * sizeof *ret->scratch);
    if (ret->scratch == NULL)
        return -ENOMEM;
    for (unsigned axis = 0; axis < 2; axis++) {
        ret->power[axis] = ret->scratch + (size_t)(1 + axis) * ret->count;
        ret->floor[axis] = ret->scratch + (size_t)(3 + axis) * ret->count;
    }
    return 0;
}

static void search_all(struct modes_search *search, struct waves *waves)
{
    waves_turn_to(waves, search->first_hz, search->step_hz);
    for (unsigned i = 0; i < search->count; i++) {
        const struct waves_wave wave = waves_fit(waves);
        for (unsigned axis = 0; axis < 2; axis++)
            search->power[axis][i] = creal(wave.axis[axis]) * creal(wave.axis[axis]) +
                                     cimag(wave.axis[axis]) * cimag(wave.axis[axis]);
    }
    find_floor(search, waves);
}

/* How often the power of both axes is that of noise. */
static double excess_at(const struct modes_search *search, unsigned i)
{
    double ret = 0;
    for (unsigned axis = 0; axis < 2; axis++)
        ret += search->floor[axis][i] > 0 ? search->power[axis][i] / search->floor[axis][i] : 0;
    return ret;
}

/* The frequencies on both sides whose median is the floor of this one. */
static unsigned floor_bins(const struct modes_search *search, unsigned i)
{
    const unsigned after = search->count - 1 - i;
    return (i < FLOOR_BINS ? i : FLOOR_BINS) + (after < FLOOR_BINS ? after : FLOOR_BINS) + 1;
}

/* The excess z that noise reaches by FALSE_CHANCE in all independent frequencies. With a floor that
 * is known, each reaches it with the probability (1 + z) exp(-z), because two powers are added. The
 * floor is an estimate, whose distribution resembles that of a sum of n powers, so that (1 + z / n)
 * ^ -n takes the place of the exponential function. */
static double excess_needed(const struct modes_search *search, unsigned i, unsigned places_in_all)
{
    const double chances =
        log((1 + search->count / WAVES_OVERSAMPLING) * places_in_all / FALSE_CHANCE);
    const double n = fmax(floor_bins(search, i) * POWERS_OF_BIN, 1);
    double z = chances;
    for (unsigned k = 0; k < 8; k++)
        z = fmin(n * expm1((chances + log1p(z)) / n), 1e6);
    return z;
}

static unsigned index_of(const struct modes_search *search, double hz)
{
    const double at = round((hz - search->first_hz) / search->step_hz);
    return (unsigned)fmin(fmax(at, 0), search->count - 1.0);
}

/* Finds the frequency with the greatest excess that belongs to none of those found. */
static bool find_peak(const struct modes_search *search, double seconds, unsigned places_in_all,
                      const struct modes *found, double *ret_hz)
{
    /* In the middle the floor is known best. */
    const double least = excess_needed(search, search->count / 2, places_in_all);
    double most = 1;
    for (unsigned i = 0; i < search->count; i++) {
        const double hz = search->first_hz + i * search->step_hz;
        const double excess = excess_at(search, i);
        bool is_new = true;
        if (excess <= most * least)
            continue;
        for (unsigned k = 0; k < found->count; k++)
            is_new &= fabs(found->mode[k].hz - hz) >= LEAST_CYCLES / seconds;
        const double times = excess / excess_needed(search, i, places_in_all);
        if (is_new && times > most) {
            most = times;
            *ret_hz = hz;
        }
    }
    return most > 1;
}

/* ---- modes ---- */

static double degrees(double complex z)
{
    return carg(z) * (180 / M_PI);
}

/* floor: the mean power of noise along each axis. */
static struct mode mode_of(const struct waves *waves, double hz, const struct waves_wave *wave,
                           const double floor[2])
{
    const double complex turn = cexp(I * (2 * M_PI * hz * waves->phase_s));
    const double complex x = wave->axis[0] * turn, y = wave->axis[1] * turn;
    struct mode ret = {.hz = hz, .x = {cabs(x), degrees(x)}, .y = {cabs(y), degrees(y)}};
    /* Turned back by its phase, the movement is the long half axis in its real part, and the short
     * one in its imaginary part. */
    double complex back = cexp(-0.5 * I * carg(x * x + y * y));
    if (creal(x * back) < 0 || (creal(x * back) == 0 && creal(y * back) < 0))
        back = -back;
    const double right = creal(x * back), down = creal(y * back);
    ret.px = hypot(right, down);
    ret.minor_px = hypot(cimag(x * back), cimag(y * back));
    ret.angle_deg = ret.px > 0 ? atan2(down, right) * (180 / M_PI) : 0;
    ret.phase_deg = degrees(conj(back));
    const double share = ret.px > 0 ? right * right / (ret.px * ret.px) : 0.5;
    ret.px_error = sqrt(0.5 * (share * floor[0] + (1 - share) * floor[1]));
    ret.hz_error = ret.px > 0 ? HZ_ERROR / waves->seconds * ret.px_error / ret.px : 0;
    return ret;
}

static int by_amplitude(const void *a, const void *b)
{
    const double p = ((const struct mode *)a)->px, q = ((const struct mode *)b)->px;
    return (p < q) - (p > q);
}

/* Where a multiple of a frequency appears in pictures of that rate. */
static double folded(double hz, double rate_hz)
{
    return fabs(hz - rate_hz * round(hz / rate_hz));
}

/* Shifts between two pictures are not quite proportional to the motion. So a strong vibration
 * brings weak multiples of its frequency, which fold below half the rate, where slow ones look like
 * wide movements. */
static void leave_out_distortions(struct modes *found, double rate_hz)
{
    unsigned kept = 0;
    double shift[MODES_MOST]; /* from picture to picture */
    bool is_distortion[MODES_MOST] = {false};
    for (unsigned i = 0; i < found->count; i++)
        shift[i] = found->mode[i].px * sin(M_PI * found->mode[i].hz / rate_hz);
    for (unsigned i = 0; i < found->count; i++)
        for (unsigned k = 0; k < found->count; k++)
            for (unsigned n = 2; n <= MOST_MULTIPLE; n++)
                is_distortion[i] |= shift[i] < DISTORTION * shift[k] &&
                                    fabs(found->mode[i].hz - folded(n * found->mode[k].hz,
                                                                    rate_hz)) < 1 / found->seconds;
    for (unsigned i = 0; i < found->count; i++)
        if (!is_distortion[i])
            found->mode[kept++] = found->mode[i];
    found->count = kept;
}

/* Finds one mode after the other. The waves end without them. */
static void find_modes(struct waves *waves, struct modes_search *search, struct modes *found,
                       unsigned places_in_all)
{
    struct waves_wave wave[MODES_MOST];
    double hz = 0;
    while (found->count < MODES_MOST &&
           find_peak(search, waves->seconds, places_in_all, found, &hz)) {
        found->mode[found->count++].hz = hz;
        wave[found->count - 1] = (struct waves_wave){{0, 0}, 0};
        for (unsigned pass = 0; pass < PASSES; pass++)
            for (unsigned i = found->count; i-- > 0;) {
                waves_add(waves, found->mode[i].hz, &wave[i], 1);
                found->mode[i].hz = waves_refine(waves, found->mode[i].hz);
                wave[i] = waves_fit_at(waves, found->mode[i].hz);
                waves_add(waves, found->mode[i].hz, &wave[i], -1);
            }
        search_all(search, waves);
    }
    for (unsigned i = 0; i < found->count; i++) {
        const unsigned at = index_of(search, found->mode[i].hz);
        const double floor[2] = {search->floor[0][at], search->floor[1][at]};
        found->mode[i] = mode_of(waves, found->mode[i].hz, &wave[i], floor);
    }
    leave_out_distortions(found, 2 * waves->most_hz / WAVES_HIGHEST);
    qsort(found->mode, found->count, sizeof *found->mode, by_amplitude);
}

static double noise_of(const struct modes_search *search)
{
    for (unsigned i = 0; i < search->count; i++)
        search->scratch[i] = search->power[0][i] + search->power[1][i];
    qsort(search->scratch, search->count, sizeof *search->scratch, order_doubles);
    return sqrt(search->scratch[search->count / 2]);
}

static int keep_spectrum(struct modes_spectrum *ret, const struct modes_search *search)
{
    *ret = (struct modes_spectrum){.first_hz = search->first_hz,
                                   .step_hz = search->step_hz,
                                   .count = search->count,
                                   .px = malloc(search->count * sizeof *ret->px)};
    if (ret->px == NULL)
        return -ENOMEM;
    for (unsigned i = 0; i < search->count; i++)
        ret->px[i] = sqrt(search->power[0][i] + search->power[1][i]);
    return 0;
}

int modes_find(struct modes *ret, struct modes_spectrum *spectrum, const struct series *series,
               const unsigned *place, unsigned count, unsigned places_in_all)
{
    struct waves waves;
    struct modes_search search = {0};
    int r = waves_create(&waves, series, place, count, MODES_FEWEST_STEPS);
    *ret = (struct modes){.steps = waves.count};
    if (r == 0)
        r = search_create(&search, &waves);
    if (r == 0) {
        ret->seconds = waves.seconds;
        ret->least_hz = search.first_hz;
        ret->most_hz = search.first_hz + (search.count - 1) * search.step_hz;
        search_all(&search, &waves);
        ret->noise_px = noise_of(&search);
        if (spectrum != NULL)
            r = keep_spectrum(spectrum, &search);
    }
    if (r == 0)
        find_modes(&waves, &search, ret, places_in_all);
    free(search.scratch);
    waves_finish(&waves);
    return r;
}

/* The floor is the median of frequencies around, outside the line. */
static void floor_around(struct waves *waves, double hz, double ret[2])
{
    enum { AROUND = 12 };
    double power[2][2 * AROUND];
    unsigned count = 0;
    for (int i = -AROUND; i <= AROUND; i++) {
        const double at = hz + (i + (i > 0 ? 1.5 : -1.5)) / waves->seconds;
        if (i == 0 || at < LEAST_CYCLES / waves->seconds || at > waves->most_hz)
            continue;
        const struct waves_wave wave = waves_fit_at(waves, at);
        for (unsigned axis = 0; axis < 2; axis++)
            power[axis][count] = creal(wave.axis[axis]) * creal(wave.axis[axis]) +
                                 cimag(wave.axis[axis]) * cimag(wave.axis[axis]);
        count++;
    }
    for (unsigned axis = 0; axis < 2; axis++) {
        qsort(power[axis], count, sizeof *power[axis], order_doubles);
        ret[axis] = count > 0 ? power[axis][count / 2] / log(2) : 0;
    }
}

int modes_fit(struct mode *ret, const struct series *series, unsigned place, double hz)
{
    struct waves waves;
    double floor[2];
    const int r = waves_create(&waves, series, &place, 1, MODES_FEWEST_STEPS);
    if (r == 0) {
        floor_around(&waves, hz, floor);
        const struct waves_wave wave = waves_fit_at(&waves, hz);
        *ret = mode_of(&waves, hz, &wave, floor);
    }
    waves_finish(&waves);
    return r;
}
