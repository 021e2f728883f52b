/* The budget of memory: its default, sums that do not wrap around, and what a refusal says. */
#include "support/cmocka.h"

#include <errno.h>
#include <string.h>

#include "core/budget.h"
#include "core/text.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

static void the_default_is_three_quarters(void **state)
{
    (void)state;
    const struct budget own = budget_of(0, 2 * GIB, 8 * GIB, false);
    assert_int_equal(own.host, 3 * GIB / 2);
    assert_int_equal(own.device, 6 * GIB);
    /* Where both share memory, the smaller limit is that of both. */
    const struct budget shared = budget_of(0, 2 * GIB, GIB, true);
    assert_int_equal(shared.host, 3 * GIB / 4);
    assert_int_equal(budget_of(0, 2 * GIB, 4 * GIB, true).host, 3 * GIB / 2);
}

static void a_small_machine_keeps_some_for_programs(void **state)
{
    (void)state;
    assert_int_equal(budget_of(0, GIB, GIB, false).host, 640 * MIB);
    assert_int_equal(budget_of(0, 480 * MIB, GIB, false).host, 120 * MIB);
    assert_int_equal(budget_of(0, 100 * MIB, GIB, false).host, 25 * MIB);
}

static void a_configured_limit_is_that_of_each(void **state)
{
    (void)state;
    const struct budget budget = budget_of(100, 2 * GIB, 8 * GIB, false);
    assert_int_equal(budget.host, 100 * MIB);
    assert_int_equal(budget.device, 100 * MIB);
    assert_int_equal(budget_of(100, 2 * GIB, 1, true).host, 100 * MIB);
}

static void a_process_has_no_more_than_its_addresses(void **state)
{
    (void)state;
    const struct budget budget = budget_of(1u << 24, GIB, GIB, false);
    assert_int_equal(budget.host, sizeof(void *) == 4 ? SIZE_MAX / 2 : (uint64_t)1 << 44);
    assert_int_equal(budget.device, (uint64_t)1 << 44);
}

static void parts_with_one_name_are_added_up(void **state)
{
    const struct budget own = {.host = 3, .device = 7}, shared = {.host = 10, .is_shared = true};
    struct budget_need need = {.count = 0};
    (void)state;
    budget_add(&need, "frames", 1, 2);
    budget_add(&need, "denoise", 0, 4);
    budget_add(&need, "frames", 2, 1);
    assert_int_equal(need.count, 2);
    assert_int_equal(budget_use_of(&own, &need).host, 3);
    assert_int_equal(budget_use_of(&own, &need).device, 7);
    assert_int_equal(budget_use_of(&shared, &need).host, 10);
    assert_int_equal(budget_use_of(&shared, &need).device, 0);
    assert_int_equal(budget_check(&own, &need, "it", NULL), 0);
    assert_int_equal(budget_check(&shared, &need, "it", NULL), 0);
    budget_add(&need, "ring", 1, 0);
    assert_int_equal(budget_check(&own, &need, "it", NULL), -EINVAL);
    assert_int_equal(budget_check(&shared, &need, "it", NULL), -EINVAL);
}

static void nothing_wraps_around(void **state)
{
    const struct budget most = {.host = UINT64_MAX - 1, .device = UINT64_MAX - 1};
    struct budget_need need = {.count = 0};
    (void)state;
    budget_add(&need, "a", UINT64_MAX - 2, 0);
    budget_add(&need, "a", 5, 0);
    budget_add(&need, "b", 9, 3);
    assert_int_equal(budget_use_of(&most, &need).host, UINT64_MAX);
    assert_int_equal(budget_check(&most, &need, "it", NULL), -EINVAL);
    need = (struct budget_need){.count = 0};
    budget_add(&need, "a", 0, UINT64_MAX - 2);
    budget_add(&need, "b", 1, 3);
    assert_int_equal(budget_use_of(&most, &need).device, UINT64_MAX);
    assert_int_equal(budget_check(&most, &need, "it", NULL), -EINVAL);
}

static void more_names_than_there_are_places_lose_nothing(void **state)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
                                        "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"};
    const struct budget budget = {.host = 20};
    struct budget_need need = {.count = 0};
    (void)state;
    for (unsigned i = 0; i < 20; i++)
        budget_add(&need, names[i], 1, 0);
    assert_int_equal(budget_use_of(&budget, &need).host, 20);
}

static void a_refusal_names_what_is_largest(void **state)
{
    const struct budget budget = {.host = 4 * GIB, .is_shared = true};
    struct budget_need need = {.count = 0};
    struct error why;
    (void)state;
    budget_add(&need, "ring", GIB, 0);
    budget_add(&need, "denoise", 0, 12 * GIB);
    budget_add(&need, "correct", 1000, 0);
    budget_add(&need, "frames", 2 * GIB, 0);
    assert_int_equal(budget_check(&budget, &need, "this filter", &why), -EINVAL);
    assert_string_equal(why.text, "this filter needs 15.0 GiB of memory (denoise 12.0 GiB, frames "
                                  "2.0 GiB, ring 1.0 GiB); the limit is 4.0 GiB (engine.memory)");

    const struct budget own = {.host = 20 * GIB, .device = 3 * GIB / 2};
    assert_int_equal(budget_check(&own, &need, "this filter", &why), -EINVAL);
    assert_string_equal(why.text,
                        "this filter needs 12.0 GiB of the device's memory (denoise 12.0 GiB); the "
                        "limit is 1.5 GiB (engine.memory)");
}

static void bytes_are_written_in_the_largest_unit(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 bytes"},
        {1, "1 bytes"},
        {1023, "1023 bytes"},
        {1024, "1.0 KiB"},
        {10 * 1024 - 1, "9.9 KiB"},
        {1536, "1.5 KiB"},
        {35 * MIB, "35.0 MiB"},
        {GIB - 1, "1023 MiB"},
        {152 * GIB / 10, "15.1 GiB"},
        {UINT64_MAX, "16777215 TiB"},
    };
    char text[TEXT_NUMBER_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(text_from_bytes(text, cases[i].bytes), cases[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_is_three_quarters),
        cmocka_unit_test(a_small_machine_keeps_some_for_programs),
        cmocka_unit_test(a_configured_limit_is_that_of_each),
        cmocka_unit_test(a_process_has_no_more_than_its_addresses),
        cmocka_unit_test(parts_with_one_name_are_added_up),
        cmocka_unit_test(nothing_wraps_around),
        cmocka_unit_test(more_names_than_there_are_places_lose_nothing),
        cmocka_unit_test(a_refusal_names_what_is_largest),
        cmocka_unit_test(bytes_are_written_in_the_largest_unit),
    };
    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
