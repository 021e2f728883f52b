#include "filters/filter_adapt.h"

#include <complex.h>
#include <errno.h>
#include <math.h>

#include "filters/filter_shape.h"

/* ---- auto-notch ---- */

enum { NOTCH_THRESHOLD, NOTCH_WAVES, NOTCH_FREEZE };

static int auto_notch_check(const struct filter_stage *stage, struct error *why)
{
    const double waves = number(stage, NOTCH_WAVES);
    if (waves != rint(waves))
        return error_set(why, EINVAL,
                         "auto-notch: waves = %g is not a whole number: expected 1 .. %d", waves,
                         CORRECTION_MAX_WAVES);
    return 0;
}

const struct filter_kind filter_auto_notch = {
    .name = "auto-notch",
    .summary = "finds periodic noise of the camera, follows it and subtracts it",
    .formula =
        "H = 1; a captured sample s(x, y) becomes s(x, y) - sum of A * cos(2 * pi * (fx * x + "
        "fy * y) + p) over the waves found, whose p follows the frames",
    .adapts = FILTER_ADAPTS_WAVES,
    .param_count = 3,
    .param =
        {
            [NOTCH_THRESHOLD] =
                {
                    .name = "threshold",
                    .unit = "grey levels of 255",
                    .summary = "weaker waves are left alone",
                    .type = FILTER_NUMBER,
                    .min = 0.05,
                    .max = 64,
                    .initial = PERIODIC_MIN_AMPLITUDE,
                },
            [NOTCH_WAVES] =
                {
                    .name = "waves",
                    .unit = "",
                    .summary = "how many are removed at most, the strongest first",
                    .type = FILTER_NUMBER,
                    .min = 1,
                    .max = CORRECTION_MAX_WAVES,
                    .initial = CORRECTION_MAX_WAVES,
                },
            [NOTCH_FREEZE] =
                {
                    .name = "freeze",
                    .unit = "",
                    .summary = "keeps to the waves found so far, and looks for no others",
                    .type = FILTER_BOOL,
                },
        },
    .check = auto_notch_check,
    .response = filter_response_one,
    .support = filter_support_none,
};

/* ---- deflicker ---- */

enum { DEFLICKER_FREQUENCY, DEFLICKER_LINE_TIME };
#define MIN_LIGHT_HZ     20.0
#define MIN_LINE_TIME_US 1.0

/* Both are 0, or at least their smallest value. */
static int deflicker_check(const struct filter_stage *stage, struct error *why)
{
    const double frequency = number(stage, DEFLICKER_FREQUENCY);
    const double line_time = number(stage, DEFLICKER_LINE_TIME);
    if (frequency != 0 && frequency < MIN_LIGHT_HZ)
        return error_set(why, EINVAL,
                         "deflicker: frequency = %g is out of range: expected 0 (100 or 120 Hz, "
                         "whichever there is) or 20 .. 1000 Hz",
                         frequency);
    if (line_time != 0 && line_time < MIN_LINE_TIME_US)
        return error_set(why, EINVAL,
                         "deflicker: line-time = %g is out of range: expected 0 (estimated) or 1 "
                         ".. 1000 us",
                         line_time);
    return 0;
}

const struct filter_kind filter_deflicker = {
    .name = "deflicker",
    .summary = "finds the bands of flickering light on a rolling shutter, and evens them out",
    .formula = "H = 1; a captured sample s(x, y) becomes s(x, y) * g(y), where g(y) is the inverse "
               "of the light found for row y of the frame",
    .adapts = FILTER_ADAPTS_FLICKER,
    .param_count = 2,
    .param =
        {
            [DEFLICKER_FREQUENCY] =
                {
                    .name = "frequency",
                    .unit = "Hz",
                    .summary = "of the light, twice that of the mains; 0: 100 or 120, whichever "
                               "there is",
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
    .response = filter_response_one,
    .support = filter_support_none,
};

/* ---- stabilise ---- */

enum { STABILISE_TIME, STABILISE_LIMIT };

/* It is one for each frame times a ramp (engine/ramp.h), for which the engine's has to be complex.
 */
static double complex one(const struct filter_stage *stage, double fx, double fy)
{
    (void)stage;
    (void)fx;
    (void)fy;
    return 1;
}

static double stabilise_support(const struct filter_stage *stage)
{
    return number(stage, STABILISE_LIMIT);
}

const struct filter_kind filter_stabilise = {
    .name = "stabilise",
    .summary = "finds how the camera shakes, and moves each frame against it",
    .formula = "H = 1; a frame is filtered with H * exp(-2 * pi * i * (fx * x + fy * y)), which "
               "moves it by the pixels x and y from the path of the camera to a smooth one",
    .adapts = FILTER_ADAPTS_SHAKE,
    .param_count = 2,
    .param =
        {
            [STABILISE_TIME] =
                {
                    .name = "time",
                    .unit = "s",
                    .summary = "time constant of the smooth path; slower motion is kept",
                    .type = FILTER_NUMBER,
                    .min = 0.05,
                    .max = 10,
                    .initial = 0.5,
                },
            [STABILISE_LIMIT] =
                {
                    .name = "limit",
                    .unit = "px",
                    .summary = "the most by which a frame is moved along each axis",
                    .type = FILTER_NUMBER,
                    .min = 1,
                    .max = 64,
                    .initial = 16,
                },
        },
    .complex_response = one,
    .support = stabilise_support,
};

/* ---- chains ---- */

struct filter_adaptation filter_chain_adaptation(const struct filter_chain *chain)
{
    struct filter_adaptation ret = {.removes_waves = false};
    for (unsigned i = 0; i < chain->count; i++) {
        const struct filter_stage *stage = &chain->stage[i];
        if (stage->kind == &filter_match && ret.match_image == NULL)
            ret.match_image = stage->image;
        switch (stage->kind->adapts) {
        case FILTER_ADAPTS_NOT:
            break;
        case FILTER_ADAPTS_WAVES:
            ret.removes_waves = true;
            ret.waves =
                (struct periodic_options){.min_amplitude = number(stage, NOTCH_THRESHOLD),
                                          .max_waves = (unsigned)number(stage, NOTCH_WAVES)};
            ret.is_frozen = number(stage, NOTCH_FREEZE) != 0;
            break;
        case FILTER_ADAPTS_SHAKE:
            ret.stabilises = true;
            ret.shake = (struct stabiliser_options){.time_s = number(stage, STABILISE_TIME),
                                                    .limit_px = number(stage, STABILISE_LIMIT)};
            break;
        case FILTER_ADAPTS_FLICKER:
            ret.removes_flicker = true;
            ret.flicker =
                (struct flicker_options){.frequency_hz = number(stage, DEFLICKER_FREQUENCY),
                                         .line_time_us = number(stage, DEFLICKER_LINE_TIME)};
            break;
        }
    }
    return ret;
}

bool filter_chain_adapts(const struct filter_chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        if (filter_kind_corrects(chain->stage[i].kind))
            return true;
    return false;
}

bool filter_chain_stabilises(const struct filter_chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        if (chain->stage[i].kind->adapts == FILTER_ADAPTS_SHAKE)
            return true;
    return false;
}
