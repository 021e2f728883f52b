/* The properties and GetStats. The table at the end has a row for each property: what introspection
 * shows, what Get and GetAll append, and whether GetStats returns it. GetStats returns the
 * properties that change from frame to frame, all taken at the same moment. Structured values are
 * dictionaries, so that a client can print values that it does not know. */
#include "bus/methods.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "bus/value.h"
#include "engine/engine.h"

/* A copy of everything that the properties show, taken at one moment. */
struct reading {
    const char *name, *output_name, *version, *config_file, *state, *view, *published_view;
    const char *const *overrides;
    const struct config *config;
    uint64_t start_time_ns;
    struct camera_status camera;
    struct filter_chain chain;
    struct observer_status adaptation;
    struct ring_server_stats server;
    bool withholds_findings; /* the peer may not learn what is in captured frames */
};

static void take_reading(struct reading *ret, const struct peer *peer, unsigned output_number)
{
    const struct bus_hooks *hooks = &peer->services->hooks;
    const struct config_output *output = &hooks->config->output;
    camera_get_status(hooks->camera, output_number, &ret->camera);
    camera_get_filter(hooks->camera, output_number, &ret->chain);
    camera_get_adaptation(hooks->camera, &ret->adaptation);
    ring_server_get_stats(hooks->server[output_number], &ret->server);
    ret->name = hooks->config->name;
    ret->output_name = config_output_name(hooks->config, output_number);
    ret->config = hooks->config;
    ret->version = FFTD_VERSION;
    ret->config_file = hooks->config_file;
    ret->overrides = hooks->overrides;
    ret->start_time_ns = hooks->start_time_ns;
    ret->state = camera_state_names[ret->camera.state];
    ret->view = view_names[camera_get_view(hooks->camera, output_number)];
    ret->published_view = view_names[ret->camera.view];
    ret->withholds_findings = peer->is_watcher && !output->measures && !output->watch_unfiltered;
}

/* ---- texts, formats and comparisons ---- */

static int append_array(sd_bus_message *reply, const void *text)
{
    return value_append_text(reply, text);
}

static int append_pointer(sd_bus_message *reply, const void *text)
{
    return value_append_text(reply, *(const char *const *)text);
}

static int append_strings(sd_bus_message *reply, const void *strings)
{
    return sd_bus_message_append_strv(reply, *(char **const *)strings);
}

static int append_saved_file(sd_bus_message *reply, const void *config)
{
    return value_append_text(reply, (*(const struct config *const *)config)->saved.path);
}

static int append_saved_keys(sd_bus_message *reply, const void *config)
{
    const struct config_saved *saved = &(*(const struct config *const *)config)->saved;
    sd_bus_message_open_container(reply, 'a', "s");
    for (unsigned i = 0; i < CONFIG_SAVED_KEYS; i++)
        if (saved->is_used[i])
            sd_bus_message_append(reply, "s", config_saved_names[i]);
    return sd_bus_message_close_container(reply);
}

static int append_output_names(sd_bus_message *reply, const void *value)
{
    const struct config *config = *(const struct config *const *)value;
    sd_bus_message_open_container(reply, 'a', "s");
    for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS; i++)
        if (config_has_output(config, i))
            sd_bus_message_append(reply, "s", config_output_name(config, i));
    return sd_bus_message_close_container(reply);
}

/* The controls that are set whenever the camera is opened, as a configuration has them. */
static int append_controls(sd_bus_message *reply, const void *controls)
{
    char text[SETTINGS_TEXT_BYTES];
    settings_print(controls, text, sizeof text);
    return value_append_text(reply, text);
}

static int append_format(sd_bus_message *reply, const void *value)
{
    const struct camera_status *camera = value;
    return value_append_format(reply, &camera->format, &camera->captured, NULL);
}

/* The dictionary is empty until a search has compared the devices. */
static int append_comparison(sd_bus_message *reply, const void *value)
{
    const struct camera_status *camera = value;
    const struct comparison *comparison = &camera->comparison;
    sd_bus_message_open_container(reply, 'a', "{sv}");
    if (camera->has_comparison) {
        sd_bus_message_append(reply, "{sv}{sv}{sv}{sv}{sv}", "device_ms", "d",
                              comparison->device_ms, "cpu_ms", "d", comparison->cpu_ms,
                              "cpu_is_faster", "b", (int)comparison_favours_cpu(comparison),
                              "cpu_is_used", "b", (int)comparison->uses_cpu, "is_automatic", "b",
                              (int)comparison->is_automatic);
        value_append_named_text(reply, "device", comparison->device);
        value_append_named_text(reply, "cpu_device", comparison->cpu_device);
        if (comparison->problem[0] != '\0')
            value_append_named_text(reply, "problem", comparison->problem);
    }
    return sd_bus_message_close_container(reply);
}

/* A device that shares the host's memory, as the CPU device does, has no limit of its own. */
static int append_memory(sd_bus_message *reply, const void *value)
{
    const struct camera_status *camera = value;
    const struct budget *budget = &camera->budget;
    sd_bus_message_open_container(reply, 'a', "{st}");
    sd_bus_message_append(reply, "{st}{st}", "host", camera->memory.host, "host_limit",
                          budget->host);
    if (!budget->is_shared && !camera->comparison.uses_cpu)
        sd_bus_message_append(reply, "{st}{st}", "device", camera->memory.device, "device_limit",
                              budget->device);
    return sd_bus_message_close_container(reply);
}

/* ---- the filter ---- */

static int append_filter(sd_bus_message *reply, const void *chain)
{
    char text[FILTER_TEXT_BYTES];
    filter_chain_print(chain, text, sizeof text);
    return value_append_text(reply, text);
}

static int append_wave(sd_bus_message *reply, const struct periodic_report *wave)
{
    return sd_bus_message_append(reply, "a{sv}", 5, "fx", "d", wave->fx, "fy", "d", wave->fy,
                                 "amplitude", "d", wave->amplitude, "since_ns", "t",
                                 (uint64_t)wave->since_ns, "removed", "b", (int)wave->is_removed);
}

static int append_waves(sd_bus_message *reply, const struct observer_status *status)
{
    value_open_array(reply, "waves", "a{sv}");
    for (unsigned i = 0; i < status->found.wave_count; i++)
        append_wave(reply, &status->found.wave[i]);
    return value_close_containers(reply, 3);
}

/* The dictionary is empty while no flicker is found. */
static int append_flicker(sd_bus_message *reply, const struct observer_status *status)
{
    const struct flicker_report *flicker = &status->found.flicker_report;
    if (!status->found.has_flicker)
        return sd_bus_message_append(reply, "{sv}", "flicker", "a{sv}", 0);
    return sd_bus_message_append(reply, "{sv}", "flicker", "a{sv}", 4, "frequency", "d",
                                 flicker->frequency_hz, "depth", "d", flicker->depth,
                                 "line_time_us", "d", flicker->line_time_ns / 1000, "since_ns", "t",
                                 (uint64_t)status->found.flicker_since_ns);
}

/* The dictionary is empty while no stage adapts. */
static int append_adaptation(sd_bus_message *reply, const void *value)
{
    const struct reading *reading = value;
    const struct observer_status *status = &reading->adaptation;
    const bool is_wanted = observer_is_wanted(&status->wanted);
    sd_bus_message_open_container(reply, 'a', "{sv}");
    if (is_wanted)
        sd_bus_message_append(reply, "{sv}", "observed", "t", status->observed);
    if (is_wanted && reading->withholds_findings)
        sd_bus_message_append(reply, "{sv}", "withheld", "b", 1);
    if (status->wanted.removes_waves && !reading->withholds_findings)
        append_waves(reply, status);
    if (status->wanted.removes_flicker && !reading->withholds_findings)
        append_flicker(reply, status);
    if (status->wanted.estimates_noise && !reading->withholds_findings)
        sd_bus_message_append(reply, "{sv}", "noise", "d", status->found.noise);
    if (status->problem.text[0] != '\0')
        value_append_named_text(reply, "problem", status->problem.text);
    return sd_bus_message_close_container(reply);
}

/* ---- counters and times ---- */

/* Only a uint64_t compiles. (clang-format's versions differ about a colon.) */
/* clang-format off */
#define COUNTER(member)                                                                            \
    _Generic(((struct reading *)NULL)->member, uint64_t: offsetof(struct reading, member))
/* clang-format on */

static const struct counter {
    const char *name;
    size_t offset; /* where struct reading has it */
} counters[] = {
    {"published", COUNTER(camera.published)},
    {"dropped_error", COUNTER(camera.counts.error)},
    {"dropped_stale", COUNTER(camera.counts.stale)},
    {"dropped_engine", COUNTER(camera.dropped_engine)},
    {"source_lost", COUNTER(camera.counts.lost)},
    {"stalls", COUNTER(camera.counts.stalls)},
    {"restarts", COUNTER(camera.counts.restarts)},
    {"reopens", COUNTER(camera.counts.reopens)},
    {"engine_failures", COUNTER(camera.engine_failures)},
    {"clients_attached", COUNTER(server.attached)},
    {"clients_refused", COUNTER(server.refused)},
    {"held_slots", COUNTER(server.held_slots)},
};

static int append_counters(sd_bus_message *reply, const void *reading)
{
    sd_bus_message_open_container(reply, 'a', "{st}");
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        sd_bus_message_append(reply, "{st}", counters[i].name,
                              *(const uint64_t *)((const char *)reading + counters[i].offset));
    return sd_bus_message_close_container(reply);
}

static int append_copies(sd_bus_message *reply, const void *value)
{
    const struct copy_count *copy = value;
    sd_bus_message_open_container(reply, 'a', "{s(tt)}");
    for (unsigned i = 0; i < COPY_COUNT; i++)
        sd_bus_message_append(reply, "{s(tt)}", camera_copy_names[i], copy[i].times, copy[i].bytes);
    return sd_bus_message_close_container(reply);
}

static int append_overhead(sd_bus_message *reply, const void *value)
{
    const struct time_sum *sum = value;
    sd_bus_message_open_container(reply, 'a', "{s(tt)}");
    for (unsigned i = 0; i < OVERHEAD_COUNT; i++)
        sd_bus_message_append(reply, "{s(tt)}", overhead_names[i], sum[i].frames, sum[i].ns);
    return sd_bus_message_close_container(reply);
}

/* Steps that have taken no time in any frame, or whose device does not report it, are left out. */
static int append_step_times(sd_bus_message *reply, const void *value)
{
    const struct time_sum *sum = value;
    sd_bus_message_open_container(reply, 'a', "{s(tt)}");
    for (unsigned i = 0; engine_step_name(i) != NULL; i++)
        if (sum[i].ns > 0)
            sd_bus_message_append(reply, "{s(tt)}", engine_step_name(i), sum[i].frames, sum[i].ns);
    return sd_bus_message_close_container(reply);
}

static int append_latency(sd_bus_message *reply, const void *value)
{
    const struct histogram *latency = value;
    sd_bus_message_open_container(reply, 'a', "{sa{st}}");
    for (unsigned i = 0; i < STAGE_COUNT; i++) {
        const struct histogram *h = &latency[i];
        const uint64_t mean_ns = h->count > 0 ? h->sum_ns / h->count : 0;
        sd_bus_message_append(reply, "{sa{st}}", camera_stage_names[i], 6, "count", h->count,
                              "mean_ns", mean_ns, "p50_ns", histogram_quantile(h, 0.5), "p90_ns",
                              histogram_quantile(h, 0.9), "p99_ns", histogram_quantile(h, 0.99),
                              "max_ns", h->max_ns);
    }
    return sd_bus_message_close_container(reply);
}

/* Clients get one bucket for each octave from 8 us to 8 s, few enough to be stored for years. They
 * are cumulative, as Prometheus expects. */
#define FIRST_OCTAVE 3u
#define LAST_OCTAVE  23u

static int append_buckets(sd_bus_message *reply, const char *name, const struct histogram *h)
{
    sd_bus_message_open_container(reply, 'e', "s(tta(tt))");
    sd_bus_message_append(reply, "s", name);
    sd_bus_message_open_container(reply, 'r', "tta(tt)");
    sd_bus_message_append(reply, "tt", h->count, h->sum_ns);
    sd_bus_message_open_container(reply, 'a', "(tt)");
    for (unsigned octave = FIRST_OCTAVE; octave <= LAST_OCTAVE; octave++) {
        const unsigned bucket = octave * HISTOGRAM_BUCKETS_AN_OCTAVE;
        sd_bus_message_append(reply, "(tt)", histogram_edge(bucket), histogram_below(h, bucket));
    }
    return value_close_containers(reply, 3);
}

static int append_histograms(sd_bus_message *reply, const void *value)
{
    const struct histogram *latency = value;
    sd_bus_message_open_container(reply, 'a', "{s(tta(tt))}");
    for (unsigned i = 0; i < STAGE_COUNT; i++)
        append_buckets(reply, camera_stage_names[i], &latency[i]);
    return sd_bus_message_close_container(reply);
}

/* A measure that was not taken is left out. The first one needs no output.measures. */
static int append_measures(sd_bus_message *reply, const void *value)
{
    const struct camera_status *camera = value;
    const struct fftd_measures *m = &camera->measures;
    static const struct fftd_similarity unsure = {NAN, NAN, NAN, NAN, NAN, 0};
    const struct fftd_similarity *scene = camera->has_similarity ? &camera->similarity : &unsure;
    const struct {
        const char *name;
        double value;
    } values[] = {
        {"stacked", camera->stacked > 0 ? camera->stacked : (double)NAN},
        {"sharpness", (double)m->sharpness},
        {"picture_state",
         camera->picture_state != FFTD_PICTURE_UNKNOWN ? camera->picture_state : (double)NAN},
        {"noise", (double)m->noise},
        {"mean", (double)m->mean},
        {"clipped", (double)m->clipped},
        {"shift_x", (double)m->shift_x},
        {"shift_y", (double)m->shift_y},
        {"shift_confidence", (double)m->shift_confidence},
        {"flicker_hz", (double)m->flicker_hz},
        {"flicker_depth", (double)m->flicker_depth},
        {"peak_strength", (double)m->peak_strength},
        {"peaks", isnan(m->peak_strength) ? (double)NAN : m->peaks},
        {"match_x", camera->match_count > 0 ? (double)camera->match[0].x : (double)NAN},
        {"match_y", camera->match_count > 0 ? (double)camera->match[0].y : (double)NAN},
        {"match_score", camera->match_count > 0 ? (double)camera->match[0].score : (double)NAN},
        {"scene_x", (double)scene->x},
        {"scene_y", (double)scene->y},
        {"scene_angle", (double)scene->angle},
        {"scene_zoom", (double)scene->zoom},
        {"scene_agreement", (double)scene->agreement},
        {"age", m->age},
    };
    sd_bus_message_open_container(reply, 'a', "{sd}");
    for (size_t i = 0; i < (camera->has_measures ? sizeof values / sizeof *values : 1); i++)
        if (isfinite(values[i].value))
            sd_bus_message_append(reply, "{sd}", values[i].name, values[i].value);
    return sd_bus_message_close_container(reply);
}

static int append_matches(sd_bus_message *reply, const void *value)
{
    const struct reading *now = value;
    return value_append_matches(reply, &now->chain, now->camera.match, now->camera.match_count);
}

/* ---- the table ---- */

#define CONSTANT   SD_BUS_VTABLE_PROPERTY_CONST
#define CHANGES    SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE
#define AT(member) offsetof(struct reading, member)

static const struct property {
    const char *name;
    const char *signature;
    uint64_t flags; /* CONSTANT, CHANGES, or 0: it changes without a signal */
    bool in_stats;  /* GetStats returns it as well */
    size_t offset;  /* where struct reading has the value */
    /* Appends the value. NULL: the value is one number of the signature's type. */
    int (*append)(sd_bus_message *reply, const void *value);
} properties[] = {
    {"Name", "s", CONSTANT, true, AT(name), append_pointer},
    {"OutputName", "s", CONSTANT, true, AT(output_name), append_pointer},
    {"OutputNames", "as", CHANGES, false, AT(config), append_output_names},
    {"Version", "s", CONSTANT, false, AT(version), append_pointer},
    {"ConfigFile", "s", CONSTANT, false, AT(config_file), append_pointer},
    {"Overrides", "as", CONSTANT, false, AT(overrides), append_strings},
    {"SavedFile", "s", CHANGES, false, AT(config), append_saved_file},
    {"SavedKeys", "as", CHANGES, false, AT(config), append_saved_keys},
    {"StartTime", "t", CONSTANT, true, AT(start_time_ns), NULL},
    {"Source", "s", CHANGES, false, AT(camera.uri), append_array},
    {"State", "s", CHANGES, true, AT(state), append_pointer},
    {"StateReason", "s", CHANGES, true, AT(camera.state_reason), append_array},
    {"SourceDescription", "s", CHANGES, false, AT(camera.source), append_array},
    {"Controls", "s", CHANGES, false, AT(camera.controls), append_controls},
    {"SourceOpening", "b", CHANGES, false, AT(camera.source_opening), NULL},
    {"Device", "s", CHANGES, false, AT(camera.device), append_array},
    {"DeviceMemory", "s", CHANGES, false, AT(camera.device_memory), append_pointer},
    {"Memory", "a{st}", CHANGES, true, AT(camera), append_memory},
    {"Input", "s", CHANGES, false, AT(camera.input), append_array},
    {"Output", "s", CHANGES, false, AT(camera.output), append_array},
    {"Motion", "s", CHANGES, false, AT(camera.motion), append_array},
    {"Engine", "s", CHANGES, false, AT(camera.engine), append_array},
    {"Format", "a{sv}", CHANGES, false, AT(camera), append_format},
    {"Generation", "u", CHANGES, false, AT(camera.generation), NULL},
    {"Filter", "s", CHANGES, false, AT(chain), append_filter},
    {"FilterStages", "aa{sv}", CHANGES, false, AT(chain), value_append_stages},
    {"Adaptation", "a{sv}", 0, false, 0, append_adaptation},
    {"FilterProblem", "s", CHANGES, false, AT(camera.filter_problem), append_array},
    {"FailedSerial", "t", CHANGES, false, AT(camera.failed_serial), NULL},
    {"Preparing", "s", CHANGES, false, AT(camera.preparing), append_array},
    {"View", "s", CHANGES, false, AT(view), append_pointer},
    {"PublishedView", "s", CHANGES, false, AT(published_view), append_pointer},
    {"Serial", "t", CHANGES, true, AT(camera.wanted_serial), NULL},
    {"AppliedSerial", "t", CHANGES, false, AT(camera.used_serial), NULL},
    {"PublishedSerial", "t", CHANGES, true, AT(camera.filter_serial), NULL},
    {"FirstSequence", "t", CHANGES, false, AT(camera.first_sequence), NULL},
    {"Sequence", "t", 0, true, AT(camera.newest_sequence), NULL},
    {"Rate", "d", 0, true, AT(camera.rate), NULL},
    {"Clients", "u", 0, true, AT(server.clients), NULL},
    {"FramesPublished", "t", 0, true, AT(camera.published), NULL},
    {"Counters", "a{st}", 0, true, 0, append_counters},
    {"Copies", "a{s(tt)}", 0, true, AT(camera.copied), append_copies},
    {"Overhead", "a{s(tt)}", 0, true, AT(camera.overhead), append_overhead},
    {"StepTimes", "a{s(tt)}", 0, true, AT(camera.step), append_step_times},
    {"Latency", "a{sa{st}}", 0, true, AT(camera.latency), append_latency},
    {"Measures", "a{sd}", 0, true, AT(camera), append_measures},
    {"Matches", "a(sddd)", 0, true, 0, append_matches},
    {"LatencyHistograms", "a{s(tta(tt))}", 0, true, AT(camera.latency), append_histograms},
    {"Comparison", "a{sv}", CHANGES, false, AT(camera), append_comparison},
};
#define PROPERTY_COUNT (sizeof properties / sizeof properties[0])

static int append_property(sd_bus_message *reply, const struct property *property,
                           const struct reading *reading)
{
    const void *value = (const char *)reading + property->offset;
    return property->append != NULL
               ? property->append(reply, value)
               : sd_bus_message_append_basic(reply, property->signature[0], value);
}

static int get(sd_bus *bus, const char *path, const char *interface, const char *name,
               sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    const struct peer *peer = userdata;
    struct reading reading;
    (void)bus, (void)interface, (void)error;
    take_reading(&reading, peer, peer_output_at(peer, path));
    for (unsigned i = 0; i < PROPERTY_COUNT; i++)
        if (strcmp(properties[i].name, name) == 0)
            return append_property(reply, &properties[i], &reading);
    return -ENOENT;
}

int properties_add(sd_bus_slot **ret, struct peer *peer, const char *path)
{
    static sd_bus_vtable vtable[PROPERTY_COUNT + 2]; /* sd-bus keeps a pointer to it */
    vtable[0] = (sd_bus_vtable)SD_BUS_VTABLE_START(0);
    for (unsigned i = 0; i < PROPERTY_COUNT; i++)
        vtable[i + 1] = (sd_bus_vtable)SD_BUS_PROPERTY(properties[i].name, properties[i].signature,
                                                       get, 0, properties[i].flags);
    vtable[PROPERTY_COUNT + 1] = (sd_bus_vtable)SD_BUS_VTABLE_END;
    return sd_bus_add_object_vtable(peer->bus, ret, path, OBJECT_INTERFACE, vtable, peer);
}

static int append_named(sd_bus_message *reply, const struct property *property,
                        const struct reading *reading)
{
    sd_bus_message_open_container(reply, 'e', "sv");
    sd_bus_message_append(reply, "s", property->name);
    sd_bus_message_open_container(reply, 'v', property->signature);
    append_property(reply, property, reading);
    return value_close_containers(reply, 2);
}

int properties_make_signal(sd_bus_message **ret, struct peer *peer, unsigned output,
                           const char *const *names)
{
    char path[OBJECT_PATH_BYTES];
    struct reading reading;
    sd_bus_message *signal = NULL;
    take_reading(&reading, peer, output);
    peer_object_path(peer, output, path);
    sd_bus_message_new_signal(peer->bus, &signal, path, "org.freedesktop.DBus.Properties",
                              "PropertiesChanged");
    sd_bus_message_append(signal, "s", OBJECT_INTERFACE);
    sd_bus_message_open_container(signal, 'a', "{sv}");
    for (; *names != NULL; names++)
        for (unsigned i = 0; i < PROPERTY_COUNT; i++)
            if (strcmp(properties[i].name, *names) == 0)
                append_named(signal, &properties[i], &reading);
    sd_bus_message_close_container(signal);
    const int r = sd_bus_message_append(signal, "as", 0);
    if (r >= 0)
        *ret = signal;
    else
        sd_bus_message_unref(signal);
    return r;
}

int method_get_stats(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    const struct peer *peer = userdata;
    struct reading reading;
    sd_bus_message *reply = NULL;
    (void)error;

    take_reading(&reading, peer, peer_output_of(peer, call));
    value_begin_reply(&reply, call, "{sv}");
    for (unsigned i = 0; i < PROPERTY_COUNT; i++)
        if (properties[i].in_stats)
            append_named(reply, &properties[i], &reading);
    return value_send_reply(reply);
}
