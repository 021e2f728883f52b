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
    const struct capture_request *source;
    const struct settings *controls;
    const struct filter_chain *filter;
};

static bool is_source_key(const struct config_key *key)
{
    const size_t begin = offsetof(struct config, camera.source);
    return key->offset >= begin && key->offset < begin + sizeof(struct capture_request);
}

static bool is_outputs_key(const struct config_key *key)
{
    return key->offset == offsetof(struct config, outputs);
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

void reload_log_saved(const struct config_saved *saved)
{
    for (unsigned i = 0; i < CONFIG_SAVED_KEYS; i++)
        if (saved->is_used[i])
            log_notice("%s is the one that was saved in %s", config_saved_names[i], saved->path);
    if (saved->problem.text[0] != '\0')
        log_warning("%s", saved->problem.text);
}

/* Takes over the configuration, which has been applied. */
static void finish(const struct reload *reload, struct config *config, const struct config *wanted)
{
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    char value[FILTER_TEXT_BYTES], shown[FILTER_TEXT_BYTES];

    for (unsigned i = 0; i < count; i++) {
        if (!keys[i].live || is_outputs_key(&keys[i]) || config_key_equal(config, wanted, &keys[i]))
            continue;
        config_key_print(wanted, &keys[i], value, sizeof value);
        log_notice("reloaded: %s = %s", keys[i].name, secret_hide(shown, sizeof shown, value));
    }
    log_restart_keys(config, wanted);
    filter_chain_assign(&config->filter, &wanted->filter); /* it is live */
    for (unsigned i = 0; i < count; i++)
        if (keys[i].live && !is_outputs_key(&keys[i])) /* whose places are not those of the file */
            config_key_copy(config, wanted, &keys[i]);
    if (reload->outputs.set != NULL)
        reload->outputs.set(reload->outputs.outputs, &wanted->outputs);
    config->saved = wanted->saved;
    reload_log_saved(&config->saved);
}

/* Keeps a configuration for later calls. */
static void hold_config(struct config *to, const struct config *from)
{
    config_hold_filters(from);
    config_drop_filters(to);
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

/* Returns whether a filter can be made now or soon, because there is an engine or will be. While
 * the device fails, a filter waits for it, just as it waits for an absent camera. */
static bool has_engine(const struct camera_status *status)
{
    return status->state != CAMERA_FAILED &&
           (status->engine[0] != '\0' || status->state == CAMERA_STARTING);
}

/* Asks for the filter and the view. 1: their result will be known. */
static int begin_filter(struct reload *reload, struct camera *camera,
                        const struct filter_chain *filter, enum view_kind view, struct error *why)
{
    struct camera_status status;
    uint64_t serial;
    const int r = camera_set_filter_and_view(camera, CAMERA_MAIN, filter, view, 0, &serial, why);
    if (r < 0)
        return r;
    camera_get_status(camera, CAMERA_MAIN, &status);
    if (!has_engine(&status))
        return 0;
    reload->filter_serial = serial;
    return 1;
}

/* As reload_apply, while no reload is in progress. */
static int begin(struct reload *reload, struct camera *camera, struct config *config,
                 const struct config *wanted, struct error *why)
{
    struct filter_chain now;
    struct changes changes;
    const enum view_kind view = wanted->engine.options.recipe.view;
    int r = 0;

    camera_get_filter(camera, CAMERA_MAIN, &now); /* a client may have set the filter */
    filter_chain_assign(&config->filter, &now);
    config->engine.options.recipe.view = camera_get_view(camera, CAMERA_MAIN);
    find_changes(&changes, config, wanted);
    if (changes.source != NULL) {
        hold_config(&reload->current.wanted, wanted);
        r = camera_set_source(camera, changes.source, changes.controls, changes.filter,
                              &reload->source_number, why);
        return r < 0 ? r : 1;
    }
    if (reload->outputs.check != NULL)
        r = reload->outputs.check(reload->outputs.outputs, &wanted->outputs, why);
    if (r < 0)
        return r;
    if (changes.filter != NULL || view != camera_get_view(camera, CAMERA_MAIN))
        r = begin_filter(reload, camera, &wanted->filter, view, why);
    if (r > 0)
        hold_config(&reload->current.wanted, wanted);
    if (r != 0)
        return r;
    if (changes.controls != NULL)
        camera_want_controls(camera, changes.controls);
    finish(reload, config, wanted);
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
    return reload->source_number != 0 || reload->filter_serial != 0;
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

/* Ends the reload of a source. The view, for which the other source may need another engine,
 * follows it. */
static int settle_source(struct reload *reload, struct camera *camera,
                         const struct camera_status *status, struct error *why)
{
    const enum view_kind view = reload->current.wanted.engine.options.recipe.view;
    if (status->source_number < reload->source_number)
        return -EAGAIN;
    if (status->source_problem[0] != '\0')
        return error_set(why, ENODEV,
                         "the new source cannot be used, the previous one stays in use: %s",
                         status->source_problem);
    if (view != camera_get_view(camera, CAMERA_MAIN))
        camera_set_view(camera, CAMERA_MAIN, view);
    return 0;
}

/* Ends the reload of a filter. The controls, which cannot fail, follow it. */
static int settle_filter(struct reload *reload, struct camera *camera, const struct config *config,
                         const struct camera_status *status, struct error *why)
{
    const struct settings *controls = &reload->current.wanted.camera.controls;
    const bool is_used = status->used_serial >= reload->filter_serial;
    const bool has_failed = status->failed_serial >= reload->filter_serial;
    if (!is_used && !has_failed && has_engine(status))
        return -EAGAIN;
    if (!is_used && has_failed)
        return error_set(why, EINVAL,
                         "the new filter cannot be used, the previous one stays in use: %s",
                         status->filter_problem);
    if (!settings_equal(&config->camera.controls, controls))
        camera_want_controls(camera, controls);
    return 0;
}

bool reload_settle(struct reload *reload, struct camera *camera, struct config *config,
                   const struct camera_status *status)
{
    struct reload_waiter *waiters = reload->current.waiters;
    struct error why;

    if (!reload_is_pending(reload))
        return false;
    const int r = reload->source_number != 0 ? settle_source(reload, camera, status, &why)
                                             : settle_filter(reload, camera, config, status, &why);
    if (r == -EAGAIN)
        return false;
    reload->source_number = reload->filter_serial = 0;
    reload->current.waiters = NULL;
    if (r < 0)
        reload_log_failure(why.text);
    else
        finish(reload, config, &reload->current.wanted);
    answer(waiters, r < 0 ? why.text : NULL);
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
