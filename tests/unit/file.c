/* Replaying files: whole, looped, damaged, changed under our feet. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/dequeue.h"

#include "capture/capture.h"
#include "core/clock.h"
#include "core/format.h"

#define WIDTH       8u
#define HEIGHT      4u
#define FRAME_BYTES (WIDTH * HEIGHT * 3 / 2)

struct fixture {
    char directory[64];
    char path[96];
    char uri[112];
};

static int make_directory(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    strcpy(fixture->directory, "/tmp/fftd-file-XXXXXX");
    assert_non_null(mkdtemp(fixture->directory));
    snprintf(fixture->path, sizeof fixture->path, "%s/clip", fixture->directory);
    snprintf(fixture->uri, sizeof fixture->uri, "file:%s", fixture->path);
    *state = fixture;
    return 0;
}

static int remove_directory(void **state)
{
    struct fixture *fixture = *state;
    unlink(fixture->path);
    int r = rmdir(fixture->directory);
    free(fixture);
    return r;
}

static void write_bytes(const struct fixture *fixture, const char *bytes, size_t count)
{
    FILE *file = fopen(fixture->path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* Frame n holds nothing but n; `frame` is the line before each, or empty. Returns the size. */
static size_t write_clip(const struct fixture *fixture, const char *header, const char *frame,
                         unsigned frames)
{
    char bytes[4096];
    size_t count = strlen(header);
    memcpy(bytes, header, count);
    for (unsigned n = 0; n < frames; n++) {
        memcpy(bytes + count, frame, strlen(frame));
        count += strlen(frame);
        memset(bytes + count, (int)n, FRAME_BYTES);
        count += FRAME_BYTES;
    }
    write_bytes(fixture, bytes, count);
    return count;
}

static struct capture *open_clip(const struct fixture *fixture, struct capture_request request)
{
    struct capture *capture = NULL;
    struct error why = {""};
    snprintf(request.uri, sizeof request.uri, "%s", fixture->uri);
    if (capture_open(&capture, &request, &why) < 0)
        fail_msg("%s", why.text);
    assert_int_equal(capture_start(capture, MEMORY_COPIED, NULL, NULL), 0);
    return capture;
}

static void assert_frame(struct capture *capture, uint64_t sequence, unsigned content)
{
    struct capture_frame frame;
    struct error why = {""};
    if (dequeue_wait(capture, &frame, &why) < 0)
        fail_msg("frame %u: %s", content, why.text);
    assert_true(frame.sequence == sequence);
    for (unsigned p = 0; p < 3; p++) {
        const struct fftd_plane *plane = &capture->format.plane[p];
        assert_int_equal(frame.stride[p], plane->stride);
        for (uint32_t i = 0; i < plane->stride * plane->rows; i++)
            assert_int_equal(frame.plane[p][i], content);
    }
    capture_release(capture, &frame);
}

/* The next frame of a looped clip of `frames` frames at 500 fps: whatever its sequence, at least
 * `least`, it has the time and the contents of that tick, where tick 0 has frame `first`. Returns
 * the sequence. */
static uint64_t assert_tick(struct capture *capture, uint64_t least, uint64_t first,
                            unsigned frames)
{
    static int64_t start_ns;
    struct capture_frame frame;
    struct error why = {""};
    if (dequeue_wait(capture, &frame, &why) < 0)
        fail_msg("%s", why.text);
    if (least == 0)
        start_ns = frame.captured_ns - (int64_t)frame.sequence * 2000000;
    assert_true(frame.sequence >= least);
    assert_int_equal(frame.captured_ns, start_ns + (int64_t)frame.sequence * 2000000);
    assert_int_equal(frame.plane[0][0], (first + frame.sequence) % frames);
    capture_release(capture, &frame);
    return frame.sequence;
}

static void assert_refused(const struct fixture *fixture, struct capture_request request,
                           int expected, const char *reason)
{
    struct capture *capture = NULL;
    struct error why = {""};
    snprintf(request.uri, sizeof request.uri, "%s", fixture->uri);
    int r = capture_open(&capture, &request, &why);
    if (r != expected || strstr(why.text, reason) == NULL)
        fail_msg("%d \"%s\", expected %d and \"%s\"", r, why.text, expected, reason);
    assert_null(capture);
}

static void y4m_is_replayed_whole(void **state)
{
    const struct fixture *fixture = *state;
    write_clip(fixture, "YUV4MPEG2 W8 H4 F25:1 C420jpeg\n", "FRAME Ixyz\n", 5);
    struct capture *capture = open_clip(fixture, (struct capture_request){.rate = 500});
    assert_string_equal(capture->description, "Y4M file of 5 frames, YUV420 8x4 at 500 fps");
    for (unsigned n = 0; n < 5; n++) {
        poll(NULL, 0, n == 2 ? 10 : 0); /* being late loses nothing */
        assert_frame(capture, n, n);
    }
    for (unsigned again = 0; again < 2; again++) {
        struct capture_frame frame;
        struct error why = {""};
        assert_int_equal(dequeue_wait(capture, &frame, &why), -ENODATA);
        assert_string_equal(why.text, "the file has ended after 5 frames");
    }
    capture_stop(capture);
    assert_int_equal(capture_start(capture, MEMORY_COPIED, NULL, NULL), 0);
    assert_frame(capture, 0, 0);
    capture_close(capture);
}

static void rate_is_the_file_s_unless_asked(void **state)
{
    const struct fixture *fixture = *state;
    write_clip(fixture, "YUV4MPEG2 W8 H4 F24000:1001\n", "FRAME\n", 1);
    struct capture *capture = open_clip(fixture, (struct capture_request){0});
    assert_int_equal(capture->format.rate_num, 24000);
    assert_int_equal(capture->format.rate_den, 1001);
    capture_close(capture);
    write_clip(fixture, "YUV4MPEG2 W8 H4\n", "FRAME\n", 1);
    capture = open_clip(fixture, (struct capture_request){0});
    assert_int_equal(capture->format.rate_num, 30);
    capture_close(capture);
}

/* Its memory may have to be replaced, and no frame must be lost or repeated then. */
static void stopped_files_continue(void **state)
{
    const struct fixture *fixture = *state;
    write_clip(fixture, "YUV4MPEG2 W8 H4 F500:1\n", "FRAME\n", 3);
    struct capture *capture = open_clip(fixture, (struct capture_request){.loop = true});
    uint64_t next = assert_tick(capture, 0, 0, 3) + 1;
    next = assert_tick(capture, next, 0, 3) + 1;
    for (unsigned n = 0; n < 3; n++) {
        capture_stop(capture);
        assert_int_equal(capture_start(capture, MEMORY_COPIED, NULL, NULL), 0);
        next += assert_tick(capture, 0, next, 3) + 1;
    }
    capture_close(capture);
}

/* ---- frames in a device's memory ---- */

static uint8_t *shared[FRAME_MEMORY_MAX];

static int share(struct frame_memory *memory, unsigned index, size_t bytes, struct error *why)
{
    (void)memory, (void)why;
    shared[index] = malloc(bytes);
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

/* Where the device reads rows as they are in the file, frames are read to where it reads them. */
static void files_are_read_into_memory_that_is_shared(void **state)
{
    static const struct frame_memory_ops ops = {.share = share, .address = address, .clear = clear};
    const struct fixture *fixture = *state;
    struct frame_memory memory = {.ops = &ops, .plane_count = 1, .held = 1};
    struct error why = {""};
    write_clip(fixture, "YUV4MPEG2 W8 H4 F500:1\n", "FRAME\n", 5);
    struct capture *capture = open_clip(fixture, (struct capture_request){.buffers = 2});
    assert_frame(capture, 0, 0);
    capture_stop(capture);
    assert_int_equal(format_layout(&memory.layout, capture->format.fourcc, WIDTH, HEIGHT, 64, NULL),
                     0);
    assert_int_equal(capture_start(capture, MEMORY_SHARED, &memory, &why), -EOPNOTSUPP);
    assert_non_null(strstr(why.text, "rows of plane 0 are 8 bytes apart"));
    memory.layout = capture->format;
    assert_int_equal(capture_start(capture, MEMORY_IMPORTED, &memory, &why), -EOPNOTSUPP);
    assert_int_equal(capture_start(capture, MEMORY_SHARED, &memory, &why), 0);
    for (unsigned n = 0; n < 3; n++) { /* two of its own, and the one that the device holds */
        struct capture_frame frame;
        assert_int_equal(dequeue_wait(capture, &frame, &why), 0);
        assert_ptr_equal(frame.plane[0], shared[frame.memory]);
        assert_int_equal(frame.plane[0][0], 1 + n);
    }
    poll(NULL, 0, 10);
    assert_int_equal(capture_dequeue(capture, &(struct capture_frame){0}, NULL), -EAGAIN);
    capture_stop(capture);
    assert_null(shared[0]);
    assert_int_equal(capture_start(capture, MEMORY_COPIED, NULL, NULL), 0);
    assert_frame(capture, 0, 4);
    capture_close(capture);
}

static void raw_needs_size_and_format(void **state)
{
    const struct fixture *fixture = *state;
    const uint32_t fourcc = format_by_name("YUV420")->fourcc;
    write_clip(fixture, "", "", 3);
    assert_refused(fixture, (struct capture_request){0}, -EINVAL,
                   "set camera.size and camera.format");
    assert_refused(fixture, (struct capture_request){.fourcc = fourcc}, -EINVAL,
                   "set camera.size and camera.format");
    struct capture *capture = open_clip(
        fixture,
        (struct capture_request){.width = WIDTH, .height = HEIGHT, .fourcc = fourcc, .rate = 500});
    for (unsigned n = 0; n < 3; n++)
        assert_frame(capture, n, n);
    capture_close(capture);
    assert_refused(fixture, (struct capture_request){.width = WIDTH, .height = 5, .fourcc = fourcc},
                   -EINVAL, "frame 2 at byte 128 is truncated: 16 bytes of 64");
}

/* A file takes no room on the disk for its holes, so that anyone can make one of this size. */
static void holes_cost_nothing_at_open(void **state)
{
    const struct fixture *fixture = *state;
    const struct capture_request request = {
        .width = 16, .height = 16, .fourcc = format_by_name("GREY")->fourcc, .rate = 500};
    const off_t bytes = 8ll << 40;
    write_bytes(fixture, "\1", 1);
    if (truncate(fixture->path, bytes) < 0) {
        printf("skipped: no file of 8 TiB in /tmp: %s\n", strerror(errno));
        skip();
    }
    const clock_t before = clock();
    struct capture *capture = open_clip(fixture, request);
    assert_true(clock() - before < 2 * CLOCKS_PER_SEC); /* of processor time */
    assert_string_equal(capture->description,
                        "raw file of 34359738368 frames, GREY 16x16 at 500 fps");
    capture_close(capture);
    assert_int_equal(truncate(fixture->path, bytes + 3), 0);
    assert_refused(fixture, request, -EINVAL,
                   "frame 34359738368 at byte 8796093022208 is truncated: 3 bytes of 256");
}

static void loop_goes_on(void **state)
{
    const struct fixture *fixture = *state;
    write_clip(fixture, "YUV4MPEG2 W8 H4 F500:1\n", "FRAME\n", 3);
    struct capture *capture = open_clip(fixture, (struct capture_request){.loop = true});
    for (uint64_t next = 0; next < 8;)
        next = assert_tick(capture, next, 0, 3) + 1;
    capture_close(capture);
}

/* Like a camera, it does not wait for a program that is late. */
static void late_frames_of_a_loop_are_skipped(void **state)
{
    const struct fixture *fixture = *state;
    write_clip(fixture, "YUV4MPEG2 W8 H4 F500:1\n", "FRAME\n", 7);
    struct capture *capture = open_clip(fixture, (struct capture_request){.loop = true});
    const uint64_t first = assert_tick(capture, 0, 0, 7);
    poll(NULL, 0, 30); /* 15 ticks: more than twice the clip */
    const uint64_t second = assert_tick(capture, first + 15, 0, 7);
    assert_tick(capture, second + 1, 0, 7);
    capture_close(capture);
}

/* With every buffer lent the file waits. */
static void lent_buffers_hold_the_file(void **state)
{
    const struct fixture *fixture = *state;
    write_clip(fixture, "YUV4MPEG2 W8 H4 F500:1\n", "FRAME\n", 3);
    struct capture *capture = open_clip(fixture, (struct capture_request){.buffers = 2});
    struct capture_frame frame[2], none;
    assert_int_equal(dequeue_wait(capture, &frame[0], NULL), 0);
    assert_int_equal(dequeue_wait(capture, &frame[1], NULL), 0);
    assert_int_equal(frame[1].plane[0][0], 1);
    poll(NULL, 0, 10);
    assert_int_equal(capture_dequeue(capture, &none, NULL), -EAGAIN);
    assert_int_equal(frame[0].plane[0][0], 0);
    capture_release(capture, &frame[0]);
    assert_frame(capture, 2, 2);
    capture_close(capture);
}

/* Unpaced, every frame comes as soon as there is a buffer for it, and no sooner. */
static void unpaced_files_wait_for_buffers(void **state)
{
    const struct fixture *fixture = *state;
    write_clip(fixture, "YUV4MPEG2 W8 H4 F1:10\n", "FRAME\n", 7);
    struct capture *capture =
        open_clip(fixture, (struct capture_request){.buffers = 2, .rate = INFINITY});
    assert_string_equal(capture->description, "Y4M file of 7 frames, YUV420 8x4, unpaced");
    assert_int_equal(capture->format.rate_num, 0);
    for (unsigned n = 0; n < 7; n++)
        assert_frame(capture, n, n); /* at the file's rate, 10 s each */
    capture_stop(capture);
    assert_int_equal(capture_start(capture, MEMORY_COPIED, NULL, NULL), 0);

    struct pollfd fd = {.fd = capture->fd, .events = POLLIN};
    struct capture_frame frame[2], none;
    assert_int_equal(dequeue_wait(capture, &frame[0], NULL), 0);
    const int64_t before_ns = clock_now_ns();
    assert_int_equal(dequeue_wait(capture, &frame[1], NULL), 0);
    assert_in_range(frame[1].captured_ns, before_ns, frame[1].dequeued_ns);
    assert_int_equal(frame[1].recorded_ns - frame[0].recorded_ns, 10 * NS_PER_S);
    assert_int_equal(poll(&fd, 1, 0), 0);
    assert_int_equal(capture_dequeue(capture, &none, NULL), -EAGAIN);
    capture_release(capture, &frame[0]);
    for (unsigned n = 2; n < 7; n++)
        assert_frame(capture, n, n);
    assert_int_equal(dequeue_wait(capture, &none, NULL), -ENODATA);
    capture_close(capture);
}

static void damaged_files_are_refused(void **state)
{
    const struct fixture *fixture = *state;
    const char *header = "YUV4MPEG2 W8 H4 F25:1\n";
    size_t size = write_clip(fixture, header, "FRAME\n", 3);
    assert_int_equal(truncate(fixture->path, (off_t)size - 1), 0);
    assert_refused(fixture, (struct capture_request){0}, -EINVAL,
                   "frame 2 at byte 130 is truncated: 47 bytes of 48");
    assert_int_equal(truncate(fixture->path, (off_t)size - FRAME_BYTES - 2), 0);
    assert_refused(fixture, (struct capture_request){0}, -EINVAL, "frame 2 at byte 130: expected");

    write_clip(fixture, header, "FRAME\n", 3);
    int fd = open(fixture->path, O_WRONLY);
    assert_int_equal(pwrite(fd, "f", 1, 76), 1);
    close(fd);
    assert_refused(fixture, (struct capture_request){0}, -EINVAL, "frame 1 at byte 76");

    write_clip(fixture, header, "", 0);
    assert_refused(fixture, (struct capture_request){0}, -EINVAL, "contains no frame");
    write_clip(fixture, "YUV4MPEG2 W8 H4 C444\n", "FRAME\n", 1);
    assert_refused(fixture, (struct capture_request){0}, -EOPNOTSUPP, "444");
    write_bytes(fixture, "", 0);
    assert_refused(fixture, (struct capture_request){0}, -EINVAL, "not a Y4M file");
}

static void what_is_not_the_file_s_is_refused(void **state)
{
    const struct fixture *fixture = *state;
    write_clip(fixture, "YUV4MPEG2 W8 H4 F25:1\n", "FRAME\n", 1);
    assert_refused(fixture, (struct capture_request){.width = 8, .height = 8}, -EINVAL,
                   "size 8x8 was requested, but the file is YUV420 8x4");
    assert_refused(fixture, (struct capture_request){.fourcc = format_by_name("GREY")->fourcc},
                   -EINVAL, "format GREY was requested, but the file is YUV420 8x4");
    struct capture *capture = open_clip(
        fixture, (struct capture_request){
                     .width = 8, .height = 4, .fourcc = format_by_name("YUV420")->fourcc});
    capture_close(capture);
}

/* Root may read every file, so it becomes a user who may not even enter this one's folder. */
static void a_forbidden_file_names_the_way_out(void **state)
{
    const struct fixture *fixture = *state;
    const bool is_root = geteuid() == 0;
    write_bytes(fixture, "", 0);
    assert_int_equal(chmod(fixture->path, 0), 0);
    assert_true(!is_root || seteuid(65534) == 0);
    assert_refused(fixture, (struct capture_request){0}, -EACCES, "/srv");
    assert_true(!is_root || seteuid(0) == 0);
}

/* systemd gives the service a /tmp of its own, in which a user's file does not exist. */
static void a_file_missing_in_tmp_names_the_way_out(void **state)
{
    const struct fixture *fixture = *state;
    unlink(fixture->path);
    assert_refused(fixture, (struct capture_request){0}, -ENOENT, "/srv");
    struct fixture elsewhere = {.uri = "file:/nowhere/clip"};
    assert_refused(&elsewhere, (struct capture_request){0}, -ENOENT,
                   "file:/nowhere/clip: No such file or directory");
}

static void only_regular_files_are_taken(void **state)
{
    const struct fixture *fixture = *state;
    unlink(fixture->path);
    assert_refused(fixture, (struct capture_request){0}, -ENOENT, fixture->path);
    assert_int_equal(mkfifo(fixture->path, 0600), 0);
    assert_refused(fixture, (struct capture_request){0}, -EINVAL, "regular");
    unlink(fixture->path);
    assert_int_equal(mkdir(fixture->path, 0700), 0);
    assert_refused(fixture, (struct capture_request){0}, -EINVAL, "regular");
    assert_int_equal(rmdir(fixture->path), 0);
}

static void a_file_that_shrinks_is_an_error(void **state)
{
    const struct fixture *fixture = *state;
    size_t size = write_clip(fixture, "YUV4MPEG2 W8 H4 F500:1\n", "FRAME\n", 2);
    struct capture *capture = open_clip(fixture, (struct capture_request){0});
    assert_frame(capture, 0, 0);
    assert_int_equal(truncate(fixture->path, (off_t)size - 1), 0);
    struct capture_frame frame;
    struct error why = {""};
    assert_int_equal(dequeue_wait(capture, &frame, &why), -EIO);
    assert_string_equal(why.text, "the file has changed: frame 1 is truncated");
    capture_close(capture);
}

#define CLIP_TEST(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLIP_TEST(y4m_is_replayed_whole),
        CLIP_TEST(rate_is_the_file_s_unless_asked),
        CLIP_TEST(stopped_files_continue),
        CLIP_TEST(files_are_read_into_memory_that_is_shared),
        CLIP_TEST(raw_needs_size_and_format),
        CLIP_TEST(holes_cost_nothing_at_open),
        CLIP_TEST(loop_goes_on),
        CLIP_TEST(late_frames_of_a_loop_are_skipped),
        CLIP_TEST(lent_buffers_hold_the_file),
        CLIP_TEST(unpaced_files_wait_for_buffers),
        CLIP_TEST(damaged_files_are_refused),
        CLIP_TEST(what_is_not_the_file_s_is_refused),
        CLIP_TEST(a_forbidden_file_names_the_way_out),
        CLIP_TEST(a_file_missing_in_tmp_names_the_way_out),
        CLIP_TEST(only_regular_files_are_taken),
        CLIP_TEST(a_file_that_shrinks_is_an_error),
    };
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
