/* The settings of the FFT filter engine (engine/engine.h). The configuration fills them in and the
 * engine reads them; neither depends on the other. */
#ifndef FFTD_TRANSFORM_ENGINE_OPTIONS_H
#define FFTD_TRANSFORM_ENGINE_OPTIONS_H

#include <stdint.h>

#include "core/format.h"
#include "transform/plan.h"
#include "filters/recipe.h"

/* ENGINE_DIRECT, ENGINE_TILES: so wherever the filter is short enough, otherwise ENGINE_AUTO. */
enum engine_technique { ENGINE_AUTO, ENGINE_FUSED, ENGINE_STAGED, ENGINE_DIRECT, ENGINE_TILES };
enum engine_tune { ENGINE_TUNE_OFF, ENGINE_TUNE_AUTO, ENGINE_TUNE_EXHAUSTIVE };

struct engine_loads; /* engine/engine.h */

struct engine_options {
    struct recipe recipe; /* the configuration has its settings, and recipe_of what a chain needs */
    enum engine_technique technique;
    enum engine_tune tune;
    enum plan_border border;
    double border_value; /* PLAN_CONSTANT: sample value outside the image, 0 .. 1 of full scale */
    int margin;          /* pixels added to each axis at least; -1: from the filter's support */
    unsigned in_flight;  /* frames in flight at once, 1 .. ENGINE_MAX_IN_FLIGHT */
    /* The loads that engines of a camera share, and the number of the engine's output among them.
     * NULL: the engine loads frames for itself. */
    struct engine_loads *loads;
    unsigned output;
};

#define ENGINE_MAX_IN_FLIGHT 3
#define ENGINE_MAX_STEPS     10 /* kinds of steps (engine/step.h) */

/* The format in which clients get frames that are captured in this one. */
static inline uint32_t engine_published(const struct recipe *settings, uint32_t captured)
{
    return settings->depth == RECIPE_DEPTH_16     ? FFTD_FOURCC('R', '1', '6', ' ')
           : settings->planes == RECIPE_LUMA_ONLY ? format_luma(captured)
                                                  : format_published(captured);
}

#endif
