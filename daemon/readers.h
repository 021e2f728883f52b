/* Readers of the outputs: each output's ring, its frames socket, and what outlives the process in
 * the service manager's store. Main thread only. */
#ifndef FFTD_READERS_H
#define FFTD_READERS_H

#include "camera/camera.h"
#include "config/config.h"
#include "core/error.h"
#include "ring/ring.h"
#include "service/notifier.h"
#include "service/runtime.h"

struct readers;
struct sd_event;

/* Everything outlives the readers. */
struct readers_parts {
    struct sd_event *event;
    struct runtime *runtime;
    struct notifier *notifier;
    const struct config *config;
};

/* Writes the ring of each output that follows the one of the previous process; NULL: there is none.
 */
void readers_continue(const struct readers_parts *parts, struct ring *ret[CONFIG_MAX_OUTPUTS]);

/* Serves the rings of the camera on the sockets `frames` and `outputs/NAME/frames`, and the clients
 * of the previous process. All outputs together have output.max_clients. */
int readers_create(struct readers **ret, const struct readers_parts *parts, struct camera *camera,
                   struct error *why);

/* Serves the ring of an output that was added to the camera; its number and name are in the
 * configuration. Errors as runtime_listen; -ENOMEM. */
int readers_add(struct readers *readers, unsigned output, struct error *why);

/* Ends the output's connections for good, and lets its ring go. */
void readers_remove(struct readers *readers, unsigned output);

/* Serves the output's newest ring. */
void readers_update(struct readers *readers, unsigned output);

/* The server of each output; NULL: there is no such output. */
struct ring_server *const *readers_servers(const struct readers *readers);

/* NULL is allowed. */
void readers_destroy(struct readers *readers);

#endif
