/* Copies of captured frames, as estimators look at them. Plain data. */
#ifndef FFTD_CAMERA_OBSERVED_H
#define FFTD_CAMERA_OBSERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which frames are observed. If anything here changes, everything that was found is forgotten. */
struct observed_frames {
    uint64_t source_number;         /* which desired source it is (mailbox.h) */
    uint32_t fourcc, width, height; /* as captured; pixels */
    bool is_full_range;             /* samples, as format.full_range of ring.h; mosaics always */
};

/* One of them: a copy of its first plane, which has all of its luma. */
struct observed_frame {
    struct observed_frames frames;
    uint8_t *bytes; /* rows of luma_row_bytes(), without gaps */
    size_t capacity;
    uint64_t number; /* +1 a frame of the source; what is between was not observed */
    unsigned start;  /* of the source; pictures before and after one have nothing in common */
    int64_t captured_ns;
};

#endif
