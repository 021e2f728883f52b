/* Finds stationary periodic noise in frames and follows it. Pure.
 *
 * Interference in a camera's electronics adds sinusoids to the picture. Such a wave has the same
 * frequency, amplitude and phase ramp in every part of a frame, and does not move with the scene;
 * its phase may be another in each frame, and its frequency may drift. Texture fills only parts of
 * a frame, is uneven, or has harmonics. The estimator uses these differences:
 *
 * 1. The known waves are fitted together by least squares over the whole frame, and subtracted.
 * 2. Spectra of overlapping windowed patches of the remainder give, for each frequency, how far the
 *    patches on average stand out from the neighbouring frequencies. Narrow peaks are candidates.
 * 3. A candidate's frequency follows from the phases of all patches, to about a hundredth of
 *    1/width. Close waves are found one after the other, as each is subtracted.
 * 4. A wave is accepted if the patches in which it could be seen agree on amplitude and phase, and
 *    if its frequency is not related to those of other lines in the frame. The spectrum of a
 *    texture is a lattice (periodic_texture.h), also where single lines of it are pure and even.
 *    Where lines are bent, their phases in the patches show the relation, not their frequencies.
 *    Unless it is clear all over the frame, this is not decided until no more lines are found, for
 *    at most eight frames.
 * 5. Where the scene hides a wave in each patch, patches are judged together: by their mean,
 * against how much they differ, averaged over at least eight frames.
 *
 * It tells which frequencies have waves. Their amplitudes and phases in a frame are measured in
 * that very frame before they are subtracted from it (wave_fit.h), so nothing has to be predicted.
 *
 * Sources: Sur and Grediac, Journal of Electronic Imaging 24(1), 2015 (statistics of the spectra of
 * patches); Rife and Boorstyn, IEEE Transactions on Information Theory 20(5), 1974 (frequency from
 * phases).
 *
 * What it cannot do:
 * - Frequencies below 3 periods per patch are taken for the picture. Patches are squares of a power
 *   of two, about a quarter of the frame's smaller side: 64 pixels for 240 rows, 128 for 480 and
 * 720.
 * - A pure sinusoidal texture that fills the whole frame evenly looks the same as interference.
 *   Interference with harmonics, and two waves of which one happens to be a multiple of the other,
 *   or to mirror it about an axis, are taken for texture.
 * - Waves closer together than about 1.5/width are one wave to it.
 * - Noise that is not a sum of at most CORRECTION_MAX_WAVES waves is not removed.
 * - Waves whose frequency differs by more than about 0.3/width between observed frames are lost.
 * - Where the picture is saturated, a wave is cut off, and what was lost is only known on average.
 *
 * One estimator serves one camera at one frame size. Threads: one at a time. */
#ifndef FFTD_ESTIMATORS_PERIODIC_H
#define FFTD_ESTIMATORS_PERIODIC_H

#include <stdbool.h>
#include <stdint.h>

#include "estimators/wave_fit.h"
#include "filters/filter_adapt.h"
#include "core/error.h"

#define PERIODIC_MAX_REPORTS 12

struct periodic;

struct periodic_report {
    double fx, fy;    /* cycles/pixel; fx >= 0 */
    double amplitude; /* amplitude of the peak, in grey levels of 255 */
    int64_t since_ns; /* when the frame was captured in which it was first seen */
    bool is_removed;  /* the model has it */
};

/* width, height: of the frames in pixels, 1 .. 16384 each. Frames with a side below 96 pixels are
 * accepted, and nothing is found in them. options: as filters/adaptation.h says.
 * -EINVAL: the frames are too large; -ENOMEM. */
int periodic_create(struct periodic **ret, unsigned width, unsigned height,
                    const struct periodic_options *options, struct error *why);
void periodic_destroy(struct periodic *periodic); /* NULL is allowed */

/* Looks at one frame. luma: width * height numbers, 0 .. 255, rows without gaps; numbers outside
 * are clamped, and those that are not a number count as 0. captured_ns: any clock; a frame with the
 * time stamp of the one before is ignored. */
void periodic_observe(struct periodic *periodic, const float *luma, int64_t captured_ns);

/* The waves to remove, the strongest first. */
void periodic_get_model(const struct periodic *periodic, struct wave_model *ret);

/* All waves found, the strongest first. Returns how many. */
unsigned periodic_reports(const struct periodic *periodic,
                          struct periodic_report ret[PERIODIC_MAX_REPORTS]);

/* A frozen estimator keeps its frequencies, and goes on following their amplitudes and phases. */
void periodic_freeze(struct periodic *periodic, bool is_frozen);

#endif
