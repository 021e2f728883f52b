/* What the planner's model (core/cost.h) says of a device that need not be at hand: the plan with
 * which an engine would start there, and the least time of a frame. */
#ifndef FFTD_GPU_FORECAST_H
#define FFTD_GPU_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/engine_options.h"
#include "core/error.h"

/* Prints the plans in float and in half precision, to a FILE *; json: as one object. device: the
 * name of a device with a model, "mali-t760", or "auto" for that one. Frames have 8 bits, and
 * NV12's chroma if options->planes is ENGINE_ALL; options->border and margin count as in
 * gpu/engine.h, with this support of the filter. -EINVAL: the size is 0, or there is no model of
 * the device or of the technique, and the text names those that there are. -ERANGE: the model has
 * no plan of this size. */
int gpu_forecast(void *stdio_file, const char *device, uint32_t width, uint32_t height,
                 const struct engine_options *options, double support_px, bool json,
                 struct error *why);

#endif
