/* Images for filters: kernels, point spreads, templates, masks, dark and flat frames, and tables of
 * moved pixels. Pure.
 *
 * A chain names an image, and config/image.h finds and reads the file of that name. An image never
 * changes after it was read, so all copies of a chain share it, and any thread may read it. If the
 * file changes, it is read into another struct filter_image.
 *
 * config/image.h keeps all images, and destroys those that nobody holds. A chain that outlives the
 * call for which it was parsed has to hold its images (filter_chain_hold in filter.h). A chain on
 * the stack of the thread that has loaded them need not.
 *
 * Files are recognized by their first bytes:
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
#define FILTER_IMAGE_MAX_SIDE    8192        /* px, as for a frame: FFTD_MAX_SIDE */
#define FILTER_IMAGE_MAX_PIXELS  (1u << 24)  /* 4096 x 4096 */
#define FILTER_IMAGE_MAX_BYTES   (65u << 20) /* largest file: a header, and these as floats */
#define FILTER_IMAGE_MAX_TEXT    (1u << 20)  /* largest file of rows of numbers */
#define FILTER_IMAGE_MAX_NUMBER  1e6         /* the greatest magnitude of a pixel */
#define FILTER_IMAGE_KERNEL_SIDE 255         /* px, for images that are summed pixel by pixel */

struct filter_image {
    char name[FILTER_IMAGE_NAME_BYTES];
    unsigned columns, rows;
    double sum, square_sum; /* sums over all pixels, and over their squares */
    /* Sums over all pixels of the squared difference from the next one, which after the last one is
     * the first. */
    double slopes_along_rows, slopes_along_columns;
    float lowest, highest; /* among all pixels */
    atomic_uint holders;
    float pixel[]; /* row by row, from the top */
};

/* Makes an image from a file's bytes. -EINVAL: they are no image; -ENOMEM. */
int filter_image_parse(struct filter_image **ret, const char *name, const void *bytes, size_t count,
                       struct error *why);
void filter_image_destroy(struct filter_image *image); /* NULL is allowed */

/* Returns whether both have the same name, size and pixels. Two NULLs are equal. */
bool filter_image_equal(const struct filter_image *a, const struct filter_image *b);

/* Returns whether an image is the same on opposite sides of its middle pixel; beyond its edges it
 * is 0. */
bool filter_image_is_symmetric(const struct filter_image *image);

/* Any thread may call these with an image that is held, or that it has just loaded. NULL is
 * allowed, except for filter_image_is_held. */
void filter_image_hold(const struct filter_image *image);
void filter_image_drop(const struct filter_image *image);
bool filter_image_is_held(const struct filter_image *image);

/* Returns whether a name can be that of an image: letters, digits and . _ -, at most 63 of them,
 * and not a dot or a dash at the beginning. Such a name never leads out of a directory. */
bool filter_image_is_name(const char *name);

/* Returns exp(-2 pi i turns). */
double complex filter_phase(double turns);

/* Returns the sum of pixel(x, y) exp(-2 pi i (fx x + fy y)). x and y count from the top left pixel;
 * fx and fy are in cycles per pixel. The image has at most FILTER_IMAGE_KERNEL_SIDE columns. */
double complex filter_image_transform(const struct filter_image *image, double fx, double fy);

/* Finds an image by its name. The loader is set once, before there are other threads. Without one,
 * no chain can use images. ret is untouched on failure. */
typedef int filter_image_loader(const struct filter_image **ret, const char *name,
                                struct error *why);
void filter_image_set_loader(filter_image_loader *with);
int filter_image_load(const struct filter_image **ret, const char *name, struct error *why);

#endif
