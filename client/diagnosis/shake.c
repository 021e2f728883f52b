#include "shake.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/order.h"

#define WINDOW_NS     333333333 /* the smooth path is a line fitted over this time */
/* Distances of normal positions in a plane. The median does not see that a picture jumps once. */
#define RMS_OF_MEDIAN 1.2011
#define FEWEST        4u /* places in a window; fewer do not make it smooth */
/* The share of a place's own error by which the line follows it; beyond that little is left. */
#define MOST_LEVERAGE 0.5

/* Finds how far place i is from the smooth path: the straight line over time that fits the places
 * within half a window of it. The path breaks before `first` and before `end`. If frames are evenly
 * spaced, the line passes through the mean of these places at i. If they are not, it follows place
 * i more, and the distance is scaled to what it would be if they were. */
static bool find_distance(const struct shake_shift *shift, unsigned first, unsigned end, unsigned i,
                          double *ret)
{
    double x = 0, y = 0, own_x = 0, own_y = 0, sum_x = 0, sum_y = 0;
    double sum_t = 0, sum_tt = 0, sum_tx = 0, sum_ty = 0;
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
        const double t = (double)away_ns / WINDOW_NS;
        sum_x += x;
        sum_y += y;
        sum_t += t;
        sum_tt += t * t;
        sum_tx += t * x;
        sum_ty += t * y;
        count++;
    }
    const double spread = count * sum_tt - sum_t * sum_t;
    /* At the ends of a path the window is not around its place: a pan would count as shake. */
    if (count < FEWEST || spread <= 0 ||
        shift[i].captured_ns - shift[first].captured_ns < WINDOW_NS / 2 ||
        shift[end - 1].captured_ns - shift[i].captured_ns < WINDOW_NS / 2)
        return false;
    const double leverage = sum_tt / spread; /* 1 / count if they are evenly spaced */
    if (leverage > MOST_LEVERAGE)
        return false;
    *ret = sqrt((1 - 1. / count) / (1 - leverage)) *
           hypot(own_x - (sum_tt * sum_x - sum_t * sum_tx) / spread,
                 own_y - (sum_tt * sum_y - sum_t * sum_ty) / spread);
    return true;
}

/* Lists how far places are from the line between their two neighbours, in pixels, scaled to the
 * error of one place. Skips a place if a neighbour is more than half a window away, because a pan
 * may turn in between. Returns the length of the list. */
static unsigned list_bends(const struct shake_shift *shift, unsigned count, double *ret)
{
    unsigned used = 0;
    for (unsigned i = 2; i < count; i++) {
        const double before = (double)(shift[i - 1].captured_ns - shift[i - 2].captured_ns);
        const double after = (double)(shift[i].captured_ns - shift[i - 1].captured_ns);
        if (!shift[i].is_sure || !shift[i - 1].is_sure || before <= 0 || after <= 0 ||
            fmax(before, after) > WINDOW_NS / 2.)
            continue;
        /* The variances of the place and of the line there, from its two ends. */
        const double part = before / (before + after);
        const double scale = sqrt(1 + part * part + (1 - part) * (1 - part));
        ret[used++] = hypot((1 - part) * shift[i - 1].dx - part * shift[i].dx,
                            (1 - part) * shift[i - 1].dy - part * shift[i].dy) /
                      scale;
    }
    return used;
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
    /* A path that breaks often, or has few places in a window, has no smooth path to compare with.
     */
    if (used < FEWEST) {
        used = list_bends(shift, count, distance);
        if (used < 2 * FEWEST)
            used = 0;
    }
    qsort(distance, used, sizeof *distance, order_doubles);
    if (used > 0) {
        ret->rms_px = RMS_OF_MEDIAN * distance[used / 2];
        ret->most_px = distance[used - 1];
    }
    ret->sure = count > 1 ? (double)sure / (count - 1) : 0;
    free(distance);
    return 0;
}
