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
    .summary = "finds periodic noise of the camera, follows it and subtracts it",
    .formula =
        "H = 1; a captured sample s(x, y) becomes s(x, y) - sum of A * cos(2 * pi * (fx * x + "
        "fy * y) + p) over the waves found, whose A and p are measured in each frame",
    .adapts = FILTER_ADAPTS_WAVES,
    .adapt = auto_notch_adapt,
    .param_count = 3,
    .param =
        {
            [AUTO_NOTCH_THRESHOLD] =
                {
                    .name = "threshold",
                    .unit = "grey levels of 255",
                    .summary = "weaker waves are left alone",
                    .type = FILTER_NUMBER,
                    .min = 0.05,
                    .max = 64,
                    .initial = PERIODIC_MIN_AMPLITUDE,
                },
            [AUTO_NOTCH_WAVES] =
                {
                    .name = "waves",
                    .unit = "",
                    .summary = "how many are removed at most, the strongest first",
                    .type = FILTER_NUMBER,
                    .min = 1,
                    .max = CORRECTION_MAX_WAVES,
                    .initial = CORRECTION_MAX_WAVES,
                },
            [AUTO_NOTCH_FREEZE] =
                {
                    .name = "freeze",
                    .unit = "",
                    .summary = "keeps to the waves found so far, and looks for no others",
                    .type = FILTER_BOOL,
                },
        },
    .check = auto_notch_check,
    .docs =
        {
            .scene = "moire",
            .example = "auto-notch",
            .note = "After some frames it has found the three waves.",
            .details = "### What it finds\n"
                       "A thread looks at some of the captured frames, using at most a third of a "
                       "processor. It finds waves that have the same frequency and amplitude all "
                       "over the picture and do not move with it, such as the camera's electronics "
                       "add. Their phase may be another one in each frame, and their frequency may "
                       "drift by up to a tenth of 1 / width between two frames that it looks at. "
                       "`fftd-ctl filter show` lists what was found.\n"
                       "Both sides of a frame need at least 96 pixels. Waves with fewer than about "
                       "three periods in a quarter of the smaller side are taken for the picture. "
                       "Regular texture, such as a brick wall or a blind, has many lines in the "
                       "spectrum, each a multiple or a sum of others. Waves that are related in "
                       "this way are left alone.\n"
                       "A pure sine that fills the picture, such as corrugated sheet, looks like "
                       "interference and is removed. Raise `threshold` or set `freeze` to prevent "
                       "this.\n"
                       "A change of other stages or of `freeze` keeps what was found. Another "
                       "source, frame size, `threshold` or `waves` starts a new search.\n"
                       "### How it removes waves\n"
                       "Waves are subtracted from captured samples, wherever the stage is in the "
                       "chain, and from the first frame of a fade on. For RGB and mosaics, luma is "
                       "corrected and its change is added to the colours; with `engine.planes = "
                       "\"all\"` each colour is corrected. The search does not know what `dark`, "
                       "`flat` and `vignette` do, so a wave is removed less well where their gain "
                       "is not 1.\n"
                       "The amplitude and phase of each wave are measured in the very frame from "
                       "which it is subtracted, so a wave that begins again, changes or ends does "
                       "so in the same frame. What the scene has at exactly these frequencies, "
                       "usually less than a grey level, goes with them.\n"
                       "Where a wave has made samples black or white, a part of it stays.",
        },
};
