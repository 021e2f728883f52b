/* Implements `calibrate`, which records the images of the filter kinds `dark` and `flat`. It takes
 * frames before the filter, so that the filter in use does not matter. `stripes` needs no dark
 * frame: from a moving scene it finds what `dark` has to subtract from columns and rows, and which
 * pixels it has to replace. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibration/average.h"
#include "commands.h"
#include "daemon.h"
#include "calibration/stripes.h"
#include "save.h"

#define IMAGES         "/etc/fftd/images"
#define DEFAULT_FRAMES 64
#define STAGE_BYTES    160
#define MAX_FRAMES     10000
#define MAX_NAME       63 /* bytes in the name of a filter's image */
#define MAX_WARNINGS   3
#define WARNING_BYTES  200

/* A recording in progress, and the warnings about it. */
struct recording {
    const char *kind; /* dark, flat or stripes */
    char name[MAX_NAME + 1];
    char path[PATH_MAX];
    unsigned frames; /* how many to take */
    struct average average;
    struct stripes stripes;  /* used by the kind `stripes` alone */
    uint32_t bad_pixels;     /* found by `stripes` */
    char stage[STAGE_BYTES]; /* the stage that uses it */
    unsigned warning_count;
    char warning[MAX_WARNINGS][WARNING_BYTES];
};

/* ---- names ---- */

static bool is(const struct recording *recording, const char *kind)
{
    return strcmp(recording->kind, kind) == 0;
}

/* Returns whether the daemon accepts the name for an image. */
static bool is_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-";
    const size_t length = strlen(name);
    return length > 0 && length <= MAX_NAME && name[0] != '.' && name[0] != '-' &&
           strspn(name, allowed) == length;
}

static const char *image_directory(void)
{
    const char *only = getenv("FFTD_IMAGE_DIR");
    return only != NULL && *only != '\0' ? only : IMAGES;
}

static int choose_path(struct recording *recording, const struct ctl *ctl)
{
    const char *name = ctl->argc > 1 ? ctl->argv[1] : recording->kind;
    const char *suffix = strstr(name, ".pfm") != NULL ? "" : ".pfm";
    const int length = snprintf(recording->name, sizeof recording->name, "%s%s", name, suffix);
    if (length > MAX_NAME || !is_name(recording->name))
        return ctl_fail(ctl, EX_USAGE,
                        "calibrate %s: the name of the image is %s: expected at most %d letters, "
                        "digits and . _ -, without a directory",
                        recording->kind, name, MAX_NAME - 4);
    const char *directory = ctl->output != NULL ? ctl->output : image_directory();
    const int used = output_is_file(ctl->output)
                         ? snprintf(recording->path, PATH_MAX, "%s", ctl->output)
                         : snprintf(recording->path, PATH_MAX, "%s/%s", directory, recording->name);
    if (used >= PATH_MAX)
        return ctl_fail(ctl, EX_USAGE, "calibrate %s: the path is too long", recording->kind);
    return 0;
}

/* ---- recording ---- */

static int begin(struct recording *recording, const struct fftd_format *format,
                 const char *captured)
{
    struct average *average = &recording->average;
    const int r = average_init(average, format->width, format->height, captured);
    return r < 0 || !is(recording, "stripes")
               ? r
               : stripes_init(&recording->stripes, format->width, format->height,
                              average->is_mosaic ? 2 : 1, recording->frames);
}

static int add_frame(struct recording *recording, const struct ctl *ctl, sd_bus *bus,
                     const char *captured)
{
    struct average *average = &recording->average;
    struct shot shot = {0};
    int r = 0;
    int code = daemon_snapshot(ctl, bus, &shot, true);
    if (code == 0 && average->sum == NULL)
        r = begin(recording, &shot.format, captured);
    if (code == 0 && r == 0 && average->is_mosaic && shot.before.layout->family == FFTD_FAMILY_GREY)
        code = ctl_fail(ctl, EX_DATAERR,
                        "calibrate %s: luma has no single samples of a mosaic: expected colours, "
                        "which engine.planes = luma publishes instead of luma-only",
                        recording->kind);
    if (code == 0 && r == 0)
        r = average_add(average, &shot.before, recording->stripes.level);
    if (code == 0 && r == 0 && is(recording, "stripes"))
        r = stripes_add(&recording->stripes);
    shot_finish(&shot);
    if (r == -EINVAL)
        code = ctl_fail(ctl, EX_TEMPFAIL,
                        "calibrate %s: the size or format of the frames has changed meanwhile; "
                        "nothing was written",
                        recording->kind);
    else if (r < 0)
        code = ctl_fail(ctl, EX_OSERR, "calibrate %s: %s", recording->kind, strerror(-r));
    return code;
}

static int record(struct recording *recording, const struct ctl *ctl)
{
    const unsigned frames = recording->frames;
    const bool screen = !ctl->json && isatty(STDERR_FILENO);
    char captured[16];
    sd_bus *bus = NULL;
    int code = daemon_open(ctl, &bus);
    if (code == 0)
        code = daemon_read_captured(ctl, bus, captured);
    for (unsigned i = 1; i <= frames && code == 0; i++) {
        code = add_frame(recording, ctl, bus, captured);
        if (screen)
            fprintf(stderr, "\r%u of %u frames%s", i, frames, i == frames || code != 0 ? "\n" : "");
    }
    sd_bus_unref(bus);
    return code;
}

/* Replaces the mean by the pattern. A bad pixel becomes white, which `dark` replaces. */
static int find_pattern(struct recording *recording)
{
    const struct average *average = &recording->average;
    struct stripes *stripes = &recording->stripes;
    const size_t count = (size_t)average->width * average->height;
    const int r = stripes_solve(stripes);
    if (r < 0)
        return r;
    for (size_t i = 0; i < count; i++) {
        const double pattern =
            stripes->column.offset[i % average->width] + stripes->row.offset[i / average->width];
        average->sum[i] = average->frames * (stripes->bad[i] != 0 ? 1 : pattern);
        recording->bad_pixels += stripes->bad[i];
    }
    return 0;
}

/* ---- warnings ---- */

static __attribute__((format(printf, 2, 3))) void warn(struct recording *recording,
                                                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(recording->warning[recording->warning_count++], WARNING_BYTES, format, args);
    va_end(args);
}

/* One pixel in a thousand may be white, because a few always are. Mains flicker, sampled at random,
 * changes the level by a few per cent from frame to frame; steady light changes it by a tenth of
 * that. */
static void judge(struct recording *recording)
{
    const struct average *average = &recording->average;
    const double level = average_level(average), white = average_white_share(average);
    const double unsteady = average_unsteadiness(average);
    if (is(recording, "stripes")) {
        if (stripes_is_still(&recording->stripes))
            warn(recording, "the scene hardly moved: its own columns and rows cannot be told from "
                            "a pattern");
        return;
    }
    if (white > 1e-3)
        warn(recording, "%.1f %% of the pixels are white: expected less exposure or gain",
             100 * white);
    if (is(recording, "flat") && level < 0.1)
        warn(recording,
             "the mean is %.1f %% of white: expected an evenly lit surface at about half",
             100 * level);
    if (is(recording, "dark") && level > 0.25)
        warn(recording, "the mean is %.1f %% of white: expected a covered lens", 100 * level);
    if (unsteady > (is(recording, "flat") ? 0.01 * level : 0.003))
        warn(recording,
             "the brightness varied by %.2f %% of white from frame to frame: expected steady "
             "light, and fixed exposure and gain",
             100 * unsteady);
}

/* ---- the file ---- */

static int open_place(const struct recording *recording, const struct ctl *ctl,
                      struct output_file *ret)
{
    const int r = output_open(ret, recording->path, OUTPUT_WHOLE);
    return r == 0 ? 0
                  : ctl_fail(ctl, EX_CANTCREAT,
                             "cannot create %s: %s; %s, or write it elsewhere with -o FILE and "
                             "move it to %s",
                             recording->path, ret->why,
                             r == -ENOENT ? "make its folder first"
                                          : "run this as a user who may write there",
                             image_directory());
}

/* Refuses a path that cannot be written. It comes first, because taking frames can last minutes. */
static int check_place(const struct recording *recording, const struct ctl *ctl)
{
    struct output_file output;
    struct stat st;
    if (stat(recording->path, &st) == 0 && S_ISFIFO(st.st_mode))
        return 0; /* its reader would take opening and closing for the end of the file */
    const int code = open_place(recording, ctl, &output);
    if (code == 0)
        output_discard(&output);
    return code;
}

static int save(const struct recording *recording, const struct ctl *ctl)
{
    struct output_file output;
    const int code = open_place(recording, ctl, &output);
    if (code != 0)
        return code;
    average_write(&recording->average, output.file);
    return save_end(ctl, &output, recording->path, 0);
}

static void print_json(const struct recording *recording)
{
    const struct average *average = &recording->average;
    struct json json = {.file = stdout};
    json_open(&json, NULL, '{');
    json_text(&json, "File", recording->path);
    json_text(&json, "Image", recording->name);
    json_integer(&json, "Frames", average->frames);
    json_integer(&json, "Width", average->width);
    json_integer(&json, "Height", average->height);
    json_number(&json, "Level", average_level(average));
    json_number(&json, "WhiteShare", average_white_share(average));
    json_number(&json, "Unsteadiness", average_unsteadiness(average));
    if (is(recording, "stripes")) {
        json_number(&json, "Columns", stripes_rms(&recording->stripes.column));
        json_number(&json, "Rows", stripes_rms(&recording->stripes.row));
        json_integer(&json, "BadPixels", recording->bad_pixels);
    }
    json_text(&json, "Stage", recording->stage);
    json_open(&json, "Warnings", '[');
    for (unsigned i = 0; i < recording->warning_count; i++)
        json_text(&json, NULL, recording->warning[i]);
    json_close(&json, ']');
    json_close(&json, '}');
}

static int print_result(const struct recording *recording, const struct ctl *ctl)
{
    if (ctl->json) {
        print_json(recording);
        return ctl_finish(ctl);
    }
    for (unsigned i = 0; i < recording->warning_count; i++)
        fprintf(stderr, "fftd-ctl: warning: %s\n", recording->warning[i]);
    if (is(recording, "stripes"))
        printf("%s: from %u frames, columns vary by %.2f %% of white and rows by %.2f %%, "
               "%u pixels are hot or dead\n",
               recording->path, recording->average.frames,
               100 * stripes_rms(&recording->stripes.column),
               100 * stripes_rms(&recording->stripes.row), recording->bad_pixels);
    else
        printf("%s: mean of %u frames, %.1f %% of white\n", recording->path,
               recording->average.frames, 100 * average_level(&recording->average));
    char expected[PATH_MAX];
    snprintf(expected, sizeof expected, "%s/%s", image_directory(), recording->name);
    fputs("to use the image, ", stdout);
    if (strcmp(recording->path, expected) != 0)
        printf("move it to %s and ", expected);
    printf("run `%s filter add %s`\n", ctl_program(ctl), recording->stage);
    return ctl_finish(ctl);
}

int command_calibrate(const struct ctl *ctl)
{
    struct recording recording = {.kind = ctl->argv[0]};
    const bool is_blind = is(&recording, "stripes");
    const uint64_t frames = ctl->count != 0 ? ctl->count : DEFAULT_FRAMES;
    if (!is(&recording, "dark") && !is(&recording, "flat") && !is_blind)
        return ctl_fail(ctl, EX_USAGE, "calibrate %s: expected dark, flat or stripes",
                        recording.kind);
    if (is_blind && frames < 2)
        return ctl_fail(ctl, EX_USAGE, "calibrate stripes: --count: expected at least 2 frames");
    if (frames > MAX_FRAMES)
        return ctl_fail(ctl, EX_USAGE, "calibrate: --count: expected 1 .. %d frames", MAX_FRAMES);
    recording.frames = (unsigned)frames;
    int code = choose_path(&recording, ctl);
    if (code == 0)
        code = check_place(&recording, ctl);
    if (code == 0)
        code = record(&recording, ctl);
    if (code == 0 && is_blind && find_pattern(&recording) < 0)
        code = ctl_fail(ctl, EX_OSERR, "calibrate stripes: out of memory");
    if (code == 0) {
        snprintf(recording.stage, STAGE_BYTES, "%s:image=%s", is_blind ? "dark" : recording.kind,
                 recording.name);
        judge(&recording);
        code = save(&recording, ctl);
    }
    if (code == 0)
        code = print_result(&recording, ctl);
    average_finish(&recording.average);
    stripes_finish(&recording.stripes);
    return code;
}
