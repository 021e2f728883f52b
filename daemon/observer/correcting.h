/* Corrects one frame after another: what was found in observed frames is fitted to each before it
 * is filtered. Camera's thread. */
#ifndef FFTD_OBSERVER_CORRECTING_H
#define FFTD_OBSERVER_CORRECTING_H

#include "capture/capture.h"
#include "estimators/flicker/flicker_frame.h"
#include "observer/estimators.h"

/* All zero at first. */
struct correcting {
    struct correction correction;
    float row_gain[FFTD_MAX_SIDE];
    struct wave_fit *fit;          /* NULL: no frame had waves yet */
    struct wave_model waves;       /* the model of the last frame */
    struct flicker_frame *flicker; /* NULL: no frame flickered yet */
    float *luma;
    struct observed_frames fitted; /* the frames of fit, flicker and luma */
};

/* Returns what to correct in a frame; NULL: nothing. It is valid until the next call. Without
 * memory a frame stays as it is, and the next one is tried again. */
const struct correction *correcting_fit(struct correcting *correcting,
                                        const struct observed_frames *frames,
                                        const struct wave_model *waves,
                                        const struct flicker_model *flicker,
                                        const struct capture_frame *frame);

void correcting_finish(struct correcting *correcting);

#endif
