#include "options.h"

#include <getopt.h>
#include <stddef.h>
#include <string.h>

#include "commands.h"
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

static const struct usage_option options[] = {
    {"name", 0, required_argument, AT(name), NULL, NULL, 0},
    {"runtime-dir", 0, required_argument, AT(runtime_dir), NULL, NULL, 0},
    {"json", 0, no_argument, AT(json), NULL, NULL, 0},
    {"watch", 0, optional_argument, AT(watch_s), usage_take_seconds, SECONDS, TAKES_WATCH},
    {"count", 'n', required_argument, AT(count), usage_take_count, NUMBER, TAKES_COUNT},
    {"output", 'o', required_argument, AT(output), NULL, NULL, TAKES_OUTPUT},
    {"raw", 0, no_argument, AT(raw), NULL, NULL, TAKES_RAW},
    {"openmetrics", 0, no_argument, AT(openmetrics), NULL, NULL, TAKES_OPENMETRICS},
    {"prometheus", 0, no_argument, AT(prometheus), NULL, NULL, TAKES_PROMETHEUS},
    {"csv", 0, no_argument, AT(csv), NULL, NULL, TAKES_CSV},
    {"if-serial", 0, required_argument, AT(if_serial), usage_take_count, NUMBER, TAKES_IF_SERIAL},
    {"fade", 0, required_argument, AT(fade), take_frames, "a number of frames", TAKES_FADE},
    {"no-wait", 0, no_argument, AT(no_wait), NULL, NULL, TAKES_NO_WAIT},
    {"timeout", 0, required_argument, AT(timeout_s), usage_take_seconds, SECONDS, TAKES_TIMEOUT},
    {"all", 0, no_argument, AT(all), NULL, NULL, TAKES_SAVE},
    {"config", 0, required_argument, AT(config), NULL, NULL, TAKES_SAVE},
    {"apply", 0, no_argument, AT(apply), NULL, NULL, TAKES_APPLY},
    {"report", 0, required_argument, AT(report), NULL, NULL, TAKES_REPORT},
    {"seconds", 0, required_argument, AT(seconds), usage_take_seconds, SECONDS, TAKES_MOTION},
    {"region", 0, required_argument, AT(regions), take_one, TEXTS, TAKES_MOTION},
    {"plot", 0, required_argument, AT(plot), NULL, NULL, TAKES_MOTION},
    {"picture", 0, required_argument, AT(picture), NULL, NULL, TAKES_MOTION},
    {"at", 0, required_argument, AT(at_hz), usage_take_seconds, "0.01 .. 86400 Hz", TAKES_MOTION},
    {"filter", 'f', required_argument, AT(filter), NULL, NULL, TAKES_CONVERT},
    {"size", 0, required_argument, AT(size), NULL, NULL, TAKES_FRAMES},
    {"pixel-format", 0, required_argument, AT(pixel_format), NULL, NULL, TAKES_CONVERT},
    {"fps", 0, required_argument, AT(fps), take_rate, "0.1 .. 1000 frames a second", TAKES_FRAMES},
    {"two-pass", 0, no_argument, AT(two_pass), NULL, NULL, TAKES_CONVERT},
    {"compare", 0, no_argument, AT(compare), NULL, NULL, TAKES_CONVERT},
    {"resume", 0, no_argument, AT(resume), NULL, NULL, TAKES_CONVERT},
    {"set", 0, required_argument, AT(settings), take_one, TEXTS, TAKES_FRAMES},
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

const char *options_find_unsuited(const struct ctl *ctl, unsigned takes)
{
    for (unsigned i = 0; i < OPTION_COUNT; i++)
        if ((ctl->given >> i & 1) != 0 && (options[i].kind & ~takes) != 0)
            return options[i].name;
    return NULL;
}
