/* Copies of captured frames, as estimators look at them. Plain data. */
#ifndef FFTD_OBSERVER_OBSERVED_H
#define FFTD_OBSERVER_OBSERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/mosaic.h"

/* Identifies the frames that are observed. If anything here changes, all findings are forgotten. */
struct observed_frames {
    uint64_t source_number;         /* which desired source it is (mailbox.h) */
    uint32_t fourcc, width, height; /* as captured; pixels */
    bool is_full_range;             /* as format.full_range of ring.h; always for mosaics */
    enum demosaic demosaic;         /* as the engine does it */
};

/* One observed frame: a copy of its first plane, which has all of its luma. */
struct observed_frame {
    struct observed_frames frames;
    uint8_t *bytes; /* rows of luma_row_bytes(), without gaps */
    size_t capacity;
    uint64_t number; /* counts every frame of the source, observed or not */
    unsigned start;  /* the start of the source; pictures of two starts have nothing in common */
    int64_t captured_ns;
    int64_t scene_ns; /* capture_scene_ns() */
};

#endif
