/* The rule of the V4L2 specification for formats in one buffer: planes follow one another, and the
 * length of chroma rows is `bytesperline` divided by the subsampling. Formats with a buffer for
 * each plane have separate values for each. */
#include "capture/v4l2_layout.h"

#include <errno.h>

#define UNSPECIFIED 2 /* in H.273's tables of primaries, transfer and matrix alike */

/* ---- colour ---- */

static uint8_t primaries_of(uint32_t colorspace)
{
    switch (colorspace) {
    case V4L2_COLORSPACE_REC709:
    case V4L2_COLORSPACE_SRGB:
    case V4L2_COLORSPACE_JPEG:
        return 1;
    case V4L2_COLORSPACE_470_SYSTEM_M:
        return 4;
    case V4L2_COLORSPACE_470_SYSTEM_BG:
        return 5;
    case V4L2_COLORSPACE_SMPTE170M:
        return 6;
    case V4L2_COLORSPACE_SMPTE240M:
        return 7;
    case V4L2_COLORSPACE_BT2020:
        return 9;
    case V4L2_COLORSPACE_DCI_P3:
        return 11;
    default: /* opRGB has no code point */
        return UNSPECIFIED;
    }
}

static uint8_t transfer_of(uint32_t xfer_func)
{
    switch (xfer_func) {
    case V4L2_XFER_FUNC_709:
        return 1;
    case V4L2_XFER_FUNC_SMPTE240M:
        return 7;
    case V4L2_XFER_FUNC_NONE:
        return 8;
    case V4L2_XFER_FUNC_SRGB:
        return 13;
    case V4L2_XFER_FUNC_SMPTE2084:
        return 16;
    case V4L2_XFER_FUNC_DCI_P3:
        return 17;
    default:
        return UNSPECIFIED;
    }
}

static uint8_t matrix_of(uint32_t ycbcr_enc, uint32_t colorspace)
{
    switch (ycbcr_enc) {
    case V4L2_YCBCR_ENC_601:
    case V4L2_YCBCR_ENC_XV601:
        return colorspace == V4L2_COLORSPACE_470_SYSTEM_BG ? 5 : 6;
    case V4L2_YCBCR_ENC_709:
    case V4L2_YCBCR_ENC_XV709:
        return 1;
    case V4L2_YCBCR_ENC_SMPTE240M:
        return 7;
    case V4L2_YCBCR_ENC_BT2020:
        return 9;
    case V4L2_YCBCR_ENC_BT2020_CONST_LUM:
        return 10;
    default:
        return UNSPECIFIED;
    }
}

void video_colour(struct fftd_format *format, uint32_t colorspace, uint32_t ycbcr_enc,
                  uint32_t quantization, uint32_t xfer_func)
{
    const struct format_info *info = format_by_fourcc(format->fourcc);
    bool is_rgb = info->family == FAMILY_RGB || info->family == FAMILY_MOSAIC;
    bool is_known = colorspace != V4L2_COLORSPACE_DEFAULT && colorspace != V4L2_COLORSPACE_RAW;

    if (xfer_func == V4L2_XFER_FUNC_DEFAULT && is_known)
        xfer_func = V4L2_MAP_XFER_FUNC_DEFAULT(colorspace);
    if (ycbcr_enc == V4L2_YCBCR_ENC_DEFAULT && is_known)
        ycbcr_enc = V4L2_MAP_YCBCR_ENC_DEFAULT(colorspace);
    format->primaries = primaries_of(colorspace);
    format->transfer = transfer_of(xfer_func);
    format->matrix = is_rgb ? 0 : matrix_of(ycbcr_enc, colorspace);
    if (quantization != V4L2_QUANTIZATION_DEFAULT)
        format->full_range = quantization == V4L2_QUANTIZATION_FULL_RANGE;
    else if (is_known && info->family != FAMILY_GREY) /* a grey camera uses all of its codes */
        format->full_range = V4L2_MAP_QUANTIZATION_DEFAULT(is_rgb, colorspace, ycbcr_enc) ==
                             V4L2_QUANTIZATION_FULL_RANGE;
}

/* ---- layout ---- */

static int check_stride(const struct video_layout *layout, unsigned plane, struct error *why)
{
    if (layout->stride[plane] < layout->format.plane[plane].row_bytes)
        return error_set(why, EINVAL,
                         "the driver's rows of plane %u are %u bytes long, but %u pixels need %u",
                         plane, layout->stride[plane], layout->format.width,
                         layout->format.plane[plane].row_bytes);
    return 0;
}

/* Bytes from the first one of the plane to the end of its last row. */
static size_t extent(const struct video_layout *layout, unsigned plane)
{
    const struct fftd_plane *p = &layout->format.plane[plane];
    return (size_t)layout->stride[plane] * (p->rows - 1) + p->row_bytes;
}

static int lay_one_after_another(struct video_layout *layout, uint32_t bytesperline,
                                 struct error *why)
{
    const struct format_info *info = format_by_fourcc(layout->format.fourcc);
    uint32_t luma = bytesperline != 0 ? bytesperline : layout->format.plane[0].row_bytes;
    size_t offset = 0;
    for (unsigned p = 0; p < info->plane_count; p++) {
        const struct format_plane *plane = &info->plane[p];
        uint64_t stride = ((uint64_t)luma * plane->bytes_per_pixel + plane->sub_x - 1) /
                          plane->sub_x / info->plane[0].bytes_per_pixel;
        layout->stride[p] = (uint32_t)stride;
        int r = check_stride(layout, p, why);
        if (r < 0)
            return r;
        layout->offset[p] = offset;
        layout->memory_bytes[0] = offset + extent(layout, p);
        offset += (size_t)layout->stride[p] * layout->format.plane[p].rows;
    }
    layout->memory_count = 1;
    return 0;
}

static int lay_apart(struct video_layout *layout, const struct v4l2_pix_format_mplane *pix,
                     struct error *why)
{
    unsigned count = layout->format.plane_count;
    if (pix->num_planes != count)
        return error_set(why, EINVAL, "the driver's format has %u planes, expected %u",
                         pix->num_planes, count);
    for (unsigned p = 0; p < count; p++) {
        uint32_t bytesperline = pix->plane_fmt[p].bytesperline;
        layout->stride[p] = bytesperline != 0 ? bytesperline : layout->format.plane[p].row_bytes;
        int r = check_stride(layout, p, why);
        if (r < 0)
            return r;
        layout->memory[p] = (uint8_t)p;
        layout->memory_bytes[p] = extent(layout, p);
    }
    layout->memory_count = count;
    return 0;
}

/* A driver may report no size, or less than a frame takes: then a buffer holds one frame. */
static void set_buffer_bytes(struct video_layout *layout, unsigned memory, uint32_t sizeimage)
{
    layout->buffer_bytes[memory] =
        sizeimage > layout->memory_bytes[memory] ? sizeimage : layout->memory_bytes[memory];
}

static int check_field(uint32_t field, struct error *why)
{
    if (field == V4L2_FIELD_SEQ_TB || field == V4L2_FIELD_SEQ_BT)
        return error_set(why, EINVAL,
                         "the driver stacks two fields in a buffer: expected frames, "
                         "progressive or interlaced");
    return 0;
}

static int layout_single(struct video_layout *layout, const struct v4l2_pix_format *pix,
                         const struct format_info *info, struct error *why)
{
    int r = format_layout(&layout->format, info->fourcc, pix->width, pix->height, 1, why);
    if (r == 0)
        r = check_field(pix->field, why);
    if (r == 0)
        r = lay_one_after_another(layout, pix->bytesperline, why);
    if (r < 0)
        return r;
    set_buffer_bytes(layout, 0, pix->sizeimage);
    video_colour(&layout->format, pix->colorspace, pix->ycbcr_enc, pix->quantization,
                 pix->xfer_func);
    return 0;
}

static int layout_multi(struct video_layout *layout, const struct v4l2_pix_format_mplane *pix,
                        const struct format_info *info, struct error *why)
{
    int r = format_layout(&layout->format, info->fourcc, pix->width, pix->height, 1, why);
    if (r == 0)
        r = check_field(pix->field, why);
    if (r == 0)
        r = pix->pixelformat == info->v4l2_multi
                ? lay_apart(layout, pix, why)
                : lay_one_after_another(layout, pix->plane_fmt[0].bytesperline, why);
    if (r < 0)
        return r;
    for (unsigned m = 0; m < layout->memory_count; m++)
        set_buffer_bytes(layout, m, pix->plane_fmt[m].sizeimage);
    video_colour(&layout->format, pix->colorspace, pix->ycbcr_enc, pix->quantization,
                 pix->xfer_func);
    return 0;
}

int video_layout(struct video_layout *ret, const struct v4l2_format *format, struct error *why)
{
    bool multi = format->type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE;
    uint32_t pixelformat = multi ? format->fmt.pix_mp.pixelformat : format->fmt.pix.pixelformat;
    const struct format_info *info = format_by_v4l2(pixelformat);
    if (info == NULL)
        return error_set(why, EINVAL, "pixel format 0x%08x is not supported", pixelformat);
    struct video_layout layout = {.memory_count = 0};
    int r = multi ? layout_multi(&layout, &format->fmt.pix_mp, info, why)
                  : layout_single(&layout, &format->fmt.pix, info, why);
    if (r == 0)
        *ret = layout;
    return r;
}

/* ---- counting ---- */

uint64_t video_count(struct video_count *count, uint32_t sequence)
{
    if (count->begun) {
        uint32_t step = sequence - count->last;
        count->count += step == 0 || step > UINT32_MAX / 2 ? 1 : step;
    }
    count->begun = true;
    count->last = sequence;
    return count->count;
}
