/* The properties and GetStats. Both use one table of fields. GetStats returns the fields that
 * change from frame to frame, all taken at the same moment. Structured values are dictionaries, so
 * that a client can print values that it does not know. */
#include "bus/methods.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "bus/value.h"

/* A copy of everything that the properties show, taken at one moment. */
struct reading {
    const struct config *config;
    uint64_t start_time_ns;
    struct camera_status camera;
    struct filter_chain chain;
    enum view_kind view;
    struct observer_status adaptation;
    struct ring_server_stats server;
};

static void take_reading(struct reading *ret, const struct bus_hooks *hooks)
{
    ret->config = hooks->config;
    ret->start_time_ns = hooks->start_time_ns;
    camera_get_status(hooks->camera, &ret->camera);
    camera_get_filter(hooks->camera, &ret->chain);
    ret->view = camera_get_view(hooks->camera);
    camera_get_adaptation(hooks->camera, &ret->adaptation);
    ring_server_get_stats(hooks->server, &ret->server);
}

/* ---- values ---- */

static int append_kernel(sd_bus_message *reply, const char *name,
                         const struct filter_kernel *kernel)
{
    int r = sd_bus_message_open_container(reply, 'e', "sv");
    if (r < 0 || (r = sd_bus_message_append(reply, "s", name)) < 0 ||
        (r = sd_bus_message_open_container(reply, 'v', "aad")) < 0 ||
        (r = sd_bus_message_open_container(reply, 'a', "ad")) < 0)
        return r;
    for (unsigned y = 0; y < kernel->rows; y++) {
        double row[FILTER_KERNEL_SIDE];
        for (unsigned x = 0; x < kernel->columns; x++)
            row[x] = (double)kernel->value[y][x];
        r = sd_bus_message_append_array(reply, 'd', row, kernel->columns * sizeof row[0]);
        if (r < 0)
            return r;
    }
    return value_close_containers(reply, 3);
}

static int append_parameter(sd_bus_message *reply, const struct filter_stage *stage, unsigned index)
{
    const struct filter_param *param = &stage->kind->param[index];
    const struct filter_value *value = &stage->value[index];
    switch (param->type) {
    case FILTER_NUMBER:
        return sd_bus_message_append(reply, "{sv}", param->name, "d", value->number);
    case FILTER_PAIR:
        return sd_bus_message_append(reply, "{sv}", param->name, "ad", 2, value->number,
                                     value->second);
    case FILTER_CHOICE:
        return value_append_named_text(reply, param->name, param->choices[(unsigned)value->number]);
    case FILTER_BOOL:
        return sd_bus_message_append(reply, "{sv}", param->name, "b", value->number != 0);
    case FILTER_KERNEL:
        return append_kernel(reply, param->name, &stage->kernel);
    case FILTER_IMAGE:
        return value_append_named_text(reply, param->name, stage->image->name);
    }
    return -EINVAL;
}

/* a{sv}: the kind, and the parameters by name. */
static int append_stage(sd_bus_message *reply, const struct filter_stage *stage)
{
    int r = sd_bus_message_open_container(reply, 'a', "{sv}");
    if (r < 0 || (r = value_append_named_text(reply, "kind", stage->kind->name)) < 0 ||
        (r = sd_bus_message_open_container(reply, 'e', "sv")) < 0 ||
        (r = sd_bus_message_append(reply, "s", "parameters")) < 0 ||
        (r = sd_bus_message_open_container(reply, 'v', "a{sv}")) < 0 ||
        (r = sd_bus_message_open_container(reply, 'a', "{sv}")) < 0)
        return r;
    for (unsigned i = 0; i < stage->kind->param_count; i++) {
        r = filter_stage_has(stage, i) ? append_parameter(reply, stage, i) : 0;
        if (r < 0)
            return r;
    }
    return value_close_containers(reply, 4);
}

static int append_histogram(sd_bus_message *reply, const char *name, const struct histogram *h)
{
    uint64_t mean_ns = h->count > 0 ? h->sum_ns / h->count : 0;
    return sd_bus_message_append(reply, "{sa{st}}", name, 6, "count", h->count, "mean_ns", mean_ns,
                                 "p50_ns", histogram_quantile(h, 0.5), "p90_ns",
                                 histogram_quantile(h, 0.9), "p99_ns", histogram_quantile(h, 0.99),
                                 "max_ns", h->max_ns);
}

/* One bucket for each octave from 8 us to 8 s, few enough to be stored for years; cumulative, as
 * Prometheus expects them. */
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
    return value_close_containers(reply, 3);
}

/* ---- fields ---- */

static int append_name(sd_bus_message *reply, const struct reading *reading)
{
    return value_append_text(reply, reading->config->name);
}

static int append_version(sd_bus_message *reply, const struct reading *reading)
{
    (void)reading;
    return value_append_text(reply, FFTD_VERSION);
}

static int append_start_time(sd_bus_message *reply, const struct reading *reading)
{
    return sd_bus_message_append(reply, "t", reading->start_time_ns);
}

static int append_source(sd_bus_message *reply, const struct reading *reading)
{
    return value_append_text(reply, reading->camera.uri);
}

static int append_state(sd_bus_message *reply, const struct reading *reading)
{
    return value_append_text(reply, camera_state_name(reading->camera.state));
}

static int append_state_reason(sd_bus_message *reply, const struct reading *reading)
{
    return value_append_text(reply, reading->camera.state_reason);
}

static int append_source_description(sd_bus_message *reply, const struct reading *reading)
{
    return value_append_text(reply, reading->camera.source);
}

static int append_device(sd_bus_message *reply, const struct reading *reading)
{
    return value_append_text(reply, reading->camera.device);
}

static int append_device_memory(sd_bus_message *reply, const struct reading *reading)
{
    return value_append_text(reply, reading->camera.device_memory);
}

static int append_input(sd_bus_message *reply, const struct reading *reading)
{
    return value_append_text(reply, reading->camera.input);
}

static int append_output(sd_bus_message *reply, const struct reading *reading)
{
    return value_append_text(reply, reading->camera.output);
}

static int append_engine(sd_bus_message *reply, const struct reading *reading)
{
    return value_append_text(reply, reading->camera.engine);
}

/* Empty while no search has compared the devices. */
static int append_comparison(sd_bus_message *reply, const struct reading *reading)
{
    const struct comparison *comparison = &reading->camera.comparison;
    int r = sd_bus_message_open_container(reply, 'a', "{sv}");
    if (r >= 0 && reading->camera.has_comparison)
        r = sd_bus_message_append(reply, "{sv}{sv}{sv}", "device_ms", "d", comparison->device_ms,
                                  "cpu_ms", "d", comparison->cpu_ms, "cpu_is_faster", "b",
                                  (int)comparison_favours_cpu(comparison));
    if (r >= 0 && reading->camera.has_comparison)
        r = value_append_named_text(reply, "cpu_device", comparison->cpu_device);
    return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_format(sd_bus_message *reply, const struct reading *reading)
{
    return value_append_format(reply, &reading->camera.format, reading->camera.captured, 0);
}

static int append_generation(sd_bus_message *reply, const struct reading *reading)
{
    return sd_bus_message_append(reply, "u", reading->camera.generation);
}

static int append_filter(sd_bus_message *reply, const struct reading *reading)
{
    char text[FILTER_TEXT_BYTES];
    filter_chain_print(&reading->chain, text, sizeof text);
    return value_append_text(reply, text);
}

static int append_stages(sd_bus_message *reply, const struct reading *reading)
{
    int r = sd_bus_message_open_container(reply, 'a', "a{sv}");
    for (unsigned i = 0; r >= 0 && i < reading->chain.count; i++)
        r = append_stage(reply, &reading->chain.stage[i]);
    return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_wave(sd_bus_message *reply, const struct periodic_report *wave,
                       const struct notches *notches)
{
    const bool is_notched = notches_cover(notches, wave->fx, wave->fy);
    const char *by = wave->is_removed ? "subtraction" : is_notched ? "notch" : "";
    return sd_bus_message_append(reply, "a{sv}", 8, "fx", "d", wave->fx, "fy", "d", wave->fy,
                                 "amplitude", "d", wave->amplitude, "drift", "d", wave->drift,
                                 "since_ns", "t", (uint64_t)wave->since_ns, "removed", "b",
                                 (int)(*by != '\0'), "removed_by", "s", by, "notch_width", "d",
                                 notch_width(wave));
}

static int append_waves(sd_bus_message *reply, const struct observer_status *status)
{
    int r = sd_bus_message_open_container(reply, 'e', "sv");
    if (r < 0 || (r = sd_bus_message_append(reply, "s", "waves")) < 0 ||
        (r = sd_bus_message_open_container(reply, 'v', "aa{sv}")) < 0 ||
        (r = sd_bus_message_open_container(reply, 'a', "a{sv}")) < 0)
        return r;
    for (unsigned i = 0; i < status->found.wave_count; i++)
        if ((r = append_wave(reply, &status->found.wave[i], &status->notches)) < 0)
            return r;
    return value_close_containers(reply, 3);
}

/* Empty while none is found. */
static int append_flicker(sd_bus_message *reply, const struct observer_status *status)
{
    const struct flicker_report *flicker = &status->found.flicker_report;
    if (!status->found.has_flicker)
        return sd_bus_message_append(reply, "{sv}", "flicker", "a{sv}", 0);
    return sd_bus_message_append(reply, "{sv}", "flicker", "a{sv}", 4, "frequency", "d",
                                 flicker->frequency_hz, "depth", "d", flicker->depth,
                                 "line_time_us", "d", flicker->line_time_ns / 1000, "since_ns", "t",
                                 (uint64_t)flicker->since_ns);
}

/* Empty while no stage adapts. */
static int append_adaptation(sd_bus_message *reply, const struct reading *reading)
{
    const struct observer_status *status = &reading->adaptation;
    int r = sd_bus_message_open_container(reply, 'a', "{sv}");
    if (r >= 0 && observer_is_wanted(&status->wanted))
        r = sd_bus_message_append(reply, "{sv}", "observed", "t", status->observed);
    if (r >= 0 && status->wanted.removes_waves)
        r = append_waves(reply, status);
    if (r >= 0 && status->wanted.removes_flicker)
        r = append_flicker(reply, status);
    if (r >= 0 && status->problem.text[0] != '\0')
        r = value_append_named_text(reply, "problem", status->problem.text);
    return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_filter_problem(sd_bus_message *reply, const struct reading *reading)
{
    return value_append_text(reply, reading->camera.filter_problem);
}

static int append_view(sd_bus_message *reply, const struct reading *reading)
{
    return value_append_text(reply, view_names[reading->view]);
}

static int append_published_view(sd_bus_message *reply, const struct reading *reading)
{
    return value_append_text(reply, view_names[reading->camera.view]);
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

static int append_frames_published(sd_bus_message *reply, const struct reading *reading)
{
    return sd_bus_message_append(reply, "t", reading->camera.published);
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

static int append_copies(sd_bus_message *reply, const struct reading *reading)
{
    int r = sd_bus_message_open_container(reply, 'a', "{s(tt)}");
    for (unsigned i = 0; r >= 0 && i < COPY_COUNT; i++) {
        const struct copy_count *count = &reading->camera.copied[i];
        r = sd_bus_message_append(reply, "{s(tt)}", camera_copy_name(i), count->times,
                                  count->bytes);
    }
    return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_overhead(sd_bus_message *reply, const struct reading *reading)
{
    int r = sd_bus_message_open_container(reply, 'a', "{s(tt)}");
    for (unsigned i = 0; r >= 0 && i < OVERHEAD_COUNT; i++) {
        const struct overhead_sum *sum = &reading->camera.overhead[i];
        r = sd_bus_message_append(reply, "{s(tt)}", overhead_name(i), sum->frames, sum->ns);
    }
    return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_latency(sd_bus_message *reply, const struct reading *reading)
{
    int r = sd_bus_message_open_container(reply, 'a', "{sa{st}}");
    for (unsigned i = 0; r >= 0 && i < STAGE_COUNT; i++)
        r = append_histogram(reply, camera_stage_name(i), &reading->camera.latency[i]);
    return r < 0 ? r : sd_bus_message_close_container(reply);
}

/* Only what was measured. */
static int append_measures(sd_bus_message *reply, const struct reading *reading)
{
    const struct fftd_measures *m = &reading->camera.measures;
    static const struct fftd_match none = {.x = NAN, .y = NAN, .score = NAN};
    const struct fftd_match *match = reading->camera.has_match ? &reading->camera.match : &none;
    const struct {
        const char *name;
        double value;
    } values[] = {
        {"sharpness", (double)m->sharpness},
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
        {"match_x", (double)match->x},
        {"match_y", (double)match->y},
        {"match_score", (double)match->score},
        {"age", m->age},
    };
    int r = sd_bus_message_open_container(reply, 'a', "{sd}");
    for (size_t i = 0; r >= 0 && reading->camera.has_measures && i < sizeof values / sizeof *values;
         i++)
        if (isfinite(values[i].value))
            r = sd_bus_message_append(reply, "{sd}", values[i].name, values[i].value);
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
    bool in_stats; /* GetStats returns it too */
};

static const struct field fields[] = {
    {"Name", "s", append_name, true},
    {"Version", "s", append_version, false},
    {"StartTime", "t", append_start_time, true},
    {"Source", "s", append_source, false},
    {"State", "s", append_state, true},
    {"StateReason", "s", append_state_reason, true},
    {"SourceDescription", "s", append_source_description, false},
    {"Device", "s", append_device, false},
    {"DeviceMemory", "s", append_device_memory, false},
    {"Input", "s", append_input, false},
    {"Output", "s", append_output, false},
    {"Engine", "s", append_engine, false},
    {"Format", "a{sv}", append_format, false},
    {"Generation", "u", append_generation, false},
    {"Filter", "s", append_filter, false},
    {"FilterStages", "aa{sv}", append_stages, false},
    {"Adaptation", "a{sv}", append_adaptation, false},
    {"FilterProblem", "s", append_filter_problem, false},
    {"View", "s", append_view, false},
    {"PublishedView", "s", append_published_view, false},
    {"Serial", "t", append_serial, true},
    {"PublishedSerial", "t", append_published_serial, true},
    {"Sequence", "t", append_sequence, true},
    {"Rate", "d", append_rate, true},
    {"Clients", "u", append_clients, true},
    {"FramesPublished", "t", append_frames_published, true},
    {"Counters", "a{st}", append_counters, true},
    {"Copies", "a{s(tt)}", append_copies, true},
    {"Overhead", "a{s(tt)}", append_overhead, true},
    {"Latency", "a{sa{st}}", append_latency, true},
    {"Measures", "a{sd}", append_measures, true},
    {"LatencyHistograms", "a{s(tta(tt))}", append_histograms, true},
    {"Comparison", "a{sv}", append_comparison, false},
};
#define FIELD_COUNT (sizeof fields / sizeof fields[0])

int method_get(sd_bus *bus, const char *path, const char *interface, const char *property,
               sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    const struct peer *peer = userdata;
    struct reading reading;
    (void)bus, (void)path, (void)interface, (void)error;

    take_reading(&reading, &peer->services->hooks);
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

int method_get_stats(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    const struct peer *peer = userdata;
    struct reading reading;
    sd_bus_message *reply = NULL;
    (void)error;

    take_reading(&reading, &peer->services->hooks);
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
