/* The delay after a failed attempt to open a camera or to build an engine. It doubles with each
 * failure, from the first delay to the longest. recovery.c counts the failures and the restarts of
 * a camera (`remedies`), and applies the delay (`retry_later`); a frame resets the count, and so
 * does another source once it is taken. output_change.c counts the failures of an engine; a
 * published frame resets that count. An attempt with another cause, such as a change in the
 * directory of the device, resets nothing. Two attempts are not delayed: the first after the signal
 * has changed, and the one that goes back to a source that was closed. Tests in
 * tests/unit/recovery.c that call `assert_retry_delay` repeat the figures, and RECOVERY_S in
 * tests/vm/test_faults.py must be longer than RETRY_DELAY_LONGEST_NS; no document repeats them.
 */
#ifndef FFTD_CAMERA_RETRY_DELAY_H
#define FFTD_CAMERA_RETRY_DELAY_H

#include <stdint.h>

#include "core/clock.h"

/* For cameras and engines alike. */
#define RETRY_DELAY_FIRST_NS         (100 * NS_PER_MS)

/* A driver that has recovered, or a camera that another program has released, sends no event. Only
 * the next attempt notices it, so the longest delay is short. A failed attempt costs well under a
 * millisecond. */
#define RETRY_DELAY_LONGEST_NS       (1 * NS_PER_S)

/* Building an engine may cost seconds of processor time. */
#define RETRY_DELAY_LONGEST_BUILD_NS (5 * NS_PER_S)

/* Returns the delay after `failures` failures in a row; longest_ns is one of the two longest delays
 * above. Each restart of a camera's stream counts as a failure, so the delay after a restart that
 * failed is twice the first. */
static inline int64_t retry_delay_ns(unsigned failures, int64_t longest_ns)
{
    int64_t delay_ns = RETRY_DELAY_FIRST_NS;
    while (failures-- > 1 && delay_ns < longest_ns)
        delay_ns *= 2;
    return delay_ns < longest_ns ? delay_ns : longest_ns;
}

#endif
