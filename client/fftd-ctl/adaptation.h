/* Prints what filters that adapt have found. */
#ifndef FFTD_CTL_ADAPTATION_H
#define FFTD_CTL_ADAPTATION_H

#include <systemd/sd-bus.h>

/* Prints the property Adaptation of all properties (a{sv}) as indented lines; nothing if no filter
 * adapts. 0 or -errno: the daemon sent something else. */
int adaptation_print(sd_bus_message *properties);

#endif
