/* The history of the means of rows, along the motion of the scene; for flicker.h alone. Pure.
 *
 * Rows are gathered in bins that belong to the scene: bin b of frame n holds the rows from
 * b * bin_px + offset_px[n] on. Its columns are divided into blocks. A value is the mean of
 * the logarithms of these blocks' rows, minus that in the frame before over the same columns of the
 * scene, summed up since the bin came into view. Blocks that change far more or less than the
 * others of a bin are left out, and rows are softened, so that edges can be found between rows.
 * Without flicker a bin's values are constant. */
#ifndef FFTD_ESTIMATORS_FLICKER_FLICKER_ROWS_H
#define FFTD_ESTIMATORS_FLICKER_FLICKER_ROWS_H

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "estimators/flicker/flicker_scene.h"

#define ROWS_FRAMES 40u  /* in the history */
#define ROWS_BINS   64u  /* in view at once, at most */
#define ROWS_RING   512u /* bins that are remembered, a power of two */

struct rows_frame {
    int64_t captured_ns;
    uint64_t serial;
    double offset_px;
    int first_bin;
    unsigned bins;
    float value[ROWS_BINS];
};

/* A sum over the rows above one. */
struct rows_sum {
    double log_sum; /* the logarithms of their means */
    unsigned bad;   /* how many are too dark or too bright */
};

/* (fields: the history, what is kept of the last frame for its successor, and memory.) */
struct rows {
    unsigned width, height;
    double bin_px;
    unsigned count; /* frames, the oldest first */
    uint64_t serial;
    uint64_t since[ROWS_RING]; /* serial from which on a bin's values belong together */
    struct rows_frame frame[ROWS_FRAMES];
    struct flicker_scene *scene;
    float *last;             /* the last frame's samples */
    bool is_whole;           /* the newest sums are over all columns */
    unsigned blocks;         /* into which the columns are divided */
    struct rows_sum *sum[2]; /* last and new: height + 1 for each block */
};

int rows_create(struct rows **ret, unsigned width, unsigned height, struct error *why);
void rows_destroy(struct rows *rows); /* NULL is allowed */

/* Forgets all frames. */
void rows_reset(struct rows *rows);

/* Adds a frame that is later than the last one, and forgets the others if the scene is another one
 * or does not move as a whole. */
void rows_add(struct rows *rows, const float *luma, int64_t captured_ns);

/* Forgets frames from before that time. */
void rows_trim(struct rows *rows, int64_t oldest_ns);

/* Returns whether a bin of a frame can be compared with the bin in the newest frames. */
static inline bool rows_is_valid(const struct rows *rows, const struct rows_frame *frame, int bin)
{
    return bin >= frame->first_bin && bin < frame->first_bin + (int)frame->bins &&
           frame->serial >= rows->since[(unsigned)bin % ROWS_RING];
}

/* The place of a bin on the sensor: -1 (top) .. 1. */
static inline double rows_place(const struct rows *rows, const struct rows_frame *frame, int bin)
{
    return 2 * ((bin + 0.5) * rows->bin_px + frame->offset_px) / rows->height - 1;
}

static inline double complex rows_phasor(double cycles)
{
    const double phase = 2 * M_PI * (cycles - floor(cycles));
    return cos(phase) + sin(phase) * I;
}

/* Returns the share of a wave's amplitude that is left in the mean over a bin. */
static inline double rows_attenuation(const struct rows *rows, double rows_cycles)
{
    const double one = sin(M_PI * rows_cycles), soft = 1 - one * one;
    return fabs(one) < 1e-9 ? 1
                            : soft * sin(M_PI * rows_cycles * rows->bin_px) / (one * rows->bin_px);
}

#endif
