#include "reload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

static bool differs(const struct config *a, const struct config *b, const struct config_key *key)
{
    char a_text[FILTER_TEXT_BYTES], b_text[FILTER_TEXT_BYTES];
    config_get(a, key->name, a_text, sizeof a_text);
    config_get(b, key->name, b_text, sizeof b_text);
    return strcmp(a_text, b_text) != 0;
}

/* Names the keys whose change a running daemon cannot follow. */
static void tell_restart_keys(const struct config *in_force, const struct config *wanted)
{
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    char now[FILTER_TEXT_BYTES], then[FILTER_TEXT_BYTES];

    for (unsigned i = 0; i < count; i++) {
        if (keys[i].live || !differs(in_force, wanted, &keys[i]))
            continue;
        config_get(in_force, keys[i].name, now, sizeof now);
        config_get(wanted, keys[i].name, then, sizeof then);
        log_warning("%s = %s takes effect at the next start; it stays %s", keys[i].name, then, now);
    }
}

/* ---- the filter ---- */

static int apply_filter(struct camera *camera, const struct filter_chain *chain, struct error *why)
{
    char now[FILTER_TEXT_BYTES], wanted[FILTER_TEXT_BYTES];
    struct filter_chain current;
    uint64_t serial;

    /* The one in force is not the configuration's if somebody has set another since. */
    camera_get_filter(camera, &current);
    filter_chain_print(&current, now, sizeof now);
    filter_chain_print(chain, wanted, sizeof wanted);
    if (strcmp(now, wanted) == 0)
        return 0;
    int r = camera_set_filter(camera, chain, &serial, why);
    if (r == 0)
        log_notice("reloaded: filter %llu: %s", (unsigned long long)serial, wanted);
    return r;
}

/* ---- the camera's own controls ---- */

static void controls_set(void *context, int result, const char *why,
                         const struct capture_controls *controls)
{
    (void)context, (void)controls;
    if (result < 0)
        log_warning("camera.controls: %s", why);
    else
        log_notice("reloaded: camera.controls");
}

/* Those that are named no longer stay as they are. */
static int apply_controls(struct camera *camera, struct config *in_force,
                          const struct config *wanted, struct error *why)
{
    if (!differs(in_force, wanted, config_key_by_name("camera.controls")))
        return 0;
    int r = camera_set_controls(camera, &wanted->controls, controls_set, NULL);
    if (r < 0)
        return error_set(why, -r, "camera.controls: %s", strerror(-r));
    in_force->controls = wanted->controls;
    return 0;
}

/* ---- the source ---- */

struct source_change {
    struct config *in_force;
    struct config wanted;
};

static bool is_source_key(const struct config_key *key)
{
    return key->live && key->type != CONFIG_FILTER && key->type != CONFIG_SETTINGS;
}

static void source_changed(void *context, int result, const char *why,
                           const struct capture_controls *controls)
{
    struct source_change *change = context;
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    (void)controls;

    if (result < 0)
        log_warning("the camera stays as it was: %s", why);
    for (unsigned i = 0; result == 0 && i < count; i++) {
        if (!is_source_key(&keys[i]) || !differs(change->in_force, &change->wanted, &keys[i]))
            continue;
        char value[FILTER_TEXT_BYTES];
        config_get(&change->wanted, keys[i].name, value, sizeof value);
        log_notice("reloaded: %s = %s", keys[i].name, value);
        memcpy((char *)change->in_force + keys[i].offset, (char *)&change->wanted + keys[i].offset,
               keys[i].size);
        if (keys[i].type == CONFIG_SIZE) /* two numbers; the key names the first */
            change->in_force->height = change->wanted.height;
    }
    free(change);
}

static int apply_source(struct camera *camera, struct config *in_force, const struct config *wanted,
                        struct error *why)
{
    unsigned count, changes = 0;
    const struct config_key *keys = config_keys(&count);
    for (unsigned i = 0; i < count; i++)
        changes += is_source_key(&keys[i]) && differs(in_force, wanted, &keys[i]);
    if (changes == 0)
        return 0;
    struct source_change *change = malloc(sizeof *change);
    int r = -ENOMEM;
    if (change != NULL) {
        *change = (struct source_change){in_force, *wanted};
        r = camera_change_source(camera, wanted, source_changed, change);
    }
    if (r < 0) {
        free(change);
        return error_set(why, -r, "camera.source: %s", strerror(-r));
    }
    return 0;
}

int reload_apply(struct camera *camera, struct config *in_force, const struct config *wanted,
                 struct error *why)
{
    tell_restart_keys(in_force, wanted);
    int r = apply_filter(camera, &wanted->filter, why);
    if (r < 0)
        return r;
    in_force->filter = wanted->filter;
    /* Controls first: the source's opening sets them again. */
    r = apply_controls(camera, in_force, wanted, why);
    return r < 0 ? r : apply_source(camera, in_force, wanted, why);
}
