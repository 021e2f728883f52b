/* Vector instructions give the upper half of a product of 16 bits. The compiler finds them, for
 * which the Makefile has -O3 for this file.
 *
 * Bytes are taken in pairs, of which either is the upper half of a number of 16 bits: in vectors
 * that takes a shift and an AND, where bytes that are widened and made narrow again have to cross
 * the vector. With this a factor takes no longer than a copy. */
#include "engine/factor.h"

#include <math.h>
#include <string.h>

#include "core/vectors.h"

#define MOST_EXTRA 4

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

/* Returns a sample, which is in 256ths, times the factor. */
static inline uint16_t multiply(uint16_t sample, uint16_t multiplier, unsigned extra)
{
    const uint16_t half = (uint16_t)(1u << (7 - extra));
    const uint16_t product = (uint16_t)(((uint32_t)sample * multiplier) >> 16);
    const uint16_t rounded = (uint16_t)((uint16_t)(product + half) >> (8 - extra));
    if (extra == 0)
        return rounded;
    return rounded > 255 ? 255 : rounded;
}

/* In its own copy for each `extra`, the shifts are constants. */
static ALWAYS_INLINE void multiply_all(uint16_t multiplier, unsigned extra, uint8_t *restrict to,
                                       const uint8_t *restrict from, size_t count)
{
    for (size_t i = 0; i + 1 < count; i += 2) {
        uint16_t pair;
        memcpy(&pair, from + i, sizeof pair);
        const uint16_t lower = multiply((uint16_t)(pair << 8), multiplier, extra);
        const uint16_t upper = multiply(pair & 0xff00, multiplier, extra);
        pair = (uint16_t)(lower | upper << 8);
        memcpy(to + i, &pair, sizeof pair);
    }
    if (count % 2 != 0)
        to[count - 1] = (uint8_t)multiply((uint16_t)(from[count - 1] << 8), multiplier, extra);
}

VECTORS void factor_multiply(struct factor factor, uint8_t *restrict to,
                             const uint8_t *restrict from, size_t count)
{
    switch (factor.extra) {
    case 0:
        multiply_all(factor.multiplier, 0, to, from, count);
        break;
    case 1:
        multiply_all(factor.multiplier, 1, to, from, count);
        break;
    case 2:
        multiply_all(factor.multiplier, 2, to, from, count);
        break;
    case 3:
        multiply_all(factor.multiplier, 3, to, from, count);
        break;
    case MOST_EXTRA:
        multiply_all(factor.multiplier, MOST_EXTRA, to, from, count);
        break;
    }
}
