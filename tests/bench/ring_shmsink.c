/* GStreamer's shmsink and shmsrc, used at the least cost. The writer takes buffers from the sink's
 * allocator, so that frames are written directly into shared memory, and pushes them into the
 * sink's pad without another thread. A client receives them in the source's thread. */
#include "bench/ring_bench.h"

#define NAME "GStreamer shmsink"

#if __has_include(<gst/gst.h>)

#include <gst/gst.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static GstElement *pipeline;
static GstPad *out_pad;
static GstAllocator *allocator;
static GstBuffer *buffer;
static GstMapInfo map;

static const char *missing(void)
{
    gst_init(NULL, NULL);
    for (const char *const *name = (const char *const[]){"shmsink", "shmsrc", NULL}; *name;
         name++) {
        GstElementFactory *factory = gst_element_factory_find(*name);
        if (factory == NULL)
            return "GStreamer's shm elements are missing (gstreamer1.0-plugins-bad)";
        gst_object_unref(factory);
    }
    return NULL;
}

static GstElement *add(GstElement *bin, const char *kind)
{
    GstElement *element = gst_element_factory_make(kind, NULL);
    bench_require(element != NULL && gst_bin_add(GST_BIN(bin), element), kind);
    return element;
}

/* The sink answers this query with the allocator to use. */
static void ask_for_allocator(GstPad *pad, GstCaps *caps)
{
    GstQuery *query = gst_query_new_allocation(caps, FALSE);
    bench_require(gst_pad_peer_query(pad, query), "shmsink answers no query");
    for (guint i = 0; i < gst_query_get_n_allocation_params(query) && allocator == NULL; i++)
        gst_query_parse_nth_allocation_param(query, i, &allocator, NULL);
    bench_require(allocator != NULL, "shmsink has no allocator");
    gst_query_unref(query);
}

static void start(struct ring_board *board)
{
    gst_init(NULL, NULL);
    strcpy(board->place, "/tmp/fftd-bench-XXXXXX");
    bench_require(mkdtemp(board->place) != NULL, "cannot create a directory");
    strcat(board->place, "/socket");
    pipeline = gst_pipeline_new(NULL);
    GstElement *sink = add(pipeline, "shmsink");
    g_object_set(sink, "socket-path", board->place, "wait-for-connection", FALSE, "sync", FALSE,
                 NULL);
    out_pad = gst_pad_new("out", GST_PAD_SRC);
    GstPad *in_pad = gst_element_get_static_pad(sink, "sink");
    gst_pad_set_active(out_pad, TRUE);
    bench_require(gst_pad_link(out_pad, in_pad) == GST_PAD_LINK_OK, "cannot link to shmsink");
    gst_object_unref(in_pad);
    /* The state change is not awaited, because the sink prerolls with the first frame. */
    gst_element_set_state(pipeline, GST_STATE_PLAYING);

    GstCaps *caps = gst_caps_new_simple(
        "video/x-raw", "format", G_TYPE_STRING, "NV12", "width", G_TYPE_INT, (int)RING_WIDTH,
        "height", G_TYPE_INT, (int)RING_HEIGHT, "framerate", GST_TYPE_FRACTION, 60, 1, NULL);
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_pad_push_event(out_pad, gst_event_new_stream_start("bench"));
    gst_pad_push_event(out_pad, gst_event_new_caps(caps));
    gst_pad_push_event(out_pad, gst_event_new_segment(&segment));
    ask_for_allocator(out_pad, caps);
    gst_caps_unref(caps);
}

static uint8_t *begin(void)
{
    buffer = gst_buffer_new_allocate(allocator, RING_FRAME_BYTES, NULL);
    bench_require(buffer != NULL && gst_buffer_map(buffer, &map, GST_MAP_WRITE),
                  "cannot allocate a buffer");
    return map.data;
}

static void publish(void)
{
    gst_buffer_unmap(buffer, &map);
    bench_require(gst_pad_push(out_pad, buffer) == GST_FLOW_OK, "shmsink takes no buffer");
}

static void stop(void)
{
    gst_element_set_state(pipeline, GST_STATE_NULL);
}

/* Removes the socket and the first shared memory; GStreamer chooses its name. */
static void clean(const struct ring_board *board, pid_t writer)
{
    char path[sizeof board->place];
    snprintf(path, sizeof path, "/shmpipe.%5d.%5d", writer, 0);
    shm_unlink(path);
    strcpy(path, board->place);
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
}

/* ---- clients ---- */

struct reader {
    struct ring_board *board;
    unsigned index;
};

static void on_frame(GstElement *sink, GstBuffer *taken, GstPad *pad, gpointer context)
{
    struct reader *reader = context;
    GstMapInfo mapped;
    (void)sink, (void)pad;
    bench_require(gst_buffer_map(taken, &mapped, GST_MAP_READ), "cannot map a buffer");
    bench_take(reader->board, reader->index, mapped.data);
    gst_buffer_unmap(taken, &mapped);
}

static void client(struct ring_board *board, unsigned index)
{
    struct reader reader = {board, index};
    const struct timespec pause = {.tv_nsec = 200000000};
    gst_init(NULL, NULL);
    GstElement *line = gst_pipeline_new(NULL);
    GstElement *source = add(line, "shmsrc"), *sink = add(line, "fakesink");
    g_object_set(source, "socket-path", board->place, NULL);
    g_object_set(sink, "signal-handoffs", TRUE, "sync", FALSE, NULL);
    g_signal_connect(sink, "handoff", G_CALLBACK(on_frame), &reader);
    bench_require(gst_element_link(source, sink) &&
                      gst_element_set_state(line, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE,
                  "cannot run shmsrc");
    bench_ready(board);
    while (!bench_is_over(board, index))
        nanosleep(&pause, NULL);
    gst_element_set_state(line, GST_STATE_NULL);
}

const struct ring_subject ring_shmsink = {
    .name = NAME,
    .missing = missing,
    .start = start,
    .begin = begin,
    .publish = publish,
    .stop = stop,
    .client = client,
    .clean = clean,
};

#else

static const char *missing(void)
{
    return "this was built without GStreamer's headers (libgstreamer1.0-dev)";
}

const struct ring_subject ring_shmsink = {.name = NAME, .missing = missing};

#endif
