#include "series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Finds the blocks that lie within begin .. begin + size, or else the one that is nearest to its
 * middle, along one axis with `count` blocks. */
static void find_along(uint32_t begin, uint32_t size, uint32_t block, uint32_t count,
                       uint32_t *ret_first, uint32_t *ret_end)
{
    const uint32_t hop = block / 2;
    const uint64_t end = (uint64_t)begin + size;
    uint64_t first = (begin + hop - 1) / hop;
    uint64_t beyond = end >= block ? (end - block) / hop + 1 : 0;
    beyond = beyond < count ? beyond : count;
    if (first >= beyond) {
        const double middle = begin + 0.5 * size;
        const double nearest = floor(fmin(fmax(middle / hop - 0.5, 0), count - 1.0));
        first = (uint64_t)nearest;
        beyond = first + 1;
    }
    *ret_first = (uint32_t)first;
    *ret_end = (uint32_t)beyond;
}

static void find_blocks(const struct series *series, struct series_place *place)
{
    struct series_extent *extent = &place->extent;
    find_along(place->left, place->width, series->block, series->columns, &extent->left,
               &extent->right);
    find_along(place->top, place->height, series->block, series->rows, &extent->top,
               &extent->bottom);
    place->blocks = (extent->right - extent->left) * (extent->bottom - extent->top);
}

static bool is_possible(const struct fftd_motion *field)
{
    return field->columns > 0 && field->rows > 0 && field->block >= 2 &&
           (uint32_t)field->columns * field->rows <= SERIES_MOST_BLOCKS;
}

int series_begin(struct series *ret, const struct series_place *named, unsigned count,
                 bool with_blocks, const struct fftd_motion *field, unsigned *ret_wrong)
{
    *ret = (struct series){0};
    if (!is_possible(field))
        return -EPROTO;
    const uint32_t hop = field->block / 2, blocks = (uint32_t)field->columns * field->rows;
    const uint32_t width = (field->columns + 1u) * hop, height = (field->rows + 1u) * hop;
    ret->columns = field->columns;
    ret->rows = field->rows;
    ret->block = field->block;
    ret->named = count;
    ret->places = count + (with_blocks ? blocks : 0);
    ret->place = calloc(ret->places, sizeof *ret->place);
    if (ret->place == NULL)
        return -ENOMEM;
    for (unsigned i = 0; i < count; i++) {
        ret->place[i] = named[i];
        if (named[i].left >= width || named[i].top >= height) {
            *ret_wrong = i;
            return -ERANGE;
        }
    }
    for (uint32_t i = count; i < ret->places; i++)
        ret->place[i] = (struct series_place){.left = (i - count) % field->columns * hop,
                                              .top = (i - count) / field->columns * hop,
                                              .width = field->block,
                                              .height = field->block};
    for (uint32_t i = 0; i < ret->places; i++)
        find_blocks(ret, &ret->place[i]);
    return 0;
}

void series_finish(struct series *series)
{
    free(series->place);
    free(series->step);
    free(series->shift);
    *series = (struct series){0};
}

static int make_room(struct series *series)
{
    if (series->count < series->capacity)
        return 0;
    const unsigned capacity = series->capacity == 0 ? 256 : 2 * series->capacity;
    struct series_step *step = realloc(series->step, capacity * sizeof *step);
    if (step == NULL)
        return -ENOMEM;
    series->step = step;
    struct series_shift *shift =
        realloc(series->shift, (size_t)capacity * series->places * sizeof *shift);
    if (shift == NULL)
        return -ENOMEM;
    series->shift = shift;
    series->capacity = capacity;
    return 0;
}

/* The mean of the vectors that are sure, weighted by confidence. Rounding to FFTD_MOTION_UNIT is
 * an error of each block of its own, which the mean makes smaller. */
static struct series_shift mean_of(const struct series *series, const struct series_place *place,
                                   const int16_t *vectors, const uint8_t *confidences)
{
    double dx = 0, dy = 0, weights = 0;
    for (uint32_t row = place->extent.top; row < place->extent.bottom; row++)
        for (uint32_t column = place->extent.left; column < place->extent.right; column++) {
            const size_t at = (size_t)row * series->columns + column;
            if (confidences[at] < FFTD_MOTION_SURE)
                continue;
            dx += (double)confidences[at] * vectors[2 * at];
            dy += (double)confidences[at] * vectors[2 * at + 1];
            weights += confidences[at];
        }
    if (weights == 0)
        return (struct series_shift){0};
    return (struct series_shift){.dx = (float)(dx / weights / FFTD_MOTION_UNIT),
                                 .dy = (float)(dy / weights / FFTD_MOTION_UNIT),
                                 .confidence = (float)(weights / 255 / place->blocks)};
}

int series_add(struct series *series, const struct fftd_motion *field, const int16_t *vectors,
               const uint8_t *confidences)
{
    if (field->columns != series->columns || field->rows != series->rows ||
        field->block != series->block)
        return -ESTALE;
    /* Times that do not rise are of a field that has been added, or of no daemon that works. */
    if (field->since_ns >= field->captured_ns ||
        (series->count > 0 && field->since_ns < series->step[series->count - 1].to_ns))
        return 0;
    const int r = make_room(series);
    if (r < 0)
        return r;
    struct series_shift *shift = &series->shift[(size_t)series->count * series->places];
    bool is_known = false;
    for (unsigned i = 0; i < series->places; i++) {
        shift[i] = mean_of(series, &series->place[i], vectors, confidences);
        is_known |= shift[i].confidence > 0;
    }
    if (!is_known)
        return 0;
    series->step[series->count++] = (struct series_step){field->since_ns, field->captured_ns};
    return 1;
}

double series_seconds(const struct series *series)
{
    return series->count == 0 ? 0
                              : series_seconds_to(series, series->step[series->count - 1].to_ns);
}

bool series_begins_at(const struct series *series, unsigned step, unsigned place)
{
    return step == 0 || series->step[step].from_ns != series->step[step - 1].to_ns ||
           series_shift_of(series, step - 1, place)->confidence == 0;
}
