/* Images that filters are made of, from the bytes of their files. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include "filters/filter_image.h"

/* The bytes of a text, which may contain zeros. */
#define BYTES(text) text, sizeof(text) - 1

static void expect_pixels(const void *bytes, size_t count, unsigned columns, unsigned rows,
                          const double *expected)
{
    struct filter_image *image;
    struct error why = {""};
    const int r = filter_image_parse(&image, "a.pgm", bytes, count, &why);
    if (r != 0)
        fail_msg("%s", why.text);
    assert_int_equal(image->columns, columns);
    assert_int_equal(image->rows, rows);
    assert_string_equal(image->name, "a.pgm");
    double sum = 0, square_sum = 0, lowest = expected[0], highest = expected[0];
    for (unsigned i = 0; i < columns * rows; i++) {
        assert_true(fabs((double)image->pixel[i] - expected[i]) <= 1e-7);
        sum += expected[i];
        square_sum += expected[i] * expected[i];
        lowest = fmin(lowest, expected[i]);
        highest = fmax(highest, expected[i]);
    }
    assert_true(fabs(image->sum - sum) < 1e-6);
    assert_true(fabs(image->square_sum - square_sum) < 1e-6);
    assert_true(fabs((double)image->lowest - lowest) <= 1e-7);
    assert_true(fabs((double)image->highest - highest) <= 1e-7);
    filter_image_destroy(image);
}

static void every_format_is_read(void **state)
{
    (void)state;
    const double raw[] = {0, 128 / 255.0, 1, 1 / 255.0, 2 / 255.0, 3 / 255.0};
    expect_pixels(BYTES("P5\n# a comment\n3 2 # another\n255\n\0\x80\xff\1\2\3"), 3, 2, raw);
    const double white_200[] = {0.5, 1};
    expect_pixels(BYTES("P5 2 1 200\n\x64\xc8"), 2, 1, white_200);
    const double raw_16[] = {258 / 65535.0, 1};
    expect_pixels(BYTES("P5 2 1 65535\n\1\2\xff\xff"), 2, 1, raw_16);
    const double plain[] = {0, 1, 7 / 15.0, 0.2};
    expect_pixels(BYTES("P2\n2 2\n15\n0 15\n7 3 # end"), 2, 2, plain);
    /* Rows from the bottom to the top: 0.5 -1 is the lower one. */
    const double floats[] = {2, 0.25, 0.5, -1};
    expect_pixels(BYTES("Pf\n2 2\n-1.0\n\0\0\0\x3f\0\0\x80\xbf\0\0\0\x40\0\0\x80\x3e"), 2, 2,
                  floats);
    expect_pixels(BYTES("Pf\n2 2\n1\n\x3f\0\0\0\xbf\x80\0\0\x40\0\0\0\x3e\x80\0\0"), 2, 2, floats);
    const double rows[] = {-2, -1, 0, -1, 1, 1, 0, 1, 2.5};
    expect_pixels(BYTES("# emboss\n-2 -1 0\n-1, 1, 1 # middle\n\n0\t1 2.5e0\r\n"), 3, 3, rows);
    const double one[] = {7};
    expect_pixels(BYTES("7"), 1, 1, one);
}

static void bad_files_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t count;
        const char *said;
    } cases[] = {
        {BYTES(""), "image bad is empty"},
        {BYTES("\n\n# nothing\n"), "has no numbers"},
        {BYTES("\x89PNG\r\n"), "image bad is a damaged PNG: expected PNG, grey PGM"},
        {BYTES("P6 1 1 255\n123"), "in colour (P6)"},
        {BYTES("PF 1 1 -1\n"), "in colour (PF)"},
        {BYTES("hello"), "hello in row 1 is not a number"},
        {BYTES("1 2\n3\n"), "row 2 has 1 numbers: expected 2"},
        {BYTES("1 2\n3 nan\n"), "nan in row 2 is not a number"},
        {BYTES("1 2\n3 -2e6\n"), "column 2 of row 2 is -2e+06: expected -1e+06 .. 1e+06"},
        {BYTES("1\0002"), "is not a number"},
        {BYTES("P5"), "the width in its header is ''"},
        {BYTES("P5 1"), "the height in its header is ''"},
        {BYTES("P5 x 1 255\n1"), "the width in its header is x"},
        {BYTES("P5 1.5 1 255\n1"), "its size is 1.5x1: expected whole numbers"},
        {BYTES("P5 0 1 255\n"), "0x1 pixels: expected 1x1 .. 8192x8192"},
        {BYTES("P5 -3 1 255\n"), "-3x1 pixels"},
        {BYTES("P5 9000 1 255\n"), "9000x1 pixels"},
        {BYTES("P5 4096 4097 255\n"), "at most 16777216 in all"},
        {BYTES("P5 99999999999999999999 2 255\n"), "pixels: expected 1x1 .. 8192x8192"},
        {BYTES("P5 1 1 0\n1"), "the maximum in its header is 0"},
        {BYTES("P5 1 1 65536\n1"), "the maximum in its header is 65536"},
        {BYTES("P5 2 2 255\n123"), "truncated: it has 3 of 4 bytes"},
        {BYTES("P5 2 2 256\n1234567"), "truncated: it has 7 of 8 bytes"},
        {BYTES("P5 1 1 255\n12"), "1 bytes follow its pixels"},
        {BYTES("P5 2 1 100\n\1\x65"), "column 2 of row 1 is 101: expected at most"},
        {BYTES("P2 2 1 9 1"), "truncated: it has 1 of 2 pixels"},
        {BYTES("P2 2 1 9 1 -1"), "column 2 of row 1 is not a whole number"},
        {BYTES("P2 1 1 9 1 1"), "1 bytes follow its pixels"},
        {BYTES("P2 1 1 9 10"), "is 10: expected at most"},
        {BYTES("Pf 1 1 -1\n123"), "truncated: it has 3 of 4 bytes"},
        {BYTES("Pf 1 1 0\n1234"), "the scale in its header is 0"},
        {BYTES("Pf 1 1 -1\n\0\0\xc0\x7f"), "column 1 of row 1 is nan"},
        {BYTES("Pf 1 2 1\n\0\0\0\0\xff\x80\0\0"), "column 1 of row 1 is -inf"},
        {BYTES("Pf 1 1 1\n\x7f\0\0\0"), "expected -1e+06 .. 1e+06"},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct filter_image *image = NULL;
        struct error why = {""};
        const int r = filter_image_parse(&image, "bad", cases[i].bytes, cases[i].count, &why);
        assert_int_equal(r, -EINVAL);
        assert_null(image);
        if (strstr(why.text, cases[i].said) == NULL)
            fail_msg("case %u: \"%s\" does not contain \"%s\"", i, why.text, cases[i].said);
    }
}

static void large_files_are_refused(void **state)
{
    (void)state;
    struct filter_image *image = NULL;
    struct error why;
    char *bytes = malloc(FILTER_IMAGE_MAX_BYTES + 1);
    assert_non_null(bytes);
    memset(bytes, '1', FILTER_IMAGE_MAX_BYTES + 1);
    const int r = filter_image_parse(&image, "large", bytes, FILTER_IMAGE_MAX_BYTES + 1, &why);
    const int r_text = filter_image_parse(&image, "long", bytes, FILTER_IMAGE_MAX_TEXT + 1, NULL);
    free(bytes);
    assert_int_equal(r, -EINVAL);
    assert_int_equal(r_text, -EINVAL);
    assert_non_null(strstr(why.text, "image large has 68157441 bytes: expected at most"));
}

static struct filter_image *parse(const char *name, const char *text)
{
    struct filter_image *image;
    assert_int_equal(filter_image_parse(&image, name, text, strlen(text), NULL), 0);
    return image;
}

static void images_are_compared_and_held(void **state)
{
    (void)state;
    struct filter_image *a = parse("a", "1 2"), *same = parse("a", "1 2"),
                        *other = parse("b", "1 2"), *turned = parse("a", "1\n2"),
                        *changed = parse("a", "1 3");
    assert_true(filter_image_equal(a, a) && filter_image_equal(a, same));
    assert_true(filter_image_equal(NULL, NULL));
    assert_false(filter_image_equal(a, NULL) || filter_image_equal(NULL, a));
    assert_false(filter_image_equal(a, other) || filter_image_equal(a, turned) ||
                 filter_image_equal(a, changed));
    assert_false(filter_image_is_held(a));
    filter_image_hold(a);
    filter_image_hold(a);
    filter_image_drop(a);
    assert_true(filter_image_is_held(a));
    filter_image_drop(a);
    assert_false(filter_image_is_held(a));
    filter_image_hold(NULL);
    filter_image_drop(NULL);
    filter_image_destroy(NULL);
    struct filter_image *all[] = {a, same, other, turned, changed};
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
        filter_image_destroy(all[i]);
}

static struct filter_image *loadable;

static int load(const struct filter_image **ret, const char *name, struct error *why)
{
    if (strcmp(name, loadable->name) != 0)
        return error_set(why, ENOENT, "no image %s", name);
    *ret = loadable;
    return 0;
}

static void names_never_lead_elsewhere(void **state)
{
    static const char *const bad[] = {"",        ".",   "..",   "../x", "a/b",      "/etc/passwd",
                                      ".hidden", "a b", "a\n",  "-x",   "\xc3\xa4", "a,b",
                                      "a|b",     "a:b", "a\\b", "a=b"};
    const struct filter_image *image = NULL;
    struct error why;
    char longest[FILTER_IMAGE_NAME_BYTES + 1];
    (void)state;
    loadable = parse("psf-1_b.txt", "1");
    assert_int_equal(filter_image_load(&image, "psf-1_b.txt", &why), -ENOENT); /* no loader */
    filter_image_set_loader(load);
    assert_int_equal(filter_image_load(&image, "psf-1_b.txt", &why), 0);
    assert_ptr_equal(image, loadable);
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(filter_image_load(&image, bad[i], &why), -EINVAL);
        assert_non_null(strstr(why.text, "is not the name of an image"));
    }
    memset(longest, 'a', sizeof longest);
    longest[FILTER_IMAGE_NAME_BYTES] = '\0';
    assert_false(filter_image_is_name(longest));
    assert_true(filter_image_is_name(longest + 1));
    filter_image_set_loader(NULL);
    filter_image_destroy(loadable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_is_read),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(large_files_are_refused),
        cmocka_unit_test(images_are_compared_and_held),
        cmocka_unit_test(names_never_lead_elsewhere),
    };
    return cmocka_run_group_tests_name("filter_image", tests, NULL, NULL);
}
