/* Parses the options, prints help and runs the command. Options may precede or follow the command,
 * and mean the same for each command that takes them. */
#include <ctype.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common/usage.h"

/* Bits for the options that not every command takes. */
enum {
    TAKES_WATCH = 1,
    TAKES_COUNT = 2,
    TAKES_OUTPUT = 4,
    TAKES_RAW = 8,
    TAKES_OPENMETRICS = 16,
    TAKES_PROMETHEUS = 32,
    TAKES_IF_SERIAL = 64,
    TAKES_FADE = 128,
    TAKES_APPLY = 256,
    TAKES_REPORT = 512,
};

struct command {
    const char *name;
    const char *operands; /* for the usage line: "CHAIN..." */
    const char *summary;  /* begins with a verb */
    const char *help;     /* printed by --help after usage and summary */
    unsigned takes;
    int min_operands, max_operands;    /* max -1: any number */
    int (*run)(const struct ctl *ctl); /* returns an exit code */
};

static const struct command commands[] = {
    {"list", "", "show the daemons on this machine",
     "Looks for sockets in /run/fftd, in $XDG_RUNTIME_DIR/fftd and in the user's\n"
     "private directory under /tmp. Contacting a daemon that has systemd socket\n"
     "units starts it.\n",
     0, 0, 0, command_list},
    {"status", "", "show the camera, engine, filter and frame rate",
     "Examples:\n"
     "  fftd-ctl --name front status\n"
     "  fftd-ctl status --json | jq .State\n",
     0, 0, 0, command_status},
    {"stats", "", "show counters and latency percentiles",
     "Latency is measured for each step of a frame's processing. `total` is the\n"
     "time from capture to publication.\n\n"
     "      --watch[=SECONDS]  repeat at this interval (default: 1)\n"
     "  -n, --count N          with --watch: stop after N times\n"
     "      --openmetrics      print OpenMetrics, for programs that serve scrapers\n"
     "      --prometheus       print Prometheus's text format, for the textfile\n"
     "                         collector of node_exporter\n"
     "  -o, --output FILE      write the metrics to FILE, replaced in one step\n\n"
     "With --watch and --output a daemon that has ended is waited for; meanwhile\n"
     "FILE says fftd_up 0.\n\n"
     "Examples:\n"
     "  fftd-ctl stats --watch=0.5\n"
     "  fftd-ctl stats --json | jq .FramesPublished\n"
     "  fftd-ctl stats --json | jq .Latency.total.p99_ns\n"
     "  fftd-ctl stats --prometheus --watch=15 \\\n"
     "    -o /var/lib/prometheus/node-exporter/fftd.prom\n",
     TAKES_WATCH | TAKES_COUNT | TAKES_OPENMETRICS | TAKES_PROMETHEUS | TAKES_OUTPUT, 0, 0,
     command_stats},
    {"watch", "", "show a running camera on the terminal, in place",
     "Shows state, camera, filter, frame rate, latency, counters that rise, and with\n"
     "output.measures the measures of frames, once a second. Charts show the last\n"
     "minute. A daemon that is restarted is found again. q or Ctrl-C ends it.\n\n"
     "stdout must be a terminal; `fftd-ctl stats --watch` writes to files and pipes.\n\n"
     "Examples:\n"
     "  fftd-ctl --name front watch\n",
     0, 0, 0, command_watch},
    {"filter", "ACTION ...", "show or change the filter chain",
     "  filter show              list the stages (--raw: one line, as set takes it)\n"
     "  filter set CHAIN...      replace the chain; several operands are joined by |\n"
     "  filter add STAGE [N]     add a stage at the end, or as number N\n"
     "  filter remove STAGE      remove a stage, by its number or an unambiguous kind\n"
     "  filter edit CHANGE...    make several changes at once (see below)\n"
     "  filter preset NAME       replace the chain by a preset\n"
     "  filter keep              replace what adapts by what it has found, to save it\n"
     "  filter save FILE [TEXT]  save the chain as a preset with the summary TEXT\n"
     "  filter kinds [KIND]      list the kinds of filters and their parameters\n"
     "  filter plot FILE [CHAIN...]\n"
     "                           draw the response of the filter, or of a chain that\n"
     "                           is not in use, as a PNG image (- is stdout)\n\n"
     "A stage is KIND:PARAMETER=VALUE,... Frequencies are in cycles per pixel, from\n"
     "0 to 0.5. A change takes effect as a whole or not at all. The command prints\n"
     "the serial of the new filter; each frame that the filter makes carries it.\n"
     "While other kernels are compiled for it, which can take seconds, the command\n"
     "waits, and frames keep the previous filter. They also do if the device cannot\n"
     "make the new one: then the command fails and says why.\n\n"
     "The changes of `edit` are made in their order, get one serial, and take effect\n"
     "with the same frame:\n"
     "  add STAGE [N] | remove STAGE | move STAGE N | set STAGE.PARAMETER=VALUE |\n"
     "  replace CHAIN\n\n"
     "      --fade N           blend from the old filter to the new one over N frames\n"
     "      --if-serial N      change the filter only if its serial is still N\n\n"
     "Examples:\n"
     "  fftd-ctl filter set lowpass:cutoff=0.1\n"
     "  fftd-ctl filter set 'notch:at=0.21/0.13,width=0.02 | gaussian-blur:sigma=0.7'\n"
     "  fftd-ctl filter add notch:at=0.125/0,width=0.02 1\n"
     "  fftd-ctl filter remove notch\n"
     "  fftd-ctl filter edit set bandpass.low=0.2 set bandpass.high=0.3 remove notch\n"
     "  fftd-ctl filter plot response.png\n"
     "  fftd-ctl filter set --fade 30 none\n",
     TAKES_RAW | TAKES_IF_SERIAL | TAKES_FADE, 1, -1, command_filter},
    {"set", "STAGE.PARAMETER VALUE", "change one parameter of the filter",
     "STAGE is the number of a stage, from 1, or its kind. The form\n"
     "STAGE.PARAMETER=VALUE also takes negative values. To change a key of the\n"
     "configuration, edit its file and run `fftd-ctl reload`. `fftd-ctl filter edit`\n"
     "changes several parameters at once.\n\n"
     "      --fade N           blend from the old value to the new one over N frames\n"
     "      --if-serial N      change it only if the filter's serial is still N\n\n"
     "Examples:\n"
     "  fftd-ctl set lowpass.cutoff 0.2\n"
     "  fftd-ctl set 2.at=-0.1/0.25\n",
     TAKES_IF_SERIAL | TAKES_FADE, 1, 2, command_set},
    {"view", "[VIEW]", "show or choose what is published of each frame",
     "Without an operand, prints the view in use.\n\n"
     "  picture                the filtered picture\n"
     "  difference             what the filter removes: input minus output, twice as\n"
     "                         strong, around mid grey\n"
     "  spectrum               the spectrum of the filtered picture: frequency zero\n"
     "                         in the middle, 0.5 cycles per pixel at the edges,\n"
     "                         black at -120 dB of full scale and white at -20 dB\n"
     "  peaks                  the spectrum of the captured picture; squares mark the\n"
     "                         waves that auto-notch has found\n"
     "  edges                  how steep the filtered picture is (Sobel) along each\n"
     "                         edge, and 0 elsewhere; engine.edge_low and\n"
     "                         engine.edge_high are its thresholds (Canny)\n\n"
     "A view is a grey picture of luma that all readers of frames get instead of the\n"
     "picture. The first use makes the daemon compile other kernels, which can take\n"
     "seconds; the picture continues meanwhile. The command prints the serial that\n"
     "frames carry from then on.\n\n"
     "Examples:\n"
     "  fftd-ctl view difference\n"
     "  fftd-ctl view picture\n",
     0, 0, 1, command_view},
    {"camera", "ACTION ...", "show or set the camera's own controls",
     "  camera controls           list the controls, their values and ranges\n"
     "  camera set NAME=VALUE...  set controls in this order, all of them or none\n\n"
     "A value is a whole number, true or false, or the number or name of a menu's\n"
     "entry. The daemon sets it again whenever the camera is opened, until the\n"
     "daemon ends. Values for every start belong in the configuration, as\n"
     "camera.controls.\n\n"
     "Examples:\n"
     "  fftd-ctl camera set auto_exposure=1 exposure_time_absolute=200\n"
     "  fftd-ctl camera set power_line_frequency='50 Hz'\n",
     0, 1, -1, command_camera},
    {"reload", "", "read the configuration file again",
     "Applies every key that a running daemon can change. A file with an error, or\n"
     "with a source that cannot be opened, changes nothing.\n",
     0, 0, 0, command_reload},
    {"snapshot", "[before] [after] [spectrum] [side-by-side]",
     "save PNG images of one frame and its spectrum",
     "Without operands it saves all four images of the same frame. The spectrum is\n"
     "the logarithm of the magnitude before and after the filter, with frequency\n"
     "zero in the middle and 0.5 cycles per pixel at the edges.\n\n"
     "All images but `after` show the picture before the filter. They need the right\n"
     "to change the filter, unless output.watch_unfiltered is set in the\n"
     "configuration.\n\n"
     "  -o, --output PATH      a file for one image (- is stdout), or a directory\n"
     "                         for several (default: the working directory)\n\n"
     "Examples:\n"
     "  fftd-ctl snapshot after -o now.png\n"
     "  fftd-ctl snapshot -o /tmp/images\n",
     TAKES_OUTPUT, 0, 4, command_snapshot},
    {"frames", "", "write the filtered frames as Y4M or raw video",
     "Writes every frame from now on. A reader that is too slow misses frames. The\n"
     "numbers of frames written and missed are printed on stderr at the end. Pixel\n"
     "formats that Y4M does not have need --raw, which writes rows without padding,\n"
     "plane after plane.\n\n"
     "  -n, --count N          stop after N frames\n"
     "  -o, --output FILE      write to FILE instead of stdout\n"
     "      --raw              write the camera's own pixel format without headers\n\n"
     "Examples:\n"
     "  fftd-ctl frames | ffplay -\n"
     "  fftd-ctl frames -n 300 -o clip.y4m\n",
     TAKES_COUNT | TAKES_OUTPUT | TAKES_RAW, 0, 0, command_frames},
    {"calibrate", "dark|flat|stripes [NAME]", "record the fixed pattern of the camera",
     "Averages frames before the filter, and writes the image that a stage of the\n"
     "filter subtracts or divides by (`fftd-ctl filter kinds dark`). For `dark`\n"
     "cover the lens; for `flat` let it see an evenly lit surface. Exposure and gain\n"
     "must be fixed, and as they are in use. `stripes` needs no dark frame: from\n"
     "frames of a scene that moves along both axes it finds what the camera adds to\n"
     "each column and each row, for `dark` to subtract, and hot and dead pixels, for\n"
     "`dark` to replace. Warnings tell of white pixels, unsteady light or a scene\n"
     "that stands still.\n\n"
     "The image is NAME.pfm (default: dark.pfm, flat.pfm or stripes.pfm) in\n"
     "$FFTD_IMAGE_DIR or /etc/fftd/images. It takes the right to change the filter.\n\n"
     "  -n, --count N          take N frames (default: 64)\n"
     "  -o, --output PATH      write to this file or directory instead\n\n"
     "Examples:\n"
     "  fftd-ctl calibrate dark\n"
     "  fftd-ctl calibrate flat -n 200\n"
     "  fftd-ctl filter preset fixed-pattern\n",
     TAKES_COUNT | TAKES_OUTPUT, 1, 2, command_calibrate},
    {"diagnose", "[FILE]", "find what is wrong with the picture, and what helps", diagnose_help,
     TAKES_COUNT | TAKES_APPLY | TAKES_REPORT, 0, 1, command_diagnose},
    {"tune", "[quick | exhaustive | stop]", "search for the fastest settings on the device",
     "Builds and measures the engine with about thirty settings (quick, the default)\n"
     "or several hundred (exhaustive). Frames continue, more slowly. The best\n"
     "settings take effect at once, and are cached for this device, driver and\n"
     "frame size. Ctrl-C or `fftd-ctl tune stop` ends the search.\n\n"
     "Examples:\n"
     "  fftd-ctl tune\n"
     "  fftd-ctl --name front tune exhaustive\n",
     0, 0, 1, command_tune},
    {"check", "CONFIG", "check a configuration file",
     "Runs `fftd --check`.\n\n"
     "Examples:\n"
     "  fftd-ctl check /etc/fftd/front.conf\n",
     0, 1, 1, command_check},
    {"devices", "", "show the cameras and OpenCL devices of this machine",
     "Runs `fftd --list-devices`.\n", 0, 0, 0, command_devices},
    {"report", "", "collect what to send when something does not work",
     "Prints, as text: what is plainly wrong; versions; the machine and its clocks;\n"
     "OpenCL drivers and devices; cameras and their formats; the service's and the\n"
     "kernel's last messages; the daemon's state, filter and latency; and the\n"
     "configuration. Frames, names of hosts and users, and serial numbers are left\n"
     "out. Read it before you send it. Run it as root to include the messages and\n"
     "the configuration. A program that does not end is stopped after 20 seconds.\n\n"
     "  -o, --output FILE      write to FILE instead of stdout\n\n"
     "Examples:\n"
     "  sudo fftd-ctl report -o report.txt\n"
     "  sudo fftd-ctl --name front report\n",
     TAKES_OUTPUT, 0, 0, command_report},
};
#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

static void print_usage(FILE *file)
{
    fputs("Usage: fftd-ctl [--name NAME | --runtime-dir DIR] [--json] COMMAND ...\n\n"
          "Controls a running fftd and reads its frames.\n\n"
          "Commands:\n",
          file);
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n"
          "Options, before or after the command:\n"
          "      --name NAME        use the daemon with this name (default: \"default\")\n"
          "      --runtime-dir DIR  use the daemon whose sockets are in DIR\n"
          "      --json             print results and errors as JSON\n"
          "  -h, --help             show this page, or the help of a command\n"
          "      --version          print the version\n\n"
          "Exit codes, as in sysexits(3):\n"
          "   0  success                     73  cannot create the output file\n"
          "  64  wrong usage                 74  input or output error\n"
          "  65  filter or control refused   75  temporary failure: try again\n"
          "  66  cannot read the input file  76  the daemon speaks another protocol\n"
          "  69  no such daemon              77  permission denied\n"
          "  70  internal error              78  error in the configuration\n"
          "  71  system error\n\n"
          "Examples:\n"
          "  fftd --source pattern:moire &\n"
          "  fftd-ctl status\n"
          "  fftd-ctl filter set lowpass:cutoff=0.1\n"
          "  fftd-ctl snapshot\n"
          "  fftd-ctl frames | ffplay -\n",
          file);
}

static void print_command_help(const struct command *command)
{
    printf("Usage: fftd-ctl [OPTION...] %s%s%s\n\n%c%s.\n\n%s", command->name,
           *command->operands != '\0' ? " " : "", command->operands,
           toupper((unsigned char)command->summary[0]), command->summary + 1, command->help);
}

static int fail_usage(const struct ctl *ctl, const char *command, const char *text)
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

/* Parses a number of frames. The daemon checks its upper limit. */
static bool parse_frames(const char *text, uint32_t *ret)
{
    uint64_t value = 0;
    if (strcmp(text, "0") != 0 && !usage_parse_count(text, UINT32_MAX, &value))
        return false;
    *ret = (uint32_t)value;
    return true;
}

enum {
    OPTION_NAME = 256,
    OPTION_DIR,
    OPTION_JSON,
    OPTION_VERSION,
    OPTION_WATCH,
    OPTION_RAW,
    OPTION_OPENMETRICS,
    OPTION_PROMETHEUS,
    OPTION_IF_SERIAL,
    OPTION_FADE,
    OPTION_APPLY,
    OPTION_REPORT,
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
    {"prometheus", no_argument, NULL, OPTION_PROMETHEUS},
    {"if-serial", required_argument, NULL, OPTION_IF_SERIAL},
    {"fade", required_argument, NULL, OPTION_FADE},
    {"apply", no_argument, NULL, OPTION_APPLY},
    {"report", required_argument, NULL, OPTION_REPORT},
    {0},
};

/* The options that not every command takes. */
static const struct {
    int option;
    unsigned takes;
    const char *name;
} taken[] = {
    {OPTION_WATCH, TAKES_WATCH, "--watch"},
    {'n', TAKES_COUNT, "--count"},
    {'o', TAKES_OUTPUT, "--output"},
    {OPTION_OPENMETRICS, TAKES_OPENMETRICS, "--openmetrics"},
    {OPTION_PROMETHEUS, TAKES_PROMETHEUS, "--prometheus"},
    {OPTION_IF_SERIAL, TAKES_IF_SERIAL, "--if-serial"},
    {OPTION_FADE, TAKES_FADE, "--fade"},
    {OPTION_APPLY, TAKES_APPLY, "--apply"},
    {OPTION_REPORT, TAKES_REPORT, "--report"},
    {OPTION_RAW, TAKES_RAW, "--raw"},
};
#define TAKEN_COUNT (sizeof taken / sizeof taken[0])

/* The options that are not in struct ctl. */
struct command_line {
    bool help, version;
    unsigned given;       /* TAKES_... */
    char problem[200];    /* the first usage error; empty: none */
    const char *help_for; /* the command whose help describes it */
};

static __attribute__((format(printf, 3, 4))) void
set_problem(struct command_line *line, const char *help_for, const char *format, ...)
{
    va_list args;
    if (line->problem[0] != '\0')
        return;
    line->help_for = help_for;
    va_start(args, format);
    vsnprintf(line->problem, sizeof line->problem, format, args);
    va_end(args);
}

/* Parses all options even after an error, since --json decides how the error is printed. */
static void parse_options(struct ctl *ctl, struct command_line *line, int argc, char **argv)
{
    int option;
    while ((option = getopt_long(argc, argv, ":hn:o:", options, NULL)) != -1) {
        for (unsigned i = 0; i < TAKEN_COUNT; i++)
            line->given |= taken[i].option == option ? taken[i].takes : 0;
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
            line->version = true;
            break;
        case OPTION_WATCH:
            if (!parse_seconds(optarg, &ctl->watch_s))
                set_problem(line, "stats", "--watch: expected 0.01 .. 86400 seconds");
            break;
        case OPTION_RAW:
            ctl->raw = true;
            break;
        case OPTION_OPENMETRICS:
            ctl->openmetrics = true;
            break;
        case OPTION_PROMETHEUS:
            ctl->prometheus = true;
            break;
        case OPTION_IF_SERIAL:
            if (!usage_parse_count(optarg, UINT64_MAX, &ctl->if_serial))
                set_problem(line, "filter", "--if-serial: expected a number of at least 1");
            break;
        case OPTION_FADE:
            if (!parse_frames(optarg, &ctl->fade))
                set_problem(line, "filter", "--fade: expected a number of frames");
            break;
        case OPTION_APPLY:
            ctl->apply = true;
            break;
        case OPTION_REPORT:
            ctl->report = optarg;
            break;
        case 'h':
            line->help = true;
            break;
        case 'n':
            if (!usage_parse_count(optarg, UINT64_MAX, &ctl->count))
                set_problem(line, "", "--count: expected a number of at least 1");
            break;
        case 'o':
            ctl->output = optarg;
            break;
        case ':':
            set_problem(line, "", "%.100s: expected a value after it", argv[optind - 1]);
            break;
        default:
            /* getopt_long sets optopt if an option was given a value that it does not take. */
            if (optopt >= OPTION_NAME || optopt == 'h')
                set_problem(line, "", "%.100s: this option takes no value", argv[optind - 1]);
            else if (optopt != 0)
                set_problem(line, "",
                            "no such option: -%c (for a negative value, write NAME=VALUE)", optopt);
            else
                set_problem(line, "", "no such option: %.100s", argv[optind - 1]);
        }
    }
    ctl->argc = argc - optind;
    ctl->argv = argv + optind;
}

static const struct command *find_command(const char *name)
{
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static int run(struct ctl *ctl, const struct command_line *line, const struct command *command)
{
    char text[200];
    for (unsigned i = 0; i < TAKEN_COUNT; i++)
        if (line->given & ~command->takes & taken[i].takes) {
            snprintf(text, sizeof text, "%s does not take %s", command->name, taken[i].name);
            return fail_usage(ctl, command->name, text);
        }
    if (ctl->argc < command->min_operands ||
        (command->max_operands >= 0 && ctl->argc > command->max_operands)) {
        snprintf(text, sizeof text, "%s: expected %s%s", command->name,
                 *command->operands != '\0' ? command->operands : "no operand",
                 ctl->argc < command->min_operands ? "" : ", and no more");
        return fail_usage(ctl, command->name, text);
    }
    return command->run(ctl);
}

int main(int argc, char **argv)
{
    struct ctl ctl = {.name = "default"};
    struct command_line line = {0};

    signal(SIGPIPE, SIG_IGN); /* ctl_finish handles a reader that has closed the pipe */
    parse_options(&ctl, &line, argc, argv);
    if (line.problem[0] != '\0')
        return fail_usage(&ctl, line.help_for, line.problem);
    if (line.version) {
        puts("fftd-ctl " FFTD_VERSION);
        return ctl_finish(&ctl);
    }
    if (ctl.argc == 0 && !line.help)
        return fail_usage(&ctl, "", "expected a command");
    if (ctl.argc == 0) {
        print_usage(stdout);
        return ctl_finish(&ctl);
    }
    const struct command *command = find_command(ctl.argv[0]);
    if (command == NULL)
        return ctl_fail(&ctl, EX_USAGE, "no such command: %s; see fftd-ctl --help", ctl.argv[0]);
    if (line.help) {
        print_command_help(command);
        return ctl_finish(&ctl);
    }
    ctl.argc--;
    ctl.argv++;
    return run(&ctl, &line, command);
}
