#include "capture/openers.h"

#include <errno.h>
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

int capture_check_memory(const struct capture *capture, enum memory_mode mode,
                         const struct frame_memory *memory, const char *sources, struct error *why)
{
    const struct fftd_format *format = &capture->format;
    if (mode == MEMORY_IMPORTED)
        return error_set(why, EOPNOTSUPP, "%s have no dma-bufs", sources);
    if (mode == MEMORY_SHARED &&
        (memory->layout.fourcc != format->fourcc || memory->layout.width != format->width ||
         memory->layout.height != format->height))
        return error_set(why, EOPNOTSUPP, "the device expects another format or size");
    return 0;
}
