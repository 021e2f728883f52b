/* The list of a camera's outputs, as it changes while the daemon runs: what begins and ends with an
 * output, and in which order. Main thread only.
 *
 * An output has its number for as long as it exists. One that is removed leaves its place free once
 * its designer has returned from the driver; its readers see what they see at the end of a daemon.
 * While another source is tried, no output begins or ends. Only the file names outputs for the next
 * process, which forgets what the fd store has of any other. */
#ifndef FFTD_OUTPUTS_H
#define FFTD_OUTPUTS_H

#include "bus/bus.h"
#include "camera/camera.h"
#include "config/config.h"
#include "core/error.h"
#include "readers.h"

struct outputs {
    struct config *config; /* has the list */
    struct camera *camera;
    struct readers *readers;
    struct bus *bus;
    bool is_pending;              /* a list that is to be has not come about yet: */
    struct config_outputs wanted; /* its filters hold their images */
};

/* Adds an output with its ring, its socket and its object. -EINVAL: the name is missing or taken,
 * there are CONFIG_MAX_OUTPUTS, or camera_prepare_output refuses it; -EBUSY: camera_check_list, or
 * outputs that were removed have not ended yet, or a list is pending; otherwise errors as
 * readers_add. On failure nothing has changed. */
int outputs_add(const struct outputs *outputs, const struct config_named_output *named,
                struct error *why);

/* Removes an output: its readers see their ring retired, and its socket and its object are gone.
 * -ENOENT: there is none of this name; -EINVAL: it is the first one; -EBUSY: camera_check_list, or
 * a list is pending. */
int outputs_remove(const struct outputs *outputs, const char *name, struct error *why);

/* Checks that each output of a list could be had (camera_check_output). */
int outputs_check(const struct outputs *outputs, const struct config_outputs *wanted,
                  struct error *why);

/* Makes this the list, beside what was added and is not in it. An output of which only the filter
 * differs gets that filter; one that differs otherwise ends, and begins again. Outputs begin once
 * those that end have ended (outputs_continue); what is refused then is logged. */
void outputs_set(struct outputs *outputs, const struct config_outputs *wanted);

/* Goes on with a list that is pending. To be called after camera_take_events. */
void outputs_continue(struct outputs *outputs);

#endif
