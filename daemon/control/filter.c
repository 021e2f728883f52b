/* The methods that change the filter. A change copies the newest chain, edits and checks the
 * copy, and passes it to the camera as a whole. A change that fails therefore changes nothing. All
 * this happens in the main thread, so two clients never edit the same chain at once.
 *
 * A stage is named by its number in the chain, counting from 1, or by its kind if only one stage is
 * of that kind. */
#include "control/methods.h"

#include <inttypes.h>
#include <string.h>

#include "config/preset.h"
#include "core/text.h"
#include "service/log.h"

void control_emit_filter(const struct peer_services *services)
{
    static const char *const names[] = {"Filter", "FilterStages", "FilterProblem", "Serial", NULL};
    services->emit(services->context, names);
}

/* Passes a checked chain to the camera and answers with its serial. */
static int change_filter(struct peer *peer, const struct filter_chain *chain, sd_bus_message *call,
                         sd_bus_error *error)
{
    struct error why;
    uint64_t serial;
    char text[FILTER_TEXT_BYTES];

    if (camera_set_filter(peer->services->hooks.camera, chain, &serial, &why) < 0)
        return peer_fail(error, CONTROL_ERROR_FAILED, why.text);
    filter_chain_print(chain, text, sizeof text);
    log_info("filter %" PRIu64 " by user %u: %s", serial, (unsigned)peer->uid, text);
    if (sd_bus_reply_method_return(call, "t", serial) < 0)
        peer_hang_up(peer); /* an error would say that nothing has changed */
    control_emit_filter(peer->services);
    return 1;
}

int control_set_filter(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    struct filter_chain chain;
    struct error why;
    const char *text;

    int r = peer_refuse_read_only(peer, error);
    if (r < 0 || (r = sd_bus_message_read(call, "s", &text)) < 0)
        return r;
    if (config_filter(&chain, text, &why) < 0)
        return peer_fail(error, CONTROL_ERROR_INVALID_FILTER, why.text);
    return change_filter(peer, &chain, call, error);
}

int control_add_stage(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    struct filter_chain chain;
    struct filter_stage stage;
    struct error why;
    const char *text;
    uint32_t position;

    int r = peer_refuse_read_only(peer, error);
    if (r < 0 || (r = sd_bus_message_read(call, "su", &text, &position)) < 0)
        return r;
    if (filter_stage_parse(&stage, text, &why) < 0)
        return peer_fail(error, CONTROL_ERROR_INVALID_FILTER, why.text);
    camera_get_filter(peer->services->hooks.camera, &chain);
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
                             "the chain has no stage of kind %s: it is %.300s",
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

int control_remove_stage(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    struct filter_chain chain;
    const char *name;
    unsigned at = 0;

    int r = peer_refuse_read_only(peer, error);
    if (r < 0 || (r = sd_bus_message_read(call, "s", &name)) < 0)
        return r;
    camera_get_filter(peer->services->hooks.camera, &chain);
    r = find_stage(&chain, name, &at, error);
    if (r < 0)
        return r;
    chain.count--;
    memmove(&chain.stage[at], &chain.stage[at + 1], (chain.count - at) * sizeof chain.stage[0]);
    return change_filter(peer, &chain, call, error);
}

int control_set_parameter(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    struct filter_chain chain;
    struct error why;
    const char *name, *param, *value;
    unsigned at = 0;

    int r = peer_refuse_read_only(peer, error);
    if (r < 0 || (r = sd_bus_message_read(call, "sss", &name, &param, &value)) < 0)
        return r;
    camera_get_filter(peer->services->hooks.camera, &chain);
    r = find_stage(&chain, name, &at, error);
    if (r < 0)
        return r;
    if (filter_stage_set(&chain.stage[at], param, value, &why) < 0 ||
        filter_stage_check(&chain.stage[at], &why) < 0)
        return peer_fail(error, CONTROL_ERROR_INVALID_FILTER, why.text);
    return change_filter(peer, &chain, call, error);
}
