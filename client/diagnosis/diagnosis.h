/* Says what is wrong with a camera's picture, from frames before the filter. Pure: frames in,
 * findings out.
 *
 * Where daemon/estimators or client/calibration have an estimator, it is used: periodic noise,
 * flicker, measures and motion; stripes and bad pixels. What none of them sees has a file here:
 * noise.h, lens.h and shading.h (dark corners), detail.h (blur and halftone screens) and shake.h.
 * sector.h chooses the stage against stripes.
 *
 * Each finding has its annoyance: about the root mean square error, in grey levels of 255, that it
 * adds to the picture. What is below a threshold, which differs with the kind, is no finding: a
 * clean picture has none.
 *
 * Threads: one at a time. */
#ifndef FFTD_DIAGNOSIS_DIAGNOSIS_H
#define FFTD_DIAGNOSIS_DIAGNOSIS_H

#include <stdbool.h>
#include <stdint.h>

#include "pictures/picture.h"

#define DIAGNOSIS_MIN_SIDE   64u   /* pixels, of frames */
#define DIAGNOSIS_MAX_SIDE   8192u /* pixels, of frames */
#define DIAGNOSIS_MAX_FRAMES 1000u /* that are looked at; others are ignored */
#define DIAGNOSIS_FIGURES    8u
#define DIAGNOSIS_CHAIN      1024u /* bytes */

enum diagnosis_kind {
    DIAGNOSIS_PERIODIC, /* waves of the camera's electronics: they stand, or drift */
    DIAGNOSIS_SCREEN,   /* a halftone screen or a moire: a lattice of waves */
    DIAGNOSIS_FLICKER,  /* bands of flickering light */
    DIAGNOSIS_STRIPES,  /* columns and rows that differ, and stay where they are */
    DIAGNOSIS_HOT,      /* hot or dead pixels */
    DIAGNOSIS_SHADING,  /* corners that the lens has darkened */
    DIAGNOSIS_DEFOCUS,  /* blur by a disk */
    DIAGNOSIS_MOTION,   /* blur along a line */
    DIAGNOSIS_NOISE,    /* random noise, another in each frame */
    DIAGNOSIS_SHAKE,    /* the camera shakes */
    DIAGNOSIS_CLIPPING, /* black or white without detail; no filter brings it back */
    DIAGNOSIS_EXPOSURE, /* too dark or too bright as a whole */
    DIAGNOSIS_KINDS
};

struct diagnosis_figure {
    const char *name; /* as in JSON: frequency_hz */
    double value;
};

struct diagnosis_finding {
    enum diagnosis_kind kind;
    double annoyance; /* about the RMS error that it adds, in grey levels of 255 */
    char text[200];   /* one sentence with the figures, without a full stop */
    char stage[400];  /* what removes it; stages joined by " | "; empty: no filter can */
    char advice[200]; /* what else helps; empty: nothing */
    unsigned figures;
    struct diagnosis_figure figure[DIAGNOSIS_FIGURES];
};

struct diagnosis_result {
    unsigned frames; /* that were looked at */
    unsigned count;
    struct diagnosis_finding
        finding[DIAGNOSIS_KINDS]; /* at most one of each, the most annoying first */
    char chain[DIAGNOSIS_CHAIN];  /* all stages; empty: none */
};

struct diagnosis;

/* The layout and range of the frames. */
struct diagnosis_format {
    uint32_t width, height; /* pixels, DIAGNOSIS_MIN_SIDE .. DIAGNOSIS_MAX_SIDE */
    float black, white;     /* the ends of the range, of 0 .. 255: 0 and 255, or 16 and 235 */
    unsigned mosaic_step;   /* pixels between samples of the same colour: 1, or 2 in a mosaic */
};

/* Is called now and then while frames are judged. */
typedef void (*diagnosis_progress)(void *context, unsigned done, unsigned total);

/* Returns the name of a kind, as in JSON: "periodic-noise". */
const char *diagnosis_name(enum diagnosis_kind kind);

/* -EINVAL: the format is out of range; -ENOMEM. */
int diagnosis_create(struct diagnosis **ret, const struct diagnosis_format *format);
void diagnosis_destroy(struct diagnosis *diagnosis); /* NULL is allowed */

/* Takes in a frame before the filter, and keeps it, in two bytes a pixel. luma: width x height
 * numbers, 0 .. 255, rows side by side. captured_ns: when it was captured, later than the frame
 * before; any clock. -ENOMEM. */
int diagnosis_add(struct diagnosis *diagnosis, const float *luma, int64_t captured_ns);

/* Judges all frames; this takes about 0.1 s for each frame of 640 x 480. Call it once. progress:
 * NULL, or what to call meanwhile. -ENODATA: there is no frame; -ENOMEM. */
int diagnosis_finish(struct diagnosis *diagnosis, struct diagnosis_result *ret,
                     diagnosis_progress progress, void *context);

/* Writes a picture of width x height numbers, 0 .. 255: the last frame as it was captured, and
 * about as the finding's stage would leave it. False: there is nothing to show. */
bool diagnosis_preview(struct diagnosis *diagnosis, const struct diagnosis_finding *finding,
                       float *ret_before, float *ret_after);

/* Draws small pictures from before and after the finding's stage: the middle at full size, or the
 * whole picture for a kind that only shows there. Returns how many it has drawn: 2, or 1 if there
 * is nothing after the stage; or -ENOMEM. The caller frees them. */
int diagnosis_draw(struct diagnosis *diagnosis, const struct diagnosis_finding *finding,
                   struct picture ret[2]);

#endif
