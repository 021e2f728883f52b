/* fftd-mqtt: parses the options and runs the bridge until a signal. */
#include <ctype.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include <fftd/fftd.h>

#include "bridge.h"
#include "common/usage.h"

#define PROGRAM "fftd-mqtt"

static void print_usage(void)
{
    puts("usage: fftd-mqtt [OPTION]...\n"
         "\n"
         "Publishes a camera's state, measures, events and picture as topics of an MQTT\n"
         "broker, announces them to Home Assistant, and with --allow-changes takes\n"
         "filters back. One process serves one camera.\n"
         "\n"
         "  -n, --name NAME          the daemon with this name, or a runtime directory\n"
         "                           (default: default)\n"
         "      --broker HOST[:PORT] (default: localhost, and 1883, or 8883 with --ca)\n"
         "      --user USER          for the broker; the password is the first line of\n"
         "                           the file --password-file, or $FFTD_MQTT_PASSWORD\n"
         "      --password-file FILE\n"
         "      --ca PATH            TLS, with a broker whose certificate is signed by\n"
         "                           one in this file or folder (/etc/ssl/certs)\n"
         "      --id ID              of the camera in topics (default: HOST-NAME)\n"
         "      --prefix PREFIX      of all topics (default: fftd)\n"
         "      --allow-changes      obey ID/filter/set\n"
         "      --group GROUP        and GROUP/filter/set\n"
         "      --period SECONDS     between two messages with measures (default: 5)\n"
         "      --picture SECONDS    publish a picture so often (default: never)\n"
         "      --discovery PREFIX   of Home Assistant's discovery, or '' for none\n"
         "                           (default: homeassistant)\n"
         "  -h, --help               show this help\n"
         "      --version            print the version\n"
         "\n"
         "Topics, each below PREFIX/ID/:\n"
         "  availability   online or offline, also if this program is killed; retained\n"
         "  state          JSON: State, Filter, Rate and more; retained\n"
         "  measures       JSON: sharpness, noise and more, with output.measures; retained\n"
         "  event          JSON: changes of the state, filters that are in force\n"
         "  picture        PNG; retained\n"
         "  filter/set     a chain, such as preset:moire, answered on filter/result with\n"
         "                 its serial or an error\n"
         "  preset         the last preset that was set in this way; retained\n"
         "\n"
         "Examples:\n"
         "  fftd --source pattern:moire & fftd-mqtt --allow-changes\n"
         "  mosquitto_sub -v -t 'fftd/#'\n"
         "  mosquitto_pub -t fftd/$(hostname)-default/filter/set -m auto-notch\n"
         "  systemctl enable --now fftd-mqtt@front    for a service\n"
         "\n"
         "See fftd-mqtt(1).");
}

enum {
    OPTION_VERSION = 1000,
    OPTION_BROKER,
    OPTION_USER,
    OPTION_PASSWORD_FILE,
    OPTION_CA,
    OPTION_ID,
    OPTION_PREFIX,
    OPTION_ALLOW,
    OPTION_GROUP,
    OPTION_PERIOD,
    OPTION_PICTURE,
    OPTION_DISCOVERY,
};

static const struct option known[] = {
    {"name", required_argument, NULL, 'n'},
    {"broker", required_argument, NULL, OPTION_BROKER},
    {"user", required_argument, NULL, OPTION_USER},
    {"password-file", required_argument, NULL, OPTION_PASSWORD_FILE},
    {"ca", required_argument, NULL, OPTION_CA},
    {"id", required_argument, NULL, OPTION_ID},
    {"prefix", required_argument, NULL, OPTION_PREFIX},
    {"allow-changes", no_argument, NULL, OPTION_ALLOW},
    {"group", required_argument, NULL, OPTION_GROUP},
    {"period", required_argument, NULL, OPTION_PERIOD},
    {"picture", required_argument, NULL, OPTION_PICTURE},
    {"discovery", required_argument, NULL, OPTION_DISCOVERY},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

/* ---- values ---- */

static bool is_id(const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_')
            return false;
    return *text != '\0' && strlen(text) < BRIDGE_ID_BYTES;
}

/* Levels of a topic, without the characters that mean something in a subscription. */
static bool is_prefix(const char *text)
{
    return *text != '\0' && strlen(text) < BRIDGE_ID_BYTES && strpbrk(text, "+# \t\n") == NULL &&
           *text != '/' && text[strlen(text) - 1] != '/';
}

static bool parse_seconds(const char *text, unsigned *ret)
{
    uint64_t value;
    if (!usage_parse_count(text, 86400, &value))
        return false;
    *ret = (unsigned)value;
    return true;
}

static bool parse_broker(char *text, struct broker_options *ret)
{
    uint64_t port;
    char *colon = strrchr(text, ':');
    if (colon != NULL && strchr(text, ':') == colon) { /* an address of IPv6 has several */
        if (!usage_parse_count(colon + 1, 65535, &port))
            return false;
        ret->port = (int)port;
        *colon = '\0';
    }
    ret->host = text;
    return *text != '\0';
}

/* The host's name and the camera's, as far as they may be part of a topic. */
static void default_id(const char *camera, char ret[BRIDGE_ID_BYTES])
{
    char host[64] = "", name[BRIDGE_ID_BYTES / 2];
    usage_name_camera(camera, name, sizeof name);
    gethostname(host, sizeof host - 1);
    snprintf(ret, BRIDGE_ID_BYTES, "%.60s-%s", host, name);
    for (char *c = ret; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && *c != '-')
            *c = '_';
}

/* Returns 0 or an exit code. */
static int read_password(const char *path, char *ret, size_t size)
{
    FILE *file = fopen(path, "re");
    if (file == NULL || fgets(ret, (int)size, file) == NULL) {
        fprintf(stderr, PROGRAM ": --password-file %s: expected a file with a line\n", path);
        if (file != NULL)
            fclose(file);
        return EX_NOINPUT;
    }
    fclose(file);
    ret[strcspn(ret, "\r\n")] = '\0';
    return 0;
}

/* ---- options ---- */

struct parsed {
    struct bridge_options bridge;
    const char *password_file;
    char password[512];
};

/* Takes one option. Returns 0 or an exit code. */
static int take(struct parsed *parsed, int option)
{
    struct bridge_options *bridge = &parsed->bridge;
    switch (option) {
    case 'n':
        bridge->camera = optarg;
        return 0;
    case OPTION_BROKER:
        return parse_broker(optarg, &bridge->broker)
                   ? 0
                   : usage_error(PROGRAM, "--broker: expected HOST or HOST:PORT, with a port of 1 "
                                          "to 65535");
    case OPTION_USER:
        bridge->broker.user = optarg;
        return 0;
    case OPTION_PASSWORD_FILE:
        parsed->password_file = optarg;
        return 0;
    case OPTION_CA:
        bridge->broker.ca = optarg;
        return 0;
    case OPTION_ID:
        snprintf(bridge->id, sizeof bridge->id, "%s", optarg);
        return is_id(optarg)
                   ? 0
                   : usage_error(PROGRAM, "--id %s: expected letters, digits, - and _", optarg);
    case OPTION_PREFIX:
        bridge->prefix = optarg;
        return is_prefix(optarg) ? 0
                                 : usage_error(PROGRAM,
                                               "--prefix %s: expected levels of a topic, "
                                               "as in house/cameras",
                                               optarg);
    case OPTION_ALLOW:
        bridge->allows_changes = true;
        return 0;
    case OPTION_GROUP:
        bridge->group = optarg;
        return is_id(optarg)
                   ? 0
                   : usage_error(PROGRAM, "--group %s: expected letters, digits, - and _", optarg);
    case OPTION_PERIOD:
        return parse_seconds(optarg, &bridge->period_s)
                   ? 0
                   : usage_error(PROGRAM, "--period %s: expected 1 to 86400 seconds", optarg);
    case OPTION_PICTURE:
        return parse_seconds(optarg, &bridge->picture_s)
                   ? 0
                   : usage_error(PROGRAM, "--picture %s: expected 1 to 86400 seconds", optarg);
    case OPTION_DISCOVERY:
        bridge->discovery = optarg;
        return *optarg == '\0' || is_prefix(optarg)
                   ? 0
                   : usage_error(PROGRAM, "--discovery %s: expected levels of a topic, or ''",
                                 optarg);
    }
    return 0;
}

/* Returns 0, an exit code, or -1: there is nothing more to do. */
static int parse_options(struct parsed *parsed, int argc, char **argv)
{
    struct bridge_options *bridge = &parsed->bridge;
    int option, code = 0;
    while (code == 0 && (option = getopt_long(argc, argv, ":n:h", known, NULL)) >= 0) {
        switch (option) {
        case 'h':
            print_usage();
            return -1;
        case OPTION_VERSION:
            puts(PROGRAM " " FFTD_VERSION);
            return -1;
        case ':':
            return usage_error(PROGRAM, "%s: expected a value after it", argv[optind - 1]);
        case '?':
            return usage_error(PROGRAM, "no such option: %s", argv[optind - 1]);
        default:
            code = take(parsed, option);
        }
    }
    if (code != 0)
        return code;
    if (optind < argc)
        return usage_error(PROGRAM, "%s: expected no operand; a camera is named with --name",
                           argv[optind]);
    if ((code = usage_check_camera(PROGRAM, bridge->camera)) != 0)
        return code;
    if (bridge->group != NULL && !bridge->allows_changes)
        return usage_error(PROGRAM, "--group %s: expected --allow-changes with it", bridge->group);
    if (bridge->id[0] == '\0')
        default_id(bridge->camera, bridge->id);
    if (bridge->broker.port == 0)
        bridge->broker.port = bridge->broker.ca != NULL ? 8883 : 1883;
    bridge->broker.password = getenv("FFTD_MQTT_PASSWORD");
    if (parsed->password_file != NULL) {
        bridge->broker.password = parsed->password;
        return read_password(parsed->password_file, parsed->password, sizeof parsed->password);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct parsed parsed = {.bridge = {.camera = "default",
                                              .prefix = "fftd",
                                              .discovery = "homeassistant",
                                              .period_s = 5,
                                              .broker = {.host = "localhost"}}};
    sigset_t signals;
    const int code = parse_options(&parsed, argc, argv);
    if (code != 0)
        return code < 0 ? EX_OK : code;
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL); /* before there are other threads */
    return bridge_run(&parsed.bridge);
}
