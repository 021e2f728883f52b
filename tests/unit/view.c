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
                                         "peaks, edges or motion"));
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

/* ---- arrows ---- */

#define BLOCK   32
#define COLUMNS 3
#define ROWS    2

static struct fftd_format format_of(const char *name, uint32_t width, uint32_t height)
{
    struct fftd_format format;
    assert_int_equal(format_layout(&format, format_by_name(name)->fourcc, width, height, 4, NULL),
                     0);
    return format;
}

/* A field as frames carry it. */
struct field {
    struct fftd_motion header;
    int16_t vector[COLUMNS * ROWS][2];
    uint8_t confidence[COLUMNS * ROWS];
};

static const struct field empty = {.header = {.columns = COLUMNS, .rows = ROWS, .block = BLOCK}};

static bool is_level(const struct fftd_format *format, const uint8_t *frame, unsigned x, unsigned y,
                     unsigned level)
{
    return *pixel(format, frame, x, y) == level;
}

/* Block (1, 0) has moved right by 2 pixels, (0, 1) up by 32, of which a block's side is shown;
 * (2, 1) has not moved, and (1, 1) is not sure. */
static void arrows_are_where_blocks_are(void **state)
{
    const struct fftd_format format = format_of("GREY", 64, 48);
    struct field field = empty;
    uint8_t *frame = malloc(format.frame_bytes);
    (void)state;
    field.vector[1][0] = 2 * FFTD_MOTION_UNIT;
    field.vector[COLUMNS][1] = -32 * FFTD_MOTION_UNIT;
    field.vector[COLUMNS + 1][0] = 2 * FFTD_MOTION_UNIT;
    field.vector[COLUMNS + 2][0] = 1;
    for (unsigned i = 0; i < COLUMNS * ROWS; i++)
        field.confidence[i] = FFTD_MOTION_SURE;
    field.confidence[0] = field.confidence[2] = 0;
    field.confidence[COLUMNS + 1] = FFTD_MOTION_SURE - 1;
    memset(frame, 100, format.frame_bytes);
    view_arrows(frame, &format, &field.header);
    for (unsigned x = 32; x <= 32 + 2 * VIEW_ARROW_GAIN; x++)
        assert_true(is_level(&format, frame, x, 16, 255));
    assert_true(is_level(&format, frame, 31, 16, 0));
    assert_true(is_level(&format, frame, 33, 15, 0));
    assert_true(is_level(&format, frame, 30, 16, 100));
    assert_true(is_level(&format, frame, 38, 15, 255)); /* both strokes of its head */
    assert_true(is_level(&format, frame, 38, 17, 255));
    for (unsigned y = 0; y <= BLOCK; y++)
        assert_true(is_level(&format, frame, 16, y, 255));
    assert_true(is_level(&format, frame, 16, 34, 100));
    assert_true(is_level(&format, frame, 48, 32, 255)); /* a dot */
    assert_true(is_level(&format, frame, 49, 32, 0));
    assert_true(is_level(&format, frame, 50, 32, 100));
    for (unsigned x = 24; x < 44; x++)
        assert_true(is_level(&format, frame, x, 32, 100));
    free(frame);
}

/* Arrows of any length and direction stay in the frame, whatever its format. */
static void arrows_end_at_the_edge(void **state)
{
    static const char *const names[] = {"GREY", "Y10", "YUYV", "RGB24", "NV12"};
    static const int16_t ends[][2] = {{INT16_MAX, INT16_MIN}, {INT16_MIN, INT16_MAX},
                                      {INT16_MIN, 0},         {0, INT16_MAX},
                                      {0, INT16_MIN},         {INT16_MAX, INT16_MAX}};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct fftd_format format = format_of(names[i], 34, 20);
        struct field field = empty;
        uint8_t *frame = calloc(1, format.frame_bytes);
        memcpy(field.vector, ends, sizeof ends);
        memset(field.confidence, 255, sizeof field.confidence);
        view_arrows(frame, &format, &field.header);
        assert_int_not_equal(pixel(&format, frame, 16, 16)[0], 0);
        free(frame);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_is_found),
        cmocka_unit_test(an_unknown_name_changes_nothing),
        cmocka_unit_test(marks_are_squares),
        cmocka_unit_test(marks_end_at_the_edge),
        cmocka_unit_test(arrows_are_where_blocks_are),
        cmocka_unit_test(arrows_end_at_the_edge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
