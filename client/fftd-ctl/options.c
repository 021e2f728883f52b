#include "options.h"

#include <getopt.h>
#include <stddef.h>
#include <string.h>

#include "core/text.h"

/* ---- values ---- */

/* The daemon checks the upper limit. */
static bool take_frames(void *member, const char *text)
{
    uint64_t value = 0;
    const bool is_good = strcmp(text, "0") == 0 || usage_parse_count(text, UINT32_MAX, &value);
    *(uint32_t *)member = (uint32_t)value;
    return is_good;
}

static bool take_rate(void *member, const char *text)
{
    double *rate = member;
    return text_to_number(rate, text) == 0 && *rate >= 0.1 && *rate <= 1000.0;
}

static bool take_one(void *member, const char *text)
{
    struct ctl_texts *texts = member;
    if (texts->count == CTL_MAX_TEXTS)
        return false;
    texts->text[texts->count++] = text;
    return true;
}

/* ---- the table ---- */

#define AT(member) offsetof(struct ctl, member)
#define NUMBER     "a number of at least 1"
#define SECONDS    "0.01 .. 86400 seconds"
#define TEXTS      "at most 32 of them"

/* Every command takes the first COMMON options. */
#define COMMON     3

static const struct usage_option options[] = {
    {"name", 0, required_argument, AT(name), NULL, NULL},
    {"runtime-dir", 0, required_argument, AT(runtime_dir), NULL, NULL},
    {"json", 0, no_argument, AT(json), NULL, NULL},
    {"watch", 0, optional_argument, AT(watch_s), usage_take_seconds, SECONDS},
    {"count", 'n', required_argument, AT(count), usage_take_count, NUMBER},
    {"output", 'o', required_argument, AT(output), NULL, NULL},
    {"raw", 0, no_argument, AT(raw), NULL, NULL},
    {"openmetrics", 0, no_argument, AT(openmetrics), NULL, NULL},
    {"prometheus", 0, no_argument, AT(prometheus), NULL, NULL},
    {"csv", 0, no_argument, AT(csv), NULL, NULL},
    {"if-serial", 0, required_argument, AT(if_serial), usage_take_count, NUMBER},
    {"fade", 0, required_argument, AT(fade), take_frames, "a number of frames"},
    {"no-wait", 0, no_argument, AT(no_wait), NULL, NULL},
    {"timeout", 0, required_argument, AT(timeout_s), usage_take_seconds, SECONDS},
    {"all", 0, no_argument, AT(all), NULL, NULL},
    {"config", 0, required_argument, AT(config), NULL, NULL},
    {"apply", 0, no_argument, AT(apply), NULL, NULL},
    {"report", 0, required_argument, AT(report), NULL, NULL},
    {"seconds", 0, required_argument, AT(seconds), usage_take_seconds, SECONDS},
    {"region", 0, required_argument, AT(regions), take_one, TEXTS},
    {"plot", 0, required_argument, AT(plot), NULL, NULL},
    {"picture", 0, required_argument, AT(picture), NULL, NULL},
    {"at", 0, required_argument, AT(at_hz), usage_take_seconds, "0.01 .. 86400 Hz"},
    {"filter", 'f', required_argument, AT(filter), NULL, NULL},
    {"size", 0, required_argument, AT(size), NULL, NULL},
    {"pixel-format", 0, required_argument, AT(pixel_format), NULL, NULL},
    {"fps", 0, required_argument, AT(fps), take_rate, "0.1 .. 1000 frames a second"},
    {"two-pass", 0, no_argument, AT(two_pass), NULL, NULL},
    {"compare", 0, no_argument, AT(compare), NULL, NULL},
    {"resume", 0, no_argument, AT(resume), NULL, NULL},
    {"set", 0, required_argument, AT(settings), take_one, TEXTS},
};
#define OPTION_COUNT (sizeof options / sizeof options[0])

void options_parse(struct ctl *ret, struct usage *ret_usage, int argc, char **argv)
{
    *ret = (struct ctl){.name = "default", .filter = "none"};
    const int first = usage_parse(ret_usage, options, OPTION_COUNT, ret, argc, argv);
    ret->given = ret_usage->given;
    ret->argc = argc - first;
    ret->argv = argv + first;
}

/* Returns whether a list of words, separated by spaces, contains this one. */
static bool has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (; *text != '\0'; text += strcspn(text, " "), text += strspn(text, " "))
        if (strncmp(text, word, length) == 0 && (text[length] == ' ' || text[length] == '\0'))
            return true;
    return false;
}

const char *options_find_unsuited(const struct ctl *ctl, const char *takes)
{
    for (unsigned i = COMMON; i < OPTION_COUNT; i++)
        if ((ctl->given >> i & 1) != 0 && !has_word(takes, options[i].name))
            return options[i].name;
    return NULL;
}
