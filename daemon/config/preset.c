/* A preset's name becomes part of a path and may come from a client. It therefore contains neither
 * a slash nor a dot. */
#include "config/preset.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/chain.h"
#include "config/dirs.h"
#include "config/tree.h"
#include "core/text.h"

#define PREFIX "preset:"
#define SUFFIX ".conf"

/* ---- from a file ---- */

static int apply_preset_member(struct filter_chain *chain, char *summary,
                               const struct config_tree *tree, const config_setting_t *setting,
                               struct error *why)
{
    char origin[CONFIG_ORIGIN_BYTES], quoted[TEXT_QUOTE_BYTES];
    const char *name = config_setting_name(setting), *text = config_setting_get_string(setting);
    bool is_filter = strcmp(name, "filter") == 0, is_summary = strcmp(name, "summary") == 0;
    config_tree_origin(tree, setting, origin);
    if (!is_filter && !is_summary)
        return error_set(why, EINVAL, "%s: unknown key %s: expected filter or summary in a preset",
                         origin, text_quote(quoted, name));
    if (is_filter && config_setting_is_list(setting))
        return config_chain_read(chain, tree, setting, why);
    if (text == NULL)
        return error_set(why, EINVAL, "%s: %s is %s: expected %s", origin, name,
                         config_tree_shape(setting),
                         is_filter ? "a chain in quotes or a list ( ... )" : "a line in quotes");
    if (is_summary && summary != NULL)
        snprintf(summary, CONFIG_SUMMARY_BYTES, "%s", text);
    int r = is_filter ? filter_chain_parse(chain, text, why) : 0;
    return r < 0 ? error_prefix(why, -r, "%s: filter", origin) : 0;
}

int config_load_preset_file(struct filter_chain *ret, char *summary, const char *path,
                            struct error *why)
{
    struct config_tree tree;
    int r = config_tree_init(&tree, path, why);
    if (r != 0)
        return r;
    struct filter_chain chain;
    const config_setting_t *root = config_root_setting(&tree.parsed);
    if (summary != NULL)
        summary[0] = '\0';
    if (config_setting_get_member(root, "filter") == NULL)
        r = error_set(why, EINVAL, "%s: filter is missing: expected filter = ( ... );", path);
    for (int i = 0; r == 0 && i < config_setting_length(root); i++)
        r = apply_preset_member(&chain, summary, &tree, config_setting_get_elem(root, (unsigned)i),
                                why);
    if (r == 0)
        *ret = chain;
    config_tree_finish(&tree);
    return r;
}

/* ---- by name ---- */

bool config_is_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-";
    return *text != '\0' && text[strspn(text, allowed)] == '\0';
}

int config_load_preset(struct filter_chain *ret, char summary[CONFIG_SUMMARY_BYTES],
                       const char *name, struct error *why)
{
    struct config_dirs dirs;
    char path[CONFIG_PATH_BYTES];
    config_find_dirs(&dirs, "FFTD_PRESET_DIR", "presets");
    if (config_is_name(name) && config_find_in_dirs(&dirs, name, SUFFIX, path))
        return config_load_preset_file(ret, summary, path, why);
    return config_fail_unknown(&dirs, "preset", name, SUFFIX, why);
}

struct preset_visitor {
    void (*visit)(void *context, const char *name);
    void *context;
};

static void visit_preset(void *context, const char *name)
{
    const struct preset_visitor *visitor = context;
    if (config_is_name(name))
        visitor->visit(visitor->context, name);
}

void config_list_presets(void (*visit)(void *context, const char *name), void *context)
{
    struct config_dirs dirs;
    struct preset_visitor visitor = {visit, context};
    config_find_dirs(&dirs, "FFTD_PRESET_DIR", "presets");
    config_list_dirs(&dirs, SUFFIX, visit_preset, &visitor);
}

int config_filter(struct filter_chain *ret, const char *text, struct error *why)
{
    const size_t prefix = sizeof PREFIX - 1;
    if (strncmp(text, PREFIX, prefix) == 0)
        return config_load_preset(ret, NULL, text + prefix, why);
    return filter_chain_parse(ret, text, why);
}
