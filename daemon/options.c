#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <syslog.h>

/* Options that set a configuration key. What they take is the key's business. */
static const struct {
    const char *option, *key;
} key_options[] = {
    {"name", "name"},
    {"source", "camera.source"},
    {"size", "camera.size"},
    {"fps", "camera.fps"},
    {"device", "engine.device"},
    {"filter", "filter"},
    {"runtime-dir", "output.runtime_dir"},
    {"frames", "output.frames"},
    {"set", NULL},
};
#define KEY_OPTIONS (sizeof key_options / sizeof key_options[0])

static const char letters[] = ":c:vqh";

/* The rest. Values are getopt's; those of key_options are their index from FIRST_KEY_OPTION on. */
enum { OPTION_CHECK = 1, OPTION_LIST, OPTION_JSON, OPTION_WAIT, OPTION_VERSION, FIRST_KEY_OPTION };

static const struct option plain_options[] = {
    {"config", required_argument, NULL, 'c'},
    {"check", no_argument, NULL, OPTION_CHECK},
    {"list-devices", no_argument, NULL, OPTION_LIST},
    {"json", no_argument, NULL, OPTION_JSON},
    {"wait", no_argument, NULL, OPTION_WAIT},
    {"verbose", no_argument, NULL, 'v'},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, OPTION_VERSION},
};
#define PLAIN_OPTIONS (sizeof plain_options / sizeof plain_options[0])

static const char help[] =
    "Usage: fftd [OPTION]...\n"
    "\n"
    "Filters a camera's frames by a 2D FFT on an OpenCL device and publishes them in shared\n"
    "memory, for any number of local readers; fftd-ctl shows and changes what it does.\n"
    "\n"
    "  -c, --config FILE     read this configuration; the options below override it\n"
    "      --name NAME       what clients call this camera (default)\n"
    "      --source URI      v4l2:/dev/video0, pattern:SCENE or file:CLIP.y4m\n"
    "      --size WxH        frame size to ask for\n"
    "      --fps N           frame rate to ask for\n"
    "      --filter CHAIN    stages KIND:NAME=VALUE,... joined by |, or preset:NAME\n"
    "      --device WHICH    OpenCL device: auto, gpu, cpu, an index or part of a name\n"
    "      --set KEY=VALUE   set any other key of the configuration; may be repeated\n"
    "      --runtime-dir DIR where the sockets `frames` and `control` lie\n"
    "      --frames N        end after N published frames\n"
    "      --wait            wait for a camera that is not there, instead of giving up (always\n"
    "                        so when systemd started fftd as a Type=notify service)\n"
    "  -v, --verbose         log more; -q, --quiet: only warnings and errors\n"
    "\n"
    "      --check           check options and file, print the resulting configuration\n"
    "      --list-devices    print the cameras, what they offer, and the OpenCL devices\n"
    "      --json            with --list-devices: print it as JSON\n"
    "  -h, --help            print this\n"
    "      --version         print the version\n"
    "\n"
    "Examples:\n"
    "  fftd --source pattern:moire --size 1280x720 --filter lowpass:shape=gaussian,cutoff=0.1\n"
    "  fftd --name front --source v4l2:/dev/video0 --filter preset:sharpen\n"
    "  fftd --config /etc/fftd/front.conf --check\n"
    "  fftd-ctl filter set 'notch:at=0.25/0,width=0.01 | sharpen:amount=0.5'\n"
    "\n"
    "SIGTERM and SIGINT end it, SIGHUP reads the configuration file again.\n"
    "\n"
    "Exit codes, as in sysexits(3):\n"
    "   0  ended by a signal, at the end of the file, or after --frames\n"
    "  64  wrong option           69  no such camera, or no OpenCL device\n"
    "  70  engine does not work   71  out of memory or descriptors\n"
    "  75  already running        77  not allowed\n"
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

static void apply(struct options *options, int option, const char *argument)
{
    switch (option) {
    case 'c':
        options->config_path = argument;
        break;
    case 'v':
        options->max_priority = LOG_DEBUG;
        break;
    case 'q':
        options->max_priority = LOG_WARNING;
        break;
    case 'h':
        options->action = OPTIONS_HELP;
        break;
    case OPTION_VERSION:
        options->action = OPTIONS_VERSION;
        break;
    case OPTION_CHECK:
        options->action = OPTIONS_CHECK;
        break;
    case OPTION_LIST:
        options->action = OPTIONS_LIST_DEVICES;
        break;
    case OPTION_JSON:
        options->json = true;
        break;
    case OPTION_WAIT:
        options->wait = true;
        break;
    default:
        options->override[options->override_count++] = (struct options_override){
            .option = key_options[option - FIRST_KEY_OPTION].option,
            .key = key_options[option - FIRST_KEY_OPTION].key,
            .value = argument,
        };
    }
}

static int refuse(int option, char *argv[], struct error *why)
{
    const char *given = optind > 0 ? argv[optind - 1] : "";

    /* A letter may stand among others in a word that getopt has not left yet. */
    if (option == '?' && optopt > ' ' && strchr(letters, optopt) == NULL)
        return error_set(why, EINVAL, "-%c: no such option; see --help", optopt);
    if (option == ':')
        return error_set(why, EINVAL, "%s: expected a value after it; see --help", given);
    return error_set(why, EINVAL, "%s: no such option, or one that takes no value; see --help",
                     given);
}

int options_parse(struct options *ret, int argc, char *argv[], struct error *why)
{
    struct option list[PLAIN_OPTIONS + KEY_OPTIONS + 1];
    struct options options = {.max_priority = LOG_INFO};
    int option, r;

    options.override = calloc((size_t)argc, sizeof *options.override);
    if (options.override == NULL)
        return error_set(why, ENOMEM, "no memory for the options");
    list_options(list);
    optind = 0;
    opterr = 0;
    while ((option = getopt_long(argc, argv, letters, list, NULL)) != -1) {
        if (option == '?' || option == ':') {
            r = refuse(option, argv, why);
            goto fail;
        }
        apply(&options, option, optarg);
    }
    if (optind < argc) {
        r = error_set(why, EINVAL, "%s: expected only options; see --help", argv[optind]);
        goto fail;
    }
    if (options.json && options.action != OPTIONS_LIST_DEVICES) {
        r = error_set(why, EINVAL, "--json: goes with --list-devices only");
        goto fail;
    }
    *ret = options;
    return 0;
fail:
    options_finish(&options);
    return r;
}

void options_finish(struct options *options)
{
    free(options->override);
    options->override = NULL;
}

static int set_override(struct config *config, const struct options_override *override,
                        struct error *why)
{
    char origin[32];
    char *assignment = NULL;

    snprintf(origin, sizeof origin, "--%s", override->option);
    if (override->key == NULL)
        return config_set(config, override->value, origin, why);
    if (asprintf(&assignment, "%s=%s", override->key, override->value) < 0)
        return error_set(why, ENOMEM, "no memory for %s", origin);
    int r = config_set(config, assignment, origin, why);
    free(assignment);
    return r;
}

int options_configure(const struct options *options, struct config *ret, int *exit_code,
                      struct error *why)
{
    struct config config;
    int r = 0;

    config_defaults(&config);
    *exit_code = EX_CONFIG;
    if (options->config_path != NULL)
        r = config_load(&config, options->config_path, why);
    if (r < 0)
        return r;
    *exit_code = EX_USAGE;
    for (unsigned i = 0; i < options->override_count; i++) {
        r = set_override(&config, &options->override[i], why);
        if (r < 0)
            return r;
    }
    *exit_code = EX_CONFIG;
    r = config_finish(&config, why);
    if (r == 0)
        *ret = config;
    return r;
}
