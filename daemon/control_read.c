/* What can be read, and its form on the bus. One table of fields serves the properties and
 * GetStats, which gives the moving ones as of one moment. Whatever has structure is a dictionary of
 * named values, so that a client can print what it does not know. */
#include "control_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/format.h"
#include "core/text.h"

/* Everything there is to be read, at one moment. */
struct reading {
    const struct config *config;
    struct camera_status camera;
    struct filter_chain chain;
    struct ring_server_stats server;
};

static void take_reading(struct reading *ret, const struct control_hooks *hooks)
{
    ret->config = hooks->config;
    camera_get_status(hooks->camera, &ret->camera);
    camera_get_filter(hooks->camera, &ret->chain);
    ring_server_get_stats(hooks->server, &ret->server);
}

/* ---- values ---- */

/* Bytes of the UTF-8 character (RFC 3629) that text begins with; 0: it begins with none. */
static unsigned utf8_length(const unsigned char *text)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high, length;
    } forms[] = {
        {0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (unsigned f = 0; f < sizeof forms / sizeof forms[0]; f++) {
        if (text[0] < forms[f].first_low || text[0] > forms[f].first_high)
            continue;
        if (forms[f].length > 1 &&
            (text[1] < forms[f].second_low || text[1] > forms[f].second_high))
            return 0;
        for (unsigned i = 2; i < forms[f].length; i++)
            if ((text[i] & 0xc0) != 0x80)
                return 0;
        return forms[f].length;
    }
    return 0;
}

const char *control_text(char clean[CONTROL_TEXT_BYTES], const char *text)
{
    size_t used = 0;
    while (*text != '\0') {
        unsigned length = utf8_length((const unsigned char *)text);
        if (used + (length > 0 ? length : 1) >= CONTROL_TEXT_BYTES)
            break;
        if (length == 0) {
            clean[used++] = '?';
            text++;
            continue;
        }
        memcpy(clean + used, text, length);
        used += length;
        text += length;
    }
    clean[used] = '\0';
    return clean;
}

static int append_text(sd_bus_message *reply, const char *text)
{
    char clean[CONTROL_TEXT_BYTES];
    return sd_bus_message_append(reply, "s", control_text(clean, text));
}

static int append_named_text(sd_bus_message *reply, const char *name, const char *text)
{
    char clean[CONTROL_TEXT_BYTES];
    return sd_bus_message_append(reply, "{sv}", name, "s", control_text(clean, text));
}

int control_close_containers(sd_bus_message *message, unsigned count)
{
    int r = 0;
    while (r >= 0 && count-- > 0)
        r = sd_bus_message_close_container(message);
    return r;
}

/* The name configuration knows a format by; its four characters where it has none. */
static void format_name(uint32_t fourcc, char name[16])
{
    const struct format_info *info = format_by_fourcc(fourcc);
    if (info != NULL) {
        snprintf(name, 16, "%s", info->name);
        return;
    }
    for (unsigned i = 0; i < 4; i++) {
        char c = (char)(fourcc >> 8 * i);
        name[i] = c > ' ' && c <= '~' ? c : '?';
    }
    name[4] = '\0';
}

static int append_planes(sd_bus_message *reply, const struct fftd_format *format)
{
    int r = sd_bus_message_open_container(reply, 'e', "sv");
    if (r < 0 || (r = sd_bus_message_append(reply, "s", "planes")) < 0 ||
        (r = sd_bus_message_open_container(reply, 'v', "aa{su}")) < 0 ||
        (r = sd_bus_message_open_container(reply, 'a', "a{su}")) < 0)
        return r;
    for (unsigned i = 0; i < format->plane_count; i++) {
        const struct fftd_plane *plane = &format->plane[i];
        r = sd_bus_message_append(reply, "a{su}", 4, "offset", plane->offset, "stride",
                                  plane->stride, "row_bytes", plane->row_bytes, "rows",
                                  plane->rows);
        if (r < 0)
            return r;
    }
    return control_close_containers(reply, 3);
}

int control_append_format(sd_bus_message *reply, const struct fftd_format *format)
{
    char name[16];
    format_name(format->fourcc, name);
    int r = sd_bus_message_open_container(reply, 'a', "{sv}");
    if (r < 0)
        return r;
    if (format->fourcc != 0) { /* otherwise none is known yet, and the dictionary stays empty */
        r = sd_bus_message_append(reply, "{sv}{sv}{sv}{sv}{sv}{sv}{sv}", "name", "s", name,
                                  "fourcc", "u", format->fourcc, "width", "u", format->width,
                                  "height", "u", format->height, "frame_bytes", "u",
                                  format->frame_bytes, "rate_num", "u", format->rate_num,
                                  "rate_den", "u", format->rate_den);
        if (r < 0)
            return r;
        r = sd_bus_message_append(reply, "{sv}{sv}{sv}{sv}", "primaries", "y", format->primaries,
                                  "transfer", "y", format->transfer, "matrix", "y", format->matrix,
                                  "full_range", "b", (int)format->full_range);
        if (r < 0 || (r = append_planes(reply, format)) < 0)
            return r;
    }
    return sd_bus_message_close_container(reply);
}

static int append_parameter(sd_bus_message *reply, const struct filter_param *param,
                            const struct filter_value *value)
{
    switch (param->type) {
    case FILTER_NUMBER:
        return sd_bus_message_append(reply, "{sv}", param->name, "d", value->number);
    case FILTER_PAIR:
        return sd_bus_message_append(reply, "{sv}", param->name, "ad", 2, value->number,
                                     value->second);
    case FILTER_CHOICE:
        return append_named_text(reply, param->name, param->choices[(unsigned)value->number]);
    case FILTER_BOOL:
        return sd_bus_message_append(reply, "{sv}", param->name, "b", value->number != 0);
    }
    return -EINVAL;
}

/* a{sv}: the kind, and the parameters by name. */
static int append_stage(sd_bus_message *reply, const struct filter_stage *stage)
{
    int r = sd_bus_message_open_container(reply, 'a', "{sv}");
    if (r < 0 || (r = append_named_text(reply, "kind", stage->kind->name)) < 0 ||
        (r = sd_bus_message_open_container(reply, 'e', "sv")) < 0 ||
        (r = sd_bus_message_append(reply, "s", "parameters")) < 0 ||
        (r = sd_bus_message_open_container(reply, 'v', "a{sv}")) < 0 ||
        (r = sd_bus_message_open_container(reply, 'a', "{sv}")) < 0)
        return r;
    for (unsigned i = 0; i < stage->kind->param_count; i++) {
        r = append_parameter(reply, &stage->kind->param[i], &stage->value[i]);
        if (r < 0)
            return r;
    }
    return control_close_containers(reply, 4);
}

static int append_histogram(sd_bus_message *reply, const char *name, const struct histogram *h)
{
    uint64_t mean_ns = h->count > 0 ? h->sum_ns / h->count : 0;
    return sd_bus_message_append(reply, "{sa{st}}", name, 6, "count", h->count, "mean_ns", mean_ns,
                                 "p50_ns", histogram_quantile(h, 0.5), "p90_ns",
                                 histogram_quantile(h, 0.9), "p99_ns", histogram_quantile(h, 0.99),
                                 "max_ns", h->max_ns);
}

/* A bucket an octave, from 8 us to 8 s: few enough to be stored for years, cumulative as Prometheus
 * wants them. */
#define FIRST_OCTAVE 3u
#define LAST_OCTAVE  23u

static int append_buckets(sd_bus_message *reply, const char *name, const struct histogram *h)
{
    int r = sd_bus_message_open_container(reply, 'e', "s(tta(tt))");
    if (r < 0 || (r = sd_bus_message_append(reply, "s", name)) < 0 ||
        (r = sd_bus_message_open_container(reply, 'r', "tta(tt)")) < 0 ||
        (r = sd_bus_message_append(reply, "tt", h->count, h->sum_ns)) < 0 ||
        (r = sd_bus_message_open_container(reply, 'a', "(tt)")) < 0)
        return r;
    for (unsigned octave = FIRST_OCTAVE; octave <= LAST_OCTAVE; octave++) {
        unsigned bucket = octave * HISTOGRAM_BUCKETS_AN_OCTAVE;
        r = sd_bus_message_append(reply, "(tt)", histogram_edge(bucket),
                                  histogram_below(h, bucket));
        if (r < 0)
            return r;
    }
    return control_close_containers(reply, 3);
}

/* ---- fields ---- */

static int append_name(sd_bus_message *reply, const struct reading *reading)
{
    return append_text(reply, reading->config->name);
}

static int append_version(sd_bus_message *reply, const struct reading *reading)
{
    (void)reading;
    return append_text(reply, FFTD_VERSION);
}

static int append_source(sd_bus_message *reply, const struct reading *reading)
{
    return append_text(reply, reading->config->source);
}

static int append_state(sd_bus_message *reply, const struct reading *reading)
{
    return append_text(reply, camera_state_name(reading->camera.state));
}

static int append_state_reason(sd_bus_message *reply, const struct reading *reading)
{
    return append_text(reply, reading->camera.state_reason);
}

static int append_source_description(sd_bus_message *reply, const struct reading *reading)
{
    return append_text(reply, reading->camera.source);
}

static int append_device(sd_bus_message *reply, const struct reading *reading)
{
    return append_text(reply, reading->camera.device);
}

static int append_device_memory(sd_bus_message *reply, const struct reading *reading)
{
    return append_text(reply, reading->camera.device_memory);
}

static int append_input(sd_bus_message *reply, const struct reading *reading)
{
    return append_text(reply, reading->camera.input);
}

static int append_engine(sd_bus_message *reply, const struct reading *reading)
{
    return append_text(reply, reading->camera.engine);
}

static int append_format(sd_bus_message *reply, const struct reading *reading)
{
    return control_append_format(reply, &reading->camera.format);
}

static int append_generation(sd_bus_message *reply, const struct reading *reading)
{
    return sd_bus_message_append(reply, "u", reading->camera.generation);
}

static int append_filter(sd_bus_message *reply, const struct reading *reading)
{
    char text[FILTER_TEXT_BYTES];
    filter_chain_print(&reading->chain, text, sizeof text);
    return append_text(reply, text);
}

static int append_stages(sd_bus_message *reply, const struct reading *reading)
{
    int r = sd_bus_message_open_container(reply, 'a', "a{sv}");
    for (unsigned i = 0; r >= 0 && i < reading->chain.count; i++)
        r = append_stage(reply, &reading->chain.stage[i]);
    return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_filter_problem(sd_bus_message *reply, const struct reading *reading)
{
    return append_text(reply, reading->camera.filter_problem);
}

static int append_serial(sd_bus_message *reply, const struct reading *reading)
{
    return sd_bus_message_append(reply, "t", reading->camera.wanted_serial);
}

static int append_published_serial(sd_bus_message *reply, const struct reading *reading)
{
    return sd_bus_message_append(reply, "t", reading->camera.filter_serial);
}

static int append_sequence(sd_bus_message *reply, const struct reading *reading)
{
    return sd_bus_message_append(reply, "t", reading->camera.newest_sequence);
}

static int append_rate(sd_bus_message *reply, const struct reading *reading)
{
    return sd_bus_message_append(reply, "d", reading->camera.rate);
}

static int append_clients(sd_bus_message *reply, const struct reading *reading)
{
    return sd_bus_message_append(reply, "u", (uint32_t)reading->server.clients);
}

static int append_counters(sd_bus_message *reply, const struct reading *reading)
{
    const struct camera_status *camera = &reading->camera;
    return sd_bus_message_append(
        reply, "a{st}", 12, "published", camera->published, "dropped_error", camera->dropped_error,
        "dropped_stale", camera->dropped_stale, "dropped_engine", camera->dropped_engine,
        "source_lost", camera->source_lost, "stalls", camera->stalls, "restarts", camera->restarts,
        "reopens", camera->reopens, "engine_failures", camera->engine_failures, "clients_attached",
        reading->server.attached, "clients_refused", reading->server.refused, "held_slots",
        (uint64_t)reading->server.held_slots);
}

static int append_latency(sd_bus_message *reply, const struct reading *reading)
{
    int r = sd_bus_message_open_container(reply, 'a', "{sa{st}}");
    for (unsigned i = 0; r >= 0 && i < STAGE_COUNT; i++)
        r = append_histogram(reply, camera_stage_name(i), &reading->camera.latency[i]);
    return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_histograms(sd_bus_message *reply, const struct reading *reading)
{
    int r = sd_bus_message_open_container(reply, 'a', "{s(tta(tt))}");
    for (unsigned i = 0; r >= 0 && i < STAGE_COUNT; i++)
        r = append_buckets(reply, camera_stage_name(i), &reading->camera.latency[i]);
    return r < 0 ? r : sd_bus_message_close_container(reply);
}

struct field {
    const char *name;
    const char *signature;
    int (*append)(sd_bus_message *reply, const struct reading *reading);
    bool in_stats; /* part of GetStats: what moves, and whose it is */
};

static const struct field fields[] = {
    {"Name", "s", append_name, true},
    {"Version", "s", append_version, false},
    {"Source", "s", append_source, false},
    {"State", "s", append_state, true},
    {"StateReason", "s", append_state_reason, true},
    {"SourceDescription", "s", append_source_description, false},
    {"Device", "s", append_device, false},
    {"DeviceMemory", "s", append_device_memory, false},
    {"Input", "s", append_input, false},
    {"Engine", "s", append_engine, false},
    {"Format", "a{sv}", append_format, false},
    {"Generation", "u", append_generation, false},
    {"Filter", "s", append_filter, false},
    {"FilterStages", "aa{sv}", append_stages, false},
    {"FilterProblem", "s", append_filter_problem, false},
    {"Serial", "t", append_serial, true},
    {"PublishedSerial", "t", append_published_serial, true},
    {"Sequence", "t", append_sequence, true},
    {"Rate", "d", append_rate, true},
    {"Clients", "u", append_clients, true},
    {"Counters", "a{st}", append_counters, true},
    {"Latency", "a{sa{st}}", append_latency, true},
    {"LatencyHistograms", "a{s(tta(tt))}", append_histograms, true},
};
#define FIELD_COUNT (sizeof fields / sizeof fields[0])

int control_get(sd_bus *bus, const char *path, const char *interface, const char *property,
                sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    const struct peer *peer = userdata;
    struct reading reading;
    (void)bus, (void)path, (void)interface, (void)error;

    take_reading(&reading, &peer->control->hooks);
    for (unsigned i = 0; i < FIELD_COUNT; i++)
        if (strcmp(fields[i].name, property) == 0)
            return fields[i].append(reply, &reading);
    return -ENOENT;
}

static int append_field(sd_bus_message *reply, const struct field *field,
                        const struct reading *reading)
{
    int r = sd_bus_message_open_container(reply, 'e', "sv");
    if (r < 0 || (r = sd_bus_message_append(reply, "s", field->name)) < 0 ||
        (r = sd_bus_message_open_container(reply, 'v', field->signature)) < 0 ||
        (r = field->append(reply, reading)) < 0 || (r = sd_bus_message_close_container(reply)) < 0)
        return r;
    return sd_bus_message_close_container(reply);
}

int control_get_stats(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    const struct peer *peer = userdata;
    struct reading reading;
    sd_bus_message *reply = NULL;
    (void)error;

    take_reading(&reading, &peer->control->hooks);
    int r = sd_bus_message_new_method_return(call, &reply);
    if (r >= 0)
        r = sd_bus_message_open_container(reply, 'a', "{sv}");
    for (unsigned i = 0; r >= 0 && i < FIELD_COUNT; i++)
        if (fields[i].in_stats)
            r = append_field(reply, &fields[i], &reading);
    if (r >= 0)
        r = sd_bus_message_close_container(reply);
    if (r >= 0)
        r = sd_bus_send(NULL, reply, NULL);
    sd_bus_message_unref(reply);
    return r;
}

/* ---- tuning ---- */

int control_get_tuning(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    const struct peer *peer = userdata;
    struct tuning_status tuning;
    char clean[CONTROL_TEXT_BYTES];
    (void)error;

    camera_get_tuning(peer->control->hooks.camera, &tuning);
    return sd_bus_reply_method_return(
        call, "a{sv}", 8, "Running", "b", tuning.running, "Exhaustive", "b", tuning.exhaustive,
        "Tuned", "b", tuning.tuned, "Tried", "u", tuning.progress.tried, "Total", "u",
        tuning.progress.total, "DefaultMilliseconds", "d", tuning.progress.default_ms,
        "BestMilliseconds", "d", tuning.progress.best_ms, "Problem", "s",
        tuning.result < 0 ? control_text(clean, tuning.why.text) : "");
}

/* ---- the filters there are ---- */

/* "0.0001 .. 0.5", "ideal, butterworth or gaussian" */
static void expected(const struct filter_param *param, char *text, size_t size)
{
    switch (param->type) {
    case FILTER_NUMBER:
        snprintf(text, size, "%g .. %g", param->min, param->max);
        break;
    case FILTER_PAIR:
        snprintf(text, size, "x/y, each %g .. %g", param->min, param->max);
        break;
    case FILTER_CHOICE:
        text[0] = '\0';
        for (unsigned i = 0; param->choices[i] != NULL; i++)
            text_append(text, size, "%s%s",
                        i == 0                          ? ""
                        : param->choices[i + 1] != NULL ? ", "
                                                        : " or ",
                        param->choices[i]);
        break;
    case FILTER_BOOL:
        snprintf(text, size, "true or false");
        break;
    }
}

/* As it would be written in a chain; empty where the parameter is required. */
static void initial(const struct filter_param *param, char *text, size_t size)
{
    text[0] = '\0';
    if (param->required)
        return;
    switch (param->type) {
    case FILTER_NUMBER:
        text_from_number(param->initial, text, size);
        break;
    case FILTER_PAIR:
        snprintf(text, size, "%g/%g", param->initial, param->initial);
        break;
    case FILTER_CHOICE:
        snprintf(text, size, "%s", param->choices[(unsigned)param->initial]);
        break;
    case FILTER_BOOL:
        snprintf(text, size, "%s", param->initial != 0 ? "true" : "false");
        break;
    }
}

static int append_param_help(sd_bus_message *reply, const struct filter_param *param)
{
    char range[200], value[TEXT_NUMBER_BYTES * 2];
    expected(param, range, sizeof range);
    initial(param, value, sizeof value);
    return sd_bus_message_append(reply, "a{sv}", 6, "name", "s", param->name, "summary", "s",
                                 param->summary, "unit", "s", param->unit, "required", "b",
                                 (int)param->required, "expected", "s", range, "default", "s",
                                 value);
}

static int append_kind_help(sd_bus_message *reply, const struct filter_kind *kind)
{
    int r = sd_bus_message_open_container(reply, 'a', "{sv}");
    if (r < 0 || (r = append_named_text(reply, "name", kind->name)) < 0 ||
        (r = append_named_text(reply, "summary", kind->summary)) < 0 ||
        (r = sd_bus_message_open_container(reply, 'e', "sv")) < 0 ||
        (r = sd_bus_message_append(reply, "s", "parameters")) < 0 ||
        (r = sd_bus_message_open_container(reply, 'v', "aa{sv}")) < 0 ||
        (r = sd_bus_message_open_container(reply, 'a', "a{sv}")) < 0)
        return r;
    for (unsigned i = 0; i < kind->param_count; i++)
        if ((r = append_param_help(reply, &kind->param[i])) < 0)
            return r;
    return control_close_containers(reply, 4);
}

int control_list_filters(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    sd_bus_message *reply = NULL;
    unsigned count;
    const struct filter_kind *kinds = filter_kinds(&count);
    (void)userdata, (void)error;

    int r = sd_bus_message_new_method_return(call, &reply);
    if (r >= 0)
        r = sd_bus_message_open_container(reply, 'a', "a{sv}");
    for (unsigned i = 0; r >= 0 && i < count; i++)
        r = append_kind_help(reply, &kinds[i]);
    if (r >= 0)
        r = sd_bus_message_close_container(reply);
    if (r >= 0)
        r = sd_bus_send(NULL, reply, NULL);
    sd_bus_message_unref(reply);
    return r;
}
