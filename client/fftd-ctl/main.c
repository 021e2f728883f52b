/* Prints help, or runs the command. */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "common/usage.h"
#include "options.h"

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

static const struct command *find_command(const char *name)
{
    for (unsigned i = 0; i < command_count; i++)
        if (strcmp(command_table[i].name, name) == 0)
            return &command_table[i];
    return NULL;
}

static int run(const struct ctl *ctl, const struct command *command)
{
    char text[200];
    const char *unsuited = options_find_unsuited(ctl, command->takes);
    if (unsuited != NULL) {
        snprintf(text, sizeof text, "%s does not take --%s", command->name, unsuited);
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
    struct ctl ctl;
    struct usage line;

    signal(SIGPIPE, SIG_IGN); /* ctl_finish handles a reader that has closed the pipe */
    options_parse(&ctl, &line, argc, argv);
    const struct command *command = ctl.argc > 0 ? find_command(ctl.argv[0]) : NULL;
    if (line.problem[0] != '\0')
        return fail_usage(&ctl, command != NULL ? command->name : "", line.problem);
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
    if (command == NULL)
        return ctl_fail(&ctl, EX_USAGE, "no such command: %s; see fftd-ctl --help", ctl.argv[0]);
    if (line.help) {
        print_command_help(command);
        return ctl_finish(&ctl);
    }
    ctl.argc--;
    ctl.argv++;
    return run(&ctl, command);
}
