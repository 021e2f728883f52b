#include "camera/source_change.h"

#include <errno.h>

#include "filters/calibration.h"

static int begin(struct source_change *change, struct recovery *recovery,
                 const struct desired_source *source, struct error *why)
{
    struct settings controls = recovery->controls.settings;
    change->number = source->number;
    int r = settings_merge(&controls, &source->controls, why);
    if (r < 0)
        return r;
    change->is_opening = true;
    recovery_try(recovery, &source->request, &controls, &change->previous);
    return 0;
}

int source_change_step(struct source_change *change, struct recovery *recovery,
                       const struct desired *desired, struct error *why)
{
    const struct desired_source *source = &desired->source;
    int r = 0;
    if (source->number != change->number)
        r = begin(change, recovery, source, why);
    if (r < 0)
        return r;
    r = change->is_opening ? recovery_result(recovery, why) : -EAGAIN;
    if (r == -EAGAIN)
        return r;
    change->is_opening = false;
    if (r == 0)
        r = calibration_check_size(desired_filter(desired), recovery->capture->format.width,
                                   recovery->capture->format.height, why);
    if (r == 0 && change->check != NULL)
        r = change->check(change->context, &recovery->capture->format, why);
    if (r < 0) {
        recovery_go_back(recovery, &change->previous);
        return r;
    }
    recovery_take(recovery);
    change->taken = change->number;
    if (source->filter_serial != 0)
        change->awaited_serial = source->filter_serial;
    return 0;
}
