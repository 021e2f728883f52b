/* Images in files. */
#ifndef FFTD_CTL_PICTURE_FILE_H
#define FFTD_CTL_PICTURE_FILE_H

#include "ctl.h"
#include "pictures/picture.h"

/* Writes a PNG file, or to stdout if the path is "-". An existing file is replaced when the new one
 * is complete. Prints the reason of a failure, and returns 0 or an exit code; a closed pipe is left
 * to ctl_finish. */
int picture_save(const struct ctl *ctl, const struct picture *picture, const char *path);

#endif
