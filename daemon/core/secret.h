/* Texts without the passwords in them, for everybody who may not read the configuration: the log,
 * the status, the bus, /proc and `fftd-ctl report`. Pure; any thread.
 *
 * A text does not say what is a secret in it, so that more is hidden than has to be: whatever is
 * before the last @ of a URI, its query, and the value of a name like that of a password, a user or
 * a key. Where the name leaves no doubt, so is the rest of the line after a colon. With ### for
 * SECRET_MARK:
 *
 *     rtsp://user:password@host/path?token=a    rtsp://###@host/path?###
 *     user-id=a user-pw="b c" ! queue           user-id=### user-pw="###" ! queue
 *     Authorization: Basic YWI6Yw==             Authorization:###
 *
 * A secret in the path of a URI, or in a property of an innocent name, is not recognized. */
#ifndef FFTD_CORE_SECRET_H
#define FFTD_CORE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

#define SECRET_MARK "***"

/* Writes the text with SECRET_MARK for each secret, and cuts what does not fit into size bytes. The
 * text must be whole: half a URI does not show that it is one. Returns shown, which must not be
 * text. */
char *secret_hide(char *shown, size_t size, const char *text);

/* Returns whether secret_hide would hide something. */
bool secret_is_in(const char *text);

/* The same as secret_hide, in place, for a text about a source, such as an error of a library. Also
 * hides the source's secrets where they are alone or decoded. What grows beyond size bytes is cut.
 * If memory is exhausted, nothing of the text is left. */
void secret_hide_of(const char *source, char *text, size_t size);

#endif
