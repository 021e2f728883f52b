#include "estimators/flicker/flicker_light.h"

/* Steps of the phase from frame to frame, as phasors. They are steady if their mean is longer than
 * STEADY, and leap if they differ by more than LEAP. Chosen on clips of tests/unit/flicker.c. */
#define STEADY       0.9
#define LEAP         1.0
#define FEWEST_STEPS 4u

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

bool light_leaps(const struct light_fit *fit, const struct rows *rows)
{
    double complex step[ROWS_FRAMES], all = 0, before = 0;
    double passed_ns[ROWS_FRAMES], least_ns = INFINITY;
    unsigned steps = 0;
    for (unsigned i = 1; i < fit->count; i++) {
        if (!fit->frame[i - 1].is_lit || !fit->frame[i].is_lit)
            continue;
        step[steps] = rows_phasor(fit->frame[i].phase - fit->frame[i - 1].phase);
        passed_ns[steps] = (double)(light_frame(fit, rows, i)->captured_ns -
                                    light_frame(fit, rows, i - 1)->captured_ns);
        least_ns = fmin(least_ns, passed_ns[steps]);
        all += step[steps++];
    }
    for (unsigned i = 0; i < steps && steps >= FEWEST_STEPS; before += step[i++]) {
        const double complex after = all - before - step[i], others = before + after;
        const unsigned left = steps - 1 - i;
        if (cabs(before) + cabs(after) < STEADY * (steps - 1) || passed_ns[i] > 1.5 * least_ns)
            continue;
        if (cabs(others) > STEADY * (steps - 1) && cabs(step[i] - others / cabs(others)) > LEAP)
            return true;
        if (i >= 2 && left >= 2 && cabs(before / i - after / left) > LEAP)
            return true;
    }
    return false;
}
