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

/* Completes the file. A negative r, which says why writing it failed, removes it instead. If stdout
 * is a closed pipe, that is no failure here: ctl_finish handles it. */
int save_end(const struct ctl *ctl, struct output_file *output, const char *path, int r);

/* Writes a PNG file. */
int save_picture(const struct ctl *ctl, const struct picture *picture, const char *path);

#endif
