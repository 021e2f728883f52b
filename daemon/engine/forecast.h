/* The memory that an engine will take, computed before anything is allocated. Nothing here calls
 * OpenCL.
 *
 * An engine takes memory twice: when it is built, and while a filter comes into use that it can
 * take without being built again. Then there are the data of the chain in use, of the next one and
 * of the one from which a fade begins, and a blended response for each frame in flight.
 *
 * Not counted are structures and programs of a few hundred KiB, and what a driver takes for
 * itself. */
#ifndef FFTD_ENGINE_FORECAST_H
#define FFTD_ENGINE_FORECAST_H

#include <stdint.h>

#include "core/error.h"
#include "filters/filter.h"
#include "gpu/device.h"
#include "transform/engine_options.h"

/* Bytes, in 64 bits on every machine. The largest frames with the longest filters stay below 2^40,
 * so sums do not overflow. */
struct forecast_bytes {
    uint64_t device; /* buffers of the device */
    uint64_t pinned; /* buffers in memory of the host, through which frames are sent */
    uint64_t host;   /* other memory of the host */
};

/* The steps, and the captured and filtered frames. */
#define FORECAST_PARTS (ENGINE_MAX_STEPS + 1)

struct engine_forecast {
    struct forecast_bytes built;  /* after engine_create */
    struct forecast_bytes change; /* more, at most, while a filter comes into use */
    uint64_t scratch;             /* on the host, more at most while either is computed */
    struct {
        const char *name;      /* "denoise"; static */
        uint64_t host, device; /* `built` and `change` together; pinned memory is the host's */
    } part[FORECAST_PARTS];
    unsigned part_count;
};

/* Forecasts the memory of the engine that engine_create would make, whose arguments it has. It
 * reads only the device's properties. chain: the filter to design, which matters because its images
 * are transformed; it need not be one that the recipe allows. cache_dir: has tuned settings, which
 * change the padded size; NULL: none, and then the result depends on nothing else. The errors are
 * those of engine_create about frames and sizes. Any thread. */
int engine_forecast(struct engine_forecast *ret, struct gpu_device *device,
                    const struct fftd_format *format, const struct engine_options *options,
                    double support_px, const struct filter_chain *chain, const char *cache_dir,
                    struct error *why);

/* Returns the recipe of `options` with the reach of the engine that engine_create would make: one
 * that transforms, although the filter is short, reaches everything. The arguments are those of
 * engine_forecast. The recipe is as it was if there is no such engine, or no memory to plan it. */
struct recipe engine_true_recipe(struct gpu_device *device, const struct fftd_format *format,
                                 const struct engine_options *options, const char *cache_dir);

#endif
