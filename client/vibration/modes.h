/* Finds the frequencies at which places of a picture vibrate, with amplitude and phase. Pure.
 *
 * A place at x(t) = a cos(2 pi f t) + b sin(2 pi f t) moves from one picture to the next by the
 * difference of two such values. For each frequency, a and b are fitted to the differences by
 * weighted least squares, with the times of the pictures as they are. So no displacement is summed,
 * which would sum its errors, too; missing steps, uneven intervals and steps over several frames
 * need no repair. A drift that grows with the time and its square is fitted along. The weights are
 * confidence times a Hann window over the whole time.
 *
 * A frequency counts if its power is far above that of the others around it: with noise alone, one
 * reading in a thousand has such a peak by chance. After each one, its motion is subtracted, and
 * the rest is searched again.
 *
 * Sources of the maths: N. R. Lomb, Astrophysics and Space Science 39 (1976), for least squares at
 * uneven times; A. Cumming, G. W. Marcy and R. P. Butler, The Astrophysical Journal 526 (1999), for
 * a free mean and the chance of a false peak; D. H. Roberts, J. Lehar and J. W. Dreher, The
 * Astronomical Journal 93 (1987), for subtraction.
 *
 * Frequencies are in Hz, amplitudes in pixels from the middle to the end of the movement, phases in
 * degrees, -180 .. 180, of a cosine at the time of the first picture of the series. */
#ifndef FFTD_VIBRATION_MODES_H
#define FFTD_VIBRATION_MODES_H

#include "series.h"

#define MODES_MOST         5u  /* frequencies of a place */
#define MODES_FEWEST_STEPS 16u /* known shifts of a place */
#define MODES_NOT_BY_NOISE 5.0 /* standard deviations above which an amplitude is no noise */

struct mode_axis {
    double px, phase_deg;
};

/* A place moves along an ellipse. Its long half axis is `px` at `angle_deg`, -90 .. 90, clockwise
 * from the right; `phase_deg` is that of the movement along it. */
struct mode {
    double hz, px, angle_deg, phase_deg;
    double minor_px;           /* the short half axis; 0: the movement is along a line */
    double hz_error, px_error; /* standard deviations by the noise around the frequency */
    struct mode_axis x, y;
};

struct modes {
    unsigned steps;           /* known shifts */
    double seconds;           /* from the first of their pictures to the last */
    double least_hz, most_hz; /* the frequencies that were looked at */
    double noise_px;          /* the median of the amplitudes at these */
    unsigned count;
    struct mode mode[MODES_MOST]; /* the greatest amplitude first */
};

struct modes_spectrum {
    double first_hz, step_hz;
    unsigned count;
    double *px; /* amplitudes; the caller frees them */
};

/* Searches the mean of `count` places. Frequencies begin at two periods within the time, and end a
 * little below half the rate of the pictures. places_in_all: how many searches share the chance of
 * a false peak. spectrum NULL: not wanted. -ENODATA: fewer than MODES_FEWEST_STEPS shifts are
 * known, and only ret->steps is set; -ENOMEM. */
int modes_find(struct modes *ret, struct modes_spectrum *spectrum, const struct series *series,
               const unsigned *place, unsigned count, unsigned places_in_all);

/* Fits that frequency to one place. -ENODATA, -ENOMEM as above. */
int modes_fit(struct mode *ret, const struct series *series, unsigned place, double hz);

#endif
