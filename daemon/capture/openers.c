#include "capture/openers.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/text.h"

void capture_describe(struct capture *capture, const char *format, ...)
{
    char what[96];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);

    const struct fftd_format *f = &capture->format;
    const struct format_info *info = format_by_fourcc(f->fourcc);
    char rate[TEXT_NUMBER_BYTES + 16] = "";
    if (capture->unpaced)
        snprintf(rate, sizeof rate, ", unpaced");
    else if (f->rate_num != 0)
        snprintf(rate, sizeof rate, " at %.4g fps", (double)f->rate_num / f->rate_den);
    snprintf(capture->description, sizeof capture->description, "%s, %s %ux%u%s", what, info->name,
             f->width, f->height, rate);
}

void capture_fill_frame(struct capture_frame *ret, const struct fftd_format *format,
                        const uint8_t *pixels)
{
    struct capture_frame frame = {.memory = -1};
    for (unsigned p = 0; p < format->plane_count; p++) {
        frame.plane[p] = pixels + format->plane[p].offset;
        frame.stride[p] = format->plane[p].stride;
    }
    *ret = frame;
}
