/* Where the components of a frame's pixels lie, for every format fftd publishes: one table, from
 * which pictures, spectra and Y4M follow. */
#ifndef FFTD_CTL_PIXELS_H
#define FFTD_CTL_PIXELS_H

#include <stddef.h>
#include <stdint.h>

#include <fftd/ring.h>

enum pixels_family { PIXELS_GREY, PIXELS_YUV, PIXELS_RGB };

/* Sample x of a row lies offset + x * step bytes into it. */
struct pixels_component {
    uint8_t plane;
    uint8_t offset;
    uint8_t step;
};

struct pixels_layout {
    uint32_t fourcc;
    const char *name; /* as configuration calls it */
    const char *y4m;  /* Y4M's colour space; NULL: it has none */
    enum pixels_family family;
    uint8_t bits;                         /* of a sample; above 8: in two bytes, little-endian */
    uint8_t sub_x, sub_y;                 /* luma pixels a chroma sample stands for */
    struct pixels_component component[3]; /* Y, U, V or R, G, B; grey: only the first */
};

/* A frame in memory. */
struct pixels {
    const struct pixels_layout *layout;
    const struct fftd_format *format;
    const uint8_t *plane[FFTD_MAX_PLANES];
    uint32_t stride[FFTD_MAX_PLANES];
};

/* NULL: a format this program does not know. */
const struct pixels_layout *pixels_layout(uint32_t fourcc);

/* Components a frame has, 1 or 3, and the size of one. */
unsigned pixels_components(const struct pixels *pixels);
uint32_t pixels_width(const struct pixels *pixels, unsigned component);
uint32_t pixels_height(const struct pixels *pixels, unsigned component);

/* Describes a frame that lies in memory as its format says. -EPROTO: the format contradicts itself
 * or would reach beyond size bytes; -EOPNOTSUPP: unknown. */
int pixels_from_memory(struct pixels *ret, const struct fftd_format *format, const uint8_t *memory,
                       size_t size);

/* One sample, in its own units. x and y count the component's own samples. */
static inline unsigned pixels_sample(const struct pixels *pixels, unsigned component, uint32_t x,
                                     uint32_t y)
{
    const struct pixels_component *c = &pixels->layout->component[component];
    const uint8_t *at = pixels->plane[c->plane] + (size_t)y * pixels->stride[c->plane] + c->offset +
                        (size_t)x * c->step;
    return pixels->layout->bits <= 8 ? at[0] : at[0] | (unsigned)at[1] << 8;
}

#endif
