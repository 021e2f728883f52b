/* The stages of a chain as an aa{sv}, from which clients draw sliders. */
#ifndef FFTD_BUS_STAGES_H
#define FFTD_BUS_STAGES_H

#include <systemd/sd-bus.h>

#include "filters/filter.h"
#include "fftd/ring.h"

/* Appends the stages of a struct filter_chain. Returns what sd-bus returns. */
int stages_append(sd_bus_message *reply, const void *value);

/* Appends an a(sddd): the name, the column, the row and the score of each template that the chain
 * looks for. It is empty if the chain has another number of templates than there are matches, which
 * then belong to another chain. */
int stages_append_matches(sd_bus_message *reply, const struct filter_chain *chain,
                          const struct fftd_match *match, unsigned count);

#endif
