/* The mean of frames: levels of each kind of format, what is said about the frames, and the
 * file. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include "filters/filter_image.h"
#include "core/format.h"
#include "core/mosaic.h"
#include "calibration/average.h"

#define WIDTH  22
#define HEIGHT 18

struct frame {
    struct fftd_format format;
    uint8_t *memory;
    struct pixels pixels;
};

static void create(struct frame *ret, const char *name, uint32_t width, uint32_t height)
{
    assert_int_equal(
        format_layout(&ret->format, format_by_name(name)->fourcc, width, height, 64, NULL), 0);
    ret->memory = calloc(1, ret->format.frame_bytes);
    assert_int_equal(
        pixels_from_memory(&ret->pixels, &ret->format, ret->memory, ret->format.frame_bytes), 0);
}

/* Sets a component's sample as the format's description says. */
static void set(struct frame *frame, unsigned component, uint32_t x, uint32_t y, unsigned value)
{
    const struct fftd_pixel_component *c = &frame->pixels.layout->component[component];
    const struct fftd_plane *plane = &frame->format.plane[c->plane];
    uint8_t *at =
        frame->memory + plane->offset + (size_t)y * plane->stride + c->offset + (size_t)x * c->step;
    at[0] = (uint8_t)value;
    if (frame->pixels.layout->bits > 8)
        at[1] = (uint8_t)(value >> 8);
}

static unsigned value_at(unsigned number, uint32_t x, uint32_t y, unsigned component)
{
    return (37 * x + 101 * y + 53 * number + 17 * component * x + 11) % 240;
}

static void assert_near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%.9g, expected %.9g", got, expected);
}

/* The file, as the daemon reads it. */
static struct filter_image *read_back(const struct average *average)
{
    char *bytes = NULL;
    size_t size = 0;
    struct filter_image *image = NULL;
    struct error why = {""};
    FILE *file = open_memstream(&bytes, &size);
    average_write(average, file);
    fclose(file);
    if (filter_image_parse(&image, "dark.pfm", bytes, size, &why) < 0)
        fail_msg("%s", why.text);
    free(bytes);
    return image;
}

/* What the daemon filters is averaged: luma, and of RGB the luma of its colours. */
static void each_format_has_its_levels(void **state)
{
    static const char *const names[] = {"GREY", "Y10", "Y16", "YUYV", "UYVY", "NV12", "BGR24"};
    (void)state;
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        struct average average;
        struct frame frame;
        create(&frame, names[n], WIDTH, HEIGHT);
        const bool is_rgb = frame.pixels.layout->family == FFTD_FAMILY_RGB;
        const double white = (1u << frame.pixels.layout->bits) - 1;
        assert_int_equal(average_init(&average, WIDTH, HEIGHT, names[n]), 0);
        for (unsigned number = 0; number < 3; number++) {
            for (uint32_t y = 0; y < HEIGHT; y++)
                for (uint32_t x = 0; x < WIDTH; x++)
                    for (unsigned c = 0; c < (is_rgb ? 3 : 1); c++)
                        set(&frame, c, x, y, value_at(number, x, y, c));
            assert_int_equal(average_add(&average, &frame.pixels, NULL), 0);
        }
        struct filter_image *image = read_back(&average);
        assert_true(image->columns == WIDTH && image->rows == HEIGHT);
        for (uint32_t y = 0; y < HEIGHT; y++)
            for (uint32_t x = 0; x < WIDTH; x++) {
                double sum = 0;
                for (unsigned number = 0; number < 3; number++)
                    sum += is_rgb ? 0.299 * value_at(number, x, y, 0) +
                                        0.587 * value_at(number, x, y, 1) +
                                        0.114 * value_at(number, x, y, 2)
                                  : value_at(number, x, y, 0);
                assert_near((double)image->pixel[y * WIDTH + x], sum / 3 / white, 1e-7);
            }
        filter_image_destroy(image);
        average_finish(&average);
        free(frame.memory);
    }
}

/* The samples of a mosaic come back from the demosaiced picture. */
static void a_mosaic_is_recovered(void **state)
{
    static const char *const names[] = {"SRGGB8", "SBGGR8", "SGRBG8", "SGBRG8"};
    uint8_t mosaic[HEIGHT][WIDTH];
    (void)state;
    for (uint32_t y = 0; y < HEIGHT; y++)
        for (uint32_t x = 0; x < WIDTH; x++)
            mosaic[y][x] = (uint8_t)value_at(1, x, y, 0);
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        struct average average;
        struct frame frame;
        create(&frame, "XBGR32", WIDTH, HEIGHT);
        mosaic_convert(frame.memory, &frame.format, format_by_name(names[n])->fourcc,
                       n % 2 == 0 ? DEMOSAIC_BILINEAR : DEMOSAIC_GRADIENTS, mosaic[0], WIDTH);
        assert_int_equal(average_init(&average, WIDTH, HEIGHT, names[n]), 0);
        assert_int_equal(average_add(&average, &frame.pixels, NULL), 0);
        for (uint32_t y = 0; y < HEIGHT; y++)
            for (uint32_t x = 0; x < WIDTH; x++)
                assert_near(255 * average.sum[y * WIDTH + x], mosaic[y][x], 1e-9);
        average_finish(&average);
        free(frame.memory);
    }
}

static void frames_are_judged(void **state)
{
    struct average average;
    struct frame frame;
    (void)state;
    create(&frame, "GREY", WIDTH, HEIGHT);
    assert_int_equal(average_init(&average, WIDTH, HEIGHT, NULL), 0);
    for (unsigned number = 0; number < 2; number++) {
        memset(frame.memory, number == 0 ? 102 : 153, frame.format.frame_bytes);
        set(&frame, 0, 3, 4, number == 0 ? 255 : 0);
        assert_int_equal(average_add(&average, &frame.pixels, NULL), 0);
    }
    assert_near(average_level(&average), 0.5, 1e-9);
    assert_near(average_white_share(&average), 1. / (2 * WIDTH * HEIGHT), 1e-12);
    assert_near(average_unsteadiness(&average), 0.1 - 0.6 / (WIDTH * HEIGHT), 1e-9);
    average_finish(&average);
    free(frame.memory);
}

static void other_frames_are_refused(void **state)
{
    struct average average;
    struct frame wide, grey;
    (void)state;
    create(&wide, "GREY", WIDTH + 2, HEIGHT);
    create(&grey, "GREY", WIDTH, HEIGHT);
    assert_int_equal(average_init(&average, WIDTH, HEIGHT, "GREY"), 0);
    assert_int_equal(average_add(&average, &wide.pixels, NULL), -EINVAL);
    assert_int_equal(average.frames, 0);
    average_finish(&average);
    assert_int_equal(average_init(&average, WIDTH, HEIGHT, "SRGGB10"), 0);
    assert_int_equal(average_add(&average, &grey.pixels, NULL), -EINVAL);
    average_finish(&average);
    average_finish(&(struct average){0});
    free(wide.memory);
    free(grey.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_format_has_its_levels),
        cmocka_unit_test(a_mosaic_is_recovered),
        cmocka_unit_test(frames_are_judged),
        cmocka_unit_test(other_frames_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
