/* The spectrum of a picture's details: how it is blurred, and whether it was printed. Pure.
 *
 * Periodograms of overlapping windowed squares, averaged over squares and scenes, give the power at
 * each frequency. The frames of a scene are brought to one place, to parts of a pixel, by what they
 * have in common; products of two of them have no noise. A photograph's power falls smoothly with
 * the frequency. A blur multiplies it by |B|^2, whose zeros are rings for a disk and parallel lines
 * for a motion. The blur has the shape B that, with a smooth law and a known error, best explains
 * the logarithm of the power. It counts only if it explains much more than no blur does, and if
 * there is power beyond its first zero.
 *
 * A halftone screen adds a lattice of narrow peaks which are at the same place in nearly all
 * squares: two frequencies of one magnitude at right angles.
 *
 * Sources of the maths: Welch, IEEE Trans. Audio Electroacoust. 15 (1967) for the spectrum;
 * Cannon, IEEE Trans. Acoustics, Speech and Signal Processing 24 (1976) for finding a blur by the
 * zeros of averaged log spectra; Guizar-Sicairos, Thurman and Fienup, Optics Letters 33 (2008), for
 * shifts by parts of a pixel; Field, J. Optical Society of America A 4 (1987) for the power law.
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
    unsigned points;
    double point[DETAIL_POINTS][2]; /* both, and sums of them that stand out */
};

/* -ENOMEM. width, height: at least 64 pixels. */
int detail_create(struct detail **ret, uint32_t width, uint32_t height);
void detail_destroy(struct detail *detail); /* NULL is allowed */

/* Begins a scene. Samples that reach black or white are left out, because clipped areas have edges
 * that no lens has blurred. */
void detail_begin(struct detail *detail, const float *luma, float black, float white);

struct detail_view {
    const float *luma; /* width x height numbers, rows side by side */
    double dx, dy;     /* approximate pixels to the right and down since the scene began */
    double reach;      /* their greatest error along each axis */
};

/* Adds a view of the scene; the one that it began with also has to be added. Finds the exact shift
 * within `reach`, and writes it to *ret_dx and *ret_dy. Returns false, and adds nothing, if the
 * view is not of the same scene. */
bool detail_add(struct detail *detail, const struct detail_view *view, double *ret_dx,
                double *ret_dy);

/* Adds the scene to the spectrum. Several views show its details without their noise; a single view
 * adds its noise as well. */
void detail_end(struct detail *detail);

/* Finds the most likely blur. */
void detail_find_blur(const struct detail *detail, struct detail_shape *ret);

/* Returns whether there is a screen. */
bool detail_find_screen(const struct detail *detail, struct detail_screen *ret);

#endif
