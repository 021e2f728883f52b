/* The samples of a frame in memory, for every pixel format of fftd/formats.h. Pictures, spectra and
 * Y4M streams read frames through this. */
#ifndef FFTD_PICTURES_PIXELS_H
#define FFTD_PICTURES_PIXELS_H

#include <stddef.h>
#include <stdint.h>

#include <fftd/formats.h>
#include <fftd/ring.h>

struct fftd_frame;

/* A frame in memory. */
struct pixels {
    const struct fftd_pixel_format *layout;
    const struct fftd_format *format;
    const uint8_t *plane[FFTD_MAX_PLANES];
    uint32_t stride[FFTD_MAX_PLANES];
};

/* Return the number of components of a frame, 1 or 3, and the size of one in samples. */
unsigned pixels_components(const struct pixels *pixels);
uint32_t pixels_width(const struct pixels *pixels, unsigned component);
uint32_t pixels_height(const struct pixels *pixels, unsigned component);

/* Returns the bytes of a sample, 1 or 2. */
static inline unsigned pixels_sample_bytes(const struct fftd_pixel_format *layout)
{
    return layout->bits > 8 ? 2 : 1;
}

/* Describes frames of this format, of `size` bytes, without their memory. -EPROTO: the format
 * contradicts itself or reaches beyond them; -EOPNOTSUPP: libfftd does not know the format. */
int pixels_describe(struct pixels *ret, const struct fftd_format *format, size_t size);

/* Describes a frame in memory in the same way. */
int pixels_from_memory(struct pixels *ret, const struct fftd_format *format, const uint8_t *memory,
                       size_t size);

/* The same of a frame in the ring, which may be overwritten at any time. */
int pixels_from_frame(struct pixels *ret, const struct fftd_frame *frame);

/* Returns one sample, in its own units. x and y count samples of the component. */
static inline unsigned pixels_sample(const struct pixels *pixels, unsigned component, uint32_t x,
                                     uint32_t y)
{
    const struct fftd_pixel_component *c = &pixels->layout->component[component];
    const uint8_t *at = pixels->plane[c->plane] + (size_t)y * pixels->stride[c->plane] + c->offset +
                        (size_t)x * c->step;
    return pixels->layout->bits <= 8 ? at[0] : at[0] | (unsigned)at[1] << 8;
}

#endif
