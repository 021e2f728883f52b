/* Collects fields of motion (struct fftd_motion of fftd/ring.h): by how much the content of some
 * places has moved from one measured picture to the next. Pure.
 *
 * What is kept are the shifts between two pictures, with the times of both, and not their sum. A
 * field that was lost, a cut or a restart of the daemon is then only a gap.
 *
 * Times are those of CLOCK_MONOTONIC in nanoseconds; lengths are pixels of the captured picture,
 * from its top left corner, x to the right and y down. One thread at a time uses a series. */
#ifndef FFTD_VIBRATION_SERIES_H
#define FFTD_VIBRATION_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <fftd/ring.h>

#define SERIES_NAME_BYTES  32
#define SERIES_MOST_BLOCKS (1u << 20) /* in a field */

/* Some columns and rows of the grid of blocks; right and bottom are the first ones beyond. */
struct series_extent {
    uint32_t left, right, top, bottom;
};

struct series_place {
    char name[SERIES_NAME_BYTES];
    uint32_t left, top, width, height;
    struct series_extent extent;
    uint32_t blocks; /* in the extent, which the place is the mean of */
};

/* The times of the two pictures that a field compares. */
struct series_step {
    int64_t from_ns, to_ns;
};

struct series_shift {
    float dx, dy;     /* pixels */
    float confidence; /* 0 .. 1; 0: the shift is not known */
};

struct series {
    uint32_t columns, rows, block; /* what fields have; block 0: none has come yet */
    unsigned named;                /* places that have names; those of all blocks follow them */
    unsigned places;
    struct series_place *place;
    unsigned count, capacity; /* steps */
    struct series_step *step;
    struct series_shift *shift; /* places for each step */
};

/* Prepares for fields of that shape. A named place has the mean of all blocks that lie within it
 * entirely, or else of the one whose middle is nearest to its own. with_blocks: each block is a
 * place, too, row by row, behind the named ones. The caller calls series_finish, even after a
 * failure. -ERANGE: ret_wrong, a named place, is not within the picture's blocks; -EPROTO: such a
 * field cannot be; -ENOMEM. */
int series_begin(struct series *ret, const struct series_place *named, unsigned count,
                 bool with_blocks, const struct fftd_motion *field, unsigned *ret_wrong);
void series_finish(struct series *series); /* {0} is allowed */

/* Adds a field. Returns 1, or 0 if it has nothing new: the same field again, or one without
 * confidence. -ESTALE: its shape is another one; -ENOMEM. */
int series_add(struct series *series, const struct fftd_motion *field, const int16_t *vectors,
               const uint8_t *confidences);

/* The time from the first picture to the last one; 0 without a step. */
double series_seconds(const struct series *series);

/* The time from the first picture of a series with a step to a later one. Unsigned, because the
 * times are what a daemon says. */
static inline double series_seconds_to(const struct series *series, int64_t ns)
{
    return 1e-9 * (double)((uint64_t)ns - (uint64_t)series->step[0].from_ns);
}

static inline const struct series_shift *series_shift_of(const struct series *series, unsigned step,
                                                         unsigned place)
{
    return &series->shift[(size_t)step * series->places + place];
}

/* Returns whether the displacement of a place counts from 0 again at the first picture of a step,
 * because what it did before is not known. */
bool series_begins_at(const struct series *series, unsigned step, unsigned place);

#endif
