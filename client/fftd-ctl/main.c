/* fftd-ctl: options, help, and the choice of the command. Options may stand before or after the
 * command, and mean the same for every command that takes them. */
#include "ctl.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <fftd/fftd.h>

#include "json.h"

static const struct command commands[] = {
    {"list", "", "the instances that run on this machine",
     "Looks for sockets in /run/fftd, $XDG_RUNTIME_DIR/fftd and the private directory under /tmp.\n"
     "Where the sockets are a systemd socket unit's, asking starts the daemon.\n",
     0, 0, 0, command_list},
    {"status", "", "what the daemon does and how it is",
     "Camera, engine, filter, frames, latency on one page.\n\n"
     "  fftd-ctl --name front status\n"
     "  fftd-ctl status --json | jq .State\n",
     0, 0, 0, command_status},
    {"stats", "", "counters and latency percentiles",
     "Latency is split into the stages of a frame's way; total is from capture to publication.\n\n"
     "      --watch[=SECONDS]  again and again (every second)\n"
     "  -n, --count N          with --watch: N times\n"
     "      --openmetrics      as OpenMetrics text, with histograms, for Prometheus\n"
     "  -o, --output FILE      with --openmetrics: into a file, which is replaced as a whole\n\n"
     "  fftd-ctl stats --watch=0.5\n"
     "  fftd-ctl stats --json | jq .Latency.total.p99_ns\n"
     "  fftd-ctl stats --openmetrics --watch=15 -o "
     "/var/lib/prometheus/node-exporter/fftd.prom\n",
     TAKES_WATCH | TAKES_COUNT | TAKES_OPENMETRICS | TAKES_OUTPUT, 0, 0, command_stats},
    {"filter", "ACTION ...", "show or change the filter chain",
     "  filter show              the stages by number (--raw: as one line that set takes)\n"
     "  filter set CHAIN...      another chain; several operands are joined by |\n"
     "  filter add STAGE [N]     one stage more, at the end or as number N\n"
     "  filter remove STAGE      by number, or by kind where that is clear\n"
     "  filter preset NAME       a ready-made chain\n"
     "  filter save FILE [TEXT]  writes the chain as a preset, TEXT being its summary\n"
     "  filter kinds [KIND]      what filters there are, with their parameters\n\n"
     "A stage is KIND:PARAMETER=VALUE,...; frequencies are in cycles per pixel, 0 .. 0.5. A "
     "change\n"
     "is made whole or not at all, and prints the number of the filter that frames then carry.\n\n"
     "  fftd-ctl filter set lowpass:cutoff=0.1\n"
     "  fftd-ctl filter set 'notch:at=0.25/0,width=0.01 | sharpen:amount=0.5'\n"
     "  fftd-ctl filter add notch:at=0.125/0,width=0.02 1\n"
     "  fftd-ctl filter remove notch\n"
     "  fftd-ctl filter set none\n",
     TAKES_RAW, 1, -1, command_filter},
    {"set", "STAGE.PARAMETER VALUE", "change one parameter of the running filter",
     "STAGE is a stage's number (from 1) or its kind. STAGE.PARAMETER=VALUE does the same, and\n"
     "takes negative values. Keys of the configuration are changed in its file and taken over by\n"
     "`fftd-ctl reload`, those that only a start can change excepted.\n\n"
     "  fftd-ctl set lowpass.cutoff 0.2\n"
     "  fftd-ctl set 2.at=-0.1/0.25\n",
     0, 1, 2, command_set},
    {"camera", "ACTION ...", "show or set the camera's own controls",
     "  camera controls          what there is, what it is set to, and what it takes\n"
     "  camera set NAME=VALUE... sets controls, in this order, all or none\n\n"
     "Values are whole numbers, true or false, or of a menu the number or the name of an entry. "
     "What\n"
     "is set lasts as long as the daemon runs, whatever becomes of the camera meanwhile; what is "
     "to "
     "be\n"
     "set at every start belongs into the configuration, as camera.controls.\n\n"
     "  fftd-ctl camera set auto_exposure=1 exposure_time_absolute=200\n"
     "  fftd-ctl camera set power_line_frequency='50 Hz'\n",
     0, 1, -1, command_camera},
    {"reload", "", "read the configuration file again",
     "What a running daemon can change is changed, or nothing if the file has an error.\n", 0, 0, 0,
     command_reload},
    {"snapshot", "[before] [after] [spectrum] [side-by-side]", "pictures of one frame, as PNG",
     "Without operands all four, from the same frame. spectrum is the logarithm of the magnitude\n"
     "before and after, zero frequency in the middle, 0.5 cycles per pixel at the edges.\n\n"
     "  -o, --output WHERE     a file for one picture (- is stdout), a directory for several;\n"
     "                         default: PICTURE.png in the working directory\n\n"
     "  fftd-ctl snapshot after -o now.png\n"
     "  fftd-ctl snapshot -o /tmp/pictures\n",
     TAKES_OUTPUT, 0, 4, command_snapshot},
    {"frames", "", "the filtered frames, as Y4M or raw",
     "Every frame from now on; those missed because the reading was too slow are counted on\n"
     "stderr. Formats that Y4M has no word for need --raw: rows without padding, plane by "
     "plane.\n\n"
     "  -n, --count N          N frames\n"
     "  -o, --output FILE      to a file, not to stdout\n"
     "      --raw              no Y4M headers, the camera's own pixel format\n\n"
     "  fftd-ctl frames | ffplay -\n"
     "  fftd-ctl frames -n 300 -o clip.y4m\n",
     TAKES_COUNT | TAKES_OUTPUT | TAKES_RAW, 0, 0, command_frames},
    {"tune", "[quick | exhaustive | stop]", "search for the fastest settings on the device",
     "Builds and measures the engine with one choice of settings after another, while frames go\n"
     "on, more slowly: some thirty choices (quick), or some hundreds (exhaustive). What is found\n"
     "is in force at once, and kept in the cache directory for this device, driver and frame\n"
     "size. Ctrl-C ends the search, and so does stop.\n\n"
     "  fftd-ctl tune\n"
     "  fftd-ctl --name front tune exhaustive\n",
     0, 0, 1, command_tune},
    {"check", "CONFIG", "check a configuration file", "  fftd-ctl check /etc/fftd/front.conf\n", 0,
     1, 1, command_check},
    {"devices", "", "the cameras and OpenCL devices of this machine",
     "Runs `fftd --list-devices`.\n", 0, 0, 0, command_devices},
};
#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

int ctl_fail(const struct ctl *ctl, int code, const char *format, ...)
{
    char text[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!ctl->json) {
        fprintf(stderr, "fftd-ctl: %s\n", text);
        return code;
    }
    struct json json = {.file = stderr};
    json_open(&json, NULL, '{');
    json_text(&json, "error", text);
    json_integer(&json, "code", (uint64_t)code);
    json_close(&json, '}');
    return code;
}

int ctl_exit_code(int negative_errno)
{
    switch (-negative_errno) {
    case EACCES:
    case EPERM:
        return EX_NOPERM;
    case ENOENT:
    case ECONNREFUSED:
        return EX_UNAVAILABLE;
    case EAGAIN:
    case EUSERS:
    case ETIMEDOUT:
        return EX_TEMPFAIL;
    case EPROTO:
        return EX_PROTOCOL;
    default:
        return EX_OSERR;
    }
}

int ctl_runtime_dir(const struct ctl *ctl, char path[PATH_MAX])
{
    if (strchr(ctl->name, '/') != NULL)
        return ctl_fail(ctl, EX_USAGE, "--name %s: expected a name, or --runtime-dir", ctl->name);
    int r = ctl->runtime_dir != NULL
                ? snprintf(path, PATH_MAX, "%s", ctl->runtime_dir) >= PATH_MAX ? -ENAMETOOLONG : 0
                : fftd_runtime_dir(ctl->name, path, PATH_MAX);
    if (r == -EINVAL)
        return ctl_fail(ctl, EX_USAGE, "--name %s: expected letters, digits, _ and -", ctl->name);
    if (r < 0)
        return ctl_fail(ctl, EX_USAGE, "the name of the runtime directory: %s", strerror(-r));
    return 0;
}

int ctl_no_daemon(const struct ctl *ctl, const char *dir, int negative_errno)
{
    if (negative_errno == -EACCES || negative_errno == -EPERM)
        return ctl_fail(ctl, EX_NOPERM,
                        "no permission to talk to the daemon in %s: its sockets are open to their "
                        "owner and to the groups that `ls -l` shows there",
                        dir);
    if (negative_errno != -ENOENT && negative_errno != -ECONNREFUSED)
        return ctl_fail(ctl, ctl_exit_code(negative_errno), "cannot talk to the daemon in %s: %s",
                        dir, strerror(-negative_errno));
    if (ctl->runtime_dir != NULL)
        return ctl_fail(ctl, EX_UNAVAILABLE,
                        "no fftd runs in %s; start one by `fftd --runtime-dir %s --source "
                        "pattern:moire`, or see `fftd-ctl list` for those that run",
                        dir, dir);
    return ctl_fail(ctl, EX_UNAVAILABLE,
                    "no fftd named %s runs (looked in %s, and where users' own ones lie); start "
                    "one by `systemctl start fftd@%s` or `fftd --name %s --source pattern:moire`, "
                    "or see `fftd-ctl list` for those that run",
                    ctl->name, dir, ctl->name, ctl->name);
}

bool ctl_parse_count(const char *text, uint64_t *ret)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || *text < '0' || *text > '9' || value == 0)
        return false;
    *ret = value;
    return true;
}

uint64_t ctl_now_us(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

int ctl_finish(const struct ctl *ctl)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EX_OK;
    /* Who reads has seen enough: `fftd-ctl ... | head`. */
    return errno == EPIPE ? EX_OK : ctl_fail(ctl, EX_IOERR, "stdout: %s", strerror(errno));
}

static void print_usage(FILE *file)
{
    fputs("Usage: fftd-ctl [--name NAME | --runtime-dir DIR] [--json] COMMAND ...\n\n"
          "Shows and changes what a running fftd does.\n\n",
          file);
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n"
          "      --name NAME        the daemon of that name (default: \"default\")\n"
          "      --runtime-dir DIR  the daemon whose sockets lie in that directory\n"
          "      --json             machine-readable output, errors on stderr too\n"
          "  -h, --help             this page; after a command: about that command\n"
          "      --version          print the version\n\n"
          "Examples:\n"
          "  fftd --source pattern:moire &\n"
          "  fftd-ctl status\n"
          "  fftd-ctl filter set lowpass:cutoff=0.1\n"
          "  fftd-ctl snapshot\n"
          "  fftd-ctl frames | ffplay -\n\n"
          "Exit codes, as in sysexits(3):\n"
          "   0  done                      73  cannot create the output\n"
          "  64  wrong usage               74  input or output failed\n"
          "  65  filter or control refused 75  try again: camera offline, busy, no answer\n"
          "  66  no such input file        76  the daemon speaks another protocol\n"
          "  69  no such daemon            77  not allowed\n"
          "  70  internal error            78  wrong configuration\n"
          "  71  the system refused\n",
          file);
}

static void print_command_help(const struct command *command)
{
    printf("Usage: fftd-ctl [--name NAME | --runtime-dir DIR] [--json] %s%s%s\n\n%s\n\n%s",
           command->name, *command->operands != '\0' ? " " : "", command->operands,
           command->summary, command->help);
}

static int usage_error(const struct ctl *ctl, const char *command, const char *text)
{
    return ctl_fail(ctl, EX_USAGE, "%s; see fftd-ctl %s%s--help", text, command,
                    *command != '\0' ? " " : "");
}

static bool parse_seconds(const char *text, double *ret)
{
    char *end;
    double value = text != NULL ? strtod(text, &end) : 1;
    if (text != NULL && (end == text || *end != '\0'))
        return false;
    if (!(value >= 0.01 && value <= 86400))
        return false;
    *ret = value;
    return true;
}

enum {
    OPTION_NAME = 256,
    OPTION_DIR,
    OPTION_JSON,
    OPTION_VERSION,
    OPTION_WATCH,
    OPTION_RAW,
    OPTION_OPENMETRICS
};

static const struct option options[] = {
    {"name", required_argument, NULL, OPTION_NAME},
    {"runtime-dir", required_argument, NULL, OPTION_DIR},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"watch", optional_argument, NULL, OPTION_WATCH},
    {"count", required_argument, NULL, 'n'},
    {"output", required_argument, NULL, 'o'},
    {"raw", no_argument, NULL, OPTION_RAW},
    {"openmetrics", no_argument, NULL, OPTION_OPENMETRICS},
    {0},
};

/* What was asked for beside the options in struct ctl. */
struct request {
    bool help, version;
    unsigned given; /* TAKES_... */
};

/* 0, or the exit code of a usage error. */
static int parse_options(struct ctl *ctl, struct request *request, int argc, char **argv)
{
    char text[200];
    int option;
    while ((option = getopt_long(argc, argv, ":hn:o:", options, NULL)) != -1) {
        switch (option) {
        case OPTION_NAME:
            ctl->name = optarg;
            break;
        case OPTION_DIR:
            ctl->runtime_dir = optarg;
            break;
        case OPTION_JSON:
            ctl->json = true;
            break;
        case OPTION_VERSION:
            request->version = true;
            break;
        case OPTION_WATCH:
            request->given |= TAKES_WATCH;
            if (!parse_seconds(optarg, &ctl->watch_s))
                return usage_error(ctl, "stats", "--watch: expected 0.01 .. 86400 seconds");
            break;
        case OPTION_RAW:
            request->given |= TAKES_RAW;
            ctl->raw = true;
            break;
        case OPTION_OPENMETRICS:
            request->given |= TAKES_OPENMETRICS;
            ctl->openmetrics = true;
            break;
        case 'h':
            request->help = true;
            break;
        case 'n':
            request->given |= TAKES_COUNT;
            if (!ctl_parse_count(optarg, &ctl->count))
                return usage_error(ctl, "", "--count: expected a number of at least 1");
            break;
        case 'o':
            request->given |= TAKES_OUTPUT;
            ctl->output = optarg;
            break;
        case ':':
            snprintf(text, sizeof text, "%.100s: expected a value after it", argv[optind - 1]);
            return usage_error(ctl, "", text);
        default:
            if (optopt >= OPTION_NAME ||
                optopt == 'h') /* getopt's word for a value that is one too many */
                snprintf(text, sizeof text, "%.100s: this option takes no value", argv[optind - 1]);
            else if (optopt != 0)
                snprintf(text, sizeof text,
                         "no such option: -%c (a negative value? write NAME=VALUE)", optopt);
            else
                snprintf(text, sizeof text, "no such option: %.100s", argv[optind - 1]);
            return usage_error(ctl, "", text);
        }
    }
    ctl->argc = argc - optind;
    ctl->argv = argv + optind;
    return 0;
}

static const struct command *find_command(const char *name)
{
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static int run(struct ctl *ctl, const struct request *request, const struct command *command)
{
    char text[200];
    if (request->given & ~command->takes) {
        unsigned extra = request->given & ~command->takes;
        snprintf(text, sizeof text, "%s does not take %s", command->name,
                 extra & TAKES_WATCH         ? "--watch"
                 : extra & TAKES_COUNT       ? "--count"
                 : extra & TAKES_OUTPUT      ? "--output"
                 : extra & TAKES_OPENMETRICS ? "--openmetrics"
                                             : "--raw");
        return usage_error(ctl, command->name, text);
    }
    if (ctl->argc < command->min_operands ||
        (command->max_operands >= 0 && ctl->argc > command->max_operands)) {
        snprintf(text, sizeof text, "%s: expected %s%s", command->name,
                 *command->operands != '\0' ? command->operands : "no operand",
                 ctl->argc < command->min_operands ? "" : ", and no more");
        return usage_error(ctl, command->name, text);
    }
    return command->run(ctl);
}

int main(int argc, char **argv)
{
    struct ctl ctl = {.name = "default"};
    struct request request = {0};

    signal(SIGPIPE, SIG_IGN); /* ctl_finish deals with readers that have seen enough */
    int code = parse_options(&ctl, &request, argc, argv);
    if (code != 0)
        return code;
    if (request.version) {
        puts("fftd-ctl " FFTD_VERSION);
        return ctl_finish(&ctl);
    }
    if (ctl.argc == 0 && !request.help)
        return usage_error(&ctl, "", "expected a command");
    if (ctl.argc == 0) {
        print_usage(stdout);
        return ctl_finish(&ctl);
    }
    const struct command *command = find_command(ctl.argv[0]);
    if (command == NULL)
        return ctl_fail(&ctl, EX_USAGE, "no such command: %s; see fftd-ctl --help", ctl.argv[0]);
    if (request.help) {
        print_command_help(command);
        return ctl_finish(&ctl);
    }
    ctl.argc--;
    ctl.argv++;
    return run(&ctl, &request, command);
}
