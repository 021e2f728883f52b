/* The step that reduces noise: a denoiser, and the past frames that it joins to each frame. */
#include <errno.h>
#include <stdlib.h>

#include "engine/denoiser/denoiser.h"
#include "engine/engine_private.h"
#include "gpu/frame_ring.h"

/* Colour differences have no brightness: their shot noise is taken to be that of middle grey. */
#define CHROMA_LEVEL 128

struct denoise_part {
    struct denoiser *denoiser;
    struct frame_ring *past; /* NULL: none is joined */
    uint64_t change;         /* engine->filter.change of the frame before */
};

static bool applies(const struct recipe *recipe)
{
    return recipe->denoise.block > 0;
}

static int prepare(void **ret_part, struct component *component, struct error *why)
{
    struct engine *engine = component->engine;
    struct denoise_part *part = calloc(1, sizeof *part);
    *ret_part = part;
    if (part == NULL)
        return error_set(why, ENOMEM, "out of memory while preparing noise reduction");
    const int r = denoiser_prepare(&part->denoiser, engine->device, &component->subject.image,
                                   &component->recipe, 0, why);
    return r < 0 ? r
                 : denoiser_past_for(&part->past, part->denoiser, engine->options.in_flight, why);
}

static void destroy(void *part)
{
    struct denoise_part *denoise = part;
    frame_ring_destroy(denoise->past);
    denoiser_destroy(denoise->denoiser);
    free(denoise);
}

static int build(void *part, bool compile, const char *cache_dir, struct error *warning,
                 struct error *why)
{
    return denoiser_build(((struct denoise_part *)part)->denoiser, compile, cache_dir, warning,
                          why);
}

static int design(struct transform_response *ret, const void *part,
                  const struct component *component, const struct filter_chain *chain,
                  struct error *why)
{
    const struct denoise denoise = filter_chain_denoise(chain);
    const bool is_first = component == component->engine->component;
    return denoiser_noise(&ret->numbers, ((const struct denoise_part *)part)->denoiser,
                          &denoise.noise, is_first ? -1 : CHROMA_LEVEL, why);
}

static int create_frame(void **ret_frame, const void *part, const struct component *component,
                        cl_command_queue queue, struct error *why)
{
    struct denoiser_frame *frame = NULL;
    (void)component, (void)queue;
    const int r = denoiser_frame_create(&frame, ((const struct denoise_part *)part)->denoiser, why);
    *ret_frame = frame;
    return r;
}

static void destroy_frame(void *frame)
{
    denoiser_frame_destroy(frame);
}

/* Past frames are dropped when the source starts again, and when the filter changes where samples
 * are loaded with a table, which may be another one. */
static int enqueue(struct step_run *run, struct error *why)
{
    struct denoise_part *part = run->part;
    struct transform_buffers *buffers = run->buffers;
    const uint64_t change = run->slot->engine->filter.change;
    const bool is_loaded_otherwise = change != part->change && buffers->calibration != NULL;
    if (run->slot->job.is_first || is_loaded_otherwise)
        frame_ring_forget(part->past);
    part->change = change;
    return denoiser_frame_enqueue(run->frame, run->slot->queue, buffers, run->data.numbers,
                                  part->past, run->first, run->last, why);
}

static struct step_cost cost(const void *part)
{
    const struct denoiser *denoiser = ((const struct denoise_part *)part)->denoiser;
    return (struct step_cost){denoiser_dispatches(denoiser), denoiser_traffic(denoiser)};
}

static struct step_memory memory(const struct component *component)
{
    const struct transform_image *image = &component->subject.image;
    const struct denoise_settings *settings = &component->recipe.denoise;
    const unsigned in_flight = component->engine->options.in_flight;
    return (struct step_memory){
        .part.device = denoiser_past_bytes(image, settings, in_flight),
        .frame.device = denoiser_frame_bytes(image, settings),
        .data = denoiser_noise_bytes(image),
    };
}

const struct step step_denoise = {.name = "denoise",
                                  .applies = applies,
                                  .prepare = prepare,
                                  .destroy = destroy,
                                  .build = build,
                                  .design = design,
                                  .create_frame = create_frame,
                                  .destroy_frame = destroy_frame,
                                  .enqueue = enqueue,
                                  .cost = cost,
                                  .memory = memory};
