/* deflicker: evens out the flickering light that an estimator follows
 * (estimators/flicker/flicker.h). */
#include <errno.h>

#include "filters/filter_shape.h"

enum { DEFLICKER_FREQUENCY, DEFLICKER_LINE_TIME };
#define MIN_LIGHT_HZ     20.0
#define MIN_LINE_TIME_US 1.0

/* Each of the two parameters is 0, or at least its smallest value. */
static int deflicker_check(const struct filter_stage *stage, struct error *why)
{
    const double frequency = number(stage, DEFLICKER_FREQUENCY);
    const double line_time = number(stage, DEFLICKER_LINE_TIME);
    if (frequency != 0 && frequency < MIN_LIGHT_HZ)
        return error_set(
            why, EINVAL,
            "deflicker: frequency = %g is out of range: expected 0 (any, 100 and 120 Hz "
            "are preferred) or 20 .. 1000 Hz",
            frequency);
    if (line_time != 0 && line_time < MIN_LINE_TIME_US)
        return error_set(why, EINVAL,
                         "deflicker: line-time = %g is out of range: expected 0 (estimated) or 1 "
                         ".. 1000 us",
                         line_time);
    return 0;
}

static void deflicker_adapt(const struct filter_stage *stage, struct filter_adaptation *ret)
{
    ret->removes_flicker = true;
    ret->flicker.frequency_hz = number(stage, DEFLICKER_FREQUENCY);
    ret->flicker.line_time_us = number(stage, DEFLICKER_LINE_TIME);
}

const struct filter_kind filter_deflicker = {
    .name = "deflicker",
    .group = "light",
    .summary = "finds the bands of flickering light on a rolling shutter, and evens them out",
    .formula = "H = 1; a captured sample s(x, y) becomes s(x, y) * g(y), where g(y) is the inverse "
               "of the light found for row y of the frame",
    .adapts = FILTER_ADAPTS_FLICKER,
    .adapt = deflicker_adapt,
    .param =
        {
            [DEFLICKER_FREQUENCY] =
                {
                    .name = "frequency",
                    .unit = "Hz",
                    .summary = "of the light, twice that of the mains; 0: any, 100 and 120 are "
                               "preferred",
                    .max = 1000,
                },
            [DEFLICKER_LINE_TIME] =
                {
                    .name = "line-time",
                    .unit = "us",
                    .summary = "from the exposure of a row to that of the next; 0: estimated",
                    .max = 1000,
                },
        },
    .check = deflicker_check,
    .example = "deflicker",
};
