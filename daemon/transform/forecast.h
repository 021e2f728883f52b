/* What the planner's model (transform/cost.h) says of a device that need not be at hand: the plan
 * with which an engine would start there, and the least time of a frame. */
#ifndef FFTD_TRANSFORM_FORECAST_H
#define FFTD_TRANSFORM_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

#include "transform/engine_options.h"
#include "core/error.h"
#include "filters/filter.h"
#include "transform/rates.h"

struct forecast_request {
    const char *device; /* with a model: "mali-t760", or "auto" for that one; unless measured */
    const struct rates *measured; /* NULL: the rates of the model */
    uint32_t width, height;
    const struct engine_options *options;
    const struct filter_chain *filter;
};

/* Prints the plans in float and in half precision, to a FILE *; json: as one object. Frames have 8
 * bits, and NV12's chroma if options->recipe.planes is RECIPE_ALL; options->border and margin count
 * as in engine/engine.h. Frequencies outside the filter's band (transform/response.h) are left out.
 * Measured rates change the times and not the plans, because the engine starts with those of the
 * model. -EINVAL: the size is 0, or there is no model of the device or of the technique, and the
 * text names those that there are. -ERANGE: the model has no plan of this size. -ENOMEM. */
int gpu_forecast(void *stdio_file, const struct forecast_request *request, bool json,
                 struct error *why);

#endif
