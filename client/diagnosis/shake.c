#include "shake.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define WINDOW_NS     333333333 /* the smooth path is the mean over this time */
/* Distances of normal positions in a plane. The median does not see that a picture jumps once. */
#define RMS_OF_MEDIAN 1.2011
#define FEWEST        4u /* places in a window; fewer do not make it smooth */

/* Subtracts the mean of the path within half a window of place i, and of nothing beyond a break of
 * the path, which begins at `first` and ends before `end`. */
static bool find_distance(const struct shake_shift *shift, unsigned first, unsigned end, unsigned i,
                          double *ret)
{
    double x = 0, y = 0, own_x = 0, own_y = 0, sum_x = 0, sum_y = 0;
    unsigned count = 0;
    for (unsigned k = first; k < end; k++) {
        x += k > first ? shift[k].dx : 0;
        y += k > first ? shift[k].dy : 0;
        const int64_t away_ns = shift[k].captured_ns - shift[i].captured_ns;
        if (k == i) {
            own_x = x;
            own_y = y;
        }
        if (away_ns > WINDOW_NS / 2 || away_ns < -WINDOW_NS / 2)
            continue;
        sum_x += x;
        sum_y += y;
        count++;
    }
    /* At the ends of a path the window is not around its place: a pan would count as shake. */
    if (count < FEWEST || shift[i].captured_ns - shift[first].captured_ns < WINDOW_NS / 2 ||
        shift[end - 1].captured_ns - shift[i].captured_ns < WINDOW_NS / 2)
        return false;
    *ret = hypot(own_x - sum_x / count, own_y - sum_y / count);
    return true;
}

/* Lists by how many pixels successive shifts differ. Returns the length of the list. */
static unsigned list_changes(const struct shake_shift *shift, unsigned count, double *ret)
{
    unsigned used = 0;
    for (unsigned i = 1; i < count; i++)
        if (shift[i].is_sure && shift[i - 1].is_sure)
            ret[used++] = hypot(shift[i].dx - shift[i - 1].dx, shift[i].dy - shift[i - 1].dy);
    return used;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int shake_judge(struct shake *ret, const struct shake_shift *shift, unsigned count)
{
    double *distance = malloc((count + 1) * sizeof *distance);
    unsigned used = 0, sure = 0;
    *ret = (struct shake){0};
    if (distance == NULL)
        return -ENOMEM;
    for (unsigned first = 0; first < count;) {
        unsigned end = first + 1;
        while (end < count && shift[end].is_sure)
            end++;
        sure += end - first - 1;
        for (unsigned i = first; i < end; i++)
            used += find_distance(shift, first, end, i, &distance[used]);
        first = end;
    }
    /* A path that breaks again and again has no smooth one. The change of a shift adds up a place
     * twice and two others once, whose variances make six of it; a pan has none. */
    const bool is_broken = used < FEWEST && count > 0;
    if (is_broken)
        used = list_changes(shift, count, distance);
    const double scale = is_broken ? 1 / sqrt(6) : 1;
    if (is_broken && used < 2 * FEWEST)
        used = 0;
    qsort(distance, used, sizeof *distance, by_value);
    if (used > 0) {
        ret->rms_px = scale * RMS_OF_MEDIAN * distance[used / 2];
        ret->most_px = scale * distance[used - 1];
    }
    ret->sure = count > 1 ? (double)sure / (count - 1) : 0;
    free(distance);
    return 0;
}
