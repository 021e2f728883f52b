/* A filter chain as a file's list of groups: ( { type = "lowpass"; cutoff = 0.1; }, ... ). */
#ifndef FFTD_CONFIG_CHAIN_H
#define FFTD_CONFIG_CHAIN_H

#include "config/tree.h"
#include "core/error.h"
#include "filters/filter.h"

/* Reads the chain from a list. -EINVAL: the text begins with FILE:LINE. */
int config_chain_read(struct filter_chain *ret, const struct config_tree *tree,
                      const config_setting_t *list, struct error *why);

#endif
