/* The shape of a transform: padded sizes, radices, digit orders, border maps. Pure.
 *
 * A padded size is a product of radices; the transform along an axis of length n with radices
 * r0, r1, ... is decimation in frequency, in place: position q holds frequency plan_frequency(q).
 * Nothing ever reorders it: the response is stored in that order. */
#ifndef FFTD_CORE_PLAN_H
#define FFTD_CORE_PLAN_H

#include <stdint.h>

#include "core/error.h"

#define PLAN_MAX_STAGES 14
#define PLAN_MAX_LENGTH 16384

enum plan_border { PLAN_MIRROR, PLAN_REPLICATE, PLAN_CONSTANT, PLAN_WRAP };

#endif
