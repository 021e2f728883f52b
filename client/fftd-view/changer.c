#include "changer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/clock.h"
#include "daemon_bus.h"
#include "common/bus.h"
#include "status.h"

/* The size of a text about an error; longer ones of the daemon are cut. */
#define TEXT_BYTES 1024
/* An idle connection is closed: the socket serves only 16 connections of one user. */
#define KEEP_NS    (5 * NS_PER_S)

struct changer {
    struct daemon_bus bus;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* The lock protects these. */
    bool stopping;
    struct changer_call *first, **end;
};

/* ---- answers ---- */

static void answer(struct changer_call *call, unsigned status, const char *text)
{
    free(call->text);
    call->text = malloc(TEXT_BYTES);
    if (call->text != NULL)
        snprintf(call->text, TEXT_BYTES, "%.*s\n", TEXT_BYTES - 2, text);
    call->status = status;
}

/* Returns the HTTP status for an error of the daemon. */
static unsigned status_of(const sd_bus_error *error)
{
    static const struct {
        const char *name;
        unsigned status;
    } known[] = {
        {"org.fftd.Error.InvalidFilter", MHD_HTTP_UNPROCESSABLE_CONTENT},
        {"org.fftd.Error.NoSuchStage", MHD_HTTP_UNPROCESSABLE_CONTENT},
        {"org.fftd.Error.FilterChanged", MHD_HTTP_CONFLICT},
        {SD_BUS_ERROR_ACCESS_DENIED, MHD_HTTP_FORBIDDEN},
        {SD_BUS_ERROR_UNKNOWN_METHOD, MHD_HTTP_BAD_GATEWAY},
        {SD_BUS_ERROR_INVALID_ARGS, MHD_HTTP_BAD_GATEWAY},
    };
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++)
        if (sd_bus_error_has_name(error, known[i].name))
            return known[i].status;
    return MHD_HTTP_SERVICE_UNAVAILABLE;
}

static void answer_failure(struct changer *changer, struct changer_call *call, int result,
                           const sd_bus_error *error)
{
    char text[TEXT_BYTES];
    if (sd_bus_error_is_set(error) && error->message != NULL &&
        status_of(error) != MHD_HTTP_SERVICE_UNAVAILABLE) {
        answer(call, status_of(error), error->message);
        return;
    }
    daemon_bus_explain(&changer->bus, result, text, sizeof text);
    answer(call,
           result == -EACCES || result == -EPERM ? MHD_HTTP_FORBIDDEN
                                                 : MHD_HTTP_SERVICE_UNAVAILABLE,
           text);
}

/* ---- calls ---- */

/* Each function writes its part of the answer and returns the result of sd-bus. */
static int write_reply(struct changer *changer, struct json *json, const char *key,
                       const char *method, sd_bus_error *error)
{
    sd_bus_message *reply = NULL;
    int r = sd_bus_call_method(changer->bus.bus, NULL, BUS_PATH, BUS_INTERFACE, method, error,
                               &reply, NULL);
    if (r >= 0)
        r = bus_to_json(reply, json, key);
    sd_bus_message_unref(reply);
    return r;
}

static int write_kinds(struct changer *changer, struct json *json, sd_bus_error *error)
{
    int r = write_reply(changer, json, "kinds", "ListFilters", error);
    return r < 0 ? r : write_reply(changer, json, "presets", "ListPresets", error);
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
    sd_bus_message *message = NULL, *reply = NULL, *properties = NULL;
    uint64_t serial;
    int r = make_change(changer->bus.bus, &call->change, &message);
    if (r == -EINVAL) {
        answer(call, MHD_HTTP_BAD_REQUEST, "a word of the changes is not a valid text of D-Bus");
        goto out;
    }
    if (r >= 0)
        r = sd_bus_call(changer->bus.bus, message, 0, error, &reply);
    if (r >= 0)
        r = sd_bus_message_read(reply, "t", &serial);
    if (r < 0)
        goto out;
    json_integer(json, "serial", serial);
    r = bus_get_all(changer->bus.bus, &properties);
    if (r >= 0)
        status_write_filter(json, properties);
    r = 0; /* the change was made, even if reading the properties failed */
out:
    sd_bus_message_unref(properties);
    sd_bus_message_unref(reply);
    sd_bus_message_unref(message);
    return r;
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
        r = call->change.changes != NULL ? write_change(changer, call, &json, &error)
                                         : write_kinds(changer, &json, &error);
        json_close(&json, '}');
    }
    const bool is_written = fclose(json.file) == 0;
    if (r >= 0 && is_written) {
        call->text = text;
        call->bytes = bytes;
        call->status = MHD_HTTP_OK;
    } else {
        free(text);
        if (call->status == 0)
            answer_failure(changer, call, r, &error);
    }
    /* The answer to a call that timed out may still arrive, and must not answer the next call. */
    if (r < 0 && call->status == MHD_HTTP_SERVICE_UNAVAILABLE)
        daemon_bus_close(&changer->bus);
    sd_bus_error_free(&error);
}

/* ---- the thread ---- */

/* The call may be freed as soon as its connection is resumed. The lock is held. */
static void resume(struct changer_call *call)
{
    if (call->status == 0)
        answer(call, MHD_HTTP_SERVICE_UNAVAILABLE, "fftd-view cannot ask the daemon now");
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
    pthread_mutex_lock(&changer->lock);
    while (!changer->stopping) {
        const struct timespec until = clock_timespec(clock_now_ns() + KEEP_NS);
        if (changer->first != NULL) {
            struct changer_call *call = take_first(changer);
            pthread_mutex_unlock(&changer->lock);
            perform(changer, call);
            pthread_mutex_lock(&changer->lock);
            resume(call);
        } else if (changer->bus.bus == NULL) {
            pthread_cond_wait(&changer->changed, &changer->lock);
        } else if (pthread_cond_timedwait(&changer->changed, &changer->lock, &until) == ETIMEDOUT) {
            daemon_bus_close(&changer->bus);
        }
    }
    pthread_mutex_unlock(&changer->lock);
    return NULL;
}

/* ---- from other threads ---- */

int changer_create(struct changer **ret, const char *name)
{
    struct changer *changer = calloc(1, sizeof *changer);
    if (changer == NULL)
        return -ENOMEM;
    changer->end = &changer->first;
    pthread_mutex_init(&changer->lock, NULL);
    clock_cond_init(&changer->changed);
    daemon_bus_init(&changer->bus, name, "control");
    int r = -pthread_create(&changer->thread, NULL, run, changer);
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
    pthread_mutex_lock(&changer->lock);
    changer->stopping = true;
    pthread_cond_signal(&changer->changed);
    pthread_mutex_unlock(&changer->lock);
    daemon_bus_stop(&changer->bus);
    pthread_join(changer->thread, NULL);
    pthread_mutex_lock(&changer->lock);
    while (changer->first != NULL)
        resume(take_first(changer));
    pthread_mutex_unlock(&changer->lock);
}

void changer_destroy(struct changer *changer)
{
    if (changer == NULL)
        return;
    daemon_bus_finish(&changer->bus);
    pthread_cond_destroy(&changer->changed);
    pthread_mutex_destroy(&changer->lock);
    free(changer);
}

void changer_begin(struct changer *changer, struct changer_call *call)
{
    call->next = NULL;
    pthread_mutex_lock(&changer->lock);
    MHD_suspend_connection(call->connection);
    *changer->end = call;
    changer->end = &call->next;
    /* After changer_stop nobody else would answer the call. */
    if (changer->stopping)
        while (changer->first != NULL)
            resume(take_first(changer));
    pthread_cond_signal(&changer->changed);
    pthread_mutex_unlock(&changer->lock);
}
