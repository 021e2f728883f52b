/* The constants of the field of motion (motion_field.h), for its files and for the kernels that
 * find it on a device, into which engine/field/field_layout.c writes them. Names are short, so no
 * header includes this one. */
#ifndef FFTD_ESTIMATORS_MOTION_CONSTANTS_H
#define FFTD_ESTIMATORS_MOTION_CONSTANTS_H

/* ---- motion_field.c ---- */

#define PASSES      2u
#define LARGEST     1e6F /* largest sample, so that a sum of squares fits a float */
#define CLOSE       0.1F /* pixels; what the confidence is about */
#define DOUBT       1.6F /* times the variance that a block's own fit tells */
#define MISFIT      1.7F /* times what noise and the model explain: from here on less is sure */

/* ---- motion_search.c ---- */

#define REACH       14   /* pixels; further apart, windowed squares have too little in common */
#define FLOOR       0.3F /* share of the mean magnitude below which a frequency counts less */

/* ---- motion_start.c ---- */

#define MAX_TRIED   16u  /* shifts of a block */
#define SAME        1.5F /* pixels; two shifts that are closer are one */
#define AMBIGUOUS   1.1F /* ratio of differences below which two shifts look the same */
/* Shifts are tried in whole pixels: half a pixel of each axis adds less than that, times the
 * gradient. */
#define BETWEEN     0.6F
#define UNUSUAL     3.F /* times what usually differs: a block is searched again */

/* ---- motion_fit.c ---- */

#define MAX_STEP    1.F  /* pixels a pass; the gradient tells no more */
#define ROUNDING    0.1F /* variance of rounding to 8 bits */
/* Smoothed noise is similar in neighbouring pixels, so the mean over many of them varies more. */
#define CORRELATED  3.5F
#define MAX_CELLS   64u  /* in a block */
#define OUTLYING    4.F  /* times what is left of a cell elsewhere */
#define MODEL_ERROR 0.02 /* share of a block's power that no vector explains */
#define MIN_SEEN    0.3  /* share of a block's pixels */

/* ---- motion_repair.c ---- */

#define SWEEPS      2u
#define TOLERANCE2  1e-3F   /* pixels^2, by which pairs differ from a block in any real flow */
#define LEAST_FLOW  2.5e-5F /* pixels^2, by which motion differs from block to block at least */
#define EXCESS      10.F    /* an outlier counts as this at most, and makes no flow */
#define WORST       100.F   /* pixels^2: the variance of a block that sees nothing */
#define ROUGH2      0.06F   /* pixels^2; a vortex bends less from block to block */
#define LONE2       0.02F   /* pixels^2 */
#define REACH2      1.F     /* pixels^2, that one step reaches */
#define PAIRS       12u
#define NEAR        4u /* the first pairs, of blocks side by side */

#endif
