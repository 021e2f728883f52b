/* Waves of known frequencies, measured in the frame from which they are subtracted. Pure.
 *
 * The estimator of periodic.h finds the frequencies, and may be some frames late. The amplitude and
 * phase of each wave are fitted by least squares in the frame itself (periodic_sheet.h), so that
 * they may change from frame to frame as they like: what is subtracted is in the frame, and a wave
 * that has ended leaves nothing behind. The fit also corrects each frequency, and starts in the
 * next frame from what it was in this one, so it follows a drift of 0.1/width in every frame.
 *
 * The scene contains a little of each frequency, too, which is removed with the wave. In natural
 * pictures it is less than a grey level, except for waves of a few periods per frame.
 *
 * Threads: one at a time. */
#ifndef FFTD_ESTIMATORS_WAVE_FIT_H
#define FFTD_ESTIMATORS_WAVE_FIT_H

#include "core/error.h"
#include "estimators/periodic_sheet.h"
#include "filters/correction.h"

/* What is to be fitted, as a value: another thread may fit while frames are observed. */
struct modelled_wave {
    struct sheet_frequency f;
    double least; /* grey levels of 255: what is weaker in a frame is not told from chance */
};

struct wave_model {
    unsigned count; /* the strongest wave first */
    struct modelled_wave wave[CORRECTION_MAX_WAVES];
};

/* Returns whether a model has a wave that the one before it did not have, in frames of that size.
 * Frames from before then still contain that wave. A wave that has left the model has usually
 * ended. */
bool wave_model_adds(const struct wave_model *model, const struct wave_model *before,
                     unsigned width, unsigned height);

struct wave_fit;

#define WAVE_FIT_MAX_SIDE 16384u

/* width, height: of the frames in pixels, 1 .. WAVE_FIT_MAX_SIDE each. -ENOMEM. */
int wave_fit_create(struct wave_fit **ret, unsigned width, unsigned height, struct error *why);
void wave_fit_destroy(struct wave_fit *fit); /* NULL is allowed */

/* Which rows of a frame the fit looks at for a model, downwards. Returns how many. */
unsigned wave_fit_rows(const struct wave_fit *fit, const struct wave_model *model,
                       const unsigned **ret);

/* Fits the waves of a model to a frame. luma: as for periodic_observe(), of which only the rows of
 * wave_fit_rows need to be set; it is not read if the model has no waves. */
void wave_fit_find(struct wave_fit *fit, const struct wave_model *model, const float *luma);

/* Does that, and sets the waves to subtract from the frame, in grey levels of 255, and what to do
 * where samples were cut off. ret: its row_gain is left alone. */
void wave_fit_frame(struct wave_fit *fit, const struct wave_model *model, const float *luma,
                    struct correction *ret);

/* Subtracts the waves that were fitted last from all rows of that frame, for an estimator
 * that they would disturb. Samples that are cut off stay as they are. */
void wave_fit_subtract(struct wave_fit *fit, float *luma);

#endif
