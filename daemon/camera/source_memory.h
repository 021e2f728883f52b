/* The memory mode in which a source is started: how its frames reach the device. */
#ifndef FFTD_CAMERA_SOURCE_MEMORY_H
#define FFTD_CAMERA_SOURCE_MEMORY_H

#include <stdbool.h>

#include "capture/capture.h"
#include "core/error.h"
#include "core/frame_memory.h"

/* Describes the newest start of a source. */
struct source_memory {
    struct frame_memory *lent; /* by the device; NULL: none */
    enum memory_mode mode;
    struct error problem; /* why no better mode is used; empty: there is none */
    bool settled;         /* a mode was found for `lent`; no other is tried before the next open */
};

/* Starts the capture in the best mode that works; `allowed` is that mode, or MEMORY_AUTO. Errors as
 * capture_start. */
int source_memory_start(struct source_memory *memory, struct capture *capture,
                        enum memory_mode allowed, struct error *why);

#endif
