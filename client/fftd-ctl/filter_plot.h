/* Implements `filter plot`, which draws the response of a filter. */
#ifndef FFTD_CTL_FILTER_PLOT_H
#define FFTD_CTL_FILTER_PLOT_H

#include "ctl.h"

/* Writes the image to the path. NULL for the chain is the filter in use. Returns an exit code; it
 * has printed the reason of a failure, and then there is no file. */
int filter_plot_save(const struct ctl *ctl, const char *path, const char *chain);

#endif
