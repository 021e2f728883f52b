#include "estimators/flicker/flicker_light.h"

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
