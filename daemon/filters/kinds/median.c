/* median: replaces each captured sample by the median of nine. */
#include "filters/filter_kind.h"

const struct filter_kind filter_median = {
    .name = "median",
    .group = "noise",
    .summary = "replaces each sample by the median of the 3x3 samples around it, which removes "
               "single bad pixels and keeps edges",
    .formula = "H = 1; a captured sample becomes the fifth of the nine around it, by value",
    .takes_median = true,
    .example = "median",
};
