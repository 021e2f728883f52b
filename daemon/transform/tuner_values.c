/* Lists the values of each setting that the tuner tries with the best values of the others so far.
 */
#include "transform/tuner_private.h"

#define MAX_SIZES   6
#define MAX_GROUPS  4
#define LEAST_RADIX 4 /* for scarce registers: fewest legs, most items */

static void add(struct tuner_values *values, const struct transform_tuning *tuning)
{
    if (values->count < TUNER_MAX_VALUES)
        values->tuning[values->count++] = *tuning;
}

static void vary_size(const struct tuner *tuner, struct tuner_values *ret)
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
        add(ret, &tuning);
    }
}

static void vary_lanes(const struct tuner *tuner, struct tuner_values *ret)
{
    if (tuner->best.technique != TRANSFORM_FUSED || tuner->best.lanes == 1)
        return; /* on a GPU each work-item is a lane */
    for (unsigned lanes = 4; lanes <= 16; lanes *= 2) {
        struct transform_tuning tuning = tuner->best;
        tuning.lanes = lanes;
        add(ret, &tuning);
    }
}

/* The size is reset, because the best size depends on the radices. */
static void vary_radix(const struct tuner *tuner, struct tuner_values *ret)
{
    const unsigned least = tuner->subject.device->midgard ? LEAST_RADIX : 8;
    struct transform_tuning tuning = tuner->best;
    tuning.length_x = tuning.length_y = 0;
    for (unsigned radix = least; radix <= 16; radix++)
        if (radix != tuner->best.max_radix &&
            (tuner->exhaustive || radix == least || radix == 8 || radix == 10 || radix == 16)) {
            tuning.max_radix = radix;
            add(ret, &tuning);
        }
}

static void vary_order(const struct tuner *tuner, struct tuner_values *ret)
{
    struct transform_tuning tuning = tuner->best;
    tuning.order = tuning.order == PLAN_ROWS_FIRST ? PLAN_COLUMNS_FIRST : PLAN_ROWS_FIRST;
    tuning.length_x = tuning.length_y = 0;
    if (tuning.technique == TRANSFORM_FUSED && tuning.lanes == 1)
        add(ret, &tuning);
}

/* Lists the work-group sizes to try and returns their number. On a CPU the only one is 1. */
static unsigned list_groups(const struct tuner *tuner, unsigned ret[MAX_GROUPS])
{
    if (gpu_device_is_cpu(tuner->subject.device)) {
        ret[0] = 1;
        return 1;
    }
    for (unsigned i = 0; i < MAX_GROUPS; i++)
        ret[i] = 64u << i;
    return MAX_GROUPS;
}

/* Returns 1 if stages can keep their numbers in registers, otherwise 0. */
static unsigned most_held(const struct tuner *tuner)
{
    return tuner->best.lanes == 1 && tuner->best.technique == TRANSFORM_FUSED;
}

static void vary_columns(const struct tuner *tuner, struct tuner_values *ret)
{
    const bool is_fused = tuner->best.technique == TRANSFORM_FUSED;
    const bool one_lane = tuner->best.lanes == 1;
    const unsigned fewest = one_lane ? 2 : 1, most = !is_fused ? 1 : one_lane ? 16 : 4;
    struct transform_tuning tuning = tuner->best;
    unsigned group[MAX_GROUPS];
    const unsigned group_count = list_groups(tuner, group);
    for (unsigned columns = fewest; columns <= most; columns *= 2)
        for (unsigned held = 0; held <= most_held(tuner); held++)
            for (unsigned i = 0; i < group_count; i++) {
                /* The quick search uses large groups only for many columns and small ones only for
                 * few. */
                if (!tuner->exhaustive && one_lane && group[i] != 32 * columns &&
                    group[i] != 64 * columns)
                    continue;
                tuning.columns = columns;
                tuning.columns_held = held;
                tuning.column_group = group[i];
                add(ret, &tuning);
            }
}

static void vary_rows(const struct tuner *tuner, struct tuner_values *ret)
{
    const bool one_lane = tuner->best.lanes == 1;
    struct transform_tuning tuning = tuner->best;
    unsigned group[MAX_GROUPS];
    const unsigned group_count = list_groups(tuner, group);
    const unsigned most = tuner->best.technique != TRANSFORM_FUSED ? 1 : tuner->exhaustive ? 4 : 2;
    for (unsigned rows = 1; rows <= most; rows *= 2)
        for (unsigned held = 0; held <= most_held(tuner); held++)
            for (unsigned i = 0; i < group_count; i++) {
                if (!tuner->exhaustive && one_lane && (group[i] == 512 || rows == 2))
                    continue;
                tuning.rows = rows;
                tuning.rows_held = held;
                tuning.row_group = group[i];
                add(ret, &tuning);
            }
}

static void vary_twiddles(const struct tuner *tuner, struct tuner_values *ret)
{
    static const enum transform_twiddles kinds[] = {TWIDDLES_READ, TWIDDLES_COMBINED,
                                                    TWIDDLES_COMPUTED};
    struct transform_tuning tuning = tuner->best;
    if (tuning.technique != TRANSFORM_FUSED)
        return;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        tuning.twiddles = kinds[i];
        add(ret, &tuning);
    }
}

static void vary_skew(const struct tuner *tuner, struct tuner_values *ret)
{
    struct transform_tuning tuning = tuner->best;
    tuning.skew = !tuning.skew;
    if (tuning.technique == TRANSFORM_FUSED)
        add(ret, &tuning);
}

static void add_staged(struct tuner_values *ret, struct transform_tuning tuning)
{
    tuning.technique = TRANSFORM_STAGED;
    for (unsigned stages = 1; stages <= MAX_PASS_STAGES; stages++)
        for (unsigned group = 64; group <= 256; group *= 2) {
            tuning.stages_per_dispatch = stages;
            tuning.column_group = tuning.row_group = group;
            add(ret, &tuning);
        }
}

static void vary_technique(const struct tuner *tuner, struct tuner_values *ret)
{
    struct transform_tuning tuning = tuner->best;
    /* On a CPU the staged technique gains nothing, because local memory is ordinary cached memory.
     */
    if (!tuner->subject.any_technique ||
        (gpu_device_is_cpu(tuner->subject.device) && !tuner->exhaustive))
        return;
    add_staged(ret, tuning);
    if (tuner->subject.device->midgard && tuning.technique == TRANSFORM_STAGED) {
        struct transform_tuning fused;
        transform_default_tuning(&fused, tuner->subject.device);
        fused.recipe.precision = tuning.recipe.precision;
        fused.technique = TRANSFORM_FUSED;
        add(ret, &fused);
    }
    if (tuner->subject.device->midgard && tuning.max_radix > LEAST_RADIX) {
        tuning.max_radix = LEAST_RADIX;
        tuning.length_x = tuning.length_y = 0;
        add_staged(ret, tuning);
    }
}

typedef void vary_fn(const struct tuner *tuner, struct tuner_values *ret);

static vary_fn *const settings[] = {
    vary_lanes, vary_radix,    vary_order, vary_size,      vary_columns,
    vary_rows,  vary_twiddles, vary_skew,  vary_technique,
};

unsigned tuner_setting_count(void)
{
    return sizeof settings / sizeof settings[0];
}

void tuner_list_values(const struct tuner *tuner, unsigned setting, struct tuner_values *ret)
{
    ret->count = 0;
    settings[setting](tuner, ret);
    unsigned kept = 0;
    for (unsigned i = 0; i < ret->count; i++)
        if (!tuner_same(&ret->tuning[i], &tuner->best))
            ret->tuning[kept++] = ret->tuning[i];
    ret->count = kept;
}
