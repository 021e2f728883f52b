/* Compares templates with all places of a picture. The sums of products come from transforms of
 * overlapping squares, and those of the picture are made once for all templates. Pure. match.h, the
 * layer above, defines the score.
 *
 * Threads: as match.h. */
#ifndef FFTD_ESTIMATORS_MATCH_SHEET_H
#define FFTD_ESTIMATORS_MATCH_SHEET_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#define MATCH_MIN_DEVIATION 0.5 /* a template's samples, 0 .. 255, deviate at least as much */

/* Columns and rows of numbers. */
struct match_extent {
    unsigned columns, rows;
};

static inline size_t match_area(struct match_extent extent)
{
    return (size_t)extent.columns * extent.rows;
}

static inline unsigned match_lesser(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* The least columns and the least rows of both. */
static inline struct match_extent match_smaller(struct match_extent a, struct match_extent b)
{
    return (struct match_extent){match_lesser(a.columns, b.columns), match_lesser(a.rows, b.rows)};
}

static inline struct match_extent match_larger(struct match_extent a, struct match_extent b)
{
    return (struct match_extent){a.columns > b.columns ? a.columns : b.columns,
                                 a.rows > b.rows ? a.rows : b.rows};
}

/* Returns at how many places a window is inside a picture. */
static inline struct match_extent match_places(struct match_extent picture,
                                               struct match_extent window)
{
    return (struct match_extent){picture.columns - window.columns + 1,
                                 picture.rows - window.rows + 1};
}

struct match_shape {
    struct match_extent image, places; /* places: at which it is inside the picture */
    float *pixel;                      /* pixels of the template, minus their mean */
    double variation;                  /* the sum of their squares */
};

struct fft;

/* fields: one buffer for each step of a search */
struct match_sheet {
    struct match_extent picture;
    const float *luma; /* set by the caller before each search */
    float mean;
    float *blocks; /* memory for that luma, freed with the sheet; NULL: it is the caller's */

    unsigned side;              /* 0: no template is looked for */
    struct match_extent places; /* where the smallest template may be */
    struct match_extent step;   /* places of the largest one that a square yields */
    struct fft *fft;
    float complex *square;   /* work for one pair; owns the memory of the next, as sum does */
    float complex *spectrum; /* all pairs of squares, the second one times i */
    bool is_transformed;     /* `spectrum` is that of `luma` */
    float *rank;             /* one number for each place: its sum of products, then its rank */

    /* Summed-area tables of luma - mean, and of its square: entry (x, y) is the sum over the
     * columns before x and the rows before y. They have one column and one row more than the
     * picture. */
    double *sum, *square_sum;
};

/* Where a template's first pixel is in the picture, and the score there. */
struct match_place {
    unsigned x, y;
    double score;
};

/* Returns the bytes that a sheet of this picture takes if templates of these sizes are looked for,
 * and those that each of their kernels takes. */
uint64_t match_sheet_bytes(struct match_extent picture, struct match_extent smallest,
                           struct match_extent largest, uint64_t *ret_kernel);

/* Allocates what the score of one place needs. The caller has set sheet->picture, and everything
 * else to zero. -ENOMEM. */
int match_sheet_init_sums(struct match_sheet *sheet);
/* Allocates what a search for templates of these sizes needs besides. -ENOMEM. */
int match_sheet_init(struct match_sheet *sheet, struct match_extent smallest,
                     struct match_extent largest, struct error *why);
void match_sheet_finish(struct match_sheet *sheet);

/* Allocates and returns the conjugate spectrum of a shape's pixels. NULL: out of memory. */
float complex *match_sheet_kernel(const struct match_sheet *sheet, const struct match_shape *shape);

/* Sums up a new picture in sheet->luma, which must stay there while it is searched. */
void match_sheet_take(struct match_sheet *sheet);

/* Compares all places of windows of one size with a kernel. A place's rank is
 *
 *     p |p| / sum of (w - mean w)^2,    p: the sum of products with the kernel,
 *
 * which puts places in the order of their scores, and needs no root. Writes the best peaks, at most
 * `capacity`, with the best one first and ranks for scores, and returns their number. */
unsigned match_sheet_search(struct match_sheet *sheet, struct match_extent window,
                            struct match_extent places, const float complex *kernel,
                            struct match_place *ret, unsigned capacity);

/* The same with all peaks of at least this rank, in no order; it stops when there are `capacity`.
 */
unsigned match_sheet_search_all(struct match_sheet *sheet, struct match_extent window,
                                struct match_extent places, const float complex *kernel,
                                double least_rank, struct match_place *ret, unsigned capacity);

/* Returns the score of one place, by its definition. NaN: the window has none. */
double match_sheet_score(const struct match_sheet *sheet, const struct match_shape *shape,
                         unsigned left, unsigned top);

#endif
