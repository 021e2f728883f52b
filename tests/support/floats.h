/* Images of floats, with which a transform is tested alone. */
#ifndef FFTD_TESTS_FLOATS_H
#define FFTD_TESTS_FLOATS_H

#include <stdint.h>

#include "transform/transform.h"

/* `count` images of this size, one behind the other, without gaps. */
struct transform_image floats_image(uint32_t width, uint32_t height, unsigned count);

/* The same as smaller pictures of `image`, whose result they become. */
void floats_make_smaller(struct transform_image *image, uint32_t width, uint32_t height);

/* Forms of a transform with the settings of `tuning`: one lane with rows first and with columns
 * first, and several lanes; in groups of one and of more items, with and without gaps, held in
 * registers and not; in float and in half precision. */
#define FLOATS_FORMS 6
void floats_forms(struct transform_tuning ret[FLOATS_FORMS], const struct transform_tuning *tuning);

#endif
