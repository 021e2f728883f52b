/* A file in memory, such as a picture or a JSON object, which several connections may send at the
 * same time. */
#ifndef FFTD_VIEW_IMAGE_H
#define FFTD_VIEW_IMAGE_H

#include <stddef.h>
#include <stdint.h>

struct image {
    unsigned references; /* atomic; counts those of all threads */
    unsigned status;     /* HTTP status; if it is not 200, the file says what is wrong */
    uint64_t sequence;   /* the sequence number of the frame that it shows; 0: it shows none */
    uint64_t serial;     /* the serial of the filter that made the frame */
    int64_t captured_ns; /* when the frame was captured; CLOCK_MONOTONIC */
    int64_t made_ns;     /* when the image was made; CLOCK_MONOTONIC */
    uint32_t width, height;
    size_t bytes;
    uint8_t data[];
};

/* Copies data into a new image with one reference and the status 200. NULL: out of memory. */
struct image *image_create(const void *data, size_t bytes);

/* Creates an image that says what is wrong, in one line, which is cut to fit. NULL: out of memory.
 */
#define IMAGE_ERROR_BYTES 1024
struct image *image_error(unsigned status, const char *what);

struct image *image_ref(struct image *image);
void image_unref(struct image *image); /* NULL is allowed */

#endif
