/* Text from the daemon, made harmless for a terminal. JSON needs none of this: json.c escapes. */
#ifndef FFTD_CTL_CLEAN_H
#define FFTD_CTL_CLEAN_H

#include <systemd/sd-bus.h>

/* Replaces tabs and line breaks by spaces, and all other control characters by '?'. The text is
 * UTF-8. Returns its argument. */
char *clean_text(char *text);

/* Replaces a received message by a copy of it whose texts are clean. Returns 0; or -errno, and
 * frees the message all the same. */
int clean_message(sd_bus_message **message);

#endif
