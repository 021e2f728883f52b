/* The choice, where the user leaves it open: the format that costs the least to move and filter
 * and keeps the colour, at the driver's current size. One that can not keep up with the rate that
 * is asked for (uncompressed formats of USB cameras at large sizes) gives way to one that can,
 * even if libv4l2 has to decode that one from MJPEG. */
#include "capture/v4l2_negotiate.h"

#include <errno.h>
#include <string.h>

#include "capture/pace.h"
#include "core/text.h"

/* Best first. Luma in a plane of its own is what the filter reads; then packed 4:2:2; then what
 * has no colour; RGB, whose luma has to be computed, last. */
static const char *const preferred[] = {
    "NV12", "NV21", "NV16", "YUV420", "YVU420", "YUYV",  "UYVY",  "GREY",
    "Y10",  "Y12",  "Y16",  "XBGR32", "XRGB32", "BGR24", "RGB24",
};
#define PREFERRED_COUNT (sizeof preferred / sizeof preferred[0])

/* Lower is better; what libv4l2 has to convert comes after everything the camera itself has, and a
 * buffer for each plane after the same format in one buffer. */
static unsigned rank(const struct video_offer *offer)
{
    unsigned position = 0;
    while (position < PREFERRED_COUNT && strcmp(preferred[position], offer->info->name) != 0)
        position++;
    return (offer->emulated ? 1000 : 0) + 2 * position +
           (offer->pixelformat == offer->info->v4l2_multi ? 1 : 0);
}

/* The offers that can serve the request at all, best first; returns how many. */
static unsigned candidates(const struct video_device *device, uint32_t fourcc,
                           struct video_offer *offers)
{
    struct video_offer all[VIDEO_MAX_OFFERS];
    unsigned count = 0, all_count = video_offers(device, all);
    for (unsigned i = 0; i < all_count; i++) {
        if (all[i].info == NULL || (fourcc != 0 && all[i].info->fourcc != fourcc))
            continue;
        unsigned at = count++;
        for (; at > 0 && rank(&offers[at - 1]) > rank(&all[i]); at--)
            offers[at] = offers[at - 1];
        offers[at] = all[i];
    }
    return count;
}

static void fill_format(struct v4l2_format *format, uint32_t pixelformat, uint32_t width,
                        uint32_t height)
{
    uint32_t type = format->type;
    memset(format, 0, sizeof *format);
    format->type = type;
    if (type == V4L2_BUF_TYPE_VIDEO_CAPTURE) {
        format->fmt.pix.pixelformat = pixelformat;
        format->fmt.pix.width = width;
        format->fmt.pix.height = height;
        format->fmt.pix.field = V4L2_FIELD_ANY;
    } else {
        format->fmt.pix_mp.pixelformat = pixelformat;
        format->fmt.pix_mp.width = width;
        format->fmt.pix_mp.height = height;
        format->fmt.pix_mp.field = V4L2_FIELD_ANY;
    }
}

/* ---- what a refusal lists ---- */

static void append_sizes(const struct video_device *device, const struct video_offer *offer,
                         char *text, size_t size)
{
    struct video_size s;
    for (unsigned i = 0; i < 8 && video_next_size(device, offer->pixelformat, i, &s); i++) {
        text_append(text, size, " %ux%u", s.min_width, s.min_height);
        if (s.min_width != s.max_width || s.min_height != s.max_height)
            text_append(text, size, "..%ux%u", s.max_width, s.max_height);
        double rate = video_max_rate(device, offer->pixelformat, s.max_width, s.max_height);
        if (rate > 0.0)
            text_append(text, size, "@%.4g", rate);
    }
}

/* The formats, with the sizes of those that the request could have meant. */
static void list_offers(const struct video_device *device, uint32_t fourcc, char *text, size_t size)
{
    struct video_offer offers[VIDEO_MAX_OFFERS];
    unsigned count = video_offers(device, offers);
    text[0] = '\0';
    for (unsigned i = 0; i < count; i++) {
        char name[8];
        text_append(text, size, "%s%s", i == 0 ? "" : ", ", video_format_name(&offers[i], name));
        if (offers[i].emulated)
            text_append(text, size, " (converted)");
        if (offers[i].info != NULL && (fourcc == 0 || offers[i].info->fourcc == fourcc))
            append_sizes(device, &offers[i], text, size);
    }
    /* Cut with a sign that it was. */
    if (strlen(text) == size - 1)
        memcpy(text + size - 4, "...", 4);
}

static int refuse(const struct video_device *device, const struct capture_request *request,
                  const struct v4l2_format *nearest, struct error *why)
{
    char offered[360], size[64] = "any size", near[64] = "";
    const struct format_info *info = format_by_fourcc(request->fourcc);
    list_offers(device, nearest != NULL ? request->fourcc : 0, offered, sizeof offered);
    if (request->width != 0) {
        size[0] = '\0';
        text_append(size, sizeof size, "%ux%u", request->width, request->height);
    }
    if (nearest != NULL)
        text_append(near, sizeof near, " (nearest is %ux%u)", video_format_width(nearest),
                    video_format_height(nearest));
    return error_set(why, EINVAL, "does not offer %s at %s%s; it offers %s",
                     info != NULL           ? info->name
                     : request->fourcc != 0 ? "that format"
                                            : "a known format",
                     size, near, offered[0] != '\0' ? offered : "no format at all");
}

/* ---- the choice ---- */

int video_choose(const struct video_device *device, const struct capture_request *request,
                 struct v4l2_format *ret, struct error *why)
{
    struct v4l2_format current = {.type = device->type};
    int r = video_ioctl(device, VIDIOC_G_FMT, &current);
    if (r < 0)
        return error_set(why, -r, "VIDIOC_G_FMT: %s", strerror(-r));
    uint32_t width = request->width != 0 ? request->width : video_format_width(&current);
    uint32_t height = request->width != 0 ? request->height : video_format_height(&current);

    struct video_offer offers[VIDEO_MAX_OFFERS];
    unsigned count = candidates(device, request->fourcc, offers);
    struct v4l2_format best = {0}, nearest = {0};
    double best_rate = -1.0;
    for (unsigned i = 0; i < count; i++) {
        struct v4l2_format format = {.type = device->type};
        fill_format(&format, offers[i].pixelformat, width, height);
        struct video_layout layout;
        if (video_ioctl(device, VIDIOC_TRY_FMT, &format) < 0 ||
            video_format_pixelformat(&format) != offers[i].pixelformat ||
            video_layout(&layout, &format, why) < 0)
            continue;
        if (request->width != 0 &&
            (layout.format.width != width || layout.format.height != height)) {
            nearest = nearest.type == 0 ? format : nearest;
            continue;
        }
        double rate = video_max_rate(device, offers[i].pixelformat, layout.format.width,
                                     layout.format.height);
        /* Unknown rates are believed; 29.97 serves those who say 30. */
        if (request->rate == 0.0 || rate == 0.0 || rate >= 0.99 * request->rate) {
            *ret = format;
            return 0;
        }
        if (rate > best_rate) {
            best = format;
            best_rate = rate;
        }
    }
    if (best.type == 0)
        return refuse(device, request, nearest.type != 0 ? &nearest : NULL, why);
    *ret = best;
    return 0;
}

/* The driver takes the nearest rate it can; not every driver has a say in it. */
static void agree_on_rate(const struct video_device *device, double rate,
                          struct fftd_format *format)
{
    struct v4l2_streamparm parameters = {.type = device->type};
    struct v4l2_fract *interval = &parameters.parm.capture.timeperframe;
    format->rate_num = 0;
    format->rate_den = 1;
    if (video_ioctl(device, VIDIOC_G_PARM, &parameters) < 0)
        return;
    if (rate > 0.0 && (parameters.parm.capture.capability & V4L2_CAP_TIMEPERFRAME) != 0) {
        pace_fraction(rate, &interval->denominator, &interval->numerator);
        if (video_ioctl(device, VIDIOC_S_PARM, &parameters) < 0 &&
            video_ioctl(device, VIDIOC_G_PARM, &parameters) < 0)
            return;
    }
    if (interval->numerator != 0 && interval->denominator != 0) {
        format->rate_num = interval->denominator;
        format->rate_den = interval->numerator;
    }
}

int video_agree(const struct video_device *device, const struct v4l2_format *chosen, double rate,
                struct video_layout *ret, struct error *why)
{
    struct v4l2_format format = *chosen;
    int r = video_ioctl(device, VIDIOC_S_FMT, &format);
    if (r == -EBUSY)
        return error_set(why, EBUSY, "another program is streaming from it");
    if (r < 0)
        return error_set(why, -r, "VIDIOC_S_FMT: %s", strerror(-r));
    struct video_layout layout;
    r = video_layout(&layout, &format, why);
    if (r < 0)
        return r;
    if (video_format_pixelformat(&format) != video_format_pixelformat(chosen) ||
        video_format_width(&format) != video_format_width(chosen) ||
        video_format_height(&format) != video_format_height(chosen))
        return error_set(why, EINVAL, "accepted %ux%u, then set %ux%u", video_format_width(chosen),
                         video_format_height(chosen), layout.format.width, layout.format.height);
    /* After the format, because drivers reset the rate when that is set. */
    agree_on_rate(device, rate, &layout.format);
    *ret = layout;
    return 0;
}
