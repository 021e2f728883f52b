/* Controls and the entries of menus are enumerated one at a time. The result is one allocation, so
 * there are two rounds, and the first one counts.
 *
 * Arrays and compound types (a codec's, a calibration's) are skipped, because users do not set
 * those by hand. */
#include "capture/v4l2_control.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/text.h"

#define MAX_ENTRIES 256 /* more entries than any menu has */

static int control_ioctl(const struct video_device *device, unsigned long request, void *argument)
{
    const struct video_device unconverted = {.fd = device->fd};
    return video_ioctl(&unconverted, request, argument);
}

void video_control_name(char name[SETTINGS_NAME_BYTES], const char *label)
{
    size_t length = 0;
    bool gap = false;
    for (; *label != '\0'; label++) {
        if (!isalnum((unsigned char)*label)) {
            gap = length > 0;
            continue;
        }
        if (length + gap + 1 >= SETTINGS_NAME_BYTES)
            break;
        if (gap)
            name[length++] = '_';
        gap = false;
        name[length++] = (char)tolower((unsigned char)*label);
    }
    name[length] = '\0';
}

/* ---- listing ---- */

/* The kind of a control, or -1 for those that are not offered. */
static int type_of(const struct v4l2_query_ext_ctrl *query)
{
    if ((query->flags & V4L2_CTRL_FLAG_DISABLED) != 0 || query->nr_of_dims > 0)
        return -1;
    switch (query->type) {
    case V4L2_CTRL_TYPE_INTEGER:
    case V4L2_CTRL_TYPE_INTEGER64:
        return CAPTURE_INTEGER;
    case V4L2_CTRL_TYPE_BOOLEAN:
        return CAPTURE_BOOLEAN;
    case V4L2_CTRL_TYPE_MENU:
    case V4L2_CTRL_TYPE_INTEGER_MENU:
        return CAPTURE_MENU;
    case V4L2_CTRL_TYPE_BITMASK:
        return CAPTURE_BITMASK;
    case V4L2_CTRL_TYPE_BUTTON:
        return CAPTURE_BUTTON;
    case V4L2_CTRL_TYPE_STRING:
        return CAPTURE_TEXT;
    default: /* other types of the kernel: classes, arrays, structs */
        return -1;
    }
}

static bool next_control(const struct video_device *device, struct v4l2_query_ext_ctrl *query)
{
    do {
        const uint32_t id = query->id | V4L2_CTRL_FLAG_NEXT_CTRL;
        *query = (struct v4l2_query_ext_ctrl){.id = id};
        if (control_ioctl(device, VIDIOC_QUERY_EXT_CTRL, query) < 0)
            return false;
    } while (type_of(query) < 0);
    return true;
}

/* Fills entries[] (unless it is NULL) with those of the menu; returns their number. A menu may have
 * gaps. */
static unsigned list_entries(const struct video_device *device,
                             const struct v4l2_query_ext_ctrl *query,
                             struct capture_menu_entry *entries, unsigned capacity)
{
    unsigned count = 0;
    if (type_of(query) != CAPTURE_MENU)
        return 0;
    for (int64_t i = query->minimum; i <= query->maximum && count < capacity; i++) {
        struct v4l2_querymenu menu = {.id = query->id, .index = (uint32_t)i};
        if (control_ioctl(device, VIDIOC_QUERYMENU, &menu) < 0)
            continue;
        if (entries != NULL) {
            struct capture_menu_entry *entry = &entries[count];
            entry->value = i;
            if (query->type == V4L2_CTRL_TYPE_INTEGER_MENU)
                snprintf(entry->name, sizeof entry->name, "%lld", (long long)menu.value);
            else
                snprintf(entry->name, sizeof entry->name, "%.31s", (const char *)menu.name);
        }
        count++;
    }
    return count;
}

/* A control's value, as the kernel passes it; text for CAPTURE_TEXT. */
static int exchange(const struct video_device *device, unsigned long request,
                    const struct v4l2_query_ext_ctrl *query, int64_t *value, char *text,
                    size_t text_bytes)
{
    struct v4l2_ext_control control = {.id = query->id};
    struct v4l2_ext_controls controls = {
        .which = V4L2_CTRL_WHICH_CUR_VAL, .count = 1, .controls = &control};
    if (query->type == V4L2_CTRL_TYPE_STRING) {
        control.string = text;
        control.size = (uint32_t)text_bytes;
    } else if (query->type == V4L2_CTRL_TYPE_INTEGER64) {
        control.value64 = *value;
    } else {
        control.value = (int32_t)*value;
    }
    int r = control_ioctl(device, request, &controls);
    if (r == 0 && query->type == V4L2_CTRL_TYPE_INTEGER64)
        *value = control.value64;
    else if (r == 0 && query->type == V4L2_CTRL_TYPE_BITMASK)
        *value = (uint32_t)control.value;
    else if (r == 0 && query->type != V4L2_CTRL_TYPE_STRING)
        *value = control.value;
    return r;
}

static void read_value(const struct video_device *device, const struct v4l2_query_ext_ctrl *query,
                       struct capture_control *control)
{
    const size_t bytes = (size_t)query->maximum + 1;
    char *text = NULL;
    if (control->type == CAPTURE_BUTTON || (query->flags & V4L2_CTRL_FLAG_WRITE_ONLY) != 0)
        return;
    if (control->type == CAPTURE_TEXT && (text = calloc(1, bytes)) == NULL)
        return;
    control->has_value =
        exchange(device, VIDIOC_G_EXT_CTRLS, query, &control->value, text, bytes) == 0;
    if (control->has_value && text != NULL)
        snprintf(control->text, sizeof control->text, "%s", text);
    free(text);
}

static void describe(const struct v4l2_query_ext_ctrl *query, struct capture_control *ret)
{
    *ret = (struct capture_control){
        .type = (enum capture_control_type)type_of(query),
        .minimum = query->minimum,
        .maximum = query->maximum,
        .step = (int64_t)query->step,
        .initial = query->default_value,
        .read_only = (query->flags & V4L2_CTRL_FLAG_READ_ONLY) != 0,
        .inactive = (query->flags & V4L2_CTRL_FLAG_INACTIVE) != 0,
    };
    snprintf(ret->label, sizeof ret->label, "%.31s", query->name);
    video_control_name(ret->name, ret->label);
    if (ret->type == CAPTURE_BITMASK) { /* the kernel sign-extends 32 bits */
        ret->maximum = (uint32_t)query->maximum;
        ret->initial = (uint32_t)query->default_value;
    }
}

int video_list_controls(const struct video_device *device, struct capture_controls **ret,
                        struct error *why)
{
    struct v4l2_query_ext_ctrl query = {.id = 0};
    unsigned count = 0, entries = 0;
    while (next_control(device, &query)) {
        count++;
        entries += list_entries(device, &query, NULL, MAX_ENTRIES);
    }
    struct capture_controls *controls;
    const size_t fixed = sizeof *controls + count * sizeof controls->control[0];
    controls = malloc(fixed + entries * sizeof(struct capture_menu_entry));
    if (controls == NULL)
        return error_set(why, ENOMEM, "out of memory for %u controls", count);

    struct capture_menu_entry *entry = (void *)&controls->control[count];
    controls->count = 0;
    query = (struct v4l2_query_ext_ctrl){.id = 0};
    while (controls->count < count && next_control(device, &query)) {
        struct capture_control *control = &controls->control[controls->count++];
        describe(&query, control);
        control->entry = entry;
        control->entry_count = list_entries(device, &query, entry, entries);
        entry += control->entry_count;
        entries -= control->entry_count;
        read_value(device, &query, control);
    }
    *ret = controls;
    return 0;
}

/* ---- values ---- */

static void append_range(const struct capture_control *control, char *text, size_t size)
{
    switch (control->type) {
    case CAPTURE_INTEGER:
        text_append(text, size, "%lld .. %lld", (long long)control->minimum,
                    (long long)control->maximum);
        if (control->step > 1)
            text_append(text, size, " in steps of %lld", (long long)control->step);
        break;
    case CAPTURE_BOOLEAN:
        text_append(text, size, "true or false");
        break;
    case CAPTURE_MENU:
        text_append(text, size, "one of ");
        for (unsigned i = 0; i < control->entry_count; i++)
            text_append(text, size, "%s%lld (%s)", i == 0 ? "" : ", ",
                        (long long)control->entry[i].value, control->entry[i].name);
        break;
    case CAPTURE_BITMASK:
        text_append(text, size, "bits of 0x%llx", (long long)control->maximum);
        break;
    case CAPTURE_BUTTON:
        text_append(text, size, "true, which presses it");
        break;
    case CAPTURE_TEXT:
        text_append(text, size, "text of %lld .. %lld bytes", (long long)control->minimum,
                    (long long)control->maximum);
        break;
    }
}

static int read_integer(int64_t *ret, const char *text)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 0);
    if (errno != 0 || end == text || *end != '\0' || isspace((unsigned char)*text))
        return -EINVAL;
    *ret = value;
    return 0;
}

static int read_entry(int64_t *ret, const struct capture_control *control, const char *text)
{
    int64_t number;
    bool is_number = read_integer(&number, text) == 0;
    for (unsigned i = 0; i < control->entry_count; i++) {
        const struct capture_menu_entry *entry = &control->entry[i];
        if (is_number ? entry->value == number : strcasecmp(entry->name, text) == 0) {
            *ret = entry->value;
            return 0;
        }
    }
    return -EINVAL;
}

static int read_as(int64_t *ret, const struct capture_control *control, const char *text)
{
    int64_t value = 0;
    int r = 0;
    switch (control->type) {
    case CAPTURE_INTEGER:
        r = read_integer(&value, text);
        if (value < control->minimum || value > control->maximum ||
            (control->step > 1 && (value - control->minimum) % control->step != 0))
            r = -EINVAL;
        break;
    case CAPTURE_BITMASK:
        r = read_integer(&value, text);
        if ((value & ~control->maximum) != 0)
            r = -EINVAL;
        break;
    case CAPTURE_MENU:
        r = read_entry(&value, control, text);
        break;
    case CAPTURE_BOOLEAN:
        value = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
        r = value || strcmp(text, "false") == 0 || strcmp(text, "0") == 0 ? 0 : -EINVAL;
        break;
    case CAPTURE_BUTTON:
        r = strcmp(text, "true") == 0 || strcmp(text, "1") == 0 ? 0 : -EINVAL;
        break;
    case CAPTURE_TEXT:
        value = (int64_t)strlen(text);
        r = value < control->minimum || value > control->maximum ? -EINVAL : 0;
        break;
    }
    if (r == 0)
        *ret = value;
    return r;
}

int video_control_value(int64_t *ret, const struct capture_control *control, const char *text,
                        struct error *why)
{
    char quoted[TEXT_QUOTE_BYTES], range[400] = "";
    if (control->read_only)
        return error_set(why, EINVAL, "%s = %s: the control is read-only", control->name,
                         text_quote(quoted, text));
    if (read_as(ret, control, text) == 0)
        return 0;
    append_range(control, range, sizeof range);
    return error_set(why, EINVAL, "%s = %s: expected %s", control->name, text_quote(quoted, text),
                     range);
}

/* ---- setting ---- */

/* One control as it will be set. */
struct control_change {
    struct v4l2_query_ext_ctrl query;
    int64_t value, before;
    const char *text;
    bool has_before; /* can be restored */
};

static int refuse_name(const struct video_device *device, const char *name, struct error *why)
{
    struct v4l2_query_ext_ctrl query = {.id = 0};
    struct text_guess guess = TEXT_GUESS(name);
    /* text_guess keeps a pointer to the best name, so that name's buffer is not reused. */
    char known[2][SETTINGS_NAME_BYTES], hint[64] = "";
    unsigned next = 0, count = 0;
    while (next_control(device, &query)) {
        video_control_name(known[next], query.name);
        text_guess_try(&guess, known[next]);
        if (guess.best == known[next])
            next ^= 1;
        count++;
    }
    if (count == 0)
        return error_set(why, EINVAL, "%s: %s has no controls", name, device->card);
    if (guess.best != NULL)
        snprintf(hint, sizeof hint, "; did you mean %s?", guess.best);
    return error_set(why, EINVAL,
                     "%s: %s has no such control%s; `fftd-ctl camera controls` lists them", name,
                     device->card, hint);
}

/* Checks one setting without changing anything. */
static int prepare(const struct video_device *device, const struct setting *setting,
                   struct control_change *ret, struct error *why)
{
    struct v4l2_query_ext_ctrl query = {.id = 0};
    struct capture_control control;
    do {
        if (!next_control(device, &query))
            return refuse_name(device, setting->name, why);
        describe(&query, &control);
    } while (strcmp(control.name, setting->name) != 0);

    struct capture_menu_entry entries[MAX_ENTRIES];
    control.entry = entries;
    control.entry_count = list_entries(device, &query, entries, MAX_ENTRIES);
    *ret = (struct control_change){.query = query, .text = setting->value};
    int r = video_control_value(&ret->value, &control, setting->value, why);
    if (r < 0)
        return r;
    read_value(device, &query, &control);
    ret->has_before = control.has_value && control.type != CAPTURE_TEXT;
    ret->before = control.value;
    return 0;
}

static int put(const struct video_device *device, const struct control_change *change,
               int64_t value)
{
    char text[sizeof((struct setting *)NULL)->value];
    snprintf(text, sizeof text, "%s", change->text);
    return exchange(device, VIDIOC_S_EXT_CTRLS, &change->query, &value, text, strlen(text) + 1);
}

static int refuse_change(const struct video_device *device, const struct control_change *change,
                         int result, struct error *why)
{
    /* An inactive control may have become active by the changes before this one. */
    struct v4l2_query_ext_ctrl now = {.id = change->query.id};
    const bool inactive = control_ioctl(device, VIDIOC_QUERY_EXT_CTRL, &now) == 0 &&
                          (now.flags & V4L2_CTRL_FLAG_INACTIVE) != 0;
    char name[SETTINGS_NAME_BYTES];
    const char *reason = strerror(-result);
    video_control_name(name, change->query.name);
    if (inactive)
        reason = "another control, usually an automatic one, overrides it";
    else if (result == -EBUSY)
        reason = "it cannot change while frames are captured";
    else if (result == -ENODEV)
        reason = "the device was removed";
    const bool lasting = result != -EBUSY && result != -ENODEV && result != -EIO;
    return error_set(why, lasting ? EINVAL : -result, "%s = %s: refused by the camera: %s", name,
                     change->text, reason);
}

int video_set_controls(const struct video_device *device, const struct settings *settings,
                       struct error *why)
{
    struct control_change change[SETTINGS_MAX];
    for (unsigned i = 0; i < settings->count; i++) {
        int r = prepare(device, &settings->item[i], &change[i], why);
        if (r < 0)
            return r;
    }
    for (unsigned i = 0; i < settings->count; i++) {
        int r = put(device, &change[i], change[i].value);
        if (r == 0)
            continue;
        r = refuse_change(device, &change[i], r, why);
        while (i-- > 0)
            if (change[i].has_before)
                put(device, &change[i], change[i].before);
        return r;
    }
    return 0;
}
