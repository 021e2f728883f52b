#include "estimators/motion/motion_scale.h"

#include <stdlib.h>

#include "core/order.h"

float motion_scale_quartile(float *values, unsigned count)
{
    qsort(values, count, sizeof *values, order_floats);
    return values[count / 4];
}

/* Where a place is between the blocks of a scale: the block before it and what is left. */
static unsigned between(float place, unsigned count, float *ret_rest)
{
    if (place <= 0 || count == 1) {
        *ret_rest = 0;
        return 0;
    }
    const unsigned before = (unsigned)place;
    *ret_rest = before + 1 < count ? place - (float)before : 1;
    return before + 1 < count ? before : count - 2;
}

struct motion_quad motion_scale_at(const struct motion_scale *scale, float column, float row)
{
    float u, v;
    const unsigned x = between(column, scale->columns, &u), y = between(row, scale->rows, &v);
    const struct motion_block *at = &scale->block[(size_t)y * scale->columns + x];
    const size_t right = scale->columns > 1 ? 1 : 0, down = scale->rows > 1 ? scale->columns : 0;
    struct motion_quad ret = {.block = {at, at + right, at + down, at + down + right}};
    ret.dx = (1 - v) * ((1 - u) * at->dx + u * at[right].dx) +
             v * ((1 - u) * at[down].dx + u * at[down + right].dx);
    ret.dy = (1 - v) * ((1 - u) * at->dy + u * at[right].dy) +
             v * ((1 - u) * at[down].dy + u * at[down + right].dy);
    return ret;
}
