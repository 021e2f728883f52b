/* Encodes frames and their spectra as JPEG files. Only one thread may use an encoder.
 *
 * A JPEG file has Y, U and V of BT.601 in the full range. YUV frames keep their subsampling; only
 * their range and matrix are converted (ITU-T H.273, table 4). libjpeg-turbo takes RGB directly.
 * Samples with more than 8 bits are reduced to the upper 8. */
#ifndef FFTD_VIEW_ENCODER_H
#define FFTD_VIEW_ENCODER_H

#include "pictures/pixels.h"
#include "image.h"

struct encoder;

/* quality: 1 .. 100. -ENOMEM. */
int encoder_create(struct encoder **ret, int quality);
void encoder_destroy(struct encoder *encoder); /* NULL is allowed */

/* Copies a frame into the form that is encoded. The caller then checks that the frame was not
 * overwritten during the copy. -ENOMEM; -EPROTO, -EOPNOTSUPP: see pixels_from_memory. */
int encoder_load(struct encoder *encoder, const struct fftd_format *format, const uint8_t *memory);

/* Encodes the copy. The caller unrefs *ret. -ENOMEM; -EIO: libjpeg-turbo refused it. */
int encoder_picture(struct encoder *encoder, struct image **ret);

/* Encodes the spectrum of the copy's luma, or green: SPECTRUM_SIDE frequencies from -0.5 to 0.5
 * cycles per pixel each way, with zero in the middle, on a logarithmic scale of 90 dB. The caller
 * unrefs *ret. -ENOMEM; -EIO: libjpeg-turbo refused it. */
int encoder_spectrum(struct encoder *encoder, struct image **ret);

#endif
