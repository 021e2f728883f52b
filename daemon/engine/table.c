/* The tables with which samples are loaded: what corrects them, and what moves them. */
#include <errno.h>
#include <stdlib.h>

#include "filters/calibration.h"
#include "filters/warp.h"
#include "engine/engine_private.h"

int engine_upload(const struct engine *engine, cl_mem *ret, void *values, size_t size,
                  struct error *why)
{
    return opencl_make_buffer(ret, engine->device->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                              size, values, why);
}

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

static int fill_warp(const struct engine *engine, const struct component *component,
                     const struct filter_chain *chain, int16_t (*table)[2], struct error *why)
{
    const struct warp_image image = {.width = component->subject.image.width,
                                     .height = component->subject.image.height,
                                     .frame_width = engine->source.width,
                                     .frame_height = engine->source.height,
                                     .sub_x = (unsigned)component->sub_x,
                                     .sub_y = (unsigned)component->sub_y};
    return warp_fill(table, &image, chain, why);
}

int engine_design_table(const struct engine *engine, unsigned component,
                        const struct filter_chain *chain, cl_mem *ret, struct error *why)
{
    const struct component *c = &engine->component[component];
    const struct transform_tuning *tuning = transform_tuning(c->transform);
    const struct transform_image *image = &c->subject.image;
    const size_t size = transform_table_bytes(c->transform);
    int r = 0;
    if (size == 0) {
        *ret = NULL;
        return 0;
    }
    float *values = malloc(size);
    if (values == NULL)
        return error_set(why, ENOMEM, "out of memory while computing the table of a calibration");
    const size_t corrections =
        tuning->recipe.calibrated ? 2 * (size_t)image->width * image->height : 0;
    if (tuning->recipe.calibrated)
        r = fill_calibration(image, chain, values, why);
    if (r == 0 && tuning->recipe.warped)
        r = fill_warp(engine, c, chain, (int16_t(*)[2])(values + corrections), why);
    if (r == 0)
        r = engine_upload(engine, ret, values, size, why);
    free(values);
    return r;
}
