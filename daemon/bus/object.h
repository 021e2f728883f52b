/* The table of the methods and properties of org.fftd.Camera1. */
#ifndef FFTD_BUS_OBJECT_H
#define FFTD_BUS_OBJECT_H

#include "bus/peer.h"

/* Puts the object onto a connection. Returns what sd-bus does. */
int object_add(struct peer *peer);

#endif
