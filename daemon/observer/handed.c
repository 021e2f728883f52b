#include "observer/handed.h"

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
    return moving_fit(&handed->grid, handed->vectors.bytes, width, height, handed->frames, ret);
}

void handed_put(struct moving_copy *copy, const struct observed_field *field)
{
    copy->number = 0;
    if (!observed_field_is_known(field) ||
        !moving_copy_reserve(copy, moving_grid_bytes(field->grid)))
        return;
    moving_put(copy->bytes, field->grid, field->vector, field->captured_ns, field->since_ns);
    copy->number = field->number;
}
