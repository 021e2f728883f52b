/* Pictures that commands save. */
#ifndef FFTD_CTL_SAVE_H
#define FFTD_CTL_SAVE_H

#include "ctl.h"
#include "pictures/picture.h"

/* Writes a PNG file, or to stdout if the path is "-". Prints the reason for a failure, and returns
 * 0 or an exit code; a closed pipe is left to ctl_finish. */
int save_picture(const struct ctl *ctl, const struct picture *picture, const char *path);

#endif
