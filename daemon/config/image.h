/* Images of filters, found by name and kept while a chain uses them.
 *
 * A name is that of a file in $FFTD_IMAGE_DIR if that is set, otherwise of one where dirs.h says.
 * Only regular files are read.
 *
 * The same content of a file is kept once. A file that has changed is read again when a chain names
 * it the next time; chains that are in use keep the pixels that they have.
 *
 * Threads: any. Images that a thread has loaded stay until it calls config_trim_images, and longer
 * if a chain holds them. */
#ifndef FFTD_CONFIG_IMAGE_H
#define FFTD_CONFIG_IMAGE_H

#include <stdatomic.h>

#include "core/error.h"
#include "filters/filter_image.h"

/* Lets all chains find images, by filter_image_load. To be called once, before there are other
 * threads. -ENOENT: there is no such file; the text lists those that exist; -EINVAL: it is no image
 * or not a regular file; or why it cannot be read. */
void config_use_images(void);

/* Destroys images that no chain holds and no other thread has just loaded, but for the few that
 * were read last. Chains of this thread that do not hold theirs must not be used afterwards. */
void config_trim_images(void);

/* The same, without exceptions. */
void config_forget_images(void);

/* From now on, loading fails in this thread with -ECANCELED once *cancelled is true, also halfway
 * through a PNG. NULL: it does not. */
void config_cancel_images(const atomic_bool *cancelled);

#endif
