/* Files that commands save. Functions print the reason for a failure, and return 0 or an exit code.
 */
#ifndef FFTD_CTL_SAVE_H
#define FFTD_CTL_SAVE_H

#include "common/output.h"
#include "ctl.h"
#include "pictures/picture.h"

/* Creates a file; "-" is stdout. */
int save_begin(const struct ctl *ctl, struct output_file *ret, const char *path,
               enum output_kind kind);

/* Completes the file, or removes it if r, what writing it has returned, is negative. A closed pipe
 * of stdout is left to ctl_finish. */
int save_end(const struct ctl *ctl, struct output_file *output, const char *path, int r);

/* Writes a PNG file. */
int save_picture(const struct ctl *ctl, const struct picture *picture, const char *path);

#endif
