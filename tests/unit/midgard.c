/* What is chosen for a Mali Midgard, without one: the planner's table, its plans, and the settings
 * with which an engine starts. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/cmocka.h"

#include "mali/estimate.h"
#include "transform/tuner.h"

static const struct gpu_device mali = {.type = CL_DEVICE_TYPE_GPU,
                                       .midgard = true,
                                       .half_vectors = true,
                                       .max_group = 256,
                                       .local_bytes = 32 * 1024,
                                       .vector_width = 4};

/* Cycles of an item by its counts: two words of arithmetic or one access. */
static double counted(enum cost_precision precision, enum cost_axis axis, enum cost_place place,
                      enum cost_direction direction, unsigned radix)
{
    const struct cost_item *item = &cost_midgard.item[precision][axis][place][direction][radix];
    return fmax((double)item->words / 2, (double)item->accesses);
}

/* The planner's table is the sum of both directions of tests/mali/costs.inc. It has inner stages
 * once, as down columns: along rows they differ by a word, or where kernels spill. */
static void the_planners_table_is_counted(void **state)
{
    static const uint8_t radices[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16};
    (void)state;
    for (size_t i = 0; i < sizeof radices; i++)
        for (unsigned stage = 0; stage < 3; stage++)
            for (enum cost_axis axis = COST_COLUMNS; axis <= COST_ROWS; axis++)
                for (enum cost_precision p = COST_FLOAT; p <= COST_HALF; p++) {
                    const uint8_t r = radices[i];
                    const struct plan_axis three = {.stage_count = 3, .radix = {r, r, r}};
                    const enum cost_axis counted_along = stage == 1 ? COST_COLUMNS : axis;
                    const enum cost_place place = cost_place(axis, stage, 3);
                    const double both = counted(p, counted_along, place, COST_FORWARD, r) +
                                        counted(p, counted_along, place, COST_INVERSE, r);
                    const double cycles =
                        plan_midgard_cycles(&three, stage, axis == COST_COLUMNS, p == COST_HALF);
                    if (both == 0)
                        assert_true(cycles == HUGE_VAL);
                    else
                        assert_float_equal(cycles * 2 * r, both, 1e-4);
                }
}

static struct transform start(uint32_t width, uint32_t height, uint32_t margin, bool half)
{
    const struct tuner_subject subject = {
        .device = &mali,
        .image =
            {.count = 1, .width = width, .height = height, .stride = width, .step = 1, .bits = 8},
        .border = {.margin_x = margin, .margin_y = margin},
        .precision = half ? RECIPE_HALF : RECIPE_FLOAT,
        .any_technique = true};
    struct transform transform = {
        .device = &mali, .image = subject.image, .border = subject.border};
    struct error why;
    tuner_start(&transform.tuning, &subject);
    assert_int_equal(transform_fit(&transform, &why), 0);
    return transform;
}

static void print_radices(char *text, size_t size, const struct plan_axis *axis)
{
    for (unsigned i = 0; i < axis->stage_count; i++)
        snprintf(text + strlen(text), size - strlen(text), " %u", axis->radix[i]);
}

/* With the margins of no filter, of 16 and of preset:moire; the same as when the whole model of
 * tests/mali chose them. */
static void an_engine_starts_with_these_plans(void **state)
{
    static const struct {
        uint32_t width, height, margin;
        const char *in_float, *in_half;
    } cases[] = {
        {640, 480, 0, "6/2: 6 6 6 3 x 6 5 4 4", "6/2: 6 6 6 3 x 6 5 4 4"},
        {640, 480, 16, "6/2: 6 6 5 4 x 6 6 5 3", "6/2: 6 6 5 4 x 6 6 5 3"},
        {640, 480, 48, "6/2: 6 6 5 4 x 6 6 5 3", "6/2: 6 6 5 4 x 6 6 5 3"},
        {640, 480, 100, "6/3: 4 4 4 4 3 x 6 5 5 4", "6/3: 4 4 4 4 3 x 6 5 5 4"},
        {720, 576, 16, "6/3: 4 4 4 4 3 x 6 5 5 4", "6/3: 4 4 4 4 3 x 6 5 5 4"},
        {1280, 720, 0, "6/2: 6 6 6 6 x 6 6 5 4", "6/2: 6 6 6 6 x 6 6 5 4"},
        {1280, 720, 16, "6/2: 6 6 6 6 x 6 5 5 5", "6/2: 6 6 6 6 x 6 5 5 5"},
        {1280, 720, 24, "6/2: 6 5 4 4 3 x 6 5 5 5", "6/2: 6 5 4 4 3 x 6 5 5 5"},
        {1280, 720, 48, "6/3: 6 5 4 4 3 x 4 4 4 4 3", "6/3: 6 5 4 4 3 x 4 4 4 4 3"},
        {1280, 720, 200, "5/3: 4 5 5 5 3 x 4 4 4 4 4", "6/2: 6 4 4 4 4 x 6 5 4 4 2"},
        {1920, 1080, 0, "6/2: 6 5 4 4 4 x 6 6 6 5", "6/2: 6 5 4 4 4 x 6 6 6 5"},
        {1920, 1080, 16, "5/3: 4 5 5 5 4 x 4 4 4 3 3 2", "6/2: 6 6 6 3 3 x 6 4 4 4 3"},
        {1920, 1080, 48, "5/3: 4 5 5 5 4 x 4 4 4 3 3 2", "6/2: 4 5 5 5 4 x 6 4 4 4 3"},
    };
    (void)state;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        const bool half = i % 2 == 1;
        const struct transform found =
            start(cases[i / 2].width, cases[i / 2].height, cases[i / 2].margin, half);
        char text[64];
        snprintf(text, sizeof text, "%u/%u:", found.tuning.max_radix,
                 found.tuning.stages_per_dispatch);
        print_radices(text, sizeof text, &found.plan.x);
        strcat(text, " x");
        print_radices(text, sizeof text, &found.plan.y);
        assert_string_equal(text, half ? cases[i / 2].in_half : cases[i / 2].in_float);
        assert_int_equal(found.tuning.technique, TRANSFORM_STAGED);
    }
}

/* By the whole model, which also knows each direction and the bytes of the image. */
static void no_other_plan_is_clearly_faster(void **state)
{
    static const uint32_t sizes[][2] = {{320, 240},  {640, 480},   {720, 576},
                                        {1280, 720}, {1920, 1080}, {3840, 2160}};
    (void)state;
    for (size_t i = 0; i < 6 * sizeof sizes / sizeof sizes[0]; i++) {
        const uint32_t margins[] = {0, 16, 48};
        struct transform chosen =
            start(sizes[i / 6][0], sizes[i / 6][1], margins[i / 2 % 3], i % 2 == 1);
        struct cost_work work;
        struct error why;
        const double seconds = estimate_staged(&work, &chosen, &cost_midgard, 0);
        /* No dispatch is faster than its words, accesses or bytes, and their sum is not slower. */
        assert_true(seconds >= 0.9999 * cost_seconds(&cost_midgard.rates, &work));
        assert_true(seconds <= work.words / cost_midgard.rates.words +
                                   work.accesses / cost_midgard.rates.accesses +
                                   work.bytes / cost_midgard.rates.bytes);
        for (unsigned other = 0; other < 3 * MAX_PASS_STAGES; other++) {
            struct transform transform = chosen;
            transform.tuning.stages_per_dispatch = 1 + other / 3;
            transform.tuning.max_radix = 4 + other % 3; /* larger ones spill */
            assert_int_equal(transform_fit(&transform, &why), 0);
            assert_true(estimate_staged(&work, &transform, &cost_midgard, 0) > 0.99 * seconds);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_planners_table_is_counted),
        cmocka_unit_test(an_engine_starts_with_these_plans),
        cmocka_unit_test(no_other_plan_is_clearly_faster),
    };
    return cmocka_run_group_tests_name("midgard", tests, NULL, NULL);
}
