/* The object's interface and the methods that change the filter. A change reads the wanted chain,
 * edits a copy, checks it and hands it over whole: what fails changes nothing, and since all this
 * happens in the main thread, two clients never edit the same chain at once.
 *
 * A stage is named by its number in the chain, counting from 1, or by its kind where only one stage
 * is of that kind. */
#include "control_private.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/text.h"
#include "log.h"

int control_fail(sd_bus_error *error, const char *name, const char *text)
{
    char clean[CONTROL_TEXT_BYTES];
    return sd_bus_error_set(error, name, control_text(clean, text));
}

int control_refuse_watcher(const struct peer *peer, sd_bus_error *error)
{
    if (!peer->read_only)
        return 0;
    return sd_bus_error_setf(error, SD_BUS_ERROR_ACCESS_DENIED,
                             "this socket is for watching only: what changes something must come "
                             "through %s/control",
                             peer->control->hooks.config->runtime_dir);
}

static void tell_filter(struct control *control)
{
    static const char *const names[] = {"Filter", "FilterStages", "FilterProblem", "Serial", NULL};
    control_emit(control, names);
}

/* Hands a checked chain over and answers with its serial. */
static int change_filter(struct peer *peer, const struct filter_chain *chain, sd_bus_message *call,
                         sd_bus_error *error)
{
    struct error why;
    uint64_t serial;
    char text[FILTER_TEXT_BYTES];

    if (camera_set_filter(peer->control->hooks.camera, chain, &serial, &why) < 0)
        return control_fail(error, CONTROL_ERROR_FAILED, why.text);
    filter_chain_print(chain, text, sizeof text);
    log_info("filter %" PRIu64 " by user %u: %s", serial, (unsigned)peer->uid, text);
    int r = sd_bus_reply_method_return(call, "t", serial);
    tell_filter(peer->control);
    return r;
}

static int set_filter(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    struct filter_chain chain;
    struct error why;
    const char *text;

    int r = control_refuse_watcher(peer, error);
    if (r < 0 || (r = sd_bus_message_read(call, "s", &text)) < 0)
        return r;
    if (config_filter(&chain, text, &why) < 0)
        return control_fail(error, CONTROL_ERROR_INVALID_FILTER, why.text);
    return change_filter(peer, &chain, call, error);
}

static int add_stage(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    struct filter_chain chain;
    struct filter_stage stage;
    struct error why;
    const char *text;
    uint32_t position;

    int r = control_refuse_watcher(peer, error);
    if (r < 0 || (r = sd_bus_message_read(call, "su", &text, &position)) < 0)
        return r;
    if (filter_stage_parse(&stage, text, &why) < 0)
        return control_fail(error, CONTROL_ERROR_INVALID_FILTER, why.text);
    camera_get_filter(peer->control->hooks.camera, &chain);
    if (chain.count == FILTER_MAX_STAGES)
        return sd_bus_error_setf(error, CONTROL_ERROR_INVALID_FILTER,
                                 "the chain is full: it has %u stages", FILTER_MAX_STAGES);
    if (position > chain.count + 1)
        return sd_bus_error_setf(error, CONTROL_ERROR_INVALID_FILTER,
                                 "position %u is out of range: expected 1 .. %u, or 0 for the end",
                                 position, chain.count + 1);
    unsigned place = position == 0 ? chain.count : position - 1;
    memmove(&chain.stage[place + 1], &chain.stage[place],
            (chain.count - place) * sizeof chain.stage[0]);
    chain.stage[place] = stage;
    chain.count++;
    return change_filter(peer, &chain, call, error);
}

static int number_of_kind(const struct filter_chain *chain, const char *name, unsigned *ret,
                          sd_bus_error *error)
{
    char quoted[TEXT_QUOTE_BYTES], chain_text[FILTER_TEXT_BYTES];
    unsigned found = 0;
    for (unsigned i = 0; i < chain->count; i++)
        if (strcmp(chain->stage[i].kind->name, name) == 0 && found++ == 0)
            *ret = i;
    if (found == 1)
        return 0;
    if (found > 1)
        return sd_bus_error_setf(error, CONTROL_ERROR_NO_SUCH_STAGE,
                                 "%u stages are of kind %s: name one by its number, 1 .. %u", found,
                                 name, chain->count);
    filter_chain_print(chain, chain_text, sizeof chain_text);
    return sd_bus_error_setf(error, CONTROL_ERROR_NO_SUCH_STAGE,
                             "there is no stage %s in the chain: it is %.300s",
                             text_quote(quoted, name), chain_text);
}

static int find_stage(const struct filter_chain *chain, const char *name, unsigned *ret,
                      sd_bus_error *error)
{
    double number;
    if (text_to_number(&number, name) < 0)
        return number_of_kind(chain, name, ret, error);
    for (unsigned i = 0; i < chain->count; i++)
        if (number == i + 1) {
            *ret = i;
            return 0;
        }
    if (chain->count == 0)
        return sd_bus_error_setf(error, CONTROL_ERROR_NO_SUCH_STAGE,
                                 "there is no stage %g: the chain is empty", number);
    return sd_bus_error_setf(error, CONTROL_ERROR_NO_SUCH_STAGE,
                             "there is no stage %g: expected 1 .. %u", number, chain->count);
}

static int remove_stage(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    struct filter_chain chain;
    const char *name;
    unsigned at = 0;

    int r = control_refuse_watcher(peer, error);
    if (r < 0 || (r = sd_bus_message_read(call, "s", &name)) < 0)
        return r;
    camera_get_filter(peer->control->hooks.camera, &chain);
    r = find_stage(&chain, name, &at, error);
    if (r < 0)
        return r;
    chain.count--;
    memmove(&chain.stage[at], &chain.stage[at + 1], (chain.count - at) * sizeof chain.stage[0]);
    return change_filter(peer, &chain, call, error);
}

static int set_parameter(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    struct filter_chain chain;
    struct error why;
    const char *name, *param, *value;
    unsigned at = 0;

    int r = control_refuse_watcher(peer, error);
    if (r < 0 || (r = sd_bus_message_read(call, "sss", &name, &param, &value)) < 0)
        return r;
    camera_get_filter(peer->control->hooks.camera, &chain);
    r = find_stage(&chain, name, &at, error);
    if (r < 0)
        return r;
    if (filter_stage_set(&chain.stage[at], param, value, &why) < 0 ||
        filter_stage_check(&chain.stage[at], &why) < 0)
        return control_fail(error, CONTROL_ERROR_INVALID_FILTER, why.text);
    return change_filter(peer, &chain, call, error);
}

static int reload(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    struct error why;

    int r = control_refuse_watcher(peer, error);
    if (r < 0)
        return r;
    log_info("reload asked for by user %u", (unsigned)peer->uid);
    if (peer->control->hooks.reload(peer->control->hooks.context, &why) < 0)
        return control_fail(error, CONTROL_ERROR_INVALID_CONFIG, why.text);
    r = sd_bus_reply_method_return(call, NULL);
    tell_filter(peer->control);
    return r;
}

/* Begins a search for faster settings, or ends it. */
static int tune(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    struct camera *camera = peer->control->hooks.camera;
    struct error why;
    char quoted[TEXT_QUOTE_BYTES];
    const char *depth;

    int r = control_refuse_watcher(peer, error);
    if (r < 0 || (r = sd_bus_message_read(call, "s", &depth)) < 0)
        return r;
    const bool exhaustive = strcmp(depth, "exhaustive") == 0;
    if (!exhaustive && strcmp(depth, "quick") != 0)
        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                 "%s: expected quick or exhaustive", text_quote(quoted, depth));
    r = camera_tune(camera, exhaustive, &why);
    if (r < 0)
        return control_fail(error, CONTROL_ERROR_BUSY, why.text);
    log_info("%s search for faster settings asked for by user %u", depth, (unsigned)peer->uid);
    return sd_bus_reply_method_return(call, NULL);
}

static int stop_tuning(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    const int r = control_refuse_watcher(peer, error);
    if (r < 0)
        return r;
    camera_stop_tuning(peer->control->hooks.camera);
    return sd_bus_reply_method_return(call, NULL);
}

#define CONSTANT SD_BUS_VTABLE_PROPERTY_CONST
#define CHANGES  SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE
#define METHOD   SD_BUS_VTABLE_UNPRIVILEGED /* the socket's mode has decided who may call */

/* clang-format off: one interface, one table */
static const sd_bus_vtable vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("Name", "s", control_get, 0, CONSTANT),
    SD_BUS_PROPERTY("Version", "s", control_get, 0, CONSTANT),
    SD_BUS_PROPERTY("Source", "s", control_get, 0, CHANGES),
    SD_BUS_PROPERTY("State", "s", control_get, 0, CHANGES),
    SD_BUS_PROPERTY("StateReason", "s", control_get, 0, CHANGES),
    SD_BUS_PROPERTY("SourceDescription", "s", control_get, 0, CHANGES),
    SD_BUS_PROPERTY("Device", "s", control_get, 0, CHANGES),
    SD_BUS_PROPERTY("DeviceMemory", "s", control_get, 0, CONSTANT),
    SD_BUS_PROPERTY("Input", "s", control_get, 0, CHANGES),
    SD_BUS_PROPERTY("Engine", "s", control_get, 0, CHANGES),
    SD_BUS_PROPERTY("Format", "a{sv}", control_get, 0, CHANGES),
    SD_BUS_PROPERTY("Generation", "u", control_get, 0, CHANGES),
    SD_BUS_PROPERTY("Filter", "s", control_get, 0, CHANGES),
    SD_BUS_PROPERTY("FilterStages", "aa{sv}", control_get, 0, CHANGES),
    SD_BUS_PROPERTY("FilterProblem", "s", control_get, 0, CHANGES),
    SD_BUS_PROPERTY("Serial", "t", control_get, 0, CHANGES),
    SD_BUS_PROPERTY("PublishedSerial", "t", control_get, 0, CHANGES),
    SD_BUS_PROPERTY("Sequence", "t", control_get, 0, 0),
    SD_BUS_PROPERTY("Rate", "d", control_get, 0, 0),
    SD_BUS_PROPERTY("Clients", "u", control_get, 0, 0),
    SD_BUS_PROPERTY("Counters", "a{st}", control_get, 0, 0),
    SD_BUS_PROPERTY("Latency", "a{sa{st}}", control_get, 0, 0),
    SD_BUS_PROPERTY("LatencyHistograms", "a{s(tta(tt))}", control_get, 0, 0),

    SD_BUS_METHOD_WITH_ARGS("SetFilter", SD_BUS_ARGS("s", chain), SD_BUS_RESULT("t", serial),
                            set_filter, METHOD),
    SD_BUS_METHOD_WITH_ARGS("AddStage", SD_BUS_ARGS("s", stage, "u", position),
                            SD_BUS_RESULT("t", serial), add_stage, METHOD),
    SD_BUS_METHOD_WITH_ARGS("RemoveStage", SD_BUS_ARGS("s", stage), SD_BUS_RESULT("t", serial),
                            remove_stage, METHOD),
    SD_BUS_METHOD_WITH_ARGS("SetParameter", SD_BUS_ARGS("s", stage, "s", parameter, "s", value),
                            SD_BUS_RESULT("t", serial), set_parameter, METHOD),
    SD_BUS_METHOD_WITH_ARGS("Reload", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, reload, METHOD),
    SD_BUS_METHOD_WITH_ARGS("Snapshot", SD_BUS_NO_ARGS,
                            SD_BUS_RESULT("h", before, "h", after, "a{sv}", format, "t", sequence),
                            control_snapshot, METHOD),
    SD_BUS_METHOD_WITH_ARGS("ListControls", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", controls),
                            control_list_controls, METHOD),
    SD_BUS_METHOD_WITH_ARGS("SetControls", SD_BUS_ARGS("a{ss}", values), SD_BUS_NO_RESULT,
                            control_set_controls, METHOD),
    SD_BUS_METHOD_WITH_ARGS("GetStats", SD_BUS_NO_ARGS, SD_BUS_RESULT("a{sv}", stats),
                            control_get_stats, METHOD),
    SD_BUS_METHOD_WITH_ARGS("Tune", SD_BUS_ARGS("s", depth), SD_BUS_NO_RESULT, tune, METHOD),
    SD_BUS_METHOD_WITH_ARGS("StopTuning", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, stop_tuning, METHOD),
    SD_BUS_METHOD_WITH_ARGS("GetTuning", SD_BUS_NO_ARGS, SD_BUS_RESULT("a{sv}", tuning),
                            control_get_tuning, METHOD),
    SD_BUS_METHOD_WITH_ARGS("ListFilters", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", kinds),
                            control_list_filters, METHOD),
    SD_BUS_VTABLE_END,
};
/* clang-format on */

int control_object_add(struct peer *peer)
{
    return sd_bus_add_object_vtable(peer->bus, NULL, CONTROL_PATH, CONTROL_INTERFACE, vtable, peer);
}
