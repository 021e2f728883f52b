/* Views are published instead of the filtered picture, to show what the filter does. A view is a
 * grey picture with the size and the pixel format of the frames. It shows luma, also if colour is
 * filtered; chroma is neutral. Only VIEW_MOTION keeps the filtered picture and its colour, and the
 * host draws over it. Pure.
 *
 * Let c be a captured sample, o the same sample of the filtered picture, rounded and limited to 0
 * .. M, and M = 2^bits - 1. For RGB, both are luma (engine/engine.h); for mosaics, luma of the
 * demosaiced picture. Samples that are corrected or moved count as captured (filters/calibration.h,
 * filters/warp.h).
 *
 * VIEW_DIFFERENCE is (M + 1) / 2 + VIEW_GAIN (c - o), limited to 0 .. M.
 *
 * VIEW_SPECTRUM is |F(fx, fy)| / (M Px Py) in dB, where F is the DFT of the filtered picture before
 * it is rounded, of Px x Py samples with its border (engine/engine.h). A wave of amplitude a has 20
 * log10(a / (2 M)). Black is VIEW_BLACK_DB, white is VIEW_WHITE_DB, and levels in between are
 * linear. In a picture of the width W, column x is the frequency (x - W / 2) / W in cycles per
 * pixel (W / 2 rounded down), so that 0 is in the middle; a row is computed from the height in the
 * same way. A pixel shows the greatest of the frequencies that are nearer to it than to its
 * neighbours, so that no peak is lost. With a curve (core/curve.h) this is the spectrum of the
 * curve's values.
 *
 * VIEW_PEAKS is the spectrum of the captured picture, with the same scale, before periodic noise is
 * subtracted or flicker corrected. Squares around a frequency and its negative mark each wave that
 * was found (estimators/periodic.h): whole squares those that are subtracted, and corners alone the
 * others.
 *
 * VIEW_EDGES is made from o, or for RGB and mosaics from the filtered luma, rounded and limited in
 * the same way, by Sobel's operator:
 *     gx(x, y) = sum of w(j) (o(x + 1, y + j) - o(x - 1, y + j)),
 *     gy(x, y) = sum of w(i) (o(x + i, y + 1) - o(x + i, y - 1)),  i, j = -1, 0, 1; w = 1, 2, 1
 * Samples outside the picture are those of its nearest pixel. s = gx^2 + gy^2 is at most
 * VIEW_EDGE_MAX M^2, and 0 outside the picture. The direction d of (gx, gy) is rounded to a
 * multiple of 45 degrees and, if it points to the left or straight up, turned around: (1, 0), (1,
 * 1), (0, 1) or (1, -1), where y points down. A pixel p has an edge if s(p) > s(p - d) and s(p) >=
 * s(p + d); its level is sqrt(s / VIEW_EDGE_MAX), rounded to nearest. All other pixels are 0. All
 * comparisons are of integers, and therefore exact.
 *
 * With limits, these edges are tracked as J. Canny does (A Computational Approach to Edge
 * Detection, IEEE Trans. PAMI 8(6), 1986): a pixel that has an edge keeps it if its level before
 * rounding is at least `low`, and a path of such pixels, each of them one of the eight neighbours
 * of the next, leads to one whose level is at least `high`.
 *
 * VIEW_MOTION is the filtered picture with the field of motion that its slot carries (struct
 * fftd_motion of fftd/ring.h). From the middle of each block with a confidence of FFTD_MOTION_SURE
 * or more, an arrow of VIEW_ARROW_GAIN times the vector's length, but at most a block's side,
 * points to where the content moves. A block that has moved by less than VIEW_ARROW_MIN_PX has a
 * dot. Arrows are white with a black border, so that they show on any picture. */
#ifndef FFTD_FILTERS_VIEW_H
#define FFTD_FILTERS_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "fftd/ring.h"

enum view_kind {
    VIEW_PICTURE,
    VIEW_DIFFERENCE,
    VIEW_SPECTRUM,
    VIEW_PEAKS,
    VIEW_EDGES,
    VIEW_MOTION,
    VIEW_COUNT
};

#define VIEW_GAIN         2
#define VIEW_BLACK_DB     (-120)
#define VIEW_WHITE_DB     (-20)
#define VIEW_EDGE_MAX     20 /* gx = 4 M and gy = 2 M */

#define VIEW_ARROW_GAIN   4
#define VIEW_ARROW_MIN_PX 0.25

/* Shares of full scale, 0 .. 1. A `high` below `low` counts as `low`. */
struct view_limits {
    double low, high;
};

/* Returns whether edges are tracked: without limits each one is kept. */
static inline bool view_has_limits(const struct view_limits *limits)
{
    return limits->low > 0 || limits->high > 0;
}

/* By enum view_kind, ended by NULL: "picture", ... */
extern const char *const view_names[VIEW_COUNT + 1];

/* Returns whether it is drawn from the powers of frequencies. */
static inline bool view_is_spectrum(enum view_kind view)
{
    return view == VIEW_SPECTRUM || view == VIEW_PEAKS;
}

/* Returns whether devices make the filtered picture for it. */
static inline bool view_has_picture(enum view_kind view)
{
    return view == VIEW_PICTURE || view == VIEW_MOTION;
}

/* Returns whether the host draws over what the device made. */
static inline bool view_is_drawn_over(enum view_kind view)
{
    return view == VIEW_PEAKS || view == VIEW_MOTION;
}

/* A wave to mark. */
struct view_mark {
    double fx, fy; /* cycles per pixel */
    bool is_removed;
};

/* Draws squares around frequencies into a view with this format, white, 9 pixels wide. */
void view_mark(uint8_t *frame, const struct fftd_format *format, const struct view_mark *mark,
               unsigned count);

/* Draws the arrows of a field of motion, with its vectors and confidences behind it, into a frame.
 */
void view_arrows(uint8_t *frame, const struct fftd_format *format,
                 const struct fftd_motion *motion);

/* -EINVAL: there is no view of that name. */
int view_from_name(enum view_kind *ret, const char *name, struct error *why);

#endif
