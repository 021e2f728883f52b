/* auto-notch: subtracts the waves that an estimator finds (estimators/periodic.h). */
#include <errno.h>
#include <math.h>

#include "filters/filter_shape.h"

enum { AUTO_NOTCH_THRESHOLD, AUTO_NOTCH_WAVES, AUTO_NOTCH_FREEZE };

static int auto_notch_check(const struct filter_stage *stage, struct error *why)
{
    const double waves = number(stage, AUTO_NOTCH_WAVES);
    if (waves != rint(waves))
        return error_set(why, EINVAL,
                         "auto-notch: waves = %g is not a whole number: expected 1 .. %d", waves,
                         CORRECTION_MAX_WAVES);
    return 0;
}

static void auto_notch_adapt(const struct filter_stage *stage, struct filter_adaptation *ret)
{
    ret->removes_waves = true;
    ret->waves.min_amplitude = number(stage, AUTO_NOTCH_THRESHOLD);
    ret->waves.max_waves = (unsigned)number(stage, AUTO_NOTCH_WAVES);
    ret->is_frozen = number(stage, AUTO_NOTCH_FREEZE) != 0;
}

const struct filter_kind filter_auto_notch = {
    .name = "auto-notch",
    .group = "patterns",
    .summary = "finds periodic noise of the camera, follows it and subtracts it",
    .formula =
        "H = 1; a captured sample s(x, y) becomes s(x, y) - sum of A * cos(2 * pi * (fx * x + "
        "fy * y) + p) over the waves found, whose A and p are measured in each frame",
    .adapts = FILTER_ADAPTS_WAVES,
    .adapt = auto_notch_adapt,
    .param =
        {
            [AUTO_NOTCH_THRESHOLD] =
                {
                    .name = "threshold",
                    .unit = "grey levels of 255",
                    .summary = "weaker waves are left alone",
                    .min = 0.05,
                    .max = 64,
                    .initial = PERIODIC_MIN_AMPLITUDE,
                },
            [AUTO_NOTCH_WAVES] =
                {
                    .name = "waves",
                    .summary = "how many are removed at most, the strongest first",
                    .min = 1,
                    .max = CORRECTION_MAX_WAVES,
                    .initial = CORRECTION_MAX_WAVES,
                },
            [AUTO_NOTCH_FREEZE] =
                {
                    .name = "freeze",
                    .summary = "keeps to the waves found so far, and looks for no others",
                    .type = FILTER_BOOL,
                },
        },
    .check = auto_notch_check,
    .example = "auto-notch",
};
