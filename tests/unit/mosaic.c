/* Colours from mosaics: plain areas and slopes come out as they were, scenes as they are drawn in
 * colour, edges included. (The device's way is checked in tests/gpu/engine.c.) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/pattern_frame.h"

#include "core/format.h"
#include "filters/mosaic.h"

static struct fftd_format layout(uint32_t fourcc, uint32_t width, uint32_t height, uint32_t align)
{
    struct fftd_format format;
    struct error why = {""};
    if (format_layout(&format, fourcc, width, height, align, &why) < 0)
        fail_msg("%s", why.text);
    return format;
}

/* Draws a scene in a mosaic format; returns it in colour, packed. */
static uint8_t *drawn(const char *scene, const struct format_info *info, uint32_t width,
                      uint32_t height)
{
    struct fftd_format mosaic = layout(info->fourcc, width, height, 64);
    struct fftd_format colour = layout(format_published(info->fourcc), width, height, 1);
    uint8_t *samples = malloc(mosaic.frame_bytes), *pixels = malloc(colour.frame_bytes);
    assert_int_equal(pattern_draw(scene, &mosaic, 0, 1, samples, NULL), 0);
    mosaic_convert(pixels, &colour, info->fourcc, samples, mosaic.plane[0].stride);
    free(samples);
    return pixels;
}

/* Inside the bars every pixel has its bar's colour, whatever the mosaic; beside an edge between two
 * bars it is between them. */
static void bars_keep_their_colours(void **state)
{
    (void)state;
    const uint32_t width = 80, height = 40;
    unsigned count, checked = 0;
    const struct format_info *table = format_table(&count);
    for (unsigned f = 0; f < count; f++) {
        if (table[f].kind != SAMPLE_BAYER)
            continue;
        struct fftd_format colour = layout(format_published(table[f].fourcc), width, height, 1);
        uint8_t *expected = malloc(colour.frame_bytes);
        assert_int_equal(pattern_draw("bars", &colour, 0, 1, expected, NULL), 0);
        uint8_t *pixels = drawn("bars", &table[f], width, height);
        for (uint32_t y = 0; y < height / 2; y++)
            for (uint32_t x = 1; x + 1 < width; x++) {
                const uint8_t *want = expected + 4 * ((size_t)y * width + x);
                if (memcmp(want - 4, want, 4) != 0 || memcmp(want + 4, want, 4) != 0)
                    continue;
                const uint8_t *got = pixels + 4 * ((size_t)y * width + x);
                for (unsigned c = 0; c < 4; c++)
                    if (abs(got[c] - want[c]) > 1)
                        fail_msg("%s at %u, %u byte %u: %u, expected %u", table[f].name, x, y, c,
                                 got[c], want[c]);
                checked++;
            }
        free(expected);
        free(pixels);
    }
    assert_true(checked > 16 * 40 * 20);
}

/* Means of neighbours leave a slope as it is; at the edges, where the mosaic is mirrored, it is
 * flat to within one step. */
static void slopes_are_kept(void **state)
{
    (void)state;
    const struct format_info *info = format_by_name("SGRBG8");
    struct fftd_format colour = layout(format_published(info->fourcc), 32, 24, 1);
    uint8_t mosaic[32 * 24], pixels[4 * 32 * 24];
    for (unsigned i = 0; i < sizeof mosaic; i++)
        mosaic[i] = (uint8_t)(2 * (i % 32) + 4 * (i / 32));
    mosaic_convert(pixels, &colour, info->fourcc, mosaic, 32);
    for (unsigned y = 0; y < 24; y++)
        for (unsigned x = 0; x < 32; x++)
            for (unsigned c = 0; c < 3; c++) {
                const int got = pixels[4 * (32 * y + x) + c], want = mosaic[32 * y + x];
                const bool is_edge = x == 0 || y == 0 || x == 31 || y == 23;
                if (abs(got - want) > (is_edge ? 6 : 0))
                    fail_msg("at %u, %u colour %u: %d, expected %d", x, y, c, got, want);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_keep_their_colours),
        cmocka_unit_test(slopes_are_kept),
    };
    return cmocka_run_group_tests_name("mosaic", tests, NULL, NULL);
}
