/* From a URI to one of the sources. What every source needs checked is checked here, once. */
#include "capture/capture.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "capture/source.h"
#include "core/text.h"

#define DEFAULT_BUFFERS 4

static const struct {
    const char *scheme;
    int (*open)(struct capture **ret, const char *path, const struct capture_request *request,
                struct error *why);
} sources[] = {
    {"v4l2:", capture_open_v4l2},
    {"pattern:", capture_open_pattern},
    {"file:", capture_open_file},
};

static int check_request(const struct capture_request *request, struct error *why)
{
    if ((request->width == 0) != (request->height == 0))
        return error_set(why, EINVAL, "size %ux%u: expected both width and height, or neither",
                         request->width, request->height);
    /* Written so that NaN fails too. */
    bool has_rate = request->rate >= CAPTURE_MIN_RATE && request->rate <= CAPTURE_MAX_RATE;
    if (request->rate != 0.0 && !has_rate)
        return error_set(why, EINVAL, "rate %g: expected %g .. %g frames a second", request->rate,
                         CAPTURE_MIN_RATE, CAPTURE_MAX_RATE);
    if (request->buffers != 0 &&
        (request->buffers < CAPTURE_MIN_BUFFERS || request->buffers > CAPTURE_MAX_BUFFERS))
        return error_set(why, EINVAL, "buffers %u: expected %d .. %d", request->buffers,
                         CAPTURE_MIN_BUFFERS, CAPTURE_MAX_BUFFERS);
    return 0;
}

int capture_open(struct capture **ret, const struct capture_request *request, struct error *why)
{
    int r = check_request(request, why);
    if (r < 0)
        return r;
    struct capture_request filled = *request;
    if (filled.buffers == 0)
        filled.buffers = DEFAULT_BUFFERS;
    for (unsigned i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        size_t length = strlen(sources[i].scheme);
        if (strncmp(filled.uri, sources[i].scheme, length) == 0)
            return sources[i].open(ret, filled.uri + length, &filled, why);
    }
    char quoted[TEXT_QUOTE_BYTES];
    return error_set(why, EINVAL,
                     "source %s: expected v4l2:/dev/videoN, pattern:SCENE or file:PATH",
                     text_quote(quoted, filled.uri));
}

int capture_start(struct capture *capture, struct error *why)
{
    return capture->ops->start(capture, FRAME_COPIED, NULL, why);
}

int capture_start_in(struct capture *capture, enum frame_way way, struct frame_memory *memory,
                     struct error *why)
{
    return capture->ops->start(capture, way, way != FRAME_COPIED ? memory : NULL, why);
}

void capture_stop(struct capture *capture)
{
    capture->ops->stop(capture);
}

int capture_fd(const struct capture *capture)
{
    return capture->ops->fd(capture);
}

int capture_dequeue(struct capture *capture, struct capture_frame *ret, struct error *why)
{
    return capture->ops->dequeue(capture, ret, why);
}

void capture_release(struct capture *capture, const struct capture_frame *frame)
{
    capture->ops->release(capture, frame);
}

static int refuse_controls(const struct capture *capture, struct error *why)
{
    return error_set(why, EOPNOTSUPP, "%s has no controls: only cameras have, v4l2:/dev/videoN",
                     capture->description);
}

int capture_list_controls(struct capture *capture, struct capture_controls **ret, struct error *why)
{
    return capture->ops->list_controls != NULL ? capture->ops->list_controls(capture, ret, why)
                                               : refuse_controls(capture, why);
}

int capture_set_controls(struct capture *capture, const struct settings *settings,
                         struct error *why)
{
    return capture->ops->set_controls != NULL ? capture->ops->set_controls(capture, settings, why)
                                              : refuse_controls(capture, why);
}

const char *capture_control_type_name(enum capture_control_type type)
{
    switch (type) {
    case CAPTURE_INTEGER:
        return "integer";
    case CAPTURE_BOOLEAN:
        return "boolean";
    case CAPTURE_MENU:
        return "menu";
    case CAPTURE_BITMASK:
        return "bitmask";
    case CAPTURE_BUTTON:
        return "button";
    case CAPTURE_TEXT:
        return "text";
    }
    return "unknown";
}

void capture_close(struct capture *capture)
{
    if (capture != NULL)
        capture->ops->close(capture);
}

void capture_describe(struct capture *capture, const char *format, ...)
{
    char what[96];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);

    const struct fftd_format *f = &capture->format;
    const struct format_info *info = format_by_fourcc(f->fourcc);
    char rate[TEXT_NUMBER_BYTES + 16] = "";
    if (f->rate_num != 0)
        snprintf(rate, sizeof rate, " at %.4g fps", (double)f->rate_num / f->rate_den);
    snprintf(capture->description, sizeof capture->description, "%s, %s %ux%u%s", what, info->name,
             f->width, f->height, rate);
}

void capture_fill_frame(struct capture_frame *ret, const struct fftd_format *format,
                        const uint8_t *pixels)
{
    struct capture_frame frame = {.memory = -1};
    for (unsigned p = 0; p < format->plane_count; p++) {
        frame.plane[p] = pixels + format->plane[p].offset;
        frame.stride[p] = format->plane[p].stride;
    }
    *ret = frame;
}
