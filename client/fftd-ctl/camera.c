/* Implements `camera`, which shows and sets the camera's own controls. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon.h"
#include "commands.h"

#define MAX_ENTRIES 256 /* in a menu; further ones are not shown */

struct entry {
    int64_t value;
    const char *name;
};

/* One control, as ListControls describes it. */
struct control {
    const char *name, *type, *text;
    int64_t minimum, maximum, step, initial, value;
    int read_only, inactive, is_true;
    bool has_value;
    struct entry entry[MAX_ENTRIES];
    unsigned entry_count;
};

/* ---- reading ---- */

static int read_menu(sd_bus_message *list, struct control *control)
{
    struct entry entry;
    int r = bus_enter_list(list, "a(xs)");
    while (r >= 0 && (r = sd_bus_message_read(list, "(xs)", &entry.value, &entry.name)) > 0)
        if (control->entry_count < MAX_ENTRIES)
            control->entry[control->entry_count++] = entry;
    return r < 0 ? r : bus_exit_list(list);
}

static int read_value(sd_bus_message *list, struct control *control)
{
    const char *contents;
    int r = sd_bus_message_peek_type(list, NULL, &contents);
    if (r <= 0)
        return r;
    control->has_value = true;
    if (strcmp(contents, "s") == 0)
        return sd_bus_message_read(list, "v", "s", &control->text);
    if (strcmp(contents, "b") == 0)
        return sd_bus_message_read(list, "v", "b", &control->is_true);
    return sd_bus_message_read(list, "v", "x", &control->value);
}

static int read_other(sd_bus_message *list, const char *key, void *control)
{
    return strcmp(key, "value") == 0  ? read_value(list, control)
           : strcmp(key, "menu") == 0 ? read_menu(list, control)
                                      : sd_bus_message_skip(list, "v");
}

/* Reads the next control of the list. Returns 1, 0 at the end, or -errno. */
static int read_control(sd_bus_message *list, struct control *control)
{
    const struct bus_field fields[] = {
        {"name", "s", &control->name},           {"type", "s", &control->type},
        {"minimum", "x", &control->minimum},     {"maximum", "x", &control->maximum},
        {"step", "x", &control->step},           {"default", "x", &control->initial},
        {"read_only", "b", &control->read_only}, {"inactive", "b", &control->inactive},
    };
    *control = (struct control){.name = "", .type = "", .text = ""};
    return bus_read_fields(list, fields, sizeof fields / sizeof fields[0], read_other, control);
}

/* ---- showing ---- */

static bool is(const struct control *control, const char *type)
{
    return strcmp(control->type, type) == 0;
}

static void print_value(const struct control *control, char *text, size_t size)
{
    if (!control->has_value)
        snprintf(text, size, "-");
    else if (is(control, "text"))
        snprintf(text, size, "%s", control->text);
    else if (is(control, "boolean"))
        snprintf(text, size, "%s", control->is_true ? "true" : "false");
    else if (is(control, "bitmask"))
        snprintf(text, size, "0x%" PRIx64, (uint64_t)control->value);
    else
        snprintf(text, size, "%" PRId64, control->value);
}

static void print_range(const struct control *control)
{
    if (is(control, "menu")) {
        for (unsigned i = 0; i < control->entry_count; i++)
            printf("%s%" PRId64 " (%s)", i == 0 ? "" : ", ", control->entry[i].value,
                   control->entry[i].name);
        printf("; default %" PRId64, control->initial);
    } else if (is(control, "boolean")) {
        printf("true or false; default %s", control->initial != 0 ? "true" : "false");
    } else if (is(control, "bitmask")) {
        printf("bits of 0x%" PRIx64 "; default 0x%" PRIx64, (uint64_t)control->maximum,
               (uint64_t)control->initial);
    } else if (is(control, "button")) {
        printf("true, which presses it");
    } else if (is(control, "text")) {
        printf("%" PRId64 " .. %" PRId64 " bytes", control->minimum, control->maximum);
    } else {
        printf("%" PRId64 " .. %" PRId64, control->minimum, control->maximum);
        if (control->step > 1)
            printf(" in steps of %" PRId64, control->step);
        printf("; default %" PRId64, control->initial);
    }
    if (control->read_only)
        printf("; read-only");
    if (control->inactive)
        printf("; inactive because of another control");
    printf("\n");
}

static int print_controls(const struct ctl *ctl, sd_bus_message *list)
{
    struct control control;
    int r = sd_bus_message_enter_container(list, 'a', "a{sv}");
    bool any = false;
    while (r >= 0 && (r = read_control(list, &control)) > 0) {
        char value[80];
        if (!any)
            printf("%-31s %-8s %-11s %s\n", "NAME", "TYPE", "VALUE", "TAKES");
        any = true;
        print_value(&control, value, sizeof value);
        printf("%-31s %-8s %-11s ", control.name, control.type, value);
        print_range(&control);
    }
    if (r < 0)
        return ctl_fail(ctl, EX_PROTOCOL, "ListControls: unexpected reply format");
    if (!any)
        puts("the camera has no controls");
    return ctl_finish(ctl);
}

static int camera_controls(const struct ctl *ctl)
{
    sd_bus_message *list = NULL;
    int code = daemon_ask(ctl, &list, "ListControls");
    if (code == 0)
        code = ctl->json ? daemon_print_json(ctl, list) : print_controls(ctl, list);
    sd_bus_message_unref(list);
    return code;
}

/* ---- setting ---- */

/* Appends the operands as an a{ss}. -EDOM: the operand *ret_wrong is not NAME=VALUE. */
static int append_settings(const struct ctl *ctl, sd_bus_message *message, const char **ret_wrong)
{
    int r = sd_bus_message_open_container(message, 'a', "{ss}");
    for (int i = 1; r >= 0 && i < ctl->argc; i++) {
        *ret_wrong = ctl->argv[i];
        r = daemon_append_setting(message, ctl->argv[i]);
    }
    return r < 0 ? r : sd_bus_message_close_container(message);
}

static int camera_set(const struct ctl *ctl)
{
    sd_bus *bus = NULL;
    sd_bus_message *message = NULL;
    const char *wrong = "";
    int code = daemon_open(ctl, &bus);
    if (code != 0)
        return code;
    int r = bus_new_call(bus, &message, "SetControls");
    if (r >= 0)
        r = append_settings(ctl, message, &wrong);
    if (r == -EDOM) {
        code = ctl_fail(ctl, EX_USAGE,
                        "camera set %.60s: expected NAME=VALUE, such as brightness=128", wrong);
        sd_bus_message_unref(message);
    } else {
        code = daemon_send(ctl, bus, r, message, NULL);
    }
    sd_bus_unref(bus);
    return code == 0 ? ctl_finish_silently(ctl) : code;
}

int command_camera(const struct ctl *ctl)
{
    const bool is_set = strcmp(ctl->argv[0], "set") == 0;
    if (!is_set && strcmp(ctl->argv[0], "controls") != 0)
        return ctl_fail(ctl, EX_USAGE, "camera %.60s: expected controls or set", ctl->argv[0]);
    if (is_set && ctl->argc < 2)
        return ctl_fail(ctl, EX_USAGE, "camera set: expected NAME=VALUE...");
    if (!is_set && ctl->argc > 1)
        return ctl_fail(ctl, EX_USAGE, "camera controls: expected no operand");
    return is_set ? camera_set(ctl) : camera_controls(ctl);
}
