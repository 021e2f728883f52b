/* Calls of the daemon by the commands, which print why a call failed.
 *
 * Functions return 0 or an exit code, and print the reason for a failure; those with `try` in their
 * names return 0 or -errno and print nothing. The daemon is not trusted: all texts of replies went
 * through text_clean, except with --json. The caller unrefs *ret. */
#ifndef FFTD_CTL_DAEMON_H
#define FFTD_CTL_DAEMON_H

#include <systemd/sd-bus.h>

#include "common/bus.h"
#include "common/shot.h"
#include "ctl.h"

/* The time limit of each call, for commands that continue without an answer. */
#define DAEMON_PATIENCE_US 2000000u

/* Connects to the daemon whose sockets are in dir: to `control`, or to `control-watch` if this user
 * may not use the first. The daemon refuses changes on the second. patience_us: as for bus_await.
 * 0 or -errno; prints nothing. */
int daemon_connect(sd_bus **ret, const char *dir, uint64_t patience_us);

/* Connects to the chosen daemon. */
int daemon_open(const struct ctl *ctl, sd_bus **ret);

/* Does the same for commands that wait for a daemon, with DAEMON_PATIENCE_US for each call. */
int daemon_try_open(const struct ctl *ctl, sd_bus **ret);

/* Calls a method of the object, with arguments as for sd_bus_message_append; types NULL: none. ret
 * NULL: the reply has nothing to read. */
int daemon_call(const struct ctl *ctl, sd_bus *bus, sd_bus_message **ret, const char *method,
                const char *types, ...);

/* Appends NAME=VALUE as an entry of an a{ss}. -EDOM: the text is not NAME=VALUE, or the name is too
 * long. */
int daemon_append_setting(sd_bus_message *message, const char *setting);

/* Sends a message that the caller has built, and unrefs it. built: what sd-bus returned last
 * meanwhile. ret NULL: the reply has nothing to read. */
int daemon_send(const struct ctl *ctl, sd_bus *bus, int built, sd_bus_message *message,
                sd_bus_message **ret);

/* Gets all properties, as an a{sv}. */
int daemon_get_all(const struct ctl *ctl, sd_bus *bus, sd_bus_message **ret);
int daemon_try_get_all(const struct ctl *ctl, sd_bus *bus, sd_bus_message **ret);

/* Reads the name of the format of captured frames, as reading_captured does. */
int daemon_read_captured(const struct ctl *ctl, sd_bus *bus, char captured[16]);

/* Connects for a single call without arguments; method NULL: gets all properties. Waits for
 * --timeout, where a command takes it. */
int daemon_ask(const struct ctl *ctl, sd_bus_message **ret, const char *method);

/* Takes the next frame, as shot_read says. */
int daemon_snapshot(const struct ctl *ctl, sd_bus *bus, struct shot *ret, bool with_before);

/* Prints the next complete value of the message, or why that is not possible. */
int daemon_print_json(const struct ctl *ctl, sd_bus_message *message);

#endif
