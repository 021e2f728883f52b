/* The text of a configuration is edited at one place: whatever is around it stays, and libconfig
 * reads the new value. */
#include <libconfig.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include "common/config_text.h"

static char *set(const char *text, const char *key, const char *value)
{
    char *edited = NULL;
    assert_int_equal(config_text_set(&edited, text, key, value), 0);
    return edited;
}

/* Each | marks where the value is in the text before; after it, the rest. */
static void only_the_value_changes(void **state)
{
    static const char *const cases[][4] = {
        {"filter", "filter = ", "\"none\"", ";\n"},
        {"filter", "filter:", "\"none\"", ",name=\"x\""},
        {"filter", "# filter = \"no\";\n/* filter = 1; */ filter = ", "\"a\" // b\n \"c\"",
         " ; # d"},
        {"filter", "a = { filter = 1; b = ( \"}\", 2 ); };\n// x\nfilter =\n  ",
         "( { type = \"gain\"; /* ) */ }, # )\n { type = \"x\\\"\"; } )", "\n"},
        {"filter", "filters = 2\nfilter-x = 3\nfilter = ", "true", "# end"},
        {"filter", "name = \"a\\\\\";filter = ", "\"\"", ""},
        {"camera.controls", "controls = 1; camera = { source = \"x\"; controls = ",
         "{ a = 1; b = \"}\"; }", "; };\nfilter = \"none\";\n"},
        {"camera.controls", "camera : {\r\n\tcontrols : ", "\"none\"",
         ",\r\n\tfps = 1.5e3\r\n}\r\n"},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char before[300], after[300];
        snprintf(before, sizeof before, "%s%s%s", cases[i][1], cases[i][2], cases[i][3]);
        snprintf(after, sizeof after, "%s\"new\"%s", cases[i][1], cases[i][3]);
        char *edited = set(before, cases[i][0], "new");
        assert_string_equal(edited, after);
        free(edited);
    }
}

static void a_missing_key_is_added(void **state)
{
    static const char *const cases[][3] = {
        {"", "filter", "filter = \"new\";\n"},
        {"name = \"x\"", "filter", "name = \"x\"\nfilter = \"new\";\n"},
        {"# only this", "filter", "# only this\nfilter = \"new\";\n"},
        {"filter = 1;\n", "camera.controls",
         "filter = 1;\ncamera = {\n    controls = \"new\";\n};\n"},
        {"camera = {\n    fps = 1.0; # fast }\n};\n", "camera.controls",
         "camera = {\n    fps = 1.0; # fast }\n    controls = \"new\";\n};\n"},
        {"camera = { fps = 1.0 }", "camera.controls",
         "camera = { fps = 1.0 \n    controls = \"new\";\n}"},
        {"engine = { controls = 1; };\ncamera = {};\n", "camera.controls",
         "engine = { controls = 1; };\ncamera = {\n    controls = \"new\";\n};\n"},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *edited = set(cases[i][0], cases[i][1], "new");
        assert_string_equal(edited, cases[i][2]);
        config_t parsed;
        const char *value = NULL;
        config_init(&parsed);
        assert_int_equal(config_read_string(&parsed, edited), CONFIG_TRUE);
        assert_int_equal(config_lookup_string(&parsed, cases[i][1], &value), CONFIG_TRUE);
        assert_string_equal(value, "new");
        config_destroy(&parsed);
        free(edited);
    }
}

/* As libconfig reads it: a long chain in lines, and what a string may have in it. */
static void values_are_read_back(void **state)
{
    static const char *const values[] = {
        "none",
        "a \"quoted\" word, a \\ and a\ttab",
        ("lowpass:shape=gaussian,cutoff=0.1,order=2 | notch:at=0.25/0,width=0.01,shape=gaussian | "
         "convolve:kernel=-1 0 1/-2 0 2/-1 0 1 | gain"),
        "\x7f\x1b[2J",
        " |  | ",
    };
    (void)state;
    for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
        char *edited = set("camera = {\n    controls = ( 1,\n 2 ) ; # two\n};\n", "camera.controls",
                           values[i]);
        config_t parsed;
        const char *value = NULL;
        config_init(&parsed);
        assert_int_equal(config_read_string(&parsed, edited), CONFIG_TRUE);
        assert_int_equal(config_lookup_string(&parsed, "camera.controls", &value), CONFIG_TRUE);
        assert_string_equal(value, values[i]);
        assert_non_null(strstr(edited, " ; # two\n};\n"));
        for (const char *line = edited; line != NULL; line = strchr(line + 1, '\n'))
            assert_true(strcspn(line + 1, "\n") <= 100);
        config_destroy(&parsed);
        free(edited);
    }
}

static void what_is_no_configuration_is_refused(void **state)
{
    static const char *const texts[] = {
        "filter",           "filter =",       "filter = ;",        "= 1;",     "filter = \"a",
        "filter = ( \"a\"", "camera = { a }", "camera = { a = 1;", "@include", "camera = 1; x",
    };
    (void)state;
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *untouched = NULL;
        const bool is_camera = strncmp(texts[i], "camera", 6) == 0;
        assert_true(config_text_set(&untouched, texts[i], is_camera ? "camera.controls" : "filter",
                                    "none") < 0);
        assert_null(untouched);
    }
    char *untouched = NULL;
    assert_true(config_text_set(&untouched, "camera = \"x\";", "camera.controls", "none") < 0);
    assert_null(untouched);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_value_changes),
        cmocka_unit_test(a_missing_key_is_added),
        cmocka_unit_test(values_are_read_back),
        cmocka_unit_test(what_is_no_configuration_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
