#include "broker.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <mosquitto.h>

#define KEEPALIVE_S   15
#define MAX_WAITING   64  /* messages that have come */
#define MAX_DELAY_S   30  /* between two attempts to connect */
#define GOODBYE_STEPS 100 /* 10 ms each */
#define AT_LEAST_ONCE 1
#define MAX_UNSENT    10000 /* messages that are kept while there is no broker */

struct broker {
    const struct broker_options *options;
    struct mosquitto *client;
    int event_fd;
    pthread_t thread; /* in which libmosquitto connects and works */
    bool has_thread;
    pthread_mutex_t lock; /* guards the fields below, which that thread writes */
    bool is_connected, has_connected;
    int refusal; /* the last one that was told */
    unsigned unsent;
    bool is_dropping;
    struct broker_message *first, **last;
    unsigned count;
};

static void wake(struct broker *broker)
{
    eventfd_write(broker->event_fd, 1);
}

static void on_connect(struct mosquitto *client, void *context, int code)
{
    struct broker *broker = context;
    pthread_mutex_lock(&broker->lock);
    const bool is_news = code != broker->refusal;
    broker->refusal = code;
    broker->is_connected = broker->has_connected = code == 0;
    pthread_mutex_unlock(&broker->lock);
    if (code != 0 && is_news)
        fprintf(stderr, "fftd-mqtt: the broker refuses: %s\n", mosquitto_connack_string(code));
    for (unsigned i = 0; code == 0 && broker->options->topics[i] != NULL; i++)
        mosquitto_subscribe(client, NULL, broker->options->topics[i], AT_LEAST_ONCE);
    wake(broker);
}

static void on_disconnect(struct mosquitto *client, void *context, int code)
{
    struct broker *broker = context;
    (void)client;
    pthread_mutex_lock(&broker->lock);
    const bool was_connected = broker->is_connected;
    broker->is_connected = false;
    pthread_mutex_unlock(&broker->lock);
    if (code != 0 && was_connected)
        fprintf(stderr, "fftd-mqtt: lost the broker: %s\n", mosquitto_strerror(code));
}

static void on_publish(struct mosquitto *client, void *context, int id)
{
    struct broker *broker = context;
    (void)client, (void)id;
    pthread_mutex_lock(&broker->lock);
    broker->unsent--;
    pthread_mutex_unlock(&broker->lock);
}

void broker_free(struct broker_message *message)
{
    free(message->topic);
    free(message->text);
    free(message);
}

static void on_message(struct mosquitto *client, void *context,
                       const struct mosquitto_message *message)
{
    struct broker *broker = context;
    struct broker_message *each = calloc(1, sizeof *each);
    const size_t bytes = (size_t)message->payloadlen;
    (void)client;
    if (each == NULL)
        return;
    each->is_retained = message->retain;
    each->topic = strdup(message->topic);
    if (bytes < BROKER_TEXT_BYTES)
        each->text = bytes > 0 ? strndup(message->payload, bytes) : strdup("");
    pthread_mutex_lock(&broker->lock);
    const bool is_taken = each->topic != NULL && each->text != NULL && broker->count < MAX_WAITING;
    if (is_taken) {
        *broker->last = each;
        broker->last = &each->next;
        broker->count++;
    }
    pthread_mutex_unlock(&broker->lock);
    if (is_taken) {
        wake(broker);
    } else {
        fprintf(stderr,
                "fftd-mqtt: dropped a message on %s: expected at most %d bytes, and %d waiting\n",
                message->topic, BROKER_TEXT_BYTES - 1, MAX_WAITING);
        broker_free(each);
    }
}

/* A folder of certificates and a file of them are two arguments of libmosquitto. */
static int use_tls(struct mosquitto *client, const char *ca)
{
    struct stat kind;
    if (stat(ca, &kind) < 0)
        return -errno;
    const bool is_folder = S_ISDIR(kind.st_mode);
    return mosquitto_tls_set(client, is_folder ? NULL : ca, is_folder ? ca : NULL, NULL, NULL,
                             NULL) == MOSQ_ERR_SUCCESS
               ? 0
               : -EINVAL;
}

static int connect_and_work(struct broker *broker)
{
    const struct broker_options *options = broker->options;
    const int r = mosquitto_connect(broker->client, options->host, options->port, KEEPALIVE_S);
    return r == MOSQ_ERR_SUCCESS ? mosquitto_loop_forever(broker->client, -1, 1) : r;
}

/* libmosquitto connects again after a loss, but not always where the first attempt has failed at
 * once: the thread of mosquitto_loop_start then does nothing (2.0.21). It also gives up after some
 * errors, such as a connection that ends within the handshake of TLS. */
static void *run(void *context)
{
    struct broker *broker = context;
    const struct broker_options *options = broker->options;
    int r, told = MOSQ_ERR_SUCCESS;
    while ((r = connect_and_work(broker)) != MOSQ_ERR_SUCCESS) {
        if (r != told)
            fprintf(stderr, "fftd-mqtt: cannot reach the broker at %s, port %d: %s; trying again\n",
                    options->host, options->port,
                    r == MOSQ_ERR_ERRNO ? strerror(errno) : mosquitto_strerror(r));
        told = r;
        sleep(1);
    }
    return NULL;
}

static int configure(struct broker *broker)
{
    const struct broker_options *options = broker->options;
    struct mosquitto *client = broker->client;
    mosquitto_connect_callback_set(client, on_connect);
    mosquitto_disconnect_callback_set(client, on_disconnect);
    mosquitto_message_callback_set(client, on_message);
    mosquitto_publish_callback_set(client, on_publish);
    mosquitto_reconnect_delay_set(client, 1, MAX_DELAY_S, true);
    if (options->ca != NULL) {
        const int r = use_tls(client, options->ca);
        if (r < 0)
            return r;
    }
    if (mosquitto_username_pw_set(client, options->user, options->password) != MOSQ_ERR_SUCCESS ||
        mosquitto_will_set(client, options->will, 7, "offline", AT_LEAST_ONCE, true) !=
            MOSQ_ERR_SUCCESS)
        return -EINVAL;
    mosquitto_threaded_set(client, true);
    broker->has_thread = pthread_create(&broker->thread, NULL, run, broker) == 0;
    return broker->has_thread ? 0 : -EAGAIN;
}

int broker_open(struct broker **ret, const struct broker_options *options)
{
    struct broker *broker = calloc(1, sizeof *broker);
    if (broker == NULL)
        return -ENOMEM;
    mosquitto_lib_init();
    pthread_mutex_init(&broker->lock, NULL);
    broker->last = &broker->first;
    broker->options = options;
    broker->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    /* Not a clean session: the broker keeps what comes while the network is away. */
    broker->client = mosquitto_new(options->client_id, false, broker);
    const int r = broker->event_fd < 0 || broker->client == NULL ? -ENOMEM : configure(broker);
    if (r < 0)
        broker_close(broker);
    else
        *ret = broker;
    return r;
}

static bool is_connected(struct broker *broker)
{
    pthread_mutex_lock(&broker->lock);
    const bool connected = broker->is_connected;
    pthread_mutex_unlock(&broker->lock);
    return connected;
}

void broker_close(struct broker *broker)
{
    if (broker == NULL)
        return;
    if (broker->client != NULL) {
        const struct timespec step = {.tv_nsec = 10 * 1000 * 1000};
        broker_publish(broker, broker->options->will, "offline", 7, true);
        mosquitto_disconnect(broker->client);
        for (unsigned i = 0; i < GOODBYE_STEPS && is_connected(broker); i++)
            nanosleep(&step, NULL);
        if (broker->has_thread) {
            /* It may be connecting to a host that does not answer. */
            pthread_cancel(broker->thread);
            pthread_join(broker->thread, NULL);
        }
        mosquitto_destroy(broker->client);
    }
    for (struct broker_message *each; (each = broker_take(broker)) != NULL;)
        broker_free(each);
    if (broker->event_fd >= 0)
        close(broker->event_fd);
    pthread_mutex_destroy(&broker->lock);
    mosquitto_lib_cleanup();
    free(broker);
}

int broker_fd(const struct broker *broker)
{
    return broker->event_fd;
}

bool broker_has_connected(struct broker *broker)
{
    eventfd_t count;
    eventfd_read(broker->event_fd, &count);
    pthread_mutex_lock(&broker->lock);
    const bool has_connected = broker->has_connected;
    broker->has_connected = false;
    pthread_mutex_unlock(&broker->lock);
    return has_connected;
}

struct broker_message *broker_take(struct broker *broker)
{
    pthread_mutex_lock(&broker->lock);
    struct broker_message *each = broker->first;
    if (each != NULL) {
        broker->first = each->next;
        broker->count--;
        if (broker->first == NULL)
            broker->last = &broker->first;
    }
    pthread_mutex_unlock(&broker->lock);
    return each;
}

void broker_publish(struct broker *broker, const char *topic, const void *data, size_t bytes,
                    bool is_retained)
{
    pthread_mutex_lock(&broker->lock);
    const bool was_dropping = broker->is_dropping;
    broker->is_dropping = broker->unsent >= MAX_UNSENT;
    const bool is_kept = !broker->is_dropping && (broker->is_connected || !is_retained);
    broker->unsent += is_kept;
    pthread_mutex_unlock(&broker->lock);
    if (broker->is_dropping && !was_dropping)
        fprintf(stderr, "fftd-mqtt: %d events wait for the broker; later ones are lost\n",
                MAX_UNSENT);
    if (!is_kept)
        return;
    const int r = mosquitto_publish(broker->client, NULL, topic, (int)bytes, data, AT_LEAST_ONCE,
                                    is_retained);
    /* Without a connection it is kept all the same. */
    if (r == MOSQ_ERR_SUCCESS || r == MOSQ_ERR_NO_CONN)
        return;
    fprintf(stderr, "fftd-mqtt: cannot publish %s: %s\n", topic, mosquitto_strerror(r));
    pthread_mutex_lock(&broker->lock);
    broker->unsent--;
    pthread_mutex_unlock(&broker->lock);
}
