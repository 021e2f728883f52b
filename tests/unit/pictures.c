/* Pictures, streams and spectra of every pixel format there is. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fftd/fftd.h>

#include "support/cmocka.h"
#include "support/pattern_frame.h"

#include "core/format.h"
#include "pictures/picture.h"
#include "pictures/pixels.h"
#include "pictures/spectrum.h"
#include "pictures/y4m.h"

#define WIDTH  64
#define HEIGHT 48

struct frame {
    struct fftd_format format;
    uint8_t *memory;
    struct pixels pixels;
};

/* The scene in this format, rows padded so that padding would be noticed. */
static void draw(struct frame *ret, const char *scene, const char *name, uint32_t width,
                 uint32_t height)
{
    assert_int_equal(
        format_layout(&ret->format, format_by_name(name)->fourcc, width, height, 64, NULL), 0);
    ret->memory = malloc(ret->format.frame_bytes);
    assert_non_null(ret->memory);
    memset(ret->memory, 0xa5, ret->format.frame_bytes);
    assert_int_equal(pattern_draw(scene, &ret->format, 0, 1, ret->memory, NULL), 0);
    assert_int_equal(
        pixels_from_memory(&ret->pixels, &ret->format, ret->memory, ret->format.frame_bytes), 0);
}

/* The daemon's rows and libfftd's come from one table: every frame a client can get is in both. */
static void daemon_and_client_know_the_same_formats(void **state)
{
    (void)state;
    unsigned count, published = 0;
    const struct format_info *table = format_table(&count);
    for (unsigned i = 0; i < count; i++) {
        if (format_published(table[i].fourcc) != table[i].fourcc) {
            assert_null(fftd_pixel_format(table[i].fourcc)); /* no client sees it */
            continue;
        }
        const struct fftd_pixel_format *format = fftd_pixel_format(table[i].fourcc);
        assert_non_null(format);
        assert_ptr_equal(fftd_pixel_format_at(published++), format);
        assert_string_equal(format->name, table[i].name);
        assert_int_equal(format->family, table[i].family);
        assert_int_equal(format->bits, table[i].bits);
        assert_int_equal(format->plane_count, table[i].plane_count);
        assert_int_equal(format->v4l2, table[i].v4l2_fourcc);
        assert_int_equal(format->v4l2_multi, table[i].v4l2_multi);
        assert_memory_equal(format->component, table[i].component, sizeof format->component);
    }
    assert_null(fftd_pixel_format_at(published));
    assert_null(fftd_pixel_format(FFTD_FOURCC('X', 'X', 'X', 'X')));
}

/* Share of the pixels in which two pictures differ by more than rounding does. */
static double differing(const struct picture *a, const struct picture *b)
{
    unsigned count = 0;
    assert_int_equal(a->width, b->width);
    assert_int_equal(a->height, b->height);
    for (size_t i = 0; i < (size_t)a->width * a->height; i++)
        for (unsigned c = 0; c < 3; c++)
            if (abs(a->rgb[3 * i + c] - b->rgb[3 * i + c]) > 4) {
                count++;
                break;
            }
    return (double)count / ((double)a->width * a->height);
}

static void make_grey(struct picture *picture)
{
    for (size_t i = 0; i < (size_t)picture->width * picture->height; i++) {
        uint8_t *rgb = picture->rgb + 3 * i;
        uint8_t luma = (uint8_t)lrint(0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2]);
        memset(rgb, luma, 3);
    }
}

/* Bars have seven colours, and edges where chroma is shared between two of them. */
static void every_format_looks_like_rgb(void **state)
{
    (void)state;
    unsigned count;
    const struct format_info *table = format_table(&count);
    for (unsigned i = 0; i < count; i++) {
        if (format_published(table[i].fourcc) != table[i].fourcc)
            continue;
        struct frame frame, rgb;
        struct picture shown, expected;
        draw(&frame, "bars", table[i].name, WIDTH, HEIGHT);
        draw(&rgb, "bars", "RGB24", WIDTH, HEIGHT);
        assert_int_equal(picture_from_pixels(&shown, &frame.pixels), 0);
        assert_int_equal(picture_from_pixels(&expected, &rgb.pixels), 0);
        if (frame.pixels.layout->family == FFTD_FAMILY_GREY)
            make_grey(&expected);
        if (differing(&shown, &expected) > 0.1)
            fail_msg("%s looks different in %.0f%% of the pixels", table[i].name,
                     100 * differing(&shown, &expected));
        picture_free(&shown);
        picture_free(&expected);
        free(frame.memory);
        free(rgb.memory);
    }
}

static size_t stream(const char *name, uint32_t width, uint32_t height, bool raw, char **ret)
{
    struct frame frame;
    size_t size;
    uint8_t row[4096];
    draw(&frame, "moire", name, width, height);
    assert_in_range(y4m_row_bytes(frame.pixels.layout, &frame.format), 1, sizeof row);
    FILE *file = open_memstream(ret, &size);
    if (raw) {
        y4m_write_raw(file, &frame.pixels);
    } else {
        y4m_write_header(file, frame.pixels.layout, &frame.format, Y4M_USUAL_SHAPE);
        y4m_write_frame(file, &frame.pixels, row);
    }
    fclose(file);
    free(frame.memory);
    return size;
}

/* Whatever the order in memory, the same samples make the same stream. */
static void layouts_of_one_subsampling_stream_alike(void **state)
{
    (void)state;
    static const char *const groups[][4] = {
        {"YUV420", "YVU420", "NV12", "NV21"},
        {"NV16", "YUYV", "UYVY", NULL},
    };
    for (unsigned g = 0; g < 2; g++) {
        char *first, *other;
        size_t size = stream(groups[g][0], WIDTH, HEIGHT, false, &first);
        for (unsigned i = 1; i < 4 && groups[g][i] != NULL; i++) {
            assert_int_equal(stream(groups[g][i], WIDTH, HEIGHT, false, &other), size);
            assert_memory_equal(other, first, size);
            free(other);
        }
        free(first);
    }
}

static void streams_say_what_they_are(void **state)
{
    (void)state;
    static const struct {
        const char *name, *header;
        size_t frame_bytes;
    } cases[] = {
        {"YUV420", "YUV4MPEG2 W17 H31 F30:1 Ip A1:1 C420jpeg XCOLORRANGE=LIMITED\nFRAME\n",
         17 * 31 + 2 * 9 * 16},
        {"NV12", "YUV4MPEG2 W17 H31 F30:1 Ip A1:1 C420jpeg XCOLORRANGE=LIMITED\nFRAME\n",
         17 * 31 + 2 * 9 * 16},
        {"GREY", "YUV4MPEG2 W17 H31 F30:1 Ip A1:1 Cmono XCOLORRANGE=FULL\nFRAME\n", 17 * 31},
        {"Y12", "YUV4MPEG2 W17 H31 F30:1 Ip A1:1 Cmono12 XCOLORRANGE=FULL\nFRAME\n", 2 * 17 * 31},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text;
        size_t header = strlen(cases[i].header);
        assert_int_equal(stream(cases[i].name, 17, 31, false, &text),
                         header + cases[i].frame_bytes);
        assert_memory_equal(text, cases[i].header, header);
        free(text);
    }
    assert_null(fftd_pixel_format(format_by_name("RGB24")->fourcc)->y4m);
}

static void raw_is_the_frame_without_padding(void **state)
{
    (void)state;
    unsigned count;
    const struct format_info *table = format_table(&count);
    for (unsigned i = 0; i < count; i++) {
        if (format_published(table[i].fourcc) != table[i].fourcc)
            continue;
        struct fftd_format packed;
        char *text;
        assert_int_equal(format_layout(&packed, table[i].fourcc, 34, 18, 1, NULL), 0);
        uint8_t *expected = malloc(packed.frame_bytes);
        assert_int_equal(pattern_draw("moire", &packed, 0, 1, expected, NULL), 0);
        assert_int_equal(stream(table[i].name, 34, 18, true, &text), packed.frame_bytes);
        assert_memory_equal(text, expected, packed.frame_bytes);
        free(expected);
        free(text);
    }
}

/* A format from somebody else's memory is not believed. */
static void formats_that_reach_too_far_are_refused(void **state)
{
    (void)state;
    struct frame frame;
    struct pixels pixels;
    draw(&frame, "bars", "NV12", WIDTH, HEIGHT);
    size_t size = frame.format.frame_bytes;
    struct fftd_format wrong[8];
    for (unsigned i = 0; i < 8; i++)
        wrong[i] = frame.format;
    wrong[0].plane[1].offset = (uint32_t)size;
    wrong[1].plane[0].stride = 0xffffffff;
    wrong[2].plane[0].row_bytes = WIDTH - 1;
    wrong[3].plane_count = 1;
    wrong[4].plane_count = 5;
    wrong[5].width = 0;
    wrong[6].height = 0x80000000;
    wrong[7].plane[1].stride = 8;
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(pixels_from_memory(&pixels, &wrong[i], frame.memory, size), -EPROTO);
    assert_int_equal(pixels_from_memory(&pixels, &frame.format, frame.memory, size - 32), -EPROTO);
    wrong[0].fourcc = 0;
    assert_int_equal(pixels_from_memory(&pixels, &wrong[0], frame.memory, size), -EOPNOTSUPP);
    free(frame.memory);
}

/* Matrix and range change what YUV means: pure red in each. */
static void colours_follow_matrix_and_range(void **state)
{
    (void)state;
    static const struct {
        uint8_t matrix, full_range, yuv[3];
    } reds[] = {
        {2, 0, {81, 90, 240}}, {6, 0, {81, 90, 240}}, {1, 0, {63, 102, 240}},
        {9, 0, {74, 97, 240}}, {5, 1, {76, 85, 255}}, {1, 1, {54, 99, 255}},
    };
    for (unsigned i = 0; i < sizeof reds / sizeof reds[0]; i++) {
        struct frame frame;
        struct picture picture;
        draw(&frame, "bars", "YUV420", 16, 16);
        frame.format.matrix = reds[i].matrix;
        frame.format.full_range = reds[i].full_range;
        for (unsigned p = 0; p < 3; p++)
            memset(frame.memory + frame.format.plane[p].offset, reds[i].yuv[p],
                   (size_t)frame.format.plane[p].stride * frame.format.plane[p].rows);
        assert_int_equal(picture_from_pixels(&picture, &frame.pixels), 0);
        assert_in_range(picture.rgb[0], 252, 255);
        assert_in_range(picture.rgb[1], 0, 3);
        assert_in_range(picture.rgb[2], 0, 3);
        picture_free(&picture);
        free(frame.memory);
    }
}

/* A grating's two spots stand where its frequency is, whatever the frame's size. */
static void spectra_keep_cycles_per_pixel(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{64, 48}, {131, 77}, {512, 512}, {701, 600}, {40, 900}};
    const double fx = 0.25, fy = -0.125;
    for (unsigned s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        struct frame frame;
        double *power;
        draw(&frame, "bars", "GREY", sizes[s][0], sizes[s][1]);
        for (uint32_t y = 0; y < sizes[s][1]; y++)
            for (uint32_t x = 0; x < sizes[s][0]; x++)
                frame.memory[y * frame.format.plane[0].stride + x] =
                    (uint8_t)lrint(128 + 100 * cos(2 * 3.14159265358979 * (fx * x + fy * y)));
        assert_int_equal(spectrum_create(&power, &frame.pixels), 0);
        size_t greatest = 0;
        for (size_t i = 0; i < SPECTRUM_SIDE * SPECTRUM_SIDE; i++)
            if (power[i] > power[greatest])
                greatest = i;
        size_t spot = (size_t)(SPECTRUM_SIDE * (0.5 + fy)) * SPECTRUM_SIDE +
                      (size_t)(SPECTRUM_SIDE * (0.5 + fx));
        size_t mirror = (size_t)(SPECTRUM_SIDE * (0.5 - fy)) * SPECTRUM_SIDE +
                        (size_t)(SPECTRUM_SIDE * (0.5 - fx));
        assert_true(greatest == spot || greatest == mirror);
        assert_true(power[mirror] > 0.999 * power[spot] && power[spot] > 0.999 * power[mirror]);
        free(power);
        free(frame.memory);
    }
}

static void spectra_are_drawn_on_one_scale(void **state)
{
    (void)state;
    static double reference[SPECTRUM_SIDE * SPECTRUM_SIDE], power[SPECTRUM_SIDE * SPECTRUM_SIDE],
        none[SPECTRUM_SIDE * SPECTRUM_SIDE];
    struct picture picture;
    reference[7] = 1000;
    power[0] = 1000;
    power[1] = 1000 * pow(10, -4.5);
    power[2] = 1e-20;
    power[3] = 5000;
    assert_int_equal(spectrum_draw(&picture, power, reference), 0);
    assert_int_equal(picture.rgb[0], 255);
    assert_in_range(picture.rgb[3], 127, 128);
    assert_int_equal(picture.rgb[6], 0);
    assert_int_equal(picture.rgb[9], 255);
    picture_free(&picture);
    /* A frame of one colour has no spectrum, and is no reason to divide by zero. */
    assert_int_equal(spectrum_draw(&picture, none, none), 0);
    picture_free(&picture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(daemon_and_client_know_the_same_formats),
        cmocka_unit_test(every_format_looks_like_rgb),
        cmocka_unit_test(layouts_of_one_subsampling_stream_alike),
        cmocka_unit_test(streams_say_what_they_are),
        cmocka_unit_test(raw_is_the_frame_without_padding),
        cmocka_unit_test(formats_that_reach_too_far_are_refused),
        cmocka_unit_test(colours_follow_matrix_and_range),
        cmocka_unit_test(spectra_keep_cycles_per_pixel),
        cmocka_unit_test(spectra_are_drawn_on_one_scale),
    };
    return cmocka_run_group_tests_name("ctl_pixels", tests, NULL, NULL);
}
