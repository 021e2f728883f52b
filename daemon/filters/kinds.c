/* The list of the kinds, each of which is in filters/kinds/. */
#include <string.h>

#include "filters/filter_kind.h"

/* In the order in which help lists them. */
/* clang-format off */
#define KINDS(KIND)      \
    KIND(lowpass)        \
    KIND(highpass)       \
    KIND(bandpass)       \
    KIND(bandstop)       \
    KIND(notch)          \
    KIND(gaussian_blur)  \
    KIND(box_blur)       \
    KIND(sharpen)        \
    KIND(highboost)      \
    KIND(laplacian)      \
    KIND(gradient)       \
    KIND(directional)    \
    KIND(convolve)       \
    KIND(mask)           \
    KIND(match)          \
    KIND(wiener)         \
    KIND(shift)          \
    KIND(gain)           \
    KIND(homomorphic)    \
    KIND(linear_light)   \
    KIND(binarise)       \
    KIND(dark)           \
    KIND(flat)           \
    KIND(vignette)       \
    KIND(undistort)      \
    KIND(remap)          \
    KIND(auto_notch)     \
    KIND(deflicker)      \
    KIND(median)         \
    KIND(denoise)        \
    KIND(soft_threshold) \
    KIND(stabilise)      \
    KIND(stack)
/* clang-format on */

#define DECLARE(name) extern const struct filter_kind filter_##name;
#define ENTRY(name)   &filter_##name,

KINDS(DECLARE)

static const struct filter_kind *const kinds[] = {KINDS(ENTRY)};

#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

const struct filter_kind *const *filter_kinds(unsigned *ret_count)
{
    *ret_count = KIND_COUNT;
    return kinds;
}

const struct filter_kind *filter_kind_by_name(const char *name)
{
    for (unsigned i = 0; i < KIND_COUNT; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}
