/* ListFilters returns the kinds of filter stages with their parameters, from which clients print
 * help and draw sliders. ListPresets returns the names that preset:NAME may have, and GetPreset
 * what one is for, and its chain. A worker carries that out, because it reads files. */
#include "bus/methods.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bus/slow_call.h"
#include "bus/value.h"
#include "config/preset.h"
#include "filters/filter_value.h"

/* Appends the range or the choices of a parameter as values; `expected` writes them as text. */
static int append_limits(sd_bus_message *reply, const struct filter_param *param)
{
    if (filter_value_has_range(param))
        return sd_bus_message_append(reply, "{sv}{sv}", "minimum", "d", param->min, "maximum", "d",
                                     param->max);
    if (param->type != FILTER_CHOICE)
        return 0;
    sd_bus_message_open_container(reply, 'e', "sv");
    sd_bus_message_append(reply, "s", "choices");
    sd_bus_message_open_container(reply, 'v', "as");
    sd_bus_message_append_strv(reply, (char **)param->choices);
    return value_close_containers(reply, 2);
}

static int append_param_help(sd_bus_message *reply, const struct filter_param *param)
{
    char limits[FILTER_EXPECTS_BYTES], value[FILTER_INITIAL_BYTES];
    filter_value_limits(limits, param);
    filter_value_initial(value, param);
    sd_bus_message_open_container(reply, 'a', "{sv}");
    sd_bus_message_append(reply, "{sv}{sv}{sv}{sv}{sv}{sv}{sv}", "name", "s", param->name,
                          "summary", "s", param->summary, "type", "s", filter_value_type(param),
                          "unit", "s", param->unit != NULL ? param->unit : "", "required", "b",
                          (int)param->required, "expected", "s", limits, "default", "s", value);
    append_limits(reply, param);
    return sd_bus_message_close_container(reply);
}

static int append_kind_help(sd_bus_message *reply, const struct filter_kind *kind)
{
    sd_bus_message_open_container(reply, 'a', "{sv}");
    sd_bus_message_append(reply, "{sv}{sv}{sv}{sv}{sv}", "name", "s", kind->name, "group", "s",
                          kind->group, "summary", "s", kind->summary, "formula", "s", kind->formula,
                          "example", "s", kind->example);
    value_open_array(reply, "parameters", "a{sv}");
    for (unsigned i = 0; i < filter_param_count(kind); i++)
        append_param_help(reply, &kind->param[i]);
    return value_close_containers(reply, 4);
}

int method_list_filters(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    sd_bus_message *reply = NULL;
    unsigned count;
    const struct filter_kind *const *kinds = filter_kinds(&count);
    (void)userdata, (void)error;

    value_begin_reply(&reply, call, "a{sv}");
    for (unsigned i = 0; i < count; i++)
        append_kind_help(reply, kinds[i]);
    return value_send_reply(reply);
}

static void append_preset(void *reply, const char *name)
{
    sd_bus_message_append(reply, "s", name);
}

int method_list_presets(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    sd_bus_message *reply = NULL;
    (void)userdata, (void)error;

    value_begin_reply(&reply, call, "s");
    config_list_presets(append_preset, reply);
    return value_send_reply(reply);
}

/* ---- one preset ---- */

/* The name is in the message. */
struct preset_call {
    struct slow_call call;
    const char *name;
    char summary[CONFIG_SUMMARY_BYTES];
    char text[FILTER_TEXT_BYTES];
};

static int run_get_preset(struct slow_call *slow, struct error *why)
{
    struct preset_call *call = (struct preset_call *)slow;
    struct filter_chain chain;
    const int r = config_load_preset(&chain, call->summary, call->name, why);
    if (r == 0)
        filter_chain_print(&chain, call->text, sizeof call->text);
    return r;
}

static int answer_preset(struct slow_call *slow, sd_bus_error *error)
{
    const struct preset_call *call = (const struct preset_call *)slow;
    sd_bus_message *reply = NULL;
    if (slow->result == -ENOENT)
        return peer_fail(error, BUS_ERROR_INVALID_FILTER, slow->why.text);
    sd_bus_message_new_method_return(slow->message, &reply);
    value_append_text(reply, call->summary);
    sd_bus_message_append(reply, "s", call->text);
    value_append_text(reply, slow->result == 0 ? "" : slow->why.text);
    return value_send(reply);
}

int method_get_preset(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    static const struct slow_call_ops ops = {.run = run_get_preset, .answer = answer_preset};
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
