/* GetResponse returns the response of any chain, for clients that draw it. It changes nothing, so
 * watchers may call it.
 *
 * A worker carries it out: its images may take seconds to read, and a point of a large kernel half
 * a millisecond to sum. The number of points is limited because its memory and its time are. A
 * client that draws a whole plane calls many times. A reply is smaller than its request, so replies
 * that nobody reads take little memory. */
#include "bus/methods.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "bus/slow_call.h"
#include "bus/value.h"
#include "config/preset.h"
#include "core/client_limits.h"

/* Text and frequencies are in the message. */
struct response_call {
    struct slow_call call;
    const char *text;
    size_t count;
    const double *fx, *fy;
    double magnitude[LIMIT_POINTS];
};

static int run(struct slow_call *slow, struct error *why)
{
    struct response_call *call = (struct response_call *)slow;
    struct filter_chain chain;
    const int r = config_filter(&chain, call->text, why);
    for (size_t i = 0; r == 0 && i < call->count && !atomic_load(&slow->job.cancelled); i++)
        call->magnitude[i] = cabs(filter_chain_response(&chain, call->fx[i], call->fy[i]));
    return r;
}

static int answer(struct slow_call *slow, sd_bus_error *error)
{
    const struct response_call *call = (const struct response_call *)slow;
    sd_bus_message *reply = NULL;
    if (slow->result < 0)
        return peer_fail(error, BUS_ERROR_INVALID_FILTER, slow->why.text);
    sd_bus_message_new_method_return(slow->message, &reply);
    sd_bus_message_append_array(reply, 'd', call->magnitude,
                                call->count * sizeof call->magnitude[0]);
    return value_send(reply);
}

static bool are_frequencies(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabs(values[i]) <= 0.5)) /* NaN fails this comparison */
            return false;
    return true;
}

int method_get_response(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    static const struct slow_call_ops ops = {.run = run, .answer = answer};
    const char *text;
    const void *fx, *fy;
    size_t fx_bytes, fy_bytes;

    int r = sd_bus_message_read(message, "s", &text);
    if (r < 0 || (r = sd_bus_message_read_array(message, 'd', &fx, &fx_bytes)) < 0 ||
        (r = sd_bus_message_read_array(message, 'd', &fy, &fy_bytes)) < 0)
        return r;
    const size_t count = fx_bytes / sizeof(double);
    if (fx_bytes != fy_bytes || count > LIMIT_POINTS)
        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                 "%zu frequencies along x and %zu along y: expected as many of "
                                 "both, at most %d",
                                 count, fy_bytes / sizeof(double), LIMIT_POINTS);
    if (!are_frequencies(fx, count) || !are_frequencies(fy, count))
        return sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS,
                                "a frequency is out of range: expected -0.5 .. 0.5 cycles/pixel");
    struct response_call *call = malloc(sizeof *call);
    if (call == NULL)
        return -ENOMEM;
    call->text = text;
    call->count = count;
    call->fx = fx;
    call->fy = fy;
    return slow_call_start(&call->call, &ops, userdata, message);
}
