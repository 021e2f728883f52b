/* The table agrees with itself and with the kernel's and DRM's definitions; layouts are right. */
#include <errno.h>
#include <linux/videodev2.h>
#include <stdio.h>
#include <string.h>

#include "support/cmocka.h"

#include "core/format.h"

static void every_row_is_sound(void **state)
{
    (void)state;
    unsigned count;
    const struct format_info *table = format_table(&count);
    assert_in_range(count, 14, 100);
    for (unsigned i = 0; i < count; i++) {
        const struct format_info *info = &table[i];
        assert_ptr_equal(format_by_fourcc(info->fourcc), info);
        assert_ptr_equal(format_by_name(info->name), info);
        assert_ptr_equal(format_by_v4l2(info->v4l2_fourcc), info);
        if (info->v4l2_multi != 0)
            assert_ptr_equal(format_by_v4l2(info->v4l2_multi), info);

        assert_in_range(info->plane_count, 1, FFTD_MAX_PLANES);
        assert_int_equal(info->plane[0].sub_x, 1);
        assert_int_equal(info->plane[0].sub_y, 1);
        for (unsigned p = 0; p < info->plane_count; p++) {
            assert_in_range(info->plane[p].sub_x, 1, 2);
            assert_in_range(info->plane[p].sub_y, 1, 2);
            assert_in_range(info->plane[p].bytes_per_pixel, 1, 4);
        }
        assert_in_range(info->align_x, 1, 2);
        assert_in_range(info->align_y, 1, 2);
        assert_int_equal(info->step, info->plane[0].bytes_per_pixel);
        assert_in_range(info->offset, 0, info->step - 1);
        assert_int_equal(info->bits > 8 ? 2 : 1,
                         info->kind == SAMPLE_U16 || info->kind == SAMPLE_BAYER ? info->step : 1);
        assert_int_equal(format_published(format_published(info->fourcc)),
                         format_published(info->fourcc));
        assert_string_equal(format_by_fourcc(format_luma(info->fourcc))->name,
                            info->family == FAMILY_GREY ? info->name : "GREY");
        for (unsigned c = 0; c < 3 && info->family != FAMILY_MOSAIC; c++) {
            const struct fftd_pixel_component *component = &info->component[c];
            if (c > 0 && info->family == FAMILY_GREY)
                break;
            const struct format_plane *plane = &info->plane[component->plane];
            unsigned pixels = plane->sub_x == 1 && c > 0 ? info->align_x : 1; /* packed 4:2:2 */
            assert_in_range(component->plane, 0, info->plane_count - 1u);
            assert_int_equal(component->step, pixels * plane->bytes_per_pixel);
            assert_in_range(component->offset, 0, component->step - 1u);
        }
        if (info->kind == SAMPLE_RGB8) {
            assert_true(info->rgb[0] != info->rgb[1] && info->rgb[1] != info->rgb[2] &&
                        info->rgb[2] != info->rgb[0]);
            for (unsigned c = 0; c < 3; c++)
                assert_in_range(info->rgb[c], 0, info->step - 1);
        }
    }
    assert_null(format_by_fourcc(0));
    assert_null(format_by_v4l2(0));
    assert_null(format_by_v4l2(V4L2_PIX_FMT_MJPEG));
    assert_null(format_by_name("MJPEG"));
    assert_non_null(format_by_name("nv12"));
}

/* videodev2.h states the byte order of each RGB format, drm_fourcc.h the bits of a little-endian
 * word; both lists are copied from there by hand. */
static void rgb_names_mean_their_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t v4l2, drm;
        const char *bytes; /* in memory */
    } cases[] = {
        {"RGB24", V4L2_PIX_FMT_RGB24, FFTD_FOURCC('B', 'G', '2', '4'), "RGB"},
        {"BGR24", V4L2_PIX_FMT_BGR24, FFTD_FOURCC('R', 'G', '2', '4'), "BGR"},
        {"XRGB32", V4L2_PIX_FMT_XRGB32, FFTD_FOURCC('B', 'X', '2', '4'), "XRGB"},
        {"XBGR32", V4L2_PIX_FMT_XBGR32, FFTD_FOURCC('X', 'R', '2', '4'), "BGRX"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct format_info *info = format_by_name(cases[i].name);
        assert_non_null(info);
        assert_int_equal(info->v4l2_fourcc, cases[i].v4l2);
        assert_int_equal(info->fourcc, cases[i].drm);
        assert_int_equal(info->step, strlen(cases[i].bytes));
        for (unsigned c = 0; c < 3; c++)
            assert_int_equal(cases[i].bytes[info->rgb[c]], "RGB"[c]);
    }
}

/* The codes of drm_fourcc.h. */
static void codes_are_drms(void **state)
{
    (void)state;
    static const struct {
        const char *name, *code;
    } cases[] = {{"GREY", "R8  "}, {"Y10", "R10 "},    {"Y12", "R12 "},   {"Y16", "R16 "},
                 {"YUYV", "YUYV"}, {"UYVY", "UYVY"},   {"NV12", "NV12"},  {"NV21", "NV21"},
                 {"NV16", "NV16"}, {"YUV420", "YU12"}, {"YVU420", "YV12"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *code = cases[i].code;
        assert_int_equal(format_by_name(cases[i].name)->fourcc,
                         FFTD_FOURCC(code[0], code[1], code[2], code[3]));
    }
}

/* Every V4L2 code of the table is the one that videodev2.h gives to the name. */
static void codes_are_v4l2s(void **state)
{
    (void)state;
    /* clang-format off */
#define SINGLE(name) {#name, V4L2_PIX_FMT_##name, 0}
#define MULTI(name)  {#name, V4L2_PIX_FMT_##name, V4L2_PIX_FMT_##name##M}
    /* clang-format on */
    static const struct {
        const char *name;
        uint32_t single, multi;
    } cases[] = {
        SINGLE(GREY),    SINGLE(Y10),     SINGLE(Y12),     SINGLE(Y16),     SINGLE(YUYV),
        SINGLE(UYVY),    MULTI(NV12),     MULTI(NV21),     MULTI(NV16),     MULTI(YUV420),
        MULTI(YVU420),   SINGLE(RGB24),   SINGLE(BGR24),   SINGLE(XRGB32),  SINGLE(XBGR32),
        SINGLE(SBGGR8),  SINGLE(SGBRG8),  SINGLE(SGRBG8),  SINGLE(SRGGB8),  SINGLE(SBGGR10),
        SINGLE(SGBRG10), SINGLE(SGRBG10), SINGLE(SRGGB10), SINGLE(SBGGR12), SINGLE(SGBRG12),
        SINGLE(SGRBG12), SINGLE(SRGGB12), SINGLE(SBGGR16), SINGLE(SGBRG16), SINGLE(SGRBG16),
        SINGLE(SRGGB16),
    };
    unsigned count;
    format_table(&count);
    assert_int_equal(count, sizeof cases / sizeof cases[0]);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct format_info *info = format_by_name(cases[i].name);
        assert_non_null(info);
        assert_int_equal(info->v4l2_fourcc, cases[i].single);
        assert_int_equal(info->v4l2_multi, cases[i].multi);
    }
}

/* A mosaic is named by the four colours of its first 2 x 2 pixels, and published as XBGR32. */
static void mosaics_are_named_by_their_colours(void **state)
{
    (void)state;
    static const char *const orders[] = {"BGGR", "GBRG", "GRBG", "RGGB"};
    static const unsigned bits[] = {8, 10, 12, 16};
    for (unsigned o = 0; o < 4; o++)
        for (unsigned b = 0; b < 4; b++) {
            char name[16];
            snprintf(name, sizeof name, "S%s%u", orders[o], bits[b]);
            const struct format_info *info = format_by_name(name);
            assert_non_null(info);
            assert_int_equal(info->kind, SAMPLE_BAYER);
            assert_int_equal(info->bits, bits[b]);
            assert_int_equal(orders[o][2 * info->red_y + info->red_x], 'R');
            assert_int_equal(orders[o][2 * !info->red_y + !info->red_x], 'B');
            assert_int_equal(format_published(info->fourcc), format_by_name("XBGR32")->fourcc);
        }
    assert_int_equal(format_by_name("SRGGB8")->v4l2_fourcc, v4l2_fourcc('R', 'G', 'G', 'B'));
    assert_int_equal(format_by_name("SBGGR16")->v4l2_fourcc, v4l2_fourcc('B', 'Y', 'R', '2'));
}

static void luma_lies_where_its_name_says(void **state)
{
    (void)state;
    assert_int_equal(format_by_name("YUYV")->offset, 0);
    assert_int_equal(format_by_name("UYVY")->offset, 1);
    assert_int_equal(format_by_name("NV12")->v4l2_multi, V4L2_PIX_FMT_NV12M);
    assert_int_equal(format_by_name("GREY")->v4l2_fourcc, V4L2_PIX_FMT_GREY);
    assert_int_equal(format_by_name("Y10")->bits, 10);
    assert_int_equal(format_by_name("Y12")->bits, 12);
    assert_int_equal(format_by_name("Y16")->bits, 16);
}

static struct fftd_format layout(const char *name, uint32_t width, uint32_t height, uint32_t align)
{
    struct fftd_format format;
    struct error why = {""};
    if (format_layout(&format, format_by_name(name)->fourcc, width, height, align, &why) != 0)
        fail_msg("%s %ux%u: %s", name, width, height, why.text);
    return format;
}

static void check_plane(const struct fftd_plane *plane, uint32_t offset, uint32_t stride,
                        uint32_t row_bytes, uint32_t rows)
{
    assert_int_equal(plane->offset, offset);
    assert_int_equal(plane->stride, stride);
    assert_int_equal(plane->row_bytes, row_bytes);
    assert_int_equal(plane->rows, rows);
}

static void layouts_are_as_published(void **state)
{
    (void)state;
    struct fftd_format grey = layout("GREY", 641, 479, 1);
    check_plane(&grey.plane[0], 0, 641, 641, 479);
    assert_int_equal(grey.frame_bytes, 641 * 479);
    assert_int_equal(grey.full_range, 1);

    struct fftd_format nv12 = layout("NV12", 1280, 720, 1);
    check_plane(&nv12.plane[0], 0, 1280, 1280, 720);
    check_plane(&nv12.plane[1], 1280 * 720, 1280, 1280, 360);
    assert_int_equal(nv12.frame_bytes, 1280 * 720 * 3 / 2);
    assert_int_equal(nv12.full_range, 0);

    struct fftd_format yuv420 = layout("YUV420", 640, 480, 1);
    check_plane(&yuv420.plane[1], 640 * 480, 320, 320, 240);
    check_plane(&yuv420.plane[2], 640 * 480 * 5 / 4, 320, 320, 240);

    struct fftd_format nv16 = layout("NV16", 64, 48, 1);
    check_plane(&nv16.plane[1], 64 * 48, 64, 64, 48);

    struct fftd_format yuyv = layout("YUYV", 642, 479, 1);
    check_plane(&yuyv.plane[0], 0, 1284, 1284, 479);
    assert_int_equal(yuyv.full_range, 0);

    struct fftd_format rgb = layout("RGB24", 33, 17, 64);
    check_plane(&rgb.plane[0], 0, 128, 99, 17);
    assert_int_equal(rgb.full_range, 1);

    struct fftd_format y10 = layout("Y10", 17, 31, 1);
    check_plane(&y10.plane[0], 0, 34, 34, 31);
}

/* Odd sizes round subsampled planes up, and alignment only grows strides. */
static void odd_sizes_and_alignment(void **state)
{
    (void)state;
    struct fftd_format packed = layout("NV12", 17, 31, 1);
    check_plane(&packed.plane[0], 0, 17, 17, 31);
    check_plane(&packed.plane[1], 17 * 31, 18, 18, 16);
    struct fftd_format aligned = layout("YUV420", 17, 31, 16);
    check_plane(&aligned.plane[0], 0, 32, 17, 31);
    check_plane(&aligned.plane[1], 32 * 31, 16, 9, 16);
    check_plane(&aligned.plane[2], 32 * 31 + 16 * 16, 16, 9, 16);
    assert_int_equal(aligned.frame_bytes, 32 * 31 + 2 * 16 * 16);
}

static void colour_and_rate_are_unknown(void **state)
{
    (void)state;
    unsigned count;
    const struct format_info *table = format_table(&count);
    for (unsigned i = 0; i < count; i++) {
        struct fftd_format format = layout(table[i].name, 64, 64, 1);
        assert_int_equal(format.fourcc, table[i].fourcc);
        assert_int_equal(format.plane_count, table[i].plane_count);
        assert_int_equal(format.primaries, 2);
        assert_int_equal(format.transfer, 2);
        assert_int_equal(format.matrix, 2);
        assert_int_equal(format.rate_num, 0);
        assert_int_equal(format.rate_den, 1);
        bool is_rgb_or_grey = table[i].kind == SAMPLE_RGB8 || table[i].kind == SAMPLE_BAYER ||
                              table[i].name[1] == '1' || strcmp(table[i].name, "GREY") == 0;
        assert_int_equal(format.full_range, is_rgb_or_grey);
    }
}

static void the_largest_frame_fits(void **state)
{
    (void)state;
    struct fftd_format format = layout("XRGB32", FFTD_MAX_SIDE, FFTD_MAX_SIDE, 4096);
    assert_int_equal(format.frame_bytes, 4u * FFTD_MAX_SIDE * FFTD_MAX_SIDE);
}

static void bad_layouts_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t fourcc, width, height, align;
        const char *text;
    } cases[] = {
        {FFTD_FOURCC('N', 'V', '1', '2'), 0, 48, 1, "0x48"},
        {FFTD_FOURCC('N', 'V', '1', '2'), 64, FFTD_MAX_SIDE + 1, 1, "expected 1x1 .. 8192x8192"},
        {FFTD_FOURCC('Y', 'U', 'Y', 'V'), 641, 479, 1, "YUYV: width and height"},
        {FFTD_FOURCC('M', 'J', 'P', 'G'), 64, 48, 1, "MJPG (0x47504a4d) is not supported"},
        {FFTD_FOURCC('M', 'J', 'P', 'G'), 64, 48, 1, "GREY, Y10, Y12"},
        {1, 64, 48, 1, "(0x00000001)"},
        {FFTD_FOURCC('N', 'V', '1', '2'), 64, 48, 3, "alignment 3"},
        {FFTD_FOURCC('N', 'V', '1', '2'), 64, 48, 0, "alignment 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fftd_format format, before;
        struct error why = {""};
        memset(&format, 0x5a, sizeof format);
        before = format;
        assert_int_equal(format_layout(&format, cases[i].fourcc, cases[i].width, cases[i].height,
                                       cases[i].align, &why),
                         -EINVAL);
        if (strstr(why.text, cases[i].text) == NULL)
            fail_msg("'%s' does not hold '%s'", why.text, cases[i].text);
        assert_memory_equal(&format, &before, sizeof format);
    }
}

static void names_are_listed(void **state)
{
    (void)state;
    char text[320];
    format_names(text, sizeof text);
    assert_string_equal(text, "GREY, Y10, Y12, Y16, YUYV, UYVY, NV12, NV21, NV16, YUV420, YVU420, "
                              "RGB24, BGR24, XRGB32, XBGR32, SBGGR8, SGBRG8, SGRBG8, SRGGB8, "
                              "SBGGR10, SGBRG10, SGRBG10, SRGGB10, SBGGR12, SGBRG12, SGRBG12, "
                              "SRGGB12, SBGGR16, SGBRG16, SGRBG16, SRGGB16");
    char little[10];
    format_names(little, sizeof little);
    assert_string_equal(little, "GREY, Y10");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_sound),
        cmocka_unit_test(rgb_names_mean_their_bytes),
        cmocka_unit_test(codes_are_drms),
        cmocka_unit_test(codes_are_v4l2s),
        cmocka_unit_test(mosaics_are_named_by_their_colours),
        cmocka_unit_test(luma_lies_where_its_name_says),
        cmocka_unit_test(layouts_are_as_published),
        cmocka_unit_test(odd_sizes_and_alignment),
        cmocka_unit_test(colour_and_rate_are_unknown),
        cmocka_unit_test(the_largest_frame_fits),
        cmocka_unit_test(bad_layouts_are_refused),
        cmocka_unit_test(names_are_listed),
    };
    return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
