/* Which technique a device begins with for a filter of a reach, before anything is measured. */
#ifndef FFTD_TESTS_TUNER_CHOICE_H
#define FFTD_TESTS_TUNER_CHOICE_H

#include "transform/tuner.h"

static inline enum transform_technique tuner_choice(const struct gpu_device *on, uint32_t width,
                                                    uint32_t height, struct taps_reach reach)
{
    const struct tuner_subject subject = {
        .device = on,
        .image =
            {.count = 1, .width = width, .height = height, .stride = width, .step = 1, .bits = 8},
        .reach = reach,
        .any_technique = true};
    struct transform_tuning tuning;
    tuner_start(&tuning, &subject);
    return tuning.technique;
}

#endif
