/* Implements `diagnose`, which looks at frames before the filter, says what is wrong with them, and
 * which filter helps. The judgement is client/diagnosis; this gets frames and prints findings. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "change.h"
#include "commands.h"
#include "common/bus.h"
#include "common/json.h"
#include "core/clock.h"
#include "daemon.h"
#include "diagnose_report.h"
#include "diagnose_source.h"

#define DEFAULT_FRAMES 90u /* three seconds at the usual rate */

const char diagnose_help[] =
    "Looks at frames before the filter for some seconds, or at a Y4M file (- is\n"
    "stdin), and says what it found, the most annoying first, with figures and the\n"
    "stages that help. The picture of other readers is left alone. A clean picture\n"
    "has no findings.\n\n"
    "  periodic-noise         waves that the camera's electronics add\n"
    "  screen                 a halftone screen, or moire of a display\n"
    "  flicker                bands of mains light or of a dimmed lamp\n"
    "  stripes, hot-pixels    what the sensor adds to columns, rows and pixels\n"
    "  shading                corners that the lens darkens\n"
    "  defocus, motion-blur   blur, with the shape and size that wiener needs\n"
    "  noise                  random noise, and how much of it grows with light\n"
    "  shake                  the camera does not stand still\n"
    "  clipping, exposure     what only the exposure can change\n\n"
    "A scene that moves a little tells more than one that stands still: the camera's\n"
    "own faults stay where they are. It takes the right to change the filter, unless\n"
    "output.watch_unfiltered is set in the configuration.\n\n"
    "  -n, --count N          look at N frames, 1 .. 1000 (default: 90)\n"
    "      --apply            replace the filter by the chain that helps\n"
    "      --report FILE      also write findings, with pictures before and after,\n"
    "                         as one HTML file\n\n"
    "Examples:\n"
    "  fftd-ctl diagnose\n"
    "  fftd-ctl --name front diagnose --apply\n"
    "  fftd-ctl diagnose --report report.html clip.y4m\n"
    "  fftd-ctl diagnose --json | jq -r .Chain\n"
    "  ffmpeg -i clip.mp4 -f yuv4mpegpipe - | fftd-ctl diagnose -\n";

/* ---- what was found ---- */

static void print_text(const struct diagnosis_result *result)
{
    if (result->count == 0)
        printf("nothing found in %u frames\n", result->frames);
    for (unsigned i = 0; i < result->count; i++) {
        const struct diagnosis_finding *finding = &result->finding[i];
        printf("%u. %s: %s\n", i + 1, diagnosis_name(finding->kind), finding->text);
        if (finding->stage[0] != '\0')
            printf("   filter: %s\n", finding->stage);
        if (finding->advice[0] != '\0')
            printf("   %s\n", finding->advice);
    }
    if (result->chain[0] != '\0')
        printf("\nThe chain for all of it:\n  fftd-ctl filter set '%s'\n", result->chain);
}

static void print_json(const struct diagnosis_result *result, uint64_t serial)
{
    struct json json = {.file = stdout};
    json_open(&json, NULL, '{');
    json_integer(&json, "Frames", result->frames);
    json_open(&json, "Findings", '[');
    for (unsigned i = 0; i < result->count; i++) {
        const struct diagnosis_finding *finding = &result->finding[i];
        json_open(&json, NULL, '{');
        json_text(&json, "Kind", diagnosis_name(finding->kind));
        json_number(&json, "Annoyance", finding->annoyance);
        json_text(&json, "Text", finding->text);
        json_text(&json, "Stage", finding->stage);
        json_text(&json, "Advice", finding->advice);
        json_open(&json, "Figures", '{');
        for (unsigned k = 0; k < finding->figures; k++)
            json_number(&json, finding->figure[k].name, finding->figure[k].value);
        json_close(&json, '}');
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_text(&json, "Chain", result->chain);
    if (serial != 0)
        json_integer(&json, "Serial", serial);
    json_close(&json, '}');
}

/* ---- what to do about it ---- */

/* Says how to get back the filter that is about to be replaced. */
static void note_filter(const struct ctl *ctl, sd_bus *bus)
{
    sd_bus_message *properties = NULL;
    if (daemon_try_get_all(ctl, bus, &properties) == 0)
        fprintf(stderr, "fftd-ctl: diagnose: the filter before: fftd-ctl filter set '%s'\n",
                bus_text(properties, "Filter"));
    sd_bus_message_unref(properties);
}

/* Replaces the filter. With --json, the serial is printed with the findings. */
static int apply(const struct ctl *ctl, const struct diagnosis_result *result, uint64_t *ret_serial)
{
    struct change_call call;
    sd_bus_message *reply = NULL;
    const uint64_t begin_us = clock_now_us();
    int code = change_begin(&call, ctl);
    if (code != 0)
        return code;
    if (!ctl->json)
        note_filter(ctl, call.bus);
    change_append(&call, "replace", result->chain, NULL, NULL);
    code = change_request(&call, &reply);
    if (code == 0 && ctl->json)
        sd_bus_message_read(reply, "t", ret_serial);
    else if (code == 0)
        code = change_print_serial(ctl, call.bus, reply, begin_us);
    sd_bus_message_unref(reply);
    return change_finish(&call, code);
}

static void show_progress(void *context, unsigned done, unsigned total)
{
    diagnose_progress(context, "judging", done, total);
}

static int judge(const struct ctl *ctl, struct diagnosis *diagnosis)
{
    struct diagnosis_result result;
    uint64_t serial = 0;
    int code = 0;
    const int r = diagnosis_finish(diagnosis, &result, show_progress, (void *)ctl);
    if (r < 0)
        return ctl_fail(ctl, EX_OSERR, "diagnose: %s", strerror(-r));
    if (!ctl->json)
        print_text(&result);
    if (ctl->report != NULL)
        code = diagnose_write_report(ctl, diagnosis, &result);
    if (code == 0 && ctl->apply && result.chain[0] != '\0')
        code = apply(ctl, &result, &serial);
    if (code == 0 && ctl->json)
        print_json(&result, serial);
    return code == 0 ? ctl_finish(ctl) : code;
}

int command_diagnose(const struct ctl *ctl)
{
    struct diagnosis *diagnosis = NULL;
    const uint64_t frames = ctl->count != 0 ? ctl->count : DEFAULT_FRAMES;
    if (frames > DIAGNOSIS_MAX_FRAMES)
        return ctl_fail(ctl, EX_USAGE, "diagnose: --count: expected 1 .. %u frames",
                        DIAGNOSIS_MAX_FRAMES);
    if (ctl->apply && ctl->argc > 0)
        return ctl_fail(ctl, EX_USAGE, "diagnose: --apply needs a daemon, and %s is a file",
                        ctl->argv[0]);
    int code = ctl->argc > 0 ? diagnose_read(ctl, ctl->argv[0], (unsigned)frames, &diagnosis)
                             : diagnose_watch(ctl, (unsigned)frames, &diagnosis);
    if (code == 0)
        code = judge(ctl, diagnosis);
    diagnosis_destroy(diagnosis);
    return code;
}
