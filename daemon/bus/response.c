/* GetResponse returns the response of any chain, for clients that draw it. It changes nothing, so
 * watchers may call it.
 *
 * The number of points of a call is limited because it runs in the main thread, which has other
 * clients to serve: the slowest chain of 32 stages takes 2 ms. A client that draws a whole plane
 * calls many times. A reply is smaller than its request, so replies that nobody reads take little
 * memory. */
#include "bus/methods.h"

#include <math.h>
#include <stdlib.h>

#include "config/image.h"
#include "config/preset.h"
#include "core/client_limits.h"

static double magnitude(const struct filter_chain *chain, double fx, double fy)
{
    return cabs(filter_chain_response(chain, fx, fy));
}

static bool are_frequencies(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabs(values[i]) <= 0.5)) /* NaN fails this comparison */
            return false;
    return true;
}

static int reply_magnitudes(sd_bus_message *call, const struct filter_chain *chain,
                            const double *fx, const double *fy, size_t count)
{
    sd_bus_message *reply = NULL;
    void *space = NULL;
    int r = sd_bus_message_new_method_return(call, &reply);
    if (r >= 0)
        r = sd_bus_message_append_array_space(reply, 'd', count * sizeof *fx, &space);
    double *values = space;
    for (size_t i = 0; r >= 0 && i < count; i++)
        values[i] = magnitude(chain, fx[i], fy[i]);
    if (r >= 0)
        r = sd_bus_send(NULL, reply, NULL);
    sd_bus_message_unref(reply);
    return r;
}

int method_get_response(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct filter_chain chain;
    struct error why;
    const char *text;
    const void *fx, *fy;
    size_t fx_bytes, fy_bytes;
    (void)userdata;

    int r = sd_bus_message_read(call, "s", &text);
    if (r < 0 || (r = sd_bus_message_read_array(call, 'd', &fx, &fx_bytes)) < 0 ||
        (r = sd_bus_message_read_array(call, 'd', &fy, &fy_bytes)) < 0)
        return r;
    config_trim_images();
    if (config_filter(&chain, text, &why) < 0)
        return peer_fail(error, BUS_ERROR_INVALID_FILTER, why.text);
    const size_t count = fx_bytes / sizeof(double);
    if (fx_bytes != fy_bytes || count > LIMIT_POINTS)
        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                 "%zu frequencies along x and %zu along y: expected as many of "
                                 "both, at most %d",
                                 count, fy_bytes / sizeof(double), LIMIT_POINTS);
    if (!are_frequencies(fx, count) || !are_frequencies(fy, count))
        return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                "a frequency is out of range: expected -0.5 .. 0.5 cycles/pixel");
    return reply_magnitudes(call, &chain, fx, fy, count);
}
