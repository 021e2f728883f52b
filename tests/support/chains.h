/* Random filter chains, the same ones every time. */
#ifndef FFTD_TEST_CHAINS_H
#define FFTD_TEST_CHAINS_H

#include <stdint.h>

#include "core/filter.h"

/* xorshift64: any seed but 0. */
uint64_t random_bits(uint64_t *state);
double random_between(uint64_t *state, double low, double high);

/* A stage of this kind / a chain of 0 .. FILTER_MAX_STAGES stages, every parameter within its
 * range and often at its ends, accepted by filter_stage_check. */
void random_stage(struct filter_stage *ret, const struct filter_kind *kind, uint64_t *state);
void random_chain(struct filter_chain *ret, uint64_t *state);

#endif
