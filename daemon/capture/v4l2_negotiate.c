/* Where the user leaves the choice open, the cheapest format to move and filter that has colour is
 * chosen, at the driver's current size. A format that is too slow for the requested rate (as
 * uncompressed formats of USB cameras are at large sizes) is passed over for one that is not, even
 * if libv4l2 has to decode that one from MJPEG. */
#include "capture/v4l2_negotiate.h"

#include <errno.h>
#include <string.h>

#include "capture/pace.h"
#include "core/text.h"

/* Best first; all others come after these in the table's order. */
static const char *const preferred[] = {
    "NV12", "NV21", "NV16", "YUV420", "YVU420", "YUYV",  "UYVY",  "GREY",
    "Y10",  "Y12",  "Y16",  "XBGR32", "XRGB32", "BGR24", "RGB24",
};
#define PREFERRED_COUNT (sizeof preferred / sizeof preferred[0])

const char *video_merit(const struct format_info *info)
{
    switch (info->kind) {
    case SAMPLE_U8:
        if (info->step > 1)
            return "every other byte is luma, so half of the bytes read are not filtered";
        return info->plane_count > 1 ? "luma has its own plane, and only that plane is read"
                                     : "luma alone, one byte a pixel";
    case SAMPLE_U16:
        return "luma alone, two bytes a pixel";
    case SAMPLE_RGB8:
        return "RGB, from which luma has to be computed";
    case SAMPLE_BAYER:
        return "a sensor's mosaic, which is demosaiced on the GPU and published as XBGR32";
    case SAMPLE_F32:
        break;
    }
    return "";
}

/* Lower is better. Formats that libv4l2 converts come after all of the camera's own. If a format is
 * offered with a buffer for each plane and in a single buffer, the first is preferred on
 * multi-planar devices and the second on others. */
static unsigned rank(const struct video_device *device, const struct video_offer *offer)
{
    unsigned position = 0;
    while (position < PREFERRED_COUNT && strcmp(preferred[position], offer->info->name) != 0)
        position++;
    if (position == PREFERRED_COUNT) {
        unsigned count;
        position += (unsigned)(offer->info - format_table(&count));
    }
    bool apart = offer->pixelformat == offer->info->v4l2_multi;
    return (offer->emulated ? 1000 : 0) + 2 * position + (apart != device->multi ? 1 : 0);
}

/* The offers that match the request's format, best first; returns their number. */
static unsigned candidates(const struct video_device *device, uint32_t fourcc,
                           struct video_offer *offers)
{
    struct video_offer all[VIDEO_MAX_OFFERS];
    unsigned count = 0, all_count = video_offers(device, all);
    for (unsigned i = 0; i < all_count; i++) {
        if (all[i].info == NULL || (fourcc != 0 && all[i].info->fourcc != fourcc))
            continue;
        unsigned at = count++;
        for (; at > 0 && rank(device, &offers[at - 1]) > rank(device, &all[i]); at--)
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

/* ---- signals ---- */

static bool has_timings(const struct video_device *device)
{
    struct v4l2_input input = {.index = 0};
    int index;
    if (video_ioctl(device, VIDIOC_G_INPUT, &index) < 0)
        return false;
    input.index = (uint32_t)index;
    return video_ioctl(device, VIDIOC_ENUMINPUT, &input) == 0 &&
           (input.capabilities & V4L2_IN_CAP_DV_TIMINGS) != 0;
}

static int refuse_signal(int result, struct error *why)
{
    const char *reason = strerror(-result);
    if (result == -ENOLINK)
        reason = "nothing is connected, or it sends no signal";
    else if (result == -ENOLCK)
        reason = "the signal is not stable";
    else if (result == -ERANGE)
        reason = "the device cannot capture its timings";
    return error_set(why, ENOLINK, "no signal at its input: %s", reason);
}

/* Setting timings may itself raise a change event, as vivid does. Events until now can be dropped
 * if the signal still has the timings that were set. */
static int forget_changes(const struct video_device *device, const struct v4l2_dv_timings *set,
                          struct error *why)
{
    struct v4l2_event event = {.pending = 1};
    struct v4l2_dv_timings now = {.type = 0};
    while (event.pending > 0 && video_ioctl(device, VIDIOC_DQEVENT, &event) == 0)
        continue;
    int r = video_ioctl(device, VIDIOC_QUERY_DV_TIMINGS, &now);
    if (r == 0 && (now.bt.width != set->bt.width || now.bt.height != set->bt.height ||
                   now.bt.interlaced != set->bt.interlaced))
        r = -ENOLCK;
    return r < 0 ? refuse_signal(r, why) : 0;
}

int video_take_signal(const struct video_device *device, struct error *why)
{
    struct v4l2_event_subscription changes = {.type = V4L2_EVENT_SOURCE_CHANGE};
    struct v4l2_dv_timings timings = {.type = 0};
    if (!has_timings(device))
        return 0;
    /* First, so that no change is missed. Without events a change shows as a stalled camera. */
    video_ioctl(device, VIDIOC_SUBSCRIBE_EVENT, &changes);
    int r = video_ioctl(device, VIDIOC_QUERY_DV_TIMINGS, &timings);
    if (r == -ENOTTY || r == -ENODATA) /* it cannot measure the signal: keep the current timings */
        return 0;
    if (r < 0)
        return refuse_signal(r, why);
    r = video_ioctl(device, VIDIOC_S_DV_TIMINGS, &timings);
    if (r == -EBUSY)
        return error_set(why, EBUSY, "another program is streaming from it");
    if (r < 0)
        return error_set(why, -r, "VIDIOC_S_DV_TIMINGS: %s", strerror(-r));
    return forget_changes(device, &timings, why);
}

/* ---- refusals ---- */

/* The device has the requested format, or some supported one, but not at that size. */
static int refuse_size(const struct video_device *device, const struct capture_request *request,
                       const struct v4l2_format *nearest, struct error *why)
{
    char sizes[300];
    uint32_t pixelformat = video_format_pix(nearest).pixelformat;
    const char *name = format_by_v4l2(pixelformat)->name;
    video_sizes(device, pixelformat, sizes, sizeof sizes);
    return error_set(why, EINVAL, "does not offer %s at %ux%u: the nearest is %ux%u%s%s", name,
                     request->width, request->height, video_format_pix(nearest).width,
                     video_format_pix(nearest).height, sizes[0] != '\0' ? "; it offers " : "",
                     sizes);
}

static int refuse_format(const struct video_device *device, const struct capture_request *request,
                         struct error *why)
{
    struct video_offer offers[VIDEO_MAX_OFFERS];
    unsigned count = video_offers(device, offers), usable = 0;
    char ours[200] = "", others[200] = "";
    for (unsigned i = 0; i < count; i++) {
        char name[8];
        if (offers[i].info != NULL)
            text_append(ours, sizeof ours, "%s%s", usable++ == 0 ? "" : ", ", offers[i].info->name);
        else
            text_append(others, sizeof others, " %s", video_format_name(&offers[i], name));
    }
    const struct format_info *info = format_by_fourcc(request->fourcc);
    if (usable == 0)
        return error_set(why, EINVAL, "offers no format that fftd supports, only%s",
                         others[0] != '\0' ? others : " none");
    return error_set(why, EINVAL, "does not offer %s: expected one of %s",
                     info != NULL ? info->name : "that format", ours);
}

/* ---- the choice ---- */

int video_choose(const struct video_device *device, const struct capture_request *request,
                 struct v4l2_format *ret, struct error *why)
{
    struct v4l2_format current = {.type = device->type};
    int r = video_ioctl(device, VIDIOC_G_FMT, &current);
    if (r < 0)
        return error_set(why, -r, "VIDIOC_G_FMT: %s", strerror(-r));
    uint32_t width = request->width != 0 ? request->width : video_format_pix(&current).width;
    uint32_t height = request->width != 0 ? request->height : video_format_pix(&current).height;

    struct video_offer offers[VIDEO_MAX_OFFERS];
    unsigned count = candidates(device, request->fourcc, offers);
    struct v4l2_format best = {0}, nearest = {0};
    double best_rate = -1.0;
    for (unsigned i = 0; i < count; i++) {
        struct v4l2_format format = {.type = device->type};
        fill_format(&format, offers[i].pixelformat, width, height);
        struct video_layout layout;
        if (video_ioctl(device, VIDIOC_TRY_FMT, &format) < 0 ||
            video_format_pix(&format).pixelformat != offers[i].pixelformat ||
            video_layout(&layout, &format, why) < 0)
            continue;
        if (request->width != 0 &&
            (layout.format.width != width || layout.format.height != height)) {
            nearest = nearest.type == 0 ? format : nearest;
            continue;
        }
        double rate = video_max_rate(device, offers[i].pixelformat, layout.format.width,
                                     layout.format.height);
        /* Unknown rates are accepted; 29.97 satisfies a request for 30. */
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
        return nearest.type != 0 ? refuse_size(device, request, &nearest, why)
                                 : refuse_format(device, request, why);
    *ret = best;
    return 0;
}

/* The driver sets the nearest rate it can; not every driver can set one. */
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

/* libv4l2 copies JPEG's luma and chroma unchanged, in full range. The driver's colour description
 * does not apply to them. */
static void correct_range(const struct video_device *device, struct fftd_format *format)
{
    struct v4l2_format native;
    if (!device->converted || video_native_format(device, &native, NULL) < 0)
        return;
    if (video_format_is_jpeg(&native))
        format->full_range = 1;
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
    if (video_format_pix(&format).pixelformat != video_format_pix(chosen).pixelformat ||
        video_format_pix(&format).width != video_format_pix(chosen).width ||
        video_format_pix(&format).height != video_format_pix(chosen).height)
        return error_set(why, EINVAL, "accepted %ux%u, then set %ux%u",
                         video_format_pix(chosen).width, video_format_pix(chosen).height,
                         layout.format.width, layout.format.height);
    /* After the format, because drivers reset the rate when that is set. */
    agree_on_rate(device, rate, &layout.format);
    correct_range(device, &layout.format);
    *ret = layout;
    return 0;
}
