/* Implements `snapshot`, which saves one frame before and after the filter as images. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common/output.h"
#include "common/reading.h"
#include "daemon.h"
#include "pictures/spectrum.h"
#include "save.h"

/* ---- pictures ---- */

static int draw_before(struct picture *ret, const struct shot *shot)
{
    return picture_from_pixels(ret, &shot->before);
}

static int draw_after(struct picture *ret, const struct shot *shot)
{
    return picture_from_pixels(ret, &shot->after);
}

static int draw_side_by_side(struct picture *ret, const struct shot *shot)
{
    struct picture before = {0}, after = {0};
    int r = draw_before(&before, shot);
    if (r == 0)
        r = draw_after(&after, shot);
    if (r == 0)
        r = picture_beside(ret, &before, &after);
    picture_free(&before);
    picture_free(&after);
    return r;
}

/* Draws both spectra on one scale, so that the right one is darker where the filter removes power.
 */
static int draw_spectrum(struct picture *ret, const struct shot *shot)
{
    struct picture left = {0}, right = {0};
    double *before = NULL, *after = NULL;
    int r = spectrum_create(&before, &shot->before);
    if (r == 0)
        r = spectrum_create(&after, &shot->after);
    if (r == 0)
        r = spectrum_draw(&left, before, before);
    if (r == 0)
        r = spectrum_draw(&right, after, before);
    if (r == 0)
        r = picture_beside(ret, &left, &right);
    picture_free(&left);
    picture_free(&right);
    free(before);
    free(after);
    return r;
}

static const struct kind {
    const char *name;
    int (*draw)(struct picture *ret, const struct shot *shot);
    bool with_before; /* also shows the frame before the filter */
} kinds[] = {
    {"before", draw_before, true},
    {"after", draw_after, false},
    {"spectrum", draw_spectrum, true},
    {"side-by-side", draw_side_by_side, true},
};
#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

static const struct kind *find_kind(const char *name)
{
    for (unsigned i = 0; i < KIND_COUNT; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

/* ---- files ---- */

static int write_picture(const struct ctl *ctl, const struct kind *kind, const struct shot *shot,
                         const char *path)
{
    struct picture picture = {0};
    int r = kind->draw(&picture, shot);
    if (r < 0)
        return ctl_fail(ctl, EX_OSERR, "snapshot %s: %s", kind->name, strerror(-r));
    const int code = save_picture(ctl, &picture, path);
    picture_free(&picture);
    return code;
}

/* Writes the path of an image: --output is the file of one image, or the directory of several. */
static int path_of(const struct ctl *ctl, const struct kind *kind, bool single, char path[PATH_MAX])
{
    int length =
        single && output_is_file(ctl->output)
            ? snprintf(path, PATH_MAX, "%s", ctl->output)
            : snprintf(path, PATH_MAX, "%s%s%s.png", ctl->output != NULL ? ctl->output : "",
                       ctl->output != NULL ? "/" : "", kind->name);
    return length < PATH_MAX ? 0 : ctl_fail(ctl, EX_USAGE, "--output: the path is too long");
}

/* Prints a note if the picture's filter is older than the newest one when the command began. */
static void note_filter(const struct ctl *ctl, const struct shot *shot, uint64_t wanted_serial,
                        const char *why)
{
    bool shows_filter = ctl->argc == 0;
    for (int i = 0; i < ctl->argc; i++)
        shows_filter |= find_kind(ctl->argv[i])->draw != draw_before;
    if (!ctl->json && shows_filter && shot->filter_serial > 0 &&
        shot->filter_serial < wanted_serial)
        fprintf(stderr, "fftd-ctl: filter %" PRIu64 " %s: this picture has filter %" PRIu64 "\n",
                wanted_serial, why, shot->filter_serial);
}

static int write_pictures(const struct ctl *ctl, const struct shot *shot, uint64_t wanted_serial)
{
    const struct kind *wanted[KIND_COUNT];
    unsigned count = ctl->argc > 0 ? (unsigned)ctl->argc : KIND_COUNT;
    struct json json = {.file = stdout};
    char path[PATH_MAX], why[OUTPUT_WHY_BYTES];
    int code = 0;

    for (unsigned i = 0; i < count; i++)
        wanted[i] = ctl->argc > 0 ? find_kind(ctl->argv[i]) : &kinds[i];
    if (count > 1 && ctl->output != NULL && output_make_directory(ctl->output, why) < 0)
        return ctl_fail(ctl, EX_CANTCREAT, "cannot create %s: %s", ctl->output, why);
    bool to_stdout = ctl->output != NULL && strcmp(ctl->output, "-") == 0;
    bool report = ctl->json && !to_stdout;
    if (report) {
        json_open(&json, NULL, '{');
        json_integer(&json, "Sequence", shot->sequence);
        json_integer(&json, "CapturedNs", (uint64_t)shot->captured_ns);
        json_integer(&json, "FilterSerial", shot->filter_serial);
        json_integer(&json, "Serial", wanted_serial);
        json_open(&json, "Pictures", '[');
    }
    for (unsigned i = 0; i < count && code == 0; i++) {
        code = path_of(ctl, wanted[i], count == 1, path);
        if (code == 0)
            code = write_picture(ctl, wanted[i], shot, path);
        if (code == 0 && report)
            json_text(&json, NULL, path);
        else if (code == 0 && !to_stdout)
            puts(path);
    }
    if (report) {
        json_close(&json, ']');
        json_close(&json, '}');
    }
    return code == 0 ? ctl_finish(ctl) : code;
}

int command_snapshot(const struct ctl *ctl)
{
    sd_bus *bus = NULL;
    sd_bus_message *properties = NULL;
    struct shot shot = {0};
    uint64_t wanted_serial = 0;
    char why[READING_WHY_BYTES] = "is being prepared";
    bool with_before = ctl->argc == 0;

    for (int i = 0; i < ctl->argc; i++) {
        const struct kind *kind = find_kind(ctl->argv[i]);
        if (kind == NULL)
            return ctl_fail(ctl, EX_USAGE,
                            "snapshot %s: expected before, after, spectrum or side-by-side",
                            ctl->argv[i]);
        with_before |= kind->with_before;
    }
    if (ctl->argc != 1 && ctl->output != NULL && strcmp(ctl->output, "-") == 0)
        return ctl_fail(ctl, EX_USAGE, "snapshot: only one image can go to stdout: name it");

    int code = daemon_open(ctl, &bus);
    /* A snapshot does not fail without the properties: only the note needs them. */
    if (code == 0 && daemon_try_get_all(ctl, bus, &properties) == 0) {
        wanted_serial = bus_u64(properties, "Serial");
        reading_is_pending(properties, wanted_serial, why);
    }
    if (code == 0)
        code = daemon_snapshot(ctl, bus, &shot, with_before);
    if (code == 0)
        code = write_pictures(ctl, &shot, wanted_serial);
    if (code == 0)
        note_filter(ctl, &shot, wanted_serial, why);
    shot_finish(&shot);
    sd_bus_message_unref(properties);
    sd_bus_unref(bus);
    return code;
}
