/* The rule of the V4L2 specification for formats in one buffer: planes follow one another, and the
 * length of chroma rows is `bytesperline` divided by the subsampling. Formats with a buffer for
 * each plane have separate values for each. */
#include "capture/v4l2_layout.h"

#include <errno.h>

#define UNSPECIFIED 2 /* in H.273's tables of primaries, transfer and matrix alike */

/* ---- either kind of format ---- */

struct v4l2_pix_format_mplane video_format_pix(const struct v4l2_format *format)
{
    const struct v4l2_pix_format *one = &format->fmt.pix;
    if (format->type != V4L2_BUF_TYPE_VIDEO_CAPTURE)
        return format->fmt.pix_mp;
    return (struct v4l2_pix_format_mplane){
        .width = one->width,
        .height = one->height,
        .pixelformat = one->pixelformat,
        .field = one->field,
        .colorspace = one->colorspace,
        .plane_fmt = {{.sizeimage = one->sizeimage, .bytesperline = one->bytesperline}},
        .num_planes = 1,
        .ycbcr_enc = (uint8_t)one->ycbcr_enc,
        .quantization = (uint8_t)one->quantization,
        .xfer_func = (uint8_t)one->xfer_func,
    };
}

bool video_format_same(const struct v4l2_format *a, const struct v4l2_format *b)
{
    const struct v4l2_pix_format_mplane ours = video_format_pix(a), theirs = video_format_pix(b);
    bool same = a->type == b->type && ours.pixelformat == theirs.pixelformat &&
                ours.width == theirs.width && ours.height == theirs.height &&
                ours.num_planes == theirs.num_planes;
    for (unsigned p = 0; same && p < ours.num_planes && p < VIDEO_MAX_PLANES; p++)
        same = ours.plane_fmt[p].bytesperline == theirs.plane_fmt[p].bytesperline;
    return same;
}

bool video_format_is_jpeg(const struct v4l2_format *format)
{
    const uint32_t pixelformat = video_format_pix(format).pixelformat;
    return pixelformat == V4L2_PIX_FMT_MJPEG || pixelformat == V4L2_PIX_FMT_JPEG;
}

/* ---- colour ---- */

/* The code points of H.273; 0 in a table: there is none, for example for opRGB. */
static const uint8_t primaries[] = {
    [V4L2_COLORSPACE_REC709] = 1,        [V4L2_COLORSPACE_SRGB] = 1,
    [V4L2_COLORSPACE_JPEG] = 1,          [V4L2_COLORSPACE_470_SYSTEM_M] = 4,
    [V4L2_COLORSPACE_470_SYSTEM_BG] = 5, [V4L2_COLORSPACE_SMPTE170M] = 6,
    [V4L2_COLORSPACE_SMPTE240M] = 7,     [V4L2_COLORSPACE_BT2020] = 9,
    [V4L2_COLORSPACE_DCI_P3] = 11,
};
static const uint8_t transfers[] = {
    [V4L2_XFER_FUNC_709] = 1,   [V4L2_XFER_FUNC_SMPTE240M] = 7,  [V4L2_XFER_FUNC_NONE] = 8,
    [V4L2_XFER_FUNC_SRGB] = 13, [V4L2_XFER_FUNC_SMPTE2084] = 16, [V4L2_XFER_FUNC_DCI_P3] = 17,
};
static const uint8_t matrices[] = {
    [V4L2_YCBCR_ENC_601] = 6,
    [V4L2_YCBCR_ENC_XV601] = 6,
    [V4L2_YCBCR_ENC_709] = 1,
    [V4L2_YCBCR_ENC_XV709] = 1,
    [V4L2_YCBCR_ENC_SMPTE240M] = 7,
    [V4L2_YCBCR_ENC_BT2020] = 9,
    [V4L2_YCBCR_ENC_BT2020_CONST_LUM] = 10,
};

static uint8_t code_point(const uint8_t *table, size_t count, uint32_t value)
{
    return value < count && table[value] != 0 ? table[value] : UNSPECIFIED;
}

static uint8_t matrix_of(uint32_t ycbcr_enc, uint32_t colorspace)
{
    const uint8_t matrix = code_point(matrices, sizeof matrices, ycbcr_enc);
    return matrix == 6 && colorspace == V4L2_COLORSPACE_470_SYSTEM_BG ? 5 : matrix;
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
    format->primaries = code_point(primaries, sizeof primaries, colorspace);
    format->transfer = code_point(transfers, sizeof transfers, xfer_func);
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

int video_layout(struct video_layout *ret, const struct v4l2_format *format, struct error *why)
{
    const struct v4l2_pix_format_mplane pix = video_format_pix(format);
    const bool is_multi = format->type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE;
    const struct format_info *info = format_by_v4l2(pix.pixelformat);
    if (info == NULL)
        return error_set(why, EINVAL, "pixel format 0x%08x is not supported", pix.pixelformat);
    struct video_layout layout = {.memory_count = 0};
    int r = format_layout(&layout.format, info->fourcc, pix.width, pix.height, 1, why);
    if (r == 0)
        r = check_field(pix.field, why);
    if (r == 0)
        r = is_multi && pix.pixelformat == info->v4l2_multi
                ? lay_apart(&layout, &pix, why)
                : lay_one_after_another(&layout, pix.plane_fmt[0].bytesperline, why);
    if (r < 0)
        return r;
    for (unsigned m = 0; m < layout.memory_count; m++)
        set_buffer_bytes(&layout, m, pix.plane_fmt[m].sizeimage);
    video_colour(&layout.format, pix.colorspace, pix.ycbcr_enc, pix.quantization, pix.xfer_func);
    *ret = layout;
    return 0;
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
