/* The JSON writer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include "common/json.h"

static char *text;
static size_t size;

static struct json begin(void)
{
    return (struct json){.file = open_memstream(&text, &size)};
}

static void assert_written(struct json *json, const char *expected)
{
    fclose(json->file);
    assert_string_equal(text, expected);
    free(text);
}

static void values_nest_and_are_separated(void **state)
{
    (void)state;
    struct json json = begin();
    json_open(&json, NULL, '{');
    json_open(&json, "empty", '[');
    json_close(&json, ']');
    json_open(&json, "list", '[');
    json_integer(&json, NULL, UINT64_MAX);
    json_signed(&json, NULL, -1);
    json_open(&json, NULL, '{');
    json_bool(&json, "yes", true);
    json_bool(&json, "no", false);
    json_close(&json, '}');
    json_close(&json, ']');
    json_text(&json, "last", "x");
    json_close(&json, '}');
    json_integer(&json, NULL, 2);
    assert_written(&json, "{\"empty\": [], \"list\": [18446744073709551615, -1, "
                          "{\"yes\": true, \"no\": false}], \"last\": \"x\"}\n2\n");
}

static void texts_are_escaped(void **state)
{
    (void)state;
    struct json json = begin();
    json_text(&json, NULL, "a\"b\\c\n\x01\x7f\xc2\x9b\xc2\xa0\xc3\xa9");
    assert_written(&json, "\"a\\\"b\\\\c\\u000a\\u0001\\u007f\\u009b\xc2\xa0\xc3\xa9\"\n");
}

static void numbers_come_back_exactly(void **state)
{
    (void)state;
    static const double numbers[] = {0, -0.25, 0.1, 1.0 / 3, 1e300, 5e-324, 123456789012345678.0};
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct json json = begin();
        json_number(&json, NULL, numbers[i]);
        fclose(json.file);
        assert_true(strtod(text, NULL) == numbers[i]);
        free(text);
    }
    struct json json = begin();
    json_number(&json, NULL, 0.1);
    json_number(&json, NULL, NAN);
    json_number(&json, NULL, -INFINITY);
    assert_written(&json, "0.1\nnull\nnull\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_nest_and_are_separated),
        cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(numbers_come_back_exactly),
    };
    return cmocka_run_group_tests_name("ctl_json", tests, NULL, NULL);
}
