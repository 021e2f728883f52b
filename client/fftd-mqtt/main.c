/* fftd-mqtt: parses the options and runs the bridge until a signal. */
#include <ctype.h>
#include <getopt.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include <fftd/fftd.h>

#include "bridge.h"
#include "common/usage.h"

#define PROGRAM "fftd-mqtt"

static const char help[] =
    "usage: fftd-mqtt [OPTION]...\n"
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
    "See fftd-mqtt(1).";

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

static bool take_id(void *id, const char *text)
{
    snprintf(id, BRIDGE_ID_BYTES, "%s", text);
    return is_id(text);
}

static bool take_group(void *group, const char *text)
{
    *(const char **)group = text;
    return is_id(text);
}

static bool take_prefix(void *prefix, const char *text)
{
    *(const char **)prefix = text;
    return is_prefix(text);
}

static bool take_discovery(void *prefix, const char *text)
{
    *(const char **)prefix = text;
    return *text == '\0' || is_prefix(text);
}

static bool take_seconds(void *seconds, const char *text)
{
    uint64_t value = 0;
    const bool is_good = usage_parse_count(text, 86400, &value);
    *(unsigned *)seconds = (unsigned)value;
    return is_good;
}

/* The text is an argument of the program, which may be changed. */
static bool take_broker(void *options, const char *text)
{
    struct broker_options *ret = options;
    uint64_t port;
    char *colon = strrchr(text, ':');
    ret->host = text;
    if (colon != NULL && strchr(text, ':') == colon) { /* an address of IPv6 has several */
        if (!usage_parse_count(colon + 1, 65535, &port))
            return false;
        ret->port = (int)port;
        *colon = '\0';
    }
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

#define AT(member) offsetof(struct parsed, member)

static const struct usage_option known[] = {
    {"name", 'n', required_argument, AT(bridge.camera), NULL, NULL},
    {"broker", 0, required_argument, AT(bridge.broker), take_broker,
     "HOST or HOST:PORT, with a port of 1 to 65535"},
    {"user", 0, required_argument, AT(bridge.broker.user), NULL, NULL},
    {"password-file", 0, required_argument, AT(password_file), NULL, NULL},
    {"ca", 0, required_argument, AT(bridge.broker.ca), NULL, NULL},
    {"id", 0, required_argument, AT(bridge.id), take_id, "letters, digits, - and _"},
    {"prefix", 0, required_argument, AT(bridge.prefix), take_prefix,
     "levels of a topic, as in house/cameras"},
    {"allow-changes", 0, no_argument, AT(bridge.allows_changes), NULL, NULL},
    {"group", 0, required_argument, AT(bridge.group), take_group, "letters, digits, - and _"},
    {"period", 0, required_argument, AT(bridge.period_s), take_seconds, "1 to 86400 seconds"},
    {"picture", 0, required_argument, AT(bridge.picture_s), take_seconds, "1 to 86400 seconds"},
    {"discovery", 0, required_argument, AT(bridge.discovery), take_discovery,
     "levels of a topic, or ''"},
};

/* Returns 0, an exit code, or -1: there is nothing more to do. */
static int parse_options(struct parsed *parsed, int argc, char **argv)
{
    struct bridge_options *bridge = &parsed->bridge;
    int code =
        usage_begin(PROGRAM, help, known, sizeof known / sizeof known[0], parsed, argc, argv);
    if (code != 0 || (code = usage_check_camera(PROGRAM, bridge->camera)) != 0)
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
