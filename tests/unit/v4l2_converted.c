/* Cameras that offer only what libv4l2 converts: the real libv4l2 decodes their frames. Its system
 * calls, and those of the capture code, are replaced by a camera's. */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/videodev2.h>

#include "support/cmocka.h"

#include "capture/capture.h"

#define WIDTH       64
#define HEIGHT      48
#define BLOCK       8 /* pixels of one grey */
#define SLOT_BYTES  (64 * 1024)
#define MAX_BUFFERS 8

/* The ways in which a frame is damaged. libv4l2 treats the first three of a stream like no frame at
 * all. */
enum damage {
    DAMAGE_NONE,
    DAMAGE_TRUNCATED,
    DAMAGE_GARBAGE,
    DAMAGE_EMPTY,
    DAMAGE_OTHER_SIZE, /* a whole picture, but not one of the format's size */
    DAMAGE_COUNT
};

static struct {
    uint32_t pixelformat;
    int fd, memory;
    uint8_t *slot; /* MAX_BUFFERS of them */
    bool streams, fails, queued[MAX_BUFFERS];
    unsigned offered;   /* frames that are ready */
    enum damage damage; /* of the next frame */
    uint32_t sequence;
    uint32_t width, height; /* of its frames, as far as they are the format's */
    bool half_chroma;       /* of JPEGs: chroma has half of the rows, too */
    uint32_t wanted;        /* DRM format that is asked of it; 0: any */
} camera = {.width = WIDTH, .height = HEIGHT};

/* ---- pictures: one grey for each block ---- */

static uint8_t grey(unsigned block_x, unsigned block_y, unsigned frame)
{
    return (uint8_t)(40 + (block_x * 29 + block_y * 53 + frame * 17) % 176);
}

static uint8_t grey_at(unsigned x, unsigned y, unsigned frame)
{
    return grey(x / BLOCK, y / BLOCK, frame);
}

/* A baseline JPEG of blocks: each has only a mean, which a step of 8 stores exactly. */
struct bits {
    uint8_t *at;
    uint32_t held;
    unsigned count;
};

static void put(struct bits *bits, uint32_t value, unsigned count)
{
    bits->held = bits->held << count | value;
    for (bits->count += count; bits->count >= 8; bits->count -= 8) {
        const uint8_t byte = (uint8_t)(bits->held >> (bits->count - 8));
        *bits->at++ = byte;
        if (byte == 0xff)
            *bits->at++ = 0;
    }
}

/* Codes as in the table of `header` below: the difference's length, its bits, and no more numbers
 * in this block. */
static void put_block(struct bits *bits, int *previous, int mean)
{
    static const struct {
        uint8_t code, length;
    } lengths[] = {{0, 2}, {2, 3}, {3, 3}, {4, 3}, {5, 3}, {6, 3}, {14, 4}, {30, 5}, {62, 6}};
    const int difference = mean - *previous;
    unsigned size = 0;
    while (abs(difference) >> size != 0)
        size++;
    put(bits, lengths[size].code, lengths[size].length);
    put(bits, (uint32_t)(difference < 0 ? difference + (1 << size) - 1 : difference), size);
    put(bits, 0, 2);
    *previous = mean;
}

static const uint8_t header[] = {
    0xff, 0xd8, 0xff, 0xc0, 0, 17, 8, 0, HEIGHT, 0, WIDTH, 3, 1, 0x21, 0, 2, 0x11, 0, 3, 0x11, 0,
    /* the codes of differences, and a table of numbers whose only code is that of none */
    0xff, 0xc4, 0, 31, 0x00, 0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7,
    8, 9, 10, 11, 0xff, 0xc4, 0, 20, 0x10, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    /* one scan of all components */
    0xff, 0xda, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, 63, 0};

static size_t draw_jpeg(uint8_t *out, unsigned frame)
{
    static const uint8_t steps[] = {0xff, 0xdb, 0, 67, 0};
    int luma = 0, blue = 0, red = 0;
    uint8_t *at = out;
    memcpy(at, header, 2);
    memcpy(at + 2, steps, sizeof steps);
    memset(at + 2 + sizeof steps, 8, 64);
    at += 2 + sizeof steps + 64;
    memcpy(at, header + 2, sizeof header - 2);
    at[6] = (uint8_t)camera.height;
    at[8] = (uint8_t)camera.width;
    at[11] = camera.half_chroma ? 0x22 : 0x21;
    struct bits bits = {.at = at + sizeof header - 2};
    const unsigned rows = camera.half_chroma ? 2 : 1;
    for (unsigned y = 0; y * BLOCK < camera.height; y += rows)
        for (unsigned x = 0; x * BLOCK < camera.width; x += 2) {
            for (unsigned i = 0; i < 2 * rows; i++)
                put_block(&bits, &luma, grey(x + i % 2, y + i / 2, frame) - 128);
            put_block(&bits, &blue, 0);
            put_block(&bits, &red, 0);
        }
    put(&bits, 0x7f, 7); /* fills the last byte */
    *bits.at++ = 0xff;
    *bits.at++ = 0xd9;
    return (size_t)(bits.at - out);
}

static size_t draw_pixels(uint8_t *out, unsigned frame)
{
    for (unsigned i = 0; i < camera.width * camera.height; i++) {
        const uint8_t value = grey_at(i % camera.width, i / camera.width, frame);
        const uint16_t rgb = (uint16_t)((value >> 3) << 11 | (value >> 2) << 5 | value >> 3);
        if (camera.pixelformat == V4L2_PIX_FMT_RGB565)
            memcpy(out + 2UL * i, &rgb, sizeof rgb);
        else
            memcpy(out + 2UL * i, (const uint8_t[]){value, 128}, 2);
    }
    return 2UL * camera.width * camera.height;
}

/* ---- the camera ---- */

static bool is_jpeg(void)
{
    return camera.pixelformat == V4L2_PIX_FMT_MJPEG || camera.pixelformat == V4L2_PIX_FMT_JPEG;
}

static int set_format(struct v4l2_format *format)
{
    format->fmt.pix = (struct v4l2_pix_format){
        .width = camera.width,
        .height = camera.height,
        .pixelformat = camera.pixelformat,
        .field = V4L2_FIELD_NONE,
        .bytesperline = is_jpeg() ? 0 : 2 * camera.width,
        .sizeimage = is_jpeg() ? SLOT_BYTES : 2 * camera.width * camera.height,
        .colorspace = V4L2_COLORSPACE_SRGB};
    return 0;
}

static int set_rate(struct v4l2_streamparm *parameters)
{
    parameters->parm.capture.capability = V4L2_CAP_TIMEPERFRAME;
    parameters->parm.capture.timeperframe = (struct v4l2_fract){1, 30};
    return 0;
}

static void describe_buffer(struct v4l2_buffer *buffer)
{
    buffer->length = SLOT_BYTES;
    buffer->m.offset = buffer->index * SLOT_BYTES;
    buffer->memory = V4L2_MEMORY_MMAP;
    buffer->flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
}

/* Damages a picture as camera.damage says; returns the bytes that the camera reports. */
static size_t damage(uint8_t *slot, size_t bytes)
{
    switch (camera.damage) {
    case DAMAGE_NONE:
    case DAMAGE_COUNT:
        break;
    case DAMAGE_TRUNCATED:
        return bytes / 3;
    case DAMAGE_GARBAGE:
        for (size_t i = 0; i < bytes; i++)
            slot[i] = (uint8_t)(i * 151 >> 3);
        break;
    case DAMAGE_EMPTY:
        return 0;
    case DAMAGE_OTHER_SIZE: {
        uint8_t *frame_header = memmem(slot, bytes, (const uint8_t[]){0xff, 0xc0}, 2);
        assert_non_null(frame_header);
        frame_header[6] = (uint8_t)(camera.height / 2);
        break;
    }
    }
    return bytes;
}

static int fill_buffer(struct v4l2_buffer *buffer)
{
    unsigned i = 0;
    if (camera.fails) {
        errno = EIO;
        return -1;
    }
    while (i < MAX_BUFFERS && !camera.queued[i])
        i++;
    if (!camera.streams || camera.offered == 0 || i == MAX_BUFFERS) {
        errno = EAGAIN;
        return -1;
    }
    uint8_t *slot = camera.slot + (size_t)i * SLOT_BYTES;
    const size_t bytes =
        is_jpeg() ? draw_jpeg(slot, camera.sequence) : draw_pixels(slot, camera.sequence);
    buffer->bytesused = (uint32_t)damage(slot, bytes);
    camera.damage = DAMAGE_NONE;
    camera.queued[i] = false;
    camera.offered--;
    buffer->index = i;
    buffer->sequence = camera.sequence++;
    describe_buffer(buffer);
    return 0;
}

static int answer(unsigned long request, void *argument)
{
    struct v4l2_fmtdesc *description = argument;
    struct v4l2_frmsizeenum *size = argument;
    struct v4l2_frmivalenum *interval = argument;
    struct v4l2_requestbuffers *buffers = argument;
    struct v4l2_buffer *buffer = argument;
    switch (request) {
    case VIDIOC_QUERYCAP:
        *(struct v4l2_capability *)argument =
            (struct v4l2_capability){.driver = "test",
                                     .card = "a webcam",
                                     .bus_info = "usb-1",
                                     .version = 6 << 16,
                                     .capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING};
        return 0;
    case VIDIOC_ENUM_FMT:
        if (description->index > 0)
            break;
        description->pixelformat = camera.pixelformat;
        description->flags = is_jpeg() ? V4L2_FMT_FLAG_COMPRESSED : 0;
        return 0;
    case VIDIOC_ENUM_FRAMESIZES:
        if (size->index > 0 || size->pixel_format != camera.pixelformat)
            break;
        size->type = V4L2_FRMSIZE_TYPE_DISCRETE;
        size->discrete = (struct v4l2_frmsize_discrete){camera.width, camera.height};
        return 0;
    case VIDIOC_ENUM_FRAMEINTERVALS:
        if (interval->index > 0 || interval->pixel_format != camera.pixelformat)
            break;
        interval->type = V4L2_FRMIVAL_TYPE_DISCRETE;
        interval->discrete = (struct v4l2_fract){1, 30};
        return 0;
    case VIDIOC_G_FMT:
    case VIDIOC_S_FMT:
    case VIDIOC_TRY_FMT:
        return set_format(argument);
    case VIDIOC_G_PARM:
    case VIDIOC_S_PARM:
        return set_rate(argument);
    case VIDIOC_REQBUFS:
        if (buffers->memory != V4L2_MEMORY_MMAP)
            break;
        buffers->count = buffers->count < MAX_BUFFERS ? buffers->count : MAX_BUFFERS;
        memset(camera.queued, 0, sizeof camera.queued);
        return 0;
    case VIDIOC_QUERYBUF:
        describe_buffer(buffer);
        return 0;
    case VIDIOC_QBUF:
        camera.queued[buffer->index] = true;
        return 0;
    case VIDIOC_DQBUF:
        return fill_buffer(buffer);
    case VIDIOC_STREAMON:
    case VIDIOC_STREAMOFF:
        camera.streams = request == VIDIOC_STREAMON;
        return 0;
    default:
        errno = ENOTTY;
        return -1;
    }
    errno = EINVAL;
    return -1;
}

int ioctl(int fd, unsigned long request, ...)
{
    va_list args;
    va_start(args, request);
    void *argument = va_arg(args, void *);
    va_end(args);
    camera.fd = fd;
    return answer(request, argument);
}

/* libv4l2 makes all its system calls through this.
 * NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): __sysno is reserved */
long syscall(long number, ...)
{
    __typeof__(&syscall) next;
    long argument[6];
    va_list args;
    va_start(args, number);
    for (unsigned i = 0; i < 6; i++)
        argument[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_ioctl && argument[0] == camera.fd)
        return answer((unsigned long)argument[1], (void *)argument[2]);
#ifdef SYS_mmap2
    const bool maps = number == SYS_mmap2;
    const long unit = 4096;
#else
    const bool maps = number == SYS_mmap;
    const long unit = 1;
#endif
    if (maps && argument[4] == camera.fd)
        return (long)mmap((void *)argument[0], (size_t)argument[1], (int)argument[2],
                          (int)argument[3], camera.memory, argument[5] * unit);
    void *found = dlsym(RTLD_NEXT, "syscall");
    memcpy(&next, &found, sizeof next);
    return next(number, argument[0], argument[1], argument[2], argument[3], argument[4],
                argument[5]);
}

/* ---- the tests ---- */

static struct capture *open_camera(uint32_t pixelformat)
{
    const struct capture_request request = {.uri = "v4l2:/dev/null", .fourcc = camera.wanted};
    struct capture *capture;
    struct error why = {""};
    camera.pixelformat = pixelformat;
    camera.sequence = 0;
    camera.offered = 0;
    camera.damage = DAMAGE_NONE;
    camera.memory = memfd_create("camera", MFD_CLOEXEC);
    assert_int_equal(ftruncate(camera.memory, MAX_BUFFERS * SLOT_BYTES), 0);
    camera.slot =
        mmap(NULL, MAX_BUFFERS * SLOT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, camera.memory, 0);
    assert_ptr_not_equal(camera.slot, MAP_FAILED);
    if (capture_open(&capture, &request, &why) < 0 ||
        capture_start(capture, MEMORY_COPIED, NULL, &why) < 0)
        fail_msg("%s", why.text);
    return capture;
}

static void close_camera(struct capture *capture)
{
    capture_close(capture);
    munmap(camera.slot, MAX_BUFFERS * SLOT_BYTES);
    close(camera.memory);
}

/* The luma of a frame is that of the picture; a smaller range than the camera's is expected of what
 * has been RGB. */
static void check_frame(const struct capture_frame *frame, unsigned number, double scale,
                        double offset)
{
    for (unsigned y = 0; y < camera.height; y++)
        for (unsigned x = 0; x < camera.width; x++) {
            const double wanted = offset + scale * grey_at(x, y, number);
            const int found = frame->plane[0][y * frame->stride[0] + x];
            if (found < wanted - 5 || found > wanted + 5)
                fail_msg("frame %u at %u,%u: %d instead of %.0f", number, x, y, found, wanted);
        }
}

static void check_format(uint32_t pixelformat, bool full_range, double scale, double offset)
{
    struct capture *capture = open_camera(pixelformat);
    struct capture_frame frame;
    struct error why = {""};
    print_message("# %s\n", capture->description);
    assert_string_equal(format_by_fourcc(capture->format.fourcc)->name, "YUV420");
    assert_int_equal(capture->format.width, WIDTH);
    assert_int_equal(capture->format.height, HEIGHT);
    assert_int_equal(capture->format.full_range, full_range);
    assert_int_equal(capture_dequeue(capture, &frame, &why), -EAGAIN);
    for (unsigned i = 0; i < 2 * MAX_BUFFERS; i++) {
        camera.offered = 1;
        if (capture_dequeue(capture, &frame, &why) < 0)
            fail_msg("frame %u: %s", i, why.text);
        assert_int_equal(frame.sequence, i);
        check_frame(&frame, i, scale, offset);
        capture_release(capture, &frame);
    }
    assert_int_equal(capture->dropped_error, 0);
    close_camera(capture);
}

static void jpeg_is_decoded(void **state)
{
    (void)state;
    check_format(V4L2_PIX_FMT_MJPEG, true, 1, 0);
    check_format(V4L2_PIX_FMT_JPEG, true, 1, 0);
}

static void other_formats_are_converted(void **state)
{
    (void)state;
    check_format(V4L2_PIX_FMT_YVYU, false, 1, 0);
    check_format(V4L2_PIX_FMT_RGB565, false, 219 / 255., 16);
}

/* A damaged frame ends no stream, wherever it comes, and those after it are good. Some are counted
 * here; the numbers of the others are missing, so that they count as lost by the source. */
static void damaged_jpeg_is_survived(void **state)
{
    (void)state;
    for (enum damage kind = DAMAGE_TRUNCATED; kind < DAMAGE_COUNT; kind++) {
        struct capture *capture = open_camera(V4L2_PIX_FMT_MJPEG);
        unsigned good = 0;
        for (unsigned i = 0; i < 12; i++) {
            const bool is_damaged = i == 1 || i == 6 || i == 7;
            struct capture_frame frame;
            struct error why = {""};
            camera.offered = 1;
            camera.damage = is_damaged ? kind : DAMAGE_NONE;
            const int r = capture_dequeue(capture, &frame, &why);
            if (r != 0 && r != -EAGAIN)
                fail_msg("damage %d, frame %u: %s", (int)kind, i, why.text);
            if (is_damaged)
                assert_int_equal(r, -EAGAIN);
            if (r < 0)
                continue;
            good++;
            assert_int_equal(frame.sequence, i);
            check_frame(&frame, i, 1, 0);
            capture_release(capture, &frame);
        }
        /* libv4l2 may leave out the frame after the first damaged one. */
        assert_in_range(good, 8, 9);
        assert_in_range(capture->dropped_error, 0, 12 - good);
        if (kind == DAMAGE_OTHER_SIZE)
            assert_true(capture->dropped_error > 0);
        close_camera(capture);
    }
}

/* Offers frames until one comes; false: none of several does. */
static bool a_frame_comes(struct capture *capture, struct capture_frame *ret)
{
    struct error why = {""};
    for (unsigned i = 0; i < 12; i++) {
        camera.offered = 1;
        const int r = capture_dequeue(capture, ret, &why);
        if (r == 0)
            return true;
        if (r != -EAGAIN)
            fail_msg("%s", why.text);
    }
    return false;
}

/* What libv4l2 says of sizes only in a log of its own. */
static void sizes_that_libv4l2_does_not_decode_are_named(void **state)
{
    static const struct {
        uint32_t width, height;
        bool half_chroma, is_decoded;
    } sizes[] = {
        {64, 48, false, true},  {64, 56, false, true}, {64, 52, false, false},
        {72, 48, false, false}, {64, 48, true, true},  {64, 56, true, false},
    };
    struct capture_frame frame;
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char size[32];
        camera.width = sizes[i].width;
        camera.height = sizes[i].height;
        camera.half_chroma = sizes[i].half_chroma;
        snprintf(size, sizeof size, " %ux%u:", camera.width, camera.height);
        struct capture *capture = open_camera(V4L2_PIX_FMT_MJPEG);
        const char *reason = capture->stall_reason.text;
        assert_string_equal(reason, "");
        const bool is_decoded = a_frame_comes(capture, &frame);
        print_message("#%s %s\n", size, reason);
        assert_int_equal(is_decoded, sizes[i].is_decoded);
        if (is_decoded) {
            assert_string_equal(reason, "");
            check_frame(&frame, camera.sequence - 1, 1, 0);
        } else {
            assert_non_null(strstr(reason, size));
            assert_non_null(strstr(reason, "a multiple of 16"));
            assert_non_null(strstr(reason, "camera.format = \"RGB24\""));
        }
        close_camera(capture);

        /* The way out. */
        camera.wanted = format_by_name("RGB24")->fourcc;
        capture = open_camera(V4L2_PIX_FMT_MJPEG);
        assert_int_equal(capture->format.width, camera.width);
        assert_int_equal(capture->format.height, camera.height);
        assert_true(a_frame_comes(capture, &frame));
        for (unsigned x = 0; x < camera.width; x++)
            assert_in_range(frame.plane[0][3 * x], grey_at(x, 0, camera.sequence - 1) - 5,
                            grey_at(x, 0, camera.sequence - 1) + 5);
        close_camera(capture);
        camera.wanted = 0;
    }
    camera.width = WIDTH;
    camera.height = HEIGHT;
    camera.half_chroma = false;
}

/* Frames of a good size that are all damaged; a good one ends the suspicion. */
static void frames_that_are_all_damaged_are_named(void **state)
{
    (void)state;
    struct capture *capture = open_camera(V4L2_PIX_FMT_MJPEG);
    struct capture_frame frame;
    struct error why;
    for (unsigned i = 0; i < 8; i++) {
        camera.offered = 1;
        camera.damage = DAMAGE_OTHER_SIZE;
        assert_int_equal(capture_dequeue(capture, &frame, &why), -EAGAIN);
    }
    assert_string_equal(capture->stall_reason.text, "libv4l2 could not decode the last frames");
    assert_true(a_frame_comes(capture, &frame));
    assert_string_equal(capture->stall_reason.text, "");
    close_camera(capture);
}

/* An error of the camera itself is not taken for a damaged frame. */
static void an_error_of_the_driver_is_reported(void **state)
{
    (void)state;
    struct capture *capture = open_camera(V4L2_PIX_FMT_MJPEG);
    struct capture_frame frame;
    struct error why = {""};
    camera.fails = true;
    assert_int_equal(capture_dequeue(capture, &frame, &why), -EIO);
    assert_non_null(strstr(why.text, "VIDIOC_DQBUF"));
    assert_int_equal(capture->dropped_error, 0);
    camera.fails = false;
    close_camera(capture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jpeg_is_decoded),
        cmocka_unit_test(other_formats_are_converted),
        cmocka_unit_test(damaged_jpeg_is_survived),
        cmocka_unit_test(sizes_that_libv4l2_does_not_decode_are_named),
        cmocka_unit_test(frames_that_are_all_damaged_are_named),
        cmocka_unit_test(an_error_of_the_driver_is_reported),
    };
    return cmocka_run_group_tests_name("v4l2_converted", tests, NULL, NULL);
}
