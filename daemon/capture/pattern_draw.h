/* Draws the test scenes of pattern: in any format. Pure. */
#ifndef FFTD_CAPTURE_PATTERN_DRAW_H
#define FFTD_CAPTURE_PATTERN_DRAW_H

#include <stdint.h>

#include "capture/pattern_scene.h"
#include "core/error.h"
#include "core/format.h"

/* Draws the still part of a scene into a frame of that layout. -ENOMEM. */
int pattern_draw_still(const struct pattern_scene *scene, const struct fftd_format *format,
                       uint32_t seed, uint8_t *frame, struct error *why);

/* Draws frame `index` of PATTERN_NOISE. */
void pattern_draw_noise(const struct fftd_format *format, uint64_t index, uint32_t seed,
                        uint8_t *frame);

/* A rectangle of pixels; all even, so that it covers whole chroma samples. */
struct pattern_rectangle {
    uint32_t x, y, width, height;
};

/* Where the object is in frame `index`. Its size never changes; 0 x 0 if the frame is too small
 * for one. */
struct pattern_rectangle pattern_object_at(const struct fftd_format *format, uint64_t index);

/* Draws the object alone; it must not be 0 x 0. *ret_format is its layout, *ret its bytes, which
 * the caller frees. */
int pattern_draw_object(const struct fftd_format *format, struct fftd_format *ret_format,
                        uint8_t **ret, struct error *why);

/* Copies pixels from (from_x, from_y) of the frame `from` to the rectangle `where` of the frame
 * `to`. Both positions are even; sizes are odd only at the frames' edges. Both frames have the same
 * fourcc. */
void pattern_copy(uint8_t *to, const struct fftd_format *to_format, struct pattern_rectangle where,
                  const uint8_t *from, const struct fftd_format *from_format, uint32_t from_x,
                  uint32_t from_y);

/* Sets the colour description of a scene's frames: sRGB; Y'CbCr by BT.601 where it is not RGB. */
void pattern_set_colour(struct fftd_format *format);

#endif
