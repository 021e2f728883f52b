#include "control/reload.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "config/key.h"
#include "core/text.h"
#include "service/log.h"

/* Names the keys whose change a running daemon cannot follow. */
static void log_restart_keys(const struct config *config, const struct config *wanted)
{
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    char now[FILTER_TEXT_BYTES], then[FILTER_TEXT_BYTES];

    for (unsigned i = 0; i < count; i++) {
        if (keys[i].live || config_key_equal(config, wanted, &keys[i]))
            continue;
        config_key_print(config, &keys[i], now, sizeof now);
        config_key_print(wanted, &keys[i], then, sizeof then);
        log_warning("%s = %s takes effect at the next start; until then it stays %s", keys[i].name,
                    then, now);
    }
}

/* The controls that the configuration no longer names keep their values. */
static void apply_controls(struct camera *camera, const struct config *config,
                           const struct config *wanted)
{
    char text[SETTINGS_TEXT_BYTES];

    if (settings_equal(&config->camera.controls, &wanted->camera.controls))
        return;
    camera_want_controls(camera, &wanted->camera.controls);
    settings_print(&wanted->camera.controls, text, sizeof text);
    log_notice("reloaded: camera.controls = %s", text);
}

/* A client may have set another filter since the last reload, so the newest one counts. */
static int apply_filter(struct camera *camera, const struct filter_chain *chain, struct error *why)
{
    char text[FILTER_TEXT_BYTES];
    struct filter_chain newest;
    uint64_t serial;

    camera_get_filter(camera, &newest);
    if (filter_chain_equal(&newest, chain))
        return 0;
    int r = camera_set_filter(camera, chain, &serial, why);
    if (r < 0)
        return r;
    filter_chain_print(chain, text, sizeof text);
    log_notice("reloaded: filter %llu: %s", (unsigned long long)serial, text);
    return 0;
}

static bool is_source_key(const struct config_key *key)
{
    const size_t begin = offsetof(struct config, camera.source);
    return key->offset >= begin && key->offset < begin + sizeof(struct config_source);
}

/* A source that the camera could not open is requested again, since the reason may no longer
 * apply. A reload that comes before the result of the one before it adds its keys to the same line
 * of the log. */
static void apply_source(struct reload *reload, struct camera *camera, const struct config *config,
                         const struct config *wanted)
{
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    struct camera_status status;
    char value[FILTER_TEXT_BYTES], changes[sizeof reload->changes] = "";

    assert(count <= 64);
    for (unsigned i = 0; i < count; i++) {
        if (is_source_key(&keys[i]) && !config_key_equal(config, wanted, &keys[i]))
            reload->changed |= UINT64_C(1) << i;
        if (!(reload->changed >> i & 1))
            continue;
        config_key_print(wanted, &keys[i], value, sizeof value);
        text_append(changes, sizeof changes, "%s%s = %s", changes[0] != '\0' ? ", " : "",
                    keys[i].name, value);
    }
    camera_get_status(camera, &status);
    if (changes[0] == '\0' && status.source_problem[0] == '\0')
        return;
    if (changes[0] != '\0')
        memcpy(reload->changes, changes, sizeof changes);
    reload->source_version = camera_set_source(camera, &wanted->camera.source);
}

int reload_apply(struct reload *reload, struct camera *camera, struct config *config,
                 const struct config *wanted, struct error *why)
{
    unsigned count;
    const struct config_key *keys = config_keys(&count);

    int r = apply_filter(camera, &wanted->filter, why);
    if (r < 0)
        return r;
    apply_controls(camera, config, wanted); /* before the source, whose opening sets them again */
    apply_source(reload, camera, config, wanted);
    log_restart_keys(config, wanted);
    for (unsigned i = 0; i < count; i++)
        if (keys[i].live)
            config_key_copy(config, wanted, &keys[i]);
    return 0;
}

void reload_report(struct reload *reload, const struct camera_status *status)
{
    if (reload->source_version == 0 || status->source_version < reload->source_version)
        return;
    reload->source_version = 0;
    reload->changed = 0;
    if (status->source_problem[0] != '\0')
        log_warning("the new source does not work, the previous one stays in use: %s",
                    status->source_problem);
    else
        log_notice("reloaded: %s", reload->changes);
}
