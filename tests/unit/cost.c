/* The model of times: which bound holds, and what stages add, from a small table of its own. */
#include <errno.h>

#include "support/cmocka.h"

#include "transform/cost.h"
#include "transform/plan.h"

static const struct cost_device device = {
    .rates = {.words = 100, .accesses = 50, .bytes = 1000, .dispatch_s = 0.25},
    .item =
        {
            [COST_FLOAT][COST_COLUMNS][COST_INNER][COST_FORWARD] = {[4] = {20, 13}},
            [COST_HALF][COST_ROWS][COST_LAST][COST_FORWARD] = {[6] = {30, 18}},
        },
};

/* 300 words take 3 s, 100 accesses 2 s, 2500 bytes 2.5 s; a quarter of a second comes on top. */
static void the_slowest_of_three_counts(void **state)
{
    (void)state;
    const struct cost_work by_words = {300, 100, 2500}, by_accesses = {300, 200, 2500},
                           by_bytes = {300, 100, 6000}, nothing = {0, 0, 0};
    assert_float_equal(cost_seconds(&device.rates, &by_words), 3.25, 1e-9);
    assert_float_equal(cost_seconds(&device.rates, &by_accesses), 4.25, 1e-9);
    assert_float_equal(cost_seconds(&device.rates, &by_bytes), 6.25, 1e-9);
    assert_float_equal(cost_seconds(&device.rates, &nothing), 0.25, 1e-9);
}

/* An item of radix 4 has 8 numbers, so 80 numbers are 10 items: 200 words and 130 accesses. */
static void stages_add_their_items(void **state)
{
    (void)state;
    const struct cost_stage inner = {COST_FLOAT, COST_COLUMNS, COST_INNER, COST_FORWARD, 4};
    const struct cost_stage middle = {COST_HALF, COST_ROWS, COST_LAST, COST_FORWARD, 6};
    struct cost_work work = {.words = 1, .accesses = 2, .bytes = 3};
    assert_true(cost_add_stage(&work, &device, &inner, 80));
    assert_float_equal(work.words, 201, 1e-9);
    assert_float_equal(work.accesses, 132, 1e-9);
    assert_true(cost_add_stage(&work, &device, &middle, 18)); /* one item and a half */
    assert_float_equal(work.words, 246, 1e-9);
    assert_float_equal(work.accesses, 159, 1e-9);
    assert_float_equal(work.bytes, 3, 1e-9);
}

static void what_was_not_counted_is_refused(void **state)
{
    (void)state;
    const struct cost_stage stage = {COST_FLOAT, COST_COLUMNS, COST_INNER, COST_INVERSE, 4};
    struct cost_work work = {0};
    assert_false(cost_add_stage(&work, &device, &stage, 80));
    assert_float_equal(work.words, 0, 0);
}

static void places_are_along_the_axis(void **state)
{
    (void)state;
    assert_int_equal(cost_place(COST_COLUMNS, 0, 3), COST_FIRST);
    assert_int_equal(cost_place(COST_ROWS, 1, 3), COST_INNER);
    assert_int_equal(cost_place(COST_COLUMNS, 2, 3), COST_LAST);
    assert_int_equal(cost_place(COST_COLUMNS, 0, 1), COST_FIRST); /* it loads the image */
    assert_int_equal(cost_place(COST_ROWS, 0, 1), COST_LAST);     /* it multiplies */
    for (enum cost_axis axis = COST_COLUMNS; axis <= COST_ROWS; axis++)
        for (enum cost_place place = COST_FIRST; place <= COST_LAST; place++) {
            const struct cost_stage stage = {COST_FLOAT, axis, place, COST_INVERSE, 4};
            assert_int_equal(cost_is_in_forward(&stage), axis == COST_ROWS && place == COST_LAST);
        }
}

/* Fills every place of an axis of a device with items of one radix. */
static void fill(struct cost_device *ret, unsigned radix, float words)
{
    for (enum cost_axis axis = COST_COLUMNS; axis <= COST_ROWS; axis++)
        for (enum cost_place place = COST_FIRST; place <= COST_LAST; place++)
            for (enum cost_direction way = COST_FORWARD; way <= COST_INVERSE; way++)
                ret->item[COST_FLOAT][axis][place][way][radix] = (struct cost_item){words, 1};
}

/* 64 is 8 x 8 or 4 x 4 x 4. An element costs a word for every 2 r / words in each stage: with 40
 * words in radix 8, 2 x 40 / 16 = 5; with 12 in radix 4, 3 x 12 / 8 = 4.5; with 16, 6. */
static void the_planner_follows_its_model(void **state)
{
    (void)state;
    struct cost_device made = {.rates = {1e9, 1e12, 1e15, 0}};
    struct plan_limits limits = {.width = 64,
                                 .height = 64,
                                 .lanes = 2,
                                 .max_x = 64,
                                 .max_y = 64,
                                 .max_radix = 16,
                                 .model = {&made, COST_FLOAT, 1}};
    struct plan plan;
    struct error why;
    fill(&made, 8, 40);
    fill(&made, 4, 12);
    assert_int_equal(plan_choose(&plan, &limits, &why), 0);
    assert_int_equal(plan.x.stage_count, 3);
    assert_int_equal(plan.y.stage_count, 3);
    /* Down columns 2 directions of 32 x 64 numbers, along rows those of 34 lines (33 and one more
     * lane), whose last stage has both in one: 3 x 2 and 2 x 2 + 1 stages of 1.5 words. */
    assert_float_equal(plan_cost(&plan, &limits) * 1e9, 32 * 64 * 6 * 1.5 + 34 * 64 * 5 * 1.5,
                       1e-3);
    fill(&made, 4, 16);
    assert_int_equal(plan_choose(&plan, &limits, &why), 0);
    assert_int_equal(plan.x.stage_count, 2);
    assert_int_equal(plan.y.stage_count, 2);

    /* Memory bounds both: fewer stages win. */
    fill(&made, 4, 12);
    made.rates.bytes = 1e9;
    assert_int_equal(plan_choose(&plan, &limits, &why), 0);
    assert_int_equal(plan.x.stage_count, 2);

    /* 60 has factors that this device has not counted. */
    limits.width = limits.height = limits.max_x = limits.max_y = 60;
    assert_int_equal(plan_choose(&plan, &limits, &why), -ERANGE);
}

/* What `make mali-costs` wrote has each radix at each place where a plan may have it. */
static void midgard_is_counted(void **state)
{
    (void)state;
    for (unsigned radix = 2; radix <= 8; radix++)
        for (enum cost_precision half = COST_FLOAT; half <= COST_HALF; half++)
            for (enum cost_axis axis = COST_COLUMNS; axis <= COST_ROWS; axis++)
                for (enum cost_place place = COST_FIRST; place <= COST_LAST; place++)
                    for (enum cost_direction way = COST_FORWARD; way <= COST_INVERSE; way++) {
                        const struct cost_stage stage = {half, axis, place, way, radix};
                        struct cost_work work = {0};
                        if (cost_is_in_forward(&stage) ||
                            (axis == COST_ROWS && place == COST_FIRST && radix % 2 != 0))
                            continue;
                        assert_true(cost_add_stage(&work, &cost_midgard, &stage, 1));
                        /* A number is loaded and stored, two at a time. */
                        assert_true(work.words > 0 && work.accesses >= 1);
                    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slowest_of_three_counts),
        cmocka_unit_test(stages_add_their_items),
        cmocka_unit_test(what_was_not_counted_is_refused),
        cmocka_unit_test(places_are_along_the_axis),
        cmocka_unit_test(the_planner_follows_its_model),
        cmocka_unit_test(midgard_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
