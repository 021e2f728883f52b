#include "filters/filter_edit.h"

#include <errno.h>
#include <string.h>

#include "core/text.h"

/* ---- finding a stage ---- */

static int number_of_kind(unsigned *ret, const struct filter_chain *chain, const char *name,
                          struct error *why)
{
    char quoted[TEXT_QUOTE_BYTES], chain_text[FILTER_TEXT_BYTES];
    unsigned found = 0, at = 0;
    for (unsigned i = 0; i < chain->count; i++)
        if (strcmp(chain->stage[i].kind->name, name) == 0 && found++ == 0)
            at = i;
    if (found > 1)
        return error_set(why, ENOENT, "%u stages are of kind %s: name one by its number, 1 .. %u",
                         found, name, chain->count);
    if (found == 1) {
        *ret = at;
        return 0;
    }
    filter_chain_print(chain, chain_text, sizeof chain_text);
    return error_set(why, ENOENT, "the chain has no stage of kind %s: it is %.300s",
                     text_quote(quoted, name), chain_text);
}

static int find_stage(unsigned *ret, const struct filter_chain *chain, const char *name,
                      struct error *why)
{
    double number;
    if (text_to_number(&number, name) < 0)
        return number_of_kind(ret, chain, name, why);
    for (unsigned i = 0; i < chain->count; i++)
        if (number == i + 1) {
            *ret = i;
            return 0;
        }
    if (chain->count == 0)
        return error_set(why, ENOENT, "there is no stage %g: the chain is empty", number);
    return error_set(why, ENOENT, "there is no stage %g: expected 1 .. %u", number, chain->count);
}

/* Finds the index of a position, which is 1 .. count. */
static int find_place(unsigned *ret, unsigned count, double position, struct error *why)
{
    for (unsigned i = 0; i < count; i++)
        if (position == i + 1) {
            *ret = i;
            return 0;
        }
    return error_set(why, EINVAL, "position %g is out of range: expected 1 .. %u", position, count);
}

/* ---- changing it ---- */

static void insert(struct filter_chain *chain, unsigned at, const struct filter_stage *stage)
{
    memmove(&chain->stage[at + 1], &chain->stage[at], (chain->count - at) * sizeof chain->stage[0]);
    chain->stage[at] = *stage;
    chain->count++;
}

static void take_out(struct filter_chain *chain, unsigned at)
{
    chain->count--;
    memmove(&chain->stage[at], &chain->stage[at + 1], (chain->count - at) * sizeof chain->stage[0]);
}

int filter_edit_add(struct filter_chain *chain, const char *stage, double position,
                    struct error *why)
{
    struct filter_stage parsed;
    unsigned at = chain->count;
    int r = filter_stage_parse(&parsed, stage, why);
    if (r < 0)
        return r;
    if (chain->count == FILTER_MAX_STAGES)
        return error_set(why, EINVAL, "the chain is full: it has %u stages", FILTER_MAX_STAGES);
    if (position != 0 && (r = find_place(&at, chain->count + 1, position, why)) < 0)
        return r;
    insert(chain, at, &parsed);
    return 0;
}

int filter_edit_remove(struct filter_chain *chain, const char *name, struct error *why)
{
    unsigned at = 0;
    int r = find_stage(&at, chain, name, why);
    if (r == 0)
        take_out(chain, at);
    return r;
}

int filter_edit_move(struct filter_chain *chain, const char *name, double position,
                     struct error *why)
{
    unsigned from = 0, to = 0;
    int r = find_stage(&from, chain, name, why);
    if (r == 0)
        r = find_place(&to, chain->count, position, why);
    if (r < 0)
        return r;
    const struct filter_stage stage = chain->stage[from];
    take_out(chain, from);
    insert(chain, to, &stage);
    return 0;
}

int filter_edit_set(struct filter_chain *chain, const char *name, const char *param,
                    const char *value, struct error *why)
{
    unsigned at = 0;
    int r = find_stage(&at, chain, name, why);
    return r < 0 ? r : filter_stage_set(&chain->stage[at], param, value, why);
}

int filter_edit_check(const struct filter_chain *chain, struct error *why)
{
    int r = 0;
    for (unsigned i = 0; r == 0 && i < chain->count; i++)
        r = filter_stage_check(&chain->stage[i], why);
    return r < 0 ? r : filter_chain_check(chain, why);
}
