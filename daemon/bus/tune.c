/* Tune, StopTuning and GetTuning, for the search for faster settings of the engine. */
#include "bus/methods.h"

#include <string.h>

#include "bus/value.h"
#include "core/text.h"
#include "designer/designer.h"
#include "service/log.h"

static struct designer *designer_of(const struct peer *peer, sd_bus_message *call)
{
    return camera_designer(peer->services->hooks.camera, peer_output_of(peer, call));
}

int method_tune(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    struct error why;
    char quoted[TEXT_QUOTE_BYTES];
    const char *depth;

    int r = peer_refuse_read_only(peer, error);
    if (r < 0 || (r = sd_bus_message_read(call, "s", &depth)) < 0)
        return r;
    const bool exhaustive = strcmp(depth, "exhaustive") == 0;
    if (!exhaustive && strcmp(depth, "quick") != 0)
        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                 "%s: expected quick or exhaustive", text_quote(quoted, depth));
    r = designer_tune(designer_of(peer, call), exhaustive, &why);
    if (r < 0)
        return peer_fail(error, BUS_ERROR_BUSY, why.text);
    log_info("user %u started a %s search for faster engine settings", (unsigned)peer->uid, depth);
    return sd_bus_reply_method_return(call, NULL);
}

int method_stop_tuning(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    const int r = peer_refuse_read_only(peer, error);
    if (r < 0)
        return r;
    designer_stop_tuning(designer_of(peer, call));
    return sd_bus_reply_method_return(call, NULL);
}

int method_get_tuning(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    const struct peer *peer = userdata;
    struct tuning_status tuning;
    char clean[VALUE_TEXT_BYTES];
    (void)error;

    designer_get_tuning(designer_of(peer, call), &tuning);
    return sd_bus_reply_method_return(
        call, "a{sv}", 8, "Running", "b", tuning.running, "Exhaustive", "b", tuning.exhaustive,
        "Tuned", "b", tuning.tuned, "Tried", "u", tuning.progress.tried, "Total", "u",
        tuning.progress.total, "DefaultMilliseconds", "d", tuning.progress.default_ms,
        "BestMilliseconds", "d", tuning.progress.best_ms, "Problem", "s",
        tuning.result < 0 ? value_clean_text(clean, tuning.why.text) : "");
}
