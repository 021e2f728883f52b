/* median: replaces each captured sample by the median of nine. */
#include "filters/filter_kind.h"

const struct filter_kind filter_median = {
    .name = "median",
    .summary = "replaces each sample by the median of the 3x3 samples around it, which removes "
               "single bad pixels and keeps edges",
    .formula = "H = 1; a captured sample becomes the fifth of the nine around it, by value",
    .param_count = 0,
    .takes_median = true,
    .docs =
        {
            .scene = "noise",
            .example = "median",
            .note = "About half of the noise is gone, and no value is new.",
            .details =
                "Salt and pepper and hot pixels disappear where at most four of nine samples are "
                "bad; a line of one pixel disappears, too, and so do corners. A median is not "
                "linear, so it is no part of H: wherever the stage is, captured samples pass it "
                "first, after `dark`, `flat`, `vignette` and `undistort`, and before `denoise` and "
                "everything else. Beyond the picture its outermost samples are repeated.\n"
                "For RGB and mosaics the median is that of luma, and its change is added to the "
                "colours; with `engine.planes = \"all\"` each colour has its own. A bad pixel of "
                "a mosaic is spread by demosaicing first: `dark` removes it better.\n"
                "It takes no pass of its own: the load of the transform reads nine samples instead "
                "of one, which more than "
                "doubles the time of a frame on a CPU. A change between chains with and without a "
                "median needs another engine. "
                "It takes effect at once, without a fade.",
        },
};
