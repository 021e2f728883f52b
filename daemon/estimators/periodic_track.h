/* A wave that is followed through the observed frames, and what their patches say about it. Pure.
 *
 * Part of the estimator of periodic.h. Threads: one at a time. */
#ifndef FFTD_ESTIMATORS_PERIODIC_TRACK_H
#define FFTD_ESTIMATORS_PERIODIC_TRACK_H

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

#include "estimators/periodic_spectrum.h"
#include "estimators/periodic_texture.h"

/* The share of the patches in which interference must be visible. Chosen on the clips of
 * tests/unit/periodic.c [false, changed]. */
#define TRACK_SEEN    0.25

/* Regions of the frame along each axis; the patches of one are judged together. */
#define TRACK_REGIONS 3u

struct track {
    struct sheet_frequency f;
    double complex amplitude; /* in the last frame */
    double noise;             /* expected error of amplitude */
    double agree, seen;       /* averages over the frames, of the patches */
    unsigned age;             /* observed frames */
    unsigned without_support; /* frames in a row */
    unsigned related;         /* frames in a row on the lattice of a texture */
    double patch_amplitude;   /* the median of the patches, when it was taken up */
    /* By how much each region differs from the whole, as a share of the amplitude: the mean over
     * the frames. */
    double complex off[TRACK_REGIONS * TRACK_REGIONS];
    bool is_faint; /* only the patches of a region together see it */
    bool is_confirmed;
    bool is_removed; /* track_choose() */
    int64_t since_ns;
    struct spectrum_line fitted; /* what was subtracted from the last frame */
};

/* Judges a track by patches of a frame, and corrects its amplitude. sample: of each patch of the
 * spectrum, what of the wave is left in it; patch: the numbers of those that are new. */
void track_judge(struct track *track, const struct spectrum *spectrum,
                 const struct patch_sample *sample, const unsigned *patch, unsigned patches);

/* Averages the frequency over frames, unless it is on its way. f: of the newest frame. */
void track_follow(struct track *track, const struct sheet *sheet, struct sheet_frequency f);

/* The amplitude below which a wave is not told from chance. */
double track_least(const struct track *track);

struct texture_line track_line(const struct track *track);

/* Returns whether the patches see a line that is more than chance, be it interference or not; and
 * whether they may, where it is bent or uneven. */
bool track_is_line(const struct track *track);
bool track_may_be_line(const struct track *track);

/* Returns whether a strong wave is uneven as one is that another, close one disturbs. */
bool track_is_disturbed(const struct track *track);

/* Returns whether a wave is so clear all over the frame that it need not be watched, and no other
 * line has come up that could make it a texture. newest: the amplitude of the strongest new line.
 */
bool track_is_plain(const struct track *track, double newest);

/* Chooses the waves that are removed: the strongest `most`, but one that was removed before stays
 * unless another is clearly stronger. */
void track_choose(struct track *track, unsigned tracks, unsigned most);

#endif
