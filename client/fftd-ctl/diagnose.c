/* Implements `diagnose`, which looks at frames before the filter, says what is wrong with them, and
 * which filter helps. The judgement is client/diagnosis; this gets frames and prints findings. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "change.h"
#include "commands.h"
#include "common/bus.h"
#include "common/json.h"
#include "core/clock.h"
#include "daemon.h"
#include "diagnosis/diagnosis.h"
#include "diagnosis/intake.h"
#include "recording/input.h"
#include "save.h"

#define DEFAULT_FRAMES 90u          /* three seconds at the usual rate */
#define MOST_BYTES     (256u << 20) /* at most for kept frames, at two bytes a pixel */
#define PATIENCE_NS    10000000000  /* how long a camera is watched, and a file is waited for */
#define RATE           30.          /* assumed if a file does not tell its rate */

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

/* ---- frames ---- */

/* Writes "WHAT: N of M" on stderr, over the last one, if it is a terminal. */
static void progress(const struct ctl *ctl, const char *what, unsigned done, unsigned total)
{
    if (!ctl->json && isatty(STDERR_FILENO))
        fprintf(stderr, "\r%s: %u of %u%s", what, done, total, done >= total ? "\n" : "");
}

static int begin(const struct ctl *ctl, struct intake *intake, const struct pixels *pixels,
                 const char *captured)
{
    const struct fftd_format *format = pixels->format;
    const int r = intake_begin(intake, pixels, captured, MOST_BYTES);
    if (r == -EINVAL)
        return ctl_fail(ctl, EX_DATAERR,
                        "diagnose: the frames have %u x %u pixels: expected %u .. "
                        "%u a side",
                        format->width, format->height, DIAGNOSIS_MIN_SIDE, DIAGNOSIS_MAX_SIDE);
    return r == 0 ? 0 : ctl_fail(ctl, EX_OSERR, "diagnose: %s", strerror(-r));
}

static int take_in(const struct ctl *ctl, struct intake *intake, const struct pixels *pixels,
                   uint64_t sequence, int64_t captured_ns)
{
    const int r = intake_add(intake, pixels, sequence, captured_ns);
    if (r == -EINVAL)
        return ctl_fail(ctl, EX_TEMPFAIL,
                        "diagnose: the size or format of the frames has changed meanwhile");
    progress(ctl, "looking at frames", intake->got, intake->wanted);
    return r == 0 ? 0 : ctl_fail(ctl, EX_OSERR, "diagnose: %s", strerror(-r));
}

static void finish(struct intake *intake, struct diagnosis **ret, int code)
{
    intake_finish(intake);
    if (code != 0)
        diagnosis_destroy(intake->diagnosis);
    else
        *ret = intake->diagnosis;
}

/* ---- a daemon ---- */

static int watch(const struct ctl *ctl, struct intake *intake, sd_bus *bus, const char *captured)
{
    const int64_t begin_ns = clock_now_ns();
    int code = 0;
    while (code == 0 && intake->got < intake->wanted &&
           (intake->got < INTAKE_FEWEST || clock_now_ns() - begin_ns < PATIENCE_NS)) {
        struct shot shot = {0};
        code = daemon_snapshot(ctl, bus, &shot, true);
        if (code == 0 && intake->diagnosis == NULL)
            code = begin(ctl, intake, &shot.before, captured);
        if (code == 0)
            code = take_in(ctl, intake, &shot.before, shot.sequence, shot.captured_ns);
        shot_finish(&shot);
    }
    return code;
}

/* Fills a diagnosis with at most `frames` frames of a daemon, before its filter, and fewer if they
 * are large. Returns 0 or an exit code. The caller destroys *ret, which is NULL after a failure. */
static int watch_daemon(const struct ctl *ctl, unsigned frames, struct diagnosis **ret)
{
    struct intake intake = {.wanted = frames};
    sd_bus *bus = NULL;
    char captured[16];
    int code = daemon_open(ctl, &bus);
    if (code == 0)
        code = daemon_read_captured(ctl, bus, captured);
    if (code == 0)
        code = watch(ctl, &intake, bus, captured);
    sd_bus_unref(bus);
    finish(&intake, ret, code);
    return code;
}

/* ---- a file ---- */

/* A frame that was cut off is the end of the file. */
static int read_frames(const struct ctl *ctl, struct intake *intake, struct input *input)
{
    const struct fftd_format *format = &input->format;
    const double interval_ns =
        format->rate_num > 0 ? 1e9 * format->rate_den / format->rate_num : 1e9 / RATE;
    struct pixels pixels;
    uint8_t *memory = malloc(format->frame_bytes);
    int r = 1;
    if (memory == NULL || pixels_from_memory(&pixels, format, memory, format->frame_bytes) < 0) {
        free(memory);
        return ctl_fail(ctl, EX_OSERR, "diagnose: out of memory");
    }
    int code = begin(ctl, intake, &pixels, NULL);
    while (code == 0 && intake->got < intake->wanted && (r = input_read(input, memory)) > 0)
        code =
            take_in(ctl, intake, &pixels, intake->got + 1, 1 + llround(interval_ns * intake->got));
    if (code == 0 && r < 0 && r != -ENODATA)
        code = ctl_fail(ctl, EX_NOINPUT, "diagnose: %s", input->why);
    else if (code == 0 && intake->got == 0)
        code = ctl_fail(ctl, EX_NOINPUT, "diagnose: %s: it has no whole frame", input->path);
    else if (code == 0 && r <= 0)
        progress(ctl, "looking at frames", intake->got, intake->got);
    free(memory);
    return code;
}

/* Does the same with a Y4M file, or stdin if the path is "-". Fails if no whole frame arrives
 * within ten seconds. Stops after `frames` frames, even if the file never ends. */
static int read_file(const struct ctl *ctl, const char *path, unsigned frames,
                     struct diagnosis **ret)
{
    const struct input_request request = {.patience_ms = PATIENCE_NS / 1000000};
    struct intake intake = {.wanted = frames};
    struct input input;
    const int r = input_open(&input, path, &request);
    const int code = r < 0 ? ctl_fail(ctl, EX_NOINPUT, "diagnose: %s", input.why)
                           : read_frames(ctl, &intake, &input);
    input_close(&input);
    finish(&intake, ret, code);
    return code;
}

/* ---- what was found ---- */

#define ADVICE_BYTES (sizeof(((struct diagnosis_finding *)NULL)->advice) + 2 * CTL_PROGRAM_BYTES)

/* Writes an advice whose commands are for this daemon. Two have room, however long its directory
 * is; what has none is cut off. */
static void advice_for(const struct ctl *ctl, const char *advice, char text[ADVICE_BYTES])
{
    size_t used = 0;
    const char *command;
    for (; used < ADVICE_BYTES && (command = strstr(advice, "fftd-ctl ")) != NULL;
         advice = command + strlen("fftd-ctl"))
        used += (size_t)snprintf(text + used, ADVICE_BYTES - used, "%.*s%s",
                                 (int)(command - advice), advice, ctl_program(ctl));
    if (used < ADVICE_BYTES)
        snprintf(text + used, ADVICE_BYTES - used, "%s", advice);
}

static void print_text(const struct ctl *ctl, const struct diagnosis_result *result)
{
    char advice[ADVICE_BYTES];
    if (result->count == 0)
        printf("nothing found in %u frames\n", result->frames);
    for (unsigned i = 0; i < result->count; i++) {
        const struct diagnosis_finding *finding = &result->finding[i];
        printf("%u. %s: %s\n", i + 1, diagnosis_name(finding->kind), finding->text);
        if (finding->stage[0] != '\0')
            printf("   filter: %s\n", finding->stage);
        advice_for(ctl, finding->advice, advice);
        if (advice[0] != '\0')
            printf("   %s\n", advice);
    }
    if (result->chain[0] != '\0')
        printf("\nAll filters above in one chain:\n  %s filter set '%s'\n", ctl_program(ctl),
               result->chain);
}

static void print_json(const struct ctl *ctl, const struct diagnosis_result *result,
                       uint64_t serial)
{
    char advice[ADVICE_BYTES];
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
        advice_for(ctl, finding->advice, advice);
        json_text(&json, "Advice", advice);
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

/* ---- the report: one HTML file with everything in it, which loads nothing ---- */

static void write_escaped(FILE *file, const char *text)
{
    for (; *text != '\0'; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", file);
            break;
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        default:
            putc(*text, file);
        }
}

static void write_base64(FILE *file, const uint8_t *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < count; i += 3) {
        const uint32_t group = (uint32_t)bytes[i] << 16 |
                               (i + 1 < count ? (uint32_t)bytes[i + 1] << 8 : 0) |
                               (i + 2 < count ? bytes[i + 2] : 0);
        putc(digits[group >> 18 & 63], file);
        putc(digits[group >> 12 & 63], file);
        putc(i + 1 < count ? digits[group >> 6 & 63] : '=', file);
        putc(i + 2 < count ? digits[group & 63] : '=', file);
    }
}

static int write_picture(FILE *file, const struct picture *picture, const char *what)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&bytes, &size);
    int r = memory == NULL ? -ENOMEM : picture_write_png(picture, memory);
    if (memory != NULL && fclose(memory) != 0 && r == 0)
        r = -ENOMEM;
    if (r == 0) {
        fprintf(file, "<figure><img alt=\"%s\" src=\"data:image/png;base64,", what);
        write_base64(file, (const uint8_t *)bytes, size);
        fprintf(file, "\"><figcaption>%s</figcaption></figure>\n", what);
    }
    free(bytes);
    return r;
}

static void write_chain(FILE *file, const struct ctl *ctl, const char *chain)
{
    fputs("<pre>", file);
    write_escaped(file, ctl_program(ctl));
    fputs(" filter set '", file);
    write_escaped(file, chain);
    fputs("'</pre>\n", file);
}

/* Commands are between backquotes, which a directory may have, too. */
static void write_advice(FILE *file, const struct ctl *ctl, const char *advice)
{
    char copy[sizeof((struct diagnosis_finding *)NULL)->advice], text[ADVICE_BYTES], *rest = copy;
    snprintf(copy, sizeof copy, "%s", advice);
    fputs("<p>", file);
    for (bool is_command = false; rest != NULL; is_command = !is_command) {
        fputs(is_command ? "<code>" : "", file);
        advice_for(ctl, strsep(&rest, "`"), text);
        write_escaped(file, text);
        fputs(is_command ? "</code>" : "", file);
    }
    fputs("</p>", file);
}

static int write_finding(FILE *file, const struct ctl *ctl, struct diagnosis *diagnosis,
                         const struct diagnosis_finding *finding)
{
    static const char *const what[] = {"before", "after, about"};
    struct picture picture[2] = {{0}};
    const int count = diagnosis_draw(diagnosis, finding, picture);
    int r = count < 0 ? count : 0;
    fprintf(file, "<section><h2>%s</h2>\n<p>", diagnosis_name(finding->kind));
    write_escaped(file, finding->text);
    fputs(".</p>\n", file);
    for (int i = 0; i < count && r == 0; i++)
        r = write_picture(file, &picture[i], what[i]);
    if (finding->stage[0] != '\0')
        write_chain(file, ctl, finding->stage);
    write_advice(file, ctl, finding->advice);
    fputs("</section>\n", file);
    picture_free(&picture[0]);
    picture_free(&picture[1]);
    return r;
}

static int write_page(FILE *file, const struct ctl *ctl, struct diagnosis *diagnosis,
                      const struct diagnosis_result *result)
{
    int r = 0;
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">"
          "<meta name=\"viewport\" content=\"width=device-width\">\n"
          "<title>fftd: what is wrong with the picture</title>\n"
          "<style>body{font:16px sans-serif;max-width:46em;margin:1em auto;padding:0 1em}"
          "figure{display:inline-block;margin:0 .5em .5em 0}img{max-width:100%}"
          "pre{background:#eee;color:#000;padding:.5em;white-space:pre-wrap}</style>\n"
          "<h1>What is wrong with the picture</h1>\n",
          file);
    fprintf(file, "<p>From %u frames; the most annoying first.</p>\n", result->frames);
    if (result->count == 0)
        fputs("<p>Nothing was found.</p>\n", file);
    for (unsigned i = 0; i < result->count && r == 0; i++)
        r = write_finding(file, ctl, diagnosis, &result->finding[i]);
    if (result->chain[0] != '\0') {
        fputs("<h2>All filters in one chain</h2>\n", file);
        write_chain(file, ctl, result->chain);
    }
    fputs("</html>\n", file);
    return r;
}

/* Writes ctl->report. Prints the reason for a failure, and returns 0 or an exit code. */
static int write_report(const struct ctl *ctl, struct diagnosis *diagnosis,
                        const struct diagnosis_result *result)
{
    struct output_file output;
    const int code = save_begin(ctl, &output, ctl->report, OUTPUT_WHOLE);
    return code != 0 ? code
                     : save_end(ctl, &output, ctl->report,
                                write_page(output.file, ctl, diagnosis, result));
}

/* ---- what to do about it ---- */

/* Says how to get back the filter that is about to be replaced. */
static void note_filter(const struct ctl *ctl, sd_bus *bus)
{
    sd_bus_message *properties = NULL;
    if (daemon_try_get_all(ctl, bus, &properties) == 0)
        fprintf(stderr, "fftd-ctl: diagnose: to restore the filter: %s filter set '%s'\n",
                ctl_program(ctl), bus_text(properties, "Filter"));
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
    progress(context, "judging", done, total);
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
        print_text(ctl, &result);
    if (ctl->report != NULL)
        code = write_report(ctl, diagnosis, &result);
    if (code == 0 && ctl->apply && result.chain[0] != '\0')
        code = apply(ctl, &result, &serial);
    if (code == 0 && ctl->json)
        print_json(ctl, &result, serial);
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
    int code = ctl->argc > 0 ? read_file(ctl, ctl->argv[0], (unsigned)frames, &diagnosis)
                             : watch_daemon(ctl, (unsigned)frames, &diagnosis);
    if (code == 0)
        code = judge(ctl, diagnosis);
    diagnosis_destroy(diagnosis);
    return code;
}
