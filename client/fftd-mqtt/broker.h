/* The connection to an MQTT broker. A thread of libmosquitto keeps it: it connects, and connects
 * again after a loss, so that nothing here waits for the network. A message that the broker has not
 * acknowledged is sent again (QoS 1: at least once). All functions are for one thread. */
#ifndef FFTD_MQTT_BROKER_H
#define FFTD_MQTT_BROKER_H

#include <stdbool.h>
#include <stddef.h>

#define BROKER_TEXT_BYTES 65536 /* the longest message that is taken from a broker */

struct broker_options {
    const char *host;
    int port;
    const char *client_id;
    const char *user, *password; /* NULL: none */
    const char *ca;              /* a file or folder of certificates; NULL: no TLS */
    const char *will;            /* the topic that says "offline" when this program is gone */
    const char *const *topics;   /* what is subscribed, up to a NULL */
};

struct broker_message {
    struct broker_message *next; /* the one that waits behind it */
    bool is_retained; /* it was published before this connection; it may have come before, too */
    char *topic, *text;
};

struct broker;

/* Begins to connect. 0 or -errno. `options` and what it points to must outlive the broker. */
int broker_open(struct broker **ret, const struct broker_options *options);

/* Says "offline", disconnects, waits for at most a second, and frees it. NULL is allowed. */
void broker_close(struct broker *broker);

/* Readable when there may be something to take. */
int broker_fd(const struct broker *broker);

/* Returns whether it has connected since the last call. Retained messages are then published
 * again, because the broker may be another one. */
bool broker_has_connected(struct broker *broker);

/* Takes the oldest message that has come; NULL: there is none. The caller frees it. Messages that
 * are too long, or too many, are dropped with a line on stderr. */
struct broker_message *broker_take(struct broker *broker);
void broker_free(struct broker_message *message);

/* A retained message stays at the broker for those who subscribe later; while there is no
 * connection it is dropped, because it is published again. Other messages are kept, up to 10,000.
 */
void broker_publish(struct broker *broker, const char *topic, const void *data, size_t bytes,
                    bool is_retained);

#endif
