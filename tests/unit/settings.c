/* Lists of settings as text: what is accepted, what is refused, and their order. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "support/cmocka.h"

#include "core/settings.h"

static void assert_reads_as(const char *text, const char *expected)
{
    struct settings settings;
    struct error why = {""};
    char printed[SETTINGS_TEXT_BYTES];
    if (settings_parse(&settings, text, &why) < 0)
        fail_msg("%s", why.text);
    settings_print(&settings, printed, sizeof printed);
    assert_string_equal(printed, expected);
    if (settings_parse(&settings, printed, &why) < 0)
        fail_msg("printed, then refused: %s", why.text);
}

static void lists_are_read(void **state)
{
    (void)state;
    assert_reads_as("none", "none");
    assert_reads_as(" brightness = 128 ", "brightness=128");
    assert_reads_as("a=1,b=-2 , c_3=50 Hz", "a=1, b=-2, c_3=50 Hz");
    assert_reads_as("a=1, b=2, a=3", "b=2, a=3");
}

static void bad_lists_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "expected NAME=VALUE"},
        {"brightness", "brightness: expected NAME=VALUE"},
        {"a=1,", "expected NAME=VALUE"},
        {"=1", "not the name of a control"},
        {"White Balance=1", "not the name of a control: expected at most 31 lower-case letters"},
        {"a_name_that_is_longer_than_any_control_has=1", "expected at most 31"},
        {"a=", "a = '': expected a number"},
        {"a=b=c", "a = 'b=c'"},
        {"a=say \"x\"", "without a comma"},
        {"a=a value much longer than any entry of a menu is", "expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct settings settings = {.count = 77};
        struct error why = {""};
        assert_int_equal(settings_parse(&settings, cases[i][0], &why), -EINVAL);
        if (strstr(why.text, cases[i][1]) == NULL)
            fail_msg("\"%s\": \"%s\" does not hold \"%s\"", cases[i][0], why.text, cases[i][1]);
        assert_int_equal(settings.count, 77);
    }
}

static void lists_are_compared(void **state)
{
    (void)state;
    static const char *const texts[] = {"none", "a=1", "a=2", "b=1", "a=1, b=1", "b=1, a=1"};
    const size_t count = sizeof texts / sizeof texts[0];
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            struct settings a, b;
            memset(&a, 0x55, sizeof a);
            memset(&b, 0xaa, sizeof b);
            assert_int_equal(settings_parse(&a, texts[i], NULL), 0);
            assert_int_equal(settings_parse(&b, texts[j], NULL), 0);
            assert_int_equal(settings_equal(&a, &b), i == j);
        }
    }
}

static void there_is_an_end(void **state)
{
    (void)state;
    struct settings settings = {.count = 0}, more;
    struct error why = {""};
    char name[16];
    for (unsigned i = 0; i < SETTINGS_MAX; i++) {
        snprintf(name, sizeof name, "control_%u", i);
        assert_int_equal(settings_put(&settings, name, "1", &why), 0);
    }
    assert_int_equal(settings_put(&settings, "one_more", "1", &why), -EINVAL);
    assert_non_null(strstr(why.text, "at most 32"));
    assert_int_equal(settings_put(&settings, "control_0", "2", &why), 0);
    assert_string_equal(settings.item[SETTINGS_MAX - 1].name, "control_0");
    assert_string_equal(settings.item[SETTINGS_MAX - 1].value, "2");

    assert_int_equal(settings_parse(&more, "control_5=9, one_more=1", &why), 0);
    assert_int_equal(settings_merge(&settings, &more, &why), -EINVAL);
    assert_string_equal(settings.item[4].name, "control_5");
    assert_int_equal(settings_parse(&more, "control_5=9", &why), 0);
    assert_int_equal(settings_merge(&settings, &more, &why), 0);
    assert_string_equal(settings.item[SETTINGS_MAX - 1].value, "9");
    assert_int_equal(settings.count, SETTINGS_MAX);
    /* The name and value are in the list that the call changes. */
    assert_int_equal(settings_put(&settings, settings.item[0].name, settings.item[0].value, &why),
                     0);
    assert_string_equal(settings.item[SETTINGS_MAX - 1].name, "control_1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read),
        cmocka_unit_test(bad_lists_are_refused),
        cmocka_unit_test(lists_are_compared),
        cmocka_unit_test(there_is_an_end),
    };
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
