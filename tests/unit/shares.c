/* The memory of several outputs within one budget. */
#include "support/cmocka.h"

#include <errno.h>
#include <string.h>

#include "designer/shares.h"

#define MIB ((uint64_t)1 << 20)

static struct designer_shares shares;
static const struct budget budget = {.host = 100 * MIB, .device = 50 * MIB};

static int check(unsigned output, uint64_t host_mib, uint64_t device_mib, bool reserves,
                 struct error *why)
{
    const struct designer_share share = {.shares = &shares, .output = output};
    struct budget_need need = {.count = 0};
    budget_add(&need, "ring", host_mib * MIB, 0);
    budget_add(&need, "engine", 0, device_mib * MIB);
    return designer_share_check(&share, &budget, &need, reserves, "this filter", why);
}

static int setup(void **state)
{
    (void)state;
    static const struct config alone;
    assert_int_equal(designer_shares_init(&shares, &alone, NULL), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    designer_shares_finish(&shares);
    return 0;
}

static void test_what_others_reserve_counts(void **state)
{
    (void)state;
    struct error why = {""};
    assert_int_equal(check(0, 60, 10, false, &why), 0);
    assert_int_equal(check(1, 60, 10, true, &why), 0); /* the other one was only a question */
    assert_int_equal(check(0, 60, 10, true, &why), -EINVAL);
    assert_string_equal(why.text, "this filter needs 120 MiB of memory (ring 60.0 MiB, other "
                                  "outputs 60.0 MiB); the limit is 100 MiB (engine.memory)");
    assert_int_equal(check(0, 10, 45, true, &why), -EINVAL);
    assert_non_null(strstr(why.text, "55.0 MiB of the device's memory"));
    assert_int_equal(check(0, 40, 40, true, &why), 0);
    assert_int_equal(check(2, 1, 0, true, &why), -EINVAL);
    assert_int_equal(check(1, 60, 10, true, &why), 0); /* its own does not count twice */
}

/* What could not be built leaves room for others again. */
static void test_what_is_not_built_is_forgotten(void **state)
{
    (void)state;
    const struct designer_share first = {.shares = &shares, .output = 0};
    struct error why;
    assert_int_equal(check(0, 20, 0, true, &why), 0);
    designer_share_take(&first);
    assert_int_equal(check(0, 90, 0, true, &why), 0);
    assert_int_equal(check(1, 50, 0, true, &why), -EINVAL);
    designer_share_forget(&first);
    assert_int_equal(check(1, 90, 0, true, &why), -EINVAL);
    assert_int_equal(check(1, 80, 0, true, &why), 0);
}

/* Those who are there may get other engines once an output is added. */
static void test_a_plan_counts_what_others_will_take(void **state)
{
    (void)state;
    const struct designer_plan plan = {.use = {{30 * MIB, 5 * MIB}, {0, 0}, {10 * MIB, 0}}};
    const struct designer_share added = {.shares = &shares, .output = 3, .plan = &plan};
    struct budget_need need = {.count = 0};
    struct error why = {""};
    assert_int_equal(check(0, 20, 10, true, &why), 0);
    assert_int_equal(check(1, 20, 0, true, &why), 0);
    /* 30 + 20 + 10 MiB of the host's memory, and 10 MiB of the device's. */
    budget_add(&need, "ring", 41 * MIB, 0);
    assert_int_equal(designer_share_check(&added, &budget, &need, true, "it", &why), -EINVAL);
    assert_non_null(strstr(why.text, "needs 101 MiB of memory (other outputs 60.0 MiB, ring 41"));
    need.part[0].host = 40 * MIB;
    need.part[0].device = 41 * MIB;
    assert_int_equal(designer_share_check(&added, &budget, &need, true, "it", &why), -EINVAL);
    need.part[0].device = 40 * MIB;
    assert_int_equal(designer_share_check(&added, &budget, &need, true, "it", &why), 0);
    assert_int_equal(check(0, 30, 10, true, &why), 0); /* it was not for others */
    assert_int_equal(check(0, 41, 10, true, &why), -EINVAL);
}

static void test_an_output_may_be_alone(void **state)
{
    (void)state;
    const struct designer_share alone = {.shares = NULL};
    struct budget_need need = {.count = 0};
    budget_add(&need, "ring", 101 * MIB, 0);
    assert_int_equal(designer_share_check(&alone, &budget, &need, true, "it", NULL), -EINVAL);
    designer_share_take(&alone);
    designer_share_forget(&alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_others_reserve_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_not_built_is_forgotten, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_plan_counts_what_others_will_take, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_output_may_be_alone, setup, teardown),
    };
    return cmocka_run_group_tests_name("shares", tests, NULL, NULL);
}
