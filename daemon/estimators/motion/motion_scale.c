#include "estimators/motion/motion_scale.h"

#include <stddef.h>

/* Hoare's selection. qsort would call a function for each comparison, and each block has values of
 * its own. */
float motion_scale_quartile(float *values, unsigned count)
{
    const int wanted = (int)(count / 4);
    int first = 0, last = (int)count - 1;
    while (first < last) {
        const float pivot = values[wanted];
        int low = first, high = last;
        while (low <= high) {
            while (values[low] < pivot)
                low++;
            while (pivot < values[high])
                high--;
            if (low > high)
                break;
            const float value = values[low];
            values[low++] = values[high];
            values[high--] = value;
        }
        if (high < wanted)
            first = low;
        if (wanted < low)
            last = high;
    }
    return values[wanted];
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
