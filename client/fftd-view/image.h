/* A picture as a file in memory, which several connections send at the same time. */
#ifndef FFTD_VIEW_IMAGE_H
#define FFTD_VIEW_IMAGE_H

#include <stddef.h>
#include <stdint.h>

struct image {
    unsigned references; /* of all threads, atomic */
    uint64_t sequence;   /* of the frame that it shows */
    uint64_t serial;     /* of the filter that made the frame */
    int64_t made_ns;     /* CLOCK_MONOTONIC */
    size_t bytes;
    uint8_t data[]; /* JPEG */
};

/* Copies data into a new image with one reference. NULL: out of memory. */
struct image *image_create(const void *data, size_t bytes);
struct image *image_ref(struct image *image);
void image_unref(struct image *image); /* NULL is allowed */

#endif
