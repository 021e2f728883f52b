/* Multiplies a complex response by the phase ramp that moves a picture, number by number:
 *
 *     result = response * along_first[place.x] * along_second[place.y]
 *
 * Data: `response` and `result` have `part` real parts, and then as many imaginary ones, float or
 * half, in an order that does not matter here: `place` has the frequencies of each number along
 * both axes of the transform. `factors` has a complex factor for each frequency along the axis that
 * is transformed first, and from `second` on those along the other one.
 *
 * Work-items: one for each number; the last ones have none. A program of its own, launched by
 * ramp_enqueue (daemon/engine/ramp.c). */

#if HALF_STORAGE
typedef half stored;
#define READ(at, numbers)         vload_half(at, numbers)
#define WRITE(value, at, numbers) vstore_half_rte(value, at, numbers)
#else
typedef float stored;
#define READ(at, numbers)         (numbers)[at]
#define WRITE(value, at, numbers) (numbers)[at] = (value)
#endif

kernel void ramp(global const stored *response, global const ushort2 *place,
                 global const float2 *factors, global stored *result, uint second, uint part)
{
    const uint i = (uint)get_global_id(0);
    if (i >= part)
        return;
    const ushort2 at = place[i];
    const float2 a = factors[at.x], b = factors[second + at.y];
    const float re = a.x * b.x - a.y * b.y, im = a.x * b.y + a.y * b.x;
    const float h_re = READ(i, response), h_im = READ(i + part, response);
    WRITE(h_re * re - h_im * im, i, result);
    WRITE(h_re * im + h_im * re, i + part, result);
}
