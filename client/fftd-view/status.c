#include "status.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon_bus.h"
#include "fftd-ctl/bus.h"
#include "fftd-ctl/reading.h"

#define MAX_BYTES (256 * 1024) /* of a JSON object; a chain has at most 32 KiB */
/* The socket is kept open while browsers ask, which they do once a second. */
#define KEEP_NS   (5 * INT64_C(1000000000))

struct status {
    struct daemon_bus bus;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* The lock protects these. */
    bool stopping;
    struct waiter *waiters;
    char *json; /* NULL before the first answer */
    int64_t json_ns;
};

/* Replies go into JSON, which escapes what texts contain, so they are not cleaned. */
static const struct ctl as_json = {.json = true};

/* ---- what is told ---- */

/* Writes a property that is a container, if there is one. */
static void write_container(struct json *json, const char *key, sd_bus_message *p,
                            const char *property, const char *contents)
{
    if (bus_find(p, property, contents))
        bus_to_json(p, json, key);
}

void status_write_filter(struct json *json, sd_bus_message *p)
{
    json_text(json, "filter", bus_text(p, "Filter"));
    json_text(json, "filter_problem", bus_text(p, "FilterProblem"));
    json_integer(json, "filter_serial", bus_u64(p, "Serial"));
    write_container(json, "stages", p, "FilterStages", "aa{sv}");
    write_container(json, "adaptation", p, "Adaptation", "a{sv}");
}

static void write_state(struct json *json, sd_bus_message *p)
{
    json_text(json, "state", bus_text(p, "State"));
    json_text(json, "reason", bus_text(p, "StateReason"));
    json_text(json, "source", reading_source(p));
    status_write_filter(json, p);
    json_text(json, "view", bus_text(p, "PublishedView"));
    json_integer(json, "serial", bus_u64(p, "PublishedSerial"));
    json_number(json, "rate", bus_double(p, "Rate"));
    json_number(json, "latency_p50_ms", reading_latency_ms(p, "p50_ns"));
    json_number(json, "latency_p99_ms", reading_latency_ms(p, "p99_ns"));
    json_integer(json, "published", bus_counter(p, "Counters", "published"));
    json_integer(json, "clients", bus_u32(p, "Clients"));
    write_container(json, "format", p, "Format", "a{sv}");
}

static void write_absence(struct json *json, const struct status *status, int error)
{
    char reason[512];
    daemon_bus_explain(&status->bus, error, reason, sizeof reason);
    json_text(json, "state", "absent");
    json_text(json, "reason", reason);
}

/* properties NULL: there is an error. Returns NULL if memory is exhausted or the text too long. */
static char *write_json(const struct status *status, sd_bus_message *properties, int error)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    if (file == NULL)
        return NULL;
    struct json json = {.file = file};
    json_open(&json, NULL, '{');
    json_text(&json, "name", status->bus.name);
    if (properties != NULL)
        write_state(&json, properties);
    else
        write_absence(&json, status, error);
    json_close(&json, '}');
    if (fclose(file) != 0 || bytes > MAX_BYTES) {
        free(text);
        return NULL;
    }
    return text;
}

/* ---- the thread ---- */

static char *ask(struct status *status)
{
    sd_bus_message *properties = NULL;
    int r = daemon_bus_open(&status->bus);
    if (r == 0)
        r = bus_try_get_all(&as_json, status->bus.bus, &properties);
    if (r < 0)
        daemon_bus_close(&status->bus);
    char *json = write_json(status, properties, r);
    if (json == NULL)
        json = write_json(status, NULL, -EMSGSIZE);
    sd_bus_message_unref(properties);
    return json;
}

static void refresh(struct status *status)
{
    pthread_mutex_unlock(&status->lock);
    char *json = ask(status);
    pthread_mutex_lock(&status->lock);
    free(status->json);
    status->json = json;
    status->json_ns = waiter_now_ns();
    waiter_resume(&status->waiters, WAITER_STATUS);
}

static void *run(void *userdata)
{
    struct status *status = userdata;
    pthread_mutex_lock(&status->lock);
    while (!status->stopping) {
        if (status->waiters != NULL) {
            refresh(status);
        } else if (status->bus.bus == NULL) {
            pthread_cond_wait(&status->changed, &status->lock);
        } else {
            const int64_t until_ns = status->json_ns + KEEP_NS;
            const struct timespec until = {.tv_sec = until_ns / 1000000000,
                                           .tv_nsec = until_ns % 1000000000};
            if (pthread_cond_timedwait(&status->changed, &status->lock, &until) == ETIMEDOUT &&
                status->waiters == NULL) {
                pthread_mutex_unlock(&status->lock);
                daemon_bus_close(&status->bus);
                pthread_mutex_lock(&status->lock);
            }
        }
    }
    pthread_mutex_unlock(&status->lock);
    return NULL;
}

/* ---- from other threads ---- */

int status_create(struct status **ret, const char *name)
{
    struct status *status = calloc(1, sizeof *status);
    if (status == NULL)
        return -ENOMEM;
    daemon_bus_init(&status->bus, name, "control-watch");
    pthread_mutex_init(&status->lock, NULL);
    waiter_init_condition(&status->changed);
    int r = -pthread_create(&status->thread, NULL, run, status);
    if (r < 0) {
        free(status);
        return r;
    }
    *ret = status;
    return 0;
}

void status_stop(struct status *status)
{
    pthread_mutex_lock(&status->lock);
    status->stopping = true;
    waiter_resume_all(&status->waiters);
    pthread_cond_signal(&status->changed);
    pthread_mutex_unlock(&status->lock);
    daemon_bus_stop(&status->bus);
}

void status_destroy(struct status *status)
{
    if (status == NULL)
        return;
    pthread_join(status->thread, NULL);
    daemon_bus_finish(&status->bus);
    free(status->json);
    pthread_cond_destroy(&status->changed);
    pthread_mutex_destroy(&status->lock);
    free(status);
}

int status_take(struct status *status, struct waiter *waiter, char **ret)
{
    int r = 0;
    pthread_mutex_lock(&status->lock);
    const bool is_fresh =
        status->json != NULL && waiter_now_ns() - status->json_ns < STATUS_FRESH_NS;
    if (status->stopping) {
        r = -ECANCELED;
    } else if (!is_fresh && !waiter->is_over) {
        waiter->is_over = true; /* it waits for each camera once */
        waiter_add(&status->waiters, waiter);
        pthread_cond_signal(&status->changed);
        r = -EAGAIN;
    } else {
        *ret = status->json != NULL ? strdup(status->json) : NULL;
        r = *ret != NULL ? 0 : -ENOMEM;
    }
    pthread_mutex_unlock(&status->lock);
    return r;
}
