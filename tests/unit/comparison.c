/* The CPU device is favoured only where it is clearly faster. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_difference_favours_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
