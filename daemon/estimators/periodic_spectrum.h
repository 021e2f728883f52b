/* Spectra of overlapping patches of a sheet: where waves are, and how evenly they fill it. Pure.
 *
 * Part of the estimator of periodic.h. A patch is a square of a power of two, seen through a Hann
 * window; patches overlap by half. For each frequency the statistic is the mean over the patches of
 * p / (p + 4 m), where p is the patch's power there and m the mean around it, both times the square
 * of the frequency, with which the power of pictures falls: about 0.17 for noise,
 * and near 1 only if the frequency stands out in almost all patches, however bright single ones
 * are.
 *
 * A call of spectrum_process() takes as many patches as the cost per frame allows; the rest follow
 * in the next calls. Amplitudes are those of a sheet's waves (periodic_sheet.h), with the phase at
 * the frame's centre, so that all patches return the same number for a wave. Threads: one at a
 * time. */
#ifndef FFTD_ESTIMATORS_PERIODIC_SPECTRUM_H
#define FFTD_ESTIMATORS_PERIODIC_SPECTRUM_H

#include <complex.h>
#include <stdbool.h>

#include "core/fft.h"
#include "estimators/periodic_sheet.h"

#define SPECTRUM_MIN_FRAME     96u  /* pixels; smaller frames have no patches */
#define SPECTRUM_MAX_LENGTH    512u /* pixels, of a patch's side */
#define SPECTRUM_MAX_PROJECTED 3u   /* frequencies at once */
#define SPECTRUM_MAX_ALONG     64u  /* patches along an axis */
#define SPECTRUM_MAX_PATCHES   4096u

/* What one patch says about one wave. */
struct patch_sample {
    double complex amplitude; /* what of the wave is (still) in the patch */
    double power;             /* power expected from the frequencies around */
    double power_most;        /* the most of the frequencies around */
};

struct patch {
    unsigned x, y;     /* its first pixel */
    double to_x, to_y; /* from the frame's centre to its own */
    bool is_usable;    /* hardly a pixel is saturated */
};

/* fields: the grid of patches, buffers for one pair of them, and the statistic belong together */
struct spectrum {
    unsigned length;               /* the side of a patch; 0: the frame is too small */
    unsigned columns, rows, count; /* patches */
    struct patch *patch;           /* row by row */
    unsigned *order;               /* the order in which they are taken */
    unsigned next;                 /* in order */
    unsigned per_frame;
    struct fft *fft;
    float *window;
    float complex *square;
    float *power; /* power of one patch, with a border */
    float *sums;
    float *frame_score; /* like score, for the present frame alone */
    float *score;       /* the statistic, row by row (periodic_score.h); then as many mean powers */
    unsigned scored;    /* how many frames it holds */
};

/* A frequency at which the statistic has a peak. */
struct spectrum_peak {
    struct sheet_frequency f;
    double score;
};

/* A line, and the amplitude at which it was subtracted from a sheet. */
struct spectrum_line {
    struct sheet_frequency f;
    double complex subtracted;
};

int spectrum_init(struct spectrum *ret, const struct sheet *sheet, struct error *why);
void spectrum_clear(struct spectrum *spectrum);

/* Marks the patches that are saturated. To be called after sheet_load(). */
void spectrum_mark(struct spectrum *spectrum, const struct sheet *sheet);

/* Transforms the next patches of the sheet and adds them to the statistic. For each of `count`
 * waves, sample[i * patches + p] is set for each patch p = ret_patch[i], and *ret_patches says how
 * many. */
void spectrum_process(struct spectrum *spectrum, const struct sheet *sheet,
                      const struct sheet_frequency *f, unsigned count, struct patch_sample *sample,
                      unsigned *ret_patch, unsigned *ret_patches);

/* The highest peaks, at most `most`. Returns how many. */
unsigned spectrum_peaks(const struct spectrum *spectrum, struct spectrum_peak *ret, unsigned most);

/* The amplitudes of `count` frequencies in every patch of the sheet: that of frequency k in patch p
 * is ret[k * spectrum->count + p]. All have the same fx, so that rows are summed up once. */
void spectrum_project(const struct spectrum *spectrum, const struct sheet *sheet,
                      const struct sheet_frequency *f, unsigned count, double complex *ret);

#endif
