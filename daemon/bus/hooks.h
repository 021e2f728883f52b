/* The parts of the daemon that the bus uses. */
#ifndef FFTD_BUS_HOOKS_H
#define FFTD_BUS_HOOKS_H

#include "camera/camera.h"
#include "config/config.h"
#include "core/error.h"

struct options;
struct outputs;
struct reload_waiter;
struct ring_server;

/* The event loop serves the control sockets after everything else, so that a flood of calls delays
 * neither clients of the frames socket nor the watchdog. */
#define BUS_PRIORITY 10

/* Everything outlives the bus. */
struct bus_hooks {
    struct camera *camera;
    struct ring_server *const *server; /* by output number; NULL: there is no such output */
    struct config *config;             /* the one in use; what is saved changes it */
    uint64_t start_time_ns;            /* when the process started, CLOCK_REALTIME */
    const char *config_file;           /* its absolute path; empty: there is none */
    const char *const *overrides;      /* keys that the command line sets; the last is NULL */
    /* Reads the configuration file again. The chains hold their images. Any thread. */
    int (*read_config)(void *context, struct config *ret, struct error *why);
    /* Applies what can change at run time. Returns what reload_apply returns. */
    int (*apply_config)(void *context, const struct config *config, struct reload_waiter *waiter,
                        struct error *why);
    /* Receives the result of bus_read_config (bus.h). config NULL: it failed, see `why`. */
    void (*on_config_read)(void *context, const struct config *config, struct error *why);
    /* Add and remove an output (outputs.h). */
    int (*add_output)(const struct outputs *outputs, const struct config_named_output *output,
                      struct error *why);
    int (*remove_output)(const struct outputs *outputs, const char *name, struct error *why);
    const struct outputs *outputs;
    /* Saves the values of `wanted` (options_save). Any thread. */
    int (*save)(const struct options *options, const struct config *wanted,
                const bool which[CONFIG_SAVED_KEYS], struct config_saved *ret, bool *ret_changed,
                struct error *why);
    const struct options *options;
    void *context;
};

#endif
