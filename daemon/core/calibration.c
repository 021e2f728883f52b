#include "core/calibration.h"

static bool corrects(const struct filter_stage *stage)
{
    return stage->kind->add_offsets != NULL || stage->kind->multiply_gains != NULL;
}

bool calibration_is_needed(const struct filter_chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        if (corrects(&chain->stage[i]))
            return true;
    return false;
}

int calibration_fill(struct filter_calibration *table, const struct filter_chain *chain,
                     struct error *why)
{
    const size_t count = (size_t)table->width * table->height;
    int r = 0;
    for (size_t i = 0; i < count; i++) {
        table->offset[i] = 0;
        table->gain[i] = 1;
    }
    for (unsigned i = 0; i < chain->count && r == 0; i++)
        if (chain->stage[i].kind->add_offsets != NULL)
            r = chain->stage[i].kind->add_offsets(&chain->stage[i], table, why);
    for (unsigned i = 0; i < chain->count && r == 0; i++)
        if (chain->stage[i].kind->multiply_gains != NULL)
            r = chain->stage[i].kind->multiply_gains(&chain->stage[i], table, why);
    return r;
}
