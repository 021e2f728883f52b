/* A change is an array of words, and EditFilter takes an array of changes. This file only splits
 * the operands into changes: the daemon knows the filters and checks everything. */
#include "change.h"

#include <stdio.h>
#include <string.h>

#include "await.h"
#include "core/clock.h"
#include "daemon.h"
#include "commands.h"
#include "common/usage.h"

#define KEY_BYTES 200

/* ---- the call ---- */

int change_begin(struct change_call *call, const struct ctl *ctl)
{
    *call = (struct change_call){.ctl = ctl, .if_serial = ctl->if_serial};
    int code = daemon_open(ctl, &call->bus);
    if (code != 0)
        return code;
    call->result = bus_new_call(call->bus, &call->message, "EditFilter");
    if (call->result >= 0)
        call->result = sd_bus_message_open_container(call->message, 'a', "as");
    return 0;
}

void change_append(struct change_call *call, const char *verb, const char *first,
                   const char *second, const char *third)
{
    const int count = first == NULL ? 1 : second == NULL ? 2 : third == NULL ? 3 : 4;
    if (call->result >= 0)
        call->result =
            sd_bus_message_append(call->message, "as", count, verb, first, second, third);
}

int change_print_serial(const struct ctl *ctl, sd_bus *bus, sd_bus_message *reply,
                        uint64_t begin_us)
{
    uint64_t serial = 0;
    sd_bus_message_read(reply, "t", &serial);
    return await_change(ctl, bus, serial, begin_us);
}

int change_finish(struct change_call *call, int code)
{
    sd_bus_message_unref(call->message);
    sd_bus_unref(call->bus);
    return code;
}

int change_request(struct change_call *call, sd_bus_message **ret_reply)
{
    int r = call->result;
    if (r >= 0)
        r = sd_bus_message_close_container(call->message);
    if (r >= 0)
        r = sd_bus_message_append(call->message, "tu", call->if_serial, call->ctl->fade);
    const int code = daemon_send(call->ctl, call->bus, r, call->message, ret_reply);
    call->message = NULL;
    return code;
}

int change_send(struct change_call *call)
{
    sd_bus_message *reply = NULL;
    const uint64_t begin_us = clock_now_us();
    int code = change_request(call, &reply);
    if (code == 0)
        code = change_print_serial(call->ctl, call->bus, reply, begin_us);
    sd_bus_message_unref(reply);
    return change_finish(call, code);
}

static int send_one(const struct ctl *ctl, const char *verb, const char *first, const char *second,
                    const char *third)
{
    struct change_call call;
    int code = change_begin(&call, ctl);
    if (code != 0)
        return code;
    change_append(&call, verb, first, second, third);
    return change_send(&call);
}

/* ---- single changes ---- */

int change_join_chain(const struct ctl *ctl, int first, char chain[CHAIN_BYTES])
{
    size_t used = 0;
    chain[0] = '\0';
    for (int i = first; i < ctl->argc; i++) {
        int n = snprintf(chain + used, CHAIN_BYTES - used, "%s%s", i > first ? " | " : "",
                         ctl->argv[i]);
        used += (size_t)n;
        if (used >= CHAIN_BYTES)
            return ctl_fail(ctl, EX_DATAERR, "filter %s: the chain is longer than %d bytes",
                            ctl->argv[0], CHAIN_BYTES - 1);
    }
    return 0;
}

int change_replace(const struct ctl *ctl)
{
    char chain[CHAIN_BYTES];
    const int code = change_join_chain(ctl, 1, chain);
    return code != 0 ? code : send_one(ctl, "replace", chain, NULL, NULL);
}

int change_preset(const struct ctl *ctl)
{
    char chain[300];
    if ((size_t)snprintf(chain, sizeof chain, "preset:%s", ctl->argv[1]) >= sizeof chain)
        return ctl_fail(ctl, EX_DATAERR, "filter preset: the name is longer than %zu bytes",
                        sizeof chain - sizeof "preset:");
    return send_one(ctl, "replace", chain, NULL, NULL);
}

int change_by_words(const struct ctl *ctl)
{
    return send_one(ctl, ctl->argv[0], ctl->argc > 1 ? ctl->argv[1] : NULL,
                    ctl->argc > 2 ? ctl->argv[2] : NULL, NULL);
}

int change_add(const struct ctl *ctl)
{
    uint64_t position;
    if (ctl->argc > 2 && !usage_parse_count(ctl->argv[2], UINT32_MAX, &position))
        return ctl_fail(ctl, EX_USAGE, "filter add: position %s: expected a number of at least 1",
                        ctl->argv[2]);
    return change_by_words(ctl);
}

/* Splits STAGE.PARAMETER[=VALUE]. *ret_value is NULL if the operand has no value. */
static bool split_key(char key[KEY_BYTES], const char **ret_param, const char **ret_value,
                      const char *operand)
{
    const char *equals = strchr(operand, '=');
    size_t length = equals != NULL ? (size_t)(equals - operand) : strlen(operand);
    snprintf(key, KEY_BYTES, "%.*s", length < KEY_BYTES ? (int)length : 0, operand);
    char *param = strrchr(key, '.');
    if (param == NULL)
        return false;
    *param++ = '\0';
    *ret_param = param;
    *ret_value = equals != NULL ? equals + 1 : NULL;
    return true;
}

static int fail_key(const struct ctl *ctl, const char *command, const char *operand)
{
    return ctl_fail(ctl, EX_USAGE,
                    "%s %.60s: expected STAGE.PARAMETER, such as lowpass.cutoff or 2.width; "
                    "`%s filter show` lists the stages",
                    command, operand, ctl_program(ctl));
}

int command_set(const struct ctl *ctl)
{
    char key[KEY_BYTES];
    const char *param, *value;
    if (ctl->argc == 1 && strchr(ctl->argv[0], '=') == NULL)
        return ctl_fail(ctl, EX_USAGE, "set %s: expected a value", ctl->argv[0]);
    if (!split_key(key, &param, &value, ctl->argv[0]))
        return fail_key(ctl, "set", ctl->argv[0]);
    return send_one(ctl, "set", key, param, ctl->argc > 1 ? ctl->argv[1] : value);
}

/* ---- several changes ---- */

static int fail_change(const struct ctl *ctl, const char *verb, const char *expected)
{
    return ctl_fail(ctl, EX_USAGE, "filter edit: %.60s: expected %s", verb, expected);
}

static bool is_number(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* Appends the change that begins with operand *at, and advances to the next one. */
static int append_operands(struct change_call *call, int *at)
{
    static const struct {
        const char *verb, *expected;
        int count; /* how many operands follow; `add` may have one more */
    } known[] = {
        {"add", "STAGE [NUMBER] after it", 1}, {"remove", "STAGE after it", 1},
        {"move", "STAGE NUMBER after it", 2},  {"set", "STAGE.PARAMETER=VALUE after it", 1},
        {"replace", "CHAIN after it", 1},
    };
    const struct ctl *ctl = call->ctl;
    const char *verb = ctl->argv[*at], *param, *value;
    char *const *operand = ctl->argv + *at + 1;
    const int left = ctl->argc - *at - 1;
    char key[KEY_BYTES];
    unsigned i = 0;
    while (i < sizeof known / sizeof known[0] && strcmp(known[i].verb, verb) != 0)
        i++;
    if (i == sizeof known / sizeof known[0])
        return fail_change(ctl, verb, "add, remove, move, set or replace");
    int count = known[i].count;
    if (left < count)
        return fail_change(ctl, verb, known[i].expected);
    if (strcmp(verb, "set") == 0) {
        if (!split_key(key, &param, &value, operand[0]))
            return fail_key(ctl, "filter edit: set", operand[0]);
        if (value == NULL)
            return fail_change(ctl, verb, known[i].expected);
        change_append(call, verb, key, param, value);
    } else {
        if (strcmp(verb, "add") == 0 && left > 1 && is_number(operand[1]))
            count = 2;
        change_append(call, verb, operand[0], count > 1 ? operand[1] : NULL, NULL);
    }
    *at += 1 + count;
    return 0;
}

int change_edit(const struct ctl *ctl)
{
    struct change_call call;
    int code = change_begin(&call, ctl);
    for (int at = 1; code == 0 && at < ctl->argc;)
        code = append_operands(&call, &at);
    return code == 0 ? change_send(&call) : change_finish(&call, code);
}
