/* A file in memory, such as a picture, which several connections send at the same time. */
#ifndef FFTD_VIEW_IMAGE_H
#define FFTD_VIEW_IMAGE_H

#include <stddef.h>
#include <stdint.h>

struct image {
    unsigned references; /* of all threads, atomic */
    unsigned status;     /* of HTTP; unless it is 200, the file is text that says what is wrong */
    uint64_t sequence;   /* of the frame that it shows */
    uint64_t serial;     /* of the filter that made the frame */
    int64_t captured_ns; /* the frame; CLOCK_MONOTONIC, as made_ns */
    int64_t made_ns;
    uint32_t width, height;
    size_t bytes;
    uint8_t data[];
};

/* Copies data into a new image with one reference and the status 200. NULL: out of memory. */
struct image *image_create(const void *data, size_t bytes);
struct image *image_ref(struct image *image);
void image_unref(struct image *image); /* NULL is allowed */

#endif
