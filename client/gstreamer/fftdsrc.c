/* fftdsrc: the frames of an fftd camera in a GStreamer pipeline.
 *
 *     gst-launch-1.0 fftdsrc camera=default ! videoconvert ! autovideosink
 *
 * Zero copy: a buffer is the ring's own memory, held until the last element has released it. When
 * the daemon lends no more slots (a long queue downstream), the element copies frames instead, and
 * checks that they were not overwritten during the copy. A video meta describes where rows begin in
 * the ring. Elements that do not read it expect GStreamer's default layout; for them, frames with
 * another layout are copied.
 *
 * Time: frames have the time of their capture on CLOCK_MONOTONIC, but the pipeline may use any
 * clock. A buffer's timestamp is the pipeline's current time minus the frame's age.
 *
 * Threads: the streaming thread takes frames; any thread may free buffers. Only one thread at a
 * time may use a struct fftd, so the connection has a lock, which is never held during a wait for a
 * frame. References are counted, because buffers may outlive the element. */
#include <errno.h>
#include <string.h>

#include <gst/base/gstpushsrc.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include <fftd/fftd.h>

#include "core/clock.h"

#define PACKAGE "fftd"

GST_DEBUG_CATEGORY_STATIC(fftdsrc_debug);
#define GST_CAT_DEFAULT fftdsrc_debug

/* ---- the connection, shared by the element and its buffers ---- */

/* A box of GLib, which counts the references. */
struct shared_camera {
    GMutex lock;
    struct fftd *camera;
};

struct lent_frame {
    struct shared_camera *shared;
    struct fftd_frame frame;
};

static void shared_camera_clear(gpointer data)
{
    struct shared_camera *shared = data;
    fftd_close(shared->camera);
    g_mutex_clear(&shared->lock);
}

static void give_frame_back(gpointer data)
{
    struct lent_frame *lent = data;
    g_mutex_lock(&lent->shared->lock);
    fftd_release(lent->shared->camera, &lent->frame);
    g_mutex_unlock(&lent->shared->lock);
    g_atomic_rc_box_release_full(lent->shared, shared_camera_clear);
    g_free(lent);
}

/* ---- formats ---- */

/* Returns GST_VIDEO_FORMAT_UNKNOWN for R10 and R12, which use the low bits of 16: GStreamer has no
 * such formats. */
static GstVideoFormat format_of(const struct fftd_pixel_format *format)
{
    if (format == NULL || format->gstreamer == NULL)
        return GST_VIDEO_FORMAT_UNKNOWN;
    return gst_video_format_from_string(format->gstreamer);
}

/* Returns the caps of all formats that both fftd and GStreamer have. */
static GstCaps *make_template_caps(void)
{
    const struct fftd_pixel_format *each;
    GstVideoFormat formats[64];
    guint count = 0;
    for (guint i = 0; (each = fftd_pixel_format_at(i)) != NULL; i++)
        if (format_of(each) != GST_VIDEO_FORMAT_UNKNOWN && count < G_N_ELEMENTS(formats))
            formats[count++] = format_of(each);
    return gst_video_make_raw_caps(formats, count);
}

/* Returns whether the rate is known and GStreamer can express it as a fraction. */
static gboolean has_rate(const struct fftd_format *format)
{
    return format->rate_num > 0 && format->rate_num <= G_MAXINT && format->rate_den > 0 &&
           format->rate_den <= G_MAXINT;
}

/* Returns whether each plane has everything that GStreamer will read. libfftd has checked that
 * planes are within the frame, but not that they match the format. */
static gboolean has_planes_of(const struct fftd_format *format, const GstVideoInfo *info)
{
    if (format->plane_count != GST_VIDEO_INFO_N_PLANES(info))
        return FALSE;
    for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS(info); c++) {
        const struct fftd_plane *plane = &format->plane[GST_VIDEO_INFO_COMP_PLANE(info, c)];
        const gint row_bytes =
            GST_VIDEO_INFO_COMP_WIDTH(info, c) * GST_VIDEO_INFO_COMP_PSTRIDE(info, c);
        if (plane->row_bytes < (guint)row_bytes || plane->stride > G_MAXINT ||
            plane->rows < (guint)GST_VIDEO_INFO_COMP_HEIGHT(info, c))
            return FALSE;
    }
    return TRUE;
}

/* False: GStreamer has no such format, or the frame lacks planes that the format has. */
static gboolean describe_format(const struct fftd_format *format, GstVideoInfo *ret)
{
    const GstVideoFormat found = format_of(fftd_pixel_format(format->fourcc));
    if (found == GST_VIDEO_FORMAT_UNKNOWN ||
        !gst_video_info_set_format(ret, found, format->width, format->height) ||
        !has_planes_of(format, ret))
        return FALSE;
    for (guint i = 0; i < format->plane_count; i++) {
        ret->offset[i] = format->plane[i].offset;
        ret->stride[i] = (gint)format->plane[i].stride;
    }
    ret->size = format->frame_bytes;
    if (has_rate(format)) {
        ret->fps_n = (gint)format->rate_num;
        ret->fps_d = (gint)format->rate_den;
    }
    if (format->matrix != 2)
        ret->colorimetry.matrix = gst_video_color_matrix_from_iso(format->matrix);
    if (format->transfer != 2)
        ret->colorimetry.transfer = gst_video_transfer_function_from_iso(format->transfer);
    if (format->primaries != 2)
        ret->colorimetry.primaries = gst_video_color_primaries_from_iso(format->primaries);
    ret->colorimetry.range =
        format->full_range ? GST_VIDEO_COLOR_RANGE_0_255 : GST_VIDEO_COLOR_RANGE_16_235;
    return TRUE;
}

/* ---- the element ---- */

typedef struct {
    GstPushSrc parent;
    gchar *camera_name; /* NULL: not set */
    struct shared_camera *shared;
    GstPoll *poll;
    GstPollFD watched;
    gboolean negotiated;
    struct fftd_format format; /* the format of the current caps */
    GstVideoInfo info;         /* the layout in the ring */
    GstVideoInfo usual;        /* GStreamer's default layout */
    gboolean meta_understood;  /* downstream elements read the video meta */
    GstClockTime latency;      /* the object's lock protects it */
    gboolean measures;         /* post them; atomic */
} FftdSrc;

typedef struct {
    GstPushSrcClass parent;
} FftdSrcClass;

enum { PROPERTY_CAMERA = 1, PROPERTY_MEASURES };

#define FFTD_SRC(object) ((FftdSrc *)(object))

GType fftd_src_get_type(void);
G_DEFINE_TYPE(FftdSrc, fftd_src, GST_TYPE_PUSH_SRC) /* NOLINT(performance-no-int-to-ptr) */

/* Returns the property, else the element's name if it was set ("fftdsrc name=front"), else
 * "default". */
static gchar *choose_camera(FftdSrc *self)
{
    gchar *name;
    if (self->camera_name != NULL)
        return g_strdup(self->camera_name);
    name = gst_object_get_name(GST_OBJECT(self));
    if (!g_str_has_prefix(name, "fftdsrc"))
        return name;
    g_free(name);
    return g_strdup("default");
}

static gboolean fftd_src_start(GstBaseSrc *base)
{
    FftdSrc *self = FFTD_SRC(base);
    struct fftd *camera;
    gchar *name = choose_camera(self);
    int r = fftd_open(&camera, name);
    if (r < 0) {
        char why[256];
        fftd_explain(name, r, why, sizeof why);
        GST_ELEMENT_ERROR(self, RESOURCE, OPEN_READ,
                          ("Cannot open the camera '%s': %s.", name, why),
                          ("fftd_open: %s", g_strerror(-r)));
    }
    g_free(name);
    if (r < 0)
        return FALSE;
    self->shared = g_atomic_rc_box_new0(struct shared_camera);
    self->shared->camera = camera;
    g_mutex_init(&self->shared->lock);
    self->negotiated = FALSE;
    self->latency = 0;
    gst_poll_fd_init(&self->watched);
    self->watched.fd = fftd_fd(camera);
    gst_poll_add_fd(self->poll, &self->watched);
    gst_poll_fd_ctl_read(self->poll, &self->watched, TRUE);
    return TRUE;
}

static gboolean fftd_src_stop(GstBaseSrc *base)
{
    FftdSrc *self = FFTD_SRC(base);
    gst_poll_remove_fd(self->poll, &self->watched);
    g_atomic_rc_box_release_full(self->shared, shared_camera_clear);
    self->shared = NULL;
    return TRUE;
}

static gboolean fftd_src_unlock(GstBaseSrc *base)
{
    gst_poll_set_flushing(FFTD_SRC(base)->poll, TRUE);
    return TRUE;
}

static gboolean fftd_src_unlock_stop(GstBaseSrc *base)
{
    gst_poll_set_flushing(FFTD_SRC(base)->poll, FALSE);
    return TRUE;
}

/* Does nothing: the first frame sets the caps, since there may be no ring before it. */
static gboolean fftd_src_negotiate(GstBaseSrc *base)
{
    (void)base;
    return TRUE;
}

static gboolean adopt_format(FftdSrc *self, const struct fftd_format *format)
{
    if (self->negotiated && memcmp(&self->format, format, sizeof *format) == 0)
        return TRUE;
    if (!describe_format(format, &self->info)) {
        const struct fftd_pixel_format *known = fftd_pixel_format(format->fourcc);
        GST_ELEMENT_ERROR(self, STREAM, FORMAT,
                          ("Frames of format '%s' have no equivalent in GStreamer.",
                           known != NULL ? known->name : "unknown"),
                          ("fourcc 0x%08x", format->fourcc));
        return FALSE;
    }
    GstCaps *caps = gst_video_info_to_caps(&self->info);
    gst_video_info_from_caps(&self->usual, caps);
    /* gst_base_src_negotiate leads to decide_allocation, which sets meta_understood. */
    self->negotiated = gst_base_src_set_caps(GST_BASE_SRC(self), caps) &&
                       gst_base_src_negotiate(GST_BASE_SRC(self));
    gst_caps_unref(caps);
    self->format = *format;
    return self->negotiated;
}

static gboolean fftd_src_decide_allocation(GstBaseSrc *base, GstQuery *query)
{
    FFTD_SRC(base)->meta_understood =
        gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
    return GST_BASE_SRC_CLASS(fftd_src_parent_class)->decide_allocation(base, query);
}

static gboolean is_laid_out_as_usual(const FftdSrc *self)
{
    for (guint i = 0; i < GST_VIDEO_INFO_N_PLANES(&self->info); i++)
        if (self->info.offset[i] != self->usual.offset[i] ||
            self->info.stride[i] != self->usual.stride[i])
            return FALSE;
    return TRUE;
}

/* Copies the frame into GStreamer's default layout. Takes the buffer over. */
static GstBuffer *lay_out_as_usual(FftdSrc *self, GstBuffer *buffer)
{
    GstVideoFrame from, to;
    GstBuffer *copy = gst_buffer_new_allocate(NULL, GST_VIDEO_INFO_SIZE(&self->usual), NULL);
    if (gst_video_frame_map(&from, &self->info, buffer, GST_MAP_READ)) {
        if (gst_video_frame_map(&to, &self->usual, copy, GST_MAP_WRITE)) {
            gst_video_frame_copy(&to, &from);
            gst_video_frame_unmap(&to);
        }
        gst_video_frame_unmap(&from);
    }
    gst_buffer_unref(buffer);
    return copy;
}

/* ---- frames into buffers ---- */

/* Called with the lock. Returns NULL if the frame was overwritten during the copy. */
static GstBuffer *copy_frame(FftdSrc *self, const struct fftd_frame *frame)
{
    const guint8 *start = frame->plane[0] - frame->format->plane[0].offset;
    GstBuffer *buffer = gst_buffer_new_allocate(NULL, frame->format->frame_bytes, NULL);
    gst_buffer_fill(buffer, 0, start, frame->format->frame_bytes);
    if (fftd_frame_valid(self->shared->camera, frame))
        return buffer;
    gst_buffer_unref(buffer);
    return NULL;
}

/* Called with the lock, for a held frame. */
static GstBuffer *lend_frame(FftdSrc *self, const struct fftd_frame *frame)
{
    const gsize bytes = frame->format->frame_bytes;
    guint8 *start = (guint8 *)frame->plane[0] - frame->format->plane[0].offset;
    struct lent_frame *lent = g_new(struct lent_frame, 1);
    lent->shared = g_atomic_rc_box_acquire(self->shared);
    lent->frame = *frame;
    return gst_buffer_new_wrapped_full(GST_MEMORY_FLAG_READONLY, start, bytes, 0, bytes, lent,
                                       give_frame_back);
}

static GstClockTime period_of(const struct fftd_format *format)
{
    if (!has_rate(format))
        return GST_SECOND / 30;
    return gst_util_uint64_scale(GST_SECOND, format->rate_den, format->rate_num);
}

static GstClockTime age_of(const struct fftd_frame *frame)
{
    const GstClockTimeDiff age = clock_now_ns() - frame->captured_ns;
    return age > 0 ? (GstClockTime)age : 0;
}

/* Sinks must wait for the oldest frames. A frame that is older than the latency raises it to the
 * frame's age plus one period, so that this is rare. The message makes sinks query it again. */
static void note_latency(FftdSrc *self, GstClockTime age, GstClockTime period)
{
    gboolean grew;
    GST_OBJECT_LOCK(self);
    grew = age > self->latency;
    if (grew)
        self->latency = age + period;
    GST_OBJECT_UNLOCK(self);
    if (grew)
        gst_element_post_message(GST_ELEMENT(self), gst_message_new_latency(GST_OBJECT(self)));
}

/* Returns what a clock showed when the frame was captured: exactly if it runs on the frame's clock,
 * CLOCK_MONOTONIC, as GStreamer's own does; otherwise by the frame's age. */
static GstClockTime time_of(GstClock *clock, const struct fftd_frame *frame)
{
    GstClockType type = GST_CLOCK_TYPE_OTHER;
    if (G_OBJECT_TYPE(clock) == GST_TYPE_SYSTEM_CLOCK)
        g_object_get(clock, "clock-type", &type, NULL);
    if (type != GST_CLOCK_TYPE_MONOTONIC) {
        const GstClockTime now = gst_clock_get_time(clock), age = age_of(frame);
        return now > age ? now - age : 0;
    }
    GstClockTime internal, external, rate, base;
    gst_clock_get_calibration(clock, &internal, &external, &rate, &base);
    return gst_clock_adjust_with_calibration(clock, (GstClockTime)frame->captured_ns, internal,
                                             external, rate, base);
}

/* Returns the pipeline's running time when the frame was captured. */
static GstClockTime running_time_of(FftdSrc *self, const struct fftd_frame *frame)
{
    GstClock *clock = gst_element_get_clock(GST_ELEMENT(self));
    if (clock == NULL)
        return GST_CLOCK_TIME_NONE;
    const GstClockTime captured = time_of(clock, frame);
    const GstClockTime start = gst_element_get_base_time(GST_ELEMENT(self));
    gst_object_unref(clock);
    return captured > start ? captured - start : 0;
}

/* The measures and the matches of one frame. */
struct known {
    gboolean is_measured;
    struct fftd_measures measures;
    int matches; /* negative: there are none */
    struct fftd_match match[FFTD_MAX_MATCHES];
};

static void set_match(GstStructure *fields, int index, const struct fftd_match *match)
{
    static const char *const names[] = {"x", "y", "score"};
    const float values[] = {match->x, match->y, match->score};
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        char name[32];
        if (index == 0)
            g_snprintf(name, sizeof name, "match-%s", names[i]);
        else
            g_snprintf(name, sizeof name, "match-%d-%s", index + 1, names[i]);
        gst_structure_set(fields, name, G_TYPE_DOUBLE, (gdouble)values[i], NULL);
    }
}

/* Posts the measures of a frame: an element message "fftd-measures" with the frame's number and
 * timestamp, the fields of struct fftd_measures, and the positions and scores of matches:
 * match-x, match-y and match-score of the first template, match-2-x and so on of the others. */
static void post_measures(FftdSrc *self, const struct known *known, guint64 sequence,
                          GstClockTime timestamp)
{
    const struct fftd_measures *m = &known->measures;
    GstStructure *fields = gst_structure_new(
        "fftd-measures", "sequence", G_TYPE_UINT64, sequence, "timestamp", G_TYPE_UINT64, timestamp,
        "sharpness", G_TYPE_DOUBLE, (gdouble)m->sharpness, "noise", G_TYPE_DOUBLE,
        (gdouble)m->noise, "mean", G_TYPE_DOUBLE, (gdouble)m->mean, "clipped", G_TYPE_DOUBLE,
        (gdouble)m->clipped, "shift-x", G_TYPE_DOUBLE, (gdouble)m->shift_x, "shift-y",
        G_TYPE_DOUBLE, (gdouble)m->shift_y, "shift-confidence", G_TYPE_DOUBLE,
        (gdouble)m->shift_confidence, "flicker-hz", G_TYPE_DOUBLE, (gdouble)m->flicker_hz,
        "flicker-depth", G_TYPE_DOUBLE, (gdouble)m->flicker_depth, "peak-strength", G_TYPE_DOUBLE,
        (gdouble)m->peak_strength, "peaks", G_TYPE_UINT, (guint)m->peaks, "age", G_TYPE_UINT,
        (guint)m->age, NULL);
    for (int i = 0; i < known->matches; i++)
        set_match(fields, i, &known->match[i]);
    gst_element_post_message(GST_ELEMENT(self), gst_message_new_element(GST_OBJECT(self), fields));
}

static void label_buffer(FftdSrc *self, GstBuffer *buffer, const struct fftd_frame *frame)
{
    GstVideoInfo *info = &self->info;
    if (self->meta_understood)
        gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE,
                                       GST_VIDEO_INFO_FORMAT(info), GST_VIDEO_INFO_WIDTH(info),
                                       GST_VIDEO_INFO_HEIGHT(info), GST_VIDEO_INFO_N_PLANES(info),
                                       info->offset, info->stride);
    GST_BUFFER_PTS(buffer) = running_time_of(self, frame);
    if (info->fps_n > 0)
        GST_BUFFER_DURATION(buffer) = period_of(frame->format);
    GST_BUFFER_OFFSET(buffer) = frame->sequence;
    GST_BUFFER_OFFSET_END(buffer) = frame->sequence + 1;
    if (frame->missed > 0 || (frame->flags & FFTD_FLAG_DISCONTINUITY) != 0)
        GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
}

/* Makes a buffer of the newest frame, without waiting. Returns 1, 0 if there is no new frame, or
 * fftd_wait's error. */
static int take_frame(FftdSrc *self, GstBuffer **ret_buffer, struct fftd_frame *ret_frame,
                      struct known *ret_known)
{
    struct fftd *camera = self->shared->camera;
    GstBuffer *buffer = NULL;
    g_mutex_lock(&self->shared->lock);
    int r = fftd_wait(camera, 0);
    if (r == 1 && fftd_frame(camera, ret_frame) == 0) {
        int held = fftd_hold(camera, ret_frame);
        if (held == 0)
            buffer = lend_frame(self, ret_frame);
        else if (held == -EBUSY)
            buffer = copy_frame(self, ret_frame);
        ret_known->is_measured = fftd_frame_measures(camera, ret_frame, &ret_known->measures) == 0;
        ret_known->matches =
            fftd_frame_matches(camera, ret_frame, ret_known->match, FFTD_MAX_MATCHES);
    }
    g_mutex_unlock(&self->shared->lock);
    *ret_buffer = buffer;
    return r < 0 ? r : buffer != NULL;
}

static GstFlowReturn fftd_src_create(GstPushSrc *push, GstBuffer **ret)
{
    FftdSrc *self = FFTD_SRC(push);
    struct fftd_frame frame;
    struct known known = {.is_measured = FALSE};
    GstBuffer *buffer;
    int r;
    while ((r = take_frame(self, &buffer, &frame, &known)) != 1) {
        if (r == -EPROTO) {
            GST_ELEMENT_ERROR(self, RESOURCE, READ,
                              ("The camera's daemon came back with another protocol."), (NULL));
            return GST_FLOW_ERROR;
        }
        /* This also waits for a daemon to return: the descriptor is then readable. */
        if (gst_poll_wait(self->poll, GST_CLOCK_TIME_NONE) < 0 && errno == EBUSY)
            return GST_FLOW_FLUSHING;
    }
    note_latency(self, age_of(&frame), period_of(frame.format));
    if (!adopt_format(self, frame.format)) {
        gst_buffer_unref(buffer);
        return GST_FLOW_NOT_NEGOTIATED;
    }
    if (!self->meta_understood && !is_laid_out_as_usual(self))
        buffer = lay_out_as_usual(self, buffer);
    label_buffer(self, buffer, &frame);
    if (known.is_measured && g_atomic_int_get(&self->measures))
        post_measures(self, &known, frame.sequence, GST_BUFFER_PTS(buffer));
    *ret = buffer;
    return GST_FLOW_OK;
}

static gboolean fftd_src_query(GstBaseSrc *base, GstQuery *query)
{
    FftdSrc *self = FFTD_SRC(base);
    if (GST_QUERY_TYPE(query) != GST_QUERY_LATENCY)
        return GST_BASE_SRC_CLASS(fftd_src_parent_class)->query(base, query);
    GST_OBJECT_LOCK(self);
    GstClockTime latency = self->latency;
    GST_OBJECT_UNLOCK(self);
    if (latency == 0)
        return FALSE; /* not known before the first frame */
    gst_query_set_latency(query, TRUE, latency, GST_CLOCK_TIME_NONE);
    return TRUE;
}

/* ---- GObject ---- */

static void fftd_src_set_property(GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
    FftdSrc *self = FFTD_SRC(object);
    GST_OBJECT_LOCK(self);
    switch (id) {
    case PROPERTY_CAMERA:
        g_free(self->camera_name);
        self->camera_name = g_value_dup_string(value);
        break;
    case PROPERTY_MEASURES:
        g_atomic_int_set(&self->measures, g_value_get_boolean(value));
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
        break;
    }
    GST_OBJECT_UNLOCK(self);
}

static void fftd_src_get_property(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
    FftdSrc *self = FFTD_SRC(object);
    GST_OBJECT_LOCK(self);
    switch (id) {
    case PROPERTY_CAMERA:
        g_value_set_string(value, self->camera_name);
        break;
    case PROPERTY_MEASURES:
        g_value_set_boolean(value, self->measures);
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
        break;
    }
    GST_OBJECT_UNLOCK(self);
}

static void fftd_src_finalize(GObject *object)
{
    FftdSrc *self = FFTD_SRC(object);
    gst_poll_free(self->poll);
    g_free(self->camera_name);
    G_OBJECT_CLASS(fftd_src_parent_class)->finalize(object);
}

static void fftd_src_init(FftdSrc *self)
{
    self->poll = gst_poll_new(TRUE);
    gst_base_src_set_live(GST_BASE_SRC(self), TRUE);
    gst_base_src_set_format(GST_BASE_SRC(self), GST_FORMAT_TIME);
}

static void fftd_src_class_init(FftdSrcClass *class)
{
    GObjectClass *object = G_OBJECT_CLASS(class);
    GstBaseSrcClass *base = GST_BASE_SRC_CLASS(class);
    object->set_property = fftd_src_set_property;
    object->get_property = fftd_src_get_property;
    object->finalize = fftd_src_finalize;
    g_object_class_install_property(
        object, PROPERTY_CAMERA,
        g_param_spec_string("camera", "Camera",
                            "Name of the camera, or its runtime directory if it holds a '/'; not "
                            "set: the element's own name if it was given one, else \"default\"",
                            NULL, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS));
    g_object_class_install_property(
        object, PROPERTY_MEASURES,
        g_param_spec_boolean(
            "measures", "Measures",
            "Post an element message \"fftd-measures\" for each frame that carries "
            "measures (output.measures of fftd)",
            FALSE, G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS));
    gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(class), "fftd camera", "Source/Video",
                                          "Frequency-filtered frames from an fftd daemon", "fftd");
    GstCaps *caps = make_template_caps();
    gst_element_class_add_pad_template(
        GST_ELEMENT_CLASS(class), gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
    gst_caps_unref(caps);
    base->start = fftd_src_start;
    base->stop = fftd_src_stop;
    base->unlock = fftd_src_unlock;
    base->unlock_stop = fftd_src_unlock_stop;
    base->negotiate = fftd_src_negotiate;
    base->decide_allocation = fftd_src_decide_allocation;
    base->query = fftd_src_query;
    GST_PUSH_SRC_CLASS(class)->create = fftd_src_create;
}

static gboolean plugin_init(GstPlugin *plugin)
{
    GST_DEBUG_CATEGORY_INIT(fftdsrc_debug, "fftdsrc", 0, "fftd camera");
    return gst_element_register(plugin, "fftdsrc", GST_RANK_NONE, fftd_src_get_type());
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, fftd, "Frames of fftd cameras", plugin_init,
                  FFTD_VERSION, "MIT/X11", PACKAGE, "fftd")
