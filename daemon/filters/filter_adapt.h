/* What a chain's stages ask of the estimators that look at the captured frames. Pure.
 *
 * Stages that adapt have H = 1. They change captured samples before the chain's response does, or
 * move the whole frame, so their place in the chain does not matter. A chain has at most one of
 * each (filter_chain_check).
 */
#ifndef FFTD_FILTERS_FILTER_ADAPT_H
#define FFTD_FILTERS_FILTER_ADAPT_H

#include <stdbool.h>

#include "filters/correction.h"
#include "filters/filter.h"

#define PERIODIC_MIN_AMPLITUDE 0.3 /* the default */

struct periodic_options {
    double min_amplitude; /* grey levels of 255, >= 0.05; weaker waves are not reported */
    unsigned max_waves;   /* 1 .. CORRECTION_MAX_WAVES; the strongest are returned */
};

struct flicker_options {
    double line_time_us; /* between rows; 0: estimated */
    double frequency_hz; /* of the light, twice that of the mains; 0: the better of 100 and 120 */
};

struct stabiliser_options {
    double time_s;   /* time constant of the smooth path, more than 0 */
    double limit_px; /* the most by which a frame is moved along each axis */
};

/* Whatever is off is zero. */
struct filter_adaptation {
    bool removes_waves; /* auto-notch */
    struct periodic_options waves;
    bool is_frozen;
    bool removes_flicker; /* deflicker */
    struct flicker_options flicker;
    bool stabilises; /* stabilise */
    struct stabiliser_options shake;
    const struct filter_image *match_image; /* of the first `match`, for measures; the chain's */
};

struct filter_adaptation filter_chain_adaptation(const struct filter_chain *chain);

/* Whether a chain needs an engine with corrections. */
bool filter_chain_adapts(const struct filter_chain *chain);

/* Whether a chain moves each frame by another distance, so that it needs an engine with shifts. */
bool filter_chain_stabilises(const struct filter_chain *chain);

#endif
