/* Requests of a chain to the estimators that look at captured frames. Pure.
 *
 * Stages that adapt have H = 1. They change captured samples before the chain's response, or move
 * the whole frame, so their place in the chain does not matter. A chain has at most one of each
 * (filter_chain_check). */
#ifndef FFTD_FILTERS_FILTER_ADAPT_H
#define FFTD_FILTERS_FILTER_ADAPT_H

#include <stdbool.h>

#include "filters/adaptation.h"
#include "filters/filter.h"

struct filter_adaptation filter_chain_adaptation(const struct filter_chain *chain);

/* Sets the estimated power of the noise (blur.h) in all stages that have none of their own, if the
 * chain asks for an estimate. 0: nothing was estimated yet. */
void filter_chain_take_noise(struct filter_chain *chain, double noise);

/* Returns whether a chain needs an engine with corrections. */
bool filter_chain_adapts(const struct filter_chain *chain);

/* Returns whether a chain moves each frame by a distance of its own, so that it needs an engine
 * with shifts. */
bool filter_chain_shifts(const struct filter_chain *chain);

/* Returns whether a stage or a chain moves each frame by a similarity of its own, so that it needs
 * an engine with similarities. */
bool filter_stage_has_similarity(const struct filter_stage *stage);
bool filter_chain_has_similarity(const struct filter_chain *chain);

/* Combines what two chains ask of the estimators, which look for each thing once: as the first of
 * them says that asks for it. */
struct filter_adaptation filter_adaptation_unite(const struct filter_adaptation *a,
                                                 const struct filter_adaptation *b);

#endif
