/* The label `name` distinguishes the cameras. A counter that this program does not know is exported
 * under its own name, so that no counter of a newer daemon is lost. */
#include "export.h"

#include <math.h>
#include <string.h>

#include "core/clock.h"
#include "fftd/ring.h"
#include "reading.h"

#define MAX_NAME_BYTES 64

#define HELD_SLOTS     "held_slots" /* a number that also falls: a gauge */

/* Counters of one family are adjacent. */
static const struct {
    const char *counter;
    const char *family;
    const char *reason; /* the value of the label `reason`; NULL: no label */
    const char *help;
} known[] = {
    {"published", "fftd_frames_published", NULL, "Filtered frames handed to clients."},
    {"dropped_error", "fftd_frames_dropped", "error",
     "Captured frames that were not published, because the driver marked them bad, a newer one "
     "replaced them, or the engine lost them."},
    {"dropped_stale", "fftd_frames_dropped", "stale", NULL},
    {"dropped_engine", "fftd_frames_dropped", "engine", NULL},
    {"source_lost", "fftd_source_frames_lost", NULL,
     "Frames the source lost before fftd received them."},
    {"stalls", "fftd_source_stalls", NULL,
     "Times the source delivered no frame for camera.stall_timeout."},
    {"restarts", "fftd_source_restarts", NULL, "Times streaming was restarted to recover."},
    {"reopens", "fftd_source_reopens", NULL, "Times the source was opened again."},
    {"engine_failures", "fftd_engine_failures", NULL,
     "Times an engine lost, refused or did not return a frame, or could not be built."},
    {"clients_attached", "fftd_clients_attached", NULL, "Clients that attached to the ring."},
    {"clients_refused", "fftd_clients_refused", NULL,
     "Clients refused because of a limit, another protocol version or an invalid message."},
};

static const char *const states[] = {"starting", "online",  "stalled", "paused",
                                     "lost",     "refused", "failed",  "finished"};
#define STATE_COUNT (sizeof states / sizeof states[0])

struct exporter {
    struct metrics metrics;
    sd_bus_message *stats;
};

static void gauge(const struct exporter *out, const char *name, const char *unit, const char *help,
                  double value)
{
    metrics_family(&out->metrics, name, METRIC_GAUGE, unit, help);
    metrics_gauge(&out->metrics, name, NULL, NULL, value);
}

static void write_up(const struct exporter *out, bool is_up)
{
    gauge(out, "fftd_up", NULL, "1 if the daemon answers. Without it there is nothing else.",
          is_up);
}

static void write_state(const struct exporter *out)
{
    const char *state = bus_text(out->stats, "State");
    bool is_known = false;
    metrics_family(&out->metrics, "fftd_state", METRIC_GAUGE, NULL,
                   "1 for the camera's current state, 0 for all other states.");
    for (unsigned i = 0; i <= STATE_COUNT; i++) {
        if (i == STATE_COUNT && is_known)
            break;
        const char *each = i < STATE_COUNT ? states[i] : state;
        bool is_it = strcmp(each, state) == 0;
        metrics_gauge(&out->metrics, "fftd_state", "state", each, is_it);
        is_known |= is_it;
    }
}

/* A counter's name becomes part of a metric's name, where nothing can be escaped. */
static bool is_counter_name(const char *name)
{
    const size_t length = strlen(name);
    return length > 0 && length < MAX_NAME_BYTES &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
               length;
}

static bool read_counter(const struct exporter *out, const char *name, uint64_t *ret)
{
    return bus_find(out->stats, "Counters", "a{st}") && bus_enter(out->stats, "st", name) &&
           sd_bus_message_read(out->stats, "t", ret) > 0;
}

static void write_known(const struct exporter *out)
{
    const char *family = "";
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint64_t value;
        if (strcmp(family, known[i].family) != 0)
            metrics_family(&out->metrics, known[i].family, METRIC_COUNTER, NULL, known[i].help);
        family = known[i].family;
        if (read_counter(out, known[i].counter, &value))
            metrics_counter(&out->metrics, family, known[i].reason != NULL ? "reason" : NULL,
                            known[i].reason, value);
    }
}

static bool is_known(const char *counter)
{
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].counter, counter) == 0)
            return true;
    return strcmp(counter, HELD_SLOTS) == 0;
}

static void write_unknown(const struct exporter *out)
{
    const char *name;
    uint64_t value;
    if (!bus_find_entries(out->stats, "Counters", "a{st}"))
        return;
    while (sd_bus_message_read(out->stats, "{st}", &name, &value) > 0) {
        char family[sizeof "fftd_" + MAX_NAME_BYTES];
        if (is_known(name) || !is_counter_name(name))
            continue;
        snprintf(family, sizeof family, "fftd_%s", name);
        metrics_family(&out->metrics, family, METRIC_COUNTER, NULL,
                       "A counter of the daemon; see fftd(8).");
        metrics_counter(&out->metrics, family, NULL, NULL, value);
    }
}

static void write_counters(const struct exporter *out)
{
    uint64_t held;
    if (read_counter(out, HELD_SLOTS, &held))
        gauge(out, "fftd_held_slots", NULL, "Slots of the ring that clients hold.", (double)held);
    write_known(out);
    write_unknown(out);
}

enum step_numbers { STEP_TIMES, STEP_AMOUNT, STEP_DURATIONS };

/* Writes one number of each step, or both as durations. All series of a family must be adjacent, so
 * the dictionary is read once for each family. */
static void write_steps(const struct exporter *out, const char *property, enum step_numbers which,
                        const char *family, const char *unit, const char *help)
{
    const char *step;
    uint64_t times, amount;
    if (!bus_find_entries(out->stats, property, "a{s(tt)}"))
        return;
    metrics_family(&out->metrics, family, which == STEP_DURATIONS ? METRIC_SUMMARY : METRIC_COUNTER,
                   unit, help);
    while (sd_bus_message_read(out->stats, "{s(tt)}", &step, &times, &amount) > 0) {
        if (which == STEP_DURATIONS)
            metrics_summary(&out->metrics, family, "step", step, times, amount);
        else
            metrics_counter(&out->metrics, family, "step", step,
                            which == STEP_TIMES ? times : amount);
    }
}

/* Reads count, sum and buckets of one stage. The caller has entered its container. */
static void write_stage(const struct exporter *out, const char *stage)
{
    static const char family[] = "fftd_latency_seconds";
    uint64_t count, sum_ns, edge_ns, upto_count;
    if (sd_bus_message_read(out->stats, "tt", &count, &sum_ns) <= 0 ||
        sd_bus_message_enter_container(out->stats, 'a', "(tt)") <= 0)
        return;
    while (sd_bus_message_read(out->stats, "(tt)", &edge_ns, &upto_count) > 0)
        metrics_bucket(&out->metrics, family, "stage", stage, edge_ns, upto_count);
    sd_bus_message_exit_container(out->stats);
    metrics_histogram(&out->metrics, family, "stage", stage, count, sum_ns);
}

static void write_latency(const struct exporter *out)
{
    const char *stage;
    metrics_family(&out->metrics, "fftd_latency_seconds", METRIC_HISTOGRAM, "seconds",
                   "Duration of each step of a frame's processing; total is from capture to "
                   "publication.");
    if (!bus_find_entries(out->stats, "LatencyHistograms", "a{s(tta(tt))}"))
        return;
    while (sd_bus_message_enter_container(out->stats, 'e', "s(tta(tt))") > 0) {
        if (sd_bus_message_read(out->stats, "s", &stage) <= 0 ||
            sd_bus_message_enter_container(out->stats, 'r', "tta(tt)") <= 0)
            return;
        write_stage(out, stage);
        sd_bus_message_exit_container(out->stats);
        sd_bus_message_exit_container(out->stats);
    }
}

static void write_measures(const struct exporter *out)
{
    for (unsigned i = 0; i < reading_measure_count; i++) {
        const double value = bus_measure(out->stats, reading_measures[i].name);
        if (!isfinite(value))
            continue;
        if (reading_measures[i].help != NULL)
            metrics_family(&out->metrics, reading_measures[i].family, METRIC_GAUGE,
                           reading_measures[i].metric_unit, reading_measures[i].help);
        metrics_gauge(&out->metrics, reading_measures[i].family,
                      reading_measures[i].axis != NULL ? "axis" : NULL, reading_measures[i].axis,
                      value * reading_measures[i].scale);
    }
}

/* A chain may name a template twice, but a series may only appear once. */
static bool is_new_name(const char *name, const char *last[FFTD_MAX_MATCHES], unsigned *count)
{
    for (unsigned i = 0; i < *count; i++)
        if (strcmp(last[i], name) == 0)
            return false;
    if (*count == FFTD_MAX_MATCHES)
        return false;
    last[(*count)++] = name;
    return true;
}

/* Column, row and score are a family each, with the template as their label. */
static void write_matches(const struct exporter *out)
{
    static const struct {
        const char *family, *unit, *help;
    } families[] = {
        {"fftd_template_x_pixels", "pixels",
         "Column at which the picture resembles a template most."},
        {"fftd_template_y_pixels", "pixels", "Row at which the picture resembles a template most."},
        {"fftd_template_score_ratio", "ratio",
         "Correlation coefficient of a template and the picture at that place."},
    };
    for (unsigned i = 0; i < sizeof families / sizeof families[0]; i++) {
        const char *name, *last[FFTD_MAX_MATCHES];
        unsigned count = 0;
        double value[3];
        if (!bus_find_entries(out->stats, "Matches", "a(sddd)") ||
            sd_bus_message_at_end(out->stats, false) != 0)
            return;
        metrics_family(&out->metrics, families[i].family, METRIC_GAUGE, families[i].unit,
                       families[i].help);
        while (sd_bus_message_read(out->stats, "(sddd)", &name, &value[0], &value[1], &value[2]) >
               0)
            if (isfinite(value[i]) && is_new_name(name, last, &count))
                metrics_gauge(&out->metrics, families[i].family, "template", name, value[i]);
    }
}

void export_stats(sd_bus_message *stats, enum metrics_format format, FILE *file)
{
    const struct exporter out = {{file, format, bus_text(stats, "Name")}, stats};
    write_up(&out, true);
    gauge(&out, "fftd_start_time_seconds", "seconds",
          "When the daemon's process began, since 1970.",
          (double)bus_u64(stats, "StartTime") / (double)NS_PER_S);
    write_state(&out);
    gauge(&out, "fftd_clients", NULL, "Clients connected to the frames socket.",
          bus_u32(stats, "Clients"));
    gauge(&out, "fftd_frame_rate_hertz", "hertz", "Frames published per second at present.",
          bus_double(stats, "Rate"));
    gauge(&out, "fftd_filter_serial", NULL, "Number of the filter that made the newest frame.",
          (double)bus_u64(stats, "PublishedSerial"));
    gauge(&out, "fftd_filter_desired_serial", NULL,
          "Number of the filter that was set last; another one than fftd_filter_serial while it is "
          "designed, while no frame is published, and if it cannot be applied.",
          (double)bus_u64(stats, "Serial"));
    write_counters(&out);
    write_steps(&out, "Copies", STEP_TIMES, "fftd_copies", NULL,
                "Times the processor copied a captured frame, or some of its planes.");
    write_steps(&out, "Copies", STEP_AMOUNT, "fftd_copied_bytes", "bytes",
                "Bytes of frames that the processor copied.");
    write_steps(&out, "Overhead", STEP_DURATIONS, "fftd_overhead_seconds", "seconds",
                "Time that frames take around the kernels: gap is of the device, between "
                "dispatches, in a sample of the frames; the rest is of the processor.");
    write_steps(&out, "StepTimes", STEP_DURATIONS, "fftd_step_seconds", "seconds",
                "Time of the device in the kernels of each step, in a sample of the frames.");
    write_measures(&out);
    write_matches(&out);
    write_latency(&out);
    metrics_end(&out.metrics);
}

void export_absence(const char *name, enum metrics_format format, FILE *file)
{
    const struct exporter out = {{file, format, name}, NULL};
    write_up(&out, false);
    metrics_end(&out.metrics);
}
