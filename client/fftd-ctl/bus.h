/* The control socket, from the client's side. */
#ifndef FFTD_CTL_BUS_H
#define FFTD_CTL_BUS_H

#include <stdarg.h>

#include <systemd/sd-bus.h>

#include "ctl.h"
#include "json.h"

#define BUS_PATH      "/org/fftd/camera"
#define BUS_INTERFACE "org.fftd.Camera1"

/* Connects to the daemon whose sockets lie in dir: to `control`, or where that is not for us to
 * `control-watch`, on which the daemon refuses changes and says why. 0 or -errno. */
int bus_connect_any(sd_bus **ret, const char *dir);

/* Connects to the chosen daemon; what goes wrong is told. 0 or an exit code. */
int bus_open(const struct ctl *ctl, sd_bus **ret);

/* Calls a method of the object; what goes wrong is told. types and arguments as in
 * sd_bus_message_append. The caller unrefs *ret. 0 or an exit code. */
int bus_call(const struct ctl *ctl, sd_bus *bus, sd_bus_message **ret, const char *method,
             const char *types, ...);
int bus_callv(const struct ctl *ctl, sd_bus *bus, sd_bus_message **ret, const char *method,
              const char *types, va_list args);

/* Sends a call that is made already; what goes wrong is told. The caller unrefs *ret. */
int bus_send(const struct ctl *ctl, sd_bus *bus, sd_bus_message *message, sd_bus_message **ret);

/* All properties, as an a{sv}. */
int bus_get_all(const struct ctl *ctl, sd_bus *bus, sd_bus_message **ret);

/* Enters the variant under this key of the a{sv} (or the value of an a{st} and the like) that the
 * message begins with, expecting these contents; the caller reads and does not leave it: the next
 * bus_find begins from the start. Whether it was found. */
bool bus_find(sd_bus_message *message, const char *key, const char *contents);

/* Goes on to the value under the key of the dictionary that comes next, whose entries are of this
 * signature ("sv", "st"). */
bool bus_enter(sd_bus_message *message, const char *entry, const char *key);

/* The same for simple values; a default where there is none. The text lives as long as message. */
const char *bus_text(sd_bus_message *message, const char *key);
uint64_t bus_u64(sd_bus_message *message, const char *key);
uint32_t bus_u32(sd_bus_message *message, const char *key);
double bus_double(sd_bus_message *message, const char *key);

/* One number of a dictionary (a{st}) in the a{sv}: bus_counter(m, "Counters", "published"). */
uint64_t bus_counter(sd_bus_message *message, const char *key, const char *counter);

/* Writes the next complete value of the message as JSON; dictionaries become objects. */
int bus_to_json(sd_bus_message *message, struct json *json, const char *key);

#endif
