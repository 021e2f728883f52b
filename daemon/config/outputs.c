/* The key `outputs`: a list with a group for each output, whose members are values like any other.
 * On a command line it is written as in a file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/tree.h"
#include "config/type.h"
#include "config/value.h"
#include "core/text.h"

#define MIN_SIDE  16 /* pixels */
#define LIST_TEXT "( { name = \"small\"; size = \"640x360\"; filter = \"none\"; }, ... )"

_Static_assert(offsetof(struct config_named_output, height) ==
                   offsetof(struct config_named_output, width) + sizeof(uint32_t),
               "config_type_size stores both at once");

static bool is_output_name(const char *text)
{
    const size_t length =
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");
    return length > 0 && text[length] == '\0' && text[0] != '-' &&
           strcmp(text, CONFIG_MAIN_OUTPUT) != 0;
}

/* In the order of enum recipe_planes, after `auto`. */
static const char *const planes_names[] = {"auto", "luma", "all", "luma-only", NULL};
const char *const config_depth_names[] = {
    [RECIPE_DEPTH_AUTO] = "auto", [RECIPE_DEPTH_16] = "16", NULL};

#define MEMBER(field)                                                                              \
    .offset = offsetof(struct config_named_output, field),                                         \
    .size = sizeof(((struct config_named_output *)NULL)->field)

static const struct config_key members[] = {
    {
        .name = "outputs.name",
        .type = &config_type_string,
        MEMBER(name),
        .valid = is_output_name,
        .expects = "letters, digits and hyphens, and not main",
    },
    {
        .name = "outputs.size",
        .type = &config_type_size,
        MEMBER(width),
        .unit = "pixels",
        .min = MIN_SIDE,
        .max = FFTD_MAX_SIDE,
        .word = "auto",
    },
    {
        .name = "outputs.fps",
        .type = &config_type_number,
        MEMBER(fps),
        .unit = "frames/s",
        .min = 0.01,
        .max = 1000,
        .word = "auto",
    },
    {
        .name = "outputs.planes",
        .type = &config_type_choice,
        MEMBER(planes),
        .choices = planes_names,
    },
    {
        .name = "outputs.depth",
        .type = &config_type_choice,
        MEMBER(depth),
        .choices = config_depth_names,
    },
    {
        .name = "outputs.edge",
        .type = &config_type_number,
        MEMBER(edge),
        .min = 0.001,
        .max = 0.5,
        .word = "auto",
    },
    {
        .name = "outputs.filter",
        .type = &config_type_filter,
        MEMBER(filter),
    },
};
#define MEMBER_COUNT  (sizeof members / sizeof members[0])
#define MEMBER_PREFIX (sizeof "outputs." - 1)

static bool is_named(const struct config_named_output *output)
{
    return output->name[0] != '\0';
}

/* ---- as text ---- */

static void append_quoted(char *text, size_t size, const char *value)
{
    char escaped[CONFIG_ESCAPE_BYTES];
    text_append(text, size, "\"");
    for (; *value != '\0'; value++)
        text_append(text, size, "%s", config_escape(*value, escaped));
    text_append(text, size, "\"");
}

static void print_outputs(const void *field, const struct config_key *key, char *text, size_t size)
{
    const struct config_outputs *outputs = field;
    char value[FILTER_TEXT_BYTES];
    (void)key;
    bool is_empty = true;
    snprintf(text, size, "(");
    for (unsigned i = 0; i < outputs->count; i++) {
        if (!is_named(&outputs->output[i]))
            continue;
        text_append(text, size, "%s {", is_empty ? "" : ",");
        is_empty = false;
        for (size_t m = 0; m < MEMBER_COUNT; m++) {
            const struct config_key *member = &members[m];
            member->type->print((const char *)&outputs->output[i] + member->offset, member, value,
                                sizeof value);
            text_append(text, size, " %s = ", member->name + MEMBER_PREFIX);
            if (member->type->is_literal && strcmp(value, member->word) != 0)
                text_append(text, size, "%s", value);
            else
                append_quoted(text, size, value);
            text_append(text, size, ";");
        }
        text_append(text, size, " }");
    }
    text_append(text, size, "%s)", is_empty ? "" : " ");
}

/* ---- from a file ---- */

#define UNKNOWN_MEMBER                                                                             \
    "%s: unknown key %s of an output: expected name, size, fps, planes, depth, edge or filter"

static const struct config_key *find_member(const char *name)
{
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        if (strcmp(name, members[i].name + MEMBER_PREFIX) == 0)
            return &members[i];
    return NULL;
}

static int read_member(struct config_named_output *output, const struct config_tree *tree,
                       const config_setting_t *setting, struct error *why)
{
    char origin[CONFIG_ORIGIN_BYTES], quoted[TEXT_QUOTE_BYTES];
    const struct config_key *member = find_member(config_setting_name(setting));
    if (member != NULL)
        return config_value_read((char *)output + member->offset, member, tree, setting, why);
    return error_set(why, EINVAL, UNKNOWN_MEMBER, config_tree_origin(tree, setting, origin),
                     text_quote(quoted, config_setting_name(setting)));
}

static int read_output(struct config_named_output *ret, const struct config_tree *tree,
                       const config_setting_t *group, struct error *why)
{
    char origin[CONFIG_ORIGIN_BYTES];
    config_tree_origin(tree, group, origin);
    if (!config_setting_is_group(group))
        return error_set(why, EINVAL, "%s: outputs has %s: expected %s", origin,
                         config_tree_shape(group), LIST_TEXT);
    memset(ret, 0, sizeof *ret);
    for (int i = 0; i < config_setting_length(group); i++) {
        int r = read_member(ret, tree, config_setting_get_elem(group, (unsigned)i), why);
        if (r < 0)
            return r;
    }
    if (ret->name[0] == '\0')
        return error_set(why, EINVAL, "%s: an output has no name: expected name = \"...\"", origin);
    return 0;
}

static int read_list(struct config_outputs *outputs, const struct config_key *key,
                     const struct config_tree *tree, const config_setting_t *list,
                     struct error *why)
{
    char origin[CONFIG_ORIGIN_BYTES], text[FILTER_TEXT_BYTES];
    const int count = config_setting_length(list);
    config_tree_origin(tree, list, origin);
    if (count >= CONFIG_MAX_OUTPUTS)
        return error_set(why, EINVAL, "%s: outputs has %d entries: expected at most %d", origin,
                         count, CONFIG_MAX_OUTPUTS - 1);
    for (unsigned i = 0; i < (unsigned)count; i++) {
        struct config_named_output *output = &outputs->output[i];
        const int r = read_output(output, tree, config_setting_get_elem(list, i), why);
        if (r < 0)
            return r;
        for (unsigned other = 0; other < i; other++)
            if (strcmp(outputs->output[other].name, output->name) == 0)
                return error_set(why, EINVAL,
                                 "%s: two outputs are named %s: expected every name once", origin,
                                 output->name);
        outputs->count = i + 1;
    }
    print_outputs(outputs, key, text, sizeof text);
    if (strlen(text) + 1 < sizeof text)
        return 0;
    return error_set(why, EINVAL, "%s: outputs is too long: expected at most %zu bytes", origin,
                     sizeof text - 2);
}

static int read_outputs(void *field, const struct config_key *key, const struct config_tree *tree,
                        const config_setting_t *list, struct error *why)
{
    struct config_outputs *outputs = calloc(1, sizeof *outputs);
    if (outputs == NULL)
        return error_set(why, ENOMEM, "out of memory while reading outputs");
    const int r = read_list(outputs, key, tree, list, why);
    if (r == 0)
        memcpy(field, outputs, sizeof *outputs);
    free(outputs);
    return r;
}

/* ---- from text ---- */

static int parse_outputs(void *field, const struct config_key *key, const char *text,
                         struct error *why)
{
    static const char begin[] = "outputs = ";
    struct config_tree tree;
    const size_t size = sizeof begin + strlen(text) + 1;
    if (strcmp(text, key->initial) == 0) { /* needs no memory, so defaults cannot fail */
        memset(field, 0, sizeof(struct config_outputs));
        return 0;
    }
    if (text[0] != '(')
        return error_set(why, EINVAL, "expected %s", LIST_TEXT);
    char *whole = malloc(size);
    if (whole == NULL)
        return error_set(why, ENOMEM, "out of memory while reading outputs");
    snprintf(whole, size, "%s%s;", begin, text);
    int r = config_tree_parse(&tree, whole, "outputs", why);
    free(whole);
    if (r < 0)
        return r;
    const config_setting_t *root = config_root_setting(&tree.parsed);
    const config_setting_t *list = config_setting_get_elem(root, 0);
    if (config_setting_length(root) != 1 || !config_setting_is_list(list))
        r = error_set(why, EINVAL, "expected %s", LIST_TEXT);
    else
        r = read_outputs(field, key, &tree, list, why);
    config_tree_finish(&tree);
    return r;
}

const struct config_named_output *config_outputs_find(const struct config_outputs *outputs,
                                                      const char *name)
{
    for (unsigned i = 0; i < outputs->count; i++)
        if (strcmp(outputs->output[i].name, name) == 0)
            return &outputs->output[i];
    return NULL;
}

bool config_output_alike(const struct config_named_output *a, const struct config_named_output *b)
{
    return strcmp(a->name, b->name) == 0 && a->width == b->width && a->height == b->height &&
           a->fps == b->fps && a->planes == b->planes && a->depth == b->depth && a->edge == b->edge;
}

/* Returns whether all outputs of one list are in the other. */
static bool contains(const struct config_outputs *x, const struct config_outputs *y)
{
    bool equal = true;
    for (unsigned i = 0; equal && i < y->count; i++) {
        const struct config_named_output *p = &y->output[i];
        const struct config_named_output *q = config_outputs_find(x, p->name);
        equal = !is_named(p) || (q != NULL && config_output_alike(p, q) &&
                                 filter_chain_equal(&p->filter, &q->filter));
    }
    return equal;
}

/* In any order. */
static bool equal_outputs(const void *a, const void *b)
{
    return contains(a, b) && contains(b, a);
}

const struct config_type config_type_outputs = {
    .accepts = LIST_TEXT,
    .parse = parse_outputs,
    .print = print_outputs,
    .equal = equal_outputs,
    .read = read_outputs,
    .compound = CONFIG_TYPE_LIST,
    .is_literal = true,
    .explains = true,
};

/* ---- each output ---- */

const char *config_output_name(const struct config *config, unsigned output)
{
    return output == 0 ? CONFIG_MAIN_OUTPUT : config->outputs.output[output - 1].name;
}

bool config_has_output(const struct config *config, unsigned output)
{
    return output < config_output_count(config) && config_output_name(config, output)[0] != '\0';
}

int config_find_output(const struct config *config, const char *name)
{
    const struct config_named_output *named =
        name[0] != '\0' ? config_outputs_find(&config->outputs, name) : NULL;
    return strcmp(name, CONFIG_MAIN_OUTPUT) == 0 ? 0
           : named != NULL                       ? 1 + (int)(named - config->outputs.output)
                                                 : -ENOENT;
}

void config_put_output(struct config *config, unsigned output,
                       const struct config_named_output *named)
{
    struct config_outputs *outputs = &config->outputs;
    filter_chain_hold(&named->filter);
    outputs->output[output - 1] = *named;
    outputs->count = outputs->count > output ? outputs->count : output;
}

void config_clear_output(struct config *config, unsigned output)
{
    struct config_outputs *outputs = &config->outputs;
    filter_chain_drop(&outputs->output[output - 1].filter);
    outputs->output[output - 1] = (struct config_named_output){.name = ""};
    while (outputs->count > 0 && !is_named(&outputs->output[outputs->count - 1]))
        outputs->count--;
}

int config_set_output(struct config_named_output *output, const char *member, const char *value,
                      const char *origin, struct error *why)
{
    char quoted[TEXT_QUOTE_BYTES];
    const struct config_key *key = find_member(member);
    if (key == NULL)
        return error_set(why, EINVAL, UNKNOWN_MEMBER, origin, text_quote(quoted, member));
    return config_value_set((char *)output + key->offset, key, value, origin, why);
}

double config_output_fps(const struct config *config, unsigned output)
{
    return output == 0 ? 0 : config->outputs.output[output - 1].fps;
}

void config_of_named(struct config *ret, const struct config *config,
                     const struct config_named_output *named)
{
    memcpy(ret, config, offsetof(struct config, outputs)); /* these are large, and not needed */
    ret->outputs.count = 0;
    ret->output.width = named->width;
    ret->output.height = named->height;
    ret->filter = named->filter;
    ret->engine.options.recipe.view = VIEW_PICTURE;
    if (named->planes > 0)
        ret->engine.options.recipe.planes = (enum recipe_planes)(named->planes - 1);
    ret->engine.options.recipe.depth = (enum recipe_depth)named->depth;
    ret->engine.options.recipe.crop_edge = named->edge;
    /* The first output searches for the settings that they share. */
    if (ret->engine.options.tune == ENGINE_TUNE_EXHAUSTIVE)
        ret->engine.options.tune = ENGINE_TUNE_AUTO;
}

void config_of_output(struct config *ret, const struct config *config, unsigned output)
{
    if (output > 0) {
        config_of_named(ret, config, &config->outputs.output[output - 1]);
        return;
    }
    memcpy(ret, config, offsetof(struct config, outputs));
    ret->outputs.count = 0;
}

void config_outputs_hold(const struct config_outputs *outputs)
{
    for (unsigned i = 0; i < outputs->count; i++)
        filter_chain_hold(&outputs->output[i].filter);
}

void config_outputs_drop(const struct config_outputs *outputs)
{
    for (unsigned i = 0; i < outputs->count; i++)
        filter_chain_drop(&outputs->output[i].filter);
}

void config_hold_filters(const struct config *config)
{
    filter_chain_hold(&config->filter);
    config_outputs_hold(&config->outputs);
}

void config_drop_filters(const struct config *config)
{
    filter_chain_drop(&config->filter);
    config_outputs_drop(&config->outputs);
}
