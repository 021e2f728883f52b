/* The tables with which samples are loaded: what corrects them, and what moves them. */
#include <errno.h>
#include <stdlib.h>

#include "filters/calibration.h"
#include "filters/warp.h"
#include "engine/engine_private.h"

/* Combines the chain's corrections. */
static int fill_calibration(const struct transform_image *image, const struct filter_chain *chain,
                            float *gains, struct error *why)
{
    const unsigned bits = image->kind == SAMPLE_BAYER ? image->mosaic.bits : image->bits;
    const size_t count = (size_t)image->width * image->height;
    uint8_t *is_bad = malloc(count);
    struct filter_calibration table = {.width = image->width,
                                       .height = image->height,
                                       .cell = image->kind == SAMPLE_BAYER ? 2 : 1,
                                       .white = (1u << bits) - 1,
                                       .is_bad = is_bad};
    table.gain = gains;
    table.offset = gains + count;
    const int r = is_bad == NULL
                      ? error_set(why, ENOMEM, "out of memory while computing a calibration")
                      : calibration_fill(&table, chain, why);
    free(is_bad);
    return r;
}

static int fill_warp(const struct component *component, const struct filter_chain *chain,
                     int16_t (*table)[2], struct error *why)
{
    const struct fftd_format *source = &component->engine->source;
    const struct warp_image image = {.width = component->subject.image.width,
                                     .height = component->subject.image.height,
                                     .frame_width = source->width,
                                     .frame_height = source->height,
                                     .sub_x = (unsigned)component->sub_x,
                                     .sub_y = (unsigned)component->sub_y};
    return warp_fill(table, &image, chain, why);
}

static bool applies(const struct recipe *recipe)
{
    return recipe_load_bytes(recipe) > 0;
}

static int design(struct transform_response *ret, const void *part,
                  const struct component *component, const struct filter_chain *chain,
                  struct error *why)
{
    const struct recipe *recipe = &component->recipe;
    const struct transform_image *image = &component->subject.image;
    const size_t size = transform_table_bytes(component_transform(component));
    int r = 0;
    (void)part;
    float *values = malloc(size);
    if (values == NULL)
        return error_set(why, ENOMEM, "out of memory while computing the table of a calibration");
    const size_t corrections = recipe->calibrated ? 2 * (size_t)image->width * image->height : 0;
    if (recipe->calibrated)
        r = fill_calibration(image, chain, values, why);
    if (r == 0 && recipe->warped)
        r = fill_warp(component, chain, (int16_t(*)[2])(values + corrections), why);
    if (r == 0)
        r = opencl_make_table(&ret->numbers, component->engine->device->context, values, size, why);
    free(values);
    return r;
}

/* Which pixels are bad is known while the table is computed. */
static struct step_memory memory(const struct component *component)
{
    const struct transform_image *image = &component->subject.image;
    const uint64_t bytes = transform_table_bytes(component_transform(component));
    return (struct step_memory){
        .data = bytes,
        .scratch =
            bytes + (component->recipe.calibrated ? (uint64_t)image->width * image->height : 0)};
}

static int enqueue(struct step_run *run, struct error *why)
{
    (void)why;
    run->buffers->calibration = run->data.numbers;
    return 0;
}

const struct step step_table = {
    .name = "table", .applies = applies, .design = design, .enqueue = enqueue, .memory = memory};
