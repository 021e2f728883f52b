/* Implements `filter` and `reload`; change.c has the actions that change the filter. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "adaptation.h"
#include "daemon.h"
#include "change.h"
#include "commands.h"
#include "common/output.h"

#define RELOAD_PATIENCE_US 300000000u

/* ---- showing ---- */

/* Prints one numbered stage per line. The chain separates stages by " | ". */
static void print_stages(const char *chain)
{
    if (strcmp(chain, "none") == 0 || *chain == '\0') {
        puts("none: frames are not filtered");
        return;
    }
    for (unsigned number = 1; *chain != '\0'; number++) {
        size_t length = strcspn(chain, "|");
        const char *next = chain + length + strspn(chain + length, "| ");
        while (length > 0 && chain[length - 1] == ' ')
            length--;
        printf("%2u  %.*s\n", number, (int)length, chain);
        chain = next;
    }
}

static int filter_show(const struct ctl *ctl)
{
    sd_bus_message *properties = NULL;
    int code = daemon_ask(ctl, &properties, NULL);
    if (code != 0)
        return code;
    if (ctl->json) {
        struct json json = {.file = stdout};
        json_open(&json, NULL, '{');
        json_text(&json, "Filter", bus_text(properties, "Filter"));
        json_integer(&json, "Serial", bus_u64(properties, "Serial"));
        if (bus_find(properties, "FilterStages", "aa{sv}") &&
            bus_to_json(properties, &json, "FilterStages") < 0)
            code = ctl_fail(ctl, EX_PROTOCOL, "FilterStages: unexpected reply format");
        if (code == 0 && bus_find(properties, "Adaptation", "a{sv}") &&
            bus_to_json(properties, &json, "Adaptation") < 0)
            code = ctl_fail(ctl, EX_PROTOCOL, "Adaptation: unexpected reply format");
        json_close(&json, '}');
    } else if (ctl->raw) {
        puts(bus_text(properties, "Filter"));
    } else {
        print_stages(bus_text(properties, "Filter"));
        if (adaptation_print(properties) < 0)
            code = ctl_fail(ctl, EX_PROTOCOL, "Adaptation: unexpected reply format");
    }
    if (code == 0)
        code = ctl_finish(ctl);
    sd_bus_message_unref(properties);
    return code;
}

/* Writes a string in libconfig's syntax. */
static void write_quoted(FILE *file, const char *text)
{
    putc('"', file);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else if (c < ' ')
            fprintf(file, "\\x%02x", c);
        else
            putc(c, file);
    }
    putc('"', file);
}

static int write_preset(const struct ctl *ctl, const char *path, const char *summary,
                        const char *chain)
{
    struct output_file output;
    /* An existing file is never overwritten, because it may be the only copy of a preset. */
    int r = output_open(&output, path, OUTPUT_NEW);
    if (r < 0)
        return ctl_fail(ctl, EX_CANTCREAT, "cannot create %s: %s", path,
                        r == -EEXIST ? "the file exists and is not overwritten" : output.why);
    fputs("summary = ", output.file);
    write_quoted(output.file, summary);
    fputs(";\nfilter = ", output.file);
    write_quoted(output.file, chain);
    fputs(";\n", output.file);
    r = output_close(&output);
    return r < 0 ? ctl_fail(ctl, EX_IOERR, "cannot write %s: %s", path, strerror(-r)) : EX_OK;
}

static int filter_save(const struct ctl *ctl)
{
    sd_bus_message *properties = NULL;
    int code = daemon_ask(ctl, &properties, NULL);
    if (code == 0)
        code = write_preset(ctl, ctl->argv[1], ctl->argc > 2 ? ctl->argv[2] : "",
                            bus_text(properties, "Filter"));
    sd_bus_message_unref(properties);
    return code == 0 ? ctl_finish_silently(ctl) : code;
}

/* ---- kinds ---- */

/* A parameter, as an a{sv} describes it. */
struct about {
    const char *name, *summary, *unit, *expected, *initial;
    int required;
};

static int read_about_parameter(sd_bus_message *kinds, struct about *ret)
{
    const struct bus_field fields[] = {
        {"name", "s", &ret->name},       {"summary", "s", &ret->summary},
        {"unit", "s", &ret->unit},       {"expected", "s", &ret->expected},
        {"default", "s", &ret->initial}, {"required", "b", &ret->required},
    };
    *ret = (struct about){.name = "", .summary = "", .unit = "", .expected = "", .initial = ""};
    return bus_read_fields(kinds, fields, sizeof fields / sizeof fields[0], NULL, NULL);
}

static void print_parameter(const struct about *about)
{
    printf("    %-8s %s%s%s", about->name, about->expected, *about->unit != '\0' ? " " : "",
           about->unit);
    if (about->required)
        fputs(", required", stdout);
    else if (*about->initial != '\0')
        printf(", default %s", about->initial);
    printf("\n             %s\n", about->summary);
}

/* The kind that is being read, and which ones to print. */
struct kind_about {
    const char *only; /* NULL: all kinds */
    const char *name, *summary, *formula;
    bool found;
};

/* Prints a kind when its parameters follow, which the daemon sends last. */
static int print_kind(sd_bus_message *kinds, const char *key, void *context)
{
    struct kind_about *kind = context;
    struct about about;
    if (strcmp(key, "parameters") != 0 ||
        (kind->only != NULL && strcmp(kind->only, kind->name) != 0))
        return sd_bus_message_skip(kinds, "v");
    kind->found = true;
    printf("%s: %s\n    %s\n", kind->name, kind->summary, kind->formula);
    int r = bus_enter_list(kinds, "aa{sv}");
    while (r >= 0 && (r = read_about_parameter(kinds, &about)) > 0)
        print_parameter(&about);
    return r < 0 ? r : bus_exit_list(kinds);
}

static int fail_kinds(const struct ctl *ctl)
{
    return ctl_fail(ctl, EX_PROTOCOL, "ListFilters: unexpected reply format");
}

static int fail_no_kind(const struct ctl *ctl, const char *name)
{
    return ctl_fail(ctl, EX_DATAERR, "no such filter: %s; `fftd-ctl filter kinds` lists them",
                    name);
}

static int print_kinds(const struct ctl *ctl, sd_bus_message *kinds, const char *only)
{
    struct kind_about kind = {.only = only, .name = "", .summary = "", .formula = ""};
    const struct bus_field fields[] = {
        {"name", "s", &kind.name},
        {"summary", "s", &kind.summary},
        {"formula", "s", &kind.formula},
    };
    int r = sd_bus_message_enter_container(kinds, 'a', "a{sv}");
    while (r >= 0 && (r = bus_read_fields(kinds, fields, 3, print_kind, &kind)) > 0)
        continue;
    if (r < 0)
        return fail_kinds(ctl);
    return kind.found ? ctl_finish(ctl) : fail_no_kind(ctl, only);
}

/* Returns the index of the wanted kind, or -ENOENT. Rewinds the message, because it cannot be read
 * backwards. */
static int find_kind(sd_bus_message *kinds, const char *wanted)
{
    const char *name = "";
    const struct bus_field field = {"name", "s", &name};
    int found = -ENOENT;
    int r = sd_bus_message_enter_container(kinds, 'a', "a{sv}");
    for (int i = 0; r >= 0 && (r = bus_read_fields(kinds, &field, 1, NULL, NULL)) > 0; i++)
        if (strcmp(name, wanted) == 0)
            found = i;
    sd_bus_message_rewind(kinds, true);
    return found;
}

/* Writes all kinds as an array, or the wanted kind as an object. */
static int write_kinds(const struct ctl *ctl, sd_bus_message *kinds, const char *only)
{
    int r = 0;
    if (only != NULL) {
        const int number = find_kind(kinds, only);
        if (number < 0)
            return fail_no_kind(ctl, only);
        r = sd_bus_message_enter_container(kinds, 'a', "a{sv}");
        for (int i = 0; i < number && r >= 0; i++)
            r = sd_bus_message_skip(kinds, "a{sv}");
    }
    return r < 0 ? fail_kinds(ctl) : daemon_print_json(ctl, kinds);
}

static int filter_kinds(const struct ctl *ctl)
{
    const char *only = ctl->argc > 1 ? ctl->argv[1] : NULL;
    sd_bus_message *kinds = NULL;
    int code = daemon_ask(ctl, &kinds, "ListFilters");
    if (code == 0)
        code = ctl->json ? write_kinds(ctl, kinds, only) : print_kinds(ctl, kinds, only);
    sd_bus_message_unref(kinds);
    return code;
}

/* ---- the commands ---- */

int command_filter(const struct ctl *ctl)
{
    static const struct {
        const char *name, *operands;
        int min, max; /* how many operands, with the action; max -1: any number */
        int (*run)(const struct ctl *ctl);
        bool changes;
    } actions[] = {
        {"show", "", 1, 1, filter_show, false},
        {"set", " CHAIN...", 2, -1, change_replace, true},
        {"add", " STAGE [NUMBER]", 2, 3, change_add, true},
        {"remove", " STAGE", 2, 2, change_remove, true},
        {"edit", " CHANGE...", 2, -1, change_edit, true},
        {"preset", " NAME", 2, 2, change_preset, true},
        {"keep", "", 1, 1, adaptation_keep, true},
        {"save", " FILE [SUMMARY]", 2, 3, filter_save, false},
        {"kinds", " [KIND]", 1, 2, filter_kinds, false},
        {"plot", " FILE [CHAIN...]", 2, -1, filter_plot, false},
    };
    for (unsigned i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(actions[i].name, ctl->argv[0]) != 0)
            continue;
        if (ctl->argc < actions[i].min || (actions[i].max >= 0 && ctl->argc > actions[i].max))
            return ctl_fail(ctl, EX_USAGE, "expected: fftd-ctl filter %s%s", actions[i].name,
                            actions[i].operands);
        if (ctl->raw && actions[i].run != filter_show)
            return ctl_fail(ctl, EX_USAGE, "filter %s does not take --raw", actions[i].name);
        if ((ctl->if_serial != 0 || ctl->fade != 0) && !actions[i].changes)
            return ctl_fail(ctl, EX_USAGE, "filter %s does not take %s", actions[i].name,
                            ctl->if_serial != 0 ? "--if-serial" : "--fade");
        return actions[i].run(ctl);
    }
    return ctl_fail(
        ctl, EX_USAGE,
        "filter %s: expected show, set, add, remove, edit, preset, keep, save, kinds or "
        "plot",
        ctl->argv[0]);
}

/* A reload with another source or filter is answered when its engine is built. */
int command_reload(const struct ctl *ctl)
{
    sd_bus *bus = NULL;
    int code = daemon_open(ctl, &bus);
    if (code == 0) {
        sd_bus_set_method_call_timeout(bus, RELOAD_PATIENCE_US);
        code = daemon_call(ctl, bus, NULL, "Reload", NULL);
    }
    sd_bus_unref(bus);
    return code == 0 ? ctl_finish_silently(ctl) : code;
}
