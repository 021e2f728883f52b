#include "camera/source_change.h"

#include <errno.h>

static int begin(struct source_change *change, struct recovery *recovery,
                 const struct desired_source *source, struct error *why)
{
    struct settings controls = recovery->controls.settings;
    change->number = source->number;
    int r = settings_merge(&controls, &source->controls, why);
    if (r < 0)
        return r;
    change->phase = SOURCE_CHANGE_OPENING;
    recovery_try(recovery, &source->request, &controls, &change->previous);
    return 0;
}

int source_change_step(struct source_change *change, struct recovery *recovery,
                       const struct recipe *settings, const struct desired *desired,
                       struct error *why)
{
    int r = 0;
    if (desired->source.number != change->number)
        r = begin(change, recovery, &desired->source, why);
    if (r < 0)
        return r;
    r = change->phase == SOURCE_CHANGE_OPENING ? recovery_result(recovery, why) : -EAGAIN;
    if (r == -EAGAIN)
        return r;
    if (r == 0)
        r = recipe_check_frames(settings, &recovery->capture->format, desired_filter(desired, 0),
                                why);
    if (r == 0)
        change->phase = SOURCE_CHANGE_PREPARING;
    else
        source_change_go_back(change, recovery);
    return r;
}

void source_change_take(struct source_change *change, struct recovery *recovery)
{
    change->phase = SOURCE_CHANGE_SETTLED;
    change->taken = change->number;
    recovery_take(recovery);
}

void source_change_go_back(struct source_change *change, struct recovery *recovery)
{
    change->phase = SOURCE_CHANGE_SETTLED;
    recovery_go_back(recovery, &change->previous);
}
