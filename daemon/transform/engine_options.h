/* The settings of the FFT filter engine (engine/engine.h). The configuration fills them in and the
 * engine reads them; neither depends on the other. */
#ifndef FFTD_TRANSFORM_ENGINE_OPTIONS_H
#define FFTD_TRANSFORM_ENGINE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "filters/curve.h"
#include "filters/denoise.h"
#include "core/format.h"
#include "transform/plan.h"
#include "filters/view.h"

enum engine_precision { ENGINE_FLOAT, ENGINE_HALF };
/* The planes that are filtered: luma, while colour passes through; all planes; luma, and colour is
 * not published (format_luma). */
enum engine_planes { ENGINE_LUMA, ENGINE_ALL, ENGINE_LUMA_ONLY };
enum engine_technique { ENGINE_AUTO, ENGINE_FUSED, ENGINE_STAGED };
enum engine_tune { ENGINE_TUNE_OFF, ENGINE_TUNE_AUTO, ENGINE_TUNE_EXHAUSTIVE };

struct engine_options {
    enum engine_precision precision;
    enum engine_planes planes;
    enum engine_technique technique;
    enum engine_tune tune;
    enum plan_border border;
    double border_value;   /* PLAN_CONSTANT: sample value outside the image, 0 .. 1 of full scale */
    int margin;            /* pixels added to each axis at least; -1: from the filter's support */
    unsigned in_flight;    /* frames in flight at once, 1 .. ENGINE_MAX_IN_FLIGHT */
    uint32_t source;       /* fourcc of captured frames if it differs from the published one
                              (engine_published); otherwise 0 */
    bool complex_response; /* for filters that filter_chain_is_complex names; costs more memory
                              traffic */
    bool corrections;      /* for jobs with a correction; costs time in every frame's load */
    bool calibrated;       /* for filters that calibration_is_needed names; reads a table with each
                              frame */
    bool warped;           /* for filters that warp_is_needed names; likewise */
    bool shifts;           /* for jobs with a shift, with complex_response; costs memory */
    bool thresholds;       /* for filters with a threshold (filter_chain_threshold) */
    struct denoise_settings denoise; /* of the filters' chains (filter_chain_denoise) */
    struct curve curve;  /* of the filters' chains (filter_chain_curve), for luma, red, green and
                            blue; the chroma of YUV has none */
    enum view_kind view; /* what is made of each frame; another than the picture is made of luma,
                            whatever `planes` says */
};

#define ENGINE_MAX_IN_FLIGHT 3

/* The format in which clients get frames that are captured in this one. */
static inline uint32_t engine_published(enum engine_planes planes, uint32_t captured)
{
    return planes == ENGINE_LUMA_ONLY ? format_luma(captured) : format_published(captured);
}

#endif
