/* A vibrometer: takes fields of motion from frames, finds how regions and blocks of the picture
 * vibrate, and writes that. The maths is in modes.h and survey.h. Units are those of series.h. */
#ifndef FFTD_VIBRATION_VIBRATION_H
#define FFTD_VIBRATION_VIBRATION_H

#include <stdio.h>

#include <fftd/fftd.h>

#include "chart.h"
#include "survey.h"

#define VIBRATION_MOST_REGIONS CHART_MOST_PANELS

/* Initialize it with the regions and both choices, and zeros; `left` .. `height` of a region and
 * its name are read. The caller calls vibration_finish. */
struct vibration {
    struct series_place region[VIBRATION_MOST_REGIONS];
    unsigned regions; /* at least 1 */
    bool with_blocks; /* keep the shifts of single blocks, too, as survey_fit needs them */
    bool is_surveyed; /* search the blocks; needs with_blocks */
    struct series series;
    uint64_t frames;  /* published since the first field that is in the series */
    unsigned wrong;   /* the region that -ERANGE is about */
    int16_t *vectors; /* a field's vectors */
    uint8_t *confidences;
    uint32_t capacity;
    struct modes modes[VIBRATION_MOST_REGIONS];
    struct modes_spectrum spectrum[VIBRATION_MOST_REGIONS]; /* px NULL: too little is known */
    struct survey survey;
};

/* Takes a frame's field of motion. Returns 1; 0 if it has none, or nothing new; or -errno as
 * series_begin and series_add. */
int vibration_take(struct vibration *vibration, const struct fftd *camera,
                   const struct fftd_frame *frame);

/* Searches what was taken. `progress` as for survey_find. -ENODATA: too few shifts are known of any
 * region; -ENOMEM. */
int vibration_find(struct vibration *vibration, void (*progress)(void *, unsigned, unsigned),
                   void *context);

/* Returns the modes of a region of which enough is known, after vibration_find has returned 0: its
 * limits are those of all. */
const struct modes *vibration_known(const struct vibration *vibration);

/* Returns the frequency with the greatest amplitude; 0: there is none. */
double vibration_strongest_hz(const struct vibration *vibration);

/* Draws displacements and spectra of the regions. -ENOMEM. */
int vibration_draw(const struct vibration *vibration, struct picture *ret);

/* Write what was found. The caller checks ferror(file). The displacement in CSV is that from the
 * first picture on. Where it is not known any more, it counts from 0 again, in a row without a
 * confidence. */
void vibration_write_text(const struct vibration *vibration, FILE *file);
void vibration_write_json(const struct vibration *vibration, FILE *file);
void vibration_write_csv(const struct vibration *vibration, FILE *file);

void vibration_finish(struct vibration *vibration);

#endif
