/* Wiring: one camera, the readers of its rings, its D-Bus object and the service manager in one
 * event loop. Nothing here takes long; frames have threads of their own (camera.h), and files are
 * read in threads of the bus (bus/worker.h). */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "bus/bus.h"
#include "bus/reload.h"
#include "camera/camera.h"
#include "config/config.h"
#include "config/image.h"
#include "core/clock.h"
#include "core/secret.h"
#include "designer/ahead.h"
#include "options.h"
#include "outputs.h"
#include "print.h"
#include "readers.h"
#include "service/environment.h"
#include "service/listener.h"
#include "service/log.h"
#include "service/runtime.h"
#include "service/service.h"

struct daemon {
    const struct options *options;
    struct config config; /* as at the start, with what was reloaded since */
    struct reload reload;
    char config_file[PATH_MAX]; /* absolute; empty: none */
    bool is_reloading;          /* since SIGHUP; the service manager waits for the end */
    unsigned hangups;           /* for which the file has not been read yet */
    struct sd_event *event;
    struct notifier *notifier;
    struct runtime *runtime;
    struct camera *camera;
    struct readers *readers;
    struct bus *bus;
    struct outputs outputs;
    struct listener *control_listener;
    struct listener *watch_listener;
    struct service *service;
    bool wait; /* for what is not there at the start, instead of giving up */
};

static int exit_code(int error)
{
    switch (-error) {
    case ENODEV:
    case ENOLINK:
    case ENOENT:
    case ENXIO:
        return EX_UNAVAILABLE;
    case EADDRINUSE:
    case EBUSY:
        return EX_TEMPFAIL;
    case EACCES:
    case EPERM:
        return EX_NOPERM;
    case EINVAL:
    case ENAMETOOLONG:
        return EX_CONFIG;
    default:
        return EX_OSERR;
    }
}

/* ---- status and readiness ---- */

static void describe(const struct camera_status *status, char *text, size_t size)
{
    if (status->state == CAMERA_ONLINE)
        snprintf(text, size, "online: %s; %s", status->source, status->engine);
    else
        snprintf(text, size, "%s: %s", camera_state_names[status->state],
                 status->state_reason[0] != '\0' ? status->state_reason : status->source);
}

/* Tells the service manager that no reload is under way any more. */
static void end_reload(struct daemon *daemon)
{
    struct camera_status status;
    char text[600];

    bus_announce_filter(daemon->bus, CAMERA_MAIN);
    if (!daemon->is_reloading || daemon->hangups > 0 || reload_is_pending(&daemon->reload))
        return;
    daemon->is_reloading = false;
    camera_get_status(daemon->camera, CAMERA_MAIN, &status);
    describe(&status, text, sizeof text);
    service_reloaded(daemon->service, text);
}

/* The service is ready once readers get frames, or the reason why they do not is known. */
static void report_to_service(struct daemon *daemon, const struct camera_status *status)
{
    char text[600];

    describe(status, text, sizeof text);
    if (!service_is_ready(daemon->service) &&
        (status->published > 0 || status->state != CAMERA_STARTING))
        service_ready(daemon->service, text);
    else
        service_status(daemon->service, text);
}

static int on_camera(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct daemon *daemon = userdata;
    struct camera_status status;
    unsigned all_events = 0, events[CONFIG_MAX_OUTPUTS];
    camera_take_events(daemon->camera, events);

    (void)source, (void)fd, (void)revents;
    for (unsigned i = 0; i < CONFIG_MAX_OUTPUTS; i++) {
        if (events[i] & CAMERA_EVENT_RING)
            readers_update(daemon->readers, i);
        if (events[i] != 0)
            bus_announce(daemon->bus, i, events[i]);
        all_events |= events[i];
    }
    outputs_continue(&daemon->outputs);
    if ((all_events & (CAMERA_EVENT_STATE | CAMERA_EVENT_FRAME | CAMERA_EVENT_DESIGN)) == 0)
        return 0;
    camera_get_status(daemon->camera, CAMERA_MAIN, &status);
    if (reload_settle(&daemon->reload, daemon->camera, &daemon->config, &status))
        end_reload(daemon);
    /* Several events may have come before this thread ran: a published frame counts as well. */
    if (status.state == CAMERA_FAILED && status.published == 0 &&
        !service_is_ready(daemon->service) && !daemon->wait)
        return sd_event_exit(daemon->event,
                             status.open_error < 0 ? exit_code(status.open_error) : EX_SOFTWARE);
    if (status.state == CAMERA_FINISHED)
        return sd_event_exit(daemon->event, EX_OK);
    if ((all_events & (CAMERA_EVENT_STATE | CAMERA_EVENT_FRAME)) != 0)
        report_to_service(daemon, &status);
    return 0;
}

static int64_t progress(void *context)
{
    return camera_progress_ns(context);
}

/* ---- reload ---- */

static int read_config(void *context, struct config *ret, struct error *why)
{
    const struct daemon *daemon = context;
    int unused;
    if (daemon->options->config_path == NULL)
        return error_set(why, EINVAL,
                         "fftd was started without --config FILE, so there is no file to read");
    const int r = options_configure(daemon->options, ret, &unused, why);
    if (r == 0)
        config_hold_filters(ret);
    return r;
}

static int apply_config(void *context, const struct config *config, struct reload_waiter *waiter,
                        struct error *why)
{
    struct daemon *daemon = context;
    const int r =
        reload_apply(&daemon->reload, daemon->camera, &daemon->config, config, waiter, why);
    if (r == 0)
        end_reload(daemon);
    return r;
}

/* The file has been read since SIGHUP. */
static void on_config(void *context, const struct config *config, struct error *why)
{
    struct daemon *daemon = context;
    daemon->hangups--;
    if (config != NULL && apply_config(daemon, config, NULL, why) >= 0)
        return;
    reload_log_failure(why->text);
    end_reload(daemon);
}

/* ---- signals ---- */

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct daemon *daemon = userdata;

    (void)source, (void)info;
    service_reloading(daemon->service);
    daemon->is_reloading = true;
    daemon->hangups++;
    bus_read_config(daemon->bus);
    return 0;
}

static int on_stop(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct daemon *daemon = userdata;

    (void)source;
    log_info("stopping: %s", info->ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
    return sd_event_exit(daemon->event, EX_OK);
}

/* ---- start and stop ---- */

/* To be called before any thread is started: threads inherit that these signals are blocked. */
static int take_signals(struct daemon *daemon, struct error *why)
{
    sigset_t signals;

    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL);

    int r = sd_event_default(&daemon->event);
    if (r >= 0)
        r = sd_event_add_signal(daemon->event, NULL, SIGTERM, on_stop, daemon);
    if (r >= 0)
        r = sd_event_add_signal(daemon->event, NULL, SIGINT, on_stop, daemon);
    if (r >= 0)
        r = sd_event_add_signal(daemon->event, NULL, SIGHUP, on_hangup, daemon);
    return r < 0 ? error_set(why, -r, "cannot create the event loop: %s", strerror(-r)) : 0;
}

static int on_changer(void *context, int fd, uid_t uid, struct error *why)
{
    struct daemon *daemon = context;
    return bus_accept(daemon->bus, BUS_CHANGER, fd, uid, why);
}

static int on_watcher(void *context, int fd, uid_t uid, struct error *why)
{
    struct daemon *daemon = context;
    return bus_accept(daemon->bus, BUS_WATCHER, fd, uid, why);
}

static int listen_for_peers(struct daemon *daemon, struct listener **ret, const char *name,
                            listener_connected_fn *connected, struct error *why)
{
    const struct listener_options options = {
        .name = name, .priority = BUS_PRIORITY, .connected = connected, .context = daemon};
    int fd = runtime_listen(daemon->runtime, name, SOCK_STREAM, why);
    return fd < 0 ? fd : listener_create(ret, daemon->event, fd, &options, why);
}

/* There are two sockets because watching and changing are allowed to different groups. */
static int start_bus(struct daemon *daemon, struct error *why)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const struct bus_hooks hooks = {
        .camera = daemon->camera,
        .server = readers_servers(daemon->readers),
        .config = &daemon->config,
        .start_time_ns = (uint64_t)(now.tv_sec * NS_PER_S + now.tv_nsec),
        .config_file = daemon->config_file,
        .overrides = (const char *const *)daemon->options->overridden,
        .read_config = read_config,
        .apply_config = apply_config,
        .on_config_read = on_config,
        .add_output = outputs_add,
        .remove_output = outputs_remove,
        .outputs = &daemon->outputs,
        .save = options_save,
        .options = daemon->options,
        .context = daemon,
    };
    int r = bus_create(&daemon->bus, daemon->event, &hooks, why);
    daemon->outputs = (struct outputs){.config = &daemon->config,
                                       .camera = daemon->camera,
                                       .readers = daemon->readers,
                                       .bus = daemon->bus};
    daemon->reload.outputs = (struct reload_outputs){
        .check = outputs_check, .set = outputs_set, .outputs = &daemon->outputs};
    if (r == 0)
        r = listen_for_peers(daemon, &daemon->control_listener, "control", on_changer, why);
    if (r == 0)
        r = listen_for_peers(daemon, &daemon->watch_listener, "control-watch", on_watcher, why);
    return r;
}

static int start(struct daemon *daemon, struct error *why)
{
    struct readers_parts parts = {.config = &daemon->config};
    struct ring *continued[CONFIG_MAX_OUTPUTS];
    daemon->wait = daemon->options->wait || service_is_managed();
    int r = take_signals(daemon, why);
    if (r == 0)
        r = notifier_create(&daemon->notifier, daemon->event, why);
    /* The directory comes first: a second daemon of this name must not touch the camera. */
    if (r == 0)
        r = runtime_create(&daemon->runtime, daemon->config.output.runtime_dir, why);
    if (r < 0)
        return r;
    parts.event = daemon->event;
    parts.runtime = daemon->runtime;
    parts.notifier = daemon->notifier;
    readers_continue(&parts, continued);
    r = camera_start(&daemon->camera, &daemon->config, continued, daemon->wait, why);
    if (r == 0)
        r = readers_create(&daemon->readers, &parts, daemon->camera, why);
    if (r == 0)
        r = start_bus(daemon, why);
    if (r == 0)
        r = service_create(&daemon->service, daemon->event, daemon->notifier, progress,
                           daemon->camera, why);
    if (r < 0)
        return r;
    r = sd_event_add_io(daemon->event, NULL, camera_fd(daemon->camera), EPOLLIN, on_camera, daemon);
    return r < 0 ? error_set(why, -r, "cannot watch the camera: %s", strerror(-r)) : 0;
}

/* Undoes as much of start as was done. False: a thread is stuck in the OpenCL driver, or reads a
 * file from a disk that does not answer, where an orderly exit would hang too. */
static bool stop(struct daemon *daemon)
{
    if (daemon->notifier != NULL)
        service_stopping(daemon->notifier);
    service_destroy(daemon->service);
    listener_destroy(daemon->watch_listener);
    listener_destroy(daemon->control_listener);
    reload_cancel(&daemon->reload);
    bool stopped = bus_destroy(daemon->bus) == 0;
    stopped = camera_halt(daemon->camera) == 0 && stopped;
    readers_destroy(daemon->readers);
    stopped = stopped && camera_stop(daemon->camera) == 0;
    notifier_destroy(daemon->notifier);
    runtime_destroy(daemon->runtime);
    sd_event_unref(daemon->event);
    return stopped;
}

/* Status, log and bus do not tell a password, but the file does. */
static void check_file_mode(const char *path, const struct config *config)
{
    struct stat st;
    if (path != NULL && secret_is_in(config->camera.source.uri) && stat(path, &st) == 0 &&
        (st.st_mode & S_IROTH) != 0)
        log_warning("every user can read camera.source, which seems to have a password, because %s "
                    "has mode %04o: expected mode 0600, and as its owner the user that runs fftd",
                    path, (unsigned)(st.st_mode & 07777));
}

static int run(const struct options *options, const struct config *config)
{
    struct daemon daemon = {.options = options, .config = *config};
    struct error why;
    int code;

    config_hold_filters(&daemon.config);
    config_trim_images();
    options_file(options, daemon.config_file);
    log_init(config->name, options->max_priority);
    environment_check_limit();
    check_file_mode(options->config_path, config);
    reload_log_saved(&config->saved);
    int r = start(&daemon, &why);
    if (r < 0) {
        log_error("%s", why.text);
        code = exit_code(r);
    } else {
        code = sd_event_loop(daemon.event);
        if (code < 0) {
            log_error("the event loop failed: %s", strerror(-code));
            code = EX_OSERR;
        }
    }
    if (!stop(&daemon))
        _exit(code);
    return code;
}

static int act(const struct options *options)
{
    struct config config;
    struct error why;
    int code;
    if (options->action == OPTIONS_HELP) {
        options_print_help(stdout);
        return EX_OK;
    }
    if (options->action == OPTIONS_VERSION) {
        printf("fftd " FFTD_VERSION "\n");
        return EX_OK;
    }
    if (options->action == OPTIONS_LIST_DEVICES)
        return print_devices(options->json);
    if (options->action == OPTIONS_LIST_FILTERS)
        return print_filters(options->operand, options->json);
    if (options->action == OPTIONS_LIST_PRESETS)
        return print_presets(options->json);
    config_use_images();
    if (options_configure(options, &config, &code, &why) < 0) {
        log_error("%s", why.text);
        return code;
    }
    if (options->action == OPTIONS_CHECK)
        return print_config(&config);
    if (options->action == OPTIONS_COMPILE_AHEAD)
        return ahead_main(&config, options->operand);
    ahead_allow();
    return run(options, &config);
}

int main(int argc, char *argv[])
{
    struct options options;
    struct error why;

    log_init("", LOG_INFO);
    const int r = options_parse(&options, argc, argv, &why);
    if (r < 0) {
        log_error("%s", why.text);
        return r == -ENOMEM ? EX_OSERR : EX_USAGE;
    }
    environment_clean();
    int code = act(&options);
    options_finish(&options);
    return code;
}
