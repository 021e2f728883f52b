/* GetPreset returns what a preset is for, and its chain, for clients that let users choose one. It
 * changes nothing, so watchers may call it. A worker carries it out, because it reads files. */
#include "bus/methods.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bus/slow_call.h"
#include "bus/value.h"
#include "config/preset.h"

/* The name is in the message. */
struct preset_call {
    struct slow_call call;
    const char *name;
    int result; /* 0, or why the chain could not be read: -errno */
    struct error why;
    char summary[CONFIG_SUMMARY_BYTES];
    char text[FILTER_TEXT_BYTES];
};

static void run(struct slow_call *slow)
{
    struct preset_call *call = (struct preset_call *)slow;
    struct filter_chain chain;
    call->result = config_load_preset(&chain, call->summary, call->name, &call->why);
    if (call->result == 0)
        filter_chain_print(&chain, call->text, sizeof call->text);
}

static int answer(struct slow_call *slow, sd_bus_error *error)
{
    const struct preset_call *call = (const struct preset_call *)slow;
    sd_bus_message *reply = NULL;
    if (call->result == -ENOENT)
        return peer_fail(error, BUS_ERROR_INVALID_FILTER, call->why.text);
    sd_bus_message_new_method_return(slow->message, &reply);
    value_append_text(reply, call->summary);
    sd_bus_message_append(reply, "s", call->text);
    value_append_text(reply, call->result == 0 ? "" : call->why.text);
    return value_send(reply);
}

int method_get_preset(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    static const struct slow_call_ops ops = {.run = run, .answer = answer};
    const char *name;
    int r = sd_bus_message_read(message, "s", &name);
    if (r < 0)
        return r;
    if (!config_is_name(name) || strlen(name) > NAME_MAX)
        return sd_bus_error_set(
            error, SD_BUS_ERROR_INVALID_ARGS,
            "expected the name of a preset: at most 255 letters, digits, _ and -");
    struct preset_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return -ENOMEM;
    call->name = name;
    return slow_call_start(&call->call, &ops, userdata, message);
}
