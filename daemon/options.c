#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <syslog.h>
#include <unistd.h>

#include "config/saved.h"
#include "core/secret.h"

/* Options that set a key of the configuration. The key checks their values. */
static const struct {
    const char *option, *key; /* with the sign that its value follows */
} key_options[] = {
    {"name", "name="},
    {"source", "camera.source="},
    {"size", "camera.size="},
    {"fps", "camera.fps="},
    {"device", "engine.device="},
    {"filter", "filter="},
    {"runtime-dir", "output.runtime_dir="},
    {"frames", "output.frames="},
    {"set", ""},
};
#define KEY_OPTIONS (sizeof key_options / sizeof key_options[0])

static const char letters[] = ":c:vqh";

/* What getopt returns: a letter; FIRST_ACTION plus an action; or FIRST_KEY_OPTION plus an index. */
enum {
    OPTION_JSON = 1,
    OPTION_WAIT,
    FIRST_ACTION,
    FIRST_KEY_OPTION = FIRST_ACTION + OPTIONS_VERSION + 1
};

static const struct option plain_options[] = {
    {"config", required_argument, NULL, 'c'},
    {"check", no_argument, NULL, FIRST_ACTION + OPTIONS_CHECK},
    {"list-devices", no_argument, NULL, FIRST_ACTION + OPTIONS_LIST_DEVICES},
    {"list-filters", optional_argument, NULL, FIRST_ACTION + OPTIONS_LIST_FILTERS},
    {"list-presets", no_argument, NULL, FIRST_ACTION + OPTIONS_LIST_PRESETS},
    {"compile-ahead", required_argument, NULL,
     FIRST_ACTION + OPTIONS_COMPILE_AHEAD}, /* internal: no help */
    {"json", no_argument, NULL, OPTION_JSON},
    {"wait", no_argument, NULL, OPTION_WAIT},
    {"verbose", no_argument, NULL, 'v'},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, FIRST_ACTION + OPTIONS_VERSION},
};
#define PLAIN_OPTIONS (sizeof plain_options / sizeof plain_options[0])

static const char help[] =
    "Usage: fftd [OPTION]...\n"
    "\n"
    "Filters the frames of one camera by a 2D FFT on an OpenCL device, and publishes\n"
    "them in shared memory for any number of local programs. fftd stays in the\n"
    "foreground. fftd-ctl shows what it does and changes the filter while it runs.\n"
    "\n"
    "Options override the configuration file:\n"
    "  -c, --config FILE      read this configuration file; see fftd.conf(5)\n"
    "      --name NAME        the name of this camera for clients (default)\n"
    "      --source URI       v4l2:/dev/video0, pattern:SCENE, file:CLIP.y4m, pipe:-\n"
    "                         or gst:PIPELINE, in gst-launch-1.0's syntax;\n"
    "                         SCENE is bars, zoneplate, noise, moire or scene\n"
    "      --size WxH         the frame size to ask the source for\n"
    "      --fps N            the frame rate to ask the source for; max: unpaced\n"
    "      --filter CHAIN     FILTER:NAME=VALUE,... joined by |, or preset:NAME\n"
    "      --device WHICH     the OpenCL device: auto, gpu, cpu, accelerator, an\n"
    "                         index or part of a name\n"
    "      --runtime-dir DIR  the directory of the sockets\n"
    "      --set KEY=VALUE    set any key of the configuration; may be repeated\n"
    "      --frames N         stop after N published frames\n"
    "      --wait             wait for a camera that is absent instead of giving up;\n"
    "                         a systemd service of Type=notify always waits\n"
    "  -v, --verbose          log more\n"
    "  -q, --quiet            log only warnings and errors\n"
    "\n"
    "Options that print something and exit:\n"
    "      --check            check the options and the file, and print every key of\n"
    "                         the resulting configuration with its description\n"
    "      --list-devices     list the cameras, their formats and the OpenCL devices\n"
    "      --list-filters[=KIND]\n"
    "                         list the kinds of filters and their parameters, or one\n"
    "      --list-presets     list the presets, each with its chain\n"
    "      --json             with an option that lists: print JSON\n"
    "  -h, --help             print this help\n"
    "      --version          print the version\n"
    "\n"
    "Examples:\n"
    "  Show which cameras and OpenCL devices can be used:\n"
    "    fftd --list-devices\n"
    "  Filter a test scene, without a camera:\n"
    "    fftd --source pattern:moire --filter preset:moire\n"
    "  Sharpen a camera's frames, under the name front:\n"
    "    fftd --name front --source v4l2:/dev/video0 --filter sharpen:amount=0.5\n"
    "  Check a configuration file, and show the value of every key:\n"
    "    fftd --config /etc/fftd/front.conf --check\n"
    "  Change the filter of a running daemon:\n"
    "    fftd-ctl --name front filter set preset:moire\n"
    "\n"
    "Signals: SIGTERM and SIGINT stop fftd. SIGHUP makes it read its configuration\n"
    "file again.\n"
    "\n"
    "Exit codes, as in sysexits(3):\n"
    "   0  stopped by a signal, at the end of the file, or after --frames\n"
    "  64  wrong option\n"
    "  65  no such kind of filter, with --list-filters\n"
    "  69  no such camera, or no OpenCL device\n"
    "  70  the OpenCL device does not filter\n"
    "  71  out of memory or file descriptors\n"
    "  74  output could not be written\n"
    "  75  another fftd of this name runs already\n"
    "  77  permission denied\n"
    "  78  wrong configuration, or a format that the camera refuses\n";

void options_print_help(FILE *file)
{
    fputs(help, file);
}

static void list_options(struct option *list)
{
    memcpy(list, plain_options, sizeof plain_options);
    for (unsigned i = 0; i < KEY_OPTIONS; i++)
        list[PLAIN_OPTIONS + i] = (struct option){key_options[i].option, required_argument, NULL,
                                                  FIRST_KEY_OPTION + (int)i};
    list[PLAIN_OPTIONS + KEY_OPTIONS] = (struct option){0};
}

/* Overwrites a value that has a password with what may be shown of it. */
static void hide(char *argument)
{
    const size_t length = strlen(argument);
    if (!secret_is_in(argument))
        return;
    char *shown = malloc(length + 1);
    if (shown != NULL)
        secret_hide(shown, length + 1, argument);
    memset(argument, '\0', length);
    if (shown != NULL)
        strcpy(argument, shown);
    free(shown);
}

/* Returns 0 or -ENOMEM. */
static int add_override(struct options *options, unsigned which, char *argument)
{
    struct options_override *override = &options->override[options->override_count];
    override->option = key_options[which].option;
    if (asprintf(&override->assignment, "%s%s", key_options[which].key, argument) < 0)
        return -ENOMEM;
    options->overridden[options->override_count] =
        strndup(override->assignment, strcspn(override->assignment, "="));
    if (options->overridden[options->override_count++] == NULL)
        return -ENOMEM;
    hide(argument);
    return 0;
}

/* Returns 0 or -ENOMEM. */
static int apply(struct options *options, int option, char *argument)
{
    if (option == 'c') {
        options->config_path = argument;
    } else if (option == 'v' || option == 'q') {
        options->max_priority = option == 'v' ? LOG_DEBUG : LOG_WARNING;
    } else if (option == 'h') {
        options->action = OPTIONS_HELP;
    } else if (option == OPTION_JSON) {
        options->json = true;
    } else if (option == OPTION_WAIT) {
        options->wait = true;
    } else if (option < FIRST_KEY_OPTION) {
        options->action = (enum options_action)(option - FIRST_ACTION);
        options->operand = argument;
    } else {
        return add_override(options, (unsigned)(option - FIRST_KEY_OPTION), argument);
    }
    return 0;
}

static int refuse(int option, char *argv[], struct error *why)
{
    char given[256];
    secret_hide(given, sizeof given, optind > 0 ? argv[optind - 1] : "");

    /* In a word of several letters, optind does not yet point past the word. */
    if (option == '?' && optopt > ' ' && strchr(letters, optopt) == NULL)
        return error_set(why, EINVAL, "-%c: unknown option; see --help", optopt);
    if (option == ':')
        return error_set(why, EINVAL, "%s: expected a value; see --help", given);
    return error_set(why, EINVAL,
                     "%s: unknown option, or an option that takes no value; see --help", given);
}

int options_parse(struct options *ret, int argc, char *argv[], struct error *why)
{
    struct option list[PLAIN_OPTIONS + KEY_OPTIONS + 1];
    struct options options = {.max_priority = LOG_INFO};
    int option, r;

    options.override = calloc((size_t)argc, sizeof *options.override);
    options.overridden = calloc((size_t)argc + 1, sizeof *options.overridden);
    if (options.override == NULL || options.overridden == NULL)
        goto no_memory;
    list_options(list);
    optind = 0;
    opterr = 0;
    while ((option = getopt_long(argc, argv, letters, list, NULL)) != -1) {
        if (option == '?' || option == ':') {
            r = refuse(option, argv, why);
            goto fail;
        }
        if (apply(&options, option, optarg) < 0)
            goto no_memory;
    }
    if (optind < argc) {
        char given[256];
        r = error_set(why, EINVAL, "%s: expected only options, which begin with a dash; see --help",
                      secret_hide(given, sizeof given, argv[optind]));
        goto fail;
    }
    if (options.json && options.action != OPTIONS_LIST_DEVICES &&
        options.action != OPTIONS_LIST_FILTERS && options.action != OPTIONS_LIST_PRESETS) {
        r = error_set(why, EINVAL,
                      "--json requires --list-devices, --list-filters or --list-presets; see "
                      "--help");
        goto fail;
    }
    *ret = options;
    return 0;
no_memory:
    r = error_set(why, ENOMEM, "out of memory while reading the options");
fail:
    options_finish(&options);
    return r;
}

void options_finish(struct options *options)
{
    for (unsigned i = 0; i < options->override_count; i++) {
        free(options->override[i].assignment);
        free(options->overridden[i]);
    }
    free(options->override);
    free(options->overridden);
    options->override = NULL;
    options->overridden = NULL;
}

void options_file(const struct options *options, char ret[PATH_MAX])
{
    const char *path = options->config_path;
    char here[PATH_MAX] = "";
    const bool is_absolute = path == NULL || path[0] == '/';
    if (path == NULL || (!is_absolute && getcwd(here, sizeof here) == NULL) ||
        snprintf(ret, PATH_MAX, "%s%s%s", here, is_absolute ? "" : "/", path) >= PATH_MAX)
        ret[0] = '\0';
}

static int apply_overrides(const struct options *options, struct config *config, int *exit_code,
                           struct error *why)
{
    int r = 0;
    *exit_code = EX_USAGE;
    for (unsigned i = 0; r == 0 && i < options->override_count; i++) {
        char origin[32];
        snprintf(origin, sizeof origin, "--%s", options->override[i].option);
        r = config_set(config, options->override[i].assignment, origin, why);
        if (r == -ENOMEM)
            *exit_code = EX_OSERR;
    }
    return r;
}

/* Makes what the file says, and where changers may save what goes before it. */
static int read_base(const struct options *options, struct config *ret, int *exit_code,
                     struct error *why)
{
    int r = 0;
    config_defaults(ret);
    *exit_code = EX_CONFIG;
    if (options->config_path != NULL)
        r = config_load(ret, options->config_path, why);
    if (r < 0)
        return r;
    struct config asked = *ret;
    r = apply_overrides(options, &asked, exit_code, why);
    if (r < 0 || !asked.control.allow_save)
        return r;
    *exit_code = EX_CONFIG;
    return config_saved_find(ret, &asked, why);
}

static bool is_overridden(const struct options *options, const char *key)
{
    for (unsigned i = 0; i < options->override_count; i++)
        if (strcmp(options->overridden[i], key) == 0)
            return true;
    return false;
}

int options_configure(const struct options *options, struct config *ret, int *exit_code,
                      struct error *why)
{
    struct config config;
    int r = read_base(options, &config, exit_code, why);
    if (r < 0)
        return r;
    if (config.saved.path[0] != '\0')
        config_saved_read(&config);
    for (unsigned i = 0; i < CONFIG_SAVED_KEYS; i++)
        if (is_overridden(options, config_saved_names[i]))
            config.saved.is_used[i] = false;
    r = apply_overrides(options, &config, exit_code, why);
    if (r < 0)
        return r;
    *exit_code = EX_CONFIG;
    r = config_finish(&config, why);
    if (r == 0)
        *ret = config;
    return r;
}

int options_save(const struct options *options, const struct config *wanted,
                 const bool which[CONFIG_SAVED_KEYS], struct config_saved *ret, bool *ret_changed,
                 struct error *why)
{
    struct config base;
    int unused, r = read_base(options, &base, &unused, why);
    if (r < 0)
        return r;
    if (base.saved.path[0] == '\0')
        return error_set(why, EACCES, "control.allow_save is no longer true");
    return config_saved_write(&base, wanted, which, ret, ret_changed, why);
}
