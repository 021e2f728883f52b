/* The object's methods and properties, by file. Functions method_* are callbacks of sd-bus's
 * tables, where userdata is the struct peer, unless a comment says otherwise. */
#ifndef FFTD_BUS_METHODS_H
#define FFTD_BUS_METHODS_H

#include "bus/peer.h"

/* ---- object.c ---- */

/* Puts the methods and the properties of all outputs onto a connection. Returns what sd-bus
 * returns. */
int object_add(struct peer *peer);

/* Puts those of one output onto a connection, as object_add does; and takes them away. */
int object_add_output(struct peer *peer, unsigned output);
void object_remove_output(struct peer *peer, unsigned output);

/* ---- message_bus.c ---- */

/* Puts the object of a message bus onto a connection. Returns what sd-bus returns. */
int message_bus_add(struct peer *peer);

/* ---- properties.c ---- */

/* Puts the properties of the object at this path onto a connection. Returns what sd-bus returns. */
int properties_add(sd_bus_slot **ret, struct peer *peer, const char *path);

/* Makes an output's PropertiesChanged with the values of these properties; names ends with NULL.
 * Any number of peers may be sent the same message. Returns what sd-bus returns. */
int properties_make_signal(sd_bus_message **ret, struct peer *peer, unsigned output,
                           const char *const *names);
int method_get_stats(sd_bus_message *call, void *userdata, sd_bus_error *error);

/* ---- kinds.c ---- */
int method_list_filters(sd_bus_message *call, void *userdata, sd_bus_error *error);
int method_list_presets(sd_bus_message *call, void *userdata, sd_bus_error *error);
int method_get_preset(sd_bus_message *message, void *userdata, sd_bus_error *error);

/* ---- response.c ---- */
int method_get_response(sd_bus_message *message, void *userdata, sd_bus_error *error);

/* ---- filter.c ---- */
int method_set_filter(sd_bus_message *message, void *userdata, sd_bus_error *error);
int method_edit_filter(sd_bus_message *message, void *userdata, sd_bus_error *error);
int method_set_view(sd_bus_message *call, void *userdata, sd_bus_error *error);

/* Announces to all peers that an output's chain or view has changed. */
void method_emit_filter(const struct peer_services *services, unsigned output);

/* ---- save.c ---- */
int method_save(sd_bus_message *message, void *userdata, sd_bus_error *error);

/* ---- outputs.c ---- */
int method_add_output(sd_bus_message *message, void *userdata, sd_bus_error *error);
int method_remove_output(sd_bus_message *message, void *userdata, sd_bus_error *error);

/* ---- tune.c ---- */
int method_tune(sd_bus_message *call, void *userdata, sd_bus_error *error);
int method_stop_tuning(sd_bus_message *call, void *userdata, sd_bus_error *error);
int method_get_tuning(sd_bus_message *call, void *userdata, sd_bus_error *error);

/* ---- controls.c ---- */
int method_list_controls(sd_bus_message *call, void *userdata, sd_bus_error *error);
int method_set_controls(sd_bus_message *call, void *userdata, sd_bus_error *error);

/* ---- snapshot.c ---- */
int method_snapshot(sd_bus_message *call, void *userdata, sd_bus_error *error);
int method_snapshot_after(sd_bus_message *call, void *userdata, sd_bus_error *error);

/* Fails the peer's snapshot if it waits for one of this output. */
void snapshot_fail(struct peer *peer, unsigned output, const char *name, const char *text);

#endif
