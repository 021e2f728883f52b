#include "status.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bus.h"
#include "common/reading.h"
#include "view_camera.h"

#define FRESH_NS  INT64_C(200000000)
#define MAX_BYTES (256 * 1024) /* in a JSON object; a chain has at most 32 KiB */

/* ---- the JSON object ---- */

/* Writes a property that is a container, if it exists. */
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

/* Writes the measures that the daemon takes, in the order in which they are shown. */
static void write_measures(struct json *json, sd_bus_message *p)
{
    json_open(json, "measures", '[');
    for (unsigned i = 0; i < reading_measure_count; i++) {
        const double value = bus_measure(p, reading_measures[i].name);
        if (isnan(value))
            continue;
        json_open(json, NULL, '{');
        json_text(json, "name", reading_measures[i].name);
        const char *unit = reading_measure_unit(&reading_measures[i], value);
        json_text(json, "unit", unit + (unit[0] == ' '));
        json_number(json, "value", value);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void write_state(struct json *json, sd_bus_message *p)
{
    uint64_t frames, sum_ns;
    reading_latency_sum(p, &frames, &sum_ns);
    json_text(json, "state", bus_text(p, "State"));
    json_text(json, "reason", bus_text(p, "StateReason"));
    json_text(json, "source", reading_source(p));
    status_write_filter(json, p);
    json_text(json, "view", bus_text(p, "PublishedView"));
    json_integer(json, "serial", bus_u64(p, "PublishedSerial"));
    char pending[READING_WHY_BYTES] = "";
    reading_is_pending(p, bus_u64(p, "Serial"), pending);
    json_text(json, "pending", pending);
    json_text(json, "preparing", bus_text(p, "Preparing"));
    json_number(json, "rate", bus_double(p, "Rate"));
    json_number(json, "latency_p50_ms", reading_latency_ms(p, "p50_ns"));
    json_number(json, "latency_p99_ms", reading_latency_ms(p, "p99_ns"));
    json_integer(json, "latency_frames", frames);
    json_number(json, "latency_sum_ms", (double)sum_ns / 1e6);
    write_measures(json, p);
    json_integer(json, "published", bus_counter(p, "Counters", "published"));
    json_integer(json, "clients", bus_u32(p, "Clients"));
    /* Only the main output's filter can be saved. The reply with the token says where. */
    json_bool(json, "can_save",
              bus_text(p, "SavedFile")[0] != '\0' &&
                  strcmp(bus_text(p, "OutputName"), "main") == 0);
    write_container(json, "format", p, "Format", "a{sv}");
    write_container(json, "outputs", p, "OutputNames", "as");
}

static void write_absence(struct json *json, const struct daemon_bus *bus, int error)
{
    char reason[512];
    daemon_bus_explain(bus, error, reason, sizeof reason);
    json_text(json, "state", "absent");
    json_text(json, "reason", reason);
}

/* If `properties` is NULL, writes the error. Returns NULL if memory is exhausted or the text is too
 * long. */
static struct image *write_json(const struct daemon_bus *bus, sd_bus_message *properties, int error)
{
    struct image *image = NULL;
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    if (file == NULL)
        return NULL;
    struct json json = {.file = file};
    json_open(&json, NULL, '{');
    json_text(&json, "name", camera_name_of(bus->place));
    if (properties != NULL)
        write_state(&json, properties);
    else
        write_absence(&json, bus, error);
    json_close(&json, '}');
    if (fclose(file) == 0 && bytes <= MAX_BYTES)
        image = image_create(text, bytes);
    free(text);
    return image;
}

static struct image *ask(struct daemon_bus *bus, void *context)
{
    sd_bus_message *properties = NULL;
    (void)context;
    int r = daemon_bus_open(bus);
    if (r == 0)
        r = bus_get_all(bus->bus, &properties);
    if (r < 0)
        daemon_bus_close(bus);
    struct image *image = write_json(bus, properties, r);
    if (image == NULL)
        image = write_json(bus, NULL, -EMSGSIZE);
    sd_bus_message_unref(properties);
    return image;
}

const struct asked_kind status_kind = {.fresh_ns = FRESH_NS, .ask = ask};
