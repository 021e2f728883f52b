#include "gstreamer/caps.h"

#include "fftd/formats.h"

#define CODE(a, b, c, d)                                                                           \
    ((guint32)(a) | ((guint32)(b) << 8) | ((guint32)(c) << 16) | ((guint32)(d) << 24))
#define ROW(name, drm, v4l2, v4l2_multi, gstreamer, ...) {CODE drm, (gstreamer)},

/* GStreamer's names; NULL: it has none. */
static const struct {
    guint32 fourcc;
    const char *name;
} formats[] = {FFTD_PIXEL_FORMATS(ROW)};

/* Adds one format to a list. */
static void append(GValue *list, const char *name)
{
    GValue value = G_VALUE_INIT;
    g_value_init(&value, G_TYPE_STRING);
    g_value_set_static_string(&value, name);
    gst_value_list_append_and_take_value(list, &value);
}

GstCaps *caps_wanted(const struct gst_link_format *request)
{
    GValue list = G_VALUE_INIT;
    g_value_init(&list, GST_TYPE_LIST);
    /* A source that has any format takes the first one, so those with colour come first. */
    for (int colour = 1; colour >= 0; colour--)
        for (guint i = 0; i < G_N_ELEMENTS(formats); i++)
            if (formats[i].name != NULL &&
                (request->fourcc == 0 || request->fourcc == formats[i].fourcc) &&
                colour == !g_str_has_prefix(formats[i].name, "GRAY"))
                append(&list, formats[i].name);
    GstCaps *caps = NULL;
    if (gst_value_list_get_size(&list) > 0) {
        caps = gst_caps_new_empty_simple("video/x-raw");
        gst_caps_set_value(caps, "format", &list);
        if (request->width != 0)
            gst_caps_set_simple(caps, "width", G_TYPE_INT, (gint)request->width, "height",
                                G_TYPE_INT, (gint)request->height, NULL);
        if (request->rate_num != 0)
            gst_caps_set_simple(caps, "framerate", GST_TYPE_FRACTION, (gint)request->rate_num,
                                (gint)request->rate_den, NULL);
    }
    g_value_unset(&list);
    return caps;
}

void caps_describe(const GstVideoInfo *info, struct gst_link_format *ret)
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
