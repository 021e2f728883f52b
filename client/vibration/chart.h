/* Draws displacements, spectra and modes. Pure. */
#ifndef FFTD_VIBRATION_CHART_H
#define FFTD_VIBRATION_CHART_H

#include "modes.h"
#include "pictures/picture.h"

#define CHART_MOST_PANELS 8u

/* What is known of one place. */
struct chart_panel {
    const char *title;
    unsigned place;
    const struct modes *modes;
    const struct modes_spectrum *spectrum;
};

/* Draws for each panel the displacement over time, to the right (blue) and down (orange), with gaps
 * where it is not known, and beside it the amplitude over frequency, with its modes marked. count:
 * 1 .. CHART_MOST_PANELS. -ENOMEM. */
int chart_draw(struct picture *ret, const struct series *series, const struct chart_panel *panel,
               unsigned count);

/* Draws the modes of all blocks over a picture: the redder the more they move, with lines along
 * their movement, the longest of which is as long as blocks are apart. `mode` has one for each
 * block of the series. Blocks that hardly move are left alone. captured_width: of the picture whose
 * pixels the series counts in, which `under` may show smaller. -ENOMEM. */
int chart_draw_mode(struct picture *ret, const struct picture *under, uint32_t captured_width,
                    const struct series *series, const struct mode *mode, double hz);

#endif
