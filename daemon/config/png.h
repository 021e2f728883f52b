/* PNG images of filters, decoded by libpng into the bytes of a PGM, which filters/filter_image.h
 * reads. Any thread. */
#ifndef FFTD_CONFIG_PNG_H
#define FFTD_CONFIG_PNG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

/* Returns whether the bytes begin with the signature of a PNG. */
bool png_is_png(const unsigned char *bytes, size_t count);

/* Decodes a PNG of any kind into a binary PGM of 8 or 16 bits, which the caller frees. Samples are
 * taken as they are, whatever gamma or profile the file names. Colours become luminance, which
 * leaves a grey picture that was saved in colour unchanged. Transparent pixels are drawn on black.
 * -EINVAL: it is damaged, or larger than images may be, or *cancelled has become true (NULL: it
 * does not); -ENOMEM. */
int png_decode(unsigned char **ret, size_t *ret_count, const char *name, const unsigned char *bytes,
               size_t count, const atomic_bool *cancelled, struct error *why);

#endif
