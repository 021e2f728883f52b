/* The buffers of a V4L2 device (daemon/capture/v4l2_buffers.c), on a driver that does as it is
 * told: who gets which memory, who lets go of it first, and that no failure leaves anything. */
#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/v4l2_buffers.h"
#include "core/text.h"

#define FRAME_BYTES (64 * 48)
#define HELD        2 /* by the device */
#define ASKED       6

/* ---- a driver and a device ---- */

static struct {
    /* What they do next. */
    unsigned grants;     /* buffers, at most */
    size_t buffer_bytes; /* of the driver's own */
    int dequeue_result;
    unsigned dequeue_index;
    unsigned fail_at; /* the call that fails with -EIO, counted from 1; 0: none does */
    /* What was done to them. */
    unsigned calls;
    unsigned buffers, queued, maps, frames;
    char left[32]; /* in which order what there was went: "frames maps buffers" */
    uint8_t memory[32][FRAME_BYTES];
} world;

static bool fails(void)
{
    return ++world.calls == world.fail_at;
}

static void leave(const char *what)
{
    if (strstr(world.left, what) == NULL)
        text_append(world.left, sizeof world.left, "%s%s", world.left[0] != '\0' ? " " : "", what);
}

static void give(struct v4l2_requestbuffers *request)
{
    if (request->count == 0 && world.buffers > 0)
        leave("buffers");
    world.queued = 0;
    if (request->count > world.grants)
        request->count = world.grants;
    world.buffers = request->count;
}

static int export(struct v4l2_exportbuffer *export)
{
    assert_true(export->index < world.buffers);
    export->fd = memfd_create("dma-buf", MFD_CLOEXEC);
    assert_true(export->fd >= 0);
    return 0;
}

static int dequeue(struct v4l2_buffer *buffer)
{
    buffer->index = world.dequeue_index;
    return world.dequeue_result;
}

int video_ioctl(const struct video_device *device, unsigned long request, void *argument)
{
    (void)device;
    struct v4l2_buffer *buffer = argument;
    const struct v4l2_requestbuffers *wanted = argument;
    if (request == VIDIOC_DQBUF)
        return dequeue(buffer);
    if ((request != VIDIOC_REQBUFS || wanted->count > 0) && fails())
        return -EIO;
    switch (request) {
    case VIDIOC_REQBUFS:
        give(argument);
        return 0;
    case VIDIOC_QUERYBUF:
        buffer->length = (uint32_t)world.buffer_bytes;
        return 0;
    case VIDIOC_EXPBUF:
        return export(argument);
    case VIDIOC_QBUF:
        if (buffer->memory == V4L2_MEMORY_USERPTR)
            assert_ptr_equal((void *)buffer->m.userptr, world.memory[buffer->index]);
        world.queued++;
        return 0;
    default:
        fail_msg("an ioctl of another kind: %lx", request);
        return -ENOTTY;
    }
}

const uint8_t *video_map(const struct video_device *device, size_t length, uint32_t offset)
{
    (void)device, (void)length, (void)offset;
    if (fails()) {
        errno = EIO;
        return NULL;
    }
    return world.memory[world.maps++];
}

void video_unmap(const struct video_device *device, const uint8_t *start, size_t length)
{
    (void)device, (void)start, (void)length;
    leave("maps");
    world.maps--;
}

static int share(struct frame_memory *memory, unsigned index, size_t bytes, struct error *why)
{
    (void)memory, (void)index;
    assert_true(bytes >= FRAME_BYTES);
    if (fails())
        return error_set(why, EIO, "no memory is shared");
    world.frames++;
    return 0;
}

static int import(struct frame_memory *memory, unsigned index, int fd, size_t bytes,
                  struct error *why)
{
    (void)memory, (void)index, (void)bytes;
    assert_true(fcntl(fd, F_GETFD) >= 0);
    if (fails())
        return error_set(why, EIO, "no dma-buf is taken");
    world.frames++;
    return 0;
}

static uint8_t *address(const struct frame_memory *memory, unsigned index)
{
    (void)memory;
    return world.memory[index];
}

static void clear(struct frame_memory *memory)
{
    (void)memory;
    if (world.frames > 0)
        leave("frames");
    world.frames = 0;
}

/* ---- tests ---- */

static const struct frame_memory_ops ops = {
    .share = share, .import = import, .address = address, .clear = clear};
static struct frame_memory memory;
static struct video_layout layout;
static struct video_buffers buffers;

static int setup(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    world.grants = ASKED;
    world.buffer_bytes = FRAME_BYTES;
    memory = (struct frame_memory){.ops = &ops, .plane_count = 1, .can_import = true, .held = HELD};
    memory.layout.plane[0].stride = 64;
    layout = (struct video_layout){.stride = {64},
                                   .memory_count = 1,
                                   .memory_bytes = {FRAME_BYTES},
                                   .buffer_bytes = {FRAME_BYTES}};
    buffers = (struct video_buffers){.layout = &layout};
    return 0;
}

/* The lowest descriptor that is free. */
static int next_descriptor(void)
{
    int fd = dup(STDOUT_FILENO);
    close(fd);
    return fd;
}

static int make(enum memory_mode mode, struct error *why)
{
    int r =
        video_buffers_request(&buffers, ASKED, mode, mode != MEMORY_COPIED ? &memory : NULL, why);
    return r < 0 ? r : video_buffers_make(&buffers, why);
}

static void assert_nothing_is_left(void)
{
    assert_int_equal(world.buffers, 0);
    assert_int_equal(world.maps, 0);
    assert_int_equal(world.frames, 0);
    assert_int_equal(buffers.count, 0);
}

/* Whoever has borrowed a frame's memory lets go of it before its owner does. */
static void test_borrowers_go_first(void **state)
{
    (void)state;
    static const struct {
        enum memory_mode memory_mode;
        unsigned maps, frames;
        const char *left;
    } cases[] = {
        {MEMORY_COPIED, ASKED, 0, "maps buffers"},
        {MEMORY_SHARED, 0, ASKED, "buffers frames"},
        {MEMORY_IMPORTED, ASKED, ASKED, "frames maps buffers"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        world.left[0] = '\0';
        assert_int_equal(make(cases[i].memory_mode, NULL), 0);
        assert_int_equal(world.queued, ASKED);
        assert_int_equal(world.maps, cases[i].maps);
        assert_int_equal(world.frames, cases[i].frames);
        video_buffers_free(&buffers);
        assert_nothing_is_left();
        assert_string_equal(world.left, cases[i].left);
    }
}

/* With no more buffers than the device may keep, a driver would have none to go on with. */
static void test_too_few_buffers_are_refused(void **state)
{
    (void)state;
    static const struct {
        enum memory_mode memory_mode;
        unsigned least;
    } cases[] = {{MEMORY_COPIED, 2}, {MEMORY_SHARED, 2 + HELD}, {MEMORY_IMPORTED, 2 + HELD}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error why;
        char expected[64];
        world.grants = cases[i].least;
        assert_int_equal(make(cases[i].memory_mode, &why), 0);
        assert_int_equal(buffers.count, cases[i].least);
        video_buffers_free(&buffers);
        world.grants--;
        assert_int_equal(make(cases[i].memory_mode, &why), -ENOMEM);
        snprintf(expected, sizeof expected, "the driver allocated %u buffers, but %u are needed",
                 cases[i].least - 1, cases[i].least);
        assert_string_equal(why.text, expected);
        video_buffers_free(&buffers);
        assert_nothing_is_left();
    }
}

static void test_buffers_shorter_than_a_frame_are_refused(void **state)
{
    (void)state;
    struct error why;
    world.buffer_bytes = FRAME_BYTES - 1;
    assert_int_equal(make(MEMORY_COPIED, &why), -EIO);
    assert_string_equal(why.text, "the driver's buffers have 3071 bytes, but a frame needs 3072");
    video_buffers_free(&buffers);
    assert_nothing_is_left();
}

/* Each call fails in turn, until none is left to fail. */
static void test_no_failure_leaves_anything(void **state)
{
    (void)state;
    const int descriptor = next_descriptor();
    for (enum memory_mode mode = MEMORY_COPIED; mode <= MEMORY_IMPORTED; mode++) {
        int r = -EIO;
        for (unsigned at = 1; r < 0; at++) {
            struct error why = {""};
            world.calls = 0;
            world.fail_at = at;
            r = make(mode, &why);
            assert_int_equal(r, world.calls < at ? 0 : -EIO);
            assert_int_equal(why.text[0] == '\0', r == 0);
            video_buffers_free(&buffers);
            assert_nothing_is_left();
            assert_int_equal(next_descriptor(), descriptor);
        }
    }
}

static void test_what_can_not_be_dequeued(void **state)
{
    (void)state;
    static const struct {
        int result;
        unsigned index;
        int expected;
        const char *text;
    } cases[] = {
        {0, ASKED - 1, 0, ""},
        {-EAGAIN, 0, -EAGAIN, ""},
        {-ENODEV, 0, -ENODEV, "the device was removed"},
        {-EIO, 0, -EIO, "VIDIOC_DQBUF: Input/output error"},
        {-EPIPE, 0, -EIO, "VIDIOC_DQBUF: Broken pipe"},
        {-EINVAL, 0, -EIO, "VIDIOC_DQBUF: Invalid argument"},
        {0, ASKED, -EIO, "the driver returned buffer 6 of 6"},
    };
    assert_int_equal(make(MEMORY_COPIED, NULL), 0);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct video_exchange exchange;
        struct error why = {""};
        world.dequeue_result = cases[i].result;
        world.dequeue_index = cases[i].index;
        assert_int_equal(video_buffers_dequeue(&buffers, &exchange, &why), cases[i].expected);
        assert_string_equal(why.text, cases[i].text);
    }
    video_buffers_free(&buffers);
}

/* What the device would not find where it looks is not even asked of the driver. */
static void test_frames_that_lie_otherwise_are_refused(void **state)
{
    (void)state;
    struct error why;
    layout.stride[0] = 128;
    assert_int_equal(make(MEMORY_SHARED, &why), -EOPNOTSUPP);
    layout.stride[0] = 64;
    layout.memory[0] = 1;
    layout.memory_count = 2;
    assert_int_equal(make(MEMORY_IMPORTED, &why), -EOPNOTSUPP);
    assert_string_equal(why.text, "plane 0 is in a separate buffer");
    assert_int_equal(world.calls, 0);
    video_buffers_free(&buffers);
    assert_nothing_is_left();
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup(function, setup)
    const struct CMUnitTest tests[] = {
        TEST(test_borrowers_go_first),
        TEST(test_too_few_buffers_are_refused),
        TEST(test_buffers_shorter_than_a_frame_are_refused),
        TEST(test_no_failure_leaves_anything),
        TEST(test_what_can_not_be_dequeued),
        TEST(test_frames_that_lie_otherwise_are_refused),
    };
    return cmocka_run_group_tests_name("v4l2_buffers", tests, NULL, NULL);
}
