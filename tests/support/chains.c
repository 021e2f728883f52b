#include "support/chains.h"

uint64_t random_bits(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

double random_between(uint64_t *state, double low, double high)
{
    return low + (high - low) * (double)(random_bits(state) >> 11) / 9007199254740992.0;
}

static double random_number(const struct filter_param *param, uint64_t *state)
{
    switch (random_bits(state) % 8) {
    case 0:
        return param->min;
    case 1:
        return param->max;
    default:
        return random_between(state, param->min, param->max);
    }
}

static void random_value(struct filter_value *ret, const struct filter_param *param,
                         uint64_t *state)
{
    unsigned choices = 1;
    switch (param->type) {
    case FILTER_NUMBER:
        ret->number = random_number(param, state);
        break;
    case FILTER_PAIR:
        ret->number = random_number(param, state);
        ret->second = random_number(param, state);
        break;
    case FILTER_CHOICE:
        while (param->choices[choices] != NULL)
            choices++;
        ret->number = (double)(random_bits(state) % choices);
        break;
    case FILTER_BOOL:
        ret->number = (double)(random_bits(state) % 2);
        break;
    }
}

void random_stage(struct filter_stage *ret, const struct filter_kind *kind, uint64_t *state)
{
    do {
        filter_stage_init(ret, kind);
        for (unsigned p = 0; p < kind->param_count; p++)
            random_value(&ret->value[p], &kind->param[p], state);
    } while (filter_stage_check(ret, NULL) != 0);
}

void random_chain(struct filter_chain *ret, uint64_t *state)
{
    unsigned count;
    const struct filter_kind *const *kinds = filter_kinds(&count);
    *ret = (struct filter_chain){.count = (unsigned)(random_bits(state) % (FILTER_MAX_STAGES + 1))};
    for (unsigned i = 0; i < ret->count; i++)
        random_stage(&ret->stage[i], kinds[random_bits(state) % count], state);
}
