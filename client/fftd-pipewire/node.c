#include "node.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fftd/fftd.h>
#include <pipewire/pipewire.h>
#include <spa/param/buffers.h>
#include <spa/param/video/format-utils.h>

#include "common/frames.h"
#include "core/clock.h"
#include "layout.h"

#define RETRY_NS      500000000L
#define BUFFERS       8
#define LEAST_BUFFERS 2
#define MOST_BUFFERS  16 /* MemoryMax= of the service has room for these, of 3840x2160 and RGB */
/* A frame can be overwritten during its copy, but hardly twice in a row. */
#define COPY_TRIES    3

struct node_server {
    struct pw_core *core;     /* NULL: not connected */
    struct pw_stream *stream; /* NULL: there is no node yet */
    struct spa_hook core_hook, stream_hook;
    struct spa_io_clock *clock; /* the clock of the graph that this node drives; NULL: none */
    struct pw_buffer *unfilled; /* taken from the stream for the next frame; NULL: none */
    bool is_lost;
    bool is_negotiated; /* the buffers fit frames of node->layout */
};

struct node {
    struct node_options options;
    struct pw_loop *loop;
    struct pw_context *context;
    struct spa_source *retry;
    struct node_server server;
    bool is_known; /* the layout is valid */
    struct layout layout;
    struct fftd *camera; /* NULL: no link takes frames, or there is no daemon */
    struct spa_source *watch;
    uint64_t last_sequence;
    char said[256]; /* the last message, which is not repeated */
};

__attribute__((format(printf, 2, 3))) static void say(struct node *node, const char *format, ...)
{
    char text[sizeof node->said];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (strcmp(text, node->said) == 0)
        return;
    memcpy(node->said, text, sizeof text);
    fprintf(stderr, "fftd-pipewire: %s\n", text);
}

static void advance_in(struct node *node, long ns)
{
    struct timespec when = {.tv_nsec = ns};
    pw_loop_update_timer(node->loop, node->retry, &when, NULL, false);
}

/* Calls on_retry soon, but not within the current callback. */
static void advance_soon(struct node *node)
{
    advance_in(node, 1);
}

/* ---- the ring ---- */

static void say_why_not(struct node *node, int error)
{
    const char *camera = node->options.camera;
    char why[200];
    fftd_explain(camera, error, why, sizeof why);
    if (error == -ENOENT || error == -ECONNREFUSED)
        say(node, "camera %s: there is no daemon; waiting for one", camera);
    else
        say(node, "camera %s: %s; trying again", camera, why);
}

/* Adopts the ring's format. Returns 0, -EAGAIN if it is the same, or layout_init's error. */
static int adopt_format(struct node *node, const struct fftd_format *format)
{
    const struct fftd_pixel_format *pixels = fftd_pixel_format(format->fourcc);
    if (node->is_known && memcmp(&node->layout.format, format, sizeof *format) == 0)
        return -EAGAIN;
    int r = layout_init(&node->layout, format);
    node->is_known = r == 0;
    if (r == -EOPNOTSUPP)
        say(node,
            "camera %s: frames of format %s have no equivalent in PipeWire; expected another "
            "camera.format, or engine.depth = 16",
            node->options.camera, pixels != NULL ? pixels->name : "unknown");
    else if (r < 0)
        say(node,
            "camera %s: the format of its frames lacks what its pixels need; waiting for "
            "another one",
            node->options.camera);
    return r;
}

/* Reads the format from a ring, which it closes at once. */
static int probe(struct node *node)
{
    struct fftd *camera;
    int r = fftd_open(&camera, node->options.camera);
    if (r < 0) {
        say_why_not(node, r);
        return r;
    }
    const struct fftd_format *format = fftd_format(camera);
    if (format == NULL) {
        say(node, "camera %s: no frame yet; waiting for one", node->options.camera);
        r = -EAGAIN;
    } else {
        r = adopt_format(node, format);
    }
    fftd_close(camera);
    return r;
}

static void stop_reading(struct node *node)
{
    if (node->camera == NULL)
        return;
    pw_loop_destroy_source(node->loop, node->watch);
    fftd_close(node->camera);
    node->watch = NULL;
    node->camera = NULL;
}

/* ---- frames into buffers ---- */

static void describe_frame(struct node *node, struct spa_buffer *buffer,
                           const struct fftd_frame *frame)
{
    struct spa_meta_header *header =
        spa_buffer_find_meta_data(buffer, SPA_META_Header, sizeof *header);
    struct spa_chunk *chunk = buffer->datas[0].chunk;
    const bool follows = frame->sequence == node->last_sequence + 1;
    const bool is_discontinuous = !follows || (frame->flags & FFTD_FLAG_DISCONTINUITY) != 0;
    chunk->offset = 0;
    chunk->size = node->layout.bytes;
    chunk->stride = (int32_t)node->layout.plane[0].stride;
    chunk->flags = SPA_CHUNK_FLAG_NONE;
    if (header != NULL)
        *header = (struct spa_meta_header){
            .flags = is_discontinuous ? SPA_META_HEADER_FLAG_DISCONT : 0,
            .pts = frame->captured_ns,
            .seq = frame->sequence,
        };
    node->last_sequence = frame->sequence;
}

/* The camera's time is the time of a graph that this node drives. Positions count from the origin
 * of CLOCK_MONOTONIC, like PipeWire's own before the first frame. A jump back, such as to the
 * number of a frame, would stop GStreamer's clock. */
static void tell_time(struct node *node, const struct fftd_frame *frame)
{
    struct spa_io_clock *clock = node->server.clock;
    const struct fftd_format *format = &node->layout.format;
    if (clock == NULL || format->rate_num == 0)
        return;
    clock->nsec = (uint64_t)frame->captured_ns;
    clock->rate = SPA_FRACTION(1, (uint32_t)NS_PER_S);
    clock->position = clock->nsec;
    clock->duration = NS_PER_S * format->rate_den / format->rate_num;
    clock->delay = 0;
    clock->rate_diff = 1.0;
    clock->next_nsec = clock->nsec + clock->duration;
}

/* Frames are queued in the order of their capture, and at most one waits in the stream. So a
 * consumer that was slow for a while gets new frames. */
static bool has_waiting_frame(struct pw_stream *stream)
{
    struct pw_time time = {.queued_buffers = 0};
    pw_stream_get_time_n(stream, &time, sizeof time);
    return time.queued_buffers > 0;
}

/* Returns the buffer to fill next; NULL: consumers have all of them. */
static struct spa_buffer *take_buffer(struct node *node)
{
    struct node_server *server = &node->server;
    if (server->unfilled == NULL)
        server->unfilled = pw_stream_dequeue_buffer(server->stream);
    if (server->unfilled == NULL)
        return NULL;
    struct spa_buffer *buffer = server->unfilled->buffer;
    const struct spa_data *data = buffer->n_datas > 0 ? &buffer->datas[0] : NULL;
    return data != NULL && data->data != NULL && data->maxsize >= node->layout.bytes ? buffer
                                                                                     : NULL;
}

/* Copies the newest frame into a buffer of the stream, if there is a new one. Called when on_ring,
 * or another node that drives the graph, begins a cycle. The buffer is queued only here, because
 * queueing one before a driver's first pw_stream_trigger_process would also begin a cycle. */
static void on_process(void *userdata)
{
    struct node *node = userdata;
    struct node_server *server = &node->server;
    struct fftd_frame frame;
    if (node->camera == NULL || !server->is_negotiated || has_waiting_frame(server->stream))
        return;
    struct spa_buffer *buffer = take_buffer(node);
    for (int tries = 0; buffer != NULL && tries < COPY_TRIES; tries++) {
        if (fftd_frame(node->camera, &frame) < 0 ||
            memcmp(&node->layout.format, frame.format, sizeof *frame.format) != 0)
            return;
        layout_copy(&node->layout, &frame, buffer->datas[0].data);
        if (fftd_frame_valid(node->camera, &frame)) {
            describe_frame(node, buffer, &frame);
            tell_time(node, &frame);
            pw_stream_queue_buffer(server->stream, server->unfilled);
            server->unfilled = NULL;
            return;
        }
    }
}

/* ---- the stream ---- */

static const struct spa_pod *build_format(const struct layout *layout, struct spa_pod_builder *b)
{
    const struct fftd_format *format = &layout->format;
    struct spa_pod_frame object;
    spa_pod_builder_push_object(b, &object, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat);
    spa_pod_builder_add(b, SPA_FORMAT_mediaType, SPA_POD_Id(SPA_MEDIA_TYPE_video),
                        SPA_FORMAT_mediaSubtype, SPA_POD_Id(SPA_MEDIA_SUBTYPE_raw),
                        SPA_FORMAT_VIDEO_format, SPA_POD_Id(layout->video_format),
                        SPA_FORMAT_VIDEO_size,
                        SPA_POD_Rectangle(&SPA_RECTANGLE(format->width, format->height)),
                        /* 0/1, an unknown rate, is how PipeWire says that the rate varies. */
                        SPA_FORMAT_VIDEO_framerate,
                        SPA_POD_Fraction(&SPA_FRACTION(format->rate_num, format->rate_den)), 0);
    return spa_pod_builder_pop(b, &object);
}

static void offer_format(struct node *node)
{
    uint8_t memory[1024];
    struct spa_pod_builder b = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const struct spa_pod *format = build_format(&node->layout, &b);
    node->server.is_negotiated = false;
    pw_stream_update_params(node->server.stream, &format, 1);
}

static bool is_offered(const struct layout *layout, const struct spa_pod *param)
{
    struct spa_video_info_raw info = {.format = SPA_VIDEO_FORMAT_UNKNOWN};
    return spa_format_video_raw_parse(param, &info) >= 0 && info.format == layout->video_format &&
           info.size.width == layout->format.width && info.size.height == layout->format.height;
}

static void on_param_changed(void *userdata, uint32_t id, const struct spa_pod *param)
{
    struct node *node = userdata;
    uint8_t memory[1024];
    struct spa_pod_builder b = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    if (id != SPA_PARAM_Format)
        return;
    /* This may answer an offer made before a change of format; then another answer follows. */
    node->server.is_negotiated = param != NULL && is_offered(&node->layout, param);
    if (!node->server.is_negotiated)
        return;
    const struct spa_pod *params[] = {
        spa_pod_builder_add_object(
            &b, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_buffers,
            SPA_POD_CHOICE_RANGE_Int(BUFFERS, LEAST_BUFFERS, MOST_BUFFERS),
            SPA_PARAM_BUFFERS_blocks, SPA_POD_Int(1), SPA_PARAM_BUFFERS_size,
            SPA_POD_Int((int32_t)node->layout.bytes), SPA_PARAM_BUFFERS_stride,
            SPA_POD_Int((int32_t)node->layout.plane[0].stride), SPA_PARAM_BUFFERS_dataType,
            SPA_POD_CHOICE_FLAGS_Int(1 << SPA_DATA_MemFd | 1 << SPA_DATA_MemPtr)),
        spa_pod_builder_add_object(&b, SPA_TYPE_OBJECT_ParamMeta, SPA_PARAM_Meta,
                                   SPA_PARAM_META_type, SPA_POD_Id(SPA_META_Header),
                                   SPA_PARAM_META_size,
                                   SPA_POD_Int(sizeof(struct spa_meta_header))),
    };
    pw_stream_update_params(node->server.stream, params, 2);
}

/* Called when the ring has a frame or another event. */
static void on_ring(void *userdata, int fd, uint32_t mask)
{
    struct node *node = userdata;
    struct pw_stream *stream = node->server.stream;
    (void)fd;
    (void)mask;
    int r = fftd_wait(node->camera, 0);
    if (r == -EPIPE) {
        say(node, "camera %s: the daemon has ended; waiting for the next one",
            node->options.camera);
        return; /* libfftd connects again */
    }
    if (r < 0) {
        say_why_not(node, r);
        stop_reading(node);
        advance_in(node, RETRY_NS);
        return;
    }
    const struct fftd_format *format = fftd_format(node->camera);
    if (format != NULL) {
        int changed = adopt_format(node, format);
        if (changed == 0)
            offer_format(node);
        else if (changed != -EAGAIN)
            advance_soon(node);
    }
    /* A cycle is triggered even if on_process has no free buffer, because consumers return buffers
     * during a cycle. */
    if (r > 0 && node->is_known && pw_stream_is_driving(stream))
        pw_stream_trigger_process(stream);
}

static void on_io_changed(void *userdata, uint32_t id, void *area, uint32_t size)
{
    struct node *node = userdata;
    if (id == SPA_IO_Clock)
        node->server.clock = size >= sizeof(struct spa_io_clock) ? area : NULL;
}

static void on_remove_buffer(void *userdata, struct pw_buffer *buffer)
{
    struct node *node = userdata;
    if (node->server.unfilled == buffer)
        node->server.unfilled = NULL;
}

static void on_state_changed(void *userdata, enum pw_stream_state old, enum pw_stream_state state,
                             const char *error)
{
    struct node *node = userdata;
    (void)old;
    if (state == PW_STREAM_STATE_STREAMING) {
        advance_soon(node);
        return;
    }
    stop_reading(node);
    if (state == PW_STREAM_STATE_ERROR)
        say(node, "PipeWire: %s; connecting again", error != NULL ? error : "the node has failed");
    if (state == PW_STREAM_STATE_ERROR || state == PW_STREAM_STATE_UNCONNECTED) {
        node->server.is_lost = true;
        advance_in(node, RETRY_NS);
    } else if (state == PW_STREAM_STATE_PAUSED && old == PW_STREAM_STATE_CONNECTING) {
        const struct fftd_format *format = &node->layout.format;
        say(node, "camera %s is the video source %s of PipeWire: %s, %ux%u", node->options.camera,
            node->options.name, fftd_pixel_format(format->fourcc)->name, format->width,
            format->height);
    }
}

static const struct pw_stream_events stream_events = {
    PW_VERSION_STREAM_EVENTS,          .state_changed = on_state_changed,
    .io_changed = on_io_changed,       .param_changed = on_param_changed,
    .remove_buffer = on_remove_buffer, .process = on_process,
};

static void close_stream(struct node *node)
{
    struct node_server *server = &node->server;
    stop_reading(node);
    if (server->stream == NULL)
        return;
    spa_hook_remove(&server->stream_hook);
    pw_stream_destroy(server->stream);
    server->stream = NULL;
    server->clock = NULL;
    server->unfilled = NULL;
    server->is_negotiated = false;
}

static int open_stream(struct node *node)
{
    struct node_server *server = &node->server;
    uint8_t memory[1024];
    struct spa_pod_builder b = SPA_POD_BUILDER_INIT(memory, sizeof memory);
    const struct spa_pod *format = build_format(&node->layout, &b);
    server->stream = pw_stream_new(
        server->core, node->options.description,
        pw_properties_new(PW_KEY_MEDIA_CLASS, "Video/Source", PW_KEY_MEDIA_TYPE, "Video",
                          PW_KEY_MEDIA_CATEGORY, "Capture", PW_KEY_MEDIA_ROLE, "Camera",
                          PW_KEY_NODE_NAME, node->options.name, PW_KEY_NODE_DESCRIPTION,
                          node->options.description, NULL));
    if (server->stream == NULL)
        return -errno;
    pw_stream_add_listener(server->stream, &server->stream_hook, &stream_events, node);
    int r = pw_stream_connect(server->stream, PW_DIRECTION_OUTPUT, PW_ID_ANY,
                              PW_STREAM_FLAG_DRIVER | PW_STREAM_FLAG_MAP_BUFFERS, &format, 1);
    if (r < 0)
        close_stream(node);
    return r;
}

/* ---- the server ---- */

static void on_core_error(void *userdata, uint32_t id, int sequence, int error, const char *text)
{
    struct node *node = userdata;
    (void)sequence;
    (void)text;
    if (id != PW_ID_CORE || error != -EPIPE)
        return;
    say(node, "the PipeWire server has ended; waiting for the next one");
    node->server.is_lost = true;
    advance_soon(node);
}

static const struct pw_core_events core_events = {
    PW_VERSION_CORE_EVENTS,
    .error = on_core_error,
};

static void close_server(struct node *node)
{
    struct node_server *server = &node->server;
    close_stream(node);
    if (server->core != NULL) {
        spa_hook_remove(&server->core_hook);
        pw_core_disconnect(server->core);
    }
    *server = (struct node_server){.core = NULL};
}

static int open_server(struct node *node)
{
    node->server.core = pw_context_connect(node->context, NULL, 0);
    if (node->server.core == NULL) {
        int r = -errno;
        say(node, "no PipeWire server answers (%s); waiting for one", strerror(-r));
        return r;
    }
    pw_core_add_listener(node->server.core, &node->server.core_hook, &core_events, node);
    return 0;
}

/* ---- making the next part that is missing ---- */

static int start_reading(struct node *node)
{
    int r = fftd_open(&node->camera, node->options.camera);
    if (r < 0) {
        node->camera = NULL;
        say_why_not(node, r);
        return r;
    }
    frames_skip_old(node->camera);
    node->watch =
        pw_loop_add_io(node->loop, fftd_fd(node->camera), SPA_IO_IN, false, on_ring, node);
    if (node->watch == NULL) {
        r = -errno;
        fftd_close(node->camera);
        node->camera = NULL;
        return r;
    }
    return 0;
}

static int make_next(struct node *node)
{
    struct node_server *server = &node->server;
    int r = 0;
    if (server->is_lost)
        close_server(node);
    if (!node->is_known) {
        close_stream(node);
        r = probe(node);
    }
    if (r == 0 && server->core == NULL)
        r = open_server(node);
    if (r == 0 && server->stream == NULL)
        r = open_stream(node);
    if (r == 0 && node->camera == NULL &&
        pw_stream_get_state(server->stream, NULL) == PW_STREAM_STATE_STREAMING)
        r = start_reading(node);
    return r;
}

static void on_retry(void *userdata, uint64_t expirations)
{
    struct node *node = userdata;
    (void)expirations;
    if (make_next(node) < 0)
        advance_in(node, RETRY_NS);
}

int node_create(struct node **ret, struct pw_loop *loop, const struct node_options *options)
{
    struct node *node = calloc(1, sizeof *node);
    if (node == NULL)
        return -ENOMEM;
    node->options = *options;
    node->loop = loop;
    node->context = pw_context_new(loop, NULL, 0);
    if (node->context != NULL)
        node->retry = pw_loop_add_timer(loop, on_retry, node);
    if (node->retry == NULL) {
        int r = -errno;
        node_destroy(node);
        return r;
    }
    advance_soon(node);
    *ret = node;
    return 0;
}

void node_destroy(struct node *node)
{
    if (node == NULL)
        return;
    if (node->context != NULL) {
        close_server(node);
        pw_context_destroy(node->context);
    }
    if (node->retry != NULL)
        pw_loop_destroy_source(node->loop, node->retry);
    free(node);
}
