/* A verdict from pairs of times: chance, a machine whose speed varies, and real gains. */
#include "support/cmocka.h"

#include "transform/pairs.h"

/* Adds pairs until there is a verdict, for which `count` times must suffice. */
static enum pairs_verdict decide(struct pairs *pairs, const struct pair *times, unsigned count)
{
    enum pairs_verdict verdict;
    *pairs = (struct pairs){.count = 0};
    while ((verdict = pairs_decide(pairs)) == PAIRS_OPEN) {
        assert_in_range(pairs->count, 0, count - 1);
        pairs_add(pairs, times[pairs->count].new_ms, times[pairs->count].old_ms);
    }
    return verdict;
}

static void one_lucky_time_is_not_enough(void **state)
{
    static const struct pair lucky_new[] = {{0.5, 1}, {1, 1}, {1, 1}};
    static const struct pair unlucky_old[] = {{1, 2}, {1, 1}, {1, 1}};
    struct pairs pairs;
    (void)state;
    assert_int_equal(decide(&pairs, lucky_new, 3), PAIRS_NOT_FASTER);
    assert_int_equal(decide(&pairs, unlucky_old, 3), PAIRS_NOT_FASTER);
}

static void one_unlucky_time_does_not_hide_a_gain(void **state)
{
    (void)state;
    for (unsigned unlucky = 1; unlucky < PAIRS_MOST; unlucky++) {
        struct pair times[PAIRS_MOST];
        struct pairs pairs;
        for (unsigned i = 0; i < PAIRS_MOST; i++)
            times[i] = (struct pair){i == unlucky ? 3 : 0.9, 1};
        assert_int_equal(decide(&pairs, times, PAIRS_MOST), PAIRS_FASTER);
        assert_float_equal(pairs_median(&pairs).new_ms, 0.9, 0);
    }
}

/* Only the ratios count: other programs slow down whole pairs. */
static void a_machine_that_slows_down_changes_no_verdict(void **state)
{
    static const struct pair faster[] = {{0.9, 1}, {1.8, 2}, {3.6, 4}, {7.2, 8}};
    static const struct pair slower[] = {{8, 7.2}};
    struct pairs pairs;
    (void)state;
    assert_int_equal(decide(&pairs, faster, 4), PAIRS_FASTER);
    assert_int_equal(decide(&pairs, slower, 1), PAIRS_NOT_FASTER);
}

static void a_small_gain_is_not_worth_while(void **state)
{
    static const struct pair small[] = {{0.99, 1}, {0.99, 1}};
    struct pairs pairs;
    (void)state;
    assert_int_equal(decide(&pairs, small, 2), PAIRS_NOT_FASTER);
}

/* Decides between two that take the same, while each frame takes `drift` times the one before. */
static enum pairs_verdict decide_in_drift(double drift)
{
    struct pairs pairs = {.count = 0};
    double ms = 1;
    while (pairs_decide(&pairs) == PAIRS_OPEN) {
        const double first_ms = ms, second_ms = ms * drift;
        const bool new_is_first = pairs_new_is_first(&pairs);
        ms *= drift * drift;
        pairs_add(&pairs, new_is_first ? first_ms : second_ms, new_is_first ? second_ms : first_ms);
    }
    return pairs_decide(&pairs);
}

/* The machine speeds up from frame to frame, or slows down; neither of the two is faster. */
static void drift_favours_neither(void **state)
{
    (void)state;
    assert_int_equal(decide_in_drift(0.9), PAIRS_NOT_FASTER);
    assert_int_equal(decide_in_drift(1.1), PAIRS_NOT_FASTER);
}

/* By the least times of these, the new one would take half as long. A device is chosen by the
 * median of three (engine/search.c). */
static void the_median_is_a_pair(void **state)
{
    static const struct pair times[] = {{1, 2}, {4, 4}, {5, 4.5}};
    struct pairs pairs = {.count = 0};
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        pairs_add(&pairs, times[i].new_ms, times[i].old_ms);
    assert_float_equal(pairs_median(&pairs).new_ms, 4, 0);
    assert_float_equal(pairs_median(&pairs).old_ms, 4, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_lucky_time_is_not_enough),
        cmocka_unit_test(one_unlucky_time_does_not_hide_a_gain),
        cmocka_unit_test(a_machine_that_slows_down_changes_no_verdict),
        cmocka_unit_test(a_small_gain_is_not_worth_while),
        cmocka_unit_test(drift_favours_neither),
        cmocka_unit_test(the_median_is_a_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
