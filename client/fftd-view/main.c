/* fftd-view: parses the options, opens the socket, and waits for a signal while the server runs. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sysexits.h>
#include <unistd.h>

#include <fftd/fftd.h>
#include <systemd/sd-daemon.h>

#include "http/access.h"
#include "common/usage.h"
#include "http/listen.h"
#include "server.h"
#include "http/token.h"

#define PROGRAM         "fftd-view"
#define MAX_HOSTS       16
#define DEFAULT_LISTEN  "127.0.0.1:8787"
#define DEFAULT_FPS     30
#define DEFAULT_QUALITY 80

struct view_options {
    const char *listen;
    const char *place[CAMERA_MAX_COUNT]; /* see camera_options */
    unsigned count;
    char dir[CAMERA_MAX_COUNT][PATH_MAX];
    const char *host[MAX_HOSTS + 1]; /* NULL at the end */
    unsigned host_count;
    uint64_t fps;
    uint64_t quality;
    bool control;
};

static void print_usage(void)
{
    puts("usage: fftd-view [OPTION]...\n"
         "\n"
         "Shows cameras of this machine in a browser: the filtered picture, its spectrum,\n"
         "and the state of the camera. With --control filters can be changed there.\n"
         "\n"
         "  -n, --name NAME      show the daemon with this name (default: default);\n"
         "                       repeat it for more, at most 16\n"
         "      --runtime-dir DIR\n"
         "                       show the daemon whose sockets are in DIR, under the\n"
         "                       name of that directory; repeat it for more\n"
         "  -l, --listen WHERE   127.0.0.1:PORT, [::1]:PORT or the path of a UNIX socket\n"
         "                       (default: " DEFAULT_LISTEN "; port 0 takes a free one)\n"
         "      --host NAME      also answer requests for this host name, for a proxy in\n"
         "                       front of fftd-view; repeat it for more\n"
         "      --fps N          encode at most N pictures a second of each camera,\n"
         "                       1 to 240 (default: 30)\n"
         "      --quality N      the quality of JPEG, 1 to 100 (default: 80)\n"
         "      --control        let whoever opens the address with the token change the\n"
         "                       filters, as far as the daemon lets this user; the\n"
         "                       address is printed at the start\n"
         "  -h, --help           show this help\n"
         "      --version        print the version\n"
         "\n"
         "Examples:\n"
         "  fftd --source pattern:moire & fftd-view     then open http://127.0.0.1:8787/\n"
         "  fftd-view --name front --name rear\n"
         "  ssh -L 8787:127.0.0.1:8787 BOARD            shows the cameras of BOARD here\n"
         "\n"
         "Paths: /  /api/cameras  /camera/NAME/stream.mjpeg  /camera/NAME/snapshot.jpg\n"
         "/camera/NAME/clip.mkv?seconds=N  /camera/NAME/spectrum\n"
         "/camera/NAME/comparison\n"
         "Only this machine can connect, but every user of it, who can then see the\n"
         "cameras. At a UNIX socket the permissions of its directory decide.\n"
         "See fftd-view(1).");
}

/* Adds a camera, which the option names. Returns 0 or an exit code. */
static int add_camera(struct view_options *options, const char *option, const char *place)
{
    const char *name = camera_name_of(place);
    if (strlen(name) > 64)
        return usage_error(PROGRAM, "%s %s: expected at most 64 characters", option, name);
    for (unsigned i = 0; i < options->count; i++)
        if (strcmp(camera_name_of(options->place[i]), name) == 0)
            return usage_error(PROGRAM, "%s %s: a camera of this name is given twice", option,
                               place);
    if (options->count == CAMERA_MAX_COUNT)
        return usage_error(PROGRAM, "%s %s: expected at most 16 cameras", option, place);
    options->place[options->count++] = place;
    return 0;
}

static int add_name(struct view_options *options, const char *name)
{
    char path[PATH_MAX];
    if (strchr(name, '/') != NULL || fftd_runtime_dir(name, path, sizeof path) < 0)
        return usage_error(PROGRAM,
                           "--name %s: expected letters, digits, _ and -; --runtime-dir takes a "
                           "path",
                           name);
    return add_camera(options, "--name", name);
}

static int add_directory(struct view_options *options, const char *directory)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-";
    const unsigned index = options->count % CAMERA_MAX_COUNT;
    char *dir = options->dir[index];
    const char *prefix = strchr(directory, '/') == NULL ? "./" : "";
    if (snprintf(dir, PATH_MAX, "%s%s", prefix, directory) >= PATH_MAX)
        return usage_error(PROGRAM, "--runtime-dir: the path is too long");
    for (size_t length = strlen(dir); length > 1 && dir[length - 1] == '/'; length--)
        dir[length - 1] = '\0';
    const char *name = camera_name_of(dir);
    if (*name == '\0' || name[strspn(name, allowed)] != '\0')
        return usage_error(PROGRAM,
                           "--runtime-dir %s: expected a directory whose name has only letters, "
                           "digits, _ and -, because its camera is shown under that name",
                           directory);
    return add_camera(options, "--runtime-dir", dir);
}

static int add_host(struct view_options *options, const char *name)
{
    if (!access_is_name(name))
        return usage_error(PROGRAM, "--host %s: expected a name without a port", name);
    if (options->host_count == MAX_HOSTS)
        return usage_error(PROGRAM, "--host %s: expected at most 16 names", name);
    options->host[options->host_count++] = name;
    return 0;
}

enum { OPTION_HOST = 1000, OPTION_CONTROL, OPTION_FPS, OPTION_QUALITY, OPTION_DIR, OPTION_VERSION };

/* Returns 0, an exit code, or -1: there is nothing more to do. */
static int take_option(struct view_options *options, int option, char *const *argv)
{
    switch (option) {
    case 'n':
        return add_name(options, optarg);
    case 'l':
        options->listen = optarg;
        return 0;
    case OPTION_DIR:
        return add_directory(options, optarg);
    case OPTION_HOST:
        return add_host(options, optarg);
    case OPTION_CONTROL:
        options->control = true;
        return 0;
    case OPTION_FPS:
        return usage_parse_count(optarg, 240, &options->fps)
                   ? 0
                   : usage_error(PROGRAM, "--fps %s: expected a whole number from 1 to 240",
                                 optarg);
    case OPTION_QUALITY:
        return usage_parse_count(optarg, 100, &options->quality)
                   ? 0
                   : usage_error(PROGRAM, "--quality %s: expected a whole number from 1 to 100",
                                 optarg);
    case 'h':
        print_usage();
        return -1;
    case OPTION_VERSION:
        puts(PROGRAM " " FFTD_VERSION);
        return -1;
    case ':':
        return usage_error(PROGRAM, "%s: expected a value after it", argv[optind - 1]);
    default:
        return usage_error(PROGRAM, "no such option: %s", argv[optind - 1]);
    }
}

static int parse_options(struct view_options *options, int argc, char **argv)
{
    static const struct option known[] = {
        {"name", required_argument, NULL, 'n'},
        {"listen", required_argument, NULL, 'l'},
        {"runtime-dir", required_argument, NULL, OPTION_DIR},
        {"host", required_argument, NULL, OPTION_HOST},
        {"control", no_argument, NULL, OPTION_CONTROL},
        {"fps", required_argument, NULL, OPTION_FPS},
        {"quality", required_argument, NULL, OPTION_QUALITY},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, OPTION_VERSION},
        {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(argc, argv, ":n:l:h", known, NULL)) >= 0) {
        int code = take_option(options, option, argv);
        if (code != 0)
            return code;
    }
    if (optind < argc)
        return usage_error(PROGRAM, "%s: expected no operand; a camera is named with --name",
                           argv[optind]);
    return options->count == 0 ? add_name(options, "default") : 0;
}

/* Blocks SIGINT and SIGTERM, also in all threads that start later. Returns their descriptor. */
static int open_signals(void)
{
    sigset_t signals;
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void wait_for_signal(struct server *server, int signal_fd)
{
    struct pollfd fds[2] = {{.fd = signal_fd, .events = POLLIN},
                            {.fd = server_fd(server), .events = POLLIN}};
    while (fds[0].revents == 0) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return;
        if (fds[1].revents != 0)
            server_sweep(server);
    }
}

/* Creates the token and shows it to the operator. Returns 0 or an exit code; *ret_why then says
 * what is wrong. */
static int prepare_control(char token[TOKEN_BYTES], const char *address, char *ret_why, size_t size)
{
    int r = token_create(token);
    if (r == 0)
        return token_publish(address, token, ret_why, size);
    snprintf(ret_why, size, "cannot make a token: %s", strerror(-r));
    return EX_OSERR;
}

static int serve(const struct view_options *options)
{
    struct listen_socket socket;
    struct server *server;
    char why[512], token[TOKEN_BYTES];
    int signal_fd = open_signals();
    int code = listen_open(&socket, options->listen, why, sizeof why);
    if (code != 0) {
        fprintf(stderr, "fftd-view: %s\n", why);
        return code;
    }
    const struct server_options more = {.places = options->place,
                                        .count = options->count,
                                        .hosts = options->host,
                                        .fps = (unsigned)options->fps,
                                        .quality = (int)options->quality,
                                        .token = options->control ? token : NULL};
    if (options->control)
        code = prepare_control(token, socket.address, why, sizeof why);
    if (code == 0) {
        int r = server_create(&server, socket.fd, &more);
        snprintf(why, sizeof why, "cannot start the server: %s", strerror(-r));
        code = r < 0 ? EX_OSERR : 0;
    }
    if (code != 0) {
        fprintf(stderr, "fftd-view: %s\n", why);
    } else {
        fprintf(stderr, "fftd-view: listening on %s\n", socket.address);
        sd_notifyf(0, "READY=1\nSTATUS=listening on %s", socket.address);
        wait_for_signal(server, signal_fd);
        sd_notify(0, "STOPPING=1");
        server_destroy(server);
    }
    listen_finish(&socket);
    close(signal_fd);
    return code;
}

int main(int argc, char **argv)
{
    struct view_options options = {
        .listen = DEFAULT_LISTEN, .fps = DEFAULT_FPS, .quality = DEFAULT_QUALITY};
    int code = parse_options(&options, argc, argv);
    if (code != 0)
        return code < 0 ? EX_OK : code;
    return serve(&options);
}
