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
static void print_usage(FILE *file)
{
    fputs("Usage: fftd-ctl [--name NAME | --runtime-dir DIR] [--json] COMMAND ...\n\n"
          "Controls a running fftd and reads its frames.\n\n"
          "Commands:\n",
          file);
    for (unsigned i = 0; i < command_count; i++)
        fprintf(file, "  %-10s %s\n", command_table[i].name, command_table[i].summary);
    fputs("\n"
          "Options, before or after the command:\n"
          "      --name NAME        use the daemon with this name (default: \"default\");\n"
          "                         NAME:OUTPUT is one of its outputs\n"
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
    OPTION_CSV,
    OPTION_IF_SERIAL,
    OPTION_FADE,
    OPTION_NO_WAIT,
    OPTION_TIMEOUT,
    OPTION_ALL,
    OPTION_CONFIG,
    OPTION_APPLY,
    OPTION_REPORT,
    OPTION_SECONDS,
    OPTION_REGION,
    OPTION_PLOT,
    OPTION_PICTURE,
    OPTION_AT,
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
    {"csv", no_argument, NULL, OPTION_CSV},
    {"if-serial", required_argument, NULL, OPTION_IF_SERIAL},
    {"fade", required_argument, NULL, OPTION_FADE},
    {"no-wait", no_argument, NULL, OPTION_NO_WAIT},
    {"timeout", required_argument, NULL, OPTION_TIMEOUT},
    {"all", no_argument, NULL, OPTION_ALL},
    {"config", required_argument, NULL, OPTION_CONFIG},
    {"apply", no_argument, NULL, OPTION_APPLY},
    {"report", required_argument, NULL, OPTION_REPORT},
    {"seconds", required_argument, NULL, OPTION_SECONDS},
    {"region", required_argument, NULL, OPTION_REGION},
    {"plot", required_argument, NULL, OPTION_PLOT},
    {"picture", required_argument, NULL, OPTION_PICTURE},
    {"at", required_argument, NULL, OPTION_AT},
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
    {OPTION_CSV, TAKES_CSV, "--csv"},
    {OPTION_IF_SERIAL, TAKES_IF_SERIAL, "--if-serial"},
    {OPTION_FADE, TAKES_FADE, "--fade"},
    {OPTION_NO_WAIT, TAKES_WAIT, "--no-wait"},
    {OPTION_TIMEOUT, TAKES_WAIT, "--timeout"},
    {OPTION_ALL, TAKES_SAVE, "--all"},
    {OPTION_CONFIG, TAKES_SAVE, "--config"},
    {OPTION_APPLY, TAKES_APPLY, "--apply"},
    {OPTION_REPORT, TAKES_REPORT, "--report"},
    {OPTION_RAW, TAKES_RAW, "--raw"},
    {OPTION_SECONDS, TAKES_MOTION, "--seconds"},
    {OPTION_REGION, TAKES_MOTION, "--region"},
    {OPTION_PLOT, TAKES_MOTION, "--plot"},
    {OPTION_PICTURE, TAKES_MOTION, "--picture"},
    {OPTION_AT, TAKES_MOTION, "--at"},
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
        case OPTION_CSV:
            ctl->csv = true;
            break;
        case OPTION_IF_SERIAL:
            if (!usage_parse_count(optarg, UINT64_MAX, &ctl->if_serial))
                set_problem(line, "filter", "--if-serial: expected a number of at least 1");
            break;
        case OPTION_FADE:
            if (!parse_frames(optarg, &ctl->fade))
                set_problem(line, "filter", "--fade: expected a number of frames");
            break;
        case OPTION_NO_WAIT:
            ctl->no_wait = true;
            break;
        case OPTION_TIMEOUT:
            if (!parse_seconds(optarg, &ctl->timeout_s))
                set_problem(line, "filter", "--timeout: expected 0.01 .. 86400 seconds");
            break;
        case OPTION_ALL:
            ctl->all = true;
            break;
        case OPTION_CONFIG:
            ctl->config = optarg;
            break;
        case OPTION_APPLY:
            ctl->apply = true;
            break;
        case OPTION_REPORT:
            ctl->report = optarg;
            break;
        case OPTION_SECONDS:
            if (!parse_seconds(optarg, &ctl->motion.seconds))
                set_problem(line, "motion", "--seconds: expected 0.5 .. 120 seconds");
            break;
        case OPTION_REGION:
            if (ctl->motion.region_count == CTL_MAX_REGIONS)
                set_problem(line, "motion", "--region: expected at most %d of them",
                            CTL_MAX_REGIONS);
            else
                ctl->motion.region[ctl->motion.region_count++] = optarg;
            break;
        case OPTION_PLOT:
            ctl->motion.plot = optarg;
            break;
        case OPTION_PICTURE:
            ctl->motion.picture = optarg;
            break;
        case OPTION_AT:
            if (!parse_seconds(optarg, &ctl->motion.at_hz)) /* the same range */
                set_problem(line, "motion", "--at: expected 0.01 .. 86400 Hz");
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
    for (unsigned i = 0; i < command_count; i++)
        if (strcmp(command_table[i].name, name) == 0)
            return &command_table[i];
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

    signal(SIGPIPE, SIG_IGN);         /* ctl_finish handles a reader that has closed the pipe */
    if (convert_is_meant(argc, argv)) /* its options are its own */
        return convert_main(argc, argv);
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
    if (line.help && command->run != NULL) {
        print_command_help(command);
        return ctl_finish(&ctl);
    }
    if (command->run == NULL)
        return fail_usage(&ctl, command->name, "options follow the name of this command");
    ctl.argc--;
    ctl.argv++;
    return run(&ctl, &line, command);
}
