/* The CPU device is favoured only where it is clearly faster, and left only where it is clearly
 * slower. */
#include "support/cmocka.h"

#include "core/comparison.h"

static bool favours_cpu(double device_ms, double cpu_ms)
{
    const struct comparison comparison = {.device_ms = device_ms, .cpu_ms = cpu_ms};
    return comparison_favours_cpu(&comparison);
}

static void a_small_difference_favours_nothing(void **state)
{
    (void)state;
    assert_true(favours_cpu(10, 8.9));
    assert_true(favours_cpu(0.02, 0.01));
    assert_false(favours_cpu(10, 9.1));
    assert_false(favours_cpu(10, 10));
    assert_false(favours_cpu(10, 1000));
}

static bool chooses_cpu(double device_ms, double cpu_ms, bool is_on_cpu)
{
    const struct comparison comparison = {.device_ms = device_ms, .cpu_ms = cpu_ms};
    return comparison_chooses_cpu(&comparison, is_on_cpu);
}

static void a_small_difference_moves_nothing(void **state)
{
    (void)state;
    for (unsigned is_on_cpu = 0; is_on_cpu <= 1; is_on_cpu++) {
        assert_true(chooses_cpu(10, 8.9, is_on_cpu));
        assert_false(chooses_cpu(8.9, 10, is_on_cpu));
        assert_int_equal(chooses_cpu(10, 9.1, is_on_cpu), is_on_cpu);
        assert_int_equal(chooses_cpu(10, 10, is_on_cpu), is_on_cpu);
        assert_int_equal(chooses_cpu(9.1, 10, is_on_cpu), is_on_cpu);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_difference_favours_nothing),
        cmocka_unit_test(a_small_difference_moves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
