/* Save, which keeps the filter and the camera's controls for every start (config/saved.h), if the
 * administrator allows it. */
#include "bus/methods.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bus/slow_call.h"
#include "core/text.h"
#include "service/log.h"

struct save_call {
    struct slow_call call;
    bool which[CONFIG_SAVED_KEYS];
    struct config wanted; /* only what is saved; its chain holds its images */
    uint64_t serial;
    struct config_saved saved;
    bool is_changed;
};

/* A chain that cannot be made is not saved. */
static int prepare(struct slow_call *slow, sd_bus_error *error)
{
    struct save_call *call = (struct save_call *)slow;
    struct camera *camera = slow->hooks->camera;
    struct camera_status status;
    struct filter_chain chain;
    camera_get_status(camera, 0, &status);
    call->serial = camera_get_filter(camera, 0, &chain);
    if (call->which[CONFIG_SAVED_FILTER] && status.used_serial < call->serial)
        return sd_bus_error_setf(error, BUS_ERROR_BUSY,
                                 "filter %" PRIu64 " is not in use yet: save it once it is",
                                 call->serial);
    filter_chain_assign(&call->wanted.filter, &chain);
    call->wanted.camera.controls = status.controls;
    return 0;
}

static int run(struct slow_call *slow, struct error *why)
{
    struct save_call *call = (struct save_call *)slow;
    return slow->hooks->save(slow->hooks->options, &call->wanted, call->which, &call->saved,
                             &call->is_changed, why);
}

static int answer(struct slow_call *slow, sd_bus_error *error)
{
    static const char *const names[] = {"SavedFile", "SavedKeys", NULL};
    const struct save_call *call = (const struct save_call *)slow;
    const struct peer_services *services = slow->peer->services;
    if (slow->result < 0)
        return peer_fail(error,
                         slow->result == -EACCES   ? SD_BUS_ERROR_ACCESS_DENIED
                         : slow->result == -EINVAL ? BUS_ERROR_INVALID_CONFIG
                                                   : BUS_ERROR_FAILED,
                         slow->why.text);
    slow->hooks->config->saved = call->saved;
    if (call->is_changed)
        log_notice(
            "user %u saved %s%s%s in %s", (unsigned)slow->peer->uid,
            call->which[CONFIG_SAVED_FILTER] ? "the filter" : "",
            call->which[CONFIG_SAVED_FILTER] && call->which[CONFIG_SAVED_CONTROLS] ? " and " : "",
            call->which[CONFIG_SAVED_CONTROLS] ? "the camera's controls" : "", call->saved.path);
    services->emit(services->context, 0, names);
    const int r =
        sd_bus_reply_method_return(slow->message, "sb", call->saved.path, (int)call->is_changed);
    if (r < 0)
        peer_hang_up(slow->peer); /* an error would say that nothing was saved */
    return 1;
}

static void finish(struct slow_call *slow)
{
    const struct save_call *call = (const struct save_call *)slow;
    if (slow->result == 0) /* the sender may have left meanwhile */
        slow->hooks->config->saved = call->saved;
    filter_chain_drop(&call->wanted.filter);
}

static int read_keys(struct save_call *call, sd_bus_message *message, sd_bus_error *error)
{
    char quoted[TEXT_QUOTE_BYTES];
    const char *name;
    bool has_any = false;
    int r = sd_bus_message_enter_container(message, 'a', "s");
    while (r >= 0 && (r = sd_bus_message_read(message, "s", &name)) > 0) {
        unsigned i = 0;
        while (i < CONFIG_SAVED_KEYS && strcmp(config_saved_names[i], name) != 0)
            i++;
        if (i == CONFIG_SAVED_KEYS)
            return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                     "%s: expected filter or camera.controls",
                                     text_quote(quoted, name));
        call->which[i] = has_any = true;
    }
    if (r >= 0 && !has_any)
        return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                "no key: expected filter or camera.controls");
    return r < 0 ? r : sd_bus_message_exit_container(message);
}

int method_save(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    static const struct slow_call_ops ops = {
        .is_change = true, .prepare = prepare, .run = run, .answer = answer, .finish = finish};
    struct peer *peer = userdata;
    const struct config *config = peer->services->hooks.config;
    int r = peer_refuse_read_only(peer, error);
    if (r < 0)
        return r;
    if (config->saved.path[0] == '\0')
        return sd_bus_error_set(error, SD_BUS_ERROR_ACCESS_DENIED,
                                "clients may not save here: the administrator allows it with "
                                "control.allow_save = true");
    if (peer_output_of(peer, message) != 0)
        return sd_bus_error_setf(error, SD_BUS_ERROR_NOT_SUPPORTED,
                                 "only the filter of " CONFIG_MAIN_OUTPUT
                                 " is saved: write that of %s into the key outputs of the "
                                 "configuration",
                                 config_output_name(config, peer_output_of(peer, message)));
    struct save_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return -ENOMEM;
    r = read_keys(call, message, error);
    if (r >= 0)
        return slow_call_start(&call->call, &ops, peer, message);
    free(call);
    return r;
}
