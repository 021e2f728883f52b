/* A camera's state, measures, events and picture as MQTT topics, and its filter's changes back. */
#ifndef FFTD_MQTT_BRIDGE_H
#define FFTD_MQTT_BRIDGE_H

#include "options.h"

/* Runs until a SIGINT or SIGTERM, which must be blocked. Returns an exit code. */
int bridge_run(struct bridge_options *options);

#endif
