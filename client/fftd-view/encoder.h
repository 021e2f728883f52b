/* Frames and their spectra as JPEG files. One thread uses an encoder.
 *
 * A JPEG file has Y, U and V by BT.601 in the full range. So frames of YUV keep their subsampling,
 * and only their range and matrix are converted (ITU-T H.273, table 4). RGB goes to libjpeg-turbo
 * as it is. Of samples with more than 8 bits the upper 8 are shown. */
#ifndef FFTD_VIEW_ENCODER_H
#define FFTD_VIEW_ENCODER_H

#include "fftd-ctl/pixels.h"
#include "image.h"

struct encoder;

/* quality: 1 .. 100. -ENOMEM. */
int encoder_create(struct encoder **ret, int quality);
void encoder_destroy(struct encoder *encoder); /* NULL is allowed */

/* Copies a frame, in the form in which it is encoded; the caller checks afterwards that it was not
 * overwritten meanwhile. -ENOMEM; -EPROTO, -EOPNOTSUPP: as pixels_from_memory. */
int encoder_load(struct encoder *encoder, const struct fftd_format *format, const uint8_t *memory);

/* Encodes the copy. The caller unrefs *ret. -ENOMEM; -EIO: libjpeg-turbo refuses it. */
int encoder_picture(struct encoder *encoder, struct image **ret);

/* Encodes the spectrum of the copy's luma, or green: SPECTRUM_SIDE frequencies from -0.5 to 0.5
 * cycles per pixel each way, zero in the middle, on a logarithmic scale of 90 dB. Likewise. */
int encoder_spectrum(struct encoder *encoder, struct image **ret);

#endif
