/* The camera's own controls: set whenever the source is opened, and whenever somebody asks. */
#include "camera/recovery.h"

#include <errno.h>
#include <string.h>

#include "core/text.h"

void recovery_apply_controls(struct recovery *recovery, const struct settings *settings)
{
    struct error *problem = &recovery->control_problem;
    problem->text[0] = '\0';
    control_list_forget(&recovery->control_list);
    for (unsigned i = 0; i < settings->count; i++) {
        const struct settings one = {.count = 1, .item = {settings->item[i]}};
        struct error why;
        if (capture_set_controls(recovery->capture, &one, &why) < 0)
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

void recovery_want_controls(struct recovery *recovery, const struct settings *desired)
{
    struct settings changed = {.count = 0};
    for (unsigned i = 0; i < desired->count; i++)
        if (!contains(&recovery->controls, &desired->item[i]))
            changed.item[changed.count++] = desired->item[i];
    /* More controls than the list can hold are set, but not again at the next opening. */
    (void)settings_merge(&recovery->controls, desired, NULL);
    if (recovery_is_open(recovery) && changed.count > 0)
        recovery_apply_controls(recovery, &changed);
}

static int fail_not_open(const struct recovery *recovery, struct error *why)
{
    return error_set(why, ENODEV, "the camera is %s: %s", camera_state_name(recovery->state),
                     recovery->reason.text);
}

int recovery_list_controls(struct recovery *recovery, struct capture_controls **ret,
                           struct error *why)
{
    if (!recovery_is_open(recovery))
        return fail_not_open(recovery, why);
    return control_list_get(&recovery->control_list, recovery->capture, ret, why);
}

int recovery_set_controls(struct recovery *recovery, const struct settings *settings,
                          struct error *why)
{
    struct settings merged = recovery->controls;
    if (!recovery_is_open(recovery))
        return fail_not_open(recovery, why);
    control_list_forget(&recovery->control_list);
    int r = settings_merge(&merged, settings, why);
    if (r == 0)
        r = capture_set_controls(recovery->capture, settings, why);
    if (r == 0)
        recovery->controls = merged;
    return r;
}
