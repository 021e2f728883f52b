/* Settings as text: what is read, what is refused, and in which order they are kept. */
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
        {"=1", "no control's name"},
        {"White Balance=1", "no control's name: expected small letters"},
        {"a_name_that_is_longer_than_any_control_has=1", "at most 31"},
        {"a=", "a = '': expected a number"},
        {"a=b=c", "a = 'b=c'"},
        {"a=say \"x\"", "without comma"},
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
    /* Its own name and value, from where they are moved away. */
    assert_int_equal(settings_put(&settings, settings.item[0].name, settings.item[0].value, &why),
                     0);
    assert_string_equal(settings.item[SETTINGS_MAX - 1].name, "control_1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read),
        cmocka_unit_test(bad_lists_are_refused),
        cmocka_unit_test(there_is_an_end),
    };
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
