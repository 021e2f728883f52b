#include "outputs.h"

#include <errno.h>
#include <string.h>

#include "core/text.h"

/* Returns the number of a free place, which one of an output that was removed may have had. */
static int find_place(const struct outputs *outputs, struct error *why)
{
    unsigned used = 0;
    for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS; i++)
        used += config_has_output(outputs->config, i);
    if (used == CONFIG_MAX_OUTPUTS)
        return error_set(why, EINVAL, "the camera has %d outputs: expected no more",
                         CONFIG_MAX_OUTPUTS);
    for (unsigned i = 1; i < CONFIG_MAX_OUTPUTS; i++)
        if (!config_has_output(outputs->config, i) && camera_is_free(outputs->camera, i))
            return (int)i;
    return error_set(why, EBUSY, "outputs that were removed have not ended yet: try again then");
}

static int check_name(const struct outputs *outputs, const char *name, struct error *why)
{
    if (name[0] == '\0')
        return error_set(why, EINVAL, "an output has no name: expected name");
    if (config_find_output(outputs->config, name) >= 0)
        return error_set(why, EINVAL, "there is an output %s: expected another name", name);
    return 0;
}

int outputs_add(const struct outputs *outputs, const struct config_named_output *named,
                struct error *why)
{
    int r = check_name(outputs, named->name, why);
    const int place = r < 0 ? r : find_place(outputs, why);
    if (place < 0)
        return place;
    const unsigned output = (unsigned)place;
    r = camera_prepare_output(outputs->camera, output, named, why);
    if (r < 0)
        return r;
    config_put_output(outputs->config, output, named);
    r = readers_add(outputs->readers, output, why);
    if (r < 0) {
        config_clear_output(outputs->config, output);
        camera_discard_output(outputs->camera, output);
        return r;
    }
    bus_add_output(outputs->bus, output);
    camera_begin_output(outputs->camera, output);
    return 0;
}

int outputs_remove(const struct outputs *outputs, const char *name, struct error *why)
{
    char quoted[TEXT_QUOTE_BYTES];
    const int found = config_find_output(outputs->config, name);
    if (found < 0)
        return error_set(why, ENOENT, "the camera has no output %s", text_quote(quoted, name));
    if (found == CAMERA_MAIN)
        return error_set(why, EINVAL, "output %s: expected another one, because it always exists",
                         name);
    const int r = camera_check_list(outputs->camera, why);
    if (r < 0)
        return r;
    const unsigned output = (unsigned)found;
    readers_remove(outputs->readers, output);
    bus_remove_output(outputs->bus, output);
    config_clear_output(outputs->config, output);
    camera_end_output(outputs->camera, output);
    return 0;
}
