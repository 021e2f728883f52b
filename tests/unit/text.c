/* Numbers come back exactly, in any locale; what a user typed is safe to show. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include "core/text.h"

static void numbers_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double number;
    } good[] = {{"0", 0},       {"12", 12},    {"-0.5", -0.5}, {"+.25", 0.25}, {"1.", 1},
                {"1e-3", 1e-3}, {"2E+2", 200}, {"0.1", 0.1},   {"1e-999", 0}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        double number = NAN;
        assert_int_equal(text_to_number(&number, good[i].text), 0);
        assert_true(number == good[i].number);
    }
}

static void what_is_no_number_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",    " 1",  "1 ", "nan",  "inf",   "-inf",  "0x10",
                                      "1e",  "1e+", ".",  "-",    "1.2.3", "1,5",   "0.1abc",
                                      "--1", "1-",  "e5", "0.1f", "1_000", "NaN(1)"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        double number = 42;
        assert_int_equal(text_to_number(&number, bad[i]), -EINVAL);
        assert_true(number == 42);
    }
    double number = 42;
    assert_int_equal(text_to_number(&number, "1e999"), -ERANGE);
    assert_true(number == 42);
}

static void numbers_come_back_exactly(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        double number, back = 0;
        memcpy(&number, &random, sizeof number);
        if (!isfinite(number))
            continue;
        char text[TEXT_NUMBER_BYTES];
        text_from_number(number, text, sizeof text);
        assert_in_range(strlen(text), 1, sizeof text - 1);
        assert_int_equal(text_to_number(&back, text), 0);
        assert_true(back == number);
    }
}

static void floats_come_back_exactly(void **state)
{
    (void)state;
    uint32_t random = 2463534242u;
    for (int i = 0; i < 20000; i++) {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        float number;
        memcpy(&number, &random, sizeof number);
        if (!isfinite(number))
            continue;
        double back = 0;
        char text[TEXT_NUMBER_BYTES];
        text_from_float(number, text, sizeof text);
        assert_in_range(strlen(text), 1, strlen("-1.23456789e-38"));
        assert_int_equal(text_to_number(&back, text), 0);
        assert_true((float)back == number);
    }
}

static void numbers_are_short(void **state)
{
    (void)state;
    static const struct {
        double number;
        const char *text;
    } cases[] = {{0.1, "0.1"},    {0.25, "0.25"}, {2, "2"},
                 {1e-5, "1e-05"}, {-0.5, "-0.5"}, {1.0 / 3, "0.3333333333333333"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[TEXT_NUMBER_BYTES];
        text_from_number(cases[i].number, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
    char text[TEXT_NUMBER_BYTES];
    text_from_float(0.1f, text, sizeof text);
    assert_string_equal(text, "0.1");
    text_from_float(16777216.0f / 3, text, sizeof text);
    assert_string_equal(text, "5592405.5");
}

/* Under a locale with a decimal comma nothing changes. */
static void the_locale_does_not_matter(void **state)
{
    (void)state;
    static const char *const with_comma[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof with_comma / sizeof with_comma[0] && found == NULL; i++)
        found = setlocale(LC_ALL, with_comma[i]);
    if (found == NULL) {
        puts("skipped: no locale with a decimal comma is installed");
        skip();
    }
    char text[TEXT_NUMBER_BYTES];
    double number = 0;
    snprintf(text, sizeof text, "%.1f", 0.5);
    assert_string_equal(text, "0,5"); /* or this test would say nothing */
    text_from_number(0.5, text, sizeof text);
    assert_string_equal(text, "0.5");
    text_from_float(0.1f, text, sizeof text);
    assert_string_equal(text, "0.1");
    assert_int_equal(text_to_number(&number, "0.25"), 0);
    assert_true(number == 0.25);
    assert_int_equal(text_to_number(&number, "0,25"), -EINVAL);
    setlocale(LC_ALL, "C");
}

static void quotes_make_it_safe(void **state)
{
    (void)state;
    char quoted[TEXT_QUOTE_BYTES];
    assert_string_equal(text_quote(quoted, "0.7"), "0.7");
    assert_string_equal(text_quote(quoted, "low-pass"), "low-pass");
    assert_string_equal(text_quote(quoted, ""), "''");
    assert_string_equal(text_quote(quoted, "a b"), "'a b'");
    assert_string_equal(text_quote(quoted, "a\x1b[2J\n\xc3\xa4"), "'a?[2J?"
                                                                  "?"
                                                                  "?'");

    char longer[500];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    text_quote(quoted, longer);
    assert_int_equal(strlen(quoted), TEXT_QUOTE_BYTES - 1);
    assert_string_equal(quoted + strlen(quoted) - 5, "x...'");
}

/* UTF-8 that is valid stays readable; everything else becomes something that JSON allows. */
static void json_strings_are_valid(void **state)
{
    (void)state;
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"", "\"\""},
        {"HD Webcam C270", "\"HD Webcam C270\""},
        {"a \"b\" \\ c", "\"a \\\"b\\\" \\\\ c\""},
        {"\x01\t\n\x7f\xc2\x9b", "\"\\u0001\\u0009\\u000a\\u007f\\u009b\""},
        {"Kamera f\xc3\xbcr \xe2\x82\xac \xf0\x9f\x93\xb7",
         "\"Kamera f\xc3\xbcr \xe2\x82\xac \xf0\x9f\x93\xb7\""},
        {"\xfc", "\"\xef\xbf\xbd\""},                   /* Latin-1 */
        {"\xc3", "\"\xef\xbf\xbd\""},                   /* cut short */
        {"\xe2\x82z", "\"\xef\xbf\xbd\xef\xbf\xbdz\""}, /* cut short, in the middle */
        {"\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\""},   /* overlong */
        {"\xe0\x9f\xbf", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* a surrogate */
        {"\xf4\x90\x80\x80z",
         "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\""}, /* above U+10FFFF */
        {"\xf5z", "\"\xef\xbf\xbdz\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char json[TEXT_JSON_BYTES(32)];
        assert_in_range(strlen(cases[i].text), 0, 32);
        assert_string_equal(text_to_json(json, sizeof json, cases[i].text), cases[i].json);
    }
    char worst[TEXT_JSON_BYTES(4)], small[6];
    assert_string_equal(text_to_json(worst, sizeof worst, "\x01\x02\x03\x04"),
                        "\"\\u0001\\u0002\\u0003\\u0004\"");
    assert_string_equal(text_to_json(small, sizeof small, "abcdef"), "\"abc\"");
    assert_string_equal(text_to_json(small, sizeof small, "ab\xc3\xbc"), "\"ab\"");
}

static const char *nearest(const char *typed)
{
    static const char *const names[] = {"lowpass",  "highpass", "gaussian-blur",
                                        "box-blur", "notch",    "fps"};
    struct text_guess guess = TEXT_GUESS(typed);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        text_guess_try(&guess, names[i]);
    return guess.best;
}

static void the_nearest_name_is_found(void **state)
{
    (void)state;
    assert_string_equal(nearest("lowpas"), "lowpass");
    assert_string_equal(nearest("lopwass"), "lowpass");
    assert_string_equal(nearest("hihgpass"), "highpass");
    assert_string_equal(nearest("gaussian"), "gaussian-blur");
    assert_string_equal(nearest("ntoch"), "notch");
    /* Of three letters one mistake is forgiven, and a swap is one. */
    assert_string_equal(nearest("pfs"), "fps");
    assert_string_equal(nearest("fsp"), "fps");
    assert_string_equal(nearest("fpx"), "fps");
    assert_null(nearest("fxx"));
    assert_null(nearest("spf"));
    assert_null(nearest("xyzzy"));
    assert_null(nearest(""));
    assert_null(nearest("a name that is much too long to be a misspelt one of anything"));
}

static void text_is_cut_apart(void **state)
{
    (void)state;
    char text[] = "  a = b = c\t\n";
    char *rest = text_cut_at(text, '=');
    assert_string_equal(text_trim(text), "a");
    assert_string_equal(text_trim(rest), "b = c");
    assert_null(text_cut_at(text, '='));
    char blank[] = " \t ";
    assert_string_equal(text_trim(blank), "");
}

static void append_never_overruns(void **state)
{
    (void)state;
    char text[8] = "abc";
    text_append(text, sizeof text, "%s", "defghij");
    assert_string_equal(text, "abcdefg");
    text_append(text, sizeof text, "more");
    assert_string_equal(text, "abcdefg");
}

static void texts_are_safe_to_print(void **state)
{
    static const struct {
        const char *text, *clean;
    } cases[] = {
        {"", ""},
        {"Mikroskop 3: \xc3\xbc \xe2\x82\xac", "Mikroskop 3: \xc3\xbc \xe2\x82\xac"},
        {"a\nb\tc\x7f", "a b c?"},
        {"\x1b[31mred", "?[31mred"},
        {"\xc2\x9b"
         "2J",
         "??2J"}, /* U+009B, the one-character form of ESC [ */
        {"\xc2\xa0", "\xc2\xa0"},
        {"\x9b"
         "2J \xff\xc3",
         "?2J ??"}, /* not UTF-8 */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", cases[i].text);
        assert_string_equal(text_clean(text), cases[i].clean);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read),          cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(numbers_come_back_exactly), cmocka_unit_test(floats_come_back_exactly),
        cmocka_unit_test(numbers_are_short),         cmocka_unit_test(the_locale_does_not_matter),
        cmocka_unit_test(quotes_make_it_safe),       cmocka_unit_test(json_strings_are_valid),
        cmocka_unit_test(the_nearest_name_is_found), cmocka_unit_test(text_is_cut_apart),
        cmocka_unit_test(append_never_overruns),     cmocka_unit_test(texts_are_safe_to_print),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
