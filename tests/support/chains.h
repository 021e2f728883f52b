/* Filter chains for tests: from text, and random ones, which are reproducible by their seed. */
#ifndef FFTD_TEST_CHAINS_H
#define FFTD_TEST_CHAINS_H

#include <stdint.h>

#include "filters/filter.h"

/* Parses a chain. The test fails, with the reason, if the text is no chain. */
struct filter_chain chain_of(const char *text);

/* Writes a chain of this stage alone. */
void print_stage(const struct filter_stage *stage, char *text, size_t size);

/* Returns the next bits of xorshift64. The seed must not be 0. */
uint64_t random_bits(uint64_t *state);
double random_between(uint64_t *state, double low, double high);

/* Make a stage of this kind, or a chain of 0 .. FILTER_MAX_STAGES stages. Every parameter is in its
 * range, often at an end of it, and filter_stage_check accepts the stage. */
void random_stage(struct filter_stage *ret, const struct filter_kind *kind, uint64_t *state);
void random_chain(struct filter_chain *ret, uint64_t *state);

/* Lets chains find the images that random stages have: "even", "odd", and "levels", which is within
 * 0 .. 1. */
void chains_use_images(void);

#endif
