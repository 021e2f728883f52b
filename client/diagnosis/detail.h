/* The spectrum of a picture's details: how it is blurred, and whether it was printed. Pure.
 *
 * Periodograms of overlapping windowed squares, averaged over squares and frames, give the power at
 * each frequency. In a photograph, it falls as a power of the frequency in all directions. A blur
 * multiplies it by |B|^2, whose zeros are rings for a disk and parallel lines for a motion; noise
 * adds the same to all of it. The shape of B that, with a power law and noise, explains the
 * logarithm of the power best, is that of the blur. It counts only if it explains much more than no
 * blur does.
 *
 * A halftone screen adds a lattice of narrow peaks which are at the same place in nearly all
 * squares: two frequencies of one magnitude at right angles.
 *
 * Sources of the maths: Welch, IEEE Trans. Audio Electroacoust. 15 (1967) for the spectrum;
 * Cannon, IEEE Trans. Acoustics, Speech and Signal Processing 24 (1976) for finding a blur by the
 * zeros of averaged log spectra; Field, J. Optical Society of America A 4 (1987) for the power law.
 */
#ifndef FFTD_DIAGNOSIS_DETAIL_H
#define FFTD_DIAGNOSIS_DETAIL_H

#include <stdbool.h>
#include <stdint.h>

struct detail;

enum detail_blur { DETAIL_SHARP, DETAIL_DISK, DETAIL_LINE };

struct detail_shape {
    enum detail_blur blur;
    double size_px;   /* radius of the disk, length of the line */
    double angle_deg; /* the direction of the line, 0 .. 180: 0 is to the right, 90 down */
    double gain;      /* the share of the squares that it explains beyond no blur, 0 .. 1 */
    double across;    /* the same of the best line at right angles */
    double power; /* power of the picture before the blur, at 0.1 cycles/pixel, in a scale in which
                     the power of white noise is its variance */
};

#define DETAIL_POINTS 6u

struct detail_screen {
    double fx, fy; /* cycles/pixel; the other frequency is (-fy, fx) */
    double rms;    /* the root mean square of both waves together, in grey levels */
    double share;  /* 0 .. 1, of the squares that have it */
    unsigned points;
    double point[DETAIL_POINTS][2]; /* both, and sums of them that stand out */
};

/* -ENOMEM. width, height: at least 64 pixels. */
int detail_create(struct detail **ret, uint32_t width, uint32_t height);
void detail_destroy(struct detail *detail); /* NULL is allowed */

struct detail_view {
    const float *luma; /* width x height numbers, rows side by side */
    double dx, dy;     /* pixels to the right and down since the first view; that has 0 */
};

/* Adds what `views` frames of one scene have in common. Those of other noise tell the details
 * without it, wherever in the scene they are; a single one has its noise as well. Samples that
 * reach black or white are left out: what is cut off has edges that no lens has blurred. */
void detail_add(struct detail *detail, const struct detail_view *view, unsigned views, float black,
                float white);

/* Finds the most likely blur. */
void detail_find_blur(const struct detail *detail, struct detail_shape *ret);

/* Returns whether there is a screen. */
bool detail_find_screen(const struct detail *detail, struct detail_screen *ret);

#endif
