/* fftd-view: parses the options, opens the socket, and waits for a signal while the server runs. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sysexits.h>
#include <unistd.h>

#include <fftd/fftd.h>
#include <systemd/sd-daemon.h>

#include "http/access.h"
#include "common/output.h"
#include "common/usage.h"
#include "http/listen.h"
#include "server.h"

#define PROGRAM         "fftd-view"
#define MAX_HOSTS       16
#define DEFAULT_LISTEN  "127.0.0.1:8787"
#define DEFAULT_FPS     30
#define DEFAULT_QUALITY 80

struct view_options {
    struct server_options server;
    const char *listen;
    const char *place[CAMERA_MAX_COUNT]; /* see camera_options */
    char dir[CAMERA_MAX_COUNT][PATH_MAX];
    const char *host[MAX_HOSTS + 1]; /* NULL at the end */
    unsigned host_count;
    bool control;
};

static const char help[] =
    "usage: fftd-view [OPTION]...\n"
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
    "See fftd-view(1).";

/* ---- values ---- */

static bool add_camera(struct view_options *options, const char *place)
{
    const char *name = camera_name_of(place);
    bool is_new = strlen(name) <= 64 && options->server.count < CAMERA_MAX_COUNT;
    for (unsigned i = 0; i < options->server.count; i++)
        is_new = is_new && strcmp(camera_name_of(options->place[i]), name) != 0;
    if (is_new)
        options->place[options->server.count++] = place;
    return is_new;
}

static bool take_name(void *options, const char *name)
{
    char path[PATH_MAX];
    return strchr(name, '/') == NULL && fftd_runtime_dir(name, path, sizeof path) == 0 &&
           add_camera(options, name);
}

static bool take_directory(void *values, const char *directory)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-";
    struct view_options *options = values;
    char *dir = options->dir[options->server.count % CAMERA_MAX_COUNT];
    const char *prefix = strchr(directory, '/') == NULL ? "./" : "";
    if (snprintf(dir, PATH_MAX, "%s%s", prefix, directory) >= PATH_MAX)
        return false;
    for (size_t length = strlen(dir); length > 1 && dir[length - 1] == '/'; length--)
        dir[length - 1] = '\0';
    const char *name = camera_name_of(dir);
    return *name != '\0' && name[strspn(name, allowed)] == '\0' && add_camera(options, dir);
}

static bool take_host(void *values, const char *name)
{
    struct view_options *options = values;
    if (!access_is_name(name) || options->host_count == MAX_HOSTS)
        return false;
    options->host[options->host_count++] = name;
    return true;
}

static bool take_fps(void *fps, const char *text)
{
    return usage_parse_count(text, 240, fps);
}

static bool take_quality(void *quality, const char *text)
{
    return usage_parse_count(text, 100, quality);
}

/* ---- options ---- */

#define AT(member) offsetof(struct view_options, member)

static const struct usage_option known[] = {
    {"name", 'n', required_argument, 0, take_name,
     "up to 16 names of at most 64 letters, digits, _ and -, none twice; --runtime-dir takes a "
     "path"},
    {"runtime-dir", 0, required_argument, 0, take_directory,
     "a path that is not too long, of a directory whose name has only letters, digits, _ and -, "
     "because its camera is shown under that name, and no name twice"},
    {"listen", 'l', required_argument, AT(listen), NULL, NULL},
    {"host", 0, required_argument, 0, take_host, "up to 16 names without a port"},
    {"control", 0, no_argument, AT(control), NULL, NULL},
    {"fps", 0, required_argument, AT(server.fps), take_fps, "a whole number from 1 to 240"},
    {"quality", 0, required_argument, AT(server.quality), take_quality,
     "a whole number from 1 to 100"},
};

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

/* ---- the token ---- */

/* The token is the secret of one run, which allows its owner to change filters. It is in the
 * address that the operator opens, after a '#': browsers do not send that part. */
#define TOKEN_BYTES 33 /* 128 bits in hexadecimal, and a NUL */

/* Shows the operator the address with the token. It is written to the file `address` in systemd's
 * RuntimeDirectory=, which only this user and root can read, or to stderr if there is no such
 * directory. It is never written to the journal, which is stderr under systemd. Returns 0 or an
 * exit code; *ret_why then says what is wrong. */
static int publish_token(const char *address, const char *token, char *ret_why, size_t size)
{
    const char *directory = getenv("RUNTIME_DIRECTORY");
    char path[PATH_MAX];
    struct output_file output;
    if (directory == NULL && getenv("INVOCATION_ID") != NULL && getenv("JOURNAL_STREAM") != NULL) {
        snprintf(ret_why, size,
                 "--control: the token would be in the journal; the unit needs RuntimeDirectory=");
        return EX_CONFIG;
    }
    if (directory == NULL) {
        fprintf(stderr, "fftd-view: to change filters, open %s#token=%s\n", address, token);
        return 0;
    }
    snprintf(path, sizeof path, "%.*s/address", (int)strcspn(directory, ":"), directory);
    int r = output_open(&output, path, OUTPUT_PRIVATE);
    if (r == 0) {
        fprintf(output.file, "%s#token=%s\n", address, token);
        r = output_close(&output);
    }
    if (r < 0) {
        snprintf(ret_why, size, "cannot write %.400s: %s", path, strerror(-r));
        return EX_CANTCREAT;
    }
    fprintf(stderr, "fftd-view: to change filters, open the address in %s\n", path);
    return 0;
}

/* Creates the token and shows it to the operator. Returns 0 or an exit code; *ret_why then says
 * what is wrong. */
static int prepare_control(char token[TOKEN_BYTES], const char *address, char *ret_why, size_t size)
{
    unsigned char random[(TOKEN_BYTES - 1) / 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
        snprintf(ret_why, size, "cannot make a token: %s", strerror(errno != 0 ? errno : EIO));
        return EX_OSERR;
    }
    for (unsigned i = 0; i < sizeof random; i++)
        snprintf(token + (size_t)2 * i, 3, "%02x", random[i]);
    return publish_token(address, token, ret_why, size);
}

static int serve(struct view_options *options)
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
    if (options->control) {
        options->server.token = token;
        code = prepare_control(token, socket.address, why, sizeof why);
    }
    if (code == 0) {
        int r = server_create(&server, socket.fd, &options->server);
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
    struct view_options options = {.listen = DEFAULT_LISTEN,
                                   .server = {.places = options.place,
                                              .hosts = options.host,
                                              .fps = DEFAULT_FPS,
                                              .quality = DEFAULT_QUALITY}};
    const int code =
        usage_begin(PROGRAM, help, known, sizeof known / sizeof known[0], &options, argc, argv);
    if (code != 0)
        return code < 0 ? EX_OK : code;
    if (options.server.count == 0)
        add_camera(&options, "default");
    return serve(&options);
}
