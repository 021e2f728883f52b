/* The field of motion of a picture: the shift of each of its blocks since the picture before. Pure.
 *
 * Blocks of 16, 32 or 64 pixels overlap by half. Both pictures are kept at several sizes. At the
 * smallest one, phase correlation finds the highest peaks of each block (motion_search.c). From
 * there to the full size each block takes the best of the shifts of the blocks around it, and the
 * shift is improved (motion_fit.c). Blocks that lie between others which agree with each other
 * are improved, or replaced, by them (motion_repair.c).
 *
 * A cross spectrum's phase is a plane if a block is shifted. Fitting the plane with the spectrum's
 * magnitude as weights is, by Parseval's theorem, a least-squares fit to the gradient of the block,
 * which needs no transform: so the fit is done there. It follows shifts that differ within a block.
 *
 * Sources of the maths: Kuglin and Hines, Proc. IEEE Int. Conf. on Cybernetics and Society (1975),
 * for phase correlation; Stone, Orchard, Chang and Martucci, IEEE Trans. Geoscience and Remote
 * Sensing 39 (2001), for the plane; Lucas and Kanade, Proc. Int. Joint Conf. on Artificial
 * Intelligence (1981), for gradients; Scarano, Measurement Science and Technology 13 (2002), for
 * shifts that differ within a block; Westerweel and Scarano, Experiments in Fluids 39 (2005), for
 * outliers.
 *
 * Threads: a field is used by one thread at a time. */
#ifndef FFTD_ESTIMATORS_MOTION_FIELD_H
#define FFTD_ESTIMATORS_MOTION_FIELD_H

#include "core/error.h"

#define MOTION_FIELD_MIN_SIZE 32u /* pixels, of width and height; a block has to fit, too */

/* A vector is sure from this confidence on. */
#define MOTION_FIELD_SURE     0.9F

struct motion_field;

/* The middle of block (column, row) is (block / 2 + column * hop, block / 2 + row * hop), in pixels
 * from the top left corner of the picture. */
struct motion_grid {
    unsigned block, hop; /* pixels */
    unsigned columns, rows;
};

struct motion_vector {
    float dx, dy;     /* pixels by which the content has moved right and down, until it came to this
                         block; 0 while nothing is known */
    float confidence; /* the estimated probability that the vector is right to 0.1 pixel, 0 .. 1 */
};

/* The sizes at which pictures are compared, the full one first, and how many cells of 8 pixels a
 * side of their blocks has. Returns how many there are. */
#define MOTION_MAX_SCALES 4u /* at an eighth of the size, 40 pixels are 5 */
struct motion_size {
    unsigned width, height; /* pixels */
    unsigned cells;
};
unsigned motion_field_sizes(unsigned width, unsigned height, unsigned block,
                            struct motion_size ret[MOTION_MAX_SCALES]);

/* The grid of pictures of that size in blocks of that size. -EINVAL: the block is not 16, 32 or 64
 * pixels, or the picture is smaller than a block or MOTION_FIELD_MIN_SIZE. */
int motion_grid_make(struct motion_grid *ret, unsigned width, unsigned height, unsigned block,
                     struct error *why);

/* Shifts up to 40 pixels are found. -EINVAL as above, -ENOMEM. */
int motion_field_create(struct motion_field **ret, unsigned width, unsigned height, unsigned block,
                        struct error *why);
void motion_field_destroy(struct motion_field *field); /* NULL is allowed */

/* Compares a picture (width x height numbers, rows side by side, of 0 .. 255; numbers that are not
 * finite count as 0) with the one observed before. Returns columns * rows vectors, row by row,
 * which are valid until the next call. The first picture has only vectors without confidence. */
const struct motion_vector *motion_field_observe(struct motion_field *field, const float *luma);

/* Keeps a picture with which motion_field_compare() compares others, until another one is kept. The
 * vectors are as those of motion_field_observe(). A field either observes or compares. */
void motion_field_keep(struct motion_field *field, const float *luma);
const struct motion_vector *motion_field_compare(struct motion_field *field, const float *luma);

/* Forgets the last picture that was observed. */
void motion_field_reset(struct motion_field *field);

#endif
