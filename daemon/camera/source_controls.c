#include "camera/source_controls.h"

#include <string.h>

#include "core/text.h"

void source_controls_apply(struct source_controls *controls, struct capture *capture,
                           const struct settings *settings)
{
    struct error *problem = &controls->problem;
    problem->text[0] = '\0';
    control_list_forget(&controls->list);
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
    control_list_forget(&controls->list);
    int r = settings_merge(&merged, settings, why);
    if (r == 0)
        r = capture_set_controls(capture, settings, why);
    if (r == 0)
        controls->settings = merged;
    return r;
}
