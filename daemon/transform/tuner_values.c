/* Lists the values to try of settings that all techniques have. */
#include "transform/tuner_private.h"

#define MAX_SIZES 6

void tuner_vary_size(const struct tuner *tuner, struct tuner_values *ret)
{
    const struct tuner_subject *subject = &tuner->subject;
    struct transform_tuning tuning = tuner->best;
    struct plan plan[MAX_SIZES];
    const struct plan_limits limits =
        transform_limits(subject->device, &subject->image, &subject->border, &tuning);
    const unsigned count = plan_rank(plan, tuner->exhaustive ? MAX_SIZES : 4, &limits);
    for (unsigned i = 0; i < count; i++) {
        tuning.length_x = plan[i].x.length;
        tuning.length_y = plan[i].y.length;
        tuner_add(ret, &tuning);
    }
}

/* The size is reset, because the best size depends on the radices. */
void tuner_vary_radix(const struct tuner *tuner, struct tuner_values *ret)
{
    const unsigned least = tuner->subject.device->midgard ? TUNER_LEAST_RADIX : 8;
    struct transform_tuning tuning = tuner->best;
    tuning.length_x = tuning.length_y = 0;
    for (unsigned radix = least; radix <= 16; radix++)
        if (radix != tuner->best.max_radix &&
            (tuner->exhaustive || radix == least || radix == 8 || radix == 10 || radix == 16)) {
            tuning.max_radix = radix;
            tuner_add(ret, &tuning);
        }
}

unsigned tuner_list_groups(const struct tuner *tuner, unsigned ret[TUNER_MAX_GROUPS])
{
    if (gpu_device_is_cpu(tuner->subject.device)) {
        ret[0] = 1;
        return 1;
    }
    for (unsigned i = 0; i < TUNER_MAX_GROUPS; i++)
        ret[i] = 64u << i;
    return TUNER_MAX_GROUPS;
}
