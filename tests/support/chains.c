#include "support/chains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

struct filter_chain chain_of(const char *text)
{
    struct filter_chain chain;
    struct error why = {""};
    if (filter_chain_parse(&chain, text, &why) < 0)
        fail_msg("%s: %s", text, why.text);
    return chain;
}

void print_stage(const struct filter_stage *stage, char *text, size_t size)
{
    struct filter_chain chain = {.count = 1};
    chain.stage[0] = *stage;
    filter_chain_print(&chain, text, size);
}

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

/* Every other kernel is symmetric about its middle, so that its response is real. */
static void random_kernel(struct filter_kernel *ret, const struct filter_param *param,
                          uint64_t *state)
{
    const bool symmetric = random_bits(state) % 2 == 0;
    ret->rows = 1 + (unsigned)(random_bits(state) % FILTER_KERNEL_SIDE);
    ret->columns = 1 + (unsigned)(random_bits(state) % FILTER_KERNEL_SIDE);
    for (unsigned y = 0; y < ret->rows; y++)
        for (unsigned x = 0; x < ret->columns; x++)
            ret->value[y][x] = (float)random_number(param, state);
    for (unsigned y = 0; symmetric && y < ret->rows; y++)
        for (unsigned x = 0; x < ret->columns; x++)
            ret->value[y][x] = ret->value[ret->rows - 1 - y][ret->columns - 1 - x];
}

/* The images that random stages have, which chains find by their names. */
static struct {
    struct filter_image *image[3];
    const char *const name[3], *const text[3];
} images = {.name = {"even", "odd", "levels"},
            .text = {"1 2 -3 4\n0 5 5 0\n4 -3 2 1\n", "0.5 1 0\n2 4 2\n0 1 0.5\n",
                     "0.1 0.2 0.25\n1 0.4 0\n"}};

static int load_image(const struct filter_image **ret, const char *name, struct error *why)
{
    for (unsigned i = 0; i < 3; i++)
        if (strcmp(images.name[i], name) == 0) {
            *ret = images.image[i];
            return 0;
        }
    return error_set(why, ENOENT, "unknown image");
}

void chains_use_images(void)
{
    for (unsigned i = 0; i < 3 && images.image[i] == NULL; i++)
        if (filter_image_parse(&images.image[i], images.name[i], images.text[i],
                               strlen(images.text[i]), NULL) < 0)
            abort();
    filter_image_set_loader(load_image);
}

static void random_value(struct filter_stage *stage, unsigned index, uint64_t *state)
{
    const struct filter_param *param = &stage->kind->param[index];
    struct filter_value *ret = &stage->value[index];
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
    case FILTER_KERNEL:
        if (random_bits(state) % 2 == 0)
            random_kernel(&stage->kernel, param, state);
        break;
    case FILTER_IMAGE:
        if (random_bits(state) % 2 == 0)
            stage->image = images.image[random_bits(state) % 3];
        break;
    }
}

void random_stage(struct filter_stage *ret, const struct filter_kind *kind, uint64_t *state)
{
    chains_use_images();
    do {
        filter_stage_init(ret, kind);
        for (unsigned p = 0; p < filter_param_count(kind); p++)
            random_value(ret, p, state);
    } while (filter_stage_check(ret, NULL) != 0);
}

void random_chain(struct filter_chain *ret, uint64_t *state)
{
    const unsigned stages = (unsigned)(random_bits(state) % (FILTER_MAX_STAGES + 1));
    unsigned count;
    const struct filter_kind *const *kinds = filter_kinds(&count);
    *ret = (struct filter_chain){.count = 0};
    while (ret->count < stages) {
        random_stage(&ret->stage[ret->count++], kinds[random_bits(state) % count], state);
        if (filter_chain_check(ret, NULL) != 0) /* a second curve */
            ret->count--;
    }
}
