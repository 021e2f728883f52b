/* fftd-gst: runs the pipeline of a gst: source for fftd, which starts this program and talks to it
 * through a socket (core/gst_link.h). It is not for users.
 *
 *     PIPELINE ! videoconvert ! appsink
 *
 * A live pipeline plays from the beginning, because only its frames tell their format. Another one
 * waits at its first frame until fftd starts it. Frames are copied into fftd's memory.
 *
 * Threads: the main thread takes fftd's messages and the pipeline's. A thread of the pipeline
 * copies frames; the lock is between the two. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <glib-unix.h>
#include <gst/app/gstappsink.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include "core/clock.h"
#include "core/format.h"
#include "core/gst_link.h"
#include "core/secret.h"
#include "fftd/formats.h"

#define MAX_BUFFERS 64

struct helper {
    GstElement *pipeline;
    gboolean live, loop;
    GMutex lock; /* guards the fields below */
    GCond changed;
    GstVideoInfo info; /* what frames have; finfo is NULL until the first one */
    struct fftd_format format;
    guint32 start;
    guint8 *memory; /* NULL: fftd takes no frames now */
    gsize memory_bytes;
    guint buffer_count;
    gboolean lent[MAX_BUFFERS];
    guint64 sequence;
};

/* ---- formats of fftd and of GStreamer ---- */

#define CODE(a, b, c, d)                                                                           \
    ((guint32)(a) | ((guint32)(b) << 8) | ((guint32)(c) << 16) | ((guint32)(d) << 24))
#define ROW(name, drm, v4l2, v4l2_multi, gstreamer, ...) {CODE drm, (gstreamer)},

/* GStreamer's names; NULL: it has none. */
static const struct {
    guint32 fourcc;
    const char *name;
} formats[] = {FFTD_PIXEL_FORMATS(ROW)};

/* Returns the caps that fftd takes for a request: every format that both have, or the one that is
 * asked for. NULL: GStreamer does not have that one. */
static GstCaps *caps_wanted(const struct gst_link_format *request)
{
    GString *names = g_string_new(NULL);
    /* A source that has any format takes the first one, so those with colour come first. */
    for (int colour = 1; colour >= 0; colour--)
        for (guint i = 0; i < G_N_ELEMENTS(formats); i++)
            if (formats[i].name != NULL &&
                (request->fourcc == 0 || request->fourcc == formats[i].fourcc) &&
                colour == !g_str_has_prefix(formats[i].name, "GRAY"))
                g_string_append_printf(names, "%s%s", names->len > 0 ? "," : "", formats[i].name);
    GstCaps *caps = NULL;
    if (names->len > 0) {
        gchar *text = g_strdup_printf("video/x-raw,format={%s}", names->str);
        caps = gst_caps_from_string(text);
        g_free(text);
        if (request->width != 0)
            gst_caps_set_simple(caps, "width", G_TYPE_INT, (gint)request->width, "height",
                                G_TYPE_INT, (gint)request->height, NULL);
        if (request->rate_num != 0)
            gst_caps_set_simple(caps, "framerate", GST_TYPE_FRACTION, (gint)request->rate_num,
                                (gint)request->rate_den, NULL);
    }
    g_string_free(names, TRUE);
    return caps;
}

/* Describes frames; fourcc is 0 if fftd does not have their format. */
static void caps_describe(const GstVideoInfo *info, struct gst_link_format *ret)
{
    const GstVideoColorimetry *colour = &info->colorimetry;
    *ret = (struct gst_link_format){
        .width = (guint32)info->width,
        .height = (guint32)info->height,
        .rate_num = (guint32)MAX(info->fps_n, 0),
        .rate_den = (guint32)MAX(info->fps_d, 1),
        .primaries = (guint8)gst_video_color_primaries_to_iso(colour->primaries),
        .transfer = (guint8)gst_video_transfer_function_to_iso(colour->transfer),
        .matrix = (guint8)gst_video_color_matrix_to_iso(colour->matrix),
        .full_range = colour->range == GST_VIDEO_COLOR_RANGE_0_255,
    };
    for (guint i = 0; i < G_N_ELEMENTS(formats); i++)
        if (g_strcmp0(formats[i].name, info->finfo->name) == 0)
            ret->fourcc = formats[i].fourcc;
}

/* ---- messages ---- */

/* fftd has ended if this fails, and so does this process. */
static void send_message(struct gst_link_message *message)
{
    message->magic = GST_LINK_MAGIC;
    if (send(GST_LINK_FD, message, sizeof *message, MSG_NOSIGNAL) < 0)
        _exit(1);
}

/* The pipeline. fftd hides its passwords in the reason, but half of a URI, where a long reason is
 * cut, does not show what is one. */
static char source[GST_LINK_TEXT];

/* Sends the reason and ends the process. Elements are not stopped: they may hang, or have crashed
 * already. */
static void end(int err, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
static void end(int err, const char *format, ...)
{
    struct gst_link_message message = {.kind = LINK_END, .err = err};
    char reason[8 * GST_LINK_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    secret_hide_of(source, reason, sizeof reason);
    snprintf(message.text, sizeof message.text, "%.*s", GST_LINK_TEXT - 1, reason);
    send_message(&message);
    _exit(0);
}

/* Waits for fftd's next message. Returns its descriptor, or -1. */
static int receive_message(struct gst_link_message *ret)
{
    struct iovec part = {.iov_base = ret, .iov_len = sizeof *ret};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct msghdr packet = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes};
    ssize_t size;
    do
        size = recvmsg(GST_LINK_FD, &packet, MSG_CMSG_CLOEXEC);
    while (size < 0 && errno == EINTR);
    if (size <= 0) /* fftd has closed the source, or has ended */
        _exit(0);
    if (size != sizeof *ret || ret->magic != GST_LINK_MAGIC)
        end(EPROTO, "fftd-gst does not have the version of fftd");
    const struct cmsghdr *rights = CMSG_FIRSTHDR(&packet);
    int fd = -1;
    if (rights != NULL && rights->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(rights), sizeof fd);
    return fd;
}

/* ---- frames, in a thread of the pipeline ---- */

static void send_format(struct helper *helper)
{
    struct gst_link_message message = {.kind = LINK_FORMAT, .live = helper->live};
    caps_describe(&helper->info, &message.format);
    struct error why;
    int r = format_layout(&helper->format, message.format.fourcc, message.format.width,
                          message.format.height, 1, &why);
    if (r < 0)
        end(-r, "%s", why.text);
    send_message(&message);
}

/* The first frame's format is sent; all others must have it too. With the lock. */
static void check_caps(struct helper *helper, const GstCaps *caps)
{
    GstVideoInfo info;
    if (caps == NULL || !gst_video_info_from_caps(&info, caps))
        end(EINVAL, "frames have no format that fftd has");
    if (helper->info.finfo == NULL) {
        helper->info = info;
        send_format(helper);
    } else if (!gst_video_info_is_equal(&helper->info, &info)) {
        end(ESTALE, "the pipeline delivers %s %dx%d now", info.finfo->name, info.width,
            info.height);
    }
}

/* CLOCK_MONOTONIC ns at which the frame was captured, by any clock of the pipeline. */
static gint64 captured_ns(struct helper *helper, GstSample *sample)
{
    gint64 age_ns = 0;
    GstClock *clock = gst_element_get_clock(helper->pipeline);
    const GstClockTime pts = GST_BUFFER_PTS(gst_sample_get_buffer(sample));
    if (clock != NULL && GST_CLOCK_TIME_IS_VALID(pts)) {
        const guint64 running =
            gst_segment_to_running_time(gst_sample_get_segment(sample), GST_FORMAT_TIME, pts);
        if (GST_CLOCK_TIME_IS_VALID(running))
            age_ns = GST_CLOCK_DIFF(gst_element_get_base_time(helper->pipeline) + running,
                                    gst_clock_get_time(clock));
    }
    if (clock != NULL)
        gst_object_unref(clock);
    return clock_now_ns() - (age_ns > 0 ? age_ns : 0);
}

/* A buffer that fftd does not have; buffer_count: it has all. With the lock. */
static guint find_buffer(const struct helper *helper)
{
    guint index = 0;
    while (index < helper->buffer_count && helper->lent[index])
        index++;
    return index;
}

static void copy_frame(const struct helper *helper, GstBuffer *buffer, guint8 *memory)
{
    GstVideoFrame frame;
    if (!gst_video_frame_map(&frame, &helper->info, buffer, GST_MAP_READ))
        end(EIO, "the memory of a frame cannot be read");
    for (guint p = 0; p < helper->format.plane_count; p++) {
        const struct fftd_plane *plane = &helper->format.plane[p];
        const guint8 *from = GST_VIDEO_FRAME_PLANE_DATA(&frame, p);
        for (guint row = 0; row < plane->rows; row++)
            memcpy(memory + plane->offset + (gsize)row * plane->stride,
                   from + (gssize)row * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, p), plane->row_bytes);
    }
    gst_video_frame_unmap(&frame);
}

/* Copies and sends a frame, if fftd takes frames and has given a buffer back. With the lock. */
static void deliver(struct helper *helper, GstSample *sample)
{
    struct gst_link_message message = {.kind = LINK_FRAME};
    while (!helper->live && helper->memory != NULL && find_buffer(helper) == helper->buffer_count)
        g_cond_wait(&helper->changed, &helper->lock);
    message.index = find_buffer(helper);
    message.sequence = helper->sequence++;
    if (helper->memory == NULL || message.index == helper->buffer_count)
        return;
    message.captured_ns = captured_ns(helper, sample);
    message.start = helper->start;
    helper->lent[message.index] = TRUE;
    copy_frame(helper, gst_sample_get_buffer(sample),
               helper->memory + (gsize)message.index * helper->format.frame_bytes);
    send_message(&message);
}

static GstFlowReturn take_sample(struct helper *helper, GstSample *sample, gboolean is_frame)
{
    if (sample == NULL)
        return GST_FLOW_FLUSHING;
    g_mutex_lock(&helper->lock);
    check_caps(helper, gst_sample_get_caps(sample));
    if (is_frame)
        deliver(helper, sample);
    g_mutex_unlock(&helper->lock);
    gst_sample_unref(sample);
    return GST_FLOW_OK;
}

/* The first sample comes here, and then to on_sample too. */
static GstFlowReturn on_preroll(GstAppSink *sink, gpointer data)
{
    return take_sample(data, gst_app_sink_pull_preroll(sink), FALSE);
}

static GstFlowReturn on_sample(GstAppSink *sink, gpointer data)
{
    return take_sample(data, gst_app_sink_pull_sample(sink), TRUE);
}

/* ---- fftd's messages ---- */

static void drop_memory(struct helper *helper)
{
    if (helper->memory != NULL)
        munmap(helper->memory, helper->memory_bytes);
    helper->memory = NULL;
}

static void take_memory(struct helper *helper, const struct gst_link_message *message, int fd)
{
    helper->memory_bytes = (gsize)message->index * helper->format.frame_bytes;
    if (message->index > MAX_BUFFERS)
        end(EPROTO, "%u buffers, expected at most %d", message->index, MAX_BUFFERS);
    void *memory = mmap(NULL, helper->memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        end(errno, "%zu bytes for frames: %s", (size_t)helper->memory_bytes, g_strerror(errno));
    close(fd);
    helper->memory = memory;
    helper->buffer_count = message->index;
    memset(helper->lent, 0, sizeof helper->lent);
    helper->start = message->start;
    helper->sequence = 0;
}

static gboolean on_message(gint fd, GIOCondition condition, gpointer data)
{
    struct helper *helper = data;
    struct gst_link_message message;
    (void)fd, (void)condition;
    int memory = receive_message(&message);
    const gboolean starts = message.kind == LINK_START, stops = message.kind == LINK_STOP;

    g_mutex_lock(&helper->lock);
    if (starts || stops)
        drop_memory(helper);
    if (starts)
        take_memory(helper, &message, memory);
    else if (message.kind == LINK_RELEASE && message.start == helper->start &&
             message.index < helper->buffer_count)
        helper->lent[message.index] = FALSE;
    g_cond_signal(&helper->changed);
    g_mutex_unlock(&helper->lock);

    if (starts || stops)
        gst_element_set_state(helper->pipeline, starts ? GST_STATE_PLAYING : GST_STATE_PAUSED);
    return G_SOURCE_CONTINUE;
}

/* ---- the pipeline's messages ---- */

/* The errno that tells fftd what to do about the error. */
static int errno_of(const GError *error)
{
    if (error->domain == GST_RESOURCE_ERROR) {
        switch (error->code) {
        case GST_RESOURCE_ERROR_NOT_FOUND:
            return ENOENT;
        case GST_RESOURCE_ERROR_BUSY:
            return EBUSY;
        case GST_RESOURCE_ERROR_NOT_AUTHORIZED:
            return EACCES;
        default:
            return ENODEV;
        }
    }
    return error->domain == GST_CORE_ERROR ? EINVAL : ENODEV;
}

/* Ends with what an element has reported. Its detail begins with the file, line and function of its
 * source code; the words that help are behind them. */
static void end_with_error(GstMessage *message) __attribute__((noreturn));
static void end_with_error(GstMessage *message)
{
    GError *error;
    gchar *detail;
    gst_message_parse_error(message, &error, &detail);
    const gchar *words = detail != NULL ? strchr(detail, '\n') : NULL;
    const gboolean refused = detail != NULL && strstr(detail, "not-negotiated") != NULL;
    end(refused ? EINVAL : errno_of(error), "%s: %s%s%s%s", GST_OBJECT_NAME(message->src),
        error->message, words != NULL ? " (" : "", words != NULL ? words + 1 : "",
        words == NULL ? ""
        : refused     ? "): it does not have the format, size or rate that are asked for"
                      : ")");
}

static gboolean on_bus(GstBus *bus, GstMessage *message, gpointer data)
{
    const struct helper *helper = data;
    (void)bus;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
        end_with_error(message);
    if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_EOS)
        return G_SOURCE_CONTINUE;
    if (helper->live)
        end(ENODEV, "the stream has ended");
    if (!helper->loop)
        end(ENODATA, "the pipeline has delivered its last frame");
    /* Not all elements can seek, but all can begin again. */
    gst_element_set_state(helper->pipeline, GST_STATE_READY);
    gst_element_set_state(helper->pipeline, GST_STATE_PLAYING);
    return G_SOURCE_CONTINUE;
}

/* ---- the beginning ---- */

static GstElement *build(struct helper *helper, const struct gst_link_message *request)
{
    GError *error = NULL;
    gchar *text = g_strdup_printf("%s ! videoconvert ! appsink name=fftd-gst-sink "
                                  "enable-last-sample=false",
                                  request->text);
    helper->pipeline = gst_parse_launch_full(text, NULL, GST_PARSE_FLAG_FATAL_ERRORS, &error);
    if (helper->pipeline == NULL)
        end(EINVAL, "%s", error->message);
    g_free(text);
    GstElement *sink = gst_bin_get_by_name(GST_BIN(helper->pipeline), "fftd-gst-sink");
    GstCaps *caps = caps_wanted(&request->format);
    if (caps == NULL)
        end(EINVAL, "GStreamer has no format %s", format_by_fourcc(request->format.fourcc)->name);
    gst_app_sink_set_caps(GST_APP_SINK(sink), caps);
    gst_caps_unref(caps);
    GstAppSinkCallbacks callbacks = {.new_preroll = on_preroll, .new_sample = on_sample};
    gst_app_sink_set_callbacks(GST_APP_SINK(sink), &callbacks, helper, NULL);
    return sink;
}

/* Lets the pipeline deliver its first frame. A failure is reported on the bus. */
static void begin(struct helper *helper, GstElement *sink)
{
    const GstStateChangeReturn changed = gst_element_set_state(helper->pipeline, GST_STATE_PAUSED);
    helper->live = changed == GST_STATE_CHANGE_NO_PREROLL;
    if (!helper->live)
        return;
    g_object_set(sink, "sync", FALSE, NULL);
    gst_element_set_state(helper->pipeline, GST_STATE_PLAYING);
}

int main(void)
{
    int type;
    socklen_t size = sizeof type;
    if (getsockopt(GST_LINK_FD, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_SEQPACKET) {
        fputs("fftd-gst: fftd starts this program for its gst: sources\n", stderr);
        return 64;
    }
    /* If fftd has ended by now, its end of the socket is closed. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);

    static struct helper helper;
    struct gst_link_message message;
    GError *error = NULL;
    receive_message(&message);
    if (message.kind != LINK_OPEN || memchr(message.text, '\0', sizeof message.text) == NULL)
        end(EPROTO, "fftd-gst does not have the version of fftd");
    strcpy(source, message.text);
    if (!gst_init_check(NULL, NULL, &error))
        end(EIO, "GStreamer: %s", error->message);
    helper.loop = message.loop != 0;
    send_message(&(struct gst_link_message){.kind = LINK_LOADED});

    GstElement *sink = build(&helper, &message);
    GstBus *bus = gst_element_get_bus(helper.pipeline);
    gst_bus_add_watch(bus, on_bus, &helper);
    g_unix_fd_add(GST_LINK_FD, G_IO_IN | G_IO_HUP | G_IO_ERR, on_message, &helper);
    begin(&helper, sink);
    g_main_loop_run(g_main_loop_new(NULL, FALSE));
    return 0;
}
