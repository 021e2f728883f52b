/* Filters without neighbours that multiply samples of 8 bits by a factor, on the host. A device
 * whose kernels run on the same processors takes longer to be asked than the host to do it. Pure.
 */
#ifndef FFTD_ENGINE_FACTOR_H
#define FFTD_ENGINE_FACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a row is multiplied by. */
struct factor {
    uint16_t multiplier; /* in 2^(16 - extra)ths */
    unsigned extra;
};

/* Sets what a value is as a factor. Returns false for one that the host leaves to the device. */
bool factor_of(struct factor *ret, double value);

/* Multiplies `count` bytes, rounds, and keeps them within 0 .. 255. Results are within a 16th of a
 * step of the right ones before they are rounded. */
void factor_multiply(struct factor factor, uint8_t *restrict to, const uint8_t *restrict from,
                     size_t count);

#endif
