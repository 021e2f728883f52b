/* The state of one camera, as its daemon reports it. */
#ifndef FFTD_VIEW_STATUS_H
#define FFTD_VIEW_STATUS_H

#include <systemd/sd-bus.h>

#include "asked.h"
#include "common/json.h"

/* Answers with a JSON object, even if there is no daemon. The context is not used. */
extern const struct asked_kind status_kind;

/* Writes the filter from the properties: its chain, stages and serial, and what adaptive stages
 * have found. */
void status_write_filter(struct json *json, sd_bus_message *properties);

#endif
