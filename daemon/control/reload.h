/* Applies what the configuration file says now to the running camera. Main thread only. */
#ifndef FFTD_RELOAD_H
#define FFTD_RELOAD_H

#include <stdint.h>

#include "camera/camera.h"
#include "config/config.h"
#include "core/error.h"

/* The reloads whose result is not known yet. Zero-initialised: there are none. */
struct reload {
    uint64_t source_version; /* of the newest requested source; 0: none, or its result is logged */
    uint64_t changed;        /* bit i: key i of config_keys differs from what was in use before */
    char changes[1024];      /* "camera.fps = 10, camera.size = 640x480" */
};

/* Requests from the camera what differs between *config, the last request, and *wanted: the
 * filter, the camera's own controls, and the source with its size, rate and format. On success
 * *config takes over those keys, and the log names the keys that need a restart. On failure nothing
 * has changed. The source is changed later: see reload_report. */
int reload_apply(struct reload *reload, struct camera *camera, struct config *config,
                 const struct config *wanted, struct error *why);

/* Logs whether the source was changed, once that is known. To be called with every new status. */
void reload_report(struct reload *reload, const struct camera_status *status);

#endif
