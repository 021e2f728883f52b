/* The state of one camera, as its daemon reports it on the socket control-watch. */
#ifndef FFTD_VIEW_STATUS_H
#define FFTD_VIEW_STATUS_H

#include <systemd/sd-bus.h>

#include "asked.h"
#include "fftd-ctl/json.h"

/* Answers with a JSON object, also if there is no daemon. It has no context. */
extern const struct asked_kind status_kind;

/* Writes what the properties say about the filter: its chain, its stages, the serial that it has,
 * and what the stages that adapt have found. */
void status_write_filter(struct json *json, sd_bus_message *properties);

#endif
