#include <string.h>

#include "filters/filter_kind.h"

static const struct filter_kind *const kinds[] = {
    &filter_lowpass,    &filter_highpass,      &filter_bandpass,    &filter_bandstop,
    &filter_notch,      &filter_gaussian_blur, &filter_box_blur,    &filter_sharpen,
    &filter_highboost,  &filter_laplacian,     &filter_gradient,    &filter_directional,
    &filter_convolve,   &filter_mask,          &filter_match,       &filter_wiener,
    &filter_shift,      &filter_gain,          &filter_homomorphic, &filter_linear_light,
    &filter_dark,       &filter_flat,          &filter_vignette,    &filter_undistort,
    &filter_auto_notch, &filter_deflicker,     &filter_denoise,     &filter_soft_threshold,
    &filter_stabilise,
};

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
