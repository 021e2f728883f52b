/* Watches the directory of a device for its return. */
#ifndef FFTD_CAPTURE_DEVICE_WATCH_H
#define FFTD_CAPTURE_DEVICE_WATCH_H

#include <stdbool.h>

/* A descriptor that becomes readable when something happens to files beside the absolute path, or
 * -1. */
int device_watch_open(const char *path);

/* Reads the pending events. Returns whether one concerns the path. Never blocks. */
bool device_watch_fired(int fd, const char *path);

#endif
