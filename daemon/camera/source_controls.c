/* The camera's own controls: set whenever the source is opened, and whenever somebody asks. */
#include "camera/source.h"

#include <errno.h>
#include <string.h>

#include "core/text.h"

void source_apply_controls(struct source *source, const struct settings *settings)
{
    struct error *problem = &source->control_problem;
    problem->text[0] = '\0';
    control_list_forget(&source->control_list);
    for (unsigned i = 0; i < settings->count; i++) {
        const struct settings one = {.count = 1, .item = {settings->item[i]}};
        struct error why;
        if (capture_set_controls(source->capture, &one, &why) < 0)
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

void source_want_controls(struct source *source, const struct settings *desired)
{
    struct settings changed = {.count = 0};
    for (unsigned i = 0; i < desired->count; i++)
        if (!contains(&source->controls, &desired->item[i]))
            changed.item[changed.count++] = desired->item[i];
    /* More controls than the list can hold are set, but not again at the next opening. */
    (void)settings_merge(&source->controls, desired, NULL);
    if (source_is_open(source) && changed.count > 0)
        source_apply_controls(source, &changed);
}

static int fail_not_open(const struct source *source, struct error *why)
{
    return error_set(why, ENODEV, "the camera is %s: %s", camera_state_name(source->state),
                     source->reason.text);
}

int source_list_controls(struct source *source, struct capture_controls **ret, struct error *why)
{
    if (!source_is_open(source))
        return fail_not_open(source, why);
    return control_list_get(&source->control_list, source->capture, ret, why);
}

int source_set_controls(struct source *source, const struct settings *settings, struct error *why)
{
    struct settings merged = source->controls;
    if (!source_is_open(source))
        return fail_not_open(source, why);
    control_list_forget(&source->control_list);
    int r = settings_merge(&merged, settings, why);
    if (r == 0)
        r = capture_set_controls(source->capture, settings, why);
    if (r == 0)
        source->controls = merged;
    return r;
}
