/* Finds initial values for fitting a light (flicker_light.h).
 *
 * A wave is fitted to each frame, against what the frames before it show of the scene. The scene
 * explains any constant, so amplitudes are known up to one that is common to all frames. Light of a
 * constant depth moves them along a circle around it. Frames without the light are at the centre of
 * this circle.
 *
 * Source of the maths: Kasa, IEEE Trans. Instrumentation and Measurement 25 (1976), for circles. */
#include "estimators/flicker/flicker_light.h"

#include <stdlib.h>
#include <string.h>

#include "core/normal.h"

#define COLUMNS       3u /* both parts of an amplitude, and an offset */
/* Holds the offset, which is hardly told from a wave of which the frame shows a part of a period,
 * relative to one sample. */
#define HOLD_OFFSET   0.3
#define FEWEST_BINS   8u
#define TRIED         12u /* frames in which row periods are tried */
#define OUTLIER       0.3 /* share of the radius */
/* Chosen on the clips of tests/unit/flicker.c. */
#define FEWEST_OFF    3u   /* frames without the light before it, for a beginning to be certain */
#define FEWEST_ON     3u   /* frames with the light, if there are dark ones before and after */
#define AS_GOOD       10.0 /* an explanation may be worse by this many variances of noise */
#define BETTER        20.0 /* it is certain if it is better by this many */
/* Errors of amplitudes grow with the light: the same two limits as shares of the squared radius. */
#define ROUGH_AS_GOOD 0.01
#define ROUGH_BETTER  0.002

#define LARGE_RADIUS  0.1 /* largest expected radius */
#define SPEEDS        4.0 /* speeds tried for each unit of time */
#define UNITS         4.0 /* largest number of units in the mean time between frames */
#define FEWEST_STEADY 5u

/* One history, bin by bin. */
struct scene {
    const double *still;
    double own[ROWS_RING]; /* p, by bin */
    unsigned count[ROWS_RING];
    double column[ROWS_RING][COLUMNS];
    double solution[ROWS_FRAMES][COLUMNS];
};

static void fill_columns(struct scene *scene, const struct rows *rows, double rows_cycles,
                         int first, int end)
{
    for (int bin = first; bin < end; bin++) {
        double *column = scene->column[(unsigned)bin % ROWS_RING];
        const double complex wave = rows_attenuation(rows, rows_cycles) *
                                    rows_phasor(rows_cycles * ((bin + 0.5) * rows->bin_px - 0.5));
        column[0] = creal(wave);
        column[1] = -cimag(wave);
        column[2] = 1;
    }
}

static bool value_of(const struct scene *scene, const struct rows *rows,
                     const struct rows_frame *frame, int bin, double *ret)
{
    if (!rows_is_valid(rows, frame, bin))
        return false;
    *ret = (double)frame->value[bin - frame->first_bin] -
           flicker_model_still(scene->still, rows_place(rows, frame, bin));
    return true;
}

/* One bin of a frame, of which the scene is known. */
struct sample {
    const double *column;
    double value; /* what the frame adds to the scene */
};

/* Lists every `bin_step`th bin of a frame if it is known. Returns how many there are. */
static unsigned list_samples(const struct scene *scene, const struct rows *rows, unsigned bin_step,
                             const struct rows_frame *frame, struct sample ret[ROWS_BINS])
{
    unsigned count = 0;
    double value;
    for (unsigned i = 0; i < frame->bins; i += bin_step) {
        const int bin = frame->first_bin + (int)i;
        const unsigned at = (unsigned)bin % ROWS_RING;
        if (scene->count[at] > 0 && value_of(scene, rows, frame, bin, &value))
            ret[count++] = (struct sample){scene->column[at], value - scene->own[at]};
    }
    return count;
}

/* Fits one frame against the scene, if enough of that is known. `squares` gets what an offset
 * leaves, what the wave leaves, and how many samples there are. */
static void fit_frame(const struct scene *scene, const struct rows *rows, unsigned bin_step,
                      const struct rows_frame *frame, double *x, double squares[3])
{
    const unsigned n = COLUMNS;
    struct sample sample[ROWS_BINS];
    double a[COLUMNS + 1][COLUMNS] = {{0}}, sum = 0, sum2 = 0, rest2 = 0;
    const unsigned count = list_samples(scene, rows, bin_step, frame, sample);
    memset(x, 0, COLUMNS * sizeof *x);
    if (count < FEWEST_BINS)
        return;
    for (unsigned s = 0; s < count; s++) {
        const double *column = sample[s].column, value = sample[s].value;
        for (unsigned i = 0; i < n; i++) {
            a[n][i] += column[i] * value;
            for (unsigned j = 0; j <= i; j++)
                a[i][j] += column[i] * column[j];
        }
        sum += value;
        sum2 += value * value;
    }
    a[2][2] += HOLD_OFFSET;
    normal_solve(a[0], n, n, x);
    for (unsigned s = 0; s < count; s++) {
        double rest = sample[s].value;
        for (unsigned i = 0; i < n; i++)
            rest -= sample[s].column[i] * x[i];
        rest2 += rest * rest;
    }
    squares[0] += sum2 - sum * sum / count;
    squares[1] += rest2;
    squares[2] += count;
}

/* Adds to what is known of the scene what a frame shows without its waves. */
static void add_frame(struct scene *scene, const struct rows *rows, const struct rows_frame *frame,
                      const double *x)
{
    double value;
    for (int bin = frame->first_bin; bin < frame->first_bin + (int)frame->bins; bin++) {
        const unsigned at = (unsigned)bin % ROWS_RING;
        if (!value_of(scene, rows, frame, bin, &value))
            continue;
        for (unsigned i = 0; i < COLUMNS; i++)
            value -= scene->column[at][i] * x[i];
        scene->own[at] += (value - scene->own[at]) / ++scene->count[at];
    }
}

/* The amplitudes in each frame, in the coordinates of the scene. */
struct fit {
    unsigned first, frames; /* which frames of the history */
    double without, with;   /* squares that offsets leave, and that waves leave */
    double noise;           /* standard deviation of an amplitude */
    double complex amplitude[ROWS_FRAMES];
};

/* passes: 1, the scene is what earlier frames show; more, what all of them do. */
static void fit_history(const struct rows *rows, double rows_cycles,
                        const double still[FLICKER_STILL], unsigned frames, unsigned bin_step,
                        unsigned passes, struct fit *ret)
{
    static _Thread_local struct scene scene;
    const unsigned newest = rows->count - 1;
    const int travel = (int)ROWS_RING / 2 - (int)ROWS_BINS;
    int first = rows->frame[newest].first_bin, end = first;
    *ret = (struct fit){.first = newest};
    for (unsigned i = 0; i < frames && i < rows->count; i++) {
        const struct rows_frame *frame = &rows->frame[newest - i];
        if (abs(frame->first_bin - rows->frame[newest].first_bin) > travel)
            break;
        ret->first = newest - i;
        ret->frames = i + 1;
        first = frame->first_bin < first ? frame->first_bin : first;
        end = frame->first_bin + (int)frame->bins > end ? frame->first_bin + (int)frame->bins : end;
    }
    double squares[3] = {0};
    memset(&scene, 0, sizeof scene);
    scene.still = still;
    fill_columns(&scene, rows, rows_cycles, first, end);
    for (unsigned pass = 0; pass < passes; pass++) {
        if (pass > 0) {
            memset(scene.count, 0, sizeof scene.count);
            memset(scene.own, 0, sizeof scene.own);
            memset(squares, 0, sizeof squares);
            for (unsigned i = 0; i < ret->frames; i++)
                add_frame(&scene, rows, &rows->frame[ret->first + i], scene.solution[i]);
        }
        for (unsigned i = 0; i < ret->frames; i++) {
            const struct rows_frame *frame = &rows->frame[ret->first + i];
            fit_frame(&scene, rows, bin_step, frame, scene.solution[i], squares);
            if (pass == 0)
                add_frame(&scene, rows, frame, scene.solution[i]);
        }
    }
    ret->without = squares[0];
    ret->with = squares[1];
    /* The mean square of a wave is a half. */
    ret->noise = squares[2] > 0 ? sqrt(2 * ret->with * ret->frames) / squares[2] : INFINITY;
    for (unsigned i = 0; i < ret->frames; i++)
        ret->amplitude[i] = scene.solution[i][0] + scene.solution[i][1] * I;
}

double fit_explained(const struct rows *rows, double rows_cycles, const double still[FLICKER_STILL])
{
    struct fit fit;
    fit_history(rows, rows_cycles, still, TRIED, 2, 1, &fit);
    return fit.without > 0 ? 1 - fit.with / fit.without : 0;
}

static double square_of(double complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

/* One circle through the frames that are marked. */
static bool circle_once(const struct fit *fit, const bool *is_used, double complex *ret_centre)
{
    double complex mean = 0;
    double xx = 0, xy = 0, yy = 0, x = 0, y = 0, squares = 0;
    unsigned count = 0;
    for (unsigned i = 0; i < fit->frames; i++)
        if (is_used[i]) {
            mean += fit->amplitude[i];
            count++;
        }
    if (count < 3)
        return false;
    mean /= count;
    for (unsigned i = 0; i < fit->frames; i++)
        if (is_used[i])
            squares += square_of(fit->amplitude[i] - mean);
    for (unsigned i = 0; i < fit->frames; i++) {
        const double complex z = fit->amplitude[i] - mean;
        if (!is_used[i])
            continue;
        xx += creal(z) * creal(z);
        xy += creal(z) * cimag(z);
        yy += cimag(z) * cimag(z);
        x += 0.5 * creal(z) * (square_of(z) - squares / count);
        y += 0.5 * cimag(z) * (square_of(z) - squares / count);
    }
    /* Two phases in turn do not determine a circle: the smallest is taken. */
    xx += 4 * fit->noise * fit->noise;
    yy += 4 * fit->noise * fit->noise;
    const double determinant = xx * yy - xy * xy;
    if (!(determinant > 0))
        return false;
    *ret_centre = mean + (yy * x - xy * y) / determinant + (xx * y - xy * x) / determinant * I;
    return true;
}

/* Finds the circle through most frames, and marks them in is_used. Returns false if there is none.
 */
static bool circle_through(const struct fit *fit, bool *is_used, double complex *ret_centre,
                           double *ret_radius)
{
    memset(is_used, true, fit->frames * sizeof *is_used);
    for (unsigned pass = 0; pass < 3; pass++) {
        double radius = 0;
        unsigned on = 0;
        if (!circle_once(fit, is_used, ret_centre))
            return false;
        for (unsigned i = 0; i < fit->frames; i++)
            if (is_used[i]) {
                radius += cabs(fit->amplitude[i] - *ret_centre);
                on++;
            }
        radius /= on;
        *ret_radius = radius;
        for (unsigned i = 0; i < fit->frames; i++)
            is_used[i] = fabs(cabs(fit->amplitude[i] - *ret_centre) - radius) <= OUTLIER * radius;
    }
    return true;
}

/* Returns the sum of squared distances from a circle. A frame that is not on the circle counts with
 * the distance of an outlier at the limit. */
static double squares_beside(const struct fit *fit, double complex centre, double radius)
{
    double squares = 0;
    for (unsigned i = 0; i < fit->frames; i++) {
        const double far = cabs(fit->amplitude[i] - centre) - radius;
        squares += fmin(far * far, OUTLIER * OUTLIER * radius * radius);
    }
    return squares;
}

/* ---- a light that is switched, or one whose bands move ---- */

/* The amplitudes of frames with a light are on a circle, and those of frames without it are at its
 * centre. While the bands hardly move, these are only two points, and any circle through both fits.
 * Which of the two is the centre shows only when the bands move along the circle. */
enum leap {
    LEAP_NONE,    /* a circle through all frames is more probable */
    LEAP_UNKNOWN, /* it is uncertain which frames have the light, or the newest has none */
    LEAP_BEGUN,   /* all frames from `first` on have the light, and none before */
};

struct leap_light {
    unsigned first; /* the first frame with the light */
    double complex centre;
    double radius;
};

/* Sums over the frames before each one; the last are those over all. */
struct sums {
    double complex z[ROWS_FRAMES + 1];
    double square[ROWS_FRAMES + 1];
};

static void add_up(const double complex *z, unsigned frames, struct sums *ret)
{
    ret->z[0] = ret->square[0] = 0;
    for (unsigned i = 0; i < frames; i++) {
        ret->z[i + 1] = ret->z[i] + z[i];
        ret->square[i + 1] = ret->square[i] + square_of(z[i]);
    }
}

/* Returns the residual sum of squares if the frames from `first` to before `end` have a light, and
 * the others are the centre of its circle; or INFINITY, and nothing in ret, if it is not less than
 * `most`. */
static double squares_of(const double complex *z, const struct sums *sums, unsigned frames,
                         unsigned first, unsigned end, double most, struct leap_light *ret)
{
    const unsigned on = end - first, off = frames - on;
    const double complex outside = sums->z[frames] - (sums->z[end] - sums->z[first]);
    const double complex centre = outside / off;
    const double dark =
        sums->square[frames] - (sums->square[end] - sums->square[first]) - off * square_of(centre);
    double radius = 0, squares = 0;
    if (!(dark < most))
        return INFINITY;
    for (unsigned i = first; i < end; i++) {
        const double far2 = square_of(z[i] - centre);
        radius += sqrt(far2);
        squares += far2;
    }
    radius /= on;
    *ret = (struct leap_light){first, centre, radius};
    return fmax(0, dark) + fmax(0, squares - on * radius * radius);
}

/* Returns whether the frames from `first` to before `end` may be the only ones with the light. A
 * few frames that are a third of a period apart also lie on circles around some of them, so a few
 * others must be there. */
static bool is_possible(unsigned frames, unsigned first, unsigned end)
{
    if (frames <= FEWEST_OFF)
        return end - first == 1 && (first == 0 || end == frames);
    if (end == frames)
        return first >= FEWEST_OFF;
    return first == 0 || (first >= FEWEST_OFF && end - first >= FEWEST_ON);
}

/* Finds which explanation of the frames' amplitudes is the best. noise: standard deviation of the
 * real and of the imaginary part of an amplitude. on_circle: residual sum of squares of the circle
 * through all frames. ret is the best beginning, or untouched if there is none. */
static enum leap find_leap(const double complex *amplitude, unsigned frames, double noise,
                           double on_circle, struct leap_light *ret)
{
    double begun = INFINITY, ended = INFINITY, radius = 0;
    struct leap_light light;
    struct sums sums;
    if (frames < 3)
        return LEAP_NONE;
    add_up(amplitude, frames, &sums);
    for (unsigned first = 0; first < frames; first++)
        for (unsigned end = first + 1; end <= frames; end++) {
            const bool is_begun = end == frames;
            double *so_far = is_begun ? &begun : &ended;
            if (!is_possible(frames, first, end))
                continue;
            const double squares =
                squares_of(amplitude, &sums, frames, first, end, *so_far, &light);
            if (squares < fmin(begun, ended))
                radius = light.radius;
            if (is_begun && squares < begun)
                *ret = light;
            *so_far = fmin(*so_far, squares);
        }
    const double least = fmin(on_circle, fmin(begun, ended)), radius2 = radius * radius;
    const double noise2 = fmax(noise * noise, least / (2 * frames));
    if (fmin(begun, ended) > on_circle + AS_GOOD * noise2 + ROUGH_AS_GOOD * radius2)
        return LEAP_NONE;
    if (begun + fmax(BETTER * noise2, ROUGH_BETTER * radius2) < ended && ret->first >= FEWEST_OFF)
        return LEAP_BEGUN;
    return LEAP_UNKNOWN;
}

/* Fills the light and the phases from a circle. Frames before `first` are without the light; others
 * are lit if is_used says so, or if that is NULL. */
static void fill(const struct fit *fit, const struct rows *rows, const struct leap_light *light,
                 const bool *is_used, struct light_fit *ret)
{
    ret->light[0] = light->radius;
    for (unsigned i = 0; i < fit->frames; i++) {
        const struct rows_frame *frame = &rows->frame[fit->first + i];
        ret->frame[i] =
            (struct lit_frame){.serial = frame->serial,
                               .is_lit = i >= light->first && (is_used == NULL || is_used[i]),
                               .is_off = i < light->first,
                               .phase = carg(fit->amplitude[i] - light->centre) / (2 * M_PI) -
                                        ret->rows_cycles * frame->offset_px};
    }
}

static void begin_fit(const struct fit *fit, const struct rows *rows, double rows_cycles,
                      const double still[FLICKER_STILL], struct light_fit *ret)
{
    *ret = (struct light_fit){.count = fit->frames, .rows_cycles = rows_cycles};
    memcpy(ret->still, still, sizeof ret->still);
    ret->noise = fit->noise * sqrt(rows->frame[rows->count - 1].bins / 2.0);
}

/* ---- a light of a constant frequency ---- */

/* Amplitudes move along a circle at a constant speed. A small arc does not determine the size of
 * the circle, and a fit that begins with a wrong size may keep it. */
struct steady {
    const struct fit *fit;
    double passed[ROWS_FRAMES]; /* times since the first frame, in units */
    double speed;               /* cycles in a unit */
    double complex centre, radius;
    double rest; /* residual sum of squares */
};

static void find_times(struct steady *steady, const struct rows *rows)
{
    const struct rows_frame *frame = &rows->frame[steady->fit->first];
    const unsigned last = steady->fit->frames - 1;
    double unit_ns = INFINITY;
    for (unsigned i = 1; i <= last; i++)
        unit_ns = fmin(unit_ns, (double)(frame[i].captured_ns - frame[i - 1].captured_ns));
    unit_ns = fmax(unit_ns, (double)(frame[last].captured_ns - frame->captured_ns) / last / UNITS);
    for (unsigned i = 0; i <= last; i++)
        steady->passed[i] = (double)(frame[i].captured_ns - frame->captured_ns) / unit_ns;
}

/* Fits the circle for one speed. The radius is held near 0, because the centre cannot be told from
 * an arc that hardly moves. */
static void fit_speed(struct steady *steady, const struct rows *rows, double rows_cycles,
                      double speed)
{
    const struct fit *fit = steady->fit;
    const double hold = fit->noise * fit->noise / (LARGE_RADIUS * LARGE_RADIUS), n = fit->frames;
    double complex turn[ROWS_FRAMES], sum = 0, sum_z = 0, sum_turned = 0;
    for (unsigned i = 0; i < fit->frames; i++) {
        const double offset_px = rows->frame[fit->first + i].offset_px;
        turn[i] = rows_phasor(speed * steady->passed[i] + rows_cycles * offset_px);
        sum += turn[i];
        sum_z += fit->amplitude[i];
        sum_turned += light_turn(conj(turn[i]), fit->amplitude[i]);
    }
    steady->speed = speed;
    steady->radius =
        (sum_turned - light_turn(conj(sum), sum_z) / n) / (n - square_of(sum) / n + hold);
    steady->centre = (sum_z - light_turn(sum, steady->radius)) / n;
    steady->rest = hold * square_of(steady->radius);
    for (unsigned i = 0; i < fit->frames; i++)
        steady->rest +=
            square_of(fit->amplitude[i] - steady->centre - light_turn(turn[i], steady->radius));
}

bool fit_start_steady(const struct rows *rows, double rows_cycles,
                      const double still[FLICKER_STILL], struct light_fit *ret)
{
    struct fit fit;
    struct steady steady = {.fit = &fit}, best = {.rest = INFINITY};
    fit_history(rows, rows_cycles, still, ROWS_FRAMES, 1, 3, &fit);
    if (fit.frames < FEWEST_STEADY)
        return false;
    find_times(&steady, rows);
    const unsigned speeds = (unsigned)(SPEEDS * (steady.passed[fit.frames - 1] + 1));
    for (unsigned i = 0; i < speeds; i++) {
        fit_speed(&steady, rows, rows_cycles, (i + 0.5) / speeds);
        if (steady.rest < best.rest)
            best = steady;
    }
    begin_fit(&fit, rows, rows_cycles, still, ret);
    ret->light[0] = cabs(best.radius);
    for (unsigned i = 0; i < fit.frames; i++)
        ret->frame[i] = (struct lit_frame){.serial = rows->frame[fit.first + i].serial,
                                           .is_lit = true,
                                           .phase = best.speed * best.passed[i] +
                                                    carg(best.radius) / (2 * M_PI)};
    return creal(ret->light[0]) > 0;
}

bool fit_start(const struct rows *rows, double rows_cycles, const double still[FLICKER_STILL],
               struct light_fit *ret)
{
    bool is_used[ROWS_FRAMES];
    struct fit fit;
    struct leap_light circle = {0}, begun = {0};
    fit_history(rows, rows_cycles, still, ROWS_FRAMES, 1, 3, &fit);
    const bool is_circle = circle_through(&fit, is_used, &circle.centre, &circle.radius);
    const double beside = is_circle ? squares_beside(&fit, circle.centre, circle.radius) : INFINITY;
    const enum leap leap = find_leap(fit.amplitude, fit.frames, fit.noise, beside, &begun);
    if (leap == LEAP_UNKNOWN || (leap == LEAP_NONE && !is_circle))
        return false;
    begin_fit(&fit, rows, rows_cycles, still, ret);
    if (leap == LEAP_NONE)
        fill(&fit, rows, &circle, is_used, ret);
    /* Amplitudes alone are too rough to decide, but no light has a phase that leaps. */
    if (leap == LEAP_BEGUN || (begun.first > 0 && light_leaps(ret, rows)))
        fill(&fit, rows, &begun, NULL, ret);
    return true;
}
