/* The test scenes: what other tests and the demo rely on when they use them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/pattern_frame.h"

#include "capture/pattern_draw.h"

#define PI 3.14159265358979323846

static const char *const scenes[] = {"bars", "zoneplate", "noise", "moire", "scene"};
#define SCENE_COUNT (sizeof scenes / sizeof scenes[0])

static struct fftd_format layout(const char *name, uint32_t width, uint32_t height, uint32_t align)
{
    struct fftd_format format;
    struct error why = {""};
    int r = format_layout(&format, format_by_name(name)->fourcc, width, height, align, &why);
    if (r < 0)
        fail_msg("%s", why.text);
    return format;
}

static uint8_t *draw(const char *scene, const struct fftd_format *format, uint64_t index,
                     uint32_t seed)
{
    uint8_t *frame = malloc(format->frame_bytes);
    assert_non_null(frame);
    memset(frame, 0xa5, format->frame_bytes);
    assert_int_equal(pattern_draw(scene, format, index, seed, frame, NULL), 0);
    return frame;
}

static unsigned sample(const uint8_t *frame, const struct fftd_format *format, uint32_t x,
                       uint32_t y)
{
    const struct format_info *info = format_by_fourcc(format->fourcc);
    const uint8_t *at =
        frame + (size_t)y * format->plane[0].stride + info->offset + (size_t)x * info->step;
    return info->kind == SAMPLE_U16 ? at[0] | (unsigned)at[1] << 8 : at[0];
}

/* Every scene fills every format at awkward sizes, twice the same, and stays inside: the bytes
 * between a row's end and the next row are not the scene's. */
static void every_format_is_filled(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{16, 16}, {17, 31}, {32, 19}, {1, 1}, {640, 4}, {4, 300}};
    unsigned count;
    const struct format_info *table = format_table(&count);
    for (unsigned f = 0; f < count; f++)
        for (unsigned s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            uint32_t width =
                (sizes[s][0] + table[f].align_x - 1) / table[f].align_x * table[f].align_x;
            struct fftd_format format = layout(table[f].name, width, sizes[s][1], 64);
            for (unsigned i = 0; i < SCENE_COUNT; i++) {
                uint8_t *once = draw(scenes[i], &format, 5, 7);
                uint8_t *again = draw(scenes[i], &format, 5, 7);
                assert_memory_equal(once, again, format.frame_bytes);
                for (unsigned p = 0; p < format.plane_count; p++)
                    for (uint32_t y = 0; y < format.plane[p].rows; y++)
                        for (uint32_t x = format.plane[p].row_bytes; x < format.plane[p].stride;
                             x++)
                            assert_int_equal(once[format.plane[p].offset +
                                                  (size_t)y * format.plane[p].stride + x],
                                             0xa5);
                free(once);
                free(again);
            }
        }
}

/* Luma does not depend on the format's way of storing it. */
static void luma_is_the_same_everywhere(void **state)
{
    (void)state;
    static const char *const limited[] = {"NV21", "NV16", "YUV420", "YVU420", "YUYV", "UYVY"};
    static const char *const full[] = {"Y10", "Y12", "Y16"};
    struct fftd_format nv12 = layout("NV12", 96, 64, 1), grey = layout("GREY", 96, 64, 1);
    uint8_t *nv12_frame = draw("moire", &nv12, 0, 3), *grey_frame = draw("moire", &grey, 0, 3);
    for (unsigned i = 0; i < sizeof limited / sizeof limited[0]; i++) {
        struct fftd_format format = layout(limited[i], 96, 64, 1);
        uint8_t *frame = draw("moire", &format, 0, 3);
        for (uint32_t y = 0; y < 64; y++)
            for (uint32_t x = 0; x < 96; x++)
                assert_int_equal(sample(frame, &format, x, y), sample(nv12_frame, &nv12, x, y));
        free(frame);
    }
    for (unsigned i = 0; i < sizeof full / sizeof full[0]; i++) {
        struct fftd_format format = layout(full[i], 96, 64, 1);
        double max = (1u << format_by_fourcc(format.fourcc)->bits) - 1;
        uint8_t *frame = draw("moire", &format, 0, 3);
        for (uint32_t y = 0; y < 64; y++)
            for (uint32_t x = 0; x < 96; x++)
                assert_true(fabs(sample(frame, &format, x, y) * 255.0 / max -
                                 sample(grey_frame, &grey, x, y)) <= 0.7);
        free(frame);
    }
    free(nv12_frame);
    free(grey_frame);
}

/* 75% yellow, cyan, green ... in the codes that BT.601 gives. */
static void bars_have_their_colours(void **state)
{
    (void)state;
    struct fftd_format rgb = layout("RGB24", 80, 40, 1), bgr = layout("BGR24", 80, 40, 1),
                       xrgb = layout("XRGB32", 80, 40, 1), yuyv = layout("YUYV", 80, 40, 1),
                       nv21 = layout("NV21", 80, 40, 1), yv12 = layout("YVU420", 80, 40, 1);
    static const uint8_t rgb_bars[8][3] = {{191, 191, 191}, {191, 191, 0}, {0, 191, 191},
                                           {0, 191, 0},     {191, 0, 191}, {191, 0, 0},
                                           {0, 0, 191},     {0, 0, 0}};
    /* Y, Cb, Cr of ITU-R BT.801's 75% bars. */
    static const uint8_t yuv_bars[8][3] = {{180, 128, 128}, {162, 44, 142}, {131, 156, 44},
                                           {112, 72, 58},   {84, 184, 198}, {65, 100, 212},
                                           {35, 212, 114},  {16, 128, 128}};
    uint8_t *frame[] = {draw("bars", &rgb, 0, 0),  draw("bars", &bgr, 0, 0),
                        draw("bars", &xrgb, 0, 0), draw("bars", &yuyv, 0, 0),
                        draw("bars", &nv21, 0, 0), draw("bars", &yv12, 0, 0)};
    for (unsigned bar = 0; bar < 8; bar++) {
        uint32_t x = bar * 10 + 4;
        for (unsigned c = 0; c < 3; c++) {
            assert_int_equal(frame[0][3 * x + c], rgb_bars[bar][c]);
            assert_int_equal(frame[1][3 * x + 2 - c], rgb_bars[bar][c]);
            assert_int_equal(frame[2][4 * x + 1 + c], rgb_bars[bar][c]);
        }
        const uint8_t *pair = frame[3] + 2 * x;
        assert_in_range(pair[0], yuv_bars[bar][0] - 1, yuv_bars[bar][0] + 1);
        assert_in_range(pair[1], yuv_bars[bar][1] - 1, yuv_bars[bar][1] + 1);
        assert_in_range(pair[3], yuv_bars[bar][2] - 1, yuv_bars[bar][2] + 1);
        const uint8_t *vu = frame[4] + nv21.plane[1].offset + x;
        assert_in_range(vu[0], yuv_bars[bar][2] - 1, yuv_bars[bar][2] + 1);
        assert_in_range(vu[1], yuv_bars[bar][1] - 1, yuv_bars[bar][1] + 1);
        assert_int_equal(frame[5][yv12.plane[1].offset + x / 2], vu[0]);
        assert_int_equal(frame[5][yv12.plane[2].offset + x / 2], vu[1]);
    }
    for (unsigned i = 0; i < sizeof frame / sizeof frame[0]; i++)
        free(frame[i]);
}

/* Near the middle of the left edge neighbours are half a turn apart, in the centre none are. */
static void zoneplate_reaches_nyquist_at_the_edge(void **state)
{
    (void)state;
    struct fftd_format format = layout("Y16", 401, 201, 1);
    uint8_t *frame = draw("zoneplate", &format, 0, 0);
    for (uint32_t x = 0; x < 401; x++) {
        double expected = 0.5 + 0.5 * cos(PI * (x - 200.0) * (x - 200.0) / 401.0);
        assert_true(fabs(sample(frame, &format, x, 100) / 65535.0 - expected) < 2e-5);
    }
    assert_int_equal(sample(frame, &format, 200, 100), 65535);
    assert_true(sample(frame, &format, 201, 100) > 65000);
    assert_true(abs((int)sample(frame, &format, 0, 100) - (int)sample(frame, &format, 1, 100)) >
                20000);
    free(frame);
}

/* Each wave of the moire is in it with the documented frequency and amplitude. */
static void moire_has_its_waves(void **state)
{
    (void)state;
    const uint32_t width = 300, height = 200;
    struct fftd_format format = layout("Y16", width, height, 1);
    uint8_t *clean = draw("scene", &format, 0, 1), *noisy = draw("moire", &format, 0, 1);
    /* The object is over the background in `scene` only: measure below it. */
    struct pattern_rectangle object = pattern_object_at(&format, 0);
    uint32_t top = object.y + object.height;
    for (unsigned i = 0; i < PATTERN_MOIRE_WAVES; i++) {
        double re = 0.0, im = 0.0;
        for (uint32_t y = top; y < height; y++)
            for (uint32_t x = 0; x < width; x++) {
                double turn = 2.0 * PI * (pattern_moire[i].fx * x + pattern_moire[i].fy * y);
                double difference =
                    ((double)sample(noisy, &format, x, y) - (double)sample(clean, &format, x, y)) /
                    65535.0;
                re += difference * cos(turn);
                im += difference * sin(turn);
            }
        double samples = (double)width * (height - top);
        assert_true(fabs(2.0 * re / samples - pattern_moire[i].amplitude) < 0.002);
        assert_true(fabs(2.0 * im / samples) < 0.002);
    }
    free(clean);
    free(noisy);
}

/* Uniform within 5 standard deviations, in every code; new in every frame and with every seed. */
static void noise_is_uniform_and_new(void **state)
{
    (void)state;
    struct fftd_format format = layout("GREY", 512, 512, 1);
    uint8_t *frame = draw("noise", &format, 4, 1), *next = draw("noise", &format, 5, 1),
            *other = draw("noise", &format, 4, 2);
    unsigned count[256] = {0}, same_next = 0, same_other = 0, same_below = 0;
    for (uint32_t i = 0; i < format.frame_bytes; i++) {
        count[frame[i]]++;
        same_next += frame[i] == next[i];
        same_other += frame[i] == other[i];
        same_below += i >= 512 && frame[i] == frame[i - 512];
    }
    for (unsigned code = 0; code < 256; code++)
        assert_in_range(count[code], 1024 - 160, 1024 + 160);
    assert_in_range(same_next, 1024 - 160, 1024 + 160);
    assert_in_range(same_other, 1024 - 160, 1024 + 160);
    assert_in_range(same_below, 1024 - 160, 1024 + 160);
    free(frame);
    free(next);
    free(other);

    format = layout("Y12", 100, 10, 1);
    frame = draw("noise", &format, 0, 0);
    for (uint32_t x = 0; x < 100; x++)
        assert_true(sample(frame, &format, x, 3) < 4096);
    free(frame);
}

/* The object is where it is said to be, moves, never leaves the frame, and nothing else moves. */
static void scene_moves_only_its_object(void **state)
{
    (void)state;
    struct fftd_format format = layout("NV12", 163, 121, 1);
    uint8_t *first = draw("scene", &format, 0, 9);
    for (uint64_t index = 1; index < 400; index += 57) {
        struct pattern_rectangle was = pattern_object_at(&format, 0),
                                 is = pattern_object_at(&format, index);
        assert_true(is.x != was.x || is.y != was.y);
        assert_true(is.x + is.width <= format.width && is.y + is.height <= format.height);
        uint8_t *frame = draw("scene", &format, index, 9);
        for (uint32_t y = 0; y < format.height; y++)
            for (uint32_t x = 0; x < format.width; x++) {
                bool in_was = x - was.x < was.width && y - was.y < was.height;
                bool in_is = x - is.x < is.width && y - is.y < is.height;
                if (!in_was && !in_is)
                    assert_int_equal(sample(frame, &format, x, y), sample(first, &format, x, y));
                else if (in_is)
                    assert_int_equal(sample(frame, &format, x, y),
                                     sample(first, &format, x - is.x + was.x, y - is.y + was.y));
            }
        free(frame);
    }
    for (uint64_t index = 0; index < 100000; index += 7) {
        struct pattern_rectangle is = pattern_object_at(&format, index);
        assert_true(is.x % 2 == 0 && is.x + is.width <= format.width);
        assert_true(is.y % 2 == 0 && is.y + is.height <= format.height);
    }
    free(first);
}

static void unknown_scene_lists_the_known(void **state)
{
    (void)state;
    struct fftd_format format = layout("GREY", 16, 16, 1);
    struct error why = {""};
    uint8_t frame[256] = {0}, untouched[256] = {0};
    assert_int_equal(pattern_draw("plaid", &format, 0, 0, frame, &why), -22);
    assert_string_equal(why.text, "test scene plaid is unknown: expected one of bars, zoneplate, "
                                  "noise, moire, scene");
    assert_memory_equal(frame, untouched, sizeof frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_is_filled),
        cmocka_unit_test(luma_is_the_same_everywhere),
        cmocka_unit_test(bars_have_their_colours),
        cmocka_unit_test(zoneplate_reaches_nyquist_at_the_edge),
        cmocka_unit_test(moire_has_its_waves),
        cmocka_unit_test(noise_is_uniform_and_new),
        cmocka_unit_test(scene_moves_only_its_object),
        cmocka_unit_test(unknown_scene_lists_the_known),
    };
    return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
