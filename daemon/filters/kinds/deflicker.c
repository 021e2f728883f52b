/* deflicker: evens out the flickering light that an estimator follows (estimators/flicker.h). */
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
    .summary = "finds the bands of flickering light on a rolling shutter, and evens them out",
    .formula = "H = 1; a captured sample s(x, y) becomes s(x, y) * g(y), where g(y) is the inverse "
               "of the light found for row y of the frame",
    .adapts = FILTER_ADAPTS_FLICKER,
    .adapt = deflicker_adapt,
    .param_count = 2,
    .param =
        {
            [DEFLICKER_FREQUENCY] =
                {
                    .name = "frequency",
                    .unit = "Hz",
                    .summary = "of the light, twice that of the mains; 0: any, 100 and 120 are "
                               "preferred",
                    .type = FILTER_NUMBER,
                    .max = 1000,
                },
            [DEFLICKER_LINE_TIME] =
                {
                    .name = "line-time",
                    .unit = "us",
                    .summary = "from the exposure of a row to that of the next; 0: estimated",
                    .type = FILTER_NUMBER,
                    .max = 1000,
                },
        },
    .check = deflicker_check,
    .docs =
        {
            .scene = "scene",
            .example = "deflicker",
            .note = "The light of the scene is steady, so that nothing changes.",
            .details =
                "A thread follows the means of rows along the motion of the scene, and finds "
                "light of one frequency, with three harmonics, that a rolling shutter has "
                "exposed row by row. Its phase is then measured in each frame that is "
                "corrected. Each row is multiplied by one factor, 0.5 to 2, which keeps the "
                "mean brightness over a cycle of the light. Samples are corrected in the "
                "same way as by `auto-notch`, whose waves are subtracted first.\n"
                "Correction starts after about ten frames, and later where the bands hardly "
                "move. Light that is steady again is left alone at once. If both the bands and the "
                "scene stand still, as with 100 "
                "Hz at exactly 25 or 50 frames a second, the bands cannot be told from the "
                "scene.\n"
                "Sample 0 is taken for black, so video whose black is 16 is corrected less "
                "exactly in dark parts.",
        },
};
