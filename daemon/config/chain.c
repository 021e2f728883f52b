#include "config/chain.h"

#include <errno.h>
#include <string.h>

static int set_param(struct filter_stage *stage, const config_setting_t *setting, struct error *why)
{
    const char *name = config_setting_name(setting);
    char text[CONFIG_VALUE_BYTES];
    int index = filter_param_index(stage->kind, name);
    enum filter_type type = index >= 0 ? stage->kind->param[index].type : FILTER_CHOICE;
    const bool is_value = type == FILTER_PAIR ? config_tree_scalar_or_pair(setting, text)
                                              : config_tree_scalar(setting, text);
    if (index >= 0 && !is_value)
        return error_set(why, EINVAL, "%s: %s is %s: expected %s", stage->kind->name, name,
                         config_tree_shape(setting),
                         type == FILTER_KERNEL ? "a text of its rows, \"1 2 1/2 4 2/1 2 1\""
                                               : "a value");
    if ((type == FILTER_NUMBER || type == FILTER_BOOL) && config_tree_is_quoted_literal(setting))
        return error_set(why, EINVAL, "%s: %s = \"%s\" is in quotes: expected %s",
                         stage->kind->name, name, text,
                         type == FILTER_NUMBER ? "a number" : "true or false");
    return filter_stage_set(stage, name, index >= 0 ? text : "", why);
}

static int read_stage(struct filter_stage *ret, const struct config_tree *tree,
                      const config_setting_t *group, struct error *why)
{
    char origin[CONFIG_ORIGIN_BYTES];
    const char *type;
    if (!config_setting_is_group(group) || !config_setting_lookup_string(group, "type", &type))
        return error_set(why, EINVAL,
                         "%s: filter: expected each stage as { type = \"FILTER\"; ... }",
                         config_tree_origin(tree, group, origin));

    struct filter_stage stage;
    const struct filter_kind *kind = NULL;
    int r = filter_kind_find(&kind, type, why);
    if (r < 0)
        return error_prefix(why, -r, "%s: filter", config_tree_origin(tree, group, origin));
    filter_stage_init(&stage, kind);
    for (int i = 0; i < config_setting_length(group); i++) {
        const config_setting_t *setting = config_setting_get_elem(group, (unsigned)i);
        if (strcmp(config_setting_name(setting), "type") == 0)
            continue;
        r = set_param(&stage, setting, why);
        if (r < 0)
            return error_prefix(why, -r, "%s: filter", config_tree_origin(tree, setting, origin));
    }
    r = filter_stage_check(&stage, why);
    if (r < 0)
        return error_prefix(why, -r, "%s: filter", config_tree_origin(tree, group, origin));
    *ret = stage;
    return 0;
}

int config_chain_read(struct filter_chain *ret, const struct config_tree *tree,
                      const config_setting_t *list, struct error *why)
{
    struct filter_chain chain = {.count = 0};
    int count = config_setting_length(list);
    if (count > FILTER_MAX_STAGES) {
        char origin[CONFIG_ORIGIN_BYTES];
        return error_set(why, EINVAL, "%s: filter has %d stages: expected at most %d",
                         config_tree_origin(tree, list, origin), count, FILTER_MAX_STAGES);
    }
    for (int i = 0; i < count; i++) {
        int r = read_stage(&chain.stage[i], tree, config_setting_get_elem(list, (unsigned)i), why);
        if (r < 0)
            return r;
        chain.count++;
    }
    int r = filter_chain_check(&chain, why);
    if (r < 0) {
        char origin[CONFIG_ORIGIN_BYTES];
        return error_prefix(why, -r, "%s: filter", config_tree_origin(tree, list, origin));
    }
    *ret = chain;
    return 0;
}
