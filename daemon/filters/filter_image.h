/* Images that filters are made of: kernels, point spreads, templates, masks, and dark and flat
 * frames. Pure.
 *
 * A chain names an image, and config/image.h finds and reads the file of that name. What was read
 * never changes: all copies of a chain share it, and any thread may read it. Another content of the
 * same file is another struct filter_image.
 *
 * Lifetime. config/image.h keeps every image, and destroys only those that nobody holds. So a chain
 * that outlives one call of the main thread has to hold its images (filter_chain_hold in filter.h);
 * a chain on the stack need not.
 *
 * Formats, recognized by their first bytes:
 *     P5, P2   PGM, 8 or 16 bits, binary or text; white (the header's maximum) becomes 1, black 0
 *     Pf       PFM, 32-bit floats, also negative ones; rows from the bottom to the top
 *     text     rows of numbers, separated by spaces, tabs or commas; # begins a comment
 * config/png.h makes PGM of PNG. Sources: the manual pages pgm(5) and pfm(5) of Netpbm. A PFM's
 * scale factor is not applied. */
#ifndef FFTD_FILTERS_FILTER_IMAGE_H
#define FFTD_FILTERS_FILTER_IMAGE_H

#include <complex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

#define FILTER_IMAGE_NAME_BYTES  64          /* a name, with its final zero byte */
#define FILTER_IMAGE_MAX_SIDE    8192        /* px; that of a frame, FFTD_MAX_SIDE */
#define FILTER_IMAGE_MAX_PIXELS  (1u << 24)  /* 4096 x 4096 */
#define FILTER_IMAGE_MAX_BYTES   (65u << 20) /* of a file: these as floats, and a header */
#define FILTER_IMAGE_MAX_TEXT    (1u << 20)  /* of a file of rows of numbers */
#define FILTER_IMAGE_MAX_NUMBER  1e6         /* the greatest magnitude of a pixel */
#define FILTER_IMAGE_KERNEL_SIDE 255         /* px; of what is summed pixel by pixel */

struct filter_image {
    char name[FILTER_IMAGE_NAME_BYTES];
    unsigned columns, rows;
    double sum, square_sum; /* of all pixels, and of their squares */
    atomic_uint holders;
    float pixel[]; /* row by row, from the top */
};

/* Makes an image of a file's bytes. -EINVAL: they are no image; -ENOMEM. */
int filter_image_parse(struct filter_image **ret, const char *name, const void *bytes, size_t count,
                       struct error *why);
void filter_image_destroy(struct filter_image *image); /* NULL is allowed */

/* Whether both have the same name, size and pixels. Two NULLs are equal. */
bool filter_image_equal(const struct filter_image *a, const struct filter_image *b);

/* Whether an image is the same on opposite sides of its middle pixel, and 0 where it ends. */
bool filter_image_is_symmetric(const struct filter_image *image);

/* Any thread that has an image which is held, or which the main thread has just loaded. NULL is
 * allowed. */
void filter_image_hold(const struct filter_image *image);
void filter_image_drop(const struct filter_image *image);
bool filter_image_is_held(const struct filter_image *image);

/* Whether a name can be that of an image: letters, digits and . _ -, at most 63 of them, and not
 * beginning with a dot or a dash. So it never leads out of a directory. */
bool filter_image_is_name(const char *name);

/* exp(-2 pi i turns). */
double complex filter_phase(double turns);

/* The sum of pixel(x, y) exp(-2 pi i (fx x + fy y)), x and y counted from the top left pixel, fx
 * and fy in cycles per pixel. For images of at most FILTER_IMAGE_KERNEL_SIDE columns. */
double complex filter_image_transform(const struct filter_image *image, double fx, double fy);

/* Finds an image by its name. The loader is set once, before there are other threads; without one,
 * no chain can use images. ret is untouched on failure. */
typedef int filter_image_loader(const struct filter_image **ret, const char *name,
                                struct error *why);
void filter_image_set_loader(filter_image_loader *with);
int filter_image_load(const struct filter_image **ret, const char *name, struct error *why);

#endif
