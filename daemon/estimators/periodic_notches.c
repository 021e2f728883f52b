#include "estimators/periodic_notches.h"

#include <math.h>
#include <stdio.h>

/* Cycles/pixel. A wave is cut off at the edges of the picture, and so is wider than one frequency:
 * of 320 x 240 and 1280 x 720 pixels with waves of 1 to 5 % this width leaves the least, or nearly.
 */
#define LEAST_WIDTH 0.02
#define MOST_WIDTH  0.1
#define SPREADS     4.0 /* so many of them are within the width */
#define WIDTH_STEP  0.005
#define STAGE_BYTES 100

double notch_width(const struct periodic_report *wave)
{
    return fmin(LEAST_WIDTH + WIDTH_STEP * floor(SPREADS * wave->spread / WIDTH_STEP), MOST_WIDTH);
}

static double distance(double fx, double fy, const struct notch *notch)
{
    const double dx = fx - notch->fx;
    const double dy = fy - notch->fy;
    return hypot(dx - rint(dx), dy - rint(dy));
}

static double distance_either(double fx, double fy, const struct notch *notch)
{
    return fmin(distance(fx, fy, notch), distance(-fx, -fy, notch));
}

/* A notch of before that still suits the wave: near enough, wide enough, and not much too wide. */
static const struct notch *find_suitable(const struct notches *before,
                                         const struct periodic_report *wave)
{
    const double width = notch_width(wave);
    for (unsigned i = 0; i < before->count; i++) {
        const struct notch *notch = &before->notch[i];
        if (distance_either(wave->fx, wave->fy, notch) < LEAST_WIDTH / 8 &&
            notch->width > width - WIDTH_STEP / 2 && notch->width < 1.5 * width)
            return notch;
    }
    return NULL;
}

void notches_choose(struct notches *ret, const struct notches *before,
                    const struct periodic_report *wave, unsigned count, unsigned max_waves)
{
    struct notches chosen = {.count = 0};
    unsigned removed = 0;
    for (unsigned i = 0; i < count; i++)
        removed += wave[i].is_removed && !wave[i].is_unpredictable;
    for (unsigned i = 0; i < count; i++) {
        if (!wave[i].is_unpredictable || removed >= max_waves ||
            chosen.count >= CORRECTION_MAX_WAVES)
            continue;
        const struct notch *notch = find_suitable(before, &wave[i]);
        chosen.notch[chosen.count++] =
            notch != NULL ? *notch : (struct notch){wave[i].fx, wave[i].fy, notch_width(&wave[i])};
        removed++;
    }
    *ret = chosen;
}

bool notches_equal(const struct notches *a, const struct notches *b)
{
    if (a->count != b->count)
        return false;
    for (unsigned i = 0; i < a->count; i++) {
        bool is_in = false;
        for (unsigned k = 0; k < b->count; k++)
            is_in |= a->notch[i].fx == b->notch[k].fx && a->notch[i].fy == b->notch[k].fy &&
                     a->notch[i].width == b->notch[k].width;
        if (!is_in)
            return false;
    }
    return true;
}

bool notches_cover(const struct notches *notches, double fx, double fy)
{
    for (unsigned i = 0; i < notches->count; i++)
        if (distance_either(fx, fy, &notches->notch[i]) < notches->notch[i].width / 4)
            return true;
    return false;
}

void notches_append(struct notches *notches, struct filter_chain *chain)
{
    unsigned added = 0;
    for (; added < notches->count && chain->count < FILTER_MAX_STAGES; added++) {
        const struct notch *notch = &notches->notch[added];
        char text[STAGE_BYTES];
        snprintf(text, sizeof text, "notch:at=%.5f/%.5f,width=%.4f", notch->fx, notch->fy,
                 notch->width);
        if (filter_stage_parse(&chain->stage[chain->count], text, NULL) < 0)
            break;
        chain->count++;
    }
    notches->count = added;
}
