/* Whole frames of the test scenes, to compare with those that the pattern: source delivers. */
#ifndef FFTD_TESTS_PATTERN_FRAME_H
#define FFTD_TESTS_PATTERN_FRAME_H

#include <stdint.h>

#include "core/error.h"
#include "core/format.h"

/* Draws frame `index` of a named scene into a frame of that layout (format.h), as the pattern:
 * source delivers it. Deterministic in scene, format, index and seed. -EINVAL: no such scene; the
 * text lists them. */
int pattern_draw(const char *scene, const struct fftd_format *format, uint64_t index, uint32_t seed,
                 uint8_t *frame, struct error *why);

#endif
