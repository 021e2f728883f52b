#include "filters/calibration.h"

#include <errno.h>
#include <string.h>

static bool corrects(const struct filter_stage *stage)
{
    return stage->kind->add_offsets != NULL || stage->kind->multiply_gains != NULL;
}

bool calibration_is_needed(const struct filter_chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        if (corrects(&chain->stage[i]))
            return true;
    return false;
}

int calibration_check_size(const struct filter_chain *chain, uint32_t width, uint32_t height,
                           struct error *why)
{
    for (unsigned i = 0; i < chain->count; i++) {
        const struct filter_stage *stage = &chain->stage[i];
        const struct filter_image *image = stage->image;
        if (!corrects(stage) || image == NULL || (image->columns == width && image->rows == height))
            continue;
        return error_set(why, EINVAL,
                         "%s: image %s has %ux%u pixels: expected %ux%u, as the camera's frames; "
                         "`fftd-ctl calibrate %s` records another",
                         stage->kind->name, image->name, image->columns, image->rows, width, height,
                         stage->kind->name);
    }
    return 0;
}

/* ---- bad pixels ---- */

static bool has_good_neighbour(const struct filter_calibration *table, uint32_t x, uint32_t y)
{
    const uint32_t step = table->cell;
    const uint8_t *at = table->is_bad + (size_t)y * table->width + x;
    return (x >= step && at[-(ptrdiff_t)step] == 0) || (x + step < table->width && at[step] == 0) ||
           (y >= step && at[-(ptrdiff_t)step * (ptrdiff_t)table->width] == 0) ||
           (y + step < table->height && at[(size_t)step * table->width] == 0);
}

/* Makes the pedestal a part of the offsets, so that the device need not know it. */
static void finish(struct filter_calibration *table)
{
    for (uint32_t y = 0; y < table->height; y++)
        for (uint32_t x = 0; x < table->width; x++) {
            const size_t i = (size_t)y * table->width + x;
            table->offset[i] -= (float)(table->pedestal / (double)table->gain[i]);
            if (table->is_bad[i] != 0 && has_good_neighbour(table, x, y))
                table->gain[i] = 0;
        }
}

int calibration_fill(struct filter_calibration *table, const struct filter_chain *chain,
                     struct error *why)
{
    const size_t count = (size_t)table->width * table->height;
    int r = calibration_check_size(chain, table->width, table->height, why);
    table->pedestal = 0;
    memset(table->is_bad, 0, count);
    for (size_t i = 0; i < count; i++) {
        table->offset[i] = 0;
        table->gain[i] = 1;
    }
    for (unsigned i = 0; i < chain->count && r == 0; i++)
        if (chain->stage[i].kind->add_offsets != NULL)
            r = chain->stage[i].kind->add_offsets(&chain->stage[i], table, why);
    for (unsigned i = 0; i < chain->count && r == 0; i++)
        if (chain->stage[i].kind->multiply_gains != NULL)
            r = chain->stage[i].kind->multiply_gains(&chain->stage[i], table, why);
    if (r == 0)
        finish(table);
    return r;
}
