/* The findings are read first. The changes that follow from them are made only if the filter has
 * not been changed meanwhile. */
#include "keep.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "adaptation.h"
#include "daemon.h"
#include "change.h"
#include "common/reading.h"

/* The width of a notch in cycles/pixel, if the daemon does not say how wide it has to be. */
#define NOTCH_WIDTH 0.02

#define STAGE_BYTES 100

/* Returns the number of the first stage of a kind in a chain; 0: there is none. */
static unsigned find_stage(const char *chain, const char *kind)
{
    const size_t length = strlen(kind);
    for (unsigned number = 1; *chain != '\0'; number++) {
        chain += strspn(chain, " ");
        if (strncmp(chain, kind, length) == 0 && strchr(": |", chain[length]) != NULL)
            return number;
        chain += strcspn(chain, "|");
        chain += *chain == '|';
    }
    return 0;
}

static void keep_waves(struct change_call *call, const struct adaptation *found, unsigned number)
{
    char stage[STAGE_BYTES], position[20];
    change_append(call, "remove", "auto-notch", NULL, NULL);
    for (unsigned i = 0; i < found->wave_count; i++) {
        const struct adaptation_wave *wave = &found->wave[i];
        snprintf(stage, sizeof stage, "notch:at=%.5f/%.5f,width=%.4g", wave->fx, wave->fy,
                 wave->notch_width > 0 ? wave->notch_width : NOTCH_WIDTH);
        snprintf(position, sizeof position, "%u", number + i);
        change_append(call, "add", stage, position, NULL);
    }
}

static void keep_flicker(struct change_call *call, const struct adaptation *found)
{
    char value[STAGE_BYTES];
    snprintf(value, sizeof value, "%.3f", found->flicker_hz);
    change_append(call, "set", "deflicker", "frequency", value);
    snprintf(value, sizeof value, "%.3f", found->line_time_us);
    change_append(call, "set", "deflicker", "line-time", value);
}

/* Explains that the chain has an adaptive filter, but frames do not use this chain yet. */
static int fail_pending(const struct ctl *ctl, sd_bus_message *properties)
{
    const uint64_t serial = bus_u64(properties, "Serial");
    char why[READING_WHY_BYTES] = "is being prepared";
    reading_is_pending(properties, serial, why);
    return ctl_fail(ctl, EX_TEMPFAIL,
                    "filter keep: filter %" PRIu64 " %s, and has found nothing yet", serial, why);
}

static int keep(const struct ctl *ctl, sd_bus_message *properties)
{
    struct adaptation found;
    struct change_call call;
    if (adaptation_read(properties, &found) < 0)
        return ctl_fail(ctl, EX_PROTOCOL, "Adaptation: unexpected reply format");
    const char *chain = bus_text(properties, "Filter");
    const unsigned number = find_stage(chain, "auto-notch");
    if (!found.finds_waves && !found.finds_flicker &&
        (number > 0 || find_stage(chain, "deflicker") > 0))
        return fail_pending(ctl, properties);
    if (!found.finds_waves && !found.finds_flicker)
        return ctl_fail(ctl, EX_DATAERR,
                        "filter keep: no stage of the filter in use adapts: expected auto-notch or "
                        "deflicker");
    const bool has_waves = number > 0 && found.wave_count > 0, has_flicker = found.flicker_hz > 0;
    if (!has_waves && !has_flicker)
        return ctl_fail(
            ctl, EX_TEMPFAIL,
            "filter keep: nothing has been found yet; `fftd-ctl filter show` lists what "
            "has");
    int code = change_begin(&call, ctl);
    if (code != 0)
        return change_finish(&call, code);
    if (call.if_serial == 0)
        call.if_serial = bus_u64(properties, "Serial");
    if (has_waves)
        keep_waves(&call, &found, number);
    if (has_flicker)
        keep_flicker(&call, &found);
    return change_send(&call);
}

int keep_findings(const struct ctl *ctl)
{
    sd_bus_message *properties = NULL;
    int code = daemon_ask(ctl, &properties, NULL);
    if (code == 0)
        code = keep(ctl, properties);
    sd_bus_message_unref(properties);
    return code;
}
