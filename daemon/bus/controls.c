/* ListControls and SetControls, for the camera's own controls. Only the camera's thread talks to
 * the camera, so a callback answers these calls later. It is called exactly once and frees the
 * record of the call. A peer may wait for one such call at a time. */
#include "bus/methods.h"

#include <errno.h>
#include <stdlib.h>

#include "bus/value.h"
#include "service/log.h"

struct controls_call {
    struct peer_call call;
    struct settings settings; /* that SetControls sets; empty for ListControls */
};

static const char *error_name(int result)
{
    switch (-result) {
    case EINVAL:
        return BUS_ERROR_INVALID_CONTROL;
    case EOPNOTSUPP:
        return SD_BUS_ERROR_NOT_SUPPORTED;
    case ENODEV:
    case ECANCELED:
        return BUS_ERROR_NOT_ONLINE;
    case EBUSY:
        return BUS_ERROR_BUSY;
    default:
        return BUS_ERROR_FAILED;
    }
}

static int append_menu(sd_bus_message *reply, const struct capture_control *control)
{
    value_open_array(reply, "menu", "(xs)");
    for (unsigned i = 0; i < control->entry_count; i++) {
        char clean[VALUE_TEXT_BYTES];
        sd_bus_message_append(reply, "(xs)", control->entry[i].value,
                              value_clean_text(clean, control->entry[i].name));
    }
    return value_close_containers(reply, 3);
}

static int append_value(sd_bus_message *reply, const struct capture_control *control)
{
    if (!control->has_value)
        return 0;
    if (control->type == CAPTURE_TEXT)
        return value_append_named_text(reply, "value", control->text);
    if (control->type == CAPTURE_BOOLEAN)
        return sd_bus_message_append(reply, "{sv}", "value", "b", control->value != 0);
    return sd_bus_message_append(reply, "{sv}", "value", "x", control->value);
}

static int append_control(sd_bus_message *reply, const struct capture_control *control)
{
    char clean[VALUE_TEXT_BYTES];
    sd_bus_message_open_container(reply, 'a', "{sv}");
    sd_bus_message_append(reply, "{sv}{sv}{sv}{sv}{sv}{sv}{sv}{sv}{sv}", "name", "s", control->name,
                          "label", "s", value_clean_text(clean, control->label), "type", "s",
                          capture_control_type_names[control->type], "minimum", "x",
                          control->minimum, "maximum", "x", control->maximum, "step", "x",
                          control->step, "default", "x", control->initial, "read_only", "b",
                          (int)control->read_only, "inactive", "b", (int)control->inactive);
    append_value(reply, control);
    if (control->type == CAPTURE_MENU)
        append_menu(reply, control);
    return sd_bus_message_close_container(reply);
}

static int answer_list(sd_bus_message *call, const struct capture_controls *controls)
{
    sd_bus_message *reply = NULL;
    value_begin_reply(&reply, call, "a{sv}");
    for (unsigned i = 0; i < controls->count; i++)
        append_control(reply, &controls->control[i]);
    return value_send_reply(reply);
}

/* controls: the list; NULL: they were set. */
static void answer(const struct controls_call *call, const struct capture_controls *controls)
{
    if (controls == NULL) {
        char text[SETTINGS_TEXT_BYTES];
        settings_print(&call->settings, text, sizeof text);
        log_info("user %u set camera controls: %s", (unsigned)call->call.peer->uid, text);
        sd_bus_reply_method_return(call->call.message, NULL);
    } else if (answer_list(call->call.message, controls) < 0) {
        peer_call_fail(&call->call, BUS_ERROR_FAILED, "cannot send the list of controls");
    }
}

static void on_answer(void *context, int result, const char *why,
                      const struct capture_controls *controls)
{
    struct controls_call *call = context;
    if (result < 0)
        peer_call_fail(&call->call, error_name(result), why);
    else if (call->call.message != NULL) /* the caller is still there */
        answer(call, controls);
    peer_call_end(&call->call);
    free(call);
}

/* Asks the camera for the list, or to set `settings`. */
static int request(sd_bus_message *message, struct peer *peer, const struct settings *settings,
                   sd_bus_error *error)
{
    struct camera *camera = peer->services->hooks.camera;
    if (peer->call[PEER_CALL_CONTROLS] != NULL)
        return sd_bus_error_set(error, BUS_ERROR_BUSY,
                                "this client already waits for a call about controls: one at a "
                                "time");
    struct controls_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return -ENOMEM;
    if (settings != NULL)
        call->settings = *settings;
    int r = camera_ask_controls(camera, settings, on_answer, call);
    if (r < 0) {
        free(call);
        return r;
    }
    peer_call_begin(peer, PEER_CALL_CONTROLS, &call->call, message);
    return 1; /* answered later */
}

int method_list_controls(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    return request(call, userdata, NULL, error);
}

int method_set_controls(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    struct settings settings = {.count = 0};
    struct error why;
    const char *name, *value;

    int r = peer_refuse_read_only(peer, error);
    if (r < 0 || (r = sd_bus_message_enter_container(call, 'a', "{ss}")) < 0)
        return r;
    while ((r = sd_bus_message_read(call, "{ss}", &name, &value)) > 0)
        if (settings_put(&settings, name, value, &why) < 0)
            return peer_fail(error, BUS_ERROR_INVALID_CONTROL, why.text);
    if (r < 0 || (r = sd_bus_message_exit_container(call)) < 0)
        return r;
    return request(call, peer, &settings, error);
}
