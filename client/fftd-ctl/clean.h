/* Makes text from the daemon harmless to a terminal. JSON does not need this: json.c escapes it. */
#ifndef FFTD_CTL_CLEAN_H
#define FFTD_CTL_CLEAN_H

#include <systemd/sd-bus.h>

/* Replaces tabs and line breaks by spaces, and all other control characters by '?'. The text is
 * UTF-8. Returns the text. */
char *clean_text(char *text);

/* Replaces a received message by a copy with clean texts, and frees the original even if this
 * fails. Returns 0 or -errno. */
int clean_message(sd_bus_message **message);

#endif
