/* Taking over, in a running daemon, what its configuration says now. Main thread only. */
#ifndef FFTD_RELOAD_H
#define FFTD_RELOAD_H

#include "camera.h"
#include "config.h"
#include "core/error.h"

/* Carries the differences between the configuration in force and the wanted one to the camera:
 * the filter, the camera's own controls, the source with its size, rate and format. What the camera
 * then does not take stays as it was, and is logged; keys that only a start can change are named in
 * the log. in_force becomes what is in force, some of it only once the camera has taken it over;
 * it must outlive the camera. */
int reload_apply(struct camera *camera, struct config *in_force, const struct config *wanted,
                 struct error *why);

#endif
