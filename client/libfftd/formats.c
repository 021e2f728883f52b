/* The table of pixel formats (fftd/formats.h) as programs read it. */
#include <fftd/fftd.h>

#define ROW(id, drm, single, multi, caps, colour_space, kind, size, planes, across, down, first,   \
            second, third)                                                                         \
    {                                                                                              \
        .name = #id,                                                                               \
        .gstreamer = (caps),                                                                       \
        .y4m = (colour_space),                                                                     \
        .fourcc = FFTD_FOURCC drm,                                                                 \
        .v4l2 = FFTD_FOURCC single,                                                                \
        .v4l2_multi = FFTD_FOURCC multi,                                                           \
        .family = FFTD_FAMILY_##kind,                                                              \
        .bits = (size),                                                                            \
        .plane_count = (planes),                                                                   \
        .sub_x = (across),                                                                         \
        .sub_y = (down),                                                                           \
        .component = {FFTD_COMPONENT first, FFTD_COMPONENT second, FFTD_COMPONENT third},          \
    },

static const struct fftd_pixel_format formats[] = {FFTD_PIXEL_FORMATS(ROW)};

#define FORMAT_COUNT (sizeof formats / sizeof formats[0])

const struct fftd_pixel_format *fftd_pixel_format_at(unsigned index)
{
    return index < FORMAT_COUNT ? &formats[index] : NULL;
}

const struct fftd_pixel_format *fftd_pixel_format(uint32_t fourcc)
{
    for (unsigned i = 0; i < FORMAT_COUNT; i++)
        if (formats[i].fourcc == fourcc)
            return &formats[i];
    return NULL;
}
