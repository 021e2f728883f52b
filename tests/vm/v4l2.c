/* The V4L2 source against a real driver: vivid, as a single-planar and as a multi-planar webcam.
 *
 * Runs as root in the test machine, where vivid can be loaded, and is skipped elsewhere. A second
 * descriptor sets vivid's controls to inject faults. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <linux/videodev2.h>

#include "support/cmocka.h"

#include "capture/capture.h"

#define SKIPPED            77
#define WIDTH              640u
#define HEIGHT             360u
/* Frames by which a busy machine may be late. */
#define FEW                30

/* vivid's controls (drivers/media/test-drivers/vivid/vivid-ctrls.c). */
#define VIVID_BASE         0x00f0f000u
#define OSD_TEXT_MODE      (VIVID_BASE + 25) /* 2: no text over the picture */
#define WRAP_SEQUENCE      (VIVID_BASE + 38)
#define WRAP_TIMESTAMP     (VIVID_BASE + 39)
#define DROPPED_PERCENTAGE (VIVID_BASE + 64)
#define DISCONNECT         (VIVID_BASE + 65)
#define FLAG_ERROR         (VIVID_BASE + 66)
#define REQBUFS_ERROR      (VIVID_BASE + 67)
#define QBUF_ERROR         (VIVID_BASE + 68)
#define STREAMON_ERROR     (VIVID_BASE + 69)
#define FATAL_ERROR        (VIVID_BASE + 70)

static bool multi_planar; /* how vivid is loaded */
static char node[64];     /* "/dev/video0" */
static char uri[80];

/* ---- vivid ---- */

static int find_node(void)
{
    DIR *directory = opendir("/sys/class/video4linux");
    struct dirent *entry;
    node[0] = '\0';
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        char path[320], name[64] = "";
        snprintf(path, sizeof path, "/sys/class/video4linux/%s/name", entry->d_name);
        FILE *file = fopen(path, "re");
        if (file == NULL)
            continue;
        if (fgets(name, sizeof name, file) != NULL && strstr(name, "vivid") != NULL)
            snprintf(node, sizeof node, "/dev/%.32s", entry->d_name);
        fclose(file);
    }
    if (directory != NULL)
        closedir(directory);
    snprintf(uri, sizeof uri, "v4l2:%s", node);
    return node[0] != '\0' ? 0 : -1;
}

static int shell(const char *command)
{
    return system(command); /* NOLINT: fixed commands, in the test machine */
}

static int load_vivid(void)
{
    char command[160];
    snprintf(command, sizeof command,
             "modprobe -q vivid n_devs=1 node_types=0x1 num_inputs=1 input_types=0 multiplanar=%d "
             "&& udevadm settle",
             multi_planar ? 2 : 1);
    return shell(command) == 0 ? find_node() : -1;
}

static int load(void **state)
{
    (void)state;
    return load_vivid();
}

/* The open source of the current test, which the teardown closes if the test fails. */
static struct capture *opened;

static void close_opened(void)
{
    capture_close(opened);
    opened = NULL;
}

static int unload(void **state)
{
    (void)state;
    close_opened();
    return shell("modprobe -r vivid");
}

static void set_control(uint32_t id, int value)
{
    int fd = open(node, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    struct v4l2_control control = {.id = id, .value = value};
    if (ioctl(fd, VIDIOC_S_CTRL, &control) < 0)
        fail_msg("control 0x%08x: %s", id, strerror(errno));
    close(fd);
}

/* ---- capture ---- */

static struct capture *open_as(const char *format_name, double rate, unsigned buffers)
{
    struct capture *capture = NULL;
    struct error why = {""};
    struct capture_request request = {
        .width = WIDTH,
        .height = HEIGHT,
        .rate = rate,
        .fourcc = format_name != NULL ? format_by_name(format_name)->fourcc : 0,
        .buffers = buffers,
    };
    snprintf(request.uri, sizeof request.uri, "%s", uri);
    if (capture_open(&capture, &request, &why) < 0)
        fail_msg("%s: %s", format_name != NULL ? format_name : "any format", why.text);
    opened = capture;
    return capture;
}

static void start(struct capture *capture)
{
    struct error why = {""};
    if (capture_start(capture, MEMORY_COPIED, NULL, &why) < 0)
        fail_msg("%s", why.text);
}

/* Waits for the next frame or failure. -ETIMEDOUT: neither arrived in time. */
static int wait_frame(struct capture *capture, int timeout_ms, struct capture_frame *ret,
                      struct error *why)
{
    for (;;) {
        struct pollfd poll_fd = {.fd = capture->fd, .events = POLLIN};
        if (poll(&poll_fd, 1, timeout_ms) == 0)
            return error_set(why, ETIMEDOUT, "no frame in %d ms", timeout_ms);
        int r = capture_dequeue(capture, ret, why);
        if (r != -EAGAIN)
            return r;
    }
}

static struct capture_frame next_frame(struct capture *capture)
{
    struct capture_frame frame;
    struct error why = {""};
    if (wait_frame(capture, 5000, &frame, &why) < 0)
        fail_msg("%s", why.text);
    return frame;
}

/* Dequeues and returns frames until a failure, which it returns. */
static int failure_of(struct capture *capture, struct error *why)
{
    for (unsigned i = 0; i < 100; i++) {
        struct capture_frame frame;
        int r = wait_frame(capture, 5000, &frame, why);
        if (r < 0)
            return r;
        capture_release(capture, &frame);
    }
    return 0;
}

static void assert_streams(struct capture *capture)
{
    for (unsigned i = 0; i < 3; i++) {
        struct capture_frame frame = next_frame(capture);
        capture_release(capture, &frame);
    }
}

static void assert_refused(struct capture_request request, int expected, const char *reason)
{
    struct capture *capture = NULL;
    struct error why = {""};
    snprintf(request.uri, sizeof request.uri, "%s", uri);
    int r = capture_open(&capture, &request, &why);
    if (r == 0)
        capture_close(capture);
    if (r != expected || strstr(why.text, reason) == NULL)
        fail_msg("%d \"%s\", expected %d and \"%s\"", r, why.text, expected, reason);
    print_message("refused: %s\n", why.text);
}

/* ---- tests ---- */

static unsigned rgb_luma(unsigned red, unsigned green, unsigned blue)
{
    return (unsigned)(0.299 * red + 0.587 * green + 0.114 * blue + 0.5);
}

/* One colour of the mosaic's cell that a pixel is in. */
static unsigned bayer_sample(const struct format_info *info, const struct capture_frame *frame,
                             uint32_t x, uint32_t y)
{
    const uint8_t *at = frame->plane[0] + (size_t)y * frame->stride[0] + (size_t)x * info->step;
    return info->step == 2 ? (at[0] | (unsigned)at[1] << 8) >> (info->bits - 8) : at[0];
}

static unsigned bayer_luma(const struct format_info *info, const struct capture_frame *frame,
                           uint32_t x, uint32_t y)
{
    uint32_t red_x = (x & ~1u) + info->red_x, red_y = (y & ~1u) + info->red_y;
    return rgb_luma(bayer_sample(info, frame, red_x, red_y),
                    bayer_sample(info, frame, red_x ^ 1, red_y),
                    bayer_sample(info, frame, red_x ^ 1, red_y ^ 1));
}

static unsigned luma(const struct capture *capture, const struct capture_frame *frame, uint32_t x,
                     uint32_t y)
{
    const struct format_info *info = format_by_fourcc(capture->format.fourcc);
    if (info->kind == SAMPLE_BAYER)
        return bayer_luma(info, frame, x, y);
    const uint8_t *row = frame->plane[0] + (size_t)y * frame->stride[0];
    const uint8_t *at = row + info->offset + (size_t)x * info->step;
    if (info->kind == SAMPLE_RGB8) {
        at = row + (size_t)x * info->step;
        return rgb_luma(at[info->rgb[0]], at[info->rgb[1]], at[info->rgb[2]]);
    }
    unsigned code =
        info->kind == SAMPLE_U16 ? (at[0] | (unsigned)at[1] << 8) >> (info->bits - 8) : at[0];
    /* Limited range is expanded, so that formats are comparable. */
    return capture->format.full_range ? code : (unsigned)((code - 16) * 255.0 / 219.0 + 0.5);
}

/* The bars of vivid's test pattern: white, yellow, cyan, green, magenta, red, blue, black. */
#define BARS 8

static void read_bars(const struct capture *capture, const struct capture_frame *frame,
                      unsigned bars[BARS])
{
    for (unsigned i = 0; i < BARS; i++)
        bars[i] = luma(capture, frame, i * WIDTH / BARS + WIDTH / BARS / 2, HEIGHT / 2);
    for (unsigned i = 1; i < BARS; i++)
        if (bars[i] + 8 > bars[i - 1])
            fail_msg("luma of bar %u is %u, of the one before %u", i, bars[i], bars[i - 1]);
    assert_true(bars[0] > bars[BARS - 1] + 150);
}

static void touch_all_bytes(const struct capture *capture, const struct capture_frame *frame)
{
    for (unsigned p = 0; p < capture->format.plane_count; p++) {
        const struct fftd_plane *plane = &capture->format.plane[p];
        unsigned any = 0;
        assert_true(frame->stride[p] >= plane->row_bytes);
        for (uint32_t y = 0; y < plane->rows; y++)
            for (uint32_t x = 0; x < plane->row_bytes; x++)
                any |= frame->plane[p][(size_t)y * frame->stride[p] + x];
        assert_true(any != 0);
    }
}

/* Every listed format arrives with the picture in it. vivid computes luma for grey formats by
 * another matrix than for YUV: the same numbers are expected only within each kind. */
static void every_format_is_captured(void **state)
{
    (void)state;
    unsigned count, reference[3][BARS] = {{0}};
    const struct format_info *table = format_table(&count);
    for (unsigned f = 0; f < count; f++) {
        struct capture *capture = open_as(table[f].name, 30, 0);
        assert_int_equal(capture->format.fourcc, table[f].fourcc);
        assert_int_equal(capture->format.width, WIDTH);
        assert_int_equal(capture->format.height, HEIGHT);
        set_control(OSD_TEXT_MODE, 2);
        start(capture);
        struct capture_frame frame = next_frame(capture);
        touch_all_bytes(capture, &frame);
        if (multi_planar && table[f].v4l2_multi != 0) /* one buffer per plane, mapped separately */
            assert_true(frame.plane[1] != frame.plane[0] + frame.stride[0] * HEIGHT);
        unsigned bars[BARS];
        read_bars(capture, &frame, bars);
        bool is_rgb = table[f].kind == SAMPLE_RGB8 || table[f].kind == SAMPLE_BAYER;
        unsigned kind = is_rgb ? 0 : capture->format.full_range ? 1 : 2;
        if (reference[kind][0] == 0)
            memcpy(reference[kind], bars, sizeof bars);
        for (unsigned i = 0; i < BARS; i++)
            if (abs((int)bars[i] - (int)reference[kind][i]) > 1)
                fail_msg("%s: luma of bar %u is %u, expected %u", table[f].name, i, bars[i],
                         reference[kind][i]);
        close_opened();
    }
}

/* Without a request, the choice is the driver's size in the format that is cheapest to filter. */
static void the_choice_is_sensible(void **state)
{
    (void)state;
    struct capture *capture = NULL;
    struct error why = {""};
    struct capture_request request = {.width = 0};
    snprintf(request.uri, sizeof request.uri, "%s", uri);
    if (capture_open(&capture, &request, &why) < 0)
        fail_msg("%s", why.text);
    opened = capture;
    print_message("%s\n", capture->description);
    assert_non_null(strstr(capture->description, "vivid (platform:vivid-000), NV12"));
    start(capture);
    assert_streams(capture);
    close_opened();
}

static void what_is_refused_is_listed(void **state)
{
    (void)state;
    assert_refused((struct capture_request){.width = 123, .height = 45}, -EINVAL, "123x45");
    assert_refused((struct capture_request){.width = 123, .height = 45}, -EINVAL,
                   "nearest is 320x180; it offers 320x180@60, 640x360@40");
    assert_refused((struct capture_request){.width = 123,
                                            .height = 45,
                                            .fourcc = format_by_name("YUYV")->fourcc},
                   -EINVAL, "does not offer YUYV at 123x45");
    assert_refused((struct capture_request){.fourcc = 0x31313131}, -EINVAL, "NV12");
}

/* The requested rate is the actual rate, also after a change of size has reset it. */
static void the_rate_is_kept(void **state)
{
    (void)state;
    struct capture *capture = open_as(NULL, 30, 0);
    double rate = (double)capture->format.rate_num / capture->format.rate_den;
    print_message("%s\n", capture->description);
    assert_true(rate > 24.9 && rate < 30.1);
    start(capture);
    struct capture_frame first = next_frame(capture), frame = first;
    capture_release(capture, &first);
    for (unsigned i = 0; i < 30; i++) {
        frame = next_frame(capture);
        assert_true(frame.captured_ns <= frame.dequeued_ns);
        capture_release(capture, &frame);
    }
    double measured = (double)(frame.sequence - first.sequence) * 1e9 /
                      (double)(frame.captured_ns - first.captured_ns);
    print_message("%.2f frames a second\n", measured);
    assert_true(measured > 0.95 * rate && measured < 1.05 * rate);
    close_opened();
}

static void a_camera_in_use_is_busy(void **state)
{
    (void)state;
    struct capture *capture = open_as("NV12", 30, 0);
    start(capture);
    assert_refused((struct capture_request){.width = WIDTH, .height = HEIGHT}, -EBUSY,
                   "another program");
    assert_streams(capture);
    close_opened();
    open_as("NV12", 30, 0);
}

static void stop_and_start_stream_again(void **state)
{
    (void)state;
    struct capture *capture = open_as("NV12", 30, 0);
    struct capture_frame frame;
    for (unsigned round = 0; round < 3; round++) {
        start(capture);
        frame = next_frame(capture);
        assert_true(frame.sequence <= FEW);
        if (round == 1)
            capture_release(capture, &frame);
        capture_stop(capture);
        assert_int_equal(capture_dequeue(capture, &frame, NULL), -EAGAIN);
    }
    close_opened();
}

static void another_format_set_meanwhile_is_noticed(void **state)
{
    (void)state;
    /* Another size, another order of the same bytes, longer rows. */
    static const char *const others[] = {"width=320,height=180", "pixelformat=NV21",
                                         "bytesperline=1024"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char command[160];
        struct error why = {""};
        struct capture *capture = open_as("NV12", 30, 0);
        start(capture);
        assert_streams(capture);
        capture_stop(capture);
        snprintf(command, sizeof command, "v4l2-ctl -d %s --set-fmt-video=%s", node, others[i]);
        assert_int_equal(shell(command), 0);
        int r = capture_start(capture, MEMORY_COPIED, NULL, &why);
        if (r != -EIO || strstr(why.text, "another program has set another format") == NULL)
            fail_msg("%s: %d \"%s\"", others[i], r, why.text);
        print_message("refused: %s\n", why.text);
        close_opened();
    }
}

/* All waiting frames but the newest are returned to the driver; lent frames are not. */
static void the_newest_frame_wins(void **state)
{
    (void)state;
    struct capture *capture = open_as("NV12", 30, 4);
    start(capture);
    struct capture_frame lent = next_frame(capture);
    uint64_t stale = capture->dropped_stale;
    poll(NULL, 0, 500);
    struct capture_frame newest = next_frame(capture);
    stale = capture->dropped_stale - stale;
    assert_in_range(stale, 2, 3); /* three waited; another may have arrived since */
    assert_true(newest.sequence > lent.sequence + stale);
    assert_int_not_equal(newest.index, lent.index);
    capture_release(capture, &lent);
    capture_release(capture, &newest);
    assert_streams(capture);
    close_opened();
}

static void damaged_frames_are_dropped_and_counted(void **state)
{
    (void)state;
    struct capture *capture = open_as("NV12", 30, 0);
    start(capture);
    assert_streams(capture);
    for (unsigned n = 1; n <= 3; n++) {
        set_control(FLAG_ERROR, 1);
        for (unsigned i = 0; i < 100 && capture->dropped_error < n; i++) {
            struct capture_frame frame = next_frame(capture);
            capture_release(capture, &frame);
        }
        assert_true(capture->dropped_error == n);
    }
    close_opened();
}

static void a_stall_ends_where_it_began(void **state)
{
    (void)state;
    struct capture *capture = open_as("NV12", 30, 0);
    struct capture_frame frame;
    struct error why;
    start(capture);
    struct capture_frame before = next_frame(capture);
    capture_release(capture, &before);
    set_control(DROPPED_PERCENTAGE, 100);
    while (wait_frame(capture, 400, &frame, &why) == 0)
        capture_release(capture, &frame);
    set_control(DROPPED_PERCENTAGE, 0);
    frame = next_frame(capture);
    assert_true(frame.sequence >= before.sequence + 10);
    assert_true(frame.captured_ns > before.captured_ns);
    close_opened();
}

static void wrapped_counts_and_times_do_no_harm(void **state)
{
    (void)state;
    set_control(WRAP_SEQUENCE, 1);
    set_control(WRAP_TIMESTAMP, 1);
    struct capture *capture = open_as("NV12", 40, 0);
    start(capture);
    struct capture_frame last = next_frame(capture);
    assert_true(last.sequence <= FEW);
    capture_release(capture, &last);
    /* vivid begins 128 frames before the wrap. */
    for (unsigned i = 0; i < 160; i++) {
        struct capture_frame frame = next_frame(capture);
        assert_in_range(frame.sequence - last.sequence, 1, FEW);
        assert_true(frame.captured_ns > last.captured_ns);
        assert_true(frame.captured_ns <= frame.dequeued_ns);
        last = frame;
        capture_release(capture, &frame);
    }
    close_opened();
    set_control(WRAP_SEQUENCE, 0);
    set_control(WRAP_TIMESTAMP, 0);
}

static void a_fatal_error_asks_for_a_restart(void **state)
{
    (void)state;
    struct capture *capture = open_as("NV12", 30, 0);
    struct error why = {""};
    start(capture);
    assert_streams(capture);
    set_control(FATAL_ERROR, 1);
    assert_int_equal(failure_of(capture, &why), -EIO);
    print_message("%s\n", why.text);
    capture_stop(capture);
    start(capture);
    assert_streams(capture);
    close_opened();
}

static void failing_calls_fail_the_start_alone(void **state)
{
    (void)state;
    static const uint32_t faults[] = {REQBUFS_ERROR, QBUF_ERROR, STREAMON_ERROR};
    struct capture *capture = open_as("NV12", 30, 0);
    for (unsigned i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct error why = {""};
        set_control(faults[i], 1);
        assert_true(capture_start(capture, MEMORY_COPIED, NULL, &why) < 0);
        print_message("%s\n", why.text);
        assert_non_null(strstr(why.text, "VIDIOC_"));
        capture_stop(capture);
        start(capture);
        assert_streams(capture);
        capture_stop(capture);
    }
    close_opened();
}

/* A buffer that the driver does not take back is not lost silently; not even if, with more than two
 * of them, frames wait. */
static void a_failed_return_asks_for_a_restart_with(unsigned buffers)
{
    struct capture *capture = open_as("NV12", 30, buffers);
    struct error why = {""};
    start(capture);
    struct capture_frame a = next_frame(capture), b = next_frame(capture);
    struct pollfd poll_fd = {.fd = capture->fd, .events = POLLIN};
    if (buffers > 2)
        assert_int_equal(poll(&poll_fd, 1, 5000), 1);
    set_control(QBUF_ERROR, 1);
    capture_release(capture, &a);
    struct capture_frame frame;
    assert_int_equal(capture_dequeue(capture, &frame, &why), -EIO);
    assert_non_null(strstr(why.text, "VIDIOC_QBUF"));
    capture_release(capture, &b);
    capture_stop(capture);
    start(capture);
    assert_streams(capture);
    close_opened();
}

static void a_failed_return_asks_for_a_restart(void **state)
{
    (void)state;
    a_failed_return_asks_for_a_restart_with(2);
    a_failed_return_asks_for_a_restart_with(4);
}

static void a_disconnected_camera_has_gone(void **state)
{
    (void)state;
    struct capture *capture = open_as("NV12", 30, 0);
    struct error why = {""};
    start(capture);
    assert_streams(capture);
    set_control(DISCONNECT, 1);
    assert_int_equal(failure_of(capture, &why), -ENODEV);
    close_opened();
    /* vivid is available again once no process has it open. */
    capture = open_as("NV12", 30, 0);
    start(capture);
    assert_streams(capture);
}

static void an_unplugged_camera_comes_back(void **state)
{
    (void)state;
    struct capture *capture = open_as("NV12", 30, 0);
    struct error why = {""};
    start(capture);
    assert_streams(capture);
    assert_int_equal(shell("echo vivid.0 > /sys/bus/platform/drivers/vivid/unbind"), 0);
    assert_int_equal(failure_of(capture, &why), -ENODEV);
    close_opened();
    assert_int_equal(shell("echo vivid.0 > /sys/bus/platform/drivers/vivid/bind; udevadm settle"),
                     0);
    assert_int_equal(find_node(), 0);
    capture = open_as("NV12", 30, 0);
    start(capture);
    assert_streams(capture);
    close_opened();
}

static void devices_are_listed(void **state)
{
    (void)state;
    for (int json = 0; json < 2; json++) {
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        assert_non_null(out);
        assert_int_equal(capture_list_devices(out, json == 1), 1);
        fclose(out);
        assert_non_null(strstr(text, node));
        assert_non_null(strstr(text, "vivid"));
        assert_non_null(strstr(text, json == 1 ? "\"choice\": {\"format\": \"NV12\""
                                               : "fftd would choose NV12 640x360, up to 40"));
        assert_non_null(strstr(text, "luma has its own plane"));
        assert_non_null(strstr(text, json == 1 ? "\"format\": \"SRGGB12\", \"supported\": true"
                                               : "640x360@40"));
        free(text);
    }
}

#define VIVID_TEST(test) cmocka_unit_test_setup_teardown(test, load, unload)

int main(void)
{
    const struct CMUnitTest tests[] = {
        VIVID_TEST(every_format_is_captured),
        VIVID_TEST(the_choice_is_sensible),
        VIVID_TEST(what_is_refused_is_listed),
        VIVID_TEST(the_rate_is_kept),
        VIVID_TEST(a_camera_in_use_is_busy),
        VIVID_TEST(stop_and_start_stream_again),
        VIVID_TEST(another_format_set_meanwhile_is_noticed),
        VIVID_TEST(the_newest_frame_wins),
        VIVID_TEST(damaged_frames_are_dropped_and_counted),
        VIVID_TEST(a_stall_ends_where_it_began),
        VIVID_TEST(wrapped_counts_and_times_do_no_harm),
        VIVID_TEST(a_fatal_error_asks_for_a_restart),
        VIVID_TEST(failing_calls_fail_the_start_alone),
        VIVID_TEST(a_failed_return_asks_for_a_restart),
        VIVID_TEST(a_disconnected_camera_has_gone),
        VIVID_TEST(an_unplugged_camera_comes_back),
        VIVID_TEST(devices_are_listed),
    };
    if (load_vivid() < 0)
        return SKIPPED;
    if (unload(NULL) != 0)
        return 1;
    int failed = cmocka_run_group_tests_name("v4l2 single-planar", tests, NULL, NULL);
    multi_planar = true;
    return failed + cmocka_run_group_tests_name("v4l2 multi-planar", tests, NULL, NULL);
}
