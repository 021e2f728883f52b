/* Implements `stats`. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "daemon.h"
#include "commands.h"
#include "common/export.h"
#include "common/reading.h"
#include "save.h"

#define NAME_BYTES 256

static void print_counters(sd_bus_message *stats)
{
    const char *reason = bus_text(stats, "StateReason");
    printf("%s%s%s, frame %" PRIu64 ", %.2f per second, filter %" PRIu64 ", clients %u\n",
           bus_text(stats, "State"), *reason != '\0' ? ": " : "", reason,
           bus_u64(stats, "Sequence"), bus_double(stats, "Rate"), bus_u64(stats, "PublishedSerial"),
           bus_u32(stats, "Clients"));

    const char *name;
    uint64_t value;
    if (!bus_find_entries(stats, "Counters", "a{st}"))
        return;
    for (unsigned i = 0; sd_bus_message_read(stats, "{st}", &name, &value) > 0; i++)
        printf("%s%s %" PRIu64, i == 0 ? "" : i % 5 == 0 ? "\n" : ", ", name, value);
    putchar('\n');
}

static void print_stage(sd_bus_message *stats, const char *stage)
{
    static const char *const columns[] = {"p50_ns", "p90_ns", "p99_ns", "max_ns", "mean_ns"};
    double ms[sizeof columns / sizeof columns[0]] = {0};
    uint64_t count = 0, value;
    const char *name;

    while (sd_bus_message_read(stats, "{st}", &name, &value) > 0) {
        if (strcmp(name, "count") == 0)
            count = value;
        for (unsigned c = 0; c < sizeof columns / sizeof columns[0]; c++)
            if (strcmp(name, columns[c]) == 0)
                ms[c] = (double)value / 1e6;
    }
    printf("%-10s %9.3f %9.3f %9.3f %9.3f %9.3f %9" PRIu64 "\n", stage, ms[0], ms[1], ms[2], ms[3],
           ms[4], count);
}

static void print_latency(sd_bus_message *stats)
{
    const char *stage;
    printf("%-10s %9s %9s %9s %9s %9s %9s\n", "ms", "p50", "p90", "p99", "max", "mean", "frames");
    if (!bus_find_entries(stats, "Latency", "a{sa{st}}"))
        return;
    while (sd_bus_message_enter_container(stats, 'e', "sa{st}") > 0) {
        if (sd_bus_message_read(stats, "s", &stage) <= 0 ||
            sd_bus_message_enter_container(stats, 'a', "{st}") <= 0)
            return;
        print_stage(stats, stage);
        sd_bus_message_exit_container(stats);
        sd_bus_message_exit_container(stats);
    }
}

/* Prints what the processor has copied since the start, per frame. */
static void print_copies(sd_bus_message *stats)
{
    const double frames = (double)bus_counter(stats, "Counters", "published");
    const char *step;
    uint64_t times, bytes, all_times = 0, all_bytes = 0;
    if (frames == 0 || !bus_find_entries(stats, "Copies", "a{s(tt)}"))
        return;
    printf("bytes a frame copied by the processor: ");
    while (sd_bus_message_read(stats, "{s(tt)}", &step, &times, &bytes) > 0) {
        all_times += times;
        all_bytes += bytes;
        if (times > 0)
            printf("%s %.0f, ", step, (double)bytes / frames);
    }
    printf("in all %.0f, in %.2f copies\n", (double)all_bytes / frames, (double)all_times / frames);
}

/* Prints the mean of each time over the frames in which it was measured. */
static void print_times(sd_bus_message *stats, const char *property, const char *title)
{
    const char *step, *separator = title;
    uint64_t frames, ns;
    if (bus_counter(stats, "Counters", "published") == 0 ||
        !bus_find_entries(stats, property, "a{s(tt)}"))
        return;
    while (sd_bus_message_read(stats, "{s(tt)}", &step, &frames, &ns) > 0) {
        if (frames == 0)
            continue;
        printf("%s%s %.1f", separator, step, (double)ns / 1e3 / (double)frames);
        separator = ", ";
    }
    if (separator != title)
        putchar('\n');
}

/* Prints nothing unless output.measures is set. */
static void print_measures(sd_bus_message *stats)
{
    unsigned count = 0;
    for (unsigned i = 0; i < reading_measure_count; i++) {
        const double value = bus_measure(stats, reading_measures[i].name);
        if (!isfinite(value))
            continue;
        printf("%s%s %.4g%s",
               count == 0       ? "measures: "
               : count % 6 == 0 ? "\n  "
                                : ", ",
               reading_measures[i].name, value, reading_measure_unit(&reading_measures[i], value));
        count++;
    }
    if (count > 0)
        putchar('\n');
}

/* Prints nothing unless the chain has `match`. */
static void print_matches(sd_bus_message *stats)
{
    const char *name;
    double x, y, score;
    if (!bus_find_entries(stats, "Matches", "a(sddd)"))
        return;
    while (sd_bus_message_read(stats, "(sddd)", &name, &x, &y, &score) > 0)
        if (isfinite(x))
            printf("template %s: at %.2f, %.2f, score %.3f\n", name, x, y, score);
        else
            printf("template %s: not found\n", name);
}

/* Prints a line for each reading, of the newest frame: what was not measured is empty. */
static void print_csv(sd_bus_message *stats, bool with_header)
{
    struct timespec now;
    struct tm utc;
    char date[32] = "";
    if (with_header) {
        fputs("time,frame,rate,filter", stdout);
        for (unsigned i = 0; i < reading_measure_count; i++)
            printf(",%s", reading_measures[i].name);
        putchar('\n');
    }
    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &utc) != NULL)
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    printf("%s.%03ldZ,%" PRIu64 ",%.2f,%" PRIu64, date, now.tv_nsec / 1000000,
           bus_u64(stats, "Sequence"), bus_double(stats, "Rate"),
           bus_u64(stats, "PublishedSerial"));
    for (unsigned i = 0; i < reading_measure_count; i++) {
        const double value = bus_measure(stats, reading_measures[i].name);
        if (isfinite(value))
            printf(",%.6g", value);
        else
            putchar(',');
    }
    putchar('\n');
    fflush(stdout); /* whoever looks at the file while it grows sees whole lines */
}

static bool wants_metrics(const struct ctl *ctl)
{
    return ctl->openmetrics || ctl->prometheus;
}

static enum metrics_format metrics_format(const struct ctl *ctl)
{
    return ctl->openmetrics ? METRICS_OPENMETRICS : METRICS_PROMETHEUS;
}

/* Replaces the file at once, so that its readers always find a complete one. `stats` is NULL if no
 * daemon of that name answers. */
static int replace_file(const struct ctl *ctl, const char *name, sd_bus_message *stats)
{
    struct output_file output;
    const int code = save_begin(ctl, &output, ctl->output, OUTPUT_WHOLE);
    if (code != 0)
        return code;
    if (stats != NULL)
        export_stats(stats, metrics_format(ctl), output.file);
    else
        export_absence(name, metrics_format(ctl), output.file);
    return save_end(ctl, &output, ctl->output, 0);
}

static int print_metrics(const struct ctl *ctl, sd_bus_message *stats)
{
    if (ctl->output != NULL && strcmp(ctl->output, "-") != 0)
        return replace_file(ctl, bus_text(stats, "Name"), stats);
    export_stats(stats, metrics_format(ctl), stdout);
    return 0;
}

static int print_once(const struct ctl *ctl, sd_bus *bus, bool is_first)
{
    sd_bus_message *stats = NULL;
    int code = daemon_call(ctl, bus, &stats, "GetStats", NULL);
    if (code == 0 && wants_metrics(ctl)) {
        code = print_metrics(ctl, stats);
    } else if (code == 0 && ctl->csv) {
        if (is_first && !isfinite(bus_measure(stats, "mean")))
            fputs(
                "fftd-ctl: nothing is measured yet: measures need output.measures = true when the "
                "daemon starts; a reload is not enough\n",
                stderr);
        print_csv(stats, is_first);
    } else if (code == 0 && ctl->json) {
        code = daemon_print_json(ctl, stats);
    } else if (code == 0) {
        print_counters(stats);
        print_copies(stats);
        print_times(stats, "Overhead", "us a frame around the kernels: ");
        print_times(stats, "StepTimes", "us a frame in the kernels of each step: ");
        print_latency(stats);
        print_measures(stats);
        print_matches(stats);
    }
    sd_bus_message_unref(stats);
    return code == 0 ? ctl_finish(ctl) : code;
}

/* Reads D-Bus signals during the pause, because the daemon disconnects peers that do not read. The
 * end of the connection ends the pause, and the next call reports it. */
static void pause_s(sd_bus *bus, double seconds)
{
    if (bus == NULL) {
        poll(NULL, 0, (int)(seconds * 1e3));
        return;
    }
    const uint64_t end_us = clock_now_us() + (uint64_t)(seconds * 1e6);
    uint64_t time_us;
    int r = 0;
    while (r >= 0 && (time_us = clock_now_us()) < end_us) {
        r = sd_bus_process(bus, NULL);
        if (r == 0)
            r = sd_bus_wait(bus, end_us - time_us);
    }
}

/* Refuses options that exclude each other. 0 or an exit code. */
static int check_options(const struct ctl *ctl)
{
    if (ctl->openmetrics + ctl->prometheus + ctl->json + ctl->csv > 1)
        return ctl_fail(
            ctl, EX_USAGE,
            "stats: expected only one of --openmetrics, --prometheus, --csv and --json");
    if (!wants_metrics(ctl) && ctl->output != NULL)
        return ctl_fail(ctl, EX_USAGE, "stats: --output needs --openmetrics or --prometheus");
    if (wants_metrics(ctl) && ctl->watch_s > 0 && ctl->output == NULL)
        return ctl_fail(
            ctl, EX_USAGE,
            "stats: metrics with --watch need --output FILE, which is replaced each time");
    return 0;
}

/* Writes the file once. If *bus is NULL, connects to the daemon first. */
static int refresh_file(const struct ctl *ctl, sd_bus **bus, char name[NAME_BYTES])
{
    sd_bus_message *stats = NULL;
    int r = *bus != NULL ? 0 : daemon_try_open(ctl, bus);
    if (r == -EACCES)
        return daemon_open(ctl, bus); /* prints the reason; waiting would not help */
    if (r == 0 && (r = daemon_try_get_all(ctl, *bus, &stats)) < 0)
        *bus = sd_bus_close_unref(*bus);
    if (r == 0)
        snprintf(name, NAME_BYTES, "%s", bus_text(stats, "Name"));
    int code = replace_file(ctl, name, stats);
    sd_bus_message_unref(stats);
    return code;
}

/* Keeps the file up to date. While no daemon answers, the file says so, and this waits for one. */
static int watch_metrics(const struct ctl *ctl)
{
    sd_bus *bus = NULL;
    char name[NAME_BYTES], dir[PATH_MAX];
    int code = ctl_runtime_dir(ctl, dir);
    snprintf(name, sizeof name, "%s", ctl->name);
    for (uint64_t i = 1; code == 0; i++) {
        code = refresh_file(ctl, &bus, name);
        if (i == ctl->count)
            break;
        if (code == 0)
            pause_s(bus, ctl->watch_s);
    }
    sd_bus_close_unref(bus);
    return code;
}

int command_stats(const struct ctl *ctl)
{
    int usage = check_options(ctl);
    if (usage != 0)
        return usage;
    if (wants_metrics(ctl) && ctl->watch_s > 0)
        return watch_metrics(ctl);
    sd_bus *bus = NULL;
    bool screen = ctl->watch_s > 0 && !ctl->json && !ctl->csv && isatty(STDOUT_FILENO);
    int code = daemon_open(ctl, &bus);

    for (uint64_t i = 1; code == 0; i++) {
        if (screen)
            fputs("\033[H\033[2J", stdout); /* cursor home, clear */
        code = print_once(ctl, bus, i == 1);
        if (ctl->watch_s == 0 || i == ctl->count || ferror(stdout))
            break;
        if (!screen && !ctl->json && !ctl->csv && !wants_metrics(ctl))
            putchar('\n');
        pause_s(bus, ctl->watch_s);
    }
    sd_bus_unref(bus);
    return code;
}
