/* pattern:SCENE - a computed camera.
 *
 * It must leave the processor to the code under test, so nothing is drawn twice. The still part of
 * a scene is drawn once, at open. Still scenes lend that one frame again and again. Where an object
 * moves, every buffer keeps the frame it last held. Two small copies make the next one: the
 * background is restored where the object was, and the object, also drawn once, is copied to its
 * new position. Only noise is drawn for every frame, eight samples a hash. In memory that a device
 * shares, each buffer has its own frame, in the layout that the device requires.
 *
 * Like a camera it does not wait: a tick that is not taken in time, or that finds every buffer
 * lent, is a lost frame, visible as a gap in the sequence.
 *
 * An unpaced scene measures the reader of its frames, so it draws nothing while it runs: N buffers
 * have the first N frames of the scene, and are lent in turn, again and again. */
#include "capture/capture.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capture/pace.h"
#include "capture/openers.h"
#include "capture/pattern_draw.h"
#include "core/clock.h"

#define DEFAULT_WIDTH  640
#define DEFAULT_HEIGHT 480
#define DEFAULT_RATE   30.0
#define DEFAULT_FOURCC FFTD_FOURCC('N', 'V', '1', '2')

struct pattern_buffer {
    uint8_t *frame; /* its own; NULL: in the device's memory, or pattern.still is lent */
    struct pattern_rectangle object;
    bool lent;
};

struct pattern {
    struct capture capture;
    const struct pattern_scene *scene;
    uint32_t seed;
    struct pace pace;
    uint8_t *still;
    struct fftd_format object_format;
    uint8_t *object;
    unsigned wanted_buffers;
    /* From start to stop. */
    struct frame_memory *memory; /* where frames are stored; or NULL */
    struct fftd_format layout;   /* layout of frames in the memory in use */
    unsigned buffer_count;
    struct pattern_buffer buffer[CAPTURE_MAX_BUFFERS];
};

static void pattern_stop(struct capture *capture)
{
    struct pattern *pattern = (struct pattern *)capture;
    pace_stop(&pattern->pace);
    for (unsigned i = 0; i < pattern->buffer_count; i++) {
        free(pattern->buffer[i].frame);
        pattern->buffer[i] = (struct pattern_buffer){.lent = false};
    }
    pattern->buffer_count = 0;
    if (pattern->memory != NULL)
        frame_memory_clear(pattern->memory);
    pattern->memory = NULL;
}

static uint8_t *frame_at(const struct pattern *pattern, unsigned index)
{
    const struct pattern_buffer *buffer = &pattern->buffer[index];
    if (pattern->memory != NULL)
        return frame_memory_address(pattern->memory, index);
    return buffer->frame != NULL ? buffer->frame : pattern->still;
}

/* Draws the frame of this number into a buffer. */
static const uint8_t *paint(struct pattern *pattern, unsigned index, uint64_t number)
{
    const struct fftd_format *format = &pattern->capture.format, *layout = &pattern->layout;
    struct pattern_rectangle *object = &pattern->buffer[index].object;
    uint8_t *frame = frame_at(pattern, index);
    switch (pattern->scene->motion) {
    case PATTERN_STILL:
        break;
    case PATTERN_NOISE:
        pattern_draw_noise(layout, number, pattern->seed, frame);
        break;
    case PATTERN_OBJECT:
        pattern_copy(frame, layout, *object, pattern->still, format, object->x, object->y);
        *object = pattern_object_at(format, number);
        pattern_copy(frame, layout, *object, pattern->object, &pattern->object_format, 0, 0);
        break;
    }
    return frame;
}

/* Gives a buffer its frame and draws what does not change while the source runs. */
static int make_frame(struct pattern *pattern, unsigned index, struct error *why)
{
    const struct fftd_format *format = &pattern->capture.format;
    struct pattern_buffer *buffer = &pattern->buffer[index];
    if (pattern->memory != NULL) {
        int r = frame_memory_share(pattern->memory, index, pattern->layout.frame_bytes, why);
        if (r < 0)
            return r;
    } else if (pattern->scene->motion != PATTERN_STILL) {
        buffer->frame = malloc(pattern->layout.frame_bytes);
        if (buffer->frame == NULL)
            return error_set(why, ENOMEM, "out of memory for a frame of %u bytes",
                             pattern->layout.frame_bytes);
    }
    uint8_t *frame = frame_at(pattern, index);
    const struct pattern_rectangle all = {0, 0, format->width, format->height};
    if (pattern->still != NULL && frame != pattern->still)
        pattern_copy(frame, &pattern->layout, all, pattern->still, format, 0, 0);
    if (pattern->capture.unpaced)
        paint(pattern, index, index);
    return 0;
}

static int pattern_start(struct capture *capture, enum memory_mode mode,
                         struct frame_memory *memory, struct error *why)
{
    struct pattern *pattern = (struct pattern *)capture;
    int r = capture_check_memory(capture, mode, memory, "test scenes", why);
    if (r < 0)
        return r;
    pattern_stop(capture);
    pattern->memory = memory;
    pattern->layout = memory != NULL ? memory->layout : capture->format;
    const unsigned count = frame_memory_count(memory, pattern->wanted_buffers);
    for (; r == 0 && pattern->buffer_count < count; pattern->buffer_count++)
        r = make_frame(pattern, pattern->buffer_count, why);
    if (r == 0)
        r = pace_start(&pattern->pace, why);
    if (r < 0)
        pattern_stop(capture);
    return r;
}

/* The buffer for the next frame; buffer_count: it is lent, or all are. */
static unsigned find_buffer(const struct pattern *pattern)
{
    const unsigned count = pattern->buffer_count;
    if (pattern->capture.unpaced && count > 0) {
        const unsigned next = (unsigned)(pattern->pace.ticks % count);
        return pattern->buffer[next].lent ? count : next;
    }
    unsigned index = 0;
    while (index < count && pattern->buffer[index].lent)
        index++;
    return index;
}

static int pattern_dequeue(struct capture *capture, struct capture_frame *ret, struct error *why)
{
    struct pattern *pattern = (struct pattern *)capture;
    const unsigned index = find_buffer(pattern);
    if (pace_take(&pattern->pace) == 0)
        return error_set(why, EAGAIN, "no frame is due yet");
    if (index == pattern->buffer_count)
        return error_set(why, EAGAIN, "all %u buffers are lent: this frame is lost", index);

    uint64_t sequence = pattern->pace.ticks - 1;
    const uint8_t *pixels =
        capture->unpaced ? frame_at(pattern, index) : paint(pattern, index, sequence);
    pattern->buffer[index].lent = true;
    if (find_buffer(pattern) == pattern->buffer_count)
        pace_block(&pattern->pace);
    capture_fill_frame(ret, &pattern->layout, pixels);
    ret->memory = pattern->memory != NULL ? (int)index : -1;
    ret->sequence = sequence;
    ret->captured_ns = pace_due_ns(&pattern->pace);
    ret->dequeued_ns = clock_now_ns();
    ret->index = index;
    return 0;
}

static void pattern_release(struct capture *capture, const struct capture_frame *frame)
{
    struct pattern *pattern = (struct pattern *)capture;
    pattern->buffer[frame->index].lent = false;
    if (find_buffer(pattern) < pattern->buffer_count)
        pace_unblock(&pattern->pace);
}

static void pattern_close(struct capture *capture)
{
    struct pattern *pattern = (struct pattern *)capture;
    pattern_stop(capture);
    pace_finish(&pattern->pace);
    free(pattern->object);
    free(pattern->still);
    free(pattern);
}

static const struct capture_ops pattern_ops = {
    .start = pattern_start,
    .stop = pattern_stop,
    .dequeue = pattern_dequeue,
    .release = pattern_release,
    .close = pattern_close,
};

static int choose_format(struct fftd_format *ret, const struct capture_request *request,
                         struct error *why)
{
    int r = format_layout(ret, request->fourcc != 0 ? request->fourcc : DEFAULT_FOURCC,
                          request->width != 0 ? request->width : DEFAULT_WIDTH,
                          request->height != 0 ? request->height : DEFAULT_HEIGHT, 1, why);
    if (r < 0)
        return r;
    pattern_set_colour(ret);
    if (isinf(request->rate))
        return 0;
    pace_fraction(request->rate > 0.0 ? request->rate : DEFAULT_RATE, &ret->rate_num,
                  &ret->rate_den);
    return 0;
}

/* Draws the still part of the scene, and the object that moves over it. */
static int draw_ahead(struct pattern *pattern, struct error *why)
{
    const struct fftd_format *format = &pattern->capture.format;
    if (pattern->scene->motion == PATTERN_NOISE)
        return 0;
    pattern->still = malloc(format->frame_bytes);
    if (pattern->still == NULL)
        return error_set(why, ENOMEM, "out of memory for a frame of %u bytes", format->frame_bytes);
    int r = pattern_draw_still(pattern->scene, format, pattern->seed, pattern->still, why);
    if (r < 0 || pattern->scene->motion == PATTERN_STILL)
        return r;
    if (pattern_object_at(format, 0).width == 0)
        return 0;
    return pattern_draw_object(format, &pattern->object_format, &pattern->object, why);
}

int capture_open_pattern(struct capture **ret, const char *path,
                         const struct capture_request *request, struct error *why)
{
    const struct pattern_scene *scene;
    struct fftd_format format;
    int r = pattern_find(&scene, path, why);
    if (r < 0)
        return r;
    r = choose_format(&format, request, why);
    if (r < 0)
        return error_prefix(why, -r, "pattern:%s", path);

    struct pattern *pattern = calloc(1, sizeof *pattern);
    if (pattern == NULL)
        return error_set(why, ENOMEM, "pattern:%s: out of memory", path);
    pattern->capture.ops = &pattern_ops;
    pattern->capture.format = format;
    pattern->scene = scene;
    pattern->seed = request->seed;
    pattern->wanted_buffers = request->buffers;
    pattern->pace.fd = -1;
    pattern->capture.unpaced = isinf(request->rate);
    pattern->capture.waits = pattern->capture.unpaced;
    r = pace_init(&pattern->pace, format.rate_num, format.rate_den, why);
    if (r == 0)
        r = draw_ahead(pattern, why);
    if (r < 0) {
        pattern_close(&pattern->capture);
        return error_prefix(why, -r, "pattern:%s", path);
    }
    pattern->capture.fd = pattern->pace.fd;
    capture_describe(&pattern->capture, "test scene %s", scene->name);
    *ret = &pattern->capture;
    return 0;
}
