/* The tables between a larger transform and a smaller picture (kernels/transform/fused_larger.cl),
 * and the table of pairs of any fused transform. */
#include "transform/transform_private.h"

uint64_t transform_crop_bytes(const struct transform *transform)
{
    return !transform_is_smaller(transform)
               ? 0
               : (uint64_t)plan_pair_count(&transform->plan) * 2 * sizeof(cl_uint) +
                     (uint64_t)plan_second(&transform->larger->plan)->length * sizeof(cl_ushort);
}

int transform_make_pairs(cl_mem *ret, const struct transform *transform,
                         const struct plan *spectrum, struct error *why)
{
    const bool apart = spectrum->order == PLAN_ROWS_FIRST;
    const struct plan_axis *axis = plan_first(spectrum);
    const uint32_t own = plan_first(&transform->plan)->length;
    struct plan_pair pair[PLAN_MAX_LENGTH / 2 + 1];
    cl_uint table[PLAN_MAX_LENGTH / 2 + 1][2];
    const uint32_t count = plan_pair_count(&transform->plan);
    plan_pairs(&transform->plan, pair);
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t frequency = transform_loaded_frequency(pair[k].frequency, own, axis->length);
        const uint32_t negative = (axis->length - frequency) % axis->length;
        table[k][0] = plan_place(axis, plan_position(axis, frequency), apart);
        table[k][1] = plan_place(axis, plan_position(axis, negative), apart);
    }
    return opencl_make_table(ret, transform->device->context, table, count * sizeof table[0], why);
}

/* The place in a line of the smaller picture of each element of a line of the larger transform, or
 * the length if the smaller picture lacks the frequency. */
static int make_places(struct transform *transform, struct error *why)
{
    const struct plan_axis *from = plan_second(&transform->larger->plan);
    const struct plan_axis *axis = plan_second(&transform->plan);
    uint16_t table[PLAN_MAX_LENGTH];
    for (uint32_t e = 0; e < from->length; e++)
        table[e] = (uint16_t)axis->length;
    for (uint32_t k = 0; k < axis->length; k++)
        table[plan_position(from, transform_loaded_frequency(k, axis->length, from->length))] =
            (uint16_t)plan_position(axis, k);
    return opencl_make_table(&transform->crop, transform->device->context, table,
                             from->length * sizeof table[0], why);
}

int transform_make_crop(struct transform *transform, struct error *why)
{
    if (!transform_is_smaller(transform))
        return 0;
    const int r =
        transform_make_pairs(&transform->origins, transform, &transform->larger->plan, why);
    return r < 0 ? r : make_places(transform, why);
}
