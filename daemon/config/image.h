/* Images of filters, found by name and kept while a chain uses them.
 *
 * A name is that of a file in $FFTD_IMAGE_DIR if that is set. Otherwise it is looked for in
 * /etc/fftd/images, then in ../share/fftd/images beside the program, then in config/images of the
 * source tree that the program was built in. Only regular files are read.
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

/* Lets all chains find images. To be called once, before there are other threads. */
void config_use_images(void);

/* A filter_image_loader. -ENOENT: there is no such file; the text lists those that exist; -EINVAL:
 * it is no image or not a regular file; or why it cannot be read. */
int config_load_image(const struct filter_image **ret, const char *name, struct error *why);

/* Destroys images that no chain holds and no other thread has just loaded, but for the few that
 * were read last. Chains of this thread that do not hold theirs must not be used afterwards. */
void config_trim_images(void);

/* The same, without exceptions. */
void config_forget_images(void);

/* From now on, loading fails in this thread with -ECANCELED once *cancelled is true, also halfway
 * through a PNG. NULL: it does not. */
void config_cancel_images(const atomic_bool *cancelled);

#endif
