#include "discovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bus.h"
#include "common/json.h"
#include "common/reading.h"

#define TOPIC_BYTES 512

struct entity {
    const char *component, *object, *name;
    const char *topic;    /* below PREFIX/ID */
    const char *key;      /* what the value is called there; NULL: the whole message */
    const char *unit;     /* NULL: none */
    const char *category; /* NULL: what people look at first */
};

static const struct entity entities[] = {
    {"sensor", "state", "State", "state", "State", NULL, NULL},
    {"sensor", "filter", "Filter", "state", "Filter", NULL, NULL},
    {"sensor", "rate", "Frame rate", "state", "Rate", "Hz", NULL},
    {"sensor", "readers", "Readers", "state", "Clients", NULL, "diagnostic"},
    {"sensor", "reason", "Reason", "state", "StateReason", NULL, "diagnostic"},
};

static void put(struct json *json, const char *key, const struct bridge_options *options,
                const char *what)
{
    char topic[TOPIC_BYTES];
    snprintf(topic, sizeof topic, "%s/%s/%s", options->prefix, options->id, what);
    json_text(json, key, topic);
}

static void put_device(struct json *json, const struct bridge_options *options)
{
    char id[BRIDGE_ID_BYTES + 8];
    snprintf(id, sizeof id, "fftd_%s", options->id);
    json_open(json, "device", '{');
    json_open(json, "identifiers", '[');
    json_text(json, NULL, id);
    json_close(json, ']');
    json_text(json, "name", options->id);
    json_text(json, "model", "frequency-filtered camera");
    json_text(json, "sw_version", "fftd " FFTD_VERSION);
    json_close(json, '}');
}

struct message {
    char topic[TOPIC_BYTES];
    char *data;
    size_t bytes;
    struct json json;
};

static void name_topic(char ret[TOPIC_BYTES], const struct bridge_options *options,
                       const char *component, const char *object)
{
    snprintf(ret, TOPIC_BYTES, "%s/%s/fftd_%s/%s/config", options->discovery, component,
             options->id, object);
}

static bool begin(struct message *ret, const struct bridge_options *options, const char *component,
                  const char *object, const char *name)
{
    char id[BRIDGE_ID_BYTES + 64];
    name_topic(ret->topic, options, component, object);
    ret->data = NULL;
    ret->json = (struct json){.file = open_memstream(&ret->data, &ret->bytes)};
    if (ret->json.file == NULL)
        return false;
    snprintf(id, sizeof id, "fftd_%s_%s", options->id, object);
    json_open(&ret->json, NULL, '{');
    json_text(&ret->json, "unique_id", id);
    json_text(&ret->json, "name", name);
    put(&ret->json, "availability_topic", options, "availability");
    return true;
}

static void end(struct message *message, struct broker *broker,
                const struct bridge_options *options)
{
    put_device(&message->json, options);
    json_close(&message->json, '}');
    if (fclose(message->json.file) == 0 && message->data != NULL)
        broker_publish(broker, message->topic, message->data, message->bytes, true);
    free(message->data);
}

/* Takes back what an earlier start with other options has offered. */
static void withdraw(struct broker *broker, const struct bridge_options *options,
                     const char *component, const char *object)
{
    char topic[TOPIC_BYTES];
    name_topic(topic, options, component, object);
    broker_publish(broker, topic, "", 0, true);
}

static void offer(struct broker *broker, const struct bridge_options *options,
                  const struct entity *entity)
{
    struct message message;
    char template[96];
    if (!begin(&message, options, entity->component, entity->object, entity->name))
        return;
    put(&message.json, "state_topic", options, entity->topic);
    snprintf(template, sizeof template, "{{ value_json.%s }}", entity->key);
    json_text(&message.json, "value_template", template);
    if (entity->unit != NULL) {
        json_text(&message.json, "unit_of_measurement", entity->unit);
        json_text(&message.json, "state_class", "measurement");
    }
    if (entity->category != NULL)
        json_text(&message.json, "entity_category", entity->category);
    end(&message, broker, options);
}

static void offer_measures(struct broker *broker, const struct bridge_options *options)
{
    for (unsigned i = 0; i < reading_measure_count; i++) {
        const char *unit = reading_measures[i].unit;
        const struct entity entity = {
            "sensor",   reading_measures[i].name, reading_measures[i].name,
            "measures", reading_measures[i].name, *unit == ' ' ? unit + 1 : NULL,
            NULL};
        offer(broker, options, &entity);
    }
}

static void offer_picture(struct broker *broker, const struct bridge_options *options)
{
    struct message message;
    if (!begin(&message, options, "camera", "picture", "Picture"))
        return;
    put(&message.json, "topic", options, "picture");
    end(&message, broker, options);
}

static void offer_presets(struct broker *broker, const struct bridge_options *options, sd_bus *bus)
{
    struct message message;
    sd_bus_message *reply = NULL;
    const char *preset;
    if (sd_bus_call_method(bus, NULL, bus_path(bus), BUS_INTERFACE, "ListPresets", NULL, &reply,
                           "") >= 0 &&
        sd_bus_message_enter_container(reply, 'a', "s") > 0 &&
        begin(&message, options, "select", "preset", "Preset")) {
        put(&message.json, "command_topic", options, "filter/set");
        json_text(&message.json, "command_template", "preset:{{ value }}");
        put(&message.json, "state_topic", options, "preset");
        json_open(&message.json, "options", '[');
        while (sd_bus_message_read(reply, "s", &preset) > 0)
            json_text(&message.json, NULL, preset);
        json_close(&message.json, ']');
        end(&message, broker, options);
    }
    sd_bus_message_unref(reply);
}

void discovery_publish(struct broker *broker, const struct bridge_options *options, sd_bus *bus)
{
    for (unsigned i = 0; i < sizeof entities / sizeof entities[0]; i++)
        offer(broker, options, &entities[i]);
    offer_measures(broker, options);
    if (options->picture_s > 0)
        offer_picture(broker, options);
    else
        withdraw(broker, options, "camera", "picture");
    if (options->allows_changes)
        offer_presets(broker, options, bus);
    else
        withdraw(broker, options, "select", "preset");
}
