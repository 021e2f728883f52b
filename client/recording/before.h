/* A recording beside what a filter has made of it: reads the recording once more, in step with the
 * filtered frames, and puts each of its frames to the left of the filtered one. */
#ifndef FFTD_RECORDING_BEFORE_H
#define FFTD_RECORDING_BEFORE_H

#include "input.h"
#include "pictures/pixels.h"

struct before {
    struct input input;      /* its `why` has the reason of a failure */
    struct fftd_format wide; /* both frames side by side */
    uint8_t *frame, *both;
};

/* Opens the recording for frames of this format, behind the first `skip` ones. -errno. before_close
 * is called in any case. */
int before_open(struct before *ret, const char *path, const struct input_request *request,
                const struct fftd_format *format, uint64_t skip);

/* Makes a filtered frame the right half of a frame in the format `wide`, which is valid until the
 * next call. */
int before_put_beside(struct before *before, struct pixels *pixels);

void before_close(struct before *before);

#endif
