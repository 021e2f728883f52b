/* Implements `list`, `status` and `output`. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"
#include "daemon.h"
#include "libfftd/dir.h"
#include "commands.h"
#include "common/reading.h"

/* ---- status ---- */

static void print_line(const char *label, const char *text)
{
    if (*text != '\0')
        printf("%-9s %s\n", label, text);
}

/* Prints what a frame takes on this device and on another one, and what would change the choice. */
static void print_comparison(sd_bus_message *p)
{
    double device_ms = 0, cpu_ms = 0;
    const char *device = "", *cpu_device = "", *problem = "";
    int cpu_is_faster = 0, cpu_is_used = 0, is_automatic = 0;
    const struct bus_field fields[] = {
        {"device_ms", "d", &device_ms},     {"cpu_ms", "d", &cpu_ms},
        {"device", "s", &device},           {"cpu_device", "s", &cpu_device},
        {"problem", "s", &problem},         {"cpu_is_faster", "b", &cpu_is_faster},
        {"cpu_is_used", "b", &cpu_is_used}, {"is_automatic", "b", &is_automatic},
    };
    if (bus_find(p, "Comparison", "a{sv}"))
        bus_read_fields(p, fields, sizeof fields / sizeof fields[0], NULL, NULL);
    if (device_ms <= 0 || cpu_ms <= 0)
        return;
    const bool is_hint = cpu_is_faster && !is_automatic;
    printf("%-9s a frame takes %.2f ms on this device and %.2f ms on \"%s\"%s%s%s\n",
           is_hint ? "hint" : "compared", cpu_is_used ? cpu_ms : device_ms,
           cpu_is_used ? device_ms : cpu_ms, cpu_is_used ? device : cpu_device,
           is_hint       ? "; engine.device = \"auto\" would use that one"
           : cpu_is_used ? "; engine.device = \"gpu\" would use that one"
                         : "",
           *problem != '\0' ? ", which is not used: " : "", problem);
}

/* A device that shares the host's memory has no limit of its own. */
static void print_memory(sd_bus_message *p)
{
    static const char *const kinds[][3] = {{"host", "host_limit", ""},
                                           {"device", "device_limit", " of its own"}};
    printf("%-9s %s", "memory", bus_text(p, "DeviceMemory"));
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t used = bus_counter(p, "Memory", kinds[i][0]) >> 20;
        const uint64_t limit = bus_counter(p, "Memory", kinds[i][1]) >> 20;
        if (limit > 0)
            printf(", at most %" PRIu64 " of %" PRIu64 " MiB%s", used, limit, kinds[i][2]);
    }
    putchar('\n');
}

/* Says which values do not come from the configuration. */
static void print_saved(sd_bus_message *p)
{
    const char *key, *separator = "saved     ";
    if (!bus_find_entries(p, "SavedKeys", "as"))
        return;
    for (; sd_bus_message_read(p, "s", &key) > 0; separator = ", ")
        printf("%s%s", separator, key);
    if (*separator == ',')
        printf(": %s goes before the configuration\n", bus_text(p, "SavedFile"));
}

static void print_status(sd_bus_message *p, const char *dir)
{
    const char *reason = bus_text(p, "StateReason");
    char why[READING_WHY_BYTES], smaller[96];
    const char *output = bus_text(p, "OutputName");
    const bool is_named = *output != '\0' && strcmp(output, "main") != 0;
    printf("%-9s %s%s%s, %s%s%s\n", "camera", bus_text(p, "Name"), is_named ? ":" : "",
           is_named ? output : "", bus_text(p, "State"), *reason != '\0' ? ": " : "", reason);
    print_line("source", reading_source(p));
    print_line("input", bus_text(p, "Input"));
    print_line("output", bus_text(p, "Output"));
    if (reading_smaller(p, smaller, sizeof smaller))
        print_line("published", smaller);
    print_line("engine", bus_text(p, "Engine"));
    print_line("motion", bus_text(p, "Motion"));
    print_line("device", bus_text(p, "Device"));
    print_memory(p);
    print_comparison(p);
    print_line("filter", bus_text(p, "Filter"));
    if (bus_measure(p, "stacked") > 0)
        printf("%-9s of %.0f frames; `filter restart` begins another one\n", "stack",
               bus_measure(p, "stacked"));
    reading_problem(p, why);
    print_line("", why);
    print_line("preparing", bus_text(p, "Preparing"));
    print_saved(p);
    if (strcmp(bus_text(p, "PublishedView"), "picture") != 0)
        print_line("view", bus_text(p, "PublishedView"));

    uint64_t desired = bus_u64(p, "Serial"), published = bus_u64(p, "PublishedSerial");
    uint64_t dropped =
        bus_counter(p, "Counters", "dropped_error") + bus_counter(p, "Counters", "dropped_stale") +
        bus_counter(p, "Counters", "dropped_engine") + bus_counter(p, "Counters", "source_lost");
    printf("%-9s %" PRIu64 " published, %.1f per second, %" PRIu64 " dropped, filter %" PRIu64,
           "frames", bus_counter(p, "Counters", "published"), bus_double(p, "Rate"), dropped,
           published);
    if (reading_is_pending(p, desired, why))
        printf(" (%" PRIu64 " %s)", desired,
               *bus_text(p, "FilterProblem") != '\0' ? "cannot be used" : why);
    printf("\n%-9s p50 %.1f ms, p99 %.1f ms, capture to publication\n", "latency",
           reading_latency_ms(p, "p50_ns"), reading_latency_ms(p, "p99_ns"));
    printf("%-9s %u\n", "clients", bus_u32(p, "Clients"));
    printf("%-9s %s (fftd %s)\n", "sockets", dir, bus_text(p, "Version"));
}

int command_status(const struct ctl *ctl)
{
    char dir[PATH_MAX];
    sd_bus_message *properties = NULL;
    int code = ctl_runtime_dir(ctl, dir);
    if (code == 0)
        code = daemon_ask(ctl, &properties, NULL);
    if (code != 0)
        return code;
    if (ctl->json) {
        code = daemon_print_json(ctl, properties);
    } else {
        print_status(properties, dir);
        code = ctl_finish(ctl);
    }
    sd_bus_message_unref(properties);
    return code;
}

/* ---- list ---- */

struct listing {
    const struct ctl *ctl;
    struct json json;
    unsigned count;
};

/* Returns the properties of the daemon in this runtime directory; NULL: it did not answer. */
static sd_bus_message *ask(const struct ctl *ctl, const char *dir, int *ret_error)
{
    sd_bus *bus = NULL;
    sd_bus_message *properties = NULL;
    int r = daemon_connect(&bus, dir, DAEMON_PATIENCE_US);
    if (r == 0 && daemon_try_get_all(ctl, bus, &properties) < 0)
        r = -EIO; /* -ENOENT would mean that there is no daemon */
    sd_bus_unref(bus);
    *ret_error = r;
    return properties;
}

static void list_one(struct listing *listing, const char *dir, const char *name)
{
    int error;
    char format[64] = "-";
    sd_bus_message *p = ask(listing->ctl, dir, &error);
    if (error == -ENOENT || error == -ENOTDIR)
        return;
    const char *state = p != NULL                ? bus_text(p, "State")
                        : error == -ECONNREFUSED ? "dead"
                        : error == -EACCES       ? "permission denied"
                                                 : "silent";
    if (p != NULL)
        reading_format(p, format, sizeof format);
    if (listing->ctl->json) {
        struct json *json = &listing->json;
        json_open(json, NULL, '{');
        json_text(json, "Directory", dir);
        json_text(json, "Name", name);
        json_text(json, "State", state);
        if (p != NULL) {
            json_text(json, "Source", bus_text(p, "Source"));
            if (bus_find(p, "Format", "a{sv}"))
                bus_to_json(p, json, "Format");
            json_number(json, "Rate", bus_double(p, "Rate"));
            json_integer(json, "Clients", bus_u32(p, "Clients"));
        }
        json_close(json, '}');
    } else {
        if (listing->count == 0)
            printf("%-16s %-17s %-16s %6s %7s  %s\n", "NAME", "STATE", "FORMAT", "RATE", "CLIENTS",
                   "SOCKETS");
        printf("%-16s %-17s %-16s %6.1f %7u  %s\n", name, state, format,
               p != NULL ? bus_double(p, "Rate") : 0, p != NULL ? bus_u32(p, "Clients") : 0, dir);
    }
    listing->count++;
    sd_bus_message_unref(p);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void list_place(struct listing *listing, const char *place)
{
    struct dirent **entries;
    int count = scandir(place, &entries, is_visible, alphasort);
    for (int i = 0; i < count; i++) {
        char dir[PATH_MAX];
        if (snprintf(dir, sizeof dir, "%s/%s", place, entries[i]->d_name) < PATH_MAX)
            list_one(listing, dir, entries[i]->d_name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

int command_list(const struct ctl *ctl)
{
    struct listing listing = {.ctl = ctl, .json.file = stdout};
    char dir[PATH_MAX], place[PATH_MAX];
    int code = ctl_runtime_dir(ctl, dir);
    if (code != 0)
        return code;

    if (ctl->json)
        json_open(&listing.json, NULL, '[');
    if (ctl->runtime_dir != NULL)
        list_one(&listing, dir, basename(dir));
    else
        for (unsigned i = 0; i < DIR_PLACES; i++)
            if (dir_place(i, place, sizeof place))
                list_place(&listing, place);
    if (ctl->json)
        json_close(&listing.json, ']');
    else if (listing.count == 0)
        puts("no daemon is running; start one with `fftd --source pattern:moire`");
    return ctl_finish(ctl);
}

/* ---- output list ---- */

/* The names are copied first, because each output is asked over a connection of its own. */
static int list_outputs(struct listing *listing, const char *dir, sd_bus_message *properties)
{
    const char *name;
    char below[2 * PATH_MAX];
    if (!bus_find_entries(properties, "OutputNames", "as"))
        return ctl_fail(listing->ctl, EX_PROTOCOL, "this daemon is older than its named outputs");
    while (sd_bus_message_read(properties, "s", &name) > 0) {
        const bool is_main = strcmp(name, "main") == 0;
        snprintf(below, sizeof below, "%s%s%s", dir, is_main ? "" : "/outputs/",
                 is_main ? "" : name);
        list_one(listing, below, name);
    }
    return 0;
}

static int output_list(const struct ctl *ctl, const char *dir)
{
    struct listing listing = {.ctl = ctl, .json.file = stdout};
    sd_bus_message *properties = NULL;
    int code = daemon_ask(ctl, &properties, NULL);
    if (code != 0)
        return code;
    if (ctl->json)
        json_open(&listing.json, NULL, '[');
    code = list_outputs(&listing, dir, properties);
    if (ctl->json)
        json_close(&listing.json, ']');
    sd_bus_message_unref(properties);
    return code != 0 ? code : ctl_finish(ctl);
}

/* ---- output add, output remove ---- */

static int append_member(sd_bus_message *message, int r, const char *name, const char *value)
{
    return r < 0 ? r : sd_bus_message_append(message, "{ss}", name, value);
}

/* The daemon checks the values. -EDOM: *ret_wrong is not KEY=VALUE. */
static int append_members(const struct ctl *ctl, sd_bus_message *message, const char *chain,
                          const char **ret_wrong)
{
    char text[32];
    int r = sd_bus_message_open_container(message, 'a', "{ss}");
    r = append_member(message, r, "name", ctl->argv[1]);
    r = append_member(message, r, "filter", *chain != '\0' ? chain : "none");
    if (ctl->size != NULL)
        r = append_member(message, r, "size", ctl->size);
    snprintf(text, sizeof text, "%.17g", ctl->fps);
    if (ctl->fps > 0)
        r = append_member(message, r, "fps", text);
    for (unsigned i = 0; r >= 0 && i < ctl->settings.count; i++) {
        *ret_wrong = ctl->settings.text[i];
        r = daemon_append_setting(message, ctl->settings.text[i]);
    }
    return r < 0 ? r : sd_bus_message_close_container(message);
}

static int output_add(const struct ctl *ctl, sd_bus *bus)
{
    char chain[CHAIN_BYTES];
    sd_bus_message *message = NULL;
    const char *wrong = "";
    int code = change_join_chain(ctl, 2, chain);
    if (code != 0)
        return code;
    int r = bus_new_call(bus, &message, "AddOutput");
    if (r >= 0)
        r = append_members(ctl, message, chain, &wrong);
    if (r != -EDOM)
        return daemon_send(ctl, bus, r, message, NULL);
    sd_bus_message_unref(message);
    return ctl_fail(ctl, EX_USAGE, "--set %.60s: expected KEY=VALUE, such as planes=luma-only",
                    wrong);
}

static int output_change(const struct ctl *ctl, bool adds)
{
    sd_bus *bus = NULL;
    int code = daemon_open(ctl, &bus);
    if (code != 0)
        return code;
    code = adds ? output_add(ctl, bus)
                : daemon_call(ctl, bus, NULL, "RemoveOutput", "s", ctl->argv[1]);
    sd_bus_unref(bus);
    return code == 0 ? ctl_finish_silently(ctl) : code;
}

int command_output(const struct ctl *ctl)
{
    const char *action = ctl->argv[0];
    const bool lists = strcmp(action, "list") == 0, adds = strcmp(action, "add") == 0;
    char dir[PATH_MAX];
    if (!lists && !adds && strcmp(action, "remove") != 0)
        return ctl_fail(ctl, EX_USAGE, "output %.60s: expected list, add or remove", action);
    if (ctl->argc < 2 - lists || (!adds && ctl->argc > 2 - lists))
        return ctl_fail(ctl, EX_USAGE, "output %s: expected %s", action,
                        lists  ? "no operand"
                        : adds ? "NAME [CHAIN...]"
                               : "NAME");
    if (!adds && (ctl->size != NULL || ctl->fps > 0 || ctl->settings.count > 0))
        return ctl_fail(ctl, EX_USAGE, "output %s: expected no --size, --fps or --set", action);
    const int code = ctl_runtime_dir(ctl, dir);
    if (code == 0 && *bus_output(dir) != '\0')
        return ctl_fail(ctl, EX_USAGE, "output %s: expected the name of a camera, without :%s",
                        action, bus_output(dir));
    return code != 0 ? code : lists ? output_list(ctl, dir) : output_change(ctl, adds);
}
