/* Luma of every pixel format, from positions and weights that are written down here once more. */
#include "estimators/luma.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#define WIDTH  6
#define HEIGHT 4
#define GAP    5 /* bytes between rows */

/* The byte at which luma's sample begins, and the distance between samples; 0: from red, green and
 * blue at these bytes. */
static const struct {
    const char *name;
    unsigned offset, step, sample_bytes;
    unsigned rgb[3];
    double top;
} cases[] = {{"GREY", 0, 1, 1, {0}, 255},        {"Y10", 0, 2, 2, {0}, 1023},
             {"Y12", 0, 2, 2, {0}, 4095},        {"Y16", 0, 2, 2, {0}, 65535},
             {"YUYV", 0, 2, 1, {0}, 255},        {"UYVY", 1, 2, 1, {0}, 255},
             {"NV12", 0, 1, 1, {0}, 255},        {"NV21", 0, 1, 1, {0}, 255},
             {"NV16", 0, 1, 1, {0}, 255},        {"YUV420", 0, 1, 1, {0}, 255},
             {"YVU420", 0, 1, 1, {0}, 255},      {"RGB24", 0, 3, 0, {0, 1, 2}, 255},
             {"BGR24", 0, 3, 0, {2, 1, 0}, 255}, {"XRGB32", 0, 4, 0, {1, 2, 3}, 255},
             {"XBGR32", 0, 4, 0, {2, 1, 0}, 255}};

static void every_format_is_read(void **state)
{
    (void)state;
    unsigned count;
    const struct format_info *table = format_table(&count);
    for (unsigned n = 0, tested = 0; n < count || tested < sizeof cases / sizeof cases[0]; n++) {
        assert_true(n < count);
        if (table[n].kind == SAMPLE_BAYER)
            continue;
        const size_t stride = luma_row_bytes(&table[n], WIDTH) + GAP;
        float luma[WIDTH * HEIGHT];
        uint8_t plane[HEIGHT * (4 * WIDTH + GAP)];
        for (size_t i = 0; i < sizeof plane; i++)
            plane[i] = (uint8_t)(i * 37 + i / 7);
        assert_string_equal(table[n].name, cases[tested].name);
        assert_int_equal(stride - GAP, WIDTH * cases[tested].step);
        luma_read(luma, &table[n], DEMOSAIC_BILINEAR, WIDTH, HEIGHT, plane, stride);
        for (unsigned i = 0; i < WIDTH * HEIGHT; i++) {
            const uint8_t *at =
                plane + i / WIDTH * stride + i % WIDTH * cases[tested].step + cases[tested].offset;
            const unsigned *rgb = cases[tested].rgb;
            const double expected =
                cases[tested].sample_bytes == 1 ? at[0]
                : cases[tested].sample_bytes == 2
                    ? (at[0] + 256 * at[1]) * 255 / cases[tested].top
                    : 0.299 * at[rgb[0]] + 0.587 * at[rgb[1]] + 0.114 * at[rgb[2]];
            if (!(fabs((double)luma[i] - expected) < 2e-2))
                fail_msg("%s at %u: %f, expected %f", cases[tested].name, i, (double)luma[i],
                         expected);
        }
        assert_true(fabs(luma_step(&table[n]) - cases[tested].top / 255) < 1e-9);
        tested++;
    }
}

/* A picture whose colours are the same everywhere has one luma, wherever each colour is. */
static void mosaics_are_interpolated(void **state)
{
    (void)state;
    static const char *const names[] = {"SBGGR8", "SGRBG10", "SGBRG12", "SRGGB16"};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        const struct format_info *info = format_by_name(names[n]);
        const double top = (1u << info->bits) - 1, level[] = {0.25, 0.5, 1};
        float luma[WIDTH * HEIGHT];
        uint8_t plane[2 * WIDTH * HEIGHT];
        for (unsigned i = 0; i < WIDTH * HEIGHT; i++) {
            const char letter = names[n][1 + 2 * (i / WIDTH % 2) + i % 2];
            const unsigned code = (unsigned)(top * level[letter == 'R'   ? 0
                                                         : letter == 'G' ? 1
                                                                         : 2]);
            plane[info->bits > 8 ? 2 * i : i] = (uint8_t)code;
            if (info->bits > 8)
                plane[2 * i + 1] = (uint8_t)(code >> 8);
        }
        luma_read(luma, info, n % 2 == 0 ? DEMOSAIC_BILINEAR : DEMOSAIC_GRADIENTS, WIDTH, HEIGHT,
                  plane, luma_row_bytes(info, WIDTH));
        for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
            if (!(fabs((double)luma[i] - 255 * (0.299 * 0.25 + 0.587 * 0.5 + 0.114)) < 0.6))
                fail_msg("%s at %u: %f", names[n], i, (double)luma[i]);
        assert_true(luma_step(info) == 1);
    }
}

/* Snapshots show these: every kind of samples that is published as GREY. */
static void luma_is_rounded_to_a_grey_frame(void **state)
{
    (void)state;
    static const char *const names[] = {"UYVY", "NV12", "RGB24", "XRGB32", "SGBRG8", "SBGGR12"};
    struct fftd_format grey;
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        const struct format_info *info = format_by_name(names[n]);
        const size_t stride = luma_row_bytes(info, WIDTH) + GAP;
        float luma[WIDTH * HEIGHT];
        uint8_t plane[HEIGHT * (4 * WIDTH + GAP)], frame[64 * HEIGHT];
        for (size_t i = 0; i < sizeof plane; i++)
            plane[i] = (uint8_t)(info->bits > 8 && i % stride % 2 == 1 ? i % 16 : i * 37 + i / 7);
        assert_int_equal(format_layout(&grey, format_luma(info->fourcc), WIDTH, HEIGHT, 64, NULL),
                         0);
        assert_int_equal(grey.fourcc, format_by_name("GREY")->fourcc);
        luma_read(luma, info, DEMOSAIC_GRADIENTS, WIDTH, HEIGHT, plane, stride);
        luma_convert(frame, &grey, info->fourcc, DEMOSAIC_GRADIENTS, plane, stride);
        for (unsigned i = 0; i < WIDTH * HEIGHT; i++) {
            const uint8_t got = frame[i / WIDTH * 64 + i % WIDTH];
            if (!(fabs(fmin(fmax((double)luma[i], 0), 255) - got) < 0.501))
                fail_msg("%s at %u: %u, expected %f", names[n], i, got, (double)luma[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_format_is_read),
                                       cmocka_unit_test(mosaics_are_interpolated),
                                       cmocka_unit_test(luma_is_rounded_to_a_grey_frame)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
