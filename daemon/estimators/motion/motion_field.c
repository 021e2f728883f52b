#include "estimators/motion/motion_field.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "estimators/motion/motion_constants.h"
#include "estimators/motion/motion_scale.h"

#define LEAST_WIDTH  48u /* pixels of the smallest size */
#define LEAST_HEIGHT 40u
#define COARSE_CELLS 4u /* in a side of a block, except at the full size */

struct motion_field {
    unsigned width, height;
    struct motion_scale
        scale[MOTION_MAX_SCALES]; /* the full size first; each next one is half as large */
    unsigned scales;
    struct motion_search *search;
    struct motion_peak *peak; /* peaks of the blocks of the smallest size */
    struct motion_vector *vector;
    bool has_observed;
};

int motion_grid_make(struct motion_grid *ret, unsigned width, unsigned height, unsigned block,
                     struct error *why)
{
    if (block != 16 && block != 32 && block != 64)
        return error_set(why, EINVAL,
                         "motion cannot be estimated in blocks of %u pixels: expected 16, 32 or 64",
                         block);
    const unsigned least = block > MOTION_FIELD_MIN_SIZE ? block : MOTION_FIELD_MIN_SIZE;
    if (width < least || height < least)
        return error_set(why, EINVAL,
                         "motion cannot be estimated in blocks of %u pixels in pictures of %u x %u "
                         "pixels: expected pictures of at least %u x %u",
                         block, width, height, least, least);
    const unsigned hop = block / 2;
    *ret = (struct motion_grid){block, hop, (width - block) / hop + 1, (height - block) / hop + 1};
    return 0;
}

unsigned motion_field_sizes(unsigned width, unsigned height, unsigned block,
                            struct motion_size ret[MOTION_MAX_SCALES])
{
    unsigned count = 0;
    do {
        const unsigned cells = count == 0 ? block / MOTION_CELL : COARSE_CELLS;
        ret[count++] = (struct motion_size){width, height, cells};
        width /= 2;
        height /= 2;
    } while (count < MOTION_MAX_SCALES && width >= LEAST_WIDTH && height >= LEAST_HEIGHT);
    return count;
}

/* Returns false without memory. */
static bool make_scale(struct motion_scale *ret, const struct motion_size *size)
{
    struct motion_level *pictures = &ret->pictures;
    const size_t pixels = (size_t)size->width * size->height;
    *pictures = (struct motion_level){.width = size->width,
                                      .height = size->height,
                                      .columns = size->width / MOTION_CELL,
                                      .rows = size->height / MOTION_CELL};
    ret->cells = size->cells;
    ret->hop = size->cells / 2;
    ret->columns = (pictures->columns - ret->cells) / ret->hop + 1;
    ret->rows = (pictures->rows - ret->cells) / ret->hop + 1;
    const size_t cells = (size_t)pictures->columns * pictures->rows;
    const size_t blocks = (size_t)ret->columns * ret->rows;
    float *planes = calloc(5 * pixels + 2 * blocks, sizeof *planes);
    ret->memory = planes;
    pictures->still = calloc(cells, sizeof *pictures->still);
    ret->moved = calloc(cells, sizeof *ret->moved);
    ret->block = calloc(blocks, sizeof *ret->block);
    if (planes == NULL || pictures->still == NULL || ret->moved == NULL || ret->block == NULL)
        return false;
    pictures->last = planes;
    pictures->next = planes + pixels;
    pictures->smooth = planes + 2 * pixels;
    pictures->gx = planes + 3 * pixels;
    pictures->gy = planes + 4 * pixels;
    ret->left = planes + 5 * pixels;
    ret->sorted = ret->left + blocks;
    return true;
}

static bool allocate(struct motion_field *field, unsigned block)
{
    struct motion_size size[MOTION_MAX_SCALES];
    bool is_complete = true;
    field->scales = motion_field_sizes(field->width, field->height, block, size);
    for (unsigned k = 0; k < field->scales; k++)
        is_complete = make_scale(&field->scale[k], &size[k]) && is_complete;
    const struct motion_scale *first = field->scale, *last = &field->scale[field->scales - 1];
    field->vector = calloc((size_t)first->columns * first->rows, sizeof *field->vector);
    field->peak =
        calloc((size_t)last->columns * last->rows * MOTION_SEARCH_PEAKS, sizeof *field->peak);
    return is_complete && field->vector != NULL && field->peak != NULL;
}

int motion_field_create(struct motion_field **ret, unsigned width, unsigned height, unsigned block,
                        struct error *why)
{
    struct motion_grid grid;
    int r = motion_grid_make(&grid, width, height, block, why);
    if (r < 0)
        return r;
    struct motion_field *field = calloc(1, sizeof *field);
    if (field == NULL)
        return error_set(why, ENOMEM, "out of memory for a field of motion");
    field->width = width;
    field->height = height;
    if (allocate(field, block))
        r = motion_search_create(&field->search, why);
    else
        r = error_set(why, ENOMEM, "out of memory for a field of motion");
    if (r < 0) {
        motion_field_destroy(field);
        return r;
    }
    *ret = field;
    return 0;
}

void motion_field_destroy(struct motion_field *field)
{
    if (field == NULL)
        return;
    for (unsigned k = 0; k < field->scales; k++) {
        free(field->scale[k].memory);
        free(field->scale[k].pictures.still);
        free(field->scale[k].moved);
        free(field->scale[k].block);
    }
    motion_search_destroy(field->search);
    free(field->peak);
    free(field->vector);
    free(field);
}

void motion_field_reset(struct motion_field *field)
{
    field->has_observed = false;
}

/* The new picture becomes the last one. */
static void turn(struct motion_field *field)
{
    for (unsigned k = 0; k < field->scales; k++) {
        struct motion_level *pictures = &field->scale[k].pictures;
        float *last = pictures->last;
        pictures->last = pictures->next;
        pictures->next = last;
    }
}

/* Makes all sizes of the new picture. */
static void take_picture(struct motion_field *field, const float *luma)
{
    for (unsigned k = 0; k < field->scales; k++) {
        const struct motion_level *level = &field->scale[k].pictures;
        float *to = level->next;
        if (k == 0)
            for (size_t i = 0; i < (size_t)level->width * level->height; i++)
                to[i] = luma[i] > -LARGEST && luma[i] < LARGEST ? luma[i] : 0;
        for (unsigned y = 0; k > 0 && y < level->height; y++) {
            const unsigned stride = field->scale[k - 1].pictures.width;
            const float *from = field->scale[k - 1].pictures.next + 2 * (size_t)y * stride;
            for (unsigned x = 0; x < level->width; x++)
                *to++ = 0.25F * (from[2 * x] + from[2 * x + 1] + from[2 * x + stride] +
                                 from[2 * x + stride + 1]);
        }
    }
}

static float confidence(const struct motion_block *block)
{
    const float close = 1 - expf(-CLOSE * CLOSE / (2 * DOUBT * block->variance));
    return block->is_ambiguous ? 0.5F * close : close / fmaxf(block->misfit / MISFIT, 1);
}

void motion_field_keep(struct motion_field *field, const float *luma)
{
    take_picture(field, luma);
    turn(field);
}

const struct motion_vector *motion_field_compare(struct motion_field *field, const float *luma)
{
    const struct motion_scale *first = field->scale;
    const unsigned count = first->columns * first->rows;
    take_picture(field, luma);
    for (unsigned k = field->scales; k-- > 0;) {
        struct motion_scale *scale = &field->scale[k];
        motion_level_prepare(&scale->pictures);
        if (k == field->scales - 1)
            motion_start_search(field->search, field->peak, scale);
        else
            motion_start_from(field->search, scale + 1, scale, k == 0);
        motion_fit(scale, PASSES);
    }
    motion_repair_bends(first->block, first->columns, first->rows);
    for (unsigned i = 0; i < count; i++) {
        const struct motion_block *block = &first->block[i];
        field->vector[i] = (struct motion_vector){block->dx, block->dy, confidence(block)};
    }
    return field->vector;
}

const struct motion_vector *motion_field_observe(struct motion_field *field, const float *luma)
{
    const struct motion_scale *first = field->scale;
    if (field->has_observed) {
        turn(field);
        return motion_field_compare(field, luma);
    }
    take_picture(field, luma);
    field->has_observed = true;
    for (unsigned i = 0; i < first->columns * first->rows; i++)
        field->vector[i] = (struct motion_vector){0};
    return field->vector;
}
