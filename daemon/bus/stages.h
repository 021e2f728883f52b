/* The stages of a chain as an aa{sv}, from which clients draw sliders. */
#ifndef FFTD_BUS_STAGES_H
#define FFTD_BUS_STAGES_H

#include <systemd/sd-bus.h>

/* Appends the stages of a struct filter_chain. Returns what sd-bus returns. */
int stages_append(sd_bus_message *reply, const void *value);

#endif
