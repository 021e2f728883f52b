/* Colours from mosaics: plain areas and slopes come out as they were, scenes as they are drawn in
 * colour, and noise as the article says. (The device's way is checked in tests/gpu/engine.c.) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/pattern_frame.h"
#include "support/reference.h"

#include "core/format.h"
#include "core/mosaic.h"

static struct fftd_format layout(uint32_t fourcc, uint32_t width, uint32_t height, uint32_t align)
{
    struct fftd_format format;
    struct error why = {""};
    if (format_layout(&format, fourcc, width, height, align, &why) < 0)
        fail_msg("%s", why.text);
    return format;
}

/* Draws a scene in a mosaic format; returns it in colour, packed. */
static uint8_t *drawn(const char *scene, const struct format_info *info, enum demosaic demosaic,
                      uint32_t width, uint32_t height)
{
    struct fftd_format mosaic = layout(info->fourcc, width, height, 64);
    struct fftd_format colour = layout(format_published(info->fourcc), width, height, 1);
    uint8_t *samples = malloc(mosaic.frame_bytes), *pixels = malloc(colour.frame_bytes);
    assert_int_equal(pattern_draw(scene, &mosaic, 0, 1, samples, NULL), 0);
    mosaic_convert(pixels, &colour, info->fourcc, demosaic, samples, mosaic.plane[0].stride);
    free(samples);
    return pixels;
}

static const enum demosaic kinds[] = {DEMOSAIC_BILINEAR, DEMOSAIC_GRADIENTS};

/* Inside the bars every pixel has its bar's colour, whatever the mosaic. */
static void bars_keep_their_colours(void **state)
{
    (void)state;
    const uint32_t width = 80, height = 40;
    unsigned count, checked = 0;
    const struct format_info *table = format_table(&count);
    for (unsigned f = 0; f < 2 * count; f++) {
        const struct format_info *info = &table[f / 2];
        if (info->kind != SAMPLE_BAYER)
            continue;
        struct fftd_format colour = layout(format_published(info->fourcc), width, height, 1);
        uint8_t *expected = malloc(colour.frame_bytes);
        assert_int_equal(pattern_draw("bars", &colour, 0, 1, expected, NULL), 0);
        uint8_t *pixels = drawn("bars", info, kinds[f % 2], width, height);
        for (uint32_t y = 0; y < height / 2; y++)
            for (uint32_t x = 2; x + 2 < width; x++) {
                const uint8_t *want = expected + 4 * ((size_t)y * width + x);
                if (memcmp(want - 8, want, 4) != 0 || memcmp(want + 8, want, 4) != 0)
                    continue;
                const uint8_t *got = pixels + 4 * ((size_t)y * width + x);
                for (unsigned c = 0; c < 4; c++)
                    if (abs(got[c] - want[c]) > 1)
                        fail_msg("%s at %u, %u byte %u: %u, expected %u", info->name, x, y, c,
                                 got[c], want[c]);
                checked++;
            }
        free(expected);
        free(pixels);
    }
    assert_true(checked > 2 * 16 * 30 * 20);
}

/* Neither means nor gradients change a slope; at the edges, where the mosaic is mirrored, it is
 * flat to within one step. */
static void slopes_are_kept(void **state)
{
    (void)state;
    const struct format_info *info = format_by_name("SGRBG8");
    struct fftd_format colour = layout(format_published(info->fourcc), 32, 24, 1);
    uint8_t mosaic[32 * 24], pixels[4 * 32 * 24];
    for (unsigned i = 0; i < sizeof mosaic; i++)
        mosaic[i] = (uint8_t)(2 * (i % 32) + 4 * (i / 32));
    for (unsigned k = 0; k < 2; k++) {
        mosaic_convert(pixels, &colour, info->fourcc, kinds[k], mosaic, 32);
        for (unsigned y = 0; y < 24; y++)
            for (unsigned x = 0; x < 32; x++)
                for (unsigned c = 0; c < 3; c++) {
                    const int got = pixels[4 * (32 * y + x) + c], want = mosaic[32 * y + x];
                    const bool is_edge = x < 2 || y < 2 || x > 29 || y > 21;
                    if (abs(got - want) > (is_edge ? 6 : 0))
                        fail_msg("at %u, %u colour %u: %d, expected %d", x, y, c, got, want);
                }
    }
}

/* Noise has every difference between neighbours, and goes beyond black and white. */
static void colours_are_those_of_the_article(void **state)
{
    (void)state;
    enum { WIDTH = 7, HEIGHT = 5 };
    unsigned count, checked = 0;
    const struct format_info *table = format_table(&count);
    uint64_t seed = 3;
    for (unsigned f = 0; f < 2 * count; f++) {
        const struct format_info *info = &table[f / 2];
        double samples[WIDTH * HEIGHT];
        uint8_t mosaic[2 * WIDTH * HEIGHT], pixels[4 * WIDTH * HEIGHT];
        float luma[WIDTH * HEIGHT];
        if (info->kind != SAMPLE_BAYER)
            continue;
        for (unsigned i = 0; i < WIDTH * HEIGHT; i++) {
            const unsigned code = (unsigned)(reference_noise(&seed) * (1u << info->bits));
            samples[i] = code * 255. / ((1u << info->bits) - 1);
            mosaic[i * info->step] = (uint8_t)code;
            if (info->step == 2)
                mosaic[2 * i + 1] = (uint8_t)(code >> 8);
        }
        const struct fftd_format colour = layout(format_published(info->fourcc), WIDTH, HEIGHT, 1);
        mosaic_convert(pixels, &colour, info->fourcc, kinds[f % 2], mosaic, WIDTH * info->step);
        mosaic_luma(luma, info, kinds[f % 2], WIDTH, HEIGHT, mosaic, WIDTH * info->step);
        for (unsigned i = 0; i < WIDTH * HEIGHT; i++) {
            double want[3];
            for (unsigned c = 0; c < 3; c++) {
                want[c] = reference_mosaic(info->name, kinds[f % 2], samples, WIDTH, HEIGHT,
                                           i % WIDTH, i / WIDTH, c);
                const double got = pixels[4 * i + 2 - c]; /* blue, green, red, unused */
                assert_true(fabs(got - fmin(fmax(want[c], 0), 255)) < 0.501);
            }
            const double wanted = 0.299 * want[0] + 0.587 * want[1] + 0.114 * want[2];
            assert_true(fabs((double)luma[i] - wanted) < 1e-4);
            checked++;
        }
    }
    assert_int_equal(checked, 2 * 16 * WIDTH * HEIGHT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_keep_their_colours),
        cmocka_unit_test(slopes_are_kept),
        cmocka_unit_test(colours_are_those_of_the_article),
    };
    return cmocka_run_group_tests_name("mosaic", tests, NULL, NULL);
}
