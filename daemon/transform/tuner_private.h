/* Declarations shared by the files behind tuner.h: tuner.c (the search), tuner_values.c (the values
 * to try), tuner_cache.c (stored results). Each file calls only those after it. */
#ifndef FFTD_TRANSFORM_TUNER_PRIVATE_H
#define FFTD_TRANSFORM_TUNER_PRIVATE_H

#include "transform/transform_private.h"
#include "transform/tuner.h"

#define TUNER_MAX_VALUES 64

struct tuner_values {
    struct transform_tuning tuning[TUNER_MAX_VALUES];
    unsigned count;
};

struct tuner {
    struct tuner_subject subject;
    bool exhaustive;
    cl_command_queue queue;
    cl_mem image, result;
    struct transform_tuning best;
    double default_ms, best_ms;
    struct tuner_values values; /* of the current setting */
    unsigned setting, next, round;
    unsigned tried;
    bool improved; /* in this round */
};

/* ---- tuner_values.c ------------------------------------------------------------------------ */

unsigned tuner_setting_count(void);

/* Lists the values of a setting to try, except the best one so far, which has been measured. */
void tuner_list_values(const struct tuner *tuner, unsigned setting, struct tuner_values *ret);

/* ---- tuner_cache.c ------------------------------------------------------------------------- */

bool tuner_same(const struct transform_tuning *a, const struct transform_tuning *b);

#endif
