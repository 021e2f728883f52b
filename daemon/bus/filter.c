/* The methods that change the filter or the view. A change of the filter copies the newest chain,
 * edits and checks the copy, and passes it to the camera as a whole. A change that fails therefore
 * changes nothing.
 *
 * A worker edits and checks, because it reads presets and images. It carries out one change at a
 * time, so two clients never edit the same chain at once. If anything else has changed the chain
 * meanwhile, such as a reload that waited for its source, the edit is made again. */
#include "bus/methods.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bus/slow_call.h"
#include "config/preset.h"
#include "core/client_limits.h"
#include "core/text.h"
#include "filters/filter_edit.h"
#include "service/log.h"

#define MAX_WORDS 4 /* "set STAGE PARAMETER VALUE" has most */

void method_emit_filter(const struct peer_services *services, unsigned output)
{
    static const char *const names[] = {"Filter", "FilterStages", "FilterProblem",
                                        "View",   "Serial",       NULL};
    services->emit(services->context, output, names);
}

static void log_change(const struct peer *peer, unsigned output, uint64_t serial, const char *text)
{
    const char *name = config_output_name(peer->services->hooks.config, output);
    log_info("%s%s%sfilter %" PRIu64 " by user %u: %s", output > 0 ? "output " : "",
             output > 0 ? name : "", output > 0 ? ": " : "", serial, (unsigned)peer->uid, text);
}

static int answer_change(struct peer *peer, sd_bus_message *call, uint64_t serial)
{
    if (sd_bus_reply_method_return(call, "t", serial) < 0)
        peer_hang_up(peer); /* an error would say that nothing has changed */
    method_emit_filter(peer->services, peer_output_of(peer, call));
    return 1;
}

/* One change, as words: "set", "1", "cutoff", "0.2". */
struct filter_change {
    const char *word[MAX_WORDS];
    unsigned count;
};

/* A call of SetFilter or EditFilter. Words are in the message. */
struct filter_call {
    struct slow_call call;
    struct filter_change change[LIMIT_CHANGES];
    unsigned change_count;
    uint64_t based_on; /* 0: any */
    uint32_t fade_frames;
    uint64_t serial; /* the serial of `before` */
    /* Both hold their images. */
    struct filter_chain before, after;
    char after_text[FILTER_TEXT_BYTES];
};

static void finish(struct slow_call *slow)
{
    const struct filter_call *call = (const struct filter_call *)slow;
    filter_chain_drop(&call->before);
    filter_chain_drop(&call->after);
}

/* Passes the checked chain to the camera and answers with its serial. */
static int change_filter(const struct filter_call *call, sd_bus_error *error)
{
    struct peer *peer = call->call.peer;
    sd_bus_message *message = call->call.message;
    struct error why;
    uint64_t serial;

    if (call->call.result < 0)
        return peer_fail(error, BUS_ERROR_INVALID_FILTER, call->call.why.text);
    const unsigned output = peer_output_of(peer, message);
    if (camera_set_filter(peer->services->hooks.camera, output, &call->after, call->fade_frames,
                          &serial, &why) < 0)
        return peer_fail(error, BUS_ERROR_INVALID_FILTER, why.text);
    log_change(peer, output, serial, call->after_text);
    return answer_change(peer, message, serial);
}

/* ---- changes ---- */

static int read_position(double *ret, const struct filter_change *change, unsigned at,
                         struct error *why)
{
    char quoted[TEXT_QUOTE_BYTES];
    if (at >= change->count)
        *ret = 0;
    else if (text_to_number(ret, change->word[at]) < 0 || *ret == 0)
        return error_set(why, EINVAL, "position %s: expected a number of at least 1",
                         text_quote(quoted, change->word[at]));
    return 0;
}

static int apply_replace(struct filter_chain *chain, const struct filter_change *change,
                         struct error *why)
{
    return config_filter(chain, change->word[1], why) < 0 ? -EINVAL : 0;
}

static int apply_add(struct filter_chain *chain, const struct filter_change *change,
                     struct error *why)
{
    double position;
    int r = read_position(&position, change, 2, why);
    return r < 0 ? r : filter_edit_add(chain, change->word[1], position, why);
}

static int apply_remove(struct filter_chain *chain, const struct filter_change *change,
                        struct error *why)
{
    return filter_edit_remove(chain, change->word[1], why);
}

static int apply_move(struct filter_chain *chain, const struct filter_change *change,
                      struct error *why)
{
    double position;
    int r = read_position(&position, change, 2, why);
    return r < 0 ? r : filter_edit_move(chain, change->word[1], position, why);
}

static int apply_set(struct filter_chain *chain, const struct filter_change *change,
                     struct error *why)
{
    return filter_edit_set(chain, change->word[1], change->word[2], change->word[3], why);
}

/* The chain is the same, but comes into use again. */
static int apply_restart(struct filter_chain *chain, const struct filter_change *change,
                         struct error *why)
{
    (void)chain, (void)change, (void)why;
    return 0;
}

static int apply_change(struct filter_chain *chain, const struct filter_change *change,
                        struct error *why)
{
    static const struct {
        const char *name, *usage;
        unsigned min, max; /* words */
        int (*apply)(struct filter_chain *chain, const struct filter_change *change,
                     struct error *why);
    } known[] = {
        {"replace", "replace CHAIN", 2, 2, apply_replace},
        {"add", "add STAGE [NUMBER]", 2, 3, apply_add},
        {"remove", "remove STAGE", 2, 2, apply_remove},
        {"move", "move STAGE NUMBER", 3, 3, apply_move},
        {"set", "set STAGE PARAMETER VALUE", 4, 4, apply_set},
        {"restart", "restart", 1, 1, apply_restart},
    };
    char quoted[TEXT_QUOTE_BYTES];
    for (unsigned i = 0; change->count > 0 && i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, change->word[0]) != 0)
            continue;
        if (change->count < known[i].min || change->count > known[i].max)
            return error_set(why, EINVAL, "%u words: expected %s", change->count, known[i].usage);
        return known[i].apply(chain, change, why);
    }
    return error_set(why, EINVAL,
                     "unknown change %s: expected replace, add, remove, move, set or restart",
                     text_quote(quoted, change->count > 0 ? change->word[0] : ""));
}

/* Puts "change 2 (remove 7): " before the reason. */
static int name_change(const struct filter_change *change, unsigned number, int result,
                       struct error *why)
{
    char quoted[TEXT_QUOTE_BYTES], text[120] = "";
    for (unsigned i = 0; i < change->count && i < MAX_WORDS; i++)
        text_append(text, sizeof text, "%s%s", i > 0 ? " " : "",
                    text_quote(quoted, change->word[i]));
    return error_prefix(why, -result, "change %u (%s)", number, text);
}

/* Reads one change, an array of words. Returns 1, or 0 at the end of the changes, or what sd-bus
 * returns. Counts the words beyond MAX_WORDS, but does not keep them. */
static int read_change(struct filter_change *ret, sd_bus_message *call)
{
    const char *word;
    int r = sd_bus_message_enter_container(call, 'a', "s");
    ret->count = 0;
    if (r <= 0)
        return r;
    for (; (r = sd_bus_message_read(call, "s", &word)) > 0; ret->count++)
        if (ret->count < MAX_WORDS)
            ret->word[ret->count] = word;
    return r < 0 || (r = sd_bus_message_exit_container(call)) < 0 ? r : 1;
}

/* Returns what sd-bus returns. Counts the changes beyond LIMIT_CHANGES, but does not keep them. */
static int read_changes(struct filter_call *call, sd_bus_message *message)
{
    struct filter_change change;
    int r = sd_bus_message_enter_container(message, 'a', "as");
    for (; r >= 0 && (r = read_change(&change, message)) > 0; call->change_count++)
        if (call->change_count < LIMIT_CHANGES)
            call->change[call->change_count] = change;
    return r < 0 ? r : sd_bus_message_exit_container(message);
}

/* Applies the changes in their order. Parameters of a stage must agree only after the last change,
 * so that a client can set several. If they do not, the error names the first change that broke the
 * agreement. */
static int apply_changes(struct filter_chain *chain, const struct filter_change *changes,
                         unsigned count, struct error *why)
{
    struct error disagreement;
    unsigned at_fault = 0;
    int r = 0;
    if (count == 0 || count > LIMIT_CHANGES)
        return error_set(why, EINVAL, "%u changes: expected 1 .. %d", count, LIMIT_CHANGES);
    for (unsigned i = 1; i <= count; i++) {
        r = apply_change(chain, &changes[i - 1], why);
        if (r < 0)
            return count > 1 ? name_change(&changes[i - 1], i, r, why) : r;
        if (filter_edit_check(chain, at_fault == 0 ? &disagreement : NULL) == 0)
            at_fault = 0;
        else if (at_fault == 0)
            at_fault = i;
    }
    if (at_fault == 0)
        return 0;
    *why = disagreement;
    return count > 1 ? name_change(&changes[at_fault - 1], at_fault, -EINVAL, why) : -EINVAL;
}

static uint64_t get_newest(const struct slow_call *slow, struct filter_chain *ret)
{
    return camera_get_filter(slow->peer->services->hooks.camera,
                             peer_output_of(slow->peer, slow->message), ret);
}

static int prepare_edit(struct slow_call *slow, sd_bus_error *error)
{
    struct filter_call *call = (struct filter_call *)slow;
    struct filter_chain newest;
    call->serial = get_newest(slow, &newest);
    filter_chain_assign(&call->before, &newest);
    if (call->based_on == 0 || call->based_on == call->serial)
        return 0;
    return sd_bus_error_setf(error, BUS_ERROR_FILTER_CHANGED,
                             "the filter has changed: its serial is %" PRIu64
                             ", but these changes were made for %" PRIu64,
                             call->serial, call->based_on);
}

/* Also prints the chain, here in the worker, because a long one takes milliseconds. */
static int run_edit(struct slow_call *slow, struct error *why)
{
    struct filter_call *call = (struct filter_call *)slow;
    struct filter_chain chain = call->before;
    const int r = apply_changes(&chain, call->change, call->change_count, why);
    if (r < 0)
        return r;
    filter_chain_assign(&call->after, &chain);
    filter_chain_print(&chain, call->after_text, sizeof call->after_text);
    return 0;
}

static int answer_edit(struct slow_call *slow, sd_bus_error *error)
{
    const struct filter_call *call = (const struct filter_call *)slow;
    struct filter_chain newest;
    const uint64_t serial = get_newest(slow, &newest);
    /* Another view has another serial too, but leaves the chain. */
    if (serial != call->serial &&
        (call->based_on != 0 || !filter_chain_equal(&newest, &call->before)))
        return SLOW_CALL_REPEAT;
    if (slow->result == -ENOENT)
        return peer_fail(error, BUS_ERROR_NO_SUCH_STAGE, slow->why.text);
    return change_filter(call, error);
}

/* ---- the methods ---- */

static const struct slow_call_ops ops = {.is_change = true,
                                         .prepare = prepare_edit,
                                         .run = run_edit,
                                         .answer = answer_edit,
                                         .finish = finish};

/* The same as the change "replace" of any filter. */
int method_set_filter(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    const char *text;
    int r = peer_refuse_read_only(peer, error);
    if (r < 0 || (r = sd_bus_message_read(message, "s", &text)) < 0)
        return r;
    struct filter_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return -ENOMEM;
    call->change[0] = (struct filter_change){.word = {"replace", text}, .count = 2};
    call->change_count = 1;
    return slow_call_start(&call->call, &ops, peer, message);
}

int method_edit_filter(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    int r = peer_refuse_read_only(peer, error);
    if (r < 0)
        return r;
    struct filter_call *call = calloc(1, sizeof *call);
    if (call == NULL)
        return -ENOMEM;
    r = read_changes(call, message);
    if (r >= 0)
        r = sd_bus_message_read(message, "tu", &call->based_on, &call->fade_frames);
    if (r >= 0)
        return slow_call_start(&call->call, &ops, peer, message);
    free(call);
    return r;
}

/* Chooses what is published instead of the filtered picture. */
int method_set_view(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    struct peer *peer = userdata;
    struct error why;
    enum view_kind view;
    const char *name;

    int r = peer_refuse_read_only(peer, error);
    if (r < 0 || (r = sd_bus_message_read(call, "s", &name)) < 0)
        return r;
    if (view_from_name(&view, name, &why) < 0)
        return peer_fail(error, BUS_ERROR_INVALID_VIEW, why.text);
    const unsigned output = peer_output_of(peer, call);
    if (config_check_view(peer->services->hooks.config, output, view, &why) < 0)
        return peer_fail(error, BUS_ERROR_INVALID_VIEW, why.text);
    const uint64_t serial = camera_set_view(peer->services->hooks.camera, output, view);
    char text[64];
    snprintf(text, sizeof text, "the view is %s", view_names[view]);
    log_change(peer, output, serial, text);
    return answer_change(peer, call, serial);
}
