/* The estimators that look at the captured frames of one source, and what they find: measures of
 * the picture (measuring.h), its field of motion (moving.h), the positions of templates
 * (estimators/match.h), the noise of blurred pictures (blur_noise.h), periodic noise
 * (estimators/periodic.h) and flickering light (estimators/flicker/flicker.h). All of them observe
 * the same frames, except waves beside flicker: looking for waves takes several times as long, and
 * flicker has to be seen at least eight times a second. Where both are wanted, waves are looked for
 * in fewer frames (observer/turn.h), and the findings of the last one stay valid until the next.
 * Flicker is looked for in what is left without the known waves.
 *
 * Another estimator is a member of struct estimators, with a line in each function of estimators.c,
 * and what it finds in struct findings.
 *
 * Threads: one at a time; in fftd the observer's (observer.h). Findings are plain data, which other
 * threads may copy. */
#ifndef FFTD_OBSERVER_ESTIMATORS_H
#define FFTD_OBSERVER_ESTIMATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "observer/observed.h"
#include "core/error.h"
#include "estimators/flicker/flicker.h"
#include "estimators/periodic.h"
#include "fftd/ring.h"

/* Says what to look for, and in which frames. The owner of a job holds its images
 * (estimators_hold). */
struct estimators_job {
    struct filter_adaptation wanted;
    bool takes_measures;
    unsigned motion_block; /* pixels; 0: no fields of motion, or an engine finds them */
    struct observed_frames frames;
};

struct findings {
    struct observed_frames frames; /* in which it was found */

    /* What the next frames are corrected by. */
    struct wave_model waves;
    struct flicker_model flicker;
    double noise; /* for filters that undo a blur (blur_noise.h); 0: not known */

    /* Reports of it for clients. */
    struct periodic_report wave[PERIODIC_MAX_REPORTS];
    unsigned wave_count;
    bool has_flicker;
    struct flicker_report flicker_report;
    int64_t flicker_since_ns; /* time stamp of the frame from which it has been corrected */

    /* Measures without their age, and the frame that was measured; 0: none was. */
    uint64_t measured_number;
    struct fftd_measures measures;
    enum fftd_picture_state picture_state;
    unsigned match_count;
    struct fftd_match match[FILTER_MAX_MATCHES]; /* in the order of wanted.match_image */

    bool has_similarity;
    struct fftd_similarity similarity;

    /* The field of motion of the measured frame (moving.h), valid until the next observation; NULL:
     * none. */
    const void *motion;
    uint32_t motion_bytes;
};

struct estimators;

/* Hold and drop the images of a job. */
void estimators_hold(const struct filter_adaptation *wanted);
void estimators_drop(const struct filter_adaptation *wanted);

bool observed_frames_equal(const struct observed_frames *a, const struct observed_frames *b);

/* Returns whether two chains look for the same waves, flicker or noise. If so, what was
 * found for one of them also serves the other. */
bool estimators_same_waves(const struct filter_adaptation *a, const struct filter_adaptation *b);
bool estimators_same_flicker(const struct filter_adaptation *a, const struct filter_adaptation *b);
bool estimators_same_noise(const struct filter_adaptation *a, const struct filter_adaptation *b);

/* Returns whether two jobs look for the same templates. */
bool estimators_same_match(const struct estimators_job *a, const struct estimators_job *b);

/* -ENOMEM. */
int estimators_create(struct estimators **ret, struct error *why);
void estimators_destroy(struct estimators *estimators); /* NULL is allowed */

/* Makes the estimators for a job, and keeps those that have the same to look for. `why` is set if
 * some could not be made. The others can be used, and adopting the job again tries once more. */
void estimators_adopt(struct estimators *estimators, const struct estimators_job *job,
                      struct error *why);

/* Observes a frame of the adopted job, and returns what has been found up to now. */
void estimators_observe(struct estimators *estimators, const struct observed_frame *frame,
                        struct findings *ret);

#endif
