#include "usage.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <fftd/fftd.h>

#include "core/text.h"

#define MAX_OPTIONS 48
/* getopt_long returns this plus the option's index, which no letter reaches. */
#define FIRST_VALUE 256

int usage_error(const char *program, const char *format, ...)
{
    va_list args;
    fprintf(stderr, "%s: ", program);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "; see %s --help\n", program);
    return EX_USAGE;
}

/* Writes getopt_long's two descriptions of the options. */
static void describe(const struct usage_option *options, unsigned count,
                     struct option ret[MAX_OPTIONS + 3], char letters[2 * MAX_OPTIONS + 3])
{
    unsigned used = 0;
    letters[used++] = ':'; /* getopt_long then tells a missing value from an unknown option */
    letters[used++] = 'h';
    for (unsigned i = 0; i < count; i++) {
        ret[i] = (struct option){options[i].name, options[i].has_arg, NULL, FIRST_VALUE + (int)i};
        if (options[i].letter == 0)
            continue;
        letters[used++] = options[i].letter;
        if (options[i].has_arg != no_argument)
            letters[used++] = ':';
    }
    letters[used] = '\0';
    ret[count] = (struct option){"help", no_argument, NULL, 'h'};
    ret[count + 1] = (struct option){"version", no_argument, NULL, FIRST_VALUE + (int)count};
    ret[count + 2] = (struct option){0};
}

static __attribute__((format(printf, 2, 3))) void set_problem(struct usage *usage,
                                                              const char *format, ...)
{
    va_list args;
    if (usage->problem[0] != '\0')
        return;
    va_start(args, format);
    vsnprintf(usage->problem, sizeof usage->problem, format, args);
    va_end(args);
}

static void store(struct usage *usage, const struct usage_option *option, void *values,
                  const char *text)
{
    void *member = (char *)values + option->member;
    if (option->take != NULL) {
        if (!option->take(member, text))
            set_problem(usage, "--%s %.100s: expected %s", option->name, text != NULL ? text : "",
                        option->expected);
    } else if (option->has_arg == no_argument) {
        *(bool *)member = true;
    } else {
        *(const char **)member = text;
    }
}

/* getopt_long sets optopt if an option was given a value that it does not take. */
static void refuse(struct usage *usage, const char *given)
{
    if (optopt >= FIRST_VALUE || optopt == 'h')
        set_problem(usage, "%.100s: this option takes no value", given);
    else if (isdigit(optopt) || optopt == '.')
        set_problem(usage, "no such option: -%c (for a negative value, write NAME=VALUE)", optopt);
    else if (optopt != 0)
        set_problem(usage, "no such option: -%c", optopt);
    else
        set_problem(usage, "no such option: %.100s", given);
}

int usage_parse(struct usage *ret, const struct usage_option *options, unsigned count, void *values,
                int argc, char **argv)
{
    struct option list[MAX_OPTIONS + 3];
    char letters[2 * MAX_OPTIONS + 3];
    int value;
    *ret = (struct usage){.given = 0};
    describe(options, count, list, letters);
    while ((value = getopt_long(argc, argv, letters, list, NULL)) != -1) {
        unsigned i = 0;
        while (i < count && value != FIRST_VALUE + (int)i && value != options[i].letter)
            i++;
        if (i < count) {
            ret->given |= UINT64_C(1) << i;
            store(ret, &options[i], values, optarg);
        } else if (value == 'h') {
            ret->help = true;
        } else if (value == ':') {
            set_problem(ret, "%.100s: expected a value after it", argv[optind - 1]);
        } else if (value == '?') {
            refuse(ret, argv[optind - 1]);
        } else {
            ret->version = true;
        }
    }
    return optind;
}

int usage_begin(const char *program, const char *help, const struct usage_option *options,
                unsigned count, void *values, int argc, char **argv)
{
    struct usage usage;
    const int first = usage_parse(&usage, options, count, values, argc, argv);
    if (usage.help)
        puts(help);
    else if (usage.version)
        printf("%s " FFTD_VERSION "\n", program);
    else if (usage.problem[0] != '\0')
        return usage_error(program, "%s", usage.problem);
    else if (first < argc)
        return usage_error(program, "%s: expected no operand; a camera is named with --name",
                           argv[first]);
    else
        return 0;
    return -1;
}

bool usage_take_count(void *member, const char *text)
{
    return usage_parse_count(text, UINT64_MAX, member);
}

bool usage_take_seconds(void *member, const char *text)
{
    double value = 1;
    if (text != NULL && text_to_number(&value, text) < 0)
        return false;
    *(double *)member = value;
    return value >= 0.01 && value <= 86400;
}

int usage_check_camera(const char *program, const char *name)
{
    char path[PATH_MAX];
    return fftd_runtime_dir(name, path, sizeof path) == 0
               ? 0
               : usage_error(program, "--name %s: expected the name of a camera, or a directory",
                             name);
}

void usage_name_camera(const char *camera, char *ret, size_t size)
{
    size_t length = strlen(camera);
    while (length > 1 && camera[length - 1] == '/')
        length--;
    size_t start = length;
    while (start > 0 && camera[start - 1] != '/')
        start--;
    snprintf(ret, size, "%.*s", (int)(length - start), camera + start);
}

bool usage_parse_count(const char *text, uint64_t most, uint64_t *ret)
{
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || *text < '0' || *text > '9' || value < 1 || value > most)
        return false;
    *ret = value;
    return true;
}
