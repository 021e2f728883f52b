/* ListFilters returns the kinds of filter stages with their parameters, from which clients print
 * help and draw sliders. ListPresets returns the names that preset:NAME may have. */
#include "bus/methods.h"

#include "config/preset.h"
#include "bus/value.h"
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
