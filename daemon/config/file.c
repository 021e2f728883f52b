/* Files: each member is a key or a group of keys. */
#include "config/config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/key.h"
#include "config/tree.h"
#include "config/value.h"

#define NAME_BYTES 64

static bool is_group_name(const char *name)
{
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    size_t length = strlen(name);
    for (unsigned i = 0; i < count; i++)
        if (strncmp(keys[i].name, name, length) == 0 && keys[i].name[length] == '.')
            return true;
    return false;
}

static int apply_member(struct config *config, const struct config_tree *tree, const char *group,
                        const config_setting_t *setting, struct error *why)
{
    char name[2 * NAME_BYTES], origin[CONFIG_ORIGIN_BYTES];
    snprintf(name, sizeof name, "%s%s%.*s", group, *group != '\0' ? "." : "", NAME_BYTES,
             config_setting_name(setting));
    config_tree_origin(tree, setting, origin);
    if (!is_group_name(name)) {
        const struct config_key *key = config_key_find(name, origin, why);
        return key == NULL
                   ? -EINVAL
                   : config_value_read((char *)config + key->offset, key, tree, setting, why);
    }
    if (!config_setting_is_group(setting))
        return error_set(why, EINVAL, "%s: %s is %s: expected a group { ... }", origin, name,
                         config_tree_shape(setting));
    for (int i = 0; i < config_setting_length(setting); i++) {
        int r =
            apply_member(config, tree, name, config_setting_get_elem(setting, (unsigned)i), why);
        if (r < 0)
            return r;
    }
    return 0;
}

int config_load(struct config *config, const char *path, struct error *why)
{
    struct config_tree tree;
    int r = config_tree_init(&tree, path, why);
    if (r != 0)
        return r;
    struct config loaded = *config;
    const config_setting_t *root = config_root_setting(&tree.parsed);
    for (int i = 0; r == 0 && i < config_setting_length(root); i++)
        r = apply_member(&loaded, &tree, "", config_setting_get_elem(root, (unsigned)i), why);
    if (r == 0)
        *config = loaded;
    config_tree_finish(&tree);
    return r;
}
