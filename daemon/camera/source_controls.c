#include "camera/source_controls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/text.h"

#define SHARE 100 /* a reading is good for this many times the time that it took */

void source_controls_forget(struct source_controls *controls)
{
    free(controls->list.controls);
    controls->list = (struct control_list){0};
}

void source_controls_apply(struct source_controls *controls, struct capture *capture,
                           const struct settings *settings)
{
    struct error *problem = &controls->problem;
    problem->text[0] = '\0';
    source_controls_forget(controls);
    for (unsigned i = 0; i < settings->count; i++) {
        const struct settings one = {.count = 1, .item = {settings->item[i]}};
        struct error why;
        if (capture_set_controls(capture, &one, &why) < 0)
            text_append(problem->text, sizeof problem->text, "%s%s",
                        problem->text[0] != '\0' ? "; " : "", why.text);
    }
}

static bool contains(const struct settings *settings, const struct setting *setting)
{
    for (unsigned i = 0; i < settings->count; i++)
        if (strcmp(settings->item[i].name, setting->name) == 0)
            return strcmp(settings->item[i].value, setting->value) == 0;
    return false;
}

void source_controls_add(struct source_controls *controls, struct capture *capture,
                         const struct settings *settings)
{
    struct settings changed = {.count = 0};
    for (unsigned i = 0; i < settings->count; i++)
        if (!contains(&controls->settings, &settings->item[i]))
            changed.item[changed.count++] = settings->item[i];
    /* More controls than the list can hold are set, but not again at the next opening. */
    (void)settings_merge(&controls->settings, settings, NULL);
    if (capture != NULL && changed.count > 0)
        source_controls_apply(controls, capture, &changed);
}

int source_controls_set(struct source_controls *controls, struct capture *capture,
                        const struct settings *settings, struct error *why)
{
    struct settings merged = controls->settings;
    source_controls_forget(controls);
    int r = settings_merge(&merged, settings, why);
    if (r == 0)
        r = capture_set_controls(capture, settings, why);
    if (r == 0)
        controls->settings = merged;
    return r;
}

/* ---- the list ---- */

/* The copy is one allocation, as the original is. */
static struct capture_controls *copy(const struct capture_controls *controls)
{
    size_t entries = 0;
    for (unsigned i = 0; i < controls->count; i++)
        entries += controls->control[i].entry_count;
    const size_t bytes = sizeof *controls + controls->count * sizeof controls->control[0];
    struct capture_controls *ret = malloc(bytes + entries * sizeof *ret->control[0].entry);
    if (ret == NULL)
        return NULL;
    memcpy(ret, controls, bytes);
    struct capture_menu_entry *entry = (void *)&ret->control[ret->count];
    for (unsigned i = 0; i < ret->count; i++) {
        struct capture_control *control = &ret->control[i];
        if (control->entry_count == 0)
            continue;
        memcpy(entry, control->entry, control->entry_count * sizeof *entry);
        control->entry = entry;
        entry += control->entry_count;
    }
    return ret;
}

static void read_list(struct source_controls *controls, struct capture *capture)
{
    struct control_list *list = &controls->list;
    const int64_t begin_ns = clock_now_ns();
    source_controls_forget(controls);
    list->result = capture_list_controls(capture, &list->controls, &list->why);
    const int64_t end_ns = clock_now_ns();
    const int64_t good_ns = (end_ns - begin_ns) * SHARE;
    list->expires_ns = end_ns + (good_ns > NS_PER_S ? good_ns : NS_PER_S);
}

int source_controls_list(struct source_controls *controls, struct capture *capture,
                         struct capture_controls **ret, struct error *why)
{
    const struct control_list *list = &controls->list;
    if (clock_now_ns() >= list->expires_ns)
        read_list(controls, capture);
    if (list->result < 0) {
        *why = list->why;
        return list->result;
    }
    *ret = copy(list->controls);
    return *ret != NULL ? 0 : error_set(why, ENOMEM, "out of memory");
}
