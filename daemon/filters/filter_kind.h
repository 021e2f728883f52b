/* The kinds of filters: their parameters, their response, and their documentation. Pure.
 *
 * Each kind is a file of filters/kinds/ and a line of kinds.c. Parsing, checking, printing, help
 * and the tables of docs/FILTERS.md follow from its struct. Most kinds set a response and a
 * support, and nothing else of what a kind may do. filter.h, above this, makes chains of stages.
 *
 * Frequencies are in cycles per pixel, the same on both axes, |f| <= 0.5. A shift by x pixels to
 * the right is exp(-2 pi i fx x); y goes down. Angles of parameters are in degrees, clockwise from
 * the right. H(-fx, -fy) is exactly the complex conjugate of H(fx, fy), so filtered pictures are
 * real; where both sides of the lines f = +-0.5 differ, filter_response.c takes their mean. H is
 * real if the impulse response is the same in opposite directions. */
#ifndef FFTD_FILTERS_FILTER_KIND_H
#define FFTD_FILTERS_FILTER_KIND_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filters/adaptation.h"
#include "core/curve.h"
#include "filters/denoise.h"
#include "core/error.h"
#include "filters/filter_image.h"
#include "filters/stack.h"

#define FILTER_MAX_PARAMS 16

enum filter_type {
    FILTER_NUMBER, /* a finite double within [min, max]; a parameter of no other type is one */
    FILTER_PAIR,   /* two such numbers, x and y, written a/b */
    FILTER_CHOICE, /* one of `choices`, stored as its index in number */
    FILTER_BOOL,
    FILTER_KERNEL, /* rows of numbers within [min, max], written 0 -1 0/-1 5 -1/0 -1 0 */
    FILTER_IMAGE,  /* the name of an image */
};

struct filter_param {
    const char *name;
    const char *unit;    /* "cycles/pixel", "px"; NULL: none */
    const char *summary; /* one line of help */
    enum filter_type type;
    bool required;
    double min, max, initial;   /* initial: the default if it is not required; NaN: not set */
    const char *const *choices; /* NULL-terminated, FILTER_CHOICE only */
};

struct filter_stage; /* at the end; kinds read values with number() of filter_shape.h */
struct filter_calibration;

/* fields: each of these functions is a thing that a kind may do, and most kinds do one of them. */
struct filter_kind {
    const char *name;
    const char *group;   /* what it is for: a row of GROUPS in client/fftd-view/page/cards.js */
    const char *summary; /* one line */
    const char *formula; /* "H = ..." in ASCII, with the names of the parameters; f^2 = fx^2 + fy^2,
                            and pass and stop are the shapes of filter_shape.c. A test evaluates it
                            (`computed` of tests/integration/test_filters_doc.py). */
    struct filter_param param[FILTER_MAX_PARAMS]; /* those that are not used have no name */
    const char *example; /* a chain for the pictures of docs/FILTERS.md, also compiled ahead */
    /* Return H. At most one of them is set; H is 1 if both are NULL. */
    double (*response)(const struct filter_stage *stage, double fx, double fy);
    double complex (*complex_response)(const struct filter_stage *stage, double fx, double fy);
    /* Returns the radius in pixels beyond which the impulse response is negligible (below 1e-3 of
     * its energy), or an estimate of it. NULL: 0. */
    double (*support)(const struct filter_stage *stage);
    /* Checks what the range of a single parameter cannot express (low < high). NULL: nothing. */
    int (*check)(const struct filter_stage *stage, struct error *why);

    /* Only a few kinds set the members below. */

    enum filter_adapts adapts; /* H is 1 if it does */
    /* Adds what the stage asks of the estimators; NULL: nothing. */
    void (*adapt)(const struct filter_stage *stage, struct filter_adaptation *ret);
    /* Sets the power of the noise that was estimated (blur.h), if the stage has none of its own.
     * NULL: it needs none. */
    void (*take_noise)(struct filter_stage *stage, double noise);
    /* Returns H of a stage with an image, instead of the two above; NULL: they do. `transform` is
     * that of the image about the middle of its top left pixel: the sum of pixel(x, y) exp(-2 pi i
     * (fx x + fy y)). filter_grid.h computes it for many frequencies at once. */
    double complex (*image_response)(const struct filter_stage *stage, double complex transform,
                                     double fx, double fy);
    /* Returns whether the stage has that response, and not H = 1. A chain has at most one stage for
     * which this returns true. NULL: each stage has the response. */
    bool (*has_image_response)(const struct filter_stage *stage);
    /* Returns whether these parameters make H real although the last two make it complex. NULL:
     * none do. */
    bool (*is_real)(const struct filter_stage *stage);
    /* Returns the curve of the whole chain that the stage is in. NULL: it has none. */
    struct curve (*curve)(const struct filter_stage *stage);
    /* Returns how noise is reduced before the chain's response. NULL: it is not. */
    struct denoise (*denoise)(const struct filter_stage *stage);
    /* Returns how frames are joined before the chain's response. NULL: they are not. A kind with it
     * adapts to shake. */
    struct stack (*stack)(const struct filter_stage *stage);
    /* Returns a threshold in grey levels of 255. This times the square root of the number of
     * samples of the padded frame is subtracted from the magnitude of each number of the spectrum,
     * down to 0, before the chain's response multiplies it. NULL: none. A kind with it has H = 1.
     */
    double (*threshold)(const struct filter_stage *stage);
    /* Set if captured samples are replaced by medians (kernels/transform/median.cl). A kind with it
     * has H = 1. */
    bool takes_median;
    /* Returns a level in grey levels of 255, above 0: filtered samples become black below it and
     * white from it on (kernels/transform/curve.cl). NULL: they do not. A kind with it has H = 1.
     */
    double (*binarise)(const struct filter_stage *stage);
    /* Set if the impulse response falls as a Gaussian does. The variances of Gaussians in a chain
     * add up, and therefore the squares of these radii. */
    bool is_gaussian;
    /* Add to the offsets of captured samples, or multiply their gains; all offsets are complete
     * when gains are asked for. NULL: it does not. A kind with one of them has H = 1, and its image
     * has the size of the table. -EINVAL: the image does not fit the others. */
    int (*add_offsets)(const struct filter_stage *stage, struct filter_calibration *table,
                       struct error *why);
    int (*multiply_gains)(const struct filter_stage *stage, struct filter_calibration *table,
                          struct error *why);
    /* Replaces the place at[0] (column), at[1] (row) of a pixel in the result by the place where
     * the captured frame of size[0] x size[1] pixels has it (warp.h). Middles of pixels are whole
     * numbers. The place may be beyond the frame; it is not finite if there is none. NULL: pixels
     * do not move. A kind with it has H = 1. -EINVAL: the stage is for frames of another size. */
    int (*origin)(const struct filter_stage *stage, const uint32_t size[2], double at[2],
                  struct error *why);
    /* Returns whether samples are interpolated by cubic convolution there. Set with `origin`. */
    bool (*origin_is_cubic)(const struct filter_stage *stage);
};

struct filter_value {
    double number;
    double second; /* FILTER_PAIR only */
};

#define FILTER_KERNEL_SIDE 7 /* rows and columns of a kernel in a chain's text, at most */

/* The value of a FILTER_KERNEL. A kind has at most one parameter of this type, and one
 * FILTER_IMAGE. If they are not required, they are not set by default. */
struct filter_kernel {
    unsigned columns, rows;                              /* 0: not set */
    float value[FILTER_KERNEL_SIDE][FILTER_KERNEL_SIDE]; /* [row][column] */
};

/* The greatest gain of a captured sample, for which half precision has headroom
 * (transform/kernel_source.c). */
#define FILTER_MAX_GAIN 8.0

/* Offsets that are subtracted from captured samples, and gains that multiply the result
 * (calibration.h). */
struct filter_calibration {
    uint32_t width, height; /* captured pixels */
    uint32_t cell;          /* px: samples this far apart have the same colour; 2 for a mosaic */
    double white;           /* the largest captured sample */
    float *offset, *gain;   /* width * height of each, row by row */
    uint8_t *is_bad;        /* whether the pixel is replaced by its neighbours */
    double pedestal;        /* the level of black afterwards, in captured samples */
};

struct filter_stage {
    const struct filter_kind *kind;
    struct filter_value value[FILTER_MAX_PARAMS]; /* in the order of kind->param */
    struct filter_kernel kernel;
    const struct filter_image *image; /* NULL: not set; see filter_chain_hold */
};

static inline unsigned filter_param_count(const struct filter_kind *kind)
{
    unsigned count = 0;
    while (count < FILTER_MAX_PARAMS && kind->param[count].name != NULL)
        count++;
    return count;
}

/* Returns whether the response is that of kind->image_response. */
static inline bool filter_stage_uses_image(const struct filter_stage *stage)
{
    return stage->image != NULL && stage->kind->image_response != NULL &&
           (stage->kind->has_image_response == NULL || stage->kind->has_image_response(stage));
}

/* Returns whether a stage of the kind finds something in captured frames and corrects their
 * samples. */
static inline bool filter_kind_corrects(const struct filter_kind *kind)
{
    return kind->adapts == FILTER_ADAPTS_WAVES || kind->adapts == FILTER_ADAPTS_FLICKER;
}

/* Returns all kinds, in the order in which help lists them. */
const struct filter_kind *const *filter_kinds(unsigned *ret_count);
const struct filter_kind *filter_kind_by_name(const char *name); /* NULL: there is none */

#endif
