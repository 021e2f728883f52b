/* Values on the bus that several methods send. These functions return what sd-bus does. */
#ifndef FFTD_BUS_VALUE_H
#define FFTD_BUS_VALUE_H

#include <systemd/sd-bus.h>

#include "filters/filter.h"
#include "fftd/ring.h"

/* Replaces bytes that are not UTF-8 by '?' and cuts to size. D-Bus closes a connection that carries
 * other text, and the name of a device or a truncated message may be such text. Returns `clean`. */
#define VALUE_TEXT_BYTES FILTER_TEXT_BYTES /* no text on the bus is longer than a filter */
const char *value_clean_text(char clean[VALUE_TEXT_BYTES], const char *text);

/* Append text that goes through value_clean_text: as it is, or as {sv}. */
int value_append_text(sd_bus_message *reply, const char *text);
int value_append_named_text(sd_bus_message *reply, const char *name, const char *text);

/* Appends a frame format as a{sv}; empty while no format is known. captured: the fourcc of the
 * frames that it is published for; filter_serial: the filter of one frame of it. 0: left out. */
int value_append_format(sd_bus_message *reply, const struct fftd_format *format, uint32_t captured,
                        uint64_t filter_serial);

/* Closes the `count` innermost containers. */
int value_close_containers(sd_bus_message *reply, unsigned count);

#endif
