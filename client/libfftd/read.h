/* Finds the frames of the current ring that the client has not seen yet. */
#ifndef LIBFFTD_READ_H
#define LIBFFTD_READ_H

#include "handle.h"

/* Returns whether the current ring has a newer frame than the last one returned. */
bool read_has_news(struct fftd *camera);

/* Returns whether the current ring is retired; false if there is none. */
bool read_is_retired(const struct fftd *camera);

/* Returns the map that contains a frame; NULL if it has been unmapped. */
struct map *read_find_map(struct fftd *camera, const struct fftd_frame *frame);

#endif
