/* Removes from the environment directories that belong to another user. Programs that drivers find
 * in a cache are run as this user, and sockets are created where XDG_RUNTIME_DIR says; sudo and su
 * may keep both from the user who called them. */
#ifndef FFTD_SERVICE_ENVIRONMENT_H
#define FFTD_SERVICE_ENVIRONMENT_H

/* Unsets each such variable with a warning in the log, and replaces HOME by the home directory of
 * this user. To be called before there are threads. */
void environment_clean(void);

#endif
