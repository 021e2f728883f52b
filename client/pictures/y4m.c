#include "y4m.h"

#include <stdbool.h>

size_t y4m_write_header(FILE *file, const struct fftd_pixel_format *layout,
                        const struct fftd_format *format, struct y4m_shape shape)
{
    /* 0:0 would mean an unknown rate, but few readers accept that. */
    bool known = format->rate_num > 0 && format->rate_den > 0;
    const int bytes = fprintf(file, "YUV4MPEG2 W%u H%u F%u:%u I%c A%u:%u C%s XCOLORRANGE=%s\n",
                              format->width, format->height, known ? format->rate_num : 30,
                              known ? format->rate_den : 1, shape.interlacing, shape.aspect_x,
                              shape.aspect_y, layout->y4m, format->full_range ? "FULL" : "LIMITED");
    return bytes > 0 ? (size_t)bytes : 0;
}

size_t y4m_row_bytes(const struct fftd_pixel_format *layout, const struct fftd_format *format)
{
    return (size_t)format->width * pixels_sample_bytes(layout);
}

static void gather_row(const struct pixels *pixels, unsigned component, uint32_t y, uint8_t *row)
{
    uint32_t width = pixels_width(pixels, component);
    const bool wide = pixels_sample_bytes(pixels->layout) > 1;
    for (uint32_t x = 0; x < width; x++) {
        unsigned sample = pixels_sample(pixels, component, x, y);
        *row++ = (uint8_t)sample;
        if (wide)
            *row++ = (uint8_t)(sample >> 8);
    }
}

void y4m_write_frame(FILE *file, const struct pixels *pixels, uint8_t *row)
{
    const size_t sample_bytes = pixels_sample_bytes(pixels->layout);
    fputs("FRAME\n", file);
    for (unsigned c = 0; c < pixels_components(pixels); c++) {
        const struct fftd_pixel_component *component = &pixels->layout->component[c];
        uint32_t width = pixels_width(pixels, c), height = pixels_height(pixels, c);
        for (uint32_t y = 0; y < height && !ferror(file); y++) {
            const uint8_t *samples = row;
            if (component->step == sample_bytes) /* adjacent in memory */
                samples = pixels->plane[component->plane] +
                          (size_t)y * pixels->stride[component->plane] + component->offset;
            else
                gather_row(pixels, c, y, row);
            fwrite(samples, sample_bytes, width, file);
        }
    }
}

void y4m_write_raw(FILE *file, const struct pixels *pixels)
{
    for (unsigned p = 0; p < pixels->format->plane_count; p++)
        for (uint32_t y = 0; y < pixels->format->plane[p].rows && !ferror(file); y++)
            fwrite(pixels->plane[p] + (size_t)y * pixels->stride[p], 1,
                   pixels->format->plane[p].row_bytes, file);
}
