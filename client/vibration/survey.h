/* Finds the frequencies at which anything in the picture vibrates, and where. Pure. */
#ifndef FFTD_VIBRATION_SURVEY_H
#define FFTD_VIBRATION_SURVEY_H

#include "modes.h"

#define SURVEY_MOST 8u

struct survey_line {
    double hz;
    unsigned blocks;  /* that move at this frequency by more than MODES_NOT_BY_NOISE */
    unsigned place;   /* the series' number of the block that moves most */
    struct mode mode; /* how that block moves */
};

struct survey {
    unsigned count;
    struct survey_line line[SURVEY_MOST]; /* the greatest amplitude first */
};

/* Searches all blocks of a series that has them as places. If there are many, the means of
 * neighbouring ones are searched, so that it takes seconds at most. progress may be NULL.
 * -ENODATA: too few shifts are known; -ENOMEM. */
int survey_find(struct survey *ret, const struct series *series,
                void (*progress)(void *context, unsigned done, unsigned total), void *context);

/* Fits that frequency to all blocks. The caller frees *ret, which has a mode for each block; px is
 * 0 where too little is known. -ENOMEM. */
int survey_fit(struct mode **ret, const struct series *series, double hz);

/* Returns whether a block's movement is more than noise. */
static inline bool survey_is_moving(const struct mode *mode)
{
    return mode->px > MODES_NOT_BY_NOISE * mode->px_error;
}

#endif
