/* Implements `view`: shows or changes what is published of the filtered frames. */
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "daemon.h"
#include "change.h"
#include "commands.h"

static int show(const struct ctl *ctl, sd_bus *bus)
{
    struct json json = {.file = stdout};
    sd_bus_message *properties = NULL;
    int code = daemon_get_all(ctl, bus, &properties);
    if (code != 0)
        return code;
    const char *view = bus_text(properties, "View");
    const char *published = bus_text(properties, "PublishedView");
    if (ctl->json) {
        json_open(&json, NULL, '{');
        json_text(&json, "View", view);
        json_text(&json, "PublishedView", published);
        json_close(&json, '}');
    } else if (strcmp(view, published) == 0) {
        puts(view);
    } else {
        printf("%s (%s is being prepared)\n", published, view);
    }
    code = ctl_finish(ctl);
    sd_bus_message_unref(properties);
    return code;
}

static int change(const struct ctl *ctl, sd_bus *bus)
{
    sd_bus_message *reply = NULL;
    const uint64_t begin_us = clock_now_us();
    int code = daemon_call(ctl, bus, &reply, "SetView", "s", ctl->argv[0]);
    if (code == 0)
        code = change_print_serial(ctl, bus, reply, begin_us);
    sd_bus_message_unref(reply);
    return code;
}

int command_view(const struct ctl *ctl)
{
    sd_bus *bus = NULL;
    int code = daemon_open(ctl, &bus);
    if (code == 0)
        code = ctl->argc > 0 ? change(ctl, bus) : show(ctl, bus);
    sd_bus_unref(bus);
    return code;
}
