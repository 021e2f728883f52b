/* The part of org.freedesktop.DBus that clients of a message bus need. busctl, gdbus and the
 * D-Bus modules of most languages expect a bus with many programs, and begin with Hello. On the
 * control sockets there are two programs, so each connection is a bus of its own. The daemon owns
 * every name that is not a unique name, and sends all its signals without being asked. */
#include "bus/methods.h"

#define DBUS_PATH            "/org/freedesktop/DBus"
#define DBUS_INTERFACE       "org.freedesktop.DBus"
#define MONITORING_INTERFACE DBUS_INTERFACE ".Monitoring"
#define DAEMON_NAME          ":1.0" /* the unique names of the two ends of every connection */
#define PEER_NAME            ":1.1"
#define IS_THERE             2 /* StartServiceByName returns this for a service that runs already */

static int hello(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    (void)userdata, (void)error;
    return sd_bus_reply_method_return(call, "s", PEER_NAME);
}

/* All signals are sent to all peers, so there is nothing to match. */
static int accept_match(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    (void)userdata, (void)error;
    return sd_bus_reply_method_return(call, NULL);
}

static int get_name_owner(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    (void)userdata, (void)error;
    return sd_bus_reply_method_return(call, "s", DAEMON_NAME);
}

static int start_service(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    (void)userdata, (void)error;
    return sd_bus_reply_method_return(call, "u", IS_THERE);
}

/* A monitor shows nothing until it has lost its name. */
static int become_monitor(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    (void)error;
    int r = sd_bus_reply_method_return(call, NULL);
    if (r >= 0)
        r = sd_bus_emit_signal(peer->bus, DBUS_PATH, DBUS_INTERFACE, "NameLost", "s", PEER_NAME);
    return r < 0 ? r : 1;
}

#define METHOD SD_BUS_VTABLE_UNPRIVILEGED

static const sd_bus_vtable bus_vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Hello", NULL, "s", hello, METHOD),
    SD_BUS_METHOD("AddMatch", "s", NULL, accept_match, METHOD),
    SD_BUS_METHOD("RemoveMatch", "s", NULL, accept_match, METHOD),
    SD_BUS_METHOD("GetNameOwner", "s", "s", get_name_owner, METHOD),
    SD_BUS_METHOD("StartServiceByName", "su", "u", start_service, METHOD),
    SD_BUS_SIGNAL("NameLost", "s", 0),
    SD_BUS_VTABLE_END,
};

static const sd_bus_vtable monitoring_vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("BecomeMonitor", "asu", NULL, become_monitor, METHOD),
    SD_BUS_VTABLE_END,
};

int message_bus_add(struct peer *peer)
{
    int r = sd_bus_set_sender(peer->bus, DAEMON_NAME); /* clients select signals by their sender */
    if (r >= 0)
        r = sd_bus_add_object_vtable(peer->bus, NULL, DBUS_PATH, DBUS_INTERFACE, bus_vtable, peer);
    if (r >= 0)
        r = sd_bus_add_object_vtable(peer->bus, NULL, DBUS_PATH, MONITORING_INTERFACE,
                                     monitoring_vtable, peer);
    return r;
}
