#include "filters/filter_grid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/dft.h"

/* The image of a stage. */
struct part {
    unsigned stage;
    uint32_t extent;      /* pixels of the image along the second axis, at most its period */
    double complex *half; /* transformed along the first axis: [line][extent] */
    double complex *full; /* loaded lines: [slots][second_period] */
};

struct filter_grid {
    struct filter_grid_shape shape;
    struct dft *first, *second;
    unsigned count;
    struct part part[FILTER_MAX_STAGES];
};

/* ---- the first axis ---- */

/* Returns pixel i along the first axis and j along the second one. */
static double pixel_at(const struct filter_image *image, bool first_is_x, uint32_t i, uint32_t j)
{
    return (double)
        image->pixel[first_is_x ? (size_t)j * image->columns + i : (size_t)i * image->columns + j];
}

static void transform_first(struct filter_grid *grid, struct part *part,
                            const struct filter_image *image, double complex *line)
{
    const struct filter_grid_shape *shape = &grid->shape;
    const uint32_t along = shape->first_is_x ? image->columns : image->rows;
    const uint32_t across = shape->first_is_x ? image->rows : image->columns;
    for (uint32_t j = 0; j < part->extent; j++) {
        memset(line, 0, shape->first_period * sizeof *line);
        for (uint32_t wrapped = j; wrapped < across; wrapped += shape->second_period)
            for (uint32_t i = 0; i < along; i++)
                line[i % shape->first_period] += pixel_at(image, shape->first_is_x, i, wrapped);
        dft_line(grid->first, line);
        for (uint32_t k = 0; k < shape->lines; k++)
            part->half[(size_t)k * part->extent + j] = line[k];
    }
}

static int add_part(struct filter_grid *grid, const struct filter_chain *chain, unsigned stage,
                    double complex *line)
{
    const struct filter_grid_shape *shape = &grid->shape;
    const struct filter_image *image = chain->stage[stage].image;
    const uint32_t across = shape->first_is_x ? image->rows : image->columns;
    struct part *part = &grid->part[grid->count++];
    part->stage = stage;
    part->extent = across < shape->second_period ? across : shape->second_period;
    part->half = calloc((size_t)shape->lines * part->extent, sizeof *part->half);
    part->full = calloc((size_t)shape->slots * shape->second_period, sizeof *part->full);
    if (part->half == NULL || part->full == NULL)
        return -ENOMEM;
    transform_first(grid, part, image, line);
    return 0;
}

uint64_t filter_grid_bytes(const struct filter_chain *chain, const struct filter_grid_shape *shape)
{
    const uint64_t periods = (uint64_t)shape->first_period + shape->second_period;
    uint64_t numbers = 0;
    for (unsigned i = 0; i < chain->count; i++) {
        if (!filter_stage_uses_image(&chain->stage[i]))
            continue;
        const struct filter_image *image = chain->stage[i].image;
        const uint32_t across = shape->first_is_x ? image->rows : image->columns;
        const uint32_t extent = across < shape->second_period ? across : shape->second_period;
        numbers += (uint64_t)shape->lines * extent + (uint64_t)shape->slots * shape->second_period;
    }
    /* A transform along each axis (core/dft.c), and a line of the first one. */
    return numbers > 0 ? (numbers + 4 * periods) * sizeof(double complex) : 0;
}

int filter_grid_create(struct filter_grid **ret, const struct filter_chain *chain,
                       const struct filter_grid_shape *shape, struct error *why)
{
    if (filter_chain_pixels(chain) == 0) {
        *ret = NULL;
        return 0;
    }
    struct filter_grid *grid = calloc(1, sizeof *grid);
    double complex *line = calloc(shape->first_period, sizeof *line);
    int r = grid == NULL || line == NULL ? -ENOMEM : 0;
    if (r == 0) {
        grid->shape = *shape;
        r = dft_create(&grid->first, shape->first_period, why);
    }
    if (r == 0)
        r = dft_create(&grid->second, shape->second_period, why);
    for (unsigned i = 0; r == 0 && i < chain->count; i++)
        if (filter_stage_uses_image(&chain->stage[i]))
            r = add_part(grid, chain, i, line);
    free(line);
    if (r == 0) {
        *ret = grid;
        return 0;
    }
    filter_grid_destroy(grid);
    return r == -ENOMEM ? error_set(why, ENOMEM, "out of memory for a filter's images") : r;
}

void filter_grid_destroy(struct filter_grid *grid)
{
    if (grid == NULL)
        return;
    for (unsigned i = 0; i < grid->count; i++) {
        free(grid->part[i].half);
        free(grid->part[i].full);
    }
    dft_destroy(grid->first);
    dft_destroy(grid->second);
    free(grid);
}

/* ---- the second axis ---- */

void filter_grid_load(struct filter_grid *grid, uint32_t slot, uint32_t line)
{
    const size_t length = grid->shape.second_period;
    for (unsigned i = 0; i < grid->count; i++) {
        const struct part *part = &grid->part[i];
        double complex *full = part->full + slot * length;
        memcpy(full, part->half + (size_t)line * part->extent, part->extent * sizeof *full);
        memset(full + part->extent, 0, (length - part->extent) * sizeof *full);
        dft_line(grid->second, full);
    }
}

void filter_grid_read(const struct filter_grid *grid, uint32_t slot, bool is_negative, int32_t k,
                      double complex ret[FILTER_MAX_STAGES])
{
    const int32_t length = (int32_t)grid->shape.second_period;
    const int32_t mirrored = is_negative ? -k : k; /* the transform of -f is the conjugate */
    const size_t at = (size_t)(mirrored < 0 ? mirrored + length : mirrored);
    for (unsigned i = 0; i < grid->count; i++) {
        const struct part *part = &grid->part[i];
        const double complex t = part->full[(size_t)slot * grid->shape.second_period + at];
        ret[part->stage] = is_negative ? conj(t) : t;
    }
}
