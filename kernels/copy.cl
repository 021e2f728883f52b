/* Copies memory, to measure how fast a device moves it.
 *
 * Data: two arrays of as many float4 as there are work-items, one for each. A program of its own,
 * launched by rates_measure (daemon/transform/rates.c). */
kernel void copy(global const float4 *from, global float4 *to)
{
    const size_t item = get_global_id(0);
    to[item] = from[item];
}
