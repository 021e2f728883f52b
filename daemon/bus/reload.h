/* Applies a reloaded configuration to the running camera. Main thread only.
 *
 * The changes of one reload are applied together or not at all. If the source changes, the camera
 * tries it together with the filter and the controls, and goes back if it or its filter cannot be
 * used (camera_set_source). Without a source, the controls follow once the filter and the view are
 * in use. This file only waits for the result. Other outputs follow at the end; they are checked
 * before, unless the source changes, too. */
#ifndef FFTD_BUS_RELOAD_H
#define FFTD_BUS_RELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "camera/camera.h"
#include "config/config.h"
#include "core/error.h"

struct outputs;

/* A caller that waits for the result of a reload; embedded in a record of its own. */
struct reload_waiter {
    struct reload_waiter *next;
    /* Called once, but not from reload_apply. problem: why nothing has changed; NULL: everything
     * was applied. */
    void (*done)(struct reload_waiter *waiter, const char *problem);
};

/* A configuration to apply, and who waits for the result. */
struct reload_job {
    struct config wanted;
    struct reload_waiter *waiters;
};

/* Applies the key outputs (outputs.h). NULL: changes of it are ignored. */
struct reload_outputs {
    int (*check)(const struct outputs *outputs, const struct config_outputs *wanted,
                 struct error *why);
    void (*set)(struct outputs *outputs, const struct config_outputs *wanted);
    struct outputs *outputs;
};

/* Zero-initialised: no reload is in progress. */
struct reload {
    uint64_t source_number; /* number of the source that `current` asks for (camera_set_source); 0:
                               none */
    uint64_t filter_serial; /* serial of the filter that it asks for instead; 0: none */
    struct reload_outputs outputs;
    struct reload_job current;
    bool has_next;
    struct reload_job next; /* the newest reload requested since then; begins when that one ends */
};

/* Applies the differences between *config, which is in use, and *wanted: the filter, the camera's
 * own controls, and the source with its size, rate and format. 0: they were applied, *config has
 * the new values, and the log names the keys that need a restart. 1: waiter->done will get the
 * result; waiter may be NULL. -errno: nothing has changed. */
int reload_apply(struct reload *reload, struct camera *camera, struct config *config,
                 const struct config *wanted, struct reload_waiter *waiter, struct error *why);

/* Ends the reload in progress once its result is known, logs the result and begins the next one.
 * Call it with every new status. Returns true if a reload has ended. */
bool reload_settle(struct reload *reload, struct camera *camera, struct config *config,
                   const struct camera_status *status);

void reload_log_failure(const char *problem);

/* Logs which keys were saved (config/saved.h), and why something that was is ignored. */
void reload_log_saved(const struct config_saved *saved);

/* Returns whether a reload is still in progress. */
bool reload_is_pending(const struct reload *reload);

/* Answers all waiters that fftd is stopping. */
void reload_cancel(struct reload *reload);

#endif
