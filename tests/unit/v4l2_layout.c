/* What V4L2 formats mean: planes, colours and frame counts, without a device. */
#include <errno.h>
#include <string.h>

#include "support/cmocka.h"

#include "capture/v4l2_layout.h"

static struct v4l2_format single(uint32_t pixelformat, uint32_t width, uint32_t height,
                                 uint32_t bytesperline)
{
    struct v4l2_format format = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
    format.fmt.pix.pixelformat = pixelformat;
    format.fmt.pix.width = width;
    format.fmt.pix.height = height;
    format.fmt.pix.bytesperline = bytesperline;
    format.fmt.pix.field = V4L2_FIELD_NONE;
    return format;
}

static struct v4l2_format multi(uint32_t pixelformat, uint32_t width, uint32_t height,
                                uint8_t planes)
{
    struct v4l2_format format = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE};
    format.fmt.pix_mp.pixelformat = pixelformat;
    format.fmt.pix_mp.width = width;
    format.fmt.pix_mp.height = height;
    format.fmt.pix_mp.num_planes = planes;
    return format;
}

static struct video_layout layout_of(struct v4l2_format format)
{
    struct video_layout layout;
    struct error why = {""};
    if (video_layout(&layout, &format, &why) < 0)
        fail_msg("%s", why.text);
    return layout;
}

static void assert_refused(struct v4l2_format format, const char *reason)
{
    struct video_layout layout = {.memory_count = 77};
    struct error why = {""};
    assert_int_equal(video_layout(&layout, &format, &why), -EINVAL);
    if (strstr(why.text, reason) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", why.text, reason);
    assert_int_equal(layout.memory_count, 77);
}

static void one_buffer_holds_planes_in_a_row(void **state)
{
    (void)state;
    struct video_layout nv12 = layout_of(single(V4L2_PIX_FMT_NV12, 640, 360, 704));
    assert_int_equal(nv12.memory_count, 1);
    assert_int_equal(nv12.format.plane_count, 2);
    assert_int_equal(nv12.stride[0], 704);
    assert_int_equal(nv12.stride[1], 704);
    assert_int_equal(nv12.offset[1], 704 * 360);
    assert_int_equal(nv12.memory_bytes[0], 704 * 360 + 704 * 179 + 640);
    assert_int_equal(nv12.format.plane[0].stride, 640);           /* nominal */
    assert_int_equal(nv12.buffer_bytes[0], nv12.memory_bytes[0]); /* the driver does not say */
    struct v4l2_format large = single(V4L2_PIX_FMT_NV12, 640, 360, 704);
    large.fmt.pix.sizeimage = 500000;
    assert_int_equal(layout_of(large).buffer_bytes[0], 500000);

    struct video_layout yv12 = layout_of(single(V4L2_PIX_FMT_YVU420, 640, 360, 704));
    assert_int_equal(yv12.stride[1], 352);
    assert_int_equal(yv12.offset[2], 704 * 360 + 352 * 180);
    assert_int_equal(yv12.memory_bytes[0], 704 * 360 + 352 * 180 + 352 * 179 + 320);

    struct video_layout odd = layout_of(single(V4L2_PIX_FMT_YUV420, 17, 5, 0));
    assert_int_equal(odd.stride[0], 17);
    assert_int_equal(odd.stride[1], 9);
    assert_int_equal(odd.memory_bytes[0], 17 * 5 + 2 * 9 * 3);

    struct video_layout yuyv = layout_of(single(V4L2_PIX_FMT_YUYV, 640, 360, 1280));
    assert_int_equal(yuyv.stride[0], 1280);
    assert_int_equal(yuyv.memory_bytes[0], 1280 * 360);

    struct video_layout y16 = layout_of(single(V4L2_PIX_FMT_Y16, 100, 10, 256));
    assert_int_equal(y16.memory_bytes[0], 256 * 9 + 200);
}

static void a_multi_planar_device_may_use_one_buffer(void **state)
{
    (void)state;
    struct v4l2_format format = multi(V4L2_PIX_FMT_NV12, 64, 32, 1);
    format.fmt.pix_mp.plane_fmt[0].bytesperline = 128;
    struct video_layout nv12 = layout_of(format);
    assert_int_equal(nv12.memory_count, 1);
    assert_int_equal(nv12.memory[1], 0);
    assert_int_equal(nv12.offset[1], 128 * 32);
}

static void buffers_apart_have_strides_of_their_own(void **state)
{
    (void)state;
    struct v4l2_format format = multi(V4L2_PIX_FMT_NV12M, 64, 32, 2);
    format.fmt.pix_mp.plane_fmt[0].bytesperline = 80;
    format.fmt.pix_mp.plane_fmt[1].bytesperline = 96;
    struct video_layout nv12 = layout_of(format);
    assert_string_equal(format_by_fourcc(nv12.format.fourcc)->name, "NV12");
    assert_int_equal(nv12.memory_count, 2);
    assert_int_equal(nv12.memory[1], 1);
    assert_int_equal(nv12.offset[1], 0);
    assert_int_equal(nv12.stride[1], 96);
    assert_int_equal(nv12.memory_bytes[0], 80 * 31 + 64);
    assert_int_equal(nv12.memory_bytes[1], 96 * 15 + 64);
    format.fmt.pix_mp.num_planes = 1;
    assert_refused(format, "1 planes, expected 2");
}

static void contradictions_are_refused(void **state)
{
    (void)state;
    assert_refused(single(V4L2_PIX_FMT_NV12, 640, 360, 639),
                   "639 bytes long, but 640 pixels need 640");
    assert_refused(single(V4L2_PIX_FMT_YUYV, 640, 360, 640), "1280");
    assert_refused(single(V4L2_PIX_FMT_MJPEG, 640, 360, 0), "pixel format");
    assert_refused(single(V4L2_PIX_FMT_GREY, 0, 360, 0), "size 0x360");
    assert_refused(single(V4L2_PIX_FMT_GREY, 100000, 360, 0), "8192");
    struct v4l2_format fields = single(V4L2_PIX_FMT_GREY, 64, 64, 0);
    fields.fmt.pix.field = V4L2_FIELD_SEQ_TB;
    assert_refused(fields, "fields");
}

static void colours_become_code_points(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t colorspace, ycbcr_enc, quantization, xfer_func;
        uint8_t primaries, transfer, matrix, full_range;
    } cases[] = {
        {"YUYV", V4L2_COLORSPACE_DEFAULT, 0, 0, 0, 2, 2, 2, 0},
        {"YUYV", V4L2_COLORSPACE_SRGB, 0, 0, 0, 1, 13, 6, 0},
        {"YUYV", V4L2_COLORSPACE_JPEG, 0, 0, 0, 1, 13, 6, 1},
        {"NV12", V4L2_COLORSPACE_REC709, 0, 0, 0, 1, 1, 1, 0},
        {"NV12", V4L2_COLORSPACE_REC709, 0, V4L2_QUANTIZATION_FULL_RANGE, 0, 1, 1, 1, 1},
        {"NV12", V4L2_COLORSPACE_SMPTE170M, 0, 0, 0, 6, 1, 6, 0},
        {"NV12", V4L2_COLORSPACE_470_SYSTEM_BG, 0, 0, 0, 5, 1, 5, 0},
        {"NV12", V4L2_COLORSPACE_BT2020, 0, 0, V4L2_XFER_FUNC_SMPTE2084, 9, 16, 9, 0},
        {"NV12", V4L2_COLORSPACE_SRGB, V4L2_YCBCR_ENC_709, 0, V4L2_XFER_FUNC_NONE, 1, 8, 1, 0},
        {"RGB24", V4L2_COLORSPACE_SRGB, 0, 0, 0, 1, 13, 0, 1},
        {"RGB24", V4L2_COLORSPACE_SRGB, 0, V4L2_QUANTIZATION_LIM_RANGE, 0, 1, 13, 0, 0},
        {"GREY", V4L2_COLORSPACE_SRGB, 0, 0, 0, 1, 13, 6, 1},
        {"Y12", V4L2_COLORSPACE_RAW, 0, 0, 0, 2, 2, 2, 1},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fftd_format format;
        assert_int_equal(
            format_layout(&format, format_by_name(cases[i].name)->fourcc, 16, 16, 1, NULL), 0);
        video_colour(&format, cases[i].colorspace, cases[i].ycbcr_enc, cases[i].quantization,
                     cases[i].xfer_func);
        if (format.primaries != cases[i].primaries || format.transfer != cases[i].transfer ||
            format.matrix != cases[i].matrix || format.full_range != cases[i].full_range)
            fail_msg("case %u: %u/%u/%u %u", i, format.primaries, format.transfer, format.matrix,
                     format.full_range);
    }
}

static void counts_go_on_past_a_wrap(void **state)
{
    (void)state;
    static const struct {
        uint32_t sequence;
        uint64_t count;
    } steps[] = {
        {0xfffffffd, 0}, {0xfffffffe, 1}, {1, 4}, {2, 5}, {2, 6}, /* does not count */
        {0, 7},                                                   /* begins again */
        {1, 8},          {1001, 1008},
    };
    struct video_count count = {.begun = false};
    for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++)
        assert_true(video_count(&count, steps[i].sequence) == steps[i].count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_buffer_holds_planes_in_a_row),
        cmocka_unit_test(a_multi_planar_device_may_use_one_buffer),
        cmocka_unit_test(buffers_apart_have_strides_of_their_own),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(colours_become_code_points),
        cmocka_unit_test(counts_go_on_past_a_wrap),
    };
    return cmocka_run_group_tests_name("v4l2_layout", tests, NULL, NULL);
}
