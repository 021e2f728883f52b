/* What the files of this folder know of the frames. */
#ifndef FFTD_DIAGNOSIS_PRIVATE_H
#define FFTD_DIAGNOSIS_PRIVATE_H

#include "calibration/stripes.h"
#include "detail.h"
#include "diagnosis.h"
#include "estimators/flicker/flicker.h"
#include "estimators/flicker/flicker_frame.h"
#include "estimators/measures.h"
#include "estimators/motion/motion.h"
#include "estimators/periodic.h"
#include "estimators/wave_fit.h"
#include "noise.h"
#include "shading.h"
#include "shake.h"

#define STORED_STEPS 256

/* What measures.h has said, added up. Noise is of those frames in which it could be measured. */
struct measured {
    unsigned count, noisy;
    double mean, clipped, burnt_out, noise;
};

/* What the periodic noise is at the frames in which it was looked for. */
struct followed {
    unsigned models;
    struct wave_model *model; /* one for each of the frames that were observed */
    struct periodic_report first[PERIODIC_MAX_REPORTS], wave[PERIODIC_MAX_REPORTS];
    unsigned firsts, waves;
};

#define NEAR_FRAMES 16u

/* Where a frame was on the path of the picture, in pixels. */
struct path_place {
    double x, y;
    unsigned path; /* counts paths: a new one begins where the shift is not known */
};

struct diagnosis {
    struct diagnosis_format format;
    unsigned frames;
    uint16_t *frame[DIAGNOSIS_MAX_FRAMES]; /* in 1 / STORED_STEPS of a grey level */
    int64_t captured_ns[DIAGNOSIS_MAX_FRAMES];
    float *luma, *scratch; /* the frame that is looked at */
    bool has_stripes;      /* luma still has stripes: in a still scene they are not known well */
    float *row_gain;

    /* Estimators for corrected frames. */
    struct wave_fit *waves;
    struct flicker_frame *bands;
    struct measurer *measurer;
    struct motion_estimator *motion;

    struct followed followed;
    struct flicker_report flicker;
    struct flicker_model flicker_model; /* not valid: there is no flicker */

    struct measured measured;
    struct shake_shift shift[DIAGNOSIS_MAX_FRAMES];
    struct stripes stripes;  /* column.offset is NULL unless there were two frames */
    struct noise_sums noise; /* from frames that are whole pixels apart */
    struct noise_sums loose; /* from all other frames */
    struct noise_sums found; /* from frames whose shift only all their details together tell */
    struct path_place place[DIAGNOSIS_MAX_FRAMES];
    struct path_place seen[DIAGNOSIS_MAX_FRAMES]; /* the same from look_at_blur's scenes */
    float *near[NEAR_FRAMES]; /* the last corrected frames: frame i is in i % nears */
    unsigned nears;
    struct detail *captured, *corrected; /* the spectra of frames with and without waves */
    double line_columns, line_rows;      /* lines_deviation, added up over measured.count frames */
    struct shading *shading;
    struct shading_gain gain; /* that makes up for the lens; valid if has_gain */
    bool has_gain;
    struct detail_shape blur; /* the blur that was found in the corrected frames */
};

/* Writes a captured frame, width x height numbers of 0 .. 255. */
void diagnosis_load(const struct diagnosis *diagnosis, unsigned index, float *ret);

/* Subtracts waves from a frame. */
void diagnosis_subtract_waves(const struct diagnosis *diagnosis,
                              const struct correction *correction, float *luma);

/* Writes the median of each sample's neighbourhood of 3 x 3. Edges are not written. */
void findings_take_median(const struct diagnosis *diagnosis, const float *from, float *luma);

/* Calls for each pixel that is hot or dead, after stripes_solve: by how much it differs from its
 * neighbours. */
typedef void (*findings_hot_pixel)(void *context, size_t at, double off);
void findings_list_hot(const struct diagnosis *diagnosis, findings_hot_pixel call, void *context);

/* A kind of fault, for all that report it: text, JSON, reports and the page. */
struct diagnosis_fault {
    const char *name;
    /* Fills *ret, whose kind is set. Returns whether there is something to say. */
    bool (*judge)(const struct diagnosis *diagnosis, struct diagnosis_finding *ret);
    bool needs_whole_picture; /* a part of it at full size does not show the fault */
};
extern const struct diagnosis_fault diagnosis_faults[DIAGNOSIS_KINDS];

#endif
