/* AddOutput and RemoveOutput. A worker reads the presets and images of the filter, one change at a
 * time; then everything happens at once or nothing does. */
#include "bus/methods.h"

#include <errno.h>
#include <stdlib.h>

#include "bus/slow_call.h"
#include "service/log.h"

#define MAX_MEMBERS 16 /* an output has fewer; further ones are counted, but not kept */

struct output_call {
    struct slow_call call;
    /* Texts are in the message. */
    const char *member[MAX_MEMBERS], *value[MAX_MEMBERS];
    unsigned count;
    struct config_named_output output; /* its filter holds its images if the result is 0 */
};

/* result: what the hook has returned; if it is negative, slow->why has the reason. */
static int answer_result(const struct slow_call *slow, int result, const char *name,
                         const char *done, sd_bus_error *error)
{
    if (result < 0)
        return peer_fail(error,
                         result == -EBUSY    ? BUS_ERROR_BUSY
                         : result == -ENOENT ? BUS_ERROR_NO_SUCH_OUTPUT
                         : result == -EINVAL ? BUS_ERROR_INVALID_OUTPUT
                                             : BUS_ERROR_FAILED,
                         slow->why.text);
    log_notice("user %u %s output %s", (unsigned)slow->peer->uid, done, name);
    if (sd_bus_reply_method_return(slow->message, NULL) < 0)
        peer_hang_up(slow->peer); /* an error would say that nothing has changed */
    return 1;
}

/* ---- AddOutput ---- */

static int run_add(struct slow_call *slow, struct error *why)
{
    struct output_call *call = (struct output_call *)slow; /* call is its first member */
    int r = 0;
    if (call->count > MAX_MEMBERS)
        return error_set(why, EINVAL, "the output has %u keys: expected at most %d", call->count,
                         MAX_MEMBERS);
    for (unsigned i = 0; r == 0 && i < call->count; i++)
        r = config_set_output(&call->output, call->member[i], call->value[i], "output", why);
    if (r == 0)
        filter_chain_hold(&call->output.filter);
    return r;
}

static int answer_add(struct slow_call *slow, sd_bus_error *error)
{
    const struct output_call *call = (const struct output_call *)slow;
    const struct bus_hooks *hooks = slow->hooks;
    if (slow->result < 0)
        return peer_fail(error, BUS_ERROR_INVALID_OUTPUT, slow->why.text);
    const int r = hooks->add_output(hooks->outputs, &call->output, &slow->why);
    return answer_result(slow, r, call->output.name, "added", error);
}

static void finish_add(struct slow_call *slow)
{
    const struct output_call *call = (const struct output_call *)slow;
    if (slow->result == 0)
        filter_chain_drop(&call->output.filter);
}

static int read_members(struct output_call *call, sd_bus_message *message)
{
    const char *member, *value;
    int r = sd_bus_message_enter_container(message, 'a', "{ss}");
    for (; r >= 0 && (r = sd_bus_message_read(message, "{ss}", &member, &value)) > 0; call->count++)
        if (call->count < MAX_MEMBERS) {
            call->member[call->count] = member;
            call->value[call->count] = value;
        }
    return r < 0 ? r : sd_bus_message_exit_container(message);
}

int method_add_output(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    static const struct slow_call_ops ops = {
        .is_change = true, .run = run_add, .answer = answer_add, .finish = finish_add};
    struct peer *peer = userdata;
    int r = peer_refuse_read_only(peer, error);
    if (r < 0)
        return r;
    struct output_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return -ENOMEM;
    r = read_members(call, message);
    if (r >= 0)
        return slow_call_start(&call->call, &ops, peer, message);
    free(call);
    return r;
}

/* ---- RemoveOutput ---- */

/* There is nothing to read, but it comes after the changes that were asked for before. */
static int run_remove(struct slow_call *slow, struct error *why)
{
    (void)slow, (void)why;
    return 0;
}

static int answer_remove(struct slow_call *slow, sd_bus_error *error)
{
    const struct output_call *call = (const struct output_call *)slow;
    const struct bus_hooks *hooks = slow->hooks;
    const int r = hooks->remove_output(hooks->outputs, call->value[0], &slow->why);
    return answer_result(slow, r, call->value[0], "removed", error);
}

int method_remove_output(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    static const struct slow_call_ops ops = {
        .is_change = true, .run = run_remove, .answer = answer_remove};
    struct peer *peer = userdata;
    const char *name;
    int r = peer_refuse_read_only(peer, error);
    if (r < 0 || (r = sd_bus_message_read(message, "s", &name)) < 0)
        return r;
    struct output_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return -ENOMEM;
    call->value[0] = name;
    return slow_call_start(&call->call, &ops, peer, message);
}
