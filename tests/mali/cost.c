#include "mali/cost.h"

#include <math.h>

const struct cost_device cost_midgard = {
    /* 4 cores of 600 MHz with two arithmetic pipes and one load/store pipe each. The memory is
     * shared with the CPU, the camera and the display. The time to begin a dispatch is unknown. */
    .rates = {.words = 4 * 600e6 * 2, .accesses = 4 * 600e6, .bytes = 10e9, .dispatch_s = 0},
    .item =
        {
#include "mali/costs.inc"
        },
};

double cost_seconds(const struct cost_rates *rates, const struct cost_work *work)
{
    return rates->dispatch_s +
           fmax(fmax(work->words / rates->words, work->accesses / rates->accesses),
                work->bytes / rates->bytes);
}

enum cost_place cost_place(enum cost_axis axis, unsigned stage, unsigned stage_count)
{
    const bool is_first = stage == 0, is_last = stage + 1 == stage_count;
    if (is_first && is_last)
        return axis == COST_COLUMNS ? COST_FIRST : COST_LAST;
    return is_first ? COST_FIRST : is_last ? COST_LAST : COST_INNER;
}

bool cost_is_in_forward(const struct cost_stage *stage)
{
    return stage->axis == COST_ROWS && stage->place == COST_LAST &&
           stage->direction == COST_INVERSE;
}

bool cost_add_stage(struct cost_work *work, const struct cost_device *device,
                    const struct cost_stage *stage, double numbers)
{
    const struct cost_item *item =
        &device->item[stage->precision][stage->axis][stage->place][stage->direction][stage->radix];
    const double items = numbers / (COST_BUTTERFLIES * stage->radix);
    if (item->words == 0)
        return false;
    work->words += items * (double)item->words;
    work->accesses += items * (double)item->accesses;
    return true;
}
