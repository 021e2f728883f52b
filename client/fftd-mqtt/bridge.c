#include "bridge.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include <fftd/fftd.h>

#include "common/bus.h"
#include "common/shot.h"
#include "core/clock.h"
#include "discovery.h"
#include "pictures/picture.h"

#define CALL_US     2000000 /* for a reply of the daemon */
#define TICK_MS     1000
#define TOPIC_BYTES 384
#define PRESET      "preset:"
#define MAX_TOPICS  2 /* one for the camera's group, and its own */

/* A topic by which the filter is changed. */
struct request_topic {
    char name[TOPIC_BYTES];
    char *last; /* the last message, because a retained one comes with each connection; or NULL */
};

struct bridge {
    const struct bridge_options *options;
    struct broker *broker;
    sd_bus *bus;        /* NULL: there is no daemon */
    bool is_stale;      /* something has changed since it was read */
    bool is_new;        /* nothing was published since the broker or the daemon came */
    char state[32];     /* the last one that was told */
    uint64_t published; /* the same of the serial of frames */
    uint64_t wanted;    /* the serial of `filter` */
    char *filter;
    uint64_t event_count;
    struct request_topic *missed;    /* its last message could not reach the daemon; or NULL */
    int64_t measures_ns, picture_ns; /* when they are due */
    struct request_topic topic[MAX_TOPICS];
    const char *subscribed[MAX_TOPICS + 1];
};

/* ---- messages ---- */

static void topic_of(const struct bridge *bridge, const char *what, char ret[TOPIC_BYTES])
{
    snprintf(ret, TOPIC_BYTES, "%s/%s/%s", bridge->options->prefix, bridge->options->id, what);
}

/* A text that is being written; `data` is NULL if memory was short. */
struct text {
    FILE *file;
    char *data;
    size_t bytes;
};

static bool begin(struct text *text, struct json *json)
{
    *text = (struct text){.data = NULL};
    text->file = open_memstream(&text->data, &text->bytes);
    *json = (struct json){.file = text->file};
    return text->file != NULL;
}

static void publish(struct bridge *bridge, const char *what, struct text *text, bool is_retained)
{
    char topic[TOPIC_BYTES];
    topic_of(bridge, what, topic);
    if (fclose(text->file) == 0 && text->bytes > 0)
        broker_publish(bridge->broker, topic, text->data, text->bytes, is_retained);
    free(text->data);
}

static void publish_text(struct bridge *bridge, const char *what, const char *text)
{
    char topic[TOPIC_BYTES];
    topic_of(bridge, what, topic);
    broker_publish(bridge->broker, topic, text, strlen(text), true);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * (int64_t)1000 + now.tv_nsec / 1000000;
}

/* ---- what the camera says ---- */

/* The properties of the daemon that `state` has. */
static const char *const state_keys[] = {
    "State",         "StateReason", "SourceDescription", "Filter", "View",
    "FilterProblem", "Serial",      "PublishedSerial",   "Rate",   "Clients"};

static void publish_state(struct bridge *bridge, sd_bus_message *properties)
{
    struct text text;
    struct json json;
    if (!begin(&text, &json))
        return;
    json_open(&json, NULL, '{');
    for (unsigned i = 0; i < sizeof state_keys / sizeof state_keys[0]; i++)
        if (bus_find(properties, state_keys[i], NULL))
            bus_to_json(properties, &json, state_keys[i]);
    json_close(&json, '}');
    publish(bridge, "state", &text, true);
}

/* Publishes a dictionary or a list, unless it is empty, as measures are without output.measures. */
static void publish_found(struct bridge *bridge, sd_bus_message *properties, const char *key,
                          const char *type, const char *what)
{
    struct text text;
    struct json json;
    if (!bus_find_entries(properties, key, type) || sd_bus_message_at_end(properties, false) != 0 ||
        !bus_find(properties, key, type) || !begin(&text, &json))
        return;
    bus_to_json(properties, &json, NULL);
    publish(bridge, what, &text, true);
}

/* filter NULL: it is left out; serial 0: so is that. */
static void tell(struct bridge *bridge, const char *event, const char *detail, const char *filter,
                 uint64_t serial)
{
    struct text text;
    struct json json;
    if (!begin(&text, &json))
        return;
    json_open(&json, NULL, '{');
    json_integer(&json, "number", ++bridge->event_count);
    json_signed(&json, "time_ms", now_ms());
    json_text(&json, "camera", bridge->options->id);
    json_text(&json, "event", event);
    json_text(&json, "detail", detail);
    if (serial != 0)
        json_integer(&json, "Serial", serial);
    if (filter != NULL)
        json_text(&json, "Filter", filter);
    json_close(&json, '}');
    publish(bridge, "event", &text, false);
}

/* Tells what has changed. NULL and 0: unknown. The filter is that of serial `wanted`, which no
 * frame may have yet. */
static void tell_changes(struct bridge *bridge, const char *state, const char *reason,
                         const char *filter, uint64_t wanted, uint64_t published)
{
    if (filter != NULL) {
        free(bridge->filter);
        bridge->filter = strdup(filter);
    }
    if (wanted != 0)
        bridge->wanted = wanted;
    if (state != NULL && strcmp(state, bridge->state) != 0) {
        snprintf(bridge->state, sizeof bridge->state, "%s", state);
        tell(bridge, bridge->state, reason != NULL ? reason : "", NULL, 0);
    }
    if (published != 0 && published != bridge->published) {
        bridge->published = published;
        tell(bridge, "filter", "in force", published == bridge->wanted ? bridge->filter : NULL,
             published);
    }
}

/* ---- the daemon ---- */

static void lose_daemon(struct bridge *bridge)
{
    if (bridge->bus == NULL)
        return;
    bridge->bus = sd_bus_flush_close_unref(bridge->bus);
    bridge->state[0] = '\0';
    bridge->wanted = bridge->published = 0;
    publish_text(bridge, "availability", "offline");
    tell(bridge, "daemon ended", "", NULL, 0);
}

/* Publishes each change, even if several come before everything is read again. */
static int on_changed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    struct bridge *bridge = userdata;
    const char *state = NULL, *reason = NULL, *filter = NULL, *interface;
    uint64_t wanted = 0, published = 0;
    const struct bus_field fields[] = {{"State", "s", &state},
                                       {"StateReason", "s", &reason},
                                       {"Filter", "s", &filter},
                                       {"Serial", "t", &wanted},
                                       {"PublishedSerial", "t", &published}};
    (void)error;
    if (sd_bus_message_read(message, "s", &interface) > 0 &&
        bus_read_fields(message, fields, sizeof fields / sizeof fields[0], NULL, NULL) > 0)
        tell_changes(bridge, state, reason, filter, wanted, published);
    bridge->is_stale = true;
    return 0;
}

static int open_bus(const struct bridge *bridge, sd_bus **ret, const char *socket)
{
    char dir[PATH_MAX];
    int r = fftd_runtime_dir(bridge->options->camera, dir, sizeof dir);
    if (r == 0)
        r = bus_connect(ret, dir, socket);
    if (r == 0) {
        r = bus_await(*ret, CALL_US);
        if (r < 0)
            *ret = sd_bus_close_unref(*ret);
    }
    return r;
}

static void find_daemon(struct bridge *bridge)
{
    if (bridge->bus != NULL || open_bus(bridge, &bridge->bus, "control-watch") < 0)
        return;
    sd_bus_match_signal(bridge->bus, NULL, NULL, bus_path(bridge->bus), BUS_PROPERTIES,
                        "PropertiesChanged", on_changed, bridge);
    bridge->is_new = true;
}

static void publish_picture(struct bridge *bridge)
{
    sd_bus_message *reply = NULL;
    struct shot shot = {0};
    struct picture picture = {0};
    struct text text;
    struct json unused;
    int r = sd_bus_call_method(bridge->bus, NULL, bus_path(bridge->bus), BUS_INTERFACE,
                               "SnapshotAfter", NULL, &reply, "");
    if (r >= 0)
        r = shot_read(&shot, reply, false);
    if (r >= 0)
        r = picture_from_pixels(&picture, &shot.after);
    shot_finish(&shot);
    const bool is_written = r >= 0 && begin(&text, &unused);
    if (is_written)
        picture_write_png(&picture, text.file);
    picture_free(&picture); /* before libmosquitto copies the text */
    if (is_written)
        publish(bridge, "picture", &text, true);
    sd_bus_message_unref(reply);
}

/* Publishes what is due. */
static void update(struct bridge *bridge)
{
    const struct bridge_options *options = bridge->options;
    const int64_t now_ns = clock_now_ns();
    const bool is_due = bridge->is_new || now_ns >= bridge->measures_ns;
    sd_bus_message *properties = NULL;
    if (bridge->bus == NULL || !(is_due || bridge->is_stale))
        return;
    const int r = bus_get_all(bridge->bus, &properties);
    if (r < 0) {
        lose_daemon(bridge);
        return;
    }
    bridge->is_stale = false;
    tell_changes(bridge, bus_text(properties, "State"), bus_text(properties, "StateReason"),
                 bus_text(properties, "Filter"), bus_u64(properties, "Serial"),
                 bus_u64(properties, "PublishedSerial"));
    publish_state(bridge, properties);
    if (is_due) {
        publish_found(bridge, properties, "Measures", "a{sd}", "measures");
        publish_found(bridge, properties, "Matches", "a(sddd)", "matches");
        bridge->measures_ns = now_ns + options->period_s * NS_PER_S;
    }
    if (bridge->is_new && options->discovery[0] != '\0')
        discovery_publish(bridge->broker, options, bridge->bus);
    if (bridge->is_new)
        publish_text(bridge, "availability", "online");
    sd_bus_message_unref(properties);
    if (options->picture_s > 0 && (bridge->is_new || now_ns >= bridge->picture_ns)) {
        publish_picture(bridge);
        bridge->picture_ns = now_ns + options->picture_s * NS_PER_S;
    }
    bridge->is_new = false;
}

/* ---- changes ---- */

/* Answers with the serial and the filter before (NULL: unknown), or with the daemon's words. */
static void answer(struct bridge *bridge, const char *chain, uint64_t serial, const char *before,
                   const char *problem)
{
    struct text text;
    struct json json;
    if (!begin(&text, &json))
        return;
    json_open(&json, NULL, '{');
    json_text(&json, "camera", bridge->options->id);
    json_text(&json, "request", chain);
    if (problem == NULL)
        json_integer(&json, "Serial", serial);
    else
        json_text(&json, "error", problem);
    if (problem == NULL && before != NULL)
        json_text(&json, "before", before);
    json_close(&json, '}');
    publish(bridge, "filter/result", &text, false);
}

/* Returns -ENOTCONN if the daemon did not run, did not answer in time, or ended before it had
 * answered. Publishes this as an error, unless it was a retry. */
static int change_filter(struct bridge *bridge, const char *chain, bool is_retry)
{
    sd_bus *bus = NULL;
    sd_bus_message *reply = NULL;
    sd_bus_error error = SD_BUS_ERROR_NULL;
    uint64_t serial = 0;
    char *before = NULL;
    int r = open_bus(bridge, &bus, "control");
    const bool is_absent = r == -ENOENT || r == -ECONNREFUSED;
    if (r == 0)
        r = sd_bus_get_property_string(bus, NULL, bus_path(bus), BUS_INTERFACE, "Filter", &error,
                                       &before);
    if (r >= 0)
        r = sd_bus_call_method(bus, NULL, bus_path(bus), BUS_INTERFACE, "SetFilter", &error, &reply,
                               "s", chain);
    if (r >= 0)
        r = sd_bus_message_read(reply, "t", &serial);
    const bool is_mute = r == -ETIMEDOUT || r == -ECONNRESET || r == -EPIPE || r == -ENOTCONN;
    if (!is_absent && !is_mute)
        answer(bridge, chain, serial, before,
               r >= 0                  ? NULL
               : error.message != NULL ? error.message
                                       : strerror(-r));
    else if (!is_retry)
        answer(bridge, chain, 0, NULL,
               is_absent ? "the camera's daemon does not run; it gets this when it is back"
                         : "the camera's daemon does not answer; it gets this when it does");
    sd_bus_message_unref(reply);
    sd_bus_error_free(&error);
    sd_bus_flush_close_unref(bus);
    free(before);
    return is_absent || is_mute ? -ENOTCONN : r;
}

/* Does what the topic's last message says. */
static void change(struct bridge *bridge, struct request_topic *topic)
{
    const int r = change_filter(bridge, topic->last, bridge->missed == topic);
    /* A daemon that starts on a busy machine may not answer in time. */
    bridge->missed = r == -ENOTCONN ? topic : NULL;
    if (r >= 0 && strncmp(topic->last, PRESET, strlen(PRESET)) == 0 &&
        strchr(topic->last, '|') == NULL)
        publish_text(bridge, "preset", topic->last + strlen(PRESET));
}

static void obey(struct bridge *bridge, struct request_topic *topic,
                 const struct broker_message *message)
{
    const char *text = message->text;
    const bool is_known = topic->last != NULL && strcmp(topic->last, text) == 0;
    /* An empty message only ends a retained one. */
    if (text[0] == '\0' || (message->is_retained && is_known))
        return;
    free(topic->last);
    topic->last = strdup(text);
    bridge->missed = NULL; /* this one comes after it */
    if (topic->last != NULL)
        change(bridge, topic);
}

static void take_requests(struct bridge *bridge)
{
    for (struct broker_message *message; (message = broker_take(bridge->broker)) != NULL;) {
        for (unsigned i = 0; bridge->subscribed[i] != NULL; i++)
            if (strcmp(message->topic, bridge->subscribed[i]) == 0)
                obey(bridge, &bridge->topic[i], message);
        broker_free(message);
    }
    if (bridge->missed != NULL && bridge->bus != NULL)
        change(bridge, bridge->missed);
}

/* The broker sends retained messages in this order, so that the camera's own is obeyed last. */
static void name_topics(struct bridge *bridge)
{
    const struct bridge_options *options = bridge->options;
    const char *const names[MAX_TOPICS] = {options->group, options->id};
    unsigned count = 0;
    for (unsigned i = 0; i < MAX_TOPICS && options->allows_changes; i++) {
        if (names[i] == NULL)
            continue;
        struct request_topic *topic = &bridge->topic[count];
        snprintf(topic->name, sizeof topic->name, "%s/%s/filter/set", options->prefix, names[i]);
        bridge->subscribed[count++] = topic->name;
    }
}

/* ---- the loop ---- */

static void step(struct bridge *bridge)
{
    find_daemon(bridge);
    while (bridge->bus != NULL) {
        const int r = sd_bus_process(bridge->bus, NULL);
        if (r == 0)
            break;
        if (r < 0)
            lose_daemon(bridge);
    }
    if (broker_has_connected(bridge->broker)) {
        bridge->is_new = true;
        if (bridge->bus == NULL)
            publish_text(bridge, "availability", "offline");
    }
    take_requests(bridge);
    update(bridge);
}

static void loop(struct bridge *bridge, int signal_fd)
{
    struct pollfd fds[] = {{.fd = signal_fd, .events = POLLIN},
                           {.fd = broker_fd(bridge->broker), .events = POLLIN},
                           {.events = POLLIN}};
    do {
        step(bridge);
        fds[2].fd = bridge->bus != NULL ? sd_bus_get_fd(bridge->bus) : -1;
        poll(fds, 3, TICK_MS);
    } while (fds[0].revents == 0);
}

int bridge_run(struct bridge_options *options)
{
    struct bridge bridge = {.options = options};
    char will[TOPIC_BYTES], client_id[BRIDGE_ID_BYTES + 8];
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    const int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    topic_of(&bridge, "availability", will);
    snprintf(client_id, sizeof client_id, "fftd-%s", options->id);
    name_topics(&bridge);
    options->broker.will = will;
    options->broker.client_id = client_id;
    options->broker.topics = bridge.subscribed;
    const int r = signal_fd < 0 ? -errno : broker_open(&bridge.broker, &options->broker);
    if (r == 0)
        loop(&bridge, signal_fd);
    else
        fprintf(stderr, "fftd-mqtt: cannot start: %s%s%s\n",
                options->broker.ca != NULL ? options->broker.ca : "",
                options->broker.ca != NULL ? ": " : "", strerror(-r));
    broker_close(bridge.broker);
    sd_bus_flush_close_unref(bridge.bus);
    free(bridge.filter);
    for (unsigned i = 0; i < MAX_TOPICS; i++)
        free(bridge.topic[i].last);
    if (signal_fd >= 0)
        close(signal_fd);
    return r == 0 ? EX_OK : r == -EINVAL || r == -ENOENT || r == -EACCES ? EX_CONFIG : EX_OSERR;
}
