#include "bus/reload.h"

#include <errno.h>
#include <stddef.h>

#include "config/key.h"
#include "core/secret.h"
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

/* The parts of a configuration that differ; NULL: that part does not. */
struct changes {
    const struct config_source *source;
    const struct settings *controls;
    const struct filter_chain *filter;
};

static bool is_source_key(const struct config_key *key)
{
    const size_t begin = offsetof(struct config, camera.source);
    return key->offset >= begin && key->offset < begin + sizeof(struct config_source);
}

/* The controls that the configuration no longer names keep their values. */
static void find_changes(struct changes *ret, const struct config *config,
                         const struct config *wanted)
{
    unsigned count;
    const struct config_key *keys = config_keys(&count);

    *ret = (struct changes){.source = NULL};
    for (unsigned i = 0; i < count; i++)
        if (is_source_key(&keys[i]) && !config_key_equal(config, wanted, &keys[i]))
            ret->source = &wanted->camera.source;
    if (!settings_equal(&config->camera.controls, &wanted->camera.controls))
        ret->controls = &wanted->camera.controls;
    if (!filter_chain_equal(&config->filter, &wanted->filter))
        ret->filter = &wanted->filter;
}

/* Applies the view, which cannot fail, and takes over the configuration. Everything else has been
 * applied. */
static void finish(struct camera *camera, struct config *config, const struct config *wanted)
{
    if (wanted->engine.options.recipe.view != config->engine.options.recipe.view)
        camera_set_view(camera, wanted->engine.options.recipe.view);
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    char value[FILTER_TEXT_BYTES], shown[FILTER_TEXT_BYTES];

    for (unsigned i = 0; i < count; i++) {
        if (!keys[i].live || config_key_equal(config, wanted, &keys[i]))
            continue;
        config_key_print(wanted, &keys[i], value, sizeof value);
        log_notice("reloaded: %s = %s", keys[i].name, secret_hide(shown, sizeof shown, value));
    }
    log_restart_keys(config, wanted);
    filter_chain_assign(&config->filter, &wanted->filter); /* it is live */
    for (unsigned i = 0; i < count; i++)
        if (keys[i].live)
            config_key_copy(config, wanted, &keys[i]);
}

/* Keeps a configuration for later calls. */
static void hold_config(struct config *to, const struct config *from)
{
    filter_chain_hold(&from->filter);
    filter_chain_drop(&to->filter);
    *to = *from;
}

void reload_log_failure(const char *problem)
{
    log_error("the reload failed and changed nothing: %s", problem);
}

static void add_waiter(struct reload_waiter **list, struct reload_waiter *waiter)
{
    if (waiter == NULL)
        return;
    waiter->next = *list;
    *list = waiter;
}

static void answer(struct reload_waiter *list, const char *problem)
{
    while (list != NULL) {
        struct reload_waiter *waiter = list;
        list = list->next;
        waiter->done(waiter, problem);
    }
}

/* As reload_apply, while no reload is in progress. */
static int begin(struct reload *reload, struct camera *camera, struct config *config,
                 const struct config *wanted, struct error *why)
{
    struct filter_chain now;
    struct changes changes;
    uint64_t serial;
    int r = 0;

    camera_get_filter(camera, &now); /* a client may have set the filter */
    filter_chain_assign(&config->filter, &now);
    config->engine.options.recipe.view = camera_get_view(camera);
    find_changes(&changes, config, wanted);
    if (changes.source != NULL) {
        hold_config(&reload->current.wanted, wanted);
        r = camera_set_source(camera, changes.source, changes.controls, changes.filter,
                              &reload->source_number, why);
        return r < 0 ? r : 1;
    }
    if (changes.filter != NULL)
        r = camera_set_filter(camera, changes.filter, 0, &serial, why);
    if (r < 0)
        return r;
    if (changes.controls != NULL)
        camera_want_controls(camera, changes.controls);
    finish(camera, config, wanted);
    return 0;
}

int reload_apply(struct reload *reload, struct camera *camera, struct config *config,
                 const struct config *wanted, struct reload_waiter *waiter, struct error *why)
{
    if (reload_is_pending(reload)) {
        reload->has_next = true;
        hold_config(&reload->next.wanted, wanted);
        add_waiter(&reload->next.waiters, waiter);
        return 1;
    }
    const int r = begin(reload, camera, config, wanted, why);
    if (r > 0)
        add_waiter(&reload->current.waiters, waiter);
    return r;
}

bool reload_is_pending(const struct reload *reload)
{
    return reload->source_number != 0;
}

static void begin_next(struct reload *reload, struct camera *camera, struct config *config)
{
    struct reload_waiter *waiters = reload->next.waiters;
    struct error why;

    reload->has_next = false;
    reload->next.waiters = NULL;
    const int r = begin(reload, camera, config, &reload->next.wanted, &why);
    if (r > 0) {
        reload->current.waiters = waiters;
        return;
    }
    if (r < 0)
        reload_log_failure(why.text);
    answer(waiters, r < 0 ? why.text : NULL);
}

bool reload_settle(struct reload *reload, struct camera *camera, struct config *config,
                   const struct camera_status *status)
{
    struct reload_waiter *waiters = reload->current.waiters;
    struct error why;

    if (!reload_is_pending(reload) || status->source_number < reload->source_number)
        return false;
    const bool failed = status->source_problem[0] != '\0';
    reload->source_number = 0;
    reload->current.waiters = NULL;
    if (failed) {
        error_set(&why, ENODEV, "the new source does not work, the previous one stays in use: %s",
                  status->source_problem);
        reload_log_failure(why.text);
    } else {
        finish(camera, config, &reload->current.wanted);
    }
    answer(waiters, failed ? why.text : NULL);
    if (reload->has_next)
        begin_next(reload, camera, config);
    return true;
}

void reload_cancel(struct reload *reload)
{
    answer(reload->current.waiters, "fftd is stopping");
    answer(reload->next.waiters, "fftd is stopping");
    reload->current.waiters = reload->next.waiters = NULL;
}
