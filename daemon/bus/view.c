/* SetView, which chooses what is published instead of the filtered picture. */
#include "bus/methods.h"

#include <stdio.h>

int method_set_view(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    struct error why;
    enum view_kind view;
    const char *name;

    int r = peer_refuse_read_only(peer, error);
    if (r < 0 || (r = sd_bus_message_read(call, "s", &name)) < 0)
        return r;
    if (view_from_name(&view, name, &why) < 0)
        return peer_fail(error, BUS_ERROR_INVALID_VIEW, why.text);
    const unsigned output = peer_output_of(peer, call);
    if (config_check_view(peer->services->hooks.config, output, view, &why) < 0)
        return peer_fail(error, BUS_ERROR_INVALID_VIEW, why.text);
    const uint64_t serial = camera_set_view(peer->services->hooks.camera, output, view);
    char text[64];
    snprintf(text, sizeof text, "the view is %s", view_names[view]);
    method_log_change(peer, output, serial, text);
    return method_answer_change(peer, call, serial);
}
