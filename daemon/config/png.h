/* PNG images of filters, decoded by libpng into the bytes of a PGM, which filters/filter_image.h
 * reads. Main thread. */
#ifndef FFTD_CONFIG_PNG_H
#define FFTD_CONFIG_PNG_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

/* Whether a file's bytes begin as those of every PNG do. */
bool png_is_png(const unsigned char *bytes, size_t count);

/* Decodes a PNG of any kind into a binary PGM of 8 or 16 bits, which the caller frees. Samples are
 * taken as they are, whatever gamma or profile the file names. Colours become luminance, so that
 * grey that was saved as colour stays what it is. What is transparent is black, as if it had not
 * been drawn. -EINVAL: it is damaged, or larger than images may be; -ENOMEM. */
int png_decode(unsigned char **ret, size_t *ret_count, const char *name, const unsigned char *bytes,
               size_t count, struct error *why);

#endif
