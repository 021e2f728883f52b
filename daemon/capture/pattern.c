/* pattern:SCENE - a camera made of arithmetic.
 *
 * It must not take the processor away from what it tests, so nothing is drawn twice. The still
 * part of a scene is drawn once, at open. Still scenes lend that one frame again and again. Where
 * an object moves, every buffer keeps the frame it last held: the background goes back where the
 * object was, and the object, drawn once too, is copied to where it is now: two small copies. Only
 * noise is new in every frame, eight samples a hash.
 *
 * Like a camera it does not wait: a tick that nobody takes in time, or that finds every buffer
 * lent, is a frame lost, seen as a gap in the sequence. */
#include "capture/capture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/pace.h"
#include "capture/pattern.h"
#include "capture/source.h"
#include "core/clock.h"

#define DEFAULT_WIDTH  640
#define DEFAULT_HEIGHT 480
#define DEFAULT_RATE   30.0
#define DEFAULT_FOURCC FFTD_FOURCC('N', 'V', '1', '2')

struct pattern_buffer {
    uint8_t *frame; /* NULL: lends pattern.still */
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
    unsigned buffer_count;
    struct pattern_buffer buffer[CAPTURE_MAX_BUFFERS];
};

static struct pattern *pattern_of(struct capture *capture)
{
    return (struct pattern *)capture;
}

static int pattern_start(struct capture *capture, struct error *why)
{
    return pace_start(&pattern_of(capture)->pace, why);
}

static void pattern_stop(struct capture *capture)
{
    struct pattern *pattern = pattern_of(capture);
    pace_stop(&pattern->pace);
    for (unsigned i = 0; i < pattern->buffer_count; i++)
        pattern->buffer[i].lent = false;
}

static int pattern_fd(const struct capture *capture)
{
    return ((const struct pattern *)capture)->pace.fd;
}

static const uint8_t *paint(struct pattern *pattern, struct pattern_buffer *buffer, uint64_t index)
{
    const struct fftd_format *format = &pattern->capture.format;
    switch (pattern->scene->motion) {
    case PATTERN_STILL:
        return pattern->still;
    case PATTERN_NOISE:
        pattern_draw_noise(format, index, pattern->seed, buffer->frame);
        break;
    case PATTERN_OBJECT:
        pattern_copy(buffer->frame, format, buffer->object, pattern->still, format,
                     buffer->object.x, buffer->object.y);
        buffer->object = pattern_object_at(format, index);
        pattern_copy(buffer->frame, format, buffer->object, pattern->object,
                     &pattern->object_format, 0, 0);
        break;
    }
    return buffer->frame;
}

static int pattern_dequeue(struct capture *capture, struct capture_frame *ret, struct error *why)
{
    struct pattern *pattern = pattern_of(capture);
    if (pace_take(&pattern->pace) == 0)
        return error_set(why, EAGAIN, "no frame is due");
    unsigned index = 0;
    while (index < pattern->buffer_count && pattern->buffer[index].lent)
        index++;
    if (index == pattern->buffer_count)
        return error_set(why, EAGAIN, "all %u buffers are lent: a frame is lost", index);

    uint64_t sequence = pattern->pace.ticks - 1;
    const uint8_t *pixels = paint(pattern, &pattern->buffer[index], sequence);
    pattern->buffer[index].lent = true;
    capture_fill_frame(ret, &capture->format, pixels);
    ret->sequence = sequence;
    ret->captured_ns = pace_due_ns(&pattern->pace);
    ret->dequeued_ns = clock_now_ns();
    ret->index = index;
    return 0;
}

static void pattern_release(struct capture *capture, const struct capture_frame *frame)
{
    pattern_of(capture)->buffer[frame->index].lent = false;
}

static void pattern_close(struct capture *capture)
{
    struct pattern *pattern = pattern_of(capture);
    pace_finish(&pattern->pace);
    for (unsigned i = 0; i < CAPTURE_MAX_BUFFERS; i++)
        free(pattern->buffer[i].frame);
    free(pattern->object);
    free(pattern->still);
    free(pattern);
}

static const struct capture_ops pattern_ops = {
    .start = pattern_start,
    .stop = pattern_stop,
    .fd = pattern_fd,
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
    pace_fraction(request->rate > 0.0 ? request->rate : DEFAULT_RATE, &ret->rate_num,
                  &ret->rate_den);
    return 0;
}

/* Draws everything that can be drawn before the first frame. */
static int draw_ahead(struct pattern *pattern, struct error *why)
{
    const struct fftd_format *format = &pattern->capture.format;
    bool own_frames = pattern->scene->motion != PATTERN_STILL;
    for (unsigned i = 0; own_frames && i < pattern->buffer_count; i++) {
        pattern->buffer[i].frame = malloc(format->frame_bytes);
        if (pattern->buffer[i].frame == NULL)
            goto no_memory;
    }
    if (pattern->scene->motion == PATTERN_NOISE)
        return 0;
    pattern->still = malloc(format->frame_bytes);
    if (pattern->still == NULL)
        goto no_memory;
    int r = pattern_draw_still(pattern->scene, format, pattern->seed, pattern->still, why);
    if (r < 0 || pattern->scene->motion == PATTERN_STILL)
        return r;
    for (unsigned i = 0; i < pattern->buffer_count; i++)
        memcpy(pattern->buffer[i].frame, pattern->still, format->frame_bytes);
    if (pattern_object_at(format, 0).width == 0)
        return 0;
    return pattern_draw_object(format, &pattern->object_format, &pattern->object, why);

no_memory:
    return error_set(why, ENOMEM, "no memory for %u frames of %u bytes", pattern->buffer_count,
                     format->frame_bytes);
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
        return error_set(why, ENOMEM, "pattern:%s: no memory", path);
    pattern->capture.ops = &pattern_ops;
    pattern->capture.format = format;
    pattern->scene = scene;
    pattern->seed = request->seed;
    pattern->buffer_count = request->buffers;
    pattern->pace.fd = -1;
    r = pace_init(&pattern->pace, format.rate_num, format.rate_den, why);
    if (r < 0)
        goto fail;
    r = draw_ahead(pattern, why);
    if (r < 0)
        goto fail;
    capture_describe(&pattern->capture, "test scene %s", scene->name);
    *ret = &pattern->capture;
    return 0;

fail:
    pattern_close(&pattern->capture);
    return error_prefix(why, -r, "pattern:%s", path);
}
