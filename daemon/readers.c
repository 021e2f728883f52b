#include "readers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "service/listener.h"
#include "service/log.h"
#include "service/service.h"

struct reader_output {
    struct readers *readers;
    unsigned number;
    char name[RUNTIME_NAME_BYTES]; /* name of the socket */
    struct listener *listener;
};

struct readers {
    struct readers_parts parts;
    struct camera *camera;
    struct reader_output output[CONFIG_MAX_OUTPUTS];
    struct ring_server *server[CONFIG_MAX_OUTPUTS];
};

/* ---- what outlives a process ---- */

/* In the names of what is stored; the first output's have none. */
static const char *stored_name(const struct config *config, unsigned output)
{
    return output > 0 ? config_output_name(config, output) : "";
}

/* Returns an output's number, or -1 if the name is that of an output which is no more. */
static int output_of_ring(const struct config *config, const char *name)
{
    char known[RING_STORE_BYTES];
    for (unsigned i = 0; i < config_output_count(config); i++) {
        ring_store_name(stored_name(config, i), known);
        if (strcmp(known, name) == 0)
            return (int)i;
    }
    return -1;
}

static int output_of_client(const struct config *config, const char *name)
{
    for (unsigned i = 0; i < config_output_count(config); i++)
        if (ring_store_client_id(stored_name(config, i), name) != 0)
            return (int)i;
    return -1;
}

void readers_continue(const struct readers_parts *parts, struct ring *ret[CONFIG_MAX_OUTPUTS])
{
    char name[RUNTIME_NAME_BYTES];
    struct error why;
    int fd;

    memset(ret, 0, CONFIG_MAX_OUTPUTS * sizeof *ret);
    while ((fd = runtime_take_kept(parts->runtime, RING_STORE_NAME, name)) >= 0) {
        const int output = output_of_ring(parts->config, name);
        if (output < 0 || ret[output] != NULL) {
            close(fd);
            notifier_forget(parts->notifier, name);
        } else if (ring_continue(&ret[output], fd, &why) < 0) {
            log_warning("%s; frames are numbered from 1 again", why.text);
        } else {
            log_info("%s%sresuming after frame %llu of the previous process",
                     stored_name(parts->config, (unsigned)output), output > 0 ? ": " : "",
                     (unsigned long long)ring_newest(ret[output]));
        }
    }
}

static void inherit_clients(struct readers *readers)
{
    char name[RUNTIME_NAME_BYTES];
    struct error why;
    int fd;

    while ((fd = runtime_take_kept(readers->parts.runtime, RING_STORE_CLIENT, name)) >= 0) {
        const int output = output_of_client(readers->parts.config, name);
        if (output < 0) {
            close(fd);
            error_set(&why, EINVAL, "frames socket: '%s' is not a client's name", name);
        } else if (ring_server_adopt(readers->server[output], fd, name, &why) == 0) {
            continue;
        }
        log_warning("%s", why.text);
        notifier_forget(readers->parts.notifier, name);
    }
}

static void keep(void *context, const char *name, int fd)
{
    const struct readers *readers = context;
    notifier_keep(readers->parts.notifier, name, fd);
}

static void forget(void *context, const char *name)
{
    const struct readers *readers = context;
    notifier_forget(readers->parts.notifier, name);
}

/* ---- serving ---- */

static void on_clients(void *context, bool has_clients)
{
    const struct reader_output *output = context;
    camera_set_has_readers(output->readers->camera, output->number, has_clients);
}

static int on_client(void *context, int fd, uid_t uid, struct error *why)
{
    const struct reader_output *output = context;
    return ring_server_accept(output->readers->server[output->number], fd, uid, why);
}

/* All servers exist before the first client is admitted. */
static int create_server(struct readers *readers, unsigned number, struct error *why)
{
    const struct config *config = readers->parts.config;
    struct reader_output *output = &readers->output[number];
    struct ring_store store = {.keep = keep, .forget = forget, .context = readers};
    struct ring_server **server = &readers->server[number];
    *output = (struct reader_output){.readers = readers, .number = number};
    snprintf(store.output, sizeof store.output, "%s", stored_name(config, number));
    if (number == 0)
        snprintf(output->name, sizeof output->name, "frames");
    else
        snprintf(output->name, sizeof output->name, "outputs/%s/frames",
                 config_output_name(config, number));
    int r = ring_server_create(server, readers->parts.event, config->output.max_clients, why);
    if (r < 0)
        return r;
    if (number > 0)
        ring_server_join(*server, readers->server[0]);
    ring_server_watch(*server, on_clients, output);
    if (service_is_managed())
        ring_server_set_store(*server, &store);
    return 0;
}

static int start_listening(struct readers *readers, unsigned number, struct error *why)
{
    struct reader_output *output = &readers->output[number];
    const struct listener_options options = {
        .name = output->name, .connected = on_client, .context = output};
    int fd = runtime_listen(readers->parts.runtime, output->name, SOCK_SEQPACKET, why);
    return fd < 0 ? fd
                  : listener_create(&output->listener, readers->parts.event, fd, &options, why);
}

int readers_create(struct readers **ret, const struct readers_parts *parts, struct camera *camera,
                   struct error *why)
{
    struct readers *readers = calloc(1, sizeof *readers);
    int r = 0;
    if (readers == NULL)
        return error_set(why, ENOMEM, "out of memory while creating the frames sockets");
    *readers = (struct readers){.parts = *parts, .camera = camera};
    const unsigned count = config_output_count(parts->config);
    for (unsigned i = 0; r == 0 && i < count; i++)
        r = create_server(readers, i, why);
    if (r == 0)
        inherit_clients(readers);
    for (unsigned i = 0; r == 0 && i < count; i++) {
        readers_update(readers, i);
        r = start_listening(readers, i, why);
    }
    if (r < 0)
        readers_destroy(readers);
    else
        *ret = readers;
    return r;
}

int readers_add(struct readers *readers, unsigned output, struct error *why)
{
    int r = create_server(readers, output, why);
    if (r < 0)
        return r;
    readers_update(readers, output);
    r = start_listening(readers, output, why);
    if (r < 0)
        readers_remove(readers, output);
    return r;
}

void readers_remove(struct readers *readers, unsigned output)
{
    struct reader_output *removed = &readers->output[output];
    listener_destroy(removed->listener);
    runtime_remove(readers->parts.runtime, removed->name);
    ring_server_end(readers->server[output]);
    readers->server[output] = NULL;
    *removed = (struct reader_output){.listener = NULL};
}

void readers_update(struct readers *readers, unsigned output)
{
    ring_server_set_ring(readers->server[output], camera_ring(readers->camera, output));
}

struct ring_server *const *readers_servers(const struct readers *readers)
{
    return readers->server;
}

/* The first server, whose limit the others share, is the last one. */
void readers_destroy(struct readers *readers)
{
    if (readers == NULL)
        return;
    for (unsigned i = CONFIG_MAX_OUTPUTS; i-- > 0;) {
        listener_destroy(readers->output[i].listener);
        ring_server_destroy(readers->server[i]);
    }
    free(readers);
}
