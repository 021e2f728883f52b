/* Changes of single stages of a chain. Pure.
 *
 * A stage is named by its number in the chain, counting from 1, or by its kind if only one stage
 * has this kind. The chain is unchanged on failure. -ENOENT: there is no such stage, or more than
 * one; -EINVAL: anything else is wrong. */
#ifndef FFTD_FILTERS_FILTER_EDIT_H
#define FFTD_FILTERS_FILTER_EDIT_H

#include "core/error.h"
#include "filters/filter.h"

/* Adds a stage, given as text. It gets the number `position`, or becomes the last one if that is 0.
 */
int filter_edit_add(struct filter_chain *chain, const char *stage, double position,
                    struct error *why);

int filter_edit_remove(struct filter_chain *chain, const char *name, struct error *why);

/* Moves a stage, so that its number becomes `position`. */
int filter_edit_move(struct filter_chain *chain, const char *name, double position,
                     struct error *why);

/* Sets one parameter of a stage. filter_edit_check then checks that parameters agree with each
 * other, so that several can be set before. */
int filter_edit_set(struct filter_chain *chain, const char *name, const char *param,
                    const char *value, struct error *why);

/* Checks all stages, and the chain. */
int filter_edit_check(const struct filter_chain *chain, struct error *why);

#endif
