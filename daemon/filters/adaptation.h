/* Requests of stages to the estimators that look at captured frames. Pure; filter_adapt.h, above
 * this, collects those of a chain. */
#ifndef FFTD_FILTERS_ADAPTATION_H
#define FFTD_FILTERS_ADAPTATION_H

#include <stdbool.h>

#include "filters/blur.h"
#include "filters/correction.h"
#include "filters/filter_image.h"

/* The thing that a stage finds in captured frames and corrects. */
enum filter_adapts {
    FILTER_ADAPTS_NOT,
    FILTER_ADAPTS_WAVES,   /* periodic noise */
    FILTER_ADAPTS_FLICKER, /* flickering light, on a rolling shutter */
    FILTER_ADAPTS_SHAKE,   /* shake: frames are moved, and samples not corrected */
};

#define PERIODIC_MIN_AMPLITUDE 0.3 /* default of min_amplitude */

struct periodic_options {
    double min_amplitude; /* grey levels of 255, >= 0.05; weaker waves are not reported */
    unsigned max_waves;   /* 1 .. CORRECTION_MAX_WAVES; the strongest are returned */
};

struct flicker_options {
    double line_time_us; /* from row to row; 0: estimated */
    double frequency_hz; /* frequency of the light, twice that of the mains; 0: any, 100 and 120
                            are preferred */
};

/* What a frame is moved by. */
enum stabiliser_model {
    STABILISER_SHIFT,      /* in the spectrum */
    STABILISER_SIMILARITY, /* with rotation and zoom, as its samples are loaded */
    STABILISER_REFERENCE,  /* the same, onto the first frame of a stack; without a path */
    STABILISER_BURST,      /* the same, of frames that are blurred, each in its own way */
};

static inline bool stabiliser_stacks(enum stabiliser_model model)
{
    return model == STABILISER_REFERENCE || model == STABILISER_BURST;
}

struct stabiliser_options {
    enum stabiliser_model model;
    double time_s;   /* time constant of the smooth path, more than 0 */
    double limit_px; /* the most by which a frame is moved along each axis; rotation and zoom
                        together move a corner by at most this, too */
};

struct blur_noise_options {
    struct blur blur; /* blur of the captured picture */
    double falloff;   /* the power of the sharp one falls as f^-falloff */
};

#define FILTER_MAX_MATCHES 16 /* in a chain, and in all outputs together; FFTD_MAX_MATCHES */

/* Everything that no stage asks for is zero. */
struct filter_adaptation {
    bool removes_waves; /* auto-notch */
    struct periodic_options waves;
    bool is_frozen;
    bool removes_flicker; /* deflicker */
    struct flicker_options flicker;
    bool stabilises; /* stabilise, stack */
    struct stabiliser_options shake;
    bool estimates_noise; /* wiener */
    struct blur_noise_options noise;
    /* The images of the chain's `match` stages, in their order. match_count also counts those that
     * there is no room for, which filter_chain_check() refuses. */
    const struct filter_image *match_image[FILTER_MAX_MATCHES];
    unsigned match_count;
};

#endif
