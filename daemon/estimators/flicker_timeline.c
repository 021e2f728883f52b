#include "estimators/flicker_timeline.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/clock.h"

#define MIN_FRAMES  6u
#define MAX_SPLIT   3u   /* the median interval may be three periods */
#define MAX_RESIDUE 0.15 /* of a period, from the line */

static int by_size(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

static double seconds(const struct rows *rows, unsigned from, unsigned to)
{
    return (double)(rows->frame[to].captured_ns - rows->frame[from].captured_ns) / NS_PER_S;
}

static double median_interval(const struct rows *rows)
{
    double interval[ROWS_FRAMES] = {0};
    for (unsigned i = 1; i < rows->count; i++)
        interval[i - 1] = seconds(rows, i - 1, i);
    qsort(interval, rows->count - 1, sizeof *interval, by_size);
    return interval[(rows->count - 1) / 2];
}

/* Numbers the frames by periods of about that length, the newest 0, and fits a line to the time
 * stamps. False if one of them is far from the line. */
static bool fit_line(const struct rows *rows, double period_s, struct timeline *ret)
{
    const unsigned count = rows->count, newest = count - 1;
    double number[ROWS_FRAMES] = {0}, n = 0, t = 0, nn = 0, nt = 0, squares = 0;
    for (unsigned i = newest; i-- > 0;)
        number[i] = number[i + 1] - fmax(1, round(seconds(rows, i, i + 1) / period_s));
    for (unsigned i = 0; i < count; i++) {
        const double time_s = seconds(rows, newest, i);
        n += number[i];
        t += time_s;
        nn += number[i] * number[i];
        nt += number[i] * time_s;
    }
    const double slope = (nt - n * t / count) / (nn - n * n / count);
    const double origin = (t - slope * n) / count;
    for (unsigned i = 0; i < count; i++) {
        const double residue = seconds(rows, newest, i) - origin - slope * number[i];
        if (!(fabs(residue) <= MAX_RESIDUE * slope))
            return false;
        squares += residue * residue;
        ret->time_s[i] = slope * number[i];
    }
    ret->period_s = slope;
    ret->jitter_s = sqrt(squares / (count - 2));
    ret->reference_ns = rows->frame[newest].captured_ns + (int64_t)llround(origin * NS_PER_S);
    return true;
}

void timeline_update(struct timeline *timeline, const struct rows *rows, struct fit *fit)
{
    if (rows->count == 0)
        return;
    const unsigned newest = rows->count - 1;
    struct timeline next = {.reference_ns = rows->frame[newest].captured_ns};
    bool is_regular = false;
    for (unsigned split = 1; rows->count >= MIN_FRAMES && split <= MAX_SPLIT && !is_regular;
         split++)
        is_regular = fit_line(rows, median_interval(rows) / split, &next);
    if (!is_regular) {
        next = (struct timeline){.reference_ns = rows->frame[newest].captured_ns};
        for (unsigned i = 0; i < rows->count; i++)
            next.time_s[i] = seconds(rows, newest, i);
    }
    double passed_s = (double)(next.reference_ns - timeline->reference_ns) / NS_PER_S;
    if (is_regular && timeline->period_s > 0) {
        /* As many of the periods that were known before, which the phases belong to. */
        const double periods = round(passed_s / next.period_s);
        const double scale = timeline->period_s / next.period_s;
        if (fabs(scale - 1) < 0.01) {
            passed_s = periods * timeline->period_s;
            fit_advance(fit, passed_s);
            fit->frequency_hz *= scale;
            *timeline = next;
            return;
        }
    }
    fit_advance(fit, passed_s);
    *timeline = next;
}
