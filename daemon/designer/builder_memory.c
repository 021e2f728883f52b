#include "designer/builder_memory.h"

#include <stdio.h>

#include "core/format.h"
#include "core/text.h"
#include "engine/forecast.h"
#include "estimators/luma.h"
#include "estimators/match.h"
#include "filters/filter_adapt.h"
#include "observer/observer.h"

/* The page before each slot has its header (ring/slot.h). */
#define RING_PAGE_BYTES 4096

/* Adds what is there once, however many engines there are. */
static int add_surroundings(struct budget_need *need, const struct builder_memory *memory,
                            const struct engine_frames *frames, const struct filter_chain *chain,
                            struct error *why)
{
    const struct fftd_format *format = &frames->format;
    const struct filter_adaptation adapts = filter_chain_adaptation(chain);
    const struct format_info *info = format_by_fourcc(frames->captured);
    const uint64_t pixels = (uint64_t)frames->width * frames->height;
    struct fftd_format captured;
    const int r = engine_frames_lay_out(&captured, frames, 64, why);
    if (r < 0)
        return r;
    const uint64_t slot = (uint64_t)format->frame_bytes + 2 * RING_PAGE_BYTES;
    budget_add(need, "ring", memory->slots * slot, 0);
    /* Those that it has for itself, those in flight, and one to draw or convert them. */
    const bool is_first = memory->share.output == 0;
    if (is_first)
        budget_add(need, "source",
                   (memory->buffers + memory->options.in_flight + 1) *
                       ((uint64_t)captured.frame_bytes + RING_PAGE_BYTES),
                   0);
    /* A copy of the plane with luma, its samples as floats, and the last frame's. Waves take
     * another copy of the samples to find them, and two to fit them; beside flicker they are also
     * fitted in the frames that are observed. */
    if ((is_first && memory->measures) || observer_is_wanted(&adapts))
        budget_add(need, "observer",
                   (uint64_t)luma_row_bytes(info, frames->width) * frames->height +
                       (2 + (adapts.removes_waves ? 3 : 0) +
                        (adapts.removes_waves && adapts.removes_flicker ? 2 : 0)) *
                           pixels * sizeof(float),
                   0);
    if (memory->measures && adapts.match_count > 0)
        budget_add(
            need, "templates",
            matcher_bytes(frames->width, frames->height, adapts.match_image, adapts.match_count),
            0);
    /* warm_up */
    budget_add(need, "frames", (uint64_t)captured.frame_bytes + format->frame_bytes, 0);
    return 0;
}

/* Names what would need less. */
static void advise(const struct engine_options *options, struct error *why)
{
    const struct recipe *recipe = &options->recipe;
    if (why == NULL)
        return;
    text_append(why->text, sizeof why->text, ": less is needed with%s%s%s%s",
                recipe->denoise.past > 0 ? " temporal = 0," : "",
                recipe->planes == RECIPE_ALL ? " planes = luma," : "",
                recipe->precision == RECIPE_FLOAT ? " precision = half," : "",
                recipe->denoise.past > 0 ? " or smaller frames" : " fewer slots or smaller frames");
}

int builder_forecast(const struct builder_memory *memory, const struct engine_frames *frames,
                     const struct engine_options *options, double support_px,
                     const struct filter_chain *chain, const char *cache_dir,
                     struct budget_need *ret, struct error *why)
{
    struct engine_forecast forecast;
    struct budget_need need = {.count = 0};
    int r = engine_forecast(&forecast, memory->outline, &frames->format, options, support_px, chain,
                            cache_dir, why);
    if (r == 0)
        r = add_surroundings(&need, memory, frames, chain, why);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < forecast.part_count; i++)
        budget_add(&need, forecast.part[i].name, 2 * forecast.part[i].host,
                   2 * forecast.part[i].device);
    budget_add(&need, "computing it", forecast.scratch, 0);
    *ret = need;
    return 0;
}

int builder_check_memory(const struct builder_memory *memory, const struct engine_frames *frames,
                         const struct engine_options *options, double support_px,
                         const struct filter_chain *chain, const char *cache_dir, bool reserves,
                         struct budget_use *ret, struct error *why)
{
    struct budget_need need;
    char what[64];
    int r = builder_forecast(memory, frames, options, support_px, chain, cache_dir, &need, why);
    if (r < 0)
        return r;
    snprintf(what, sizeof what, "this filter with frames of %ux%u %s", frames->width,
             frames->height, format_by_fourcc(frames->captured)->name);
    r = designer_share_check(&memory->share, &memory->budget, &need, reserves, what, why);
    if (r < 0)
        advise(options, why);
    else if (ret != NULL)
        *ret = budget_use_of(&memory->budget, &need);
    return r;
}
