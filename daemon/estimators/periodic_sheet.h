/* One frame on the processor: waves measured in it by least squares, and subtracted. Pure.
 *
 * Part of the estimator of periodic.h. Phases count from the centre of the frame, where a small
 * error of a frequency changes them least. Pixels are 0 .. 255. Threads: one at a time. */
#ifndef FFTD_ESTIMATORS_PERIODIC_SHEET_H
#define FFTD_ESTIMATORS_PERIODIC_SHEET_H

#include <complex.h>
#include <stddef.h>
#include <stdbool.h>

#include "core/error.h"

#define SHEET_LANES     16u /* columns computed side by side; the stride is a multiple */
#define SHEET_MAX_WAVES 12u

struct sheet_frequency {
    double fx, fy; /* cycles/pixel */
};

/* The scatter of cells about their centre: sums of the window times the squared distances along x
 * and y, and times the product of both distances (xy). */
struct sheet_scatter {
    double xx, xy, yy;
};

/* Sums of the window over pixels of one axis: alone, and times the distance from the centre and its
 * square. */
struct sheet_moments {
    double all, first, second;
};

struct sheet {
    unsigned width, height, stride;
    unsigned cells_x, cells_y; /* SHEET_LANES x SHEET_LANES pixels each */
    float *pixel;
    unsigned rows;              /* how many are loaded and fitted */
    unsigned *row;              /* which, downwards */
    unsigned short *saturated;  /* how many loaded pixels of each cell are black or white */
    unsigned cut;               /* how many in a whole cell make it blank */
    float *window_x, *window_y; /* Hann, over the whole frame */
    double seen;                /* share of the window that no blank cell is under */
    struct sheet_moments along_x, along_y; /* over all columns, and over the loaded rows */
    struct sheet_scatter scatter;          /* how cells that are not blank are scattered */
    float *scratch;                        /* rows for each wave */
};

/* least_rows: a sheet that is only fitted needs at least this many of its rows, and has fewer than
 * twice as many; 0: all of them. One row of each few is taken, each time another one, so that no
 * frequency looks like another. */
int sheet_init(struct sheet *ret, unsigned width, unsigned height, unsigned least_rows,
               struct error *why);
void sheet_clear(struct sheet *sheet);

/* Copies the rows of a frame, clamped to 0 .. 255; what is not a number becomes 0. Cells in which
 * the wave is cut off, because much of them is black or white, become blank: without any wave, and
 * with no harmonics of one. What is fitted holds for the rest, and nothing is subtracted from them.
 */
void sheet_load(struct sheet *sheet, const float *luma);

/* The first pixel after a cell along an axis, on which the sheet has `side` pixels. */
static inline unsigned sheet_cell_end(unsigned cell, unsigned side)
{
    const unsigned end = (cell + 1) * SHEET_LANES;
    return end < side ? end : side;
}

static inline void sheet_add_moments(struct sheet_moments *ret, const float *window, unsigned at,
                                     unsigned side)
{
    const double weight = (double)window[at], distance = at - (side - 1) / 2.0;
    ret->all += weight;
    ret->first += weight * distance;
    ret->second += weight * distance * distance;
}

static inline bool sheet_is_blank(const struct sheet *sheet, unsigned cell_x, unsigned cell_y)
{
    return sheet->saturated[(size_t)cell_y * sheet->cells_x + cell_x] * sheet->height >=
           sheet->cut * sheet->rows;
}

/* Fits waves to the sheet, weighted by the window: the complex amplitudes of all of them together,
 * and by how much each frequency is off, which may be up to about 0.3/width and 0.3/height (to
 * first order; the result is kept within that). A peak is two such units wide; a wave keeps its
 * frequency if it is within the peak of another one that is not much weaker. */
void sheet_fit(struct sheet *sheet, struct sheet_frequency *f, unsigned count, double complex *ret);

/* What sheet_subtract_row() subtracts, until the next fit. */
void sheet_prepare(struct sheet *sheet, const struct sheet_frequency *f,
                   const double complex *amplitude, unsigned count);

/* Subtracts the prepared waves from row y of a picture, of `stride` numbers; from blank cells only
 * if they are not skipped. f, count: as they were prepared. */
void sheet_subtract_row(const struct sheet *sheet, const struct sheet_frequency *f, unsigned count,
                        unsigned y, bool skips_blank, float *row);

/* Subtracts the real part of amplitude[i] exp(2 pi i f[i] (r - centre)) for all waves. */
void sheet_subtract(struct sheet *sheet, const struct sheet_frequency *f,
                    const double complex *amplitude, unsigned count);

#endif
