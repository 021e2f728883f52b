/* Vector instructions give the upper half of a product of 16 bits. The compiler finds them, for
 * which the Makefile has -O3 for this file. */
#include "engine/factor.h"

#include <math.h>

#define MOST_EXTRA 4

/* Longer vectors where there are any: with those of all processors it takes three times as long. */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) &&                 \
    !defined(__SANITIZE_ADDRESS__)
#define VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define VECTORS
#endif

bool factor_of(struct factor *ret, double value)
{
    unsigned extra = 0;
    while (value * 65536 / (1u << extra) > 65535 && extra <= MOST_EXTRA)
        extra++;
    if (!(value >= 0) || extra > MOST_EXTRA)
        return false;
    *ret = (struct factor){(uint16_t)lrint(value * 65536 / (1u << extra)), extra};
    return true;
}

VECTORS void factor_multiply(struct factor factor, uint8_t *restrict to,
                             const uint8_t *restrict from, size_t count)
{
    const uint16_t half = (uint16_t)(1u << (7 - factor.extra));
    const uint16_t step = (uint16_t)(1u << (8 + factor.extra));
    for (size_t i = 0; i < count; i++) {
        const uint16_t product = (uint16_t)(((uint32_t)(from[i] << 8) * factor.multiplier) >> 16);
        const uint16_t sum = (uint16_t)(product + half);
        const uint16_t rounded = (uint16_t)(((uint32_t)sum * step) >> 16);
        to[i] = (uint8_t)(rounded > 255 ? 255 : rounded);
    }
}
