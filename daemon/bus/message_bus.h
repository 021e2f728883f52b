/* The part of org.freedesktop.DBus that clients of a message bus need. busctl, gdbus and the
 * D-Bus modules of most languages expect a bus with many programs, and begin with Hello. On the
 * control sockets there are two programs, so each connection is a bus of its own. The daemon owns
 * every name that is not a unique name, and sends all its signals without being asked. */
#ifndef FFTD_BUS_MESSAGE_BUS_H
#define FFTD_BUS_MESSAGE_BUS_H

#include "bus/peer.h"

/* Puts the object onto a connection. Returns what sd-bus returns. */
int message_bus_add(struct peer *peer);

#endif
