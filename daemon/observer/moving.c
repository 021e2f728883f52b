#include "observer/moving.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimators/motion/motion_similarity.h"

struct moving {
    struct motion_field *field;
    struct motion_grid grid;
    unsigned start; /* which start of the source delivered the last picture */
    int64_t last_ns;
    uint64_t last_number; /* number of that picture; 0: none */
    double width, height;
    uint8_t *record;
};

static uint32_t grid_bytes(const struct motion_grid *grid)
{
    return (uint32_t)sizeof(struct fftd_motion) + FFTD_MOTION_BYTES(grid->columns * grid->rows);
}

uint32_t moving_bytes(uint32_t width, uint32_t height, unsigned block)
{
    struct motion_grid grid;
    return motion_grid_make(&grid, width, height, block, NULL) < 0 ? 0 : grid_bytes(&grid);
}

int moving_create(struct moving **ret, uint32_t width, uint32_t height, unsigned block,
                  struct error *why)
{
    struct moving *moving = calloc(1, sizeof *moving);
    if (moving == NULL)
        return error_set(why, ENOMEM, "out of memory for a field of motion");
    moving->width = width;
    moving->height = height;
    int r = motion_grid_make(&moving->grid, width, height, block, why);
    if (r == 0)
        r = motion_field_create(&moving->field, width, height, block, why);
    if (r == 0 && (moving->record = calloc(1, grid_bytes(&moving->grid))) == NULL)
        r = error_set(why, ENOMEM, "out of memory for a field of motion");
    if (r < 0) {
        moving_destroy(moving);
        return r;
    }
    *ret = moving;
    return 0;
}

void moving_destroy(struct moving *moving)
{
    if (moving == NULL)
        return;
    motion_field_destroy(moving->field);
    free(moving->record);
    free(moving);
}

static int16_t in_units(float pixels)
{
    return (int16_t)lrintf(fminf(fmaxf(FFTD_MOTION_UNIT * pixels, INT16_MIN), INT16_MAX));
}

/* Writes a field as frames carry it, in grid_bytes(). */
static void put(void *record, const struct motion_grid *grid, const struct motion_vector *vector,
                int64_t captured_ns, int64_t since_ns)
{
    const size_t blocks = (size_t)grid->columns * grid->rows;
    struct fftd_motion *header = record;
    int16_t *vectors = (int16_t *)(header + 1);
    uint8_t *confidences = (uint8_t *)(vectors + 2 * blocks);
    *header = (struct fftd_motion){.captured_ns = captured_ns,
                                   .since_ns = since_ns,
                                   .columns = (uint16_t)grid->columns,
                                   .rows = (uint16_t)grid->rows,
                                   .block = (uint16_t)grid->block};
    for (size_t i = 0; i < blocks; i++) {
        vectors[2 * i] = in_units(vector[i].dx);
        vectors[2 * i + 1] = in_units(vector[i].dy);
        confidences[i] = (uint8_t)(255 * vector[i].confidence); /* 230 is 0.902 */
    }
}

/* Fits how the scene of that size has moved as a whole, per frame. frames: the distance of both
 * pictures. */
static bool fit(const struct motion_grid *grid, const struct motion_vector *vector, double width,
                double height, uint64_t frames, struct fftd_similarity *ret)
{
    struct motion_similarity found;
    const double part = 1 / (double)frames;
    motion_similarity_fit(grid, vector, width, height, &found);
    if (!found.is_sure)
        return false;
    *ret = (struct fftd_similarity){.x = (float)(part * found.moved.dx),
                                    .y = (float)(part * found.moved.dy),
                                    .angle = (float)(part * found.moved.angle_rad * 180 / M_PI),
                                    .zoom = (float)exp(part * found.moved.log_zoom),
                                    .agreement = (float)found.agreement};
    return true;
}

const void *moving_observe(struct moving *moving, const struct observed_frame *frame,
                           const float *luma, bool *ret_has_similarity,
                           struct fftd_similarity *ret_similarity)
{
    if (frame->start != moving->start)
        motion_field_reset(moving->field);
    const struct motion_vector *vector = motion_field_observe(moving->field, luma);
    put(moving->record, &moving->grid, vector, frame->captured_ns, moving->last_ns);
    *ret_has_similarity = fit(&moving->grid, vector, moving->width, moving->height,
                              frame->number - moving->last_number, ret_similarity);
    moving->start = frame->start;
    moving->last_ns = frame->captured_ns;
    moving->last_number = frame->number;
    return moving->record;
}

/* Makes room for a field of that size; the copy has none then. False: there is no memory. */
static bool reserve(struct moving_copy *copy, uint32_t size)
{
    void *grown = size > copy->capacity ? realloc(copy->bytes, size) : copy->bytes;
    copy->number = 0;
    if (grown == NULL)
        return false;
    copy->bytes = grown;
    copy->size = size;
    copy->capacity = size > copy->capacity ? size : copy->capacity;
    return true;
}

void moving_copy_set(struct moving_copy *copy, uint64_t number, const void *bytes, uint32_t size)
{
    if (!reserve(copy, size) || bytes == NULL || number == 0)
        return;
    memcpy(copy->bytes, bytes, size);
    copy->number = number;
}

/* ---- fields that an engine has found ---- */

void handed_field_set(struct handed_field *handed, const struct observed_field *field,
                      unsigned start)
{
    const size_t count = (size_t)field->grid->columns * field->grid->rows;
    moving_copy_set(&handed->vectors, field->number, field->vector,
                    (uint32_t)(count * sizeof *field->vector));
    handed->frames = field->frames;
    handed->start = start;
    handed->grid = *field->grid;
}

bool handed_field_take(struct handed_field *handed, struct handed_field *used, unsigned start)
{
    const struct handed_field old = *used;
    if (handed->vectors.number == 0 || handed->start != start)
        return false;
    *used = *handed;
    *handed = old; /* whose memory the next one has */
    handed->vectors.number = 0;
    return true;
}

bool handed_field_fit(const struct handed_field *handed, uint32_t width, uint32_t height,
                      struct fftd_similarity *ret)
{
    return fit(&handed->grid, handed->vectors.bytes, width, height, handed->frames, ret);
}

void moving_copy_set_field(struct moving_copy *copy, const struct observed_field *field)
{
    copy->number = 0;
    if (!observed_field_is_known(field) || !reserve(copy, grid_bytes(field->grid)))
        return;
    put(copy->bytes, field->grid, field->vector, field->captured_ns, field->since_ns);
    copy->number = field->number;
}
