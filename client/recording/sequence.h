/* Pictures whose names differ in a number, as scan-%04d.png. */
#ifndef FFTD_RECORDING_SEQUENCE_H
#define FFTD_RECORDING_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

struct sequence {
    uint64_t first, last; /* numbers of its pictures */
    uint64_t missing;     /* the least number between them without a picture */
    bool has_gap;
};

/* Looks for the pictures of a pattern, a path whose last component has one %d or %0Nd. Returns 0;
 * -ENOENT: there are none; -EINVAL: it is another pattern; or why the directory cannot be read. */
int sequence_find(struct sequence *ret, const char *path);

#endif
