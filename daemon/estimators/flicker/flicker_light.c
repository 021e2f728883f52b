#include "estimators/flicker/flicker_light.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/order.h"

/* Steps of the phase from frame to frame, as phasors. They are steady if their mean is longer than
 * STEADY, and leap if they differ by more than LEAP. Chosen on clips of tests/unit/flicker.c. */
#define STEADY       0.9
#define LEAP         1.0
#define FEWEST_STEPS 4u
/* With at least FEWEST_ALIKE steps, one is a leap already if it differs from their mean by more
 * than LITTLE_LEAP, and by more than OUTSIDE times the median difference. */
#define FEWEST_ALIKE 10u
#define LITTLE_LEAP  0.25
#define OUTSIDE      10.0
/* A step whose time is off by more than SCATTERED times what is usual may also differ by what mains
 * light advances in the rest. If all times scatter, so do the steps, unless only stamps are off. */
#define MAINS_HZ     120.0
#define SCATTERED    3.0

/* For light_has_stopped(), chosen on the same clips. */
#define HARDLY       0.1 /* share of the mean square by which lit frames change */
#define NOISE_ALONE  3.0 /* a mean square of at most this many times that of noise is no change */

struct view light_view(const struct light_fit *fit, const struct rows *rows,
                       const struct rows_frame *frame, double phase)
{
    struct view view;
    const double row = (frame->first_bin + 0.5) * rows->bin_px + frame->offset_px - 0.5;
    view.first = rows_phasor(phase + fit->rows_cycles * row);
    view.step = rows_phasor(fit->rows_cycles * rows->bin_px);
    for (unsigned h = 0; h < FLICKER_HARMONICS; h++)
        view.attenuation[h] = rows_attenuation(rows, (h + 1) * fit->rows_cycles);
    return view;
}

struct shine light_shine(const struct light_fit *fit, const struct view *view,
                         double complex phasor)
{
    struct shine shine = {.value = 0};
    double complex power = 1;
    for (unsigned h = 0; h < FLICKER_HARMONICS; h++) {
        power = light_turn(power, phasor);
        const double c = view->attenuation[h] * creal(power),
                     s = view->attenuation[h] * cimag(power);
        shine.re[h] = c;
        shine.im[h] = -s;
        shine.value += creal(fit->light[h]) * c - cimag(fit->light[h]) * s;
        shine.slope -= 2 * M_PI * (h + 1) * (creal(fit->light[h]) * s + cimag(fit->light[h]) * c);
    }
    return shine;
}

double light_swing(const struct light_fit *fit, const struct rows *rows, unsigned harmonic)
{
    double complex sum = 0;
    unsigned lit = 0, used = 0;
    for (unsigned i = 0; i < fit->count; i++) {
        used += light_is_used(&fit->frame[i]);
        if (fit->frame[i].is_lit) {
            const double offset_px = light_frame(fit, rows, i)->offset_px;
            sum +=
                rows_phasor((harmonic + 1) * (fit->frame[i].phase + fit->rows_cycles * offset_px));
            lit++;
        }
    }
    const double still = creal(sum) * creal(sum) + cimag(sum) * cimag(sum);
    return fmax(1 - still / lit / used, 1e-6);
}

/* Returns whether the phase is somewhere else than expected after frames that were ignored. step:
 * how far the phase advances from frame to frame, as a phasor. */
static bool leaps_behind_others(const struct light_fit *fit, const struct rows *rows,
                                double complex step, double interval_ns)
{
    double complex advance = step;
    unsigned last = 0;
    for (unsigned i = 1; i < fit->count; i++, advance = light_turn(advance, step)) {
        if (!light_is_used(&fit->frame[i]))
            continue;
        const double passed_ns = (double)(light_frame(fit, rows, i)->captured_ns -
                                          light_frame(fit, rows, last)->captured_ns);
        const double turn = fit->frame[i].phase - fit->frame[last].phase;
        if (fit->frame[last].is_lit && fit->frame[i].is_lit && i > last + 1 &&
            passed_ns < (i - last + 0.5) * interval_ns && cabs(rows_phasor(turn) - advance) > LEAP)
            return true;
        last = i;
        advance = 1;
    }
    return false;
}

/* The steps of the phase between frames that are both lit, and their times. */
struct steps {
    unsigned count;
    double complex step[ROWS_FRAMES];
    double passed_ns[ROWS_FRAMES];
    double usual_ns;
};

/* Returns the usual time between frames: many may be skipped, and few come early. */
static double usual_time(const double *passed_ns, unsigned count)
{
    double sorted[ROWS_FRAMES] = {0};
    if (count == 0)
        return INFINITY;
    memcpy(sorted, passed_ns, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, order_doubles);
    return sorted[count / 4];
}

static double time_before(const struct light_fit *fit, const struct rows *rows, unsigned i)
{
    return (double)(light_frame(fit, rows, i)->captured_ns -
                    light_frame(fit, rows, i - 1)->captured_ns);
}

static void list_steps(const struct light_fit *fit, const struct rows *rows, struct steps *ret)
{
    ret->count = 0;
    for (unsigned i = 1; i < fit->count; i++) {
        if (!fit->frame[i - 1].is_lit || !fit->frame[i].is_lit)
            continue;
        ret->step[ret->count] = rows_phasor(fit->frame[i].phase - fit->frame[i - 1].phase);
        ret->passed_ns[ret->count++] = time_before(fit, rows, i);
    }
    ret->usual_ns = usual_time(ret->passed_ns, ret->count);
}

/* Returns whether about as much time passed as usual, so that no frame was skipped. */
static bool is_usual(const struct steps *steps, unsigned i)
{
    return fabs(steps->passed_ns[i] - steps->usual_ns) <= 0.5 * steps->usual_ns;
}

/* Returns whether one step is far from all others, which are alike. One frame whose phase is off
 * makes two such steps, of which the second takes back the first; these do not count. */
static bool leaps_a_little(const struct steps *steps, double complex mean)
{
    const double complex *step = steps->step;
    double far[ROWS_FRAMES], off_ns[ROWS_FRAMES];
    if (steps->count < FEWEST_ALIKE)
        return false;
    for (unsigned i = 0; i < steps->count; i++) {
        far[i] = cabs(step[i] - mean);
        off_ns[i] = fabs(steps->passed_ns[i] - steps->usual_ns);
    }
    qsort(far, steps->count, sizeof *far, order_doubles);
    qsort(off_ns, steps->count, sizeof *off_ns, order_doubles);
    const double most = fmax(LITTLE_LEAP, OUTSIDE * far[steps->count / 2]);
    for (unsigned i = 0; i < steps->count; i++) {
        const double complex off = step[i] - mean;
        const double rest_ns = fmax(0, fabs(steps->passed_ns[i] - steps->usual_ns) -
                                           SCATTERED * off_ns[steps->count / 2]);
        const bool is_taken_back =
            (i > 0 && cabs(off + step[i - 1] - mean) < 0.5 * cabs(off)) ||
            (i + 1 < steps->count && cabs(off + step[i + 1] - mean) < 0.5 * cabs(off));
        if (is_usual(steps, i) && cabs(off) > most + 2 * M_PI * MAINS_HZ * rest_ns / NS_PER_S &&
            !is_taken_back)
            return true;
    }
    return false;
}

bool light_is_steady(const struct light_fit *fit, const struct rows *rows)
{
    struct steps steps;
    double complex all = 0;
    unsigned count = 0;
    list_steps(fit, rows, &steps);
    for (unsigned i = 0; i < steps.count; i++)
        if (is_usual(&steps, i)) {
            all += steps.step[i];
            count++;
        }
    return count > 0 && cabs(all) >= STEADY * count;
}

bool light_leaps(const struct light_fit *fit, const struct rows *rows)
{
    double complex all = 0, before = 0;
    struct steps steps;
    list_steps(fit, rows, &steps);
    if (steps.count < FEWEST_STEPS)
        return false;
    for (unsigned i = 0; i < steps.count; i++)
        all += steps.step[i];
    for (unsigned i = 0; i < steps.count; before += steps.step[i++]) {
        const double complex step = steps.step[i], after = all - before - step;
        const double complex others = before + after;
        const unsigned left = steps.count - 1 - i;
        if (cabs(before) + cabs(after) < STEADY * (steps.count - 1) || !is_usual(&steps, i))
            continue;
        if (cabs(others) > STEADY * (steps.count - 1) && cabs(step - others / cabs(others)) > LEAP)
            return true;
        if (i >= 2 && left >= 2 && cabs(before / i - after / left) > LEAP)
            return true;
    }
    if (cabs(all) < STEADY * steps.count)
        return false;
    return leaps_a_little(&steps, all / cabs(all)) ||
           leaps_behind_others(fit, rows, all / cabs(all), steps.usual_ns);
}

/* The change from one frame to the next, without exposure and the effect of the sensor's rows: its
 * mean square, and the part of that which is noise, from second differences along bins. */
struct change {
    double all, noise; /* INFINITY and 0 if the frames have nothing in common */
};

static struct change change_of(const struct light_fit *fit, const struct rows *rows, unsigned i)
{
    const struct rows_frame *last = light_frame(fit, rows, i - 1);
    const struct rows_frame *frame = light_frame(fit, rows, i);
    double sum = 0, squares = 0, bends = 0, before[2] = {0};
    unsigned count = 0, run = 0, bent = 0;
    for (unsigned k = 0; k < frame->bins; k++) {
        const int bin = frame->first_bin + (int)k;
        if (!rows_is_valid(rows, frame, bin) || !rows_is_valid(rows, last, bin)) {
            run = 0;
            continue;
        }
        const double change = (double)frame->value[k] - (double)last->value[bin - last->first_bin] -
                              flicker_model_still(fit->still, rows_place(rows, frame, bin)) +
                              flicker_model_still(fit->still, rows_place(rows, last, bin));
        const double bend = before[0] - 2 * before[1] + change;
        sum += change;
        squares += change * change;
        count++;
        if (run++ >= 2) {
            bends += bend * bend / 6;
            bent++;
        }
        before[0] = before[1];
        before[1] = change;
    }
    return bent > 0 ? (struct change){(squares - sum * sum / count) / count, bends / bent}
                    : (struct change){INFINITY, 0};
}

bool light_has_stopped(const struct light_fit *fit, const struct rows *rows)
{
    double passed_ns[ROWS_FRAMES], before = 0, newest = 0;
    unsigned count = 0;
    for (unsigned i = 1; i < fit->count; i++)
        passed_ns[i - 1] = time_before(fit, rows, i);
    const double usual_ns = usual_time(passed_ns, fit->count > 0 ? fit->count - 1 : 0);
    for (unsigned i = 1; i < fit->count; i++) {
        const bool is_newest = i + LIGHT_STOPPED >= fit->count;
        const struct change change = change_of(fit, rows, i);
        /* After a longer time, bands may be where they were. */
        const bool is_usual = passed_ns[i - 1] <= 1.5 * usual_ns;
        if (is_newest && (!is_usual || change.all > NOISE_ALONE * change.noise))
            return false;
        if (is_newest) {
            newest = fmax(newest, change.all);
        } else if (is_usual && isfinite(change.all) && fit->frame[i - 1].is_lit &&
                   fit->frame[i].is_lit) {
            before += change.all;
            count++;
        }
    }
    return count > 0 && newest < HARDLY * before / count;
}

double light_white_noise(const struct rows *rows)
{
    double squares = 0;
    unsigned count = 0;
    for (unsigned n = 1; n < rows->count; n++) {
        const struct rows_frame *last = &rows->frame[n - 1], *frame = &rows->frame[n];
        double before[2] = {0};
        unsigned known = 0;
        for (int bin = frame->first_bin; bin < frame->first_bin + (int)frame->bins; bin++) {
            if (!rows_is_valid(rows, frame, bin) || !rows_is_valid(rows, last, bin)) {
                known = 0;
                continue;
            }
            const double change = (double)frame->value[bin - frame->first_bin] -
                                  (double)last->value[bin - last->first_bin];
            if (known >= 2) {
                const double bend = before[0] - 2 * before[1] + change;
                squares += bend * bend / 12;
                count++;
            }
            before[0] = before[1];
            before[1] = change;
            known++;
        }
    }
    return fmax(LIGHT_NOISE, count > 0 ? sqrt(squares / count) : 0);
}
