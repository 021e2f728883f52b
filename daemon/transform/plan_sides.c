/* Which sides a smaller picture can have. */
#include <errno.h>
#include <stdio.h>

#include "transform/plan.h"

/* Returns whether there are lengths for a smaller plane with this side and the plane's own other
 * side. */
static bool has_lengths(const struct plan_limits *limits, bool along_x, uint32_t side)
{
    struct plan_limits one = *limits;
    struct plan plan;
    one.smaller_width = along_x ? side : limits->width;
    one.smaller_height = along_x ? limits->height : side;
    return plan_rank(&plan, 1, &one) > 0;
}

/* The nearest side below (step -1) or above (1) that has lengths; 0: there is none. It is even,
 * because chroma may have half as many samples. */
static uint32_t nearest(const struct plan_limits *limits, bool along_x, uint32_t side, int step)
{
    const uint32_t most = along_x ? limits->width : limits->height;
    side += (uint32_t)(step * (int)(side % 2));
    for (; side > 0 && side < most; side += (uint32_t)(2 * step))
        if (has_lengths(limits, along_x, side))
            return side;
    return side > 0 ? most : 0;
}

static int check(const struct plan_limits *limits, bool along_x, struct error *why)
{
    const uint32_t most = along_x ? limits->width : limits->height;
    const uint32_t side = along_x ? limits->smaller_width : limits->smaller_height;
    char below[32] = "is ";
    if (has_lengths(limits, along_x, side) || !has_lengths(limits, along_x, most))
        return 0;
    const uint32_t less = nearest(limits, along_x, side, -1);
    if (less > 0)
        snprintf(below, sizeof below, "are %u or ", less);
    return error_set(why, EINVAL, "%u %s cannot become %u: the nearest that can be had %s%u", most,
                     along_x ? "columns" : "rows", side, below, nearest(limits, along_x, side, 1));
}

int plan_check_smaller(const struct plan_limits *limits, struct error *why)
{
    const int r = check(limits, true, why);
    return r < 0 ? r : check(limits, false, why);
}
