/* Implements `filter` and `reload`; change.c has the actions that change the filter. */
#include <stdio.h>
#include <string.h>

#include "adaptation.h"
#include "daemon.h"
#include "change.h"
#include "commands.h"
#include "options.h"
#include "tools.h"

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

/* ---- kinds and presets ---- */

/* fftd knows both, and needs no daemon for that. */
static int filter_kinds(const struct ctl *ctl)
{
    char option[200] = "--list-filters";
    char *args[] = {"fftd", option, ctl->json ? "--json" : NULL, NULL};
    if (ctl->argc > 1 &&
        (size_t)snprintf(option, sizeof option, "--list-filters=%s", ctl->argv[1]) >= sizeof option)
        return ctl_fail(ctl, EX_DATAERR, "filter kinds: the name is longer than %zu bytes",
                        sizeof option - sizeof "--list-filters=");
    return tools_print(ctl, args);
}

static int filter_presets(const struct ctl *ctl)
{
    char *args[] = {"fftd", "--list-presets", ctl->json ? "--json" : NULL, NULL};
    return tools_print(ctl, args);
}

/* ---- the commands ---- */

#define CHANGES "if-serial fade no-wait timeout"

int command_filter(const struct ctl *ctl)
{
    static const struct {
        const char *name, *operands;
        int min, max; /* how many operands, with the action; max -1: any number */
        int (*run)(const struct ctl *ctl);
        const char *takes; /* options */
    } actions[] = {
        {"show", "", 1, 1, filter_show, "raw"},
        {"set", " CHAIN...", 2, -1, change_replace, CHANGES},
        {"add", " STAGE [NUMBER]", 2, 3, change_add, CHANGES},
        {"remove", " STAGE", 2, 2, change_by_words, CHANGES},
        {"edit", " CHANGE...", 2, -1, change_edit, CHANGES},
        {"restart", "", 1, 1, change_by_words, "if-serial no-wait timeout"},
        {"preset", " NAME", 2, 2, change_preset, CHANGES},
        {"keep", "", 1, 1, adaptation_keep, CHANGES},
        {"save", " [FILE [SUMMARY]]", 1, 3, filter_save, "all config"},
        {"kinds", " [KIND]", 1, 2, filter_kinds, ""},
        {"presets", "", 1, 1, filter_presets, ""},
        {"plot", " FILE [CHAIN...]", 2, -1, filter_plot, ""},
    };
    for (unsigned i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (strcmp(actions[i].name, ctl->argv[0]) != 0)
            continue;
        if (ctl->argc < actions[i].min || (actions[i].max >= 0 && ctl->argc > actions[i].max))
            return ctl_fail(ctl, EX_USAGE, "expected: fftd-ctl filter %s%s", actions[i].name,
                            actions[i].operands);
        const bool is_preset = actions[i].run == filter_save && ctl->argc > 1;
        const char *unsuited = options_find_unsuited(ctl, is_preset ? "" : actions[i].takes);
        if (unsuited != NULL)
            return ctl_fail(ctl, EX_USAGE, "filter %s%s does not take --%s", actions[i].name,
                            is_preset ? " with an operand" : "", unsuited);
        return actions[i].run(ctl);
    }
    return ctl_fail(
        ctl, EX_USAGE,
        "filter %s: expected show, set, add, remove, edit, restart, preset, keep, save, kinds, "
        "presets or plot",
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
