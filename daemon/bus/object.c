/* The table of methods, and Reload. */
#include "bus/methods.h"

#include <errno.h>
#include <stdlib.h>

#include "bus/reload.h"
#include "bus/slow_call.h"
#include "service/log.h"

/* Until the file is read. */
struct read_call {
    struct slow_call call;
    struct config config; /* its chain holds its images if the result is 0 */
};

/* Until the configuration is applied. */
struct reload_call {
    struct reload_waiter waiter;
    struct peer_call call;
};

static void on_reloaded(struct reload_waiter *waiter, const char *problem)
{
    struct reload_call *waiting = (struct reload_call *)waiter; /* waiter is its first member */
    sd_bus_message *call = waiting->call.message;

    if (problem != NULL)
        peer_call_fail(&waiting->call, BUS_ERROR_INVALID_CONFIG, problem);
    else if (call != NULL && sd_bus_reply_method_return(call, NULL) < 0)
        peer_hang_up(waiting->call.peer); /* an error would say that nothing has changed */
    peer_call_end(&waiting->call);
    free(waiting);
}

static int run(struct slow_call *slow, struct error *why)
{
    struct read_call *call = (struct read_call *)slow;
    return slow->hooks->read_config(slow->hooks->context, &call->config, why);
}

static int answer(struct slow_call *slow, sd_bus_error *error)
{
    const struct read_call *call = (const struct read_call *)slow;
    const struct bus_hooks *hooks = slow->hooks;
    if (slow->result < 0)
        return peer_fail(error, BUS_ERROR_INVALID_CONFIG, slow->why.text);
    struct reload_call *waiting = calloc(1, sizeof *waiting);
    if (waiting == NULL)
        return -ENOMEM;
    waiting->waiter.done = on_reloaded;
    const int r = hooks->apply_config(hooks->context, &call->config, &waiting->waiter, &slow->why);
    if (r < 0) {
        free(waiting);
        return peer_fail(error, BUS_ERROR_INVALID_CONFIG, slow->why.text);
    }
    peer_call_begin(slow->peer, PEER_CALL_RELOAD, &waiting->call, slow->message);
    if (r == 0)
        on_reloaded(&waiting->waiter, NULL);
    return 1; /* the reply is sent here or later */
}

static void finish(struct slow_call *slow)
{
    const struct read_call *call = (const struct read_call *)slow;
    if (slow->result == 0)
        config_drop_filters(&call->config);
}

static int reload(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    static const struct slow_call_ops ops = {
        .is_change = true, .run = run, .answer = answer, .finish = finish};
    struct peer *peer = userdata;

    int r = peer_refuse_read_only(peer, error);
    if (r < 0)
        return r;
    if (peer->call[PEER_CALL_RELOAD] != NULL)
        return sd_bus_error_set(error, BUS_ERROR_BUSY,
                                "this client already waits for a reload: one at a time");
    struct read_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return -ENOMEM;
    log_info("user %u requested a reload", (unsigned)peer->uid);
    return slow_call_start(&call->call, &ops, peer, message);
}

#define METHOD SD_BUS_VTABLE_UNPRIVILEGED /* the socket's mode decides who may call */

/* clang-format off: one row a method */
static const sd_bus_vtable methods[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD_WITH_ARGS("SetFilter", SD_BUS_ARGS("s", chain), SD_BUS_RESULT("t", serial),
                            method_set_filter, METHOD),
    SD_BUS_METHOD_WITH_ARGS("EditFilter",
                            SD_BUS_ARGS("aas", changes, "t", based_on, "u", fade_frames),
                            SD_BUS_RESULT("t", serial), method_edit_filter, METHOD),
    SD_BUS_METHOD_WITH_ARGS("Save", SD_BUS_ARGS("as", keys), SD_BUS_RESULT("s", file, "b", changed),
                            method_save, METHOD),
    SD_BUS_METHOD_WITH_ARGS("AddOutput", SD_BUS_ARGS("a{ss}", values), SD_BUS_NO_RESULT,
                            method_add_output, METHOD),
    SD_BUS_METHOD_WITH_ARGS("RemoveOutput", SD_BUS_ARGS("s", name), SD_BUS_NO_RESULT,
                            method_remove_output, METHOD),
    SD_BUS_METHOD_WITH_ARGS("SetView", SD_BUS_ARGS("s", view), SD_BUS_RESULT("t", serial),
                            method_set_view, METHOD),
    SD_BUS_METHOD_WITH_ARGS("Reload", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, reload, METHOD),
    SD_BUS_METHOD_WITH_ARGS("Snapshot", SD_BUS_NO_ARGS,
                            SD_BUS_RESULT("h", before, "h", after, "a{sv}", format, "t", sequence),
                            method_snapshot, METHOD),
    SD_BUS_METHOD_WITH_ARGS("SnapshotAfter", SD_BUS_NO_ARGS,
                            SD_BUS_RESULT("h", after, "a{sv}", format, "t", sequence),
                            method_snapshot_after, METHOD),
    SD_BUS_METHOD_WITH_ARGS("ListControls", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", controls),
                            method_list_controls, METHOD),
    SD_BUS_METHOD_WITH_ARGS("SetControls", SD_BUS_ARGS("a{ss}", values), SD_BUS_NO_RESULT,
                            method_set_controls, METHOD),
    SD_BUS_METHOD_WITH_ARGS("GetStats", SD_BUS_NO_ARGS, SD_BUS_RESULT("a{sv}", stats),
                            method_get_stats, METHOD),
    SD_BUS_METHOD_WITH_ARGS("Tune", SD_BUS_ARGS("s", depth), SD_BUS_NO_RESULT, method_tune, METHOD),
    SD_BUS_METHOD_WITH_ARGS("StopTuning", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, method_stop_tuning,
                            METHOD),
    SD_BUS_METHOD_WITH_ARGS("GetTuning", SD_BUS_NO_ARGS, SD_BUS_RESULT("a{sv}", tuning),
                            method_get_tuning, METHOD),
    SD_BUS_METHOD_WITH_ARGS("ListFilters", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", kinds),
                            method_list_filters, METHOD),
    SD_BUS_METHOD_WITH_ARGS("ListPresets", SD_BUS_NO_ARGS, SD_BUS_RESULT("as", names),
                            method_list_presets, METHOD),
    SD_BUS_METHOD_WITH_ARGS("GetPreset", SD_BUS_ARGS("s", name),
                            SD_BUS_RESULT("s", summary, "s", chain, "s", problem),
                            method_get_preset, METHOD),
    SD_BUS_METHOD_WITH_ARGS("GetResponse", SD_BUS_ARGS("s", chain, "ad", fx, "ad", fy),
                            SD_BUS_RESULT("ad", magnitudes), method_get_response, METHOD),
    SD_BUS_VTABLE_END,
};
/* clang-format on */

int object_add_output(struct peer *peer, unsigned output)
{
    char path[OBJECT_PATH_BYTES];
    struct peer_object *object = &peer->object[output];
    peer_object_path(peer, output, path);
    const int r = properties_add(&object->properties, peer, path);
    return r < 0 ? r
                 : sd_bus_add_object_vtable(peer->bus, &object->methods, path, OBJECT_INTERFACE,
                                            methods, peer);
}

void object_remove_output(struct peer *peer, unsigned output)
{
    struct peer_object *object = &peer->object[output];
    object->methods = sd_bus_slot_unref(object->methods);
    object->properties = sd_bus_slot_unref(object->properties);
}

int object_add(struct peer *peer)
{
    int r = 0;
    for (unsigned i = 0; r >= 0 && i < CONFIG_MAX_OUTPUTS; i++)
        if (config_has_output(peer->services->hooks.config, i))
            r = object_add_output(peer, i);
    return r;
}
