/* Measures by how much each frame has to be moved so that the picture does not shake, or so that it
 * is where the first one of its stack is (estimators/stabiliser.h). Camera's thread only.
 *
 * The motion has to be that of the frame itself, so it is measured in the path of the frame, before
 * the frame is submitted. This adds some milliseconds of latency, but only if the applied chain has
 * a stage that needs it. */
#ifndef FFTD_CAMERA_STEADY_H
#define FFTD_CAMERA_STEADY_H

#include <stdbool.h>
#include <stdint.h>

#include "designer/builder.h"
#include "capture/capture.h"
#include "filters/filter_adapt.h"
#include "filters/warp.h"

struct steady {
    bool is_on;
    struct stabiliser_options options;
    struct warp_middle middle;     /* what the chain does to pixels before it moves frames */
    struct stabiliser *stabiliser; /* NULL: not needed yet, or these frames are too small */
    struct engine_frames frames;   /* the frames that the stabiliser was made for, */
    enum stabiliser_model model;   /* and its model */
    unsigned start;                /* the start of the source that delivered the frame before */
};

/* Sets what the applied chain asks for, and what it does to pixels (filters/warp.h). Frames from
 * now on are a new stack. */
void steady_configure(struct steady *steady, const struct filter_adaptation *wanted,
                      const struct warp_middle *middle);
void steady_finish(struct steady *steady);

/* Measures a frame that is about to be submitted, and sets by what the job moves its picture. */
void steady_take(struct steady *steady, const struct engine_frames *frames,
                 const struct capture_frame *frame, struct engine_job *job);

#endif
