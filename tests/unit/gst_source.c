/* gst: sources whose helper does not keep the rules. The helper is this program: what the URI names
 * after gst: is what it does wrong. tests/integration/test_gst_source.py has the real one. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/dequeue.h"

#include "capture/capture.h"
#include "core/clock.h"
#include "core/gst_link.h"

#define SIDE        32u
#define FRAME_BYTES (SIDE * SIDE)
#define GREY        FFTD_FOURCC('R', '8', ' ', ' ')

/* ---- the helper ---- */

static void tell(struct gst_link_message message)
{
    message.magic = GST_LINK_MAGIC;
    if (send(GST_LINK_FD, &message, sizeof message, MSG_NOSIGNAL) < 0)
        _exit(1);
}

static void tell_frame(uint32_t start, uint32_t index, uint64_t sequence)
{
    tell((struct gst_link_message){.kind = LINK_FRAME,
                                   .start = start,
                                   .index = index,
                                   .sequence = sequence,
                                   .captured_ns = clock_now_ns() + (sequence == 0 ? NS_PER_S : 0)});
}

static struct gst_link_message hear(int *ret_fd)
{
    struct gst_link_message message;
    struct iovec part = {.iov_base = &message, .iov_len = sizeof message};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr packet = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes};
    if (recvmsg(GST_LINK_FD, &packet, 0) <= 0)
        _exit(0);
    if (CMSG_FIRSTHDR(&packet) != NULL)
        memcpy(ret_fd, CMSG_DATA(CMSG_FIRSTHDR(&packet)), sizeof *ret_fd);
    return message;
}

static void misbehave(const char *how, uint32_t start, int fd)
{
    if (strcmp(how, "garbage") == 0)
        send(GST_LINK_FD, how, 7, 0);
    else if (strcmp(how, "long") == 0)
        send(GST_LINK_FD, (char[4096]){0}, 4096, 0);
    else if (strcmp(how, "index") == 0)
        tell_frame(start, 4, 0);
    else if (strcmp(how, "huge-index") == 0)
        tell_frame(start, UINT32_MAX, 0);
    else if (strcmp(how, "twice") == 0)
        tell_frame(start, 1, 0), tell_frame(start, 1, 1);
    else if (strcmp(how, "kind") == 0)
        tell((struct gst_link_message){.kind = 99});
    else if (strcmp(how, "abort") == 0)
        signal(SIGABRT, SIG_DFL), abort();
    else if (strcmp(how, "shrink") == 0 && ftruncate(fd, 0) < 0)
        tell_frame(start, 0, 0);
    else if (strcmp(how, "flood") == 0)
        for (;;)
            tell_frame(start - 1, 0, 0);
    else if (strcmp(how, "unread") == 0) {
        struct pollfd poll_fd = {.fd = GST_LINK_FD, .events = POLLIN};
        tell_frame(start, 0, 5);
        poll(&poll_fd, 1, -1); /* its buffer is given back, which is never read */
        tell_frame(start, 1, 6);
        tell_frame(start, 2, 7);
        tell((struct gst_link_message){.kind = LINK_END, .err = ENODATA, .text = "over"});
        _exit(0);
    } else if (strcmp(how, "end") == 0) {
        tell_frame(start, 2, 7);
        tell((struct gst_link_message){.kind = LINK_END, .err = ENODATA, .text = "over\033[2J"});
        _exit(0);
    }
}

static void be_helper(void)
{
    int fd = -1;
    const struct gst_link_message open = hear(&fd);
    struct gst_link_message format = {
        .kind = LINK_FORMAT,
        .live = strcmp(open.text, "end") != 0 && strcmp(open.text, "unread") != 0,
        .format = {.fourcc = GREY, .width = SIDE, .height = SIDE, .rate_num = 30, .rate_den = 1}};
    if (strcmp(open.text, "exits") == 0)
        _exit(3);
    if (strcmp(open.text, "unknown-format") == 0)
        format.format.fourcc = 0x31313131;
    if (strcmp(open.text, "large") == 0)
        format.format.width = UINT32_MAX;
    if (strcmp(open.text, "no-rate") == 0)
        format.format.rate_den = 0;
    if (strcmp(open.text, "skips") != 0)
        tell((struct gst_link_message){.kind = LINK_LOADED});
    if (strcmp(open.text, "again") == 0)
        tell((struct gst_link_message){.kind = LINK_END, .err = EAGAIN, .text = "not yet"});
    if (strcmp(open.text, "tells user-pw=ge%40heim rtsp://admin:other@h/") == 0)
        tell((struct gst_link_message){.kind = LINK_END,
                                       .err = ENOENT,
                                       .text = "ge@heim of admin at http://admin:other@h/?a"});
    if (strcmp(open.text, "mute") != 0)
        tell(format);
    for (;;) {
        struct gst_link_message message = hear(&fd);
        if (message.kind == LINK_START)
            misbehave(open.text, message.start, fd);
    }
}

/* ---- the tests ---- */

static int try_open(const char *uri, struct capture **ret, struct error *why)
{
    struct capture *capture;
    struct capture_request request = {.width = 0};
    snprintf(request.uri, sizeof request.uri, "%s", uri);
    int r = capture_open(&capture, &request, why);
    if (r < 0)
        return r;
    do {
        struct pollfd poll_fd = {.fd = capture->fd, .events = POLLIN};
        assert_int_equal(poll(&poll_fd, 1, 60000), 1);
        r = capture_open_more(capture, why);
    } while (r == -EAGAIN);
    if (r < 0)
        capture_close(capture);
    else
        *ret = capture;
    return r;
}

static struct capture *start_source(const char *uri)
{
    struct capture *capture = NULL;
    struct error why = {""};
    if (try_open(uri, &capture, &why) < 0 || capture_start(capture, MEMORY_COPIED, NULL, &why) < 0)
        fail_msg("%s: %s", uri, why.text);
    return capture;
}

/* No process of this one is left, dead or alive, a moment after it was closed. */
static void assert_no_children(void)
{
    siginfo_t child;
    for (unsigned i = 0; i < 5000; i++) {
        if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) < 0)
            return;
        usleep(1000);
    }
    fail_msg("a helper is left");
}

static void openings_that_fail(void **state)
{
    (void)state;
    static const struct {
        const char *uri, *text;
    } cases[] = {
        {"gst:exits", "gst:exits: its process has exited with 3"},
        {"gst:unknown-format", "gst:unknown-format: "},
        {"gst:large", "4294967295"},
        {"gst:again", "gst:again: not yet"}, /* its end is no reason to go on */
        {"gst:skips", "has sent message 3, expected 2"},
        {"gst:tells user-pw=ge%40heim rtsp://admin:other@h/",
         "gst:tells user-pw=*** rtsp://***@h/: *** of *** at http://***@h/?***"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct capture *capture = (struct capture *)8;
        struct error why = {""};
        assert_true(try_open(cases[i].uri, &capture, &why) < 0);
        assert_ptr_equal(capture, (struct capture *)8);
        if (strstr(why.text, cases[i].text) == NULL)
            fail_msg("\"%s\", expected \"%s\"", why.text, cases[i].text);
    }
    assert_no_children();
}

static void one_that_says_nothing_is_not_waited_for(void **state)
{
    (void)state;
    struct capture *capture = NULL;
    struct error why = {""};
    const int64_t begin_ns = clock_now_ns();
    assert_int_equal(capture_open(&capture, &(struct capture_request){.uri = "gst:mute"}, &why), 0);
    assert_true(capture->opening_until_ns > begin_ns + 50 * NS_PER_S); /* to load plugins */
    struct pollfd poll_fd = {.fd = capture->fd, .events = POLLIN};
    assert_int_equal(poll(&poll_fd, 1, 60000), 1);
    assert_int_equal(capture_open_more(capture, &why), -EAGAIN);
    assert_true(capture->opening_until_ns < clock_now_ns() + 11 * NS_PER_S); /* for a frame */
    assert_int_equal(poll(&poll_fd, 1, 0), 0);
    assert_int_equal(capture_open_more(capture, &why), -EAGAIN);
    capture->opening_until_ns = clock_now_ns();
    assert_int_equal(capture_open_more(capture, &why), -ENODEV);
    assert_string_equal(why.text, "gst:mute: no frame came within 10 s");
    assert_true(clock_now_ns() - begin_ns < 9 * NS_PER_S); /* it did not wait for these 10 s */
    capture_close(capture);
    assert_no_children();
}

static void what_breaks_a_rule_is_a_lost_camera(void **state)
{
    (void)state;
    static const struct {
        const char *uri, *text;
    } cases[] = {
        {"gst:garbage", "has sent 7 bytes that are no message"},
        {"gst:long", "has sent 4096 bytes that are no message"},
        {"gst:index", "buffer 4 of 4"},
        {"gst:huge-index", "buffer 4294967295 of 4"},
        {"gst:kind", "has sent message 99"},
        {"gst:abort", "was killed by signal 6"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct capture *capture = start_source(cases[i].uri);
        struct capture_frame frame;
        struct error why = {""};
        assert_int_equal(dequeue_wait(capture, &frame, &why), -ENODEV);
        if (strstr(why.text, "the GStreamer pipeline ended: ") != why.text ||
            strstr(why.text, cases[i].text) == NULL)
            fail_msg("%s: \"%s\", expected \"%s\"", cases[i].uri, why.text, cases[i].text);
        assert_int_equal(capture_dequeue(capture, &frame, &why), -ENODEV);
        capture_stop(capture);
        capture_close(capture);
    }
    assert_no_children();
}

static void a_buffer_is_not_lent_twice(void **state)
{
    (void)state;
    struct capture *capture = start_source("gst:twice");
    struct capture_frame frame;
    struct error why = {""};
    assert_int_equal(dequeue_wait(capture, &frame, &why), 0);
    assert_int_equal(frame.plane[0][FRAME_BYTES - 1], 0);
    assert_int_equal(dequeue_wait(capture, &frame, &why), -ENODEV);
    assert_non_null(strstr(why.text, "buffer 1 of 4, which it does not have"));
    capture_close(capture);
    assert_no_children();
}

/* Waits until the helper has closed its end, without reading what it has sent. */
static void wait_for_end(const struct capture *capture)
{
    struct pollfd poll_fd = {.fd = capture->fd, .events = POLLRDHUP};
    assert_int_equal(poll(&poll_fd, 1, 60000), 1);
}

/* The last frame comes before the end, and is given back to a process that has ended. */
static void the_end_comes_after_the_last_frame(void **state)
{
    (void)state;
    struct capture *capture = start_source("gst:end");
    struct capture_frame frame;
    struct error why = {""};
    assert_int_equal(dequeue_wait(capture, &frame, &why), 0);
    assert_int_equal(frame.sequence, 7);
    while (recv(capture->fd, &why, 1, MSG_PEEK) < 0)
        ;
    wait_for_end(capture);
    capture_release(capture, &frame);
    assert_int_equal(dequeue_wait(capture, &frame, &why), -ENODATA);
    assert_string_equal(why.text, "over?[2J");
    capture_close(capture);
    assert_no_children();
}

/* After such an end the kernel reports ECONNRESET once, to whichever call comes next: the one that
 * gives a buffer back, or the one that takes a frame. Neither loses a frame or the reason of the
 * end. */
static void an_end_with_unread_messages_loses_nothing(void **state)
{
    (void)state;
    for (int sends_next = 0; sends_next < 2; sends_next++) {
        struct capture *capture = start_source("gst:unread");
        struct capture_frame frame[3];
        struct error why = {""};
        assert_int_equal(dequeue_wait(capture, &frame[0], &why), 0);
        assert_int_equal(frame[0].sequence, 5);
        capture_release(capture, &frame[0]);
        if (sends_next)
            assert_int_equal(dequeue_wait(capture, &frame[1], &why), 0);
        wait_for_end(capture);
        if (sends_next)
            capture_release(capture, &frame[1]);
        else
            assert_int_equal(dequeue_wait(capture, &frame[1], &why), 0);
        assert_int_equal(frame[1].sequence, 6);
        assert_int_equal(dequeue_wait(capture, &frame[2], &why), 0);
        assert_int_equal(frame[2].sequence, 7);
        assert_int_equal(dequeue_wait(capture, &frame[2], &why), -ENODATA);
        assert_string_equal(why.text, "over");
        capture_close(capture);
    }
    assert_no_children();
}

static void memory_cannot_be_taken_away(void **state)
{
    (void)state;
    struct capture *capture = start_source("gst:shrink");
    struct capture_frame frame;
    struct error why = {""};
    assert_int_equal(dequeue_wait(capture, &frame, &why), 0);
    for (unsigned i = 0; i < FRAME_BYTES; i++)
        assert_int_equal(frame.plane[0][i], 0);
    assert_true(frame.captured_ns <= frame.dequeued_ns); /* it claimed to be of the future */
    assert_int_equal(capture->copied.bytes, FRAME_BYTES);
    capture_close(capture);
}

static void a_flood_does_not_hold_the_thread(void **state)
{
    (void)state;
    struct capture *capture = start_source("gst:flood");
    struct capture_frame frame;
    struct error why = {""};
    struct pollfd poll_fd = {.fd = capture->fd, .events = POLLIN};
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(poll(&poll_fd, 1, 60000), 1);
        assert_int_equal(capture_dequeue(capture, &frame, &why), -EAGAIN);
    }
    capture_close(capture);
    assert_no_children();
}

static void an_unusable_rate_is_unknown(void **state)
{
    (void)state;
    struct capture *capture = start_source("gst:no-rate");
    assert_int_equal(capture->format.rate_num, 0);
    assert_string_equal(capture->description, "live GStreamer pipeline, GREY 32x32");
    struct error why = {""};
    assert_int_equal(capture_start(capture, MEMORY_SHARED, NULL, &why), -EOPNOTSUPP);
    capture_close(capture);
}

/* A thread waits for the end of each killed helper. Valgrind reports the memory of one that still
 * runs when this program ends. */
static int let_threads_end(void **state)
{
    (void)state;
    const struct timespec moment = {.tv_nsec = NS_PER_MS};
    struct stat tasks; /* a folder has 2 links, and 1 for each folder in it */
    for (unsigned tries = 0; tries < 1000; tries++) {
        if (stat("/proc/self/task", &tasks) < 0 || tasks.st_nlink <= 3)
            break;
        nanosleep(&moment, NULL);
    }
    return 0;
}

int main(int argc, char **argv)
{
    char self[4096] = "";
    if (getenv("FAKE_GST_HELPER") != NULL)
        be_helper();
    if (argc < 1 || readlink("/proc/self/exe", self, sizeof self - 1) < 0 ||
        strcmp(basename(self), basename(argv[0])) != 0) {
        puts("skipped: an emulator runs this program, which cannot start itself as the helper");
        return 77;
    }
    setenv("FAKE_GST_HELPER", "1", 1);
    setenv("FFTD_GST_HELPER", self, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(openings_that_fail),
        cmocka_unit_test(one_that_says_nothing_is_not_waited_for),
        cmocka_unit_test(what_breaks_a_rule_is_a_lost_camera),
        cmocka_unit_test(a_buffer_is_not_lent_twice),
        cmocka_unit_test(the_end_comes_after_the_last_frame),
        cmocka_unit_test(an_end_with_unread_messages_loses_nothing),
        cmocka_unit_test(memory_cannot_be_taken_away),
        cmocka_unit_test(a_flood_does_not_hold_the_thread),
        cmocka_unit_test(an_unusable_rate_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, let_threads_end);
}
