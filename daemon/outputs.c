#include "outputs.h"

#include <errno.h>
#include <string.h>

#include "core/text.h"
#include "service/log.h"

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

static int add(const struct outputs *outputs, const struct config_named_output *named,
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
    bus_announce_outputs(outputs->bus);
    return 0;
}

/* No source is tried. */
static void end(const struct outputs *outputs, unsigned output)
{
    readers_remove(outputs->readers, output);
    bus_remove_output(outputs->bus, output);
    config_clear_output(outputs->config, output);
    camera_end_output(outputs->camera, output);
    bus_announce_outputs(outputs->bus);
}

static struct config_named_output *named_at(const struct outputs *outputs, int output)
{
    return &outputs->config->outputs.output[output - 1];
}

static int check_pending(const struct outputs *outputs, struct error *why)
{
    return outputs->is_pending
               ? error_set(why, EBUSY, "a reload is changing the outputs: try again then")
               : 0;
}

int outputs_add(const struct outputs *outputs, const struct config_named_output *named,
                struct error *why)
{
    int r = check_pending(outputs, why);
    if (r == 0)
        r = add(outputs, named, why);
    if (r == 0)
        named_at(outputs, config_find_output(outputs->config, named->name))->is_added = true;
    return r;
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
    int r = check_pending(outputs, why);
    if (r == 0)
        r = camera_check_list(outputs->camera, why);
    if (r == 0)
        end(outputs, (unsigned)found);
    return r;
}

/* ---- lists ---- */

/* Returns whether an output has this filter, or has been asked for it. */
static bool has_filter(const struct outputs *outputs, unsigned output,
                       const struct filter_chain *filter)
{
    struct filter_chain newest;
    camera_get_filter(outputs->camera, output, &newest);
    return filter_chain_equal(&newest, filter);
}

/* Returns whether there is an output with these values already. */
static bool is_there(const struct outputs *outputs, const struct config_named_output *named)
{
    const int found = config_find_output(outputs->config, named->name);
    return found > 0 && config_output_alike(&outputs->config->outputs.output[found - 1], named) &&
           has_filter(outputs, (unsigned)found, &named->filter);
}

int outputs_check(const struct outputs *outputs, const struct config_outputs *wanted,
                  struct error *why)
{
    for (unsigned i = 0; i < wanted->count; i++) {
        const struct config_named_output *named = &wanted->output[i];
        const int r =
            is_there(outputs, named) ? 0 : camera_check_output(outputs->camera, named, why);
        if (r < 0)
            return error_prefix(why, -r, "output %s", named->name);
    }
    return 0;
}

static void set_filter(const struct outputs *outputs, unsigned output,
                       const struct filter_chain *filter)
{
    struct error why;
    uint64_t serial;
    if (has_filter(outputs, output, filter))
        return;
    if (camera_set_filter(outputs->camera, output, filter, 0, &serial, &why) < 0)
        log_error("output %s: %s; its filter stays as it is",
                  config_output_name(outputs->config, output), why.text);
    else
        bus_announce_filter(outputs->bus, output);
}

/* Returns whether any output has not ended yet. */
static bool is_ending(const struct outputs *outputs)
{
    for (unsigned i = 1; i < CONFIG_MAX_OUTPUTS; i++)
        if (!config_has_output(outputs->config, i) && !camera_is_free(outputs->camera, i))
            return true;
    return false;
}

/* Ends what the configuration no longer has as it is. */
static void end_others(const struct outputs *outputs)
{
    for (unsigned i = 1; i < CONFIG_MAX_OUTPUTS; i++) {
        if (!config_has_output(outputs->config, i))
            continue;
        struct config_named_output *now = named_at(outputs, (int)i);
        const struct config_named_output *then = config_outputs_find(&outputs->wanted, now->name);
        if (then == NULL && now->is_added)
            continue;
        if (then != NULL && config_output_alike(now, then)) {
            now->is_added = false;
            set_filter(outputs, i, &then->filter);
            continue;
        }
        log_notice("output %s ends, which the configuration %s", now->name,
                   then != NULL ? "has with other values" : "does not have");
        end(outputs, i);
    }
}

static void add_missing(const struct outputs *outputs)
{
    struct error why;
    for (unsigned i = 0; i < outputs->wanted.count; i++) {
        const struct config_named_output *named = &outputs->wanted.output[i];
        if (config_find_output(outputs->config, named->name) >= 0)
            continue;
        if (add(outputs, named, &why) < 0)
            log_error("output %s cannot begin: %s", named->name, why.text);
        else
            log_notice("output %s begins", named->name);
    }
}

void outputs_set(struct outputs *outputs, const struct config_outputs *wanted)
{
    config_outputs_hold(wanted);
    config_outputs_drop(&outputs->wanted);
    outputs->wanted = *wanted;
    outputs->is_pending = true;
    outputs_continue(outputs);
}

void outputs_continue(struct outputs *outputs)
{
    if (!outputs->is_pending || camera_check_list(outputs->camera, NULL) < 0)
        return;
    end_others(outputs);
    if (is_ending(outputs))
        return;
    add_missing(outputs);
    outputs->is_pending = false;
    config_outputs_drop(&outputs->wanted);
    outputs->wanted.count = 0;
}
