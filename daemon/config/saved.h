/* What clients have saved over the bus: keys of the configuration in a file of the daemon's own,
 * which is read after the configuration's file and before the options.
 *
 * The daemon cannot write the administrator's file, and should not: its sandbox leaves it one
 * directory to write (StateDirectory=). The file is DIR/NAME.conf, where DIR is $STATE_DIRECTORY,
 * for root /var/lib/fftd, and otherwise $XDG_STATE_HOME/fftd or ~/.local/state/fftd.
 *
 * The last one who spoke is obeyed. With each value the file therefore has the one that the
 * configuration had then (instead_of). Once the administrator writes another one there, what was
 * saved is ignored, and the next save replaces it.
 *
 * Threads: any; nothing is kept between calls. */
#ifndef FFTD_CONFIG_SAVED_H
#define FFTD_CONFIG_SAVED_H

#include <stdbool.h>

#include "config/config.h"
#include "core/error.h"

/* Finds the file for the configuration `asked` and sets config->saved.path. -ENOENT: the
 * environment names no directory; -ENAMETOOLONG. */
int config_saved_find(struct config *config, const struct config *asked, struct error *why);

/* Sets the keys that the file has and that count; the others keep the values of the configuration.
 * A file that does not exist, or of which something cannot be used, is no failure: `saved` says
 * what is used, and why something is not. */
void config_saved_read(struct config *config);

/* Saves the values that `wanted` has of the keys in `which`. base: what the configuration's file
 * says, with saved.path. What is saved of other keys, and counts, stays. A value that the
 * configuration has, too, needs no file. *ret is what is saved then; *ret_changed: whether that is
 * something else than before. The file is replaced when the new one is on the disk. Returns 0 or
 * -errno, and then nothing has changed. */
int config_saved_write(const struct config *base, const struct config *wanted,
                       const bool which[CONFIG_SAVED_KEYS], struct config_saved *ret,
                       bool *ret_changed, struct error *why);

#endif
