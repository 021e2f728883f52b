/* Controls: their names, and which texts are values. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "support/cmocka.h"

#include "capture/v4l2_control.h"

static void names_are_v4l2_ctls(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"Brightness", "brightness"},
        {"White Balance, Automatic", "white_balance_automatic"},
        {"Exposure Time, Absolute", "exposure_time_absolute"},
        {"  Odd -- one! ", "odd_one"},
        {"3D Detection (2)", "3d_detection_2"},
        {"A name longer than any that fits here", "a_name_longer_than_any_that_fit"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char name[SETTINGS_NAME_BYTES];
        video_control_name(name, cases[i][0]);
        assert_string_equal(name, cases[i][1]);
    }
}

static struct capture_menu_entry entries[] = {{0, "Disabled"}, {2, "60 Hz"}, {3, "Auto"}};

static const struct capture_control gain = {
    .name = "gain", .type = CAPTURE_INTEGER, .minimum = -10, .maximum = 100, .step = 5};
static const struct capture_control flip = {.name = "flip", .type = CAPTURE_BOOLEAN};
static const struct capture_control mains = {
    .name = "mains", .type = CAPTURE_MENU, .entry = entries, .entry_count = 3};
static const struct capture_control mask = {
    .name = "mask", .type = CAPTURE_BITMASK, .maximum = 0x80002000};
static const struct capture_control button = {.name = "focus", .type = CAPTURE_BUTTON};
static const struct capture_control label = {
    .name = "label", .type = CAPTURE_TEXT, .minimum = 2, .maximum = 4};
static const struct capture_control fixed = {
    .name = "fixed", .type = CAPTURE_INTEGER, .maximum = 9, .read_only = true};

static void values_are_read(void **state)
{
    (void)state;
    static const struct {
        const struct capture_control *control;
        const char *text;
        int64_t value;
    } cases[] = {
        {&gain, "-10", -10}, {&gain, "95", 95},    {&gain, "0x0f", 15},
        {&flip, "true", 1},  {&flip, "0", 0},      {&mains, "2", 2},
        {&mains, "auto", 3}, {&mains, "60 Hz", 2}, {&mask, "0x80000000", 0x80000000},
        {&mask, "0", 0},     {&button, "true", 0}, {&label, "abc", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t value = -1;
        struct error why = {""};
        if (video_control_value(&value, cases[i].control, cases[i].text, &why) < 0)
            fail_msg("%s", why.text);
        assert_int_equal(value, cases[i].value);
    }
}

/* A refusal names the control, the value and what is right. */
static void bad_values_are_refused(void **state)
{
    (void)state;
    static const struct {
        const struct capture_control *control;
        const char *text, *reason;
    } cases[] = {
        {&gain, "101", "gain = 101: expected -10 .. 100 in steps of 5"},
        {&gain, "-11", "gain = -11: expected -10 .. 100"},
        {&gain, "3", "gain = 3: expected"},
        {&gain, "1.5", "gain = 1.5: expected"},
        {&gain, " 5", "gain = ' 5': expected"},
        {&gain, "99999999999999999999", "expected -10"},
        {&flip, "yes", "flip = yes: expected true or false"},
        {&flip, "2", "flip = 2"},
        {&mains, "1", "mains = 1: expected one of 0 (Disabled), 2 (60 Hz), 3 (Auto)"},
        {&mains, "50 Hz", "mains = '50 Hz'"},
        {&mask, "1", "mask = 1: expected bits of 0x80002000"},
        {&mask, "-1", "mask = -1"},
        {&button, "false", "focus = false: expected true, which presses it"},
        {&label, "a", "label = a: expected text of 2 .. 4 bytes"},
        {&label, "abcde", "label = abcde"},
        {&fixed, "1", "fixed = 1: the control is read-only"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t value = 77;
        struct error why = {""};
        assert_int_equal(video_control_value(&value, cases[i].control, cases[i].text, &why),
                         -EINVAL);
        if (strstr(why.text, cases[i].reason) == NULL)
            fail_msg("\"%s\" does not hold \"%s\"", why.text, cases[i].reason);
        assert_int_equal(value, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_v4l2_ctls),
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(bad_values_are_refused),
    };
    return cmocka_run_group_tests_name("v4l2_control", tests, NULL, NULL);
}
