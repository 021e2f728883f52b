/* Y4M headers, good and bad. */
#include <errno.h>
#include <string.h>

#include "support/cmocka.h"

#include "capture/y4m.h"

static int parse(const char *text, struct fftd_format *format, struct error *why)
{
    size_t used = 0;
    int r = y4m_parse_header((const uint8_t *)text, strlen(text), format, &used, why);
    if (r == 0)
        assert_int_equal(used, strchr(text, '\n') + 1 - text);
    return r;
}

static void good_headers(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name;
        uint32_t width, height, num, den, full_range;
    } cases[] = {
        {"YUV4MPEG2 W640 H480 F30:1 Ip A1:1 C420jpeg\nFRAME\n", "YUV420", 640, 480, 30, 1, 0},
        {"YUV4MPEG2 W17 H31 F30000:1001\n", "YUV420", 17, 31, 30000, 1001, 0},
        {"YUV4MPEG2 H2 W2 F0:0 C420mpeg2 XCOLORRANGE=FULL\n", "YUV420", 2, 2, 0, 1, 1},
        {"YUV4MPEG2 W4 H4 C420paldv Im\n", "YUV420", 4, 4, 0, 1, 0},
        {"YUV4MPEG2  W8 H8 Cmono F25:2 Xanything A0:0\n", "GREY", 8, 8, 25, 2, 1},
        {"YUV4MPEG2 W8 H8 Cmono XCOLORRANGE=LIMITED\n", "GREY", 8, 8, 0, 1, 0},
        {"YUV4MPEG2 W8 H8 Cmono10\n", "Y10", 8, 8, 0, 1, 1},
        {"YUV4MPEG2 W8 H8 Cmono16\n", "Y16", 8, 8, 0, 1, 1},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fftd_format format;
        struct error why = {""};
        if (parse(cases[i].text, &format, &why) < 0)
            fail_msg("%s: %s", cases[i].text, why.text);
        assert_string_equal(format_by_fourcc(format.fourcc)->name, cases[i].name);
        assert_int_equal(format.width, cases[i].width);
        assert_int_equal(format.height, cases[i].height);
        assert_int_equal(format.rate_num, cases[i].num);
        assert_int_equal(format.rate_den, cases[i].den);
        assert_int_equal(format.full_range, cases[i].full_range);
    }
}

static void bad_headers(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", "YUV4MPEG2"},
        {"YUV4MPEG3 W2 H2\n", "YUV4MPEG2"},
        {"YUV4MPEG2W2 H2\n", "YUV4MPEG2"},
        {"YUV4MPEG2 W2 H2", "line"},
        {"YUV4MPEG2 W2\n", "no height"},
        {"YUV4MPEG2\n", "no width"},
        {"YUV4MPEG2 W0 H2\n", "no width"},
        {"YUV4MPEG2 W-2 H2\n", "W-2"},
        {"YUV4MPEG2 W H2\n", "parameter W"},
        {"YUV4MPEG2 W9999999999999999999 H2\n", "W9999999999999999999"},
        {"YUV4MPEG2 W8193 H2\n", "8192"},
        {"YUV4MPEG2 W2 H2 F30\n", "F30"},
        {"YUV4MPEG2 W2 H2 F30:0\n", "F30:0"},
        {"YUV4MPEG2 W2 H2 F5000:1\n", "1000"},
        {"YUV4MPEG2 W2 H2 F1:1:1\n", "F1:1:1"},
        {"YUV4MPEG2 W2 H2 Iq\n", "Iq"},
        {"YUV4MPEG2 W2 H2 I\n", "parameter I"},
        {"YUV4MPEG2 W2 H2 C422\n", "colour space 422"},
        {"YUV4MPEG2 W2 H2 C444alpha\n", "420jpeg"},
        {"YUV4MPEG2 W2 H2 C420p10\n", "420p10"},
        {"YUV4MPEG2 W2 H2 C\n", "colour space"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fftd_format format = {.width = 77};
        struct error why = {""};
        const bool has_colour = strstr(cases[i].text, " C") != NULL;
        assert_int_equal(parse(cases[i].text, &format, &why), has_colour ? -EOPNOTSUPP : -EINVAL);
        if (strstr(why.text, cases[i].reason) == NULL)
            fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].text, why.text, cases[i].reason);
        assert_int_equal(format.width, 77);
    }
}

static void lines_are_bounded(void **state)
{
    (void)state;
    char text[Y4M_MAX_HEADER + 2];
    struct fftd_format format;
    struct error why = {""};
    memset(text, 'X', sizeof text);
    memcpy(text, "YUV4MPEG2 W2 H2 ", 16);
    text[Y4M_MAX_HEADER - 1] = '\n';
    text[Y4M_MAX_HEADER] = '\0';
    assert_int_equal(parse(text, &format, &why), 0);
    text[Y4M_MAX_HEADER - 1] = 'X';
    text[Y4M_MAX_HEADER] = '\n';
    text[Y4M_MAX_HEADER + 1] = '\0';
    assert_int_equal(parse(text, &format, &why), -EINVAL);

    const uint8_t zero[] = "YUV4MPEG2 W2 \0 H2\n";
    size_t used = 0;
    assert_int_equal(y4m_parse_header(zero, sizeof zero - 1, &format, &used, &why), -EINVAL);
}

static int parse_frame(const char *text, size_t *used)
{
    return y4m_parse_frame((const uint8_t *)text, strlen(text), used, NULL);
}

static void frame_headers(void **state)
{
    (void)state;
    size_t used = 0;
    assert_int_equal(parse_frame("FRAME\n\x10\x20", &used), 0);
    assert_int_equal(used, 6);
    assert_int_equal(parse_frame("FRAME Ipp XFOO\n", &used), 0);
    assert_int_equal(used, 15);
    assert_int_equal(parse_frame("FRAMES\n", &used), -EINVAL);
    assert_int_equal(parse_frame("FRAME", &used), -EINVAL);
    assert_int_equal(parse_frame("frame\n", &used), -EINVAL);
    assert_int_equal(parse_frame("", &used), -EINVAL);
    assert_int_equal(used, 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_headers),
        cmocka_unit_test(bad_headers),
        cmocka_unit_test(lines_are_bounded),
        cmocka_unit_test(frame_headers),
    };
    return cmocka_run_group_tests_name("y4m", tests, NULL, NULL);
}
