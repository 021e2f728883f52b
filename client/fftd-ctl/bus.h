/* The client's end of the control socket. */
#ifndef FFTD_CTL_BUS_H
#define FFTD_CTL_BUS_H

#include <stdarg.h>

#include <systemd/sd-bus.h>

#include "ctl.h"
#include "json.h"

#define BUS_PATH        "/org/fftd/camera"
#define BUS_INTERFACE   "org.fftd.Camera1"

#define BUS_PATIENCE_US 2000000u /* of commands that go on without an answer, for each call */

/* Connects to one of the control sockets in dir, by its name. It is not yet known whether the
 * daemon serves it: the first call waits for that. 0 or -errno. */
int bus_connect(sd_bus **ret, const char *dir, const char *socket_name);

/* Connects to the daemon whose sockets are in dir: to `control`, or to `control-watch` if this user
 * may not use the first. The daemon refuses changes on the second. 0 or -errno. */
int bus_connect_any(sd_bus **ret, const char *dir);

/* Connects to the chosen daemon. This and the functions below print the reason of a failure, and
 * return 0 or an exit code. */
int bus_open(const struct ctl *ctl, sd_bus **ret);

/* For commands that wait for a daemon: prints nothing about one that cannot be reached, and lets
 * each call take at most BUS_PATIENCE_US. 0 or -errno. */
int bus_try_open(const struct ctl *ctl, sd_bus **ret);

/* The daemon is not trusted: all replies, but for --json, have clean texts (clean.h). */

/* Calls a method of the object, with arguments as for sd_bus_message_append. The caller unrefs
 * *ret. */
int bus_call(const struct ctl *ctl, sd_bus *bus, sd_bus_message **ret, const char *method,
             const char *types, ...);
int bus_callv(const struct ctl *ctl, sd_bus *bus, sd_bus_message **ret, const char *method,
              const char *types, va_list args);

/* Sends a message that the caller has built. The caller unrefs *ret. */
int bus_send(const struct ctl *ctl, sd_bus *bus, sd_bus_message *message, sd_bus_message **ret);

/* The same for GetStats, but prints nothing and returns 0 or -errno. */
int bus_try_get_stats(const struct ctl *ctl, sd_bus *bus, sd_bus_message **ret);

/* Gets all properties, as an a{sv}. The caller unrefs *ret. bus_get_all prints the reason of a
 * failure and returns 0 or an exit code; bus_try_get_all prints nothing and returns 0 or -errno. */
int bus_get_all(const struct ctl *ctl, sd_bus *bus, sd_bus_message **ret);
int bus_try_get_all(const struct ctl *ctl, sd_bus *bus, sd_bus_message **ret);

/* Finds a key in the a{sv} that the message begins with, and enters its variant, which must have
 * these contents. The caller reads the value and need not leave it: the next bus_find starts from
 * the beginning. Returns whether it was found. */
bool bus_find(sd_bus_message *message, const char *key, const char *contents);

/* Enters the dictionary that comes next, whose entries have this signature ("sv", "st"), up to the
 * value of a key. Returns whether it was found. */
bool bus_enter(sd_bus_message *message, const char *entry, const char *key);

/* Return one simple value of the a{sv}, "" or 0 if there is none. The text belongs to the message.
 */
const char *bus_text(sd_bus_message *message, const char *key);
uint64_t bus_u64(sd_bus_message *message, const char *key);
uint32_t bus_u32(sd_bus_message *message, const char *key);
double bus_double(sd_bus_message *message, const char *key);

/* Returns one number of a dictionary (a{st}) in the a{sv}, as in
 * bus_counter(message, "Counters", "published"). */
uint64_t bus_counter(sd_bus_message *message, const char *key, const char *counter);

/* Returns one number of a dictionary (a{sd}) in the a{sv}; NaN: there is none. */
double bus_measure(sd_bus_message *message, const char *key, const char *measure);

/* Writes the next complete value of the message as JSON; dictionaries become objects. -EBADMSG: the
 * value is nested too deeply; what is written is complete JSON even then. */
int bus_to_json(sd_bus_message *message, struct json *json, const char *key);

/* Prints the next complete value of the message, or why that is not possible. Returns an exit code.
 */
int bus_print_json(const struct ctl *ctl, sd_bus_message *message);

#endif
