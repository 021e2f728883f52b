/* The client's end of a control socket: connects, calls, and reads replies. Nothing is printed.
 *
 * Functions that return an int return 0 or -errno, unless stated otherwise. The daemon is not
 * trusted: a text may contain control characters, and a reply may have any contents. */
#ifndef FFTD_COMMON_BUS_H
#define FFTD_COMMON_BUS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-bus.h>

#include "json.h"

#define BUS_INTERFACE  "org.fftd.Camera1"
#define BUS_PROPERTIES "org.freedesktop.DBus.Properties"

/* Returns the name of the output whose directory, or whose object's path, this is; "": it is a
 * daemon's. */
const char *bus_output(const char *place);

/* Writes the runtime directory of the daemon that a directory belongs to, which may be an
 * output's. -ENAMETOOLONG. */
int bus_daemon_dir(const char *dir, char ret[PATH_MAX]);

/* Connects to the control socket of this name of the daemon whose runtime directory dir is. That of
 * an output (fftd_runtime_dir of "front:small") leads to the same socket and to the output's
 * object. A success does not mean that the daemon serves the connection. */
int bus_connect(sd_bus **ret, const char *dir, const char *socket_name);

/* Waits until the daemon serves the connection, and limits this and each later call to that time;
 * 0: to sd-bus's default, 25 s. Without it the first call would wait for a minute and a half, as
 * would flushing. After a failure the bus can only be closed, without flushing. -ETIMEDOUT. */
int bus_await(sd_bus *bus, uint64_t patience_us);

/* The path of the object that the connection was made for. The text belongs to the connection. */
const char *bus_path(sd_bus *bus);

/* Creates a call of a method of the object, without arguments. The caller unrefs *ret. */
int bus_new_call(sd_bus *bus, sd_bus_message **ret, const char *method);

/* Gets all properties, as an a{sv}. The caller unrefs *ret. */
int bus_get_all(sd_bus *bus, sd_bus_message **ret);

/* Finds a key in the a{sv} at the beginning of the message, and enters its variant, which must have
 * these contents; NULL: any. Returns whether it was found. The caller reads the value and need not
 * leave the variant, because the next bus_find starts from the beginning. */
bool bus_find(sd_bus_message *message, const char *key, const char *contents);

/* Does the same for an array or dictionary of this type ("as", "a{st}"), and enters it, so that the
 * caller reads its entries. */
bool bus_find_entries(sd_bus_message *message, const char *key, const char *type);

/* Enters the next dictionary, whose entries have this signature ("sv", "st"), up to the value of a
 * key. Returns whether it was found. */
bool bus_enter(sd_bus_message *message, const char *entry, const char *key);

/* An entry of an a{sv}: its key, the type of its basic value, and where to store that. */
struct bus_field {
    const char *key, *type;
    void *value;
};

/* Reads or skips the variant of an entry with this key. Returns a negative errno on failure. */
typedef int (*bus_read_other)(sd_bus_message *message, const char *key, void *context);

/* Reads the next a{sv} into the fields. An entry that is none of them goes to read_other; NULL: it
 * is skipped. Returns 1, 0 at the end of the container, or -errno. */
int bus_read_fields(sd_bus_message *message, const struct bus_field *fields, size_t count,
                    bus_read_other read_other, void *context);

/* Enters the next variant, whose value is an array of this type ("aa{sv}"), and the array, or
 * leaves both. Returns a negative errno on failure. */
int bus_enter_list(sd_bus_message *message, const char *type);
int bus_exit_list(sd_bus_message *message);

/* Return one simple value of the a{sv}; "", 0 or false: there is none. The text belongs to the
 * message. */
const char *bus_text(sd_bus_message *message, const char *key);
uint64_t bus_u64(sd_bus_message *message, const char *key);
uint32_t bus_u32(sd_bus_message *message, const char *key);
bool bus_bool(sd_bus_message *message, const char *key);
double bus_double(sd_bus_message *message, const char *key);

/* Returns one number of a dictionary (a{st}) in the a{sv}, as in
 * bus_counter(message, "Counters", "published"). */
uint64_t bus_counter(sd_bus_message *message, const char *key, const char *counter);

/* Returns one number of the dictionary "Measures" (a{sd}) in the a{sv}; NaN: there is none. */
double bus_measure(sd_bus_message *message, const char *measure);

/* Writes the next complete value of the message as JSON; dictionaries become objects. Returns a
 * negative errno on failure; the text written so far is then still complete JSON. -EBADMSG: the
 * value is nested too deeply. */
int bus_to_json(sd_bus_message *message, struct json *json, const char *key);

#endif
