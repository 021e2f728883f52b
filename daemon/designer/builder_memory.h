/* The memory of a chain, its engines and what surrounds them, against the budget. */
#ifndef FFTD_DESIGNER_BUILDER_MEMORY_H
#define FFTD_DESIGNER_BUILDER_MEMORY_H

#include <stdbool.h>

#include "core/budget.h"
#include "core/error.h"
#include "designer/frames.h"
#include "designer/shares.h"
#include "filters/filter.h"

/* What the memory of a chain is computed from. It does not change after builder_init, so that any
 * thread may call builder_check_memory. */
struct builder_memory {
    struct budget budget;
    struct gpu_device *outline;    /* gpu_device_outline */
    struct engine_options options; /* as configured */
    unsigned slots, buffers;       /* frames of the ring; frames that the source has for itself */
    bool measures;                 /* frames are observed for measures, whatever the chain is */
    struct designer_share share;   /* the first output's counts what all outputs have together */
};

/* Computes what the memory for a chain and its frames takes (builder_check_memory). */
int builder_forecast(const struct builder_memory *memory, const struct engine_frames *frames,
                     const struct engine_options *options, double support_px,
                     const struct filter_chain *chain, const char *cache_dir,
                     struct budget_need *ret, struct error *why);

/* Checks that the memory for a chain and its frames is within the budget, before anything is
 * allocated: two engines, because the old one filters until the new one is built, and what
 * surrounds them: the ring, the source's frames and the observer's copies. Pure, apart from the
 * tuned settings, which are read from cache_dir (NULL: none).
 *
 * options: recipe_of the chain, and the other settings of memory->options. reserves: it is counted
 * as this output's from now on. ret: NULL, or receives what would be used. -EINVAL, with a text
 * that names the parts, the limit, and what needs less; or the errors of engine_forecast. */
int builder_check_memory(const struct builder_memory *memory, const struct engine_frames *frames,
                         const struct engine_options *options, double support_px,
                         const struct filter_chain *chain, const char *cache_dir, bool reserves,
                         struct budget_use *ret, struct error *why);

#endif
