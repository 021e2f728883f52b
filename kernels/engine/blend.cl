/* Blends two responses while one filter fades into another, number by number:
 *
 *     result = from + weight (to - from)
 *
 * Data: three arrays of `count` numbers, float or half. Both responses have the same order, which
 * does not matter here.
 *
 * Work-items: one for four numbers; the last ones have fewer, or none. A program of its own,
 * launched by fade_enqueue (daemon/engine/fade.c). */

#if HALF_STORAGE
typedef half stored;
#define READ(at, numbers)          vload_half(at, numbers)
#define READ4(at, numbers)         vload_half4(at, numbers)
#define WRITE(value, at, numbers)  vstore_half_rte(value, at, numbers)
#define WRITE4(value, at, numbers) vstore_half4_rte(value, at, numbers)
#else
typedef float stored;
#define READ(at, numbers)          (numbers)[at]
#define READ4(at, numbers)         vload4(at, numbers)
#define WRITE(value, at, numbers)  (numbers)[at] = (value)
#define WRITE4(value, at, numbers) vstore4(value, at, numbers)
#endif

kernel void blend(global const stored *from, global const stored *to, global stored *result,
                  float weight, uint count)
{
    const uint item = (uint)get_global_id(0);
    if (4 * item + 4 <= count) {
        const float4 begin = READ4(item, from);
        WRITE4(begin + weight * (READ4(item, to) - begin), item, result);
        return;
    }
    for (uint i = 4 * item; i < count; i++) {
        const float begin = READ(i, from);
        WRITE(begin + weight * (READ(i, to) - begin), i, result);
    }
}
