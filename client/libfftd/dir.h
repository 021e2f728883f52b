/* The directories in which named cameras have their runtime directories. */
#ifndef LIBFFTD_DIR_H
#define LIBFFTD_DIR_H

#include <stdbool.h>
#include <stddef.h>

#define DIR_PLACES 3u

/* Writes the place with this index, in the order in which they are searched: /run/fftd,
 * $XDG_RUNTIME_DIR/fftd, and the private directory under /tmp. Returns whether it may be used. A
 * place of another user may not, because the sockets in it may be that user's. */
bool dir_place(unsigned index, char *path, size_t size);

#endif
