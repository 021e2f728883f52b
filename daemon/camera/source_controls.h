/* The controls of a camera, as they were set last, and which of them the camera rejected. They are
 * set again whenever the camera is opened. Camera's thread only. */
#ifndef FFTD_CAMERA_SOURCE_CONTROLS_H
#define FFTD_CAMERA_SOURCE_CONTROLS_H

#include "camera/control_list.h"
#include "capture/capture.h"
#include "core/error.h"
#include "core/settings.h"

struct source_controls {
    struct settings settings; /* set whenever the camera is opened */
    struct error problem;     /* which of them it rejected; empty if it took all */
    struct control_list list; /* as read last */
};

/* Sets controls one by one, so that one which this camera lacks does not cost the others;
 * `problem` says which were rejected. `settings` may be controls->settings. */
void source_controls_apply(struct source_controls *controls, struct capture *capture,
                           const struct settings *settings);

/* Adds settings to those that are set whenever the camera is opened. Those that differ are applied
 * now, unless capture is NULL. */
void source_controls_add(struct source_controls *controls, struct capture *capture,
                         const struct settings *settings);

/* Sets controls now, all or none, and whenever the camera is opened. Errors as
 * capture_set_controls. */
int source_controls_set(struct source_controls *controls, struct capture *capture,
                        const struct settings *settings, struct error *why);

#endif
