/* Removes from the environment paths that another user controls. sudo and su may keep variables of
 * the user who called them, while drivers and plugins that such a path names are run as this user,
 * and sockets are created where XDG_RUNTIME_DIR says. */
#ifndef FFTD_SERVICE_ENVIRONMENT_H
#define FFTD_SERVICE_ENVIRONMENT_H

/* Unsets each variable of a table that has a path which a user other than this one and root can
 * write, or whose parents or links such a user can write; a warning in the log names variable, path
 * and owner. HOME is replaced by the home directory of this user, and PATH by the system's. The
 * libraries that the process itself began with are already loaded. To be called before there are
 * threads. */
void environment_clean(void);

/* Warns if the process may open too few files. */
void environment_check_limit(void);

#endif
