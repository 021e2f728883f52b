/* What stages ask of the estimators that look at captured frames. Pure; filter_adapt.h, above this,
 * finds it for a chain. */
#ifndef FFTD_FILTERS_ADAPTATION_H
#define FFTD_FILTERS_ADAPTATION_H

#include <stdbool.h>

#include "filters/correction.h"
#include "filters/filter_image.h"

/* What a stage finds in captured frames and corrects. */
enum filter_adapts {
    FILTER_ADAPTS_NOT,
    FILTER_ADAPTS_WAVES,   /* periodic noise */
    FILTER_ADAPTS_FLICKER, /* flicker of light, on a rolling shutter */
    FILTER_ADAPTS_SHAKE,   /* shake of the camera: frames are moved, and no samples corrected */
};

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

#endif
