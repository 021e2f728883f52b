#include "changer.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "daemon_bus.h"
#include "common/bus.h"
#include "status.h"

/* An idle connection is closed: the socket serves only 16 connections of one user. */
#define KEEP_NS (5 * NS_PER_S)

/* The points at which a response is asked for: a side of the spectrum, and half of the other. */
#define SIDE    21
#define ROWS    (SIDE / 2 + 1)

struct changer {
    struct daemon_bus bus;
    /* The lock of the bus protects these. */
    struct changer_call *first, **end;
};

/* ---- calls ---- */

/* Each function writes its part of the answer and returns the result of sd-bus. */
static int write_reply(struct changer *changer, struct json *json, const char *key,
                       const char *method, sd_bus_error *error)
{
    sd_bus_message *reply = NULL;
    int r = sd_bus_call_method(changer->bus.bus, NULL, bus_path(changer->bus.bus), BUS_INTERFACE,
                               method, error, &reply, NULL);
    if (r >= 0)
        r = bus_to_json(reply, json, key);
    sd_bus_message_unref(reply);
    return r;
}

/* A preset that has been removed meanwhile is left out. */
static int write_preset(struct changer *changer, struct json *json, const char *name)
{
    const char *summary, *chain, *problem;
    sd_bus_message *reply = NULL;
    int r = sd_bus_call_method(changer->bus.bus, NULL, bus_path(changer->bus.bus), BUS_INTERFACE,
                               "GetPreset", NULL, &reply, "s", name);
    if (r >= 0)
        r = sd_bus_message_read(reply, "sss", &summary, &chain, &problem);
    if (r >= 0) {
        json_open(json, NULL, '{');
        json_text(json, "name", name);
        json_text(json, "summary", summary);
        json_text(json, "filter", chain);
        json_text(json, "problem", problem);
        json_close(json, '}');
    }
    sd_bus_message_unref(reply);
    return r == -ETIMEDOUT ? r : 0;
}

/* Writes what commands need to find a daemon without a name. The path is for changers alone. */
static void write_directory(const struct daemon_bus *bus, struct json *json)
{
    char path[PATH_MAX];
    if (strchr(bus->place, '/') != NULL && realpath(bus->place, path) != NULL)
        json_text(json, "runtime_dir", path);
}

static int write_kinds(struct changer *changer, struct json *json, sd_bus_error *error)
{
    sd_bus_message *reply = NULL;
    const char *name;
    write_directory(&changer->bus, json);
    int r = write_reply(changer, json, "kinds", "ListFilters", error);
    if (r >= 0)
        r = sd_bus_call_method(changer->bus.bus, NULL, bus_path(changer->bus.bus), BUS_INTERFACE,
                               "ListPresets", error, &reply, NULL);
    if (r >= 0)
        r = sd_bus_message_enter_container(reply, 'a', "s");
    json_open(json, "presets", '[');
    while (r >= 0 && (r = sd_bus_message_read(reply, "s", &name)) > 0)
        r = write_preset(changer, json, name);
    json_close(json, ']');
    sd_bus_message_unref(reply);
    return r;
}

/* Writes the magnitudes of a chain's response, in rows of SIDE: fx from -0.5 to 0.5 in each, and fy
 * from -0.5 to 0. The other half is the same, turned. Writes none if the chain cannot be used. */
static int write_response(struct changer *changer, struct json *json, const char *chain)
{
    double fx[SIDE * ROWS], fy[SIDE * ROWS];
    const void *magnitude = NULL;
    size_t bytes = 0;
    sd_bus_message *message = NULL, *reply = NULL;
    for (unsigned i = 0; i < SIDE * ROWS; i++) {
        const unsigned column = i % SIDE, row = i / SIDE;
        fx[i] = (double)column / (SIDE - 1) - 0.5;
        fy[i] = (double)row / (SIDE - 1) - 0.5;
    }
    int r = bus_new_call(changer->bus.bus, &message, "GetResponse");
    if (r >= 0)
        r = sd_bus_message_append(message, "s", chain);
    if (r >= 0)
        r = sd_bus_message_append_array(message, 'd', fx, sizeof fx);
    if (r >= 0)
        r = sd_bus_message_append_array(message, 'd', fy, sizeof fy);
    if (r >= 0)
        r = sd_bus_call(changer->bus.bus, message, 0, NULL, &reply);
    if (r >= 0)
        r = sd_bus_message_read_array(reply, 'd', &magnitude, &bytes);
    json_open(json, NULL, '[');
    for (size_t i = 0; r >= 0 && i < bytes / sizeof(double); i++)
        json_number(json, NULL, round(((const double *)magnitude)[i] * 1000) / 1000);
    json_close(json, ']');
    sd_bus_message_unref(reply);
    sd_bus_message_unref(message);
    return r == -ETIMEDOUT ? r : 0;
}

static int write_responses(struct changer *changer, const struct changer_call *call,
                           struct json *json)
{
    const char *chain;
    int r = 0;
    json_open(json, "responses", '[');
    for (size_t i = 0; r >= 0 && (chain = change_request_word(&call->words, i, 0)) != NULL; i++)
        r = write_response(changer, json, chain);
    json_close(json, ']');
    return r;
}

static int write_filter(struct changer *changer, struct json *json)
{
    sd_bus_message *properties = NULL;
    const int r = bus_get_all(changer->bus.bus, &properties);
    if (r >= 0)
        status_write_filter(json, properties);
    sd_bus_message_unref(properties);
    return r;
}

static int append_change(sd_bus_message *message, const struct change_request *change,
                         size_t number)
{
    const char *word;
    int r = sd_bus_message_open_container(message, 'a', "s");
    for (size_t i = 0; r >= 0 && (word = change_request_word(change, number, i)) != NULL; i++)
        r = sd_bus_message_append(message, "s", word);
    return r < 0 ? r : sd_bus_message_close_container(message);
}

static int make_change(sd_bus *bus, const struct change_request *change, sd_bus_message **ret)
{
    int r = bus_new_call(bus, ret, "EditFilter");
    if (r >= 0)
        r = sd_bus_message_open_container(*ret, 'a', "as");
    for (size_t i = 0; r >= 0 && change_request_word(change, i, 0) != NULL; i++)
        r = append_change(*ret, change, i);
    if (r >= 0)
        r = sd_bus_message_close_container(*ret);
    return r < 0 ? r : sd_bus_message_append(*ret, "tu", change->serial, change->fade_frames);
}

/* Changes the filter, and writes the new filter. */
static int write_change(struct changer *changer, struct changer_call *call, struct json *json,
                        sd_bus_error *error)
{
    sd_bus_message *message = NULL, *reply = NULL;
    uint64_t serial;
    int r = make_change(changer->bus.bus, &call->words, &message);
    if (r >= 0)
        r = sd_bus_call(changer->bus.bus, message, 0, error, &reply);
    if (r >= 0)
        r = sd_bus_message_read(reply, "t", &serial);
    if (r < 0)
        goto out;
    json_integer(json, "serial", serial);
    write_filter(changer, json);
    r = 0; /* the change was made, even if reading the filter failed */
out:
    sd_bus_message_unref(reply);
    sd_bus_message_unref(message);
    return r;
}

static int write_view(struct changer *changer, const struct changer_call *call, struct json *json,
                      sd_bus_error *error)
{
    sd_bus_message *reply = NULL;
    uint64_t serial;
    int r =
        sd_bus_call_method(changer->bus.bus, NULL, bus_path(changer->bus.bus), BUS_INTERFACE,
                           "SetView", error, &reply, "s", change_request_word(&call->words, 0, 0));
    if (r >= 0)
        r = sd_bus_message_read(reply, "t", &serial);
    if (r >= 0)
        json_integer(json, "serial", serial);
    sd_bus_message_unref(reply);
    return r;
}

static int write_saved(struct changer *changer, struct json *json, sd_bus_error *error)
{
    sd_bus_message *reply = NULL;
    const char *file;
    int is_changed;
    int r = sd_bus_call_method(changer->bus.bus, NULL, bus_path(changer->bus.bus), BUS_INTERFACE,
                               "Save", error, &reply, "as", 1, "filter");
    if (r >= 0)
        r = sd_bus_message_read(reply, "sb", &file, &is_changed);
    if (r >= 0) {
        json_text(json, "file", file);
        json_bool(json, "is_changed", is_changed != 0);
    }
    sd_bus_message_unref(reply);
    return r;
}

/* Appends the pairs of words as an a{ss}. */
static int append_controls(sd_bus_message *message, const struct change_request *words,
                           sd_bus_error *error)
{
    const char *name;
    int r = sd_bus_message_open_container(message, 'a', "{ss}");
    for (size_t i = 0; r >= 0 && (name = change_request_word(words, i, 0)) != NULL; i++) {
        const char *value = change_request_word(words, i, 1);
        r = value == NULL || change_request_word(words, i, 2) != NULL
                ? sd_bus_error_setf(error, DAEMON_BUS_INVALID_CONTROL,
                                    "change %zu: expected a control and its value, such as "
                                    "[\"brightness\", \"128\"]",
                                    i + 1)
                : sd_bus_message_append(message, "{ss}", name, value);
    }
    return r < 0 ? r : sd_bus_message_close_container(message);
}

static int write_controls_set(struct changer *changer, const struct changer_call *call,
                              struct json *json, sd_bus_error *error)
{
    sd_bus_message *message = NULL;
    int r = bus_new_call(changer->bus.bus, &message, "SetControls");
    if (r >= 0)
        r = append_controls(message, &call->words, error);
    if (r >= 0)
        r = sd_bus_call(changer->bus.bus, message, 0, error, NULL);
    sd_bus_message_unref(message);
    return r < 0 ? r : write_reply(changer, json, "controls", "ListControls", error);
}

static int ask(struct changer *changer, struct changer_call *call, struct json *json,
               sd_bus_error *error)
{
    switch (call->question) {
    case CHANGER_KINDS:
        return write_kinds(changer, json, error);
    case CHANGER_FOUND:
        return write_filter(changer, json);
    case CHANGER_RESPONSES:
        return write_responses(changer, call, json);
    case CHANGER_VIEW:
        return write_view(changer, call, json, error);
    case CHANGER_CHANGE:
        return write_change(changer, call, json, error);
    case CHANGER_SAVE:
        return write_saved(changer, json, error);
    case CHANGER_CONTROLS:
        return write_reply(changer, json, "controls", "ListControls", error);
    case CHANGER_SET:
        return write_controls_set(changer, call, json, error);
    }
    return -EINVAL;
}

static void perform(struct changer *changer, struct changer_call *call)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    char *text = NULL;
    size_t bytes = 0;
    struct json json = {.file = open_memstream(&text, &bytes)};
    if (json.file == NULL)
        return;
    int r = daemon_bus_open(&changer->bus);
    if (r >= 0) {
        json_open(&json, NULL, '{');
        r = ask(changer, call, &json, &error);
        if (r == -EINVAL && !sd_bus_error_is_set(&error))
            call->answer = image_error(MHD_HTTP_BAD_REQUEST,
                                       "a word of the changes is not a valid text of D-Bus");
        json_close(&json, '}');
    }
    if (fclose(json.file) == 0 && r >= 0)
        call->answer = image_create(text, bytes);
    else if (call->answer == NULL)
        call->answer = daemon_bus_error(&changer->bus, r, &error);
    free(text);
    /* The answer to a call that timed out may still arrive, and must not answer the next call. */
    if (r < 0 && (call->answer == NULL || call->answer->status == MHD_HTTP_SERVICE_UNAVAILABLE))
        daemon_bus_close(&changer->bus);
    sd_bus_error_free(&error);
}

/* ---- the thread ---- */

/* The call may be freed as soon as its connection is resumed. The lock is held. */
static void resume(struct changer_call *call)
{
    if (call->answer == NULL)
        call->answer =
            image_error(MHD_HTTP_SERVICE_UNAVAILABLE, "fftd-view cannot ask the daemon now");
    MHD_resume_connection(call->connection);
}

static struct changer_call *take_first(struct changer *changer)
{
    struct changer_call *call = changer->first;
    changer->first = call->next;
    if (changer->first == NULL)
        changer->end = &changer->first;
    return call;
}

static void *run(void *userdata)
{
    struct changer *changer = userdata;
    pthread_mutex_lock(&changer->bus.lock);
    while (!changer->bus.stopping) {
        const struct timespec until = clock_timespec(clock_now_ns() + KEEP_NS);
        if (changer->first != NULL) {
            struct changer_call *call = take_first(changer);
            pthread_mutex_unlock(&changer->bus.lock);
            perform(changer, call);
            pthread_mutex_lock(&changer->bus.lock);
            resume(call);
        } else if (changer->bus.bus == NULL) {
            pthread_cond_wait(&changer->bus.changed, &changer->bus.lock);
        } else if (pthread_cond_timedwait(&changer->bus.changed, &changer->bus.lock, &until) ==
                       ETIMEDOUT &&
                   changer->first == NULL) {
            pthread_mutex_unlock(&changer->bus.lock);
            daemon_bus_close(&changer->bus);
            pthread_mutex_lock(&changer->bus.lock);
        }
    }
    pthread_mutex_unlock(&changer->bus.lock);
    return NULL;
}

/* ---- from other threads ---- */

int changer_create(struct changer **ret, const char *place)
{
    struct changer *changer = calloc(1, sizeof *changer);
    if (changer == NULL)
        return -ENOMEM;
    changer->end = &changer->first;
    int r = daemon_bus_start(&changer->bus, place, "control", run, changer);
    if (r < 0) {
        free(changer);
        return r;
    }
    *ret = changer;
    return 0;
}

void changer_stop(struct changer *changer)
{
    if (changer == NULL)
        return;
    daemon_bus_stop(&changer->bus);
    pthread_join(changer->bus.thread, NULL);
    pthread_mutex_lock(&changer->bus.lock);
    while (changer->first != NULL)
        resume(take_first(changer));
    pthread_mutex_unlock(&changer->bus.lock);
}

void changer_destroy(struct changer *changer)
{
    if (changer == NULL)
        return;
    daemon_bus_finish(&changer->bus);
    free(changer);
}

void changer_begin(struct changer *changer, struct changer_call *call)
{
    call->next = NULL;
    pthread_mutex_lock(&changer->bus.lock);
    MHD_suspend_connection(call->connection);
    *changer->end = call;
    changer->end = &call->next;
    /* After changer_stop nobody else would answer the call. */
    if (changer->bus.stopping)
        while (changer->first != NULL)
            resume(take_first(changer));
    pthread_cond_signal(&changer->bus.changed);
    pthread_mutex_unlock(&changer->bus.lock);
}
