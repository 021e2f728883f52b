/* Finds stationary periodic noise in frames, follows it, and predicts it. Pure.
 *
 * Interference in a camera's electronics adds sinusoids to the picture. Such a wave has the same
 * frequency, amplitude and phase ramp in every part of a frame, and does not move with the scene;
 * its phase may advance by the same angle from frame to frame. Texture fills only parts of a frame,
 * is uneven, or has harmonics. The estimator uses these differences:
 *
 * 1. The known waves are fitted together by least squares over the whole frame, and subtracted.
 * 2. Spectra of overlapping windowed patches of the remainder give, for each frequency, how far the
 *    patches on average stand out from the neighbouring frequencies. Narrow peaks are candidates.
 * 3. A candidate's frequency follows from the phases of all patches, to about a hundredth of
 *    1/width. Close waves are found one after the other, as each is subtracted.
 * 4. A wave is accepted if the patches in which it could be seen agree on amplitude and phase, and
 *    if its frequency is not related to those of other lines in the frame. The spectrum of a
 *    texture is a lattice (periodic_texture.h), also where single lines of it are pure and even.
 *    Until no more lines are found, for at most eight frames, this is not decided.
 * 5. The phase over the frames gives the drift per frame; the last second's fit predicts.
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
 *   are taken for texture.
 * - Waves closer together than about 1.5/width are one wave to it.
 * - Noise that is not a sum of at most CORRECTION_MAX_WAVES waves is not removed.
 * - Waves whose phase jumps at random from frame to frame are not predicted, only reported
 *   (periodic_notches.h).
 * - Where the picture is saturated, a wave is cut off, and subtracting it there leaves a trace.
 * - If the same number of frames is skipped every time, the drift per frame is ambiguous. Waves are
 *   then predicted only for times at which all possible drifts agree, or if the phase hardly moves.
 *   Observing two consecutive frames now and then resolves this; periodic_wants_next() asks for it.
 *
 * One estimator serves one camera at one frame size. Threads: one at a time. */
#ifndef FFTD_ESTIMATORS_PERIODIC_H
#define FFTD_ESTIMATORS_PERIODIC_H

#include <stdbool.h>
#include <stdint.h>

#include "filters/filter_adapt.h"
#include "filters/correction.h"
#include "core/error.h"

#define PERIODIC_MAX_REPORTS 12

struct periodic;

struct periodic_report {
    double fx, fy;         /* cycles/pixel; fx >= 0 */
    double amplitude;      /* of the peak, in grey levels of 255 */
    double drift;          /* periods per camera frame, -0.5 .. 0.5; 0 unless is_removed */
    int64_t since_ns;      /* when the frame was captured in which it was first seen */
    bool is_removed;       /* its phase can be predicted, so that the model has it */
    bool is_unpredictable; /* predictions failed for most of the last second, and still do */
    double spread;         /* cycles/pixel; by how much its frequency differs between frames, rms */
};

/* width, height: of the frames in pixels, 1 .. 16384 each. Frames with a side below 96 pixels are
 * accepted, and nothing is found in them. -EINVAL, -ENOMEM. */
int periodic_create(struct periodic **ret, unsigned width, unsigned height,
                    const struct periodic_options *options, struct error *why);
void periodic_destroy(struct periodic *periodic); /* NULL is allowed */

/* Looks at one frame. luma: width * height numbers, 0 .. 255, rows without gaps; numbers outside
 * are clamped, and those that are not a number count as 0. captured_ns: any clock; a frame with the
 * time stamp of the one before is ignored, and after a step back or a gap the phases are learned
 * again. */
void periodic_observe(struct periodic *periodic, const float *luma, int64_t captured_ns);

/* Whether the frame right after the last observed one should be observed, too. */
bool periodic_wants_next(const struct periodic *periodic);

/* What is needed to predict, as a value: with it another thread can predict while frames are
 * observed. */
struct periodic_model {
    unsigned count; /* the strongest wave first */
    struct {
        struct wave wave; /* in the frame that was observed last, as predicted */
        double drift;     /* periods per camera frame */
        double step;      /* camera frames that observed ones are multiples of apart */
    } track[CORRECTION_MAX_WAVES];
    int64_t newest_ns;  /* when that frame was captured */
    double interval_ns; /* between camera frames; 0: not known */
};

void periodic_get_model(const struct periodic *periodic, struct periodic_model *ret);

/* The waves to subtract from the frame captured at at_ns, in grey levels of 255, the strongest
 * first. Meant for the next few frames; nothing is predicted for more than a second. Returns how
 * many. */
unsigned periodic_model_waves(const struct periodic_model *model, int64_t at_ns,
                              struct wave ret[CORRECTION_MAX_WAVES]);

/* All waves found, the strongest first. Returns how many. */
unsigned periodic_reports(const struct periodic *periodic,
                          struct periodic_report ret[PERIODIC_MAX_REPORTS]);

/* A frozen estimator keeps its frequencies, and goes on following their amplitudes and phases. */
void periodic_freeze(struct periodic *periodic, bool is_frozen);

#endif
