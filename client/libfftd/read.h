/* Which frames of the current ring the client has not seen yet. */
#ifndef LIBFFTD_READ_H
#define LIBFFTD_READ_H

#include "handle.h"

/* Whether the current ring has a frame newer than the last one returned. */
bool read_has_news(struct fftd *camera);

/* Whether the current ring is retired; false if there is none. */
bool read_is_retired(const struct fftd *camera);

/* The map that a frame is in; NULL if it has been unmapped. */
struct map *read_find_map(struct fftd *camera, const struct fftd_frame *frame);

#endif
