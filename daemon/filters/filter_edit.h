/* Changes of a chain's stages, one after another. Pure.
 *
 * A stage is named by its number in the chain, counting from 1, or by its kind if only one stage is
 * of that kind. The chain is unchanged on failure. -ENOENT: there is no such stage, or more than
 * one; -EINVAL: anything else is wrong. */
#ifndef FFTD_FILTERS_FILTER_EDIT_H
#define FFTD_FILTERS_FILTER_EDIT_H

#include "core/error.h"
#include "filters/filter.h"

/* Adds a stage, given as text, as number `position`; 0: at the end. */
int filter_edit_add(struct filter_chain *chain, const char *stage, double position,
                    struct error *why);

int filter_edit_remove(struct filter_chain *chain, const char *name, struct error *why);

/* Moves a stage, so that it has number `position` afterwards. */
int filter_edit_move(struct filter_chain *chain, const char *name, double position,
                     struct error *why);

/* Sets one parameter of a stage. Whether the stage's parameters agree with each other is not
 * checked, so that several can be set: filter_edit_check does that. */
int filter_edit_set(struct filter_chain *chain, const char *name, const char *param,
                    const char *value, struct error *why);

/* Checks all stages. */
int filter_edit_check(const struct filter_chain *chain, struct error *why);

#endif
