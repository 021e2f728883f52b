/* Home Assistant's MQTT discovery: a retained message for each entity of a camera, so that it
 * appears there by itself (https://www.home-assistant.io/integrations/mqtt, "MQTT discovery"). */
#ifndef FFTD_MQTT_DISCOVERY_H
#define FFTD_MQTT_DISCOVERY_H

#include <systemd/sd-bus.h>

#include "options.h"

/* Publishes what the options offer: sensors, a picture, and a choice of presets, whose names the
 * daemon on `bus` says. */
void discovery_publish(struct broker *broker, const struct bridge_options *options, sd_bus *bus);

#endif
