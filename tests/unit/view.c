/* The names of views, and the marks in them. */
#include "support/cmocka.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/format.h"
#include "filters/view.h"

static void every_name_is_found(void **state)
{
    (void)state;
    for (unsigned i = 0; i < VIEW_COUNT; i++) {
        enum view_kind view = VIEW_COUNT;
        struct error why;
        assert_int_equal(view_from_name(&view, view_names[i], &why), 0);
        assert_int_equal(view, i);
    }
    assert_null(view_names[VIEW_COUNT]);
}

static void an_unknown_name_changes_nothing(void **state)
{
    static const char *const names[] = {"", "Picture", "picture ", "spectru"};
    (void)state;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        enum view_kind view = VIEW_DIFFERENCE;
        struct error why;
        assert_int_equal(view_from_name(&view, names[i], &why), -EINVAL);
        assert_int_equal(view, VIEW_DIFFERENCE);
        assert_non_null(strstr(why.text, names[i]));
        assert_non_null(strstr(why.text, ": expected picture, difference, spectrum, "
                                         "peaks or edges"));
    }
}

static const uint8_t *pixel(const struct fftd_format *format, const uint8_t *frame, unsigned x,
                            unsigned y)
{
    const struct format_info *info = format_by_fourcc(format->fourcc);
    return frame + format->plane[0].offset + (size_t)y * format->plane[0].stride +
           (size_t)x * info->step;
}

/* Squares around (40, 20) and (24, 28), of which the corners stay if the wave is not removed. */
static void marks_are_squares(void **state)
{
    static const char *const names[] = {"GREY", "Y10", "YUYV", "RGB24"};
    (void)state;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct format_info *info = format_by_name(names[i]);
        struct fftd_format format;
        assert_int_equal(format_layout(&format, info->fourcc, 64, 48, 4, NULL), 0);
        uint8_t *frame = calloc(1, format.frame_bytes);
        for (unsigned removed = 0; removed < 2; removed++) {
            const struct view_mark mark = {
                .fx = 8 / 64., .fy = -4 / 48., .is_removed = removed == 1};
            const unsigned places[][3] = {{36, 16, 1},       {37, 16, 1},       {44, 24, 1},
                                          {20, 24, 1},       {40, 16, removed}, {36, 20, removed},
                                          {28, 28, removed}, {40, 20, 0},       {35, 16, 0}};
            view_mark(frame, &format, &mark, 1);
            for (unsigned k = 0; k < sizeof places / sizeof places[0]; k++) {
                const uint8_t *at = pixel(&format, frame, places[k][0], places[k][1]);
                assert_int_equal(at[info->offset], places[k][2] ? 255 : 0);
                if (info->bits > 8)
                    assert_int_equal(at[1], places[k][2] ? 3 : 0);
                if (info->kind == SAMPLE_RGB8)
                    assert_int_equal(at[2], places[k][2] ? 255 : 0);
            }
        }
        free(frame);
    }
}

/* The checks of the memory's bounds are those of valgrind and of the sanitizers. */
static void marks_end_at_the_edge(void **state)
{
    const struct view_mark marks[] = {{.fx = 0.5, .fy = 0.5, .is_removed = true},
                                      {.fx = -0.5, .fy = 0, .is_removed = true}};
    struct fftd_format format;
    (void)state;
    assert_int_equal(format_layout(&format, format_by_name("GREY")->fourcc, 32, 32, 1, NULL), 0);
    uint8_t *frame = calloc(1, format.frame_bytes);
    view_mark(frame, &format, marks, 2);
    assert_int_equal(*pixel(&format, frame, 28, 31), 255);
    assert_int_equal(*pixel(&format, frame, 4, 16), 255);
    assert_int_equal(*pixel(&format, frame, 16, 5), 0);
    free(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_is_found),
        cmocka_unit_test(an_unknown_name_changes_nothing),
        cmocka_unit_test(marks_are_squares),
        cmocka_unit_test(marks_end_at_the_edge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
