/* Samples a filter chain at a plan's frequencies, in the order in which kernels read them. Pure. */
#ifndef FFTD_TRANSFORM_RESPONSE_H
#define FFTD_TRANSFORM_RESPONSE_H

#include <stddef.h>
#include <stdint.h>

#include "filters/filter.h"
#include "transform/plan.h"

/* The order of H's values: all real parts, then, if is_complex, all imaginary parts. Pairs of lines
 * (plan_pairs) are stored in groups of `lanes`, side by side. Element e of pair k is values[(k /
 * lanes * length + plan_place(e)) * lanes + k % lanes], where length is that of the second axis. */
struct response_layout {
    const struct plan *plan;
    const struct plan *loaded; /* the image's plan, if `plan` is that of a smaller picture;
                                  otherwise NULL, or the same */
    unsigned lanes;
    bool legs_apart;
    bool is_complex;
    double crop_edge; /* recipe.h */
};

/* The number of real parts: all pairs, rounded up to whole groups. */
size_t response_part_count(const struct response_layout *layout);

/* The number of floats that response_fill writes. */
size_t response_count(const struct response_layout *layout);

/* Where H of each frequency is. Fills in first[f] for each frequency f of the first axis, and
 * second[g] for each one of the second axis, both from 0 cycles per length on: H(f, g) is
 * values[first[f] + second[g]]. If first[f] has the bit RESPONSE_NEGATIVE, there is only H(-f, -g),
 * at values[first[f] - RESPONSE_NEGATIVE + second[-g]]. */
#define RESPONSE_NEGATIVE 0x80000000u
void response_places(uint32_t *first, uint32_t *second, const struct response_layout *layout);

/* sub_x and sub_y are whole numbers. -ENOMEM, only if the chain uses images. Along an axis that is
 * shorter than in layout->loaded, H has the edge and the shift of a smaller picture (transform.h).
 *
 * Sets each value to scale * H(fx, fy), without its imaginary part unless is_complex. Frequencies
 * are in cycles per luma pixel in every plane; a sample of the plane covers sub_x * sub_y luma
 * pixels. The lanes added by rounding are 0. */
int response_fill(float *values, const struct response_layout *layout,
                  const struct filter_chain *chain, double sub_x, double sub_y, double scale,
                  struct error *why);

/* The bytes of host memory that response_fill takes while it runs: 0 unless the chain uses images.
 */
uint64_t response_filling_bytes(const struct response_layout *layout,
                                const struct filter_chain *chain, double sub_x, double sub_y);

/* Returns the band of a response: the number of frequencies along the first axis, from 0 on, beyond
 * which H is negligible, also at their negatives; at least 1. A band of n frequencies is the first
 * n pairs (plan_pairs). So with rows first it is rounded up to whole legs of the last stage. H is
 * negligible up to 2^-24, or up to 2^-24 of its largest value if that is below 1: what it would add
 * to a result is about the rounding of a float of the largest sample. `values` and `scale` are
 * those of response_fill. */
uint32_t response_band(const float *values, const struct response_layout *layout, double scale);

/* Sets for each of the real parts its frequency along the axis that is transformed first and along
 * the other one, in cycles per length of the padded plane, 0 .. length - 1. The lanes added by
 * rounding have 0. */
void response_frequencies(uint16_t (*ret)[2], const struct response_layout *layout);

#endif
