/* Sources as their user sees them: opening, pacing, losing and lending frames. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/cmocka.h"
#include "support/dequeue.h"
#include "support/pattern_frame.h"

#include "capture/capture.h"
#include "capture/pace.h"
#include "core/clock.h"

static struct capture *open_source(const struct capture_request *request)
{
    struct capture *capture = NULL;
    struct error why = {""};
    if (capture_open(&capture, request, &why) < 0)
        fail_msg("%s: %s", request->uri, why.text);
    return capture;
}

/* The next frame, waiting for it as long as a test may last. */
static struct capture_frame next_frame(struct capture *capture)
{
    struct capture_frame frame;
    struct error why = {""};
    if (dequeue_wait(capture, &frame, &why) < 0)
        fail_msg("%s", why.text);
    return frame;
}

static void assert_refused(const struct capture_request *request, int expected, const char *text)
{
    struct capture *capture = (struct capture *)8;
    struct error why = {""};
    int r = capture_open(&capture, request, &why);
    if (r != expected || strstr(why.text, text) == NULL)
        fail_msg("%s: %d \"%s\", expected %d and \"%s\"", request->uri, r, why.text, expected,
                 text);
    assert_ptr_equal(capture, (struct capture *)8);
}

static void bad_requests_are_refused(void **state)
{
    (void)state;
    assert_refused(&(struct capture_request){.uri = ""}, -EINVAL, "expected");
    assert_refused(&(struct capture_request){.uri = "/dev/video0"}, -EINVAL, "pattern:SCENE");
    assert_refused(&(struct capture_request){.uri = "http://camera/"}, -EINVAL, "http://camera/");
    assert_refused(&(struct capture_request){.uri = "pattern:"}, -EINVAL, "zoneplate");
    assert_refused(&(struct capture_request){.uri = "pattern:Bars"}, -EINVAL, "Bars");
    assert_refused(&(struct capture_request){.uri = "pattern:bars", .width = 9000, .height = 9},
                   -EINVAL, "8192");
    assert_refused(&(struct capture_request){.uri = "pattern:bars", .fourcc = 0x31313131}, -EINVAL,
                   "NV12");
}

static void what_is_no_camera_is_refused(void **state)
{
    (void)state;
    assert_refused(
        &(struct capture_request){.uri = "v4l2:/dev/video-none"}, -ENOENT,
        "camera /dev/video-none does not exist; `fftd --list-devices` shows the cameras");
    assert_refused(&(struct capture_request){.uri = "v4l2:"}, -ENOENT, "does not exist");
    assert_refused(&(struct capture_request){.uri = "v4l2:/dev/null"}, -EINVAL,
                   "/dev/null: not a V4L2 device");
    assert_refused(&(struct capture_request){.uri = "v4l2:/tmp"}, -EISDIR, "/tmp: Is a directory");
    assert_refused(&(struct capture_request){.uri = "v4l2:/dev/video0", .rate = INFINITY}, -EINVAL,
                   "v4l2:/dev/video0: rate max: a camera sets the pace itself");
}

static void rates_become_the_fractions_meant(void **state)
{
    (void)state;
    static const struct {
        double rate;
        uint32_t num, den;
    } cases[] = {
        {30, 30, 1},           {29.97, 30000, 1001}, {59.94, 60000, 1001}, {23.976, 24000, 1001},
        {12.5, 25, 2},         {7.5, 15, 2},         {1000, 1000, 1},      {33.3333, 100, 3},
        {14.985, 15000, 1001}, {29.9, 29900, 1000},  {0.1, 1000, 10000},   {0.5, 1, 2},
        {0.01, 1000, 100000},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t num = 0, den = 0;
        pace_fraction(cases[i].rate, &num, &den);
        assert_int_equal(num, cases[i].num);
        assert_int_equal(den, cases[i].den);
    }
}

static void defaults_are_those_documented(void **state)
{
    (void)state;
    struct capture *capture = open_source(&(struct capture_request){.uri = "pattern:bars"});
    assert_int_equal(capture->format.width, 640);
    assert_int_equal(capture->format.height, 480);
    assert_string_equal(format_by_fourcc(capture->format.fourcc)->name, "NV12");
    assert_int_equal(capture->format.rate_num, 30);
    assert_int_equal(capture->format.rate_den, 1);
    assert_string_equal(capture->description, "test scene bars, NV12 640x480 at 30 fps");
    capture_stop(capture); /* not started: harmless */
    capture_close(capture);
    capture_close(NULL);
}

static const char *const uris[] = {"pattern:zoneplate", "pattern:noise", "pattern:scene"};
#define URI_COUNT (sizeof uris / sizeof uris[0])

static struct capture *open_scene(const char *uri, uint32_t width, uint32_t height,
                                  unsigned buffers)
{
    struct capture_request request = {
        .width = width, .height = height, .rate = 500, .seed = 3, .buffers = buffers};
    snprintf(request.uri, sizeof request.uri, "%s", uri);
    return open_source(&request);
}

static void deliver_what_pattern_draw_draws(uint32_t width, uint32_t height)
{
    for (unsigned i = 0; i < URI_COUNT; i++) {
        struct capture *capture = open_scene(uris[i], width, height, 3);
        const struct fftd_format *format = &capture->format;
        uint8_t *expected = malloc(format->frame_bytes);
        assert_non_null(expected);
        assert_int_equal(capture_start(capture, MEMORY_COPIED, NULL, NULL), 0);
        int64_t last_ns = 0;
        for (unsigned n = 0; n < 12; n++) {
            struct capture_frame frame = next_frame(capture);
            assert_int_equal(pattern_draw(uris[i] + 8, format, frame.sequence, 3, expected, NULL),
                             0);
            for (unsigned p = 0; p < format->plane_count; p++) {
                assert_int_equal(frame.stride[p], format->plane[p].stride);
                assert_int_equal(frame.memory, -1);
                assert_memory_equal(frame.plane[p], expected + format->plane[p].offset,
                                    format->plane[p].stride * format->plane[p].rows);
            }
            assert_true(frame.captured_ns > last_ns && frame.dequeued_ns >= frame.captured_ns);
            last_ns = frame.captured_ns;
            capture_release(capture, &frame);
        }
        free(expected);
        capture_close(capture);
    }
}

/* Whatever its buffers held before; of odd sizes, too, the last column and row of chroma. */
static void pattern_delivers_what_pattern_draw_draws(void **state)
{
    (void)state;
    deliver_what_pattern_draw_draws(162, 98);
    deliver_what_pattern_draw_draws(161, 97);
}

/* ---- frames in a device's memory ---- */

static uint8_t *shared[FRAME_MEMORY_MAX];

static int share(struct frame_memory *memory, unsigned index, size_t bytes, struct error *why)
{
    (void)why;
    assert_true(bytes >= memory->layout.frame_bytes);
    shared[index] = calloc(1, bytes);
    assert_non_null(shared[index]);
    return 0;
}

static uint8_t *address(const struct frame_memory *memory, unsigned index)
{
    (void)memory;
    return shared[index];
}

static void clear(struct frame_memory *memory)
{
    (void)memory;
    for (unsigned i = 0; i < FRAME_MEMORY_MAX; i++) {
        free(shared[i]);
        shared[i] = NULL;
    }
}

static bool is_readable(const struct capture *capture)
{
    struct pollfd fd = {.fd = capture->fd, .events = POLLIN};
    return poll(&fd, 1, 0) == 1;
}

/* Takes frames as fast as they come, from `count` buffers. */
static void take_unpaced(struct capture *capture, const char *uri, const struct fftd_format *layout,
                         unsigned count)
{
    uint8_t *expected = calloc(1, layout->frame_bytes);
    int64_t last_ns = clock_now_ns();
    assert_non_null(expected);
    for (unsigned n = 0; n < 3 * count; n++) {
        struct capture_frame frame;
        assert_true(is_readable(capture));
        assert_int_equal(capture_dequeue(capture, &frame, NULL), 0);
        assert_int_equal(frame.sequence, n);
        assert_true(frame.captured_ns >= last_ns && frame.dequeued_ns >= frame.captured_ns);
        last_ns = frame.dequeued_ns;
        assert_int_equal(pattern_draw(uri + 8, layout, n % count, 3, expected, NULL), 0);
        for (unsigned p = 0; p < layout->plane_count; p++)
            assert_memory_equal(frame.plane[p], expected + layout->plane[p].offset,
                                layout->plane[p].stride * layout->plane[p].rows);
        capture_release(capture, &frame);
    }
    free(expected);
}

/* With every buffer lent there is nothing to wake up for, and no number is used up. */
static void lend_all_unpaced(struct capture *capture, unsigned count, uint64_t first)
{
    struct capture_frame frame[FRAME_MEMORY_MAX];
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(capture_dequeue(capture, &frame[i], NULL), 0);
    assert_false(is_readable(capture));
    assert_int_equal(capture_dequeue(capture, &(struct capture_frame){0}, NULL), -EAGAIN);
    capture_release(capture, &frame[1]); /* not the next one */
    assert_false(is_readable(capture));
    capture_release(capture, &frame[0]);
    assert_true(is_readable(capture));
    assert_int_equal(capture_dequeue(capture, &frame[0], NULL), 0);
    assert_int_equal(frame[0].sequence, first + count);
    capture_stop(capture);
    assert_false(is_readable(capture));
}

/* N buffers with the first N frames of a scene come in turn, whenever the next one is free. */
static void unpaced_scenes_repeat(void **state)
{
    static const struct frame_memory_ops ops = {.share = share, .address = address, .clear = clear};
    (void)state;
    for (unsigned i = 0; i < URI_COUNT; i++) {
        struct frame_memory memory = {.ops = &ops, .plane_count = 1, .held = 2};
        struct capture_request request = {
            .width = 66, .height = 50, .rate = INFINITY, .seed = 3, .buffers = 3};
        snprintf(request.uri, sizeof request.uri, "%s", uris[i]);
        struct capture *capture = open_source(&request);
        assert_int_equal(capture->format.rate_num, 0);
        assert_non_null(strstr(capture->description, "NV12 66x50, unpaced"));
        assert_false(is_readable(capture));
        assert_int_equal(capture_start(capture, MEMORY_COPIED, NULL, NULL), 0);
        take_unpaced(capture, uris[i], &capture->format, 3);
        lend_all_unpaced(capture, 3, 9);
        assert_int_equal(format_layout(&memory.layout, capture->format.fourcc, 66, 50, 64, NULL),
                         0);
        assert_int_equal(capture_start(capture, MEMORY_SHARED, &memory, NULL), 0);
        take_unpaced(capture, uris[i], &memory.layout, 5);
        capture_close(capture);
    }
}

static void draw_into_memory_that_is_shared(uint32_t width, uint32_t height)
{
    static const struct frame_memory_ops ops = {.share = share, .address = address, .clear = clear};
    for (unsigned i = 0; i < URI_COUNT; i++) {
        struct frame_memory memory = {.ops = &ops, .plane_count = 1, .held = 2};
        struct capture *capture = open_scene(uris[i], width, height, 2);
        struct error why;
        assert_int_equal(
            format_layout(&memory.layout, capture->format.fourcc, width, height, 64, NULL), 0);
        uint8_t *expected = calloc(1, memory.layout.frame_bytes);
        assert_int_equal(capture_start(capture, MEMORY_IMPORTED, &memory, &why), -EOPNOTSUPP);
        assert_int_equal(capture_start(capture, MEMORY_SHARED, &memory, &why), 0);
        unsigned count = 0;
        while (count < FRAME_MEMORY_MAX && shared[count] != NULL)
            count++;
        assert_int_equal(count, 2 + memory.held);
        for (unsigned n = 0; n < 6; n++) {
            struct capture_frame frame = next_frame(capture);
            assert_int_equal(
                pattern_draw(uris[i] + 8, &memory.layout, frame.sequence, 3, expected, NULL), 0);
            assert_in_range(frame.memory, 0, count - 1);
            assert_ptr_equal(frame.plane[0], shared[frame.memory]);
            assert_memory_equal(shared[frame.memory], expected, memory.layout.frame_bytes);
            capture_release(capture, &frame);
        }
        capture_stop(capture);
        assert_null(shared[0]);
        memory.layout.height += 2;
        assert_int_equal(capture_start(capture, MEMORY_SHARED, &memory, &why), -EOPNOTSUPP);
        free(expected);
        capture_close(capture);
    }
}

/* Test scenes are drawn there, laid out as the device has it; all of it is let go of on stopping.
 */
static void pattern_draws_into_memory_that_is_shared(void **state)
{
    (void)state;
    draw_into_memory_that_is_shared(66, 50);
    draw_into_memory_that_is_shared(65, 49);
}

/* Frame n is due n periods after frame 0, which is due on starting. Each frame is the newest that
 * was due when it was taken, and nobody who keeps up loses one. */
static void ticks_keep_their_distance(void **state)
{
    (void)state;
    const int64_t period_ns = 10 * 1000 * 1000;
    struct capture *capture =
        open_source(&(struct capture_request){.uri = "pattern:bars", .rate = 100});
    const int64_t begin_ns = clock_now_ns();
    assert_int_equal(capture_start(capture, MEMORY_COPIED, NULL, NULL), 0);
    const int64_t end_ns = clock_now_ns();
    int64_t first_ns = 0, next = 0;
    for (unsigned n = 0; n < 20; n++) {
        const int64_t asked_ns = clock_now_ns();
        struct capture_frame frame = next_frame(capture);
        const int64_t got_ns = clock_now_ns(), number = (int64_t)frame.sequence;
        if (n == 0)
            first_ns = frame.captured_ns - number * period_ns;
        assert_in_range(first_ns, begin_ns, end_ns);
        assert_true(frame.captured_ns == first_ns + number * period_ns);
        const int64_t least = (asked_ns - first_ns) / period_ns,
                      most = (got_ns - first_ns) / period_ns;
        assert_in_range(number, least > next ? least : next, most);
        next = number + 1;
        capture_release(capture, &frame);
    }
    capture_close(capture);
}

/* Ticks that nobody took, and those that find every buffer lent, are gaps in the sequence. */
static void late_takers_see_gaps(void **state)
{
    (void)state;
    struct capture *capture =
        open_source(&(struct capture_request){.uri = "pattern:bars", .rate = 1000, .buffers = 2});
    assert_int_equal(capture_start(capture, MEMORY_COPIED, NULL, NULL), 0);
    struct capture_frame a = next_frame(capture);
    poll(NULL, 0, 20);
    struct capture_frame b = next_frame(capture);
    assert_true(b.sequence >= a.sequence + 15);

    struct capture_frame c;
    struct error why = {""};
    poll(NULL, 0, 5);
    assert_int_equal(capture_dequeue(capture, &c, &why), -EAGAIN);
    assert_non_null(strstr(why.text, "lent"));
    assert_int_equal(capture_dequeue(capture, &c, NULL), -EAGAIN);
    capture_release(capture, &a);
    c = next_frame(capture);
    assert_true(c.sequence > b.sequence + 1);
    capture_close(capture);
}

/* Stopping voids what is out, and counting begins anew, at 0 for a frame that is due on starting:
 * the numbers of those that come say when that was. */
static void a_restart_begins_anew(void **state)
{
    (void)state;
    struct capture *capture =
        open_source(&(struct capture_request){.uri = "pattern:scene", .rate = 100, .buffers = 2});
    for (unsigned round = 0; round < 2; round++) {
        int64_t begin_ns = clock_now_ns();
        assert_int_equal(capture_start(capture, MEMORY_COPIED, NULL, NULL), 0);
        int64_t end_ns = clock_now_ns();
        for (unsigned n = 0; n < 2; n++) {
            struct capture_frame frame = next_frame(capture);
            int64_t first_ns = frame.captured_ns - (int64_t)frame.sequence * 10 * 1000 * 1000;
            assert_true(first_ns >= begin_ns && first_ns <= end_ns);
        }
        capture_stop(capture);
        assert_int_equal(capture_dequeue(capture, &(struct capture_frame){0}, NULL), -EAGAIN);
    }
    capture_close(capture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_requests_are_refused),
        cmocka_unit_test(what_is_no_camera_is_refused),
        cmocka_unit_test(rates_become_the_fractions_meant),
        cmocka_unit_test(defaults_are_those_documented),
        cmocka_unit_test(pattern_delivers_what_pattern_draw_draws),
        cmocka_unit_test(pattern_draws_into_memory_that_is_shared),
        cmocka_unit_test(unpaced_scenes_repeat),
        cmocka_unit_test(ticks_keep_their_distance),
        cmocka_unit_test(late_takers_see_gaps),
        cmocka_unit_test(a_restart_begins_anew),
    };
    return cmocka_run_group_tests_name("capture", tests, NULL, NULL);
}
