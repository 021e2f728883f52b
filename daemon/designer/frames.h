/* The frames that an engine is built for: as they are captured, and as they are published. Pure. */
#ifndef FFTD_DESIGNER_FRAMES_H
#define FFTD_DESIGNER_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "core/error.h"

struct engine_frames {
    uint32_t captured;         /* fourcc of the frames it takes */
    uint32_t width, height;    /* these frames' size, at least that of the format */
    struct fftd_format format; /* format of the frames it makes */
};

/* Describes frames that are captured in this format, and published as the configuration says.
 * -EINVAL: no engine filters such frames (recipe_check_frames). */
int engine_frames_describe(struct engine_frames *ret, const struct config *config,
                           const struct fftd_format *captured, struct error *why);

/* Returns whether an engine for one kind of frames suits the other: same pixel formats, same
 * sizes. */
bool engine_frames_equal(const struct engine_frames *a, const struct engine_frames *b);

/* Sets those settings of a recipe that say how frames are captured. */
void engine_frames_set_captured(struct recipe *recipe, const struct engine_frames *frames);

/* Sets the layout of captured frames, with rows at multiples of `align` bytes. */
int engine_frames_lay_out(struct fftd_format *ret, const struct engine_frames *frames,
                          uint32_t align, struct error *why);

#endif
