/* Implements `motion`, a vibrometer: reads fields of motion from frames for some seconds, and says
 * at which frequencies regions or blocks of the picture move, and how far. The maths is
 * client/vibration; this reads frames and prints. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fftd/fftd.h>

#include "commands.h"
#include "common/bus.h"
#include "common/frames.h"
#include "common/json.h"
#include "common/output.h"
#include "core/clock.h"
#include "daemon.h"
#include "save.h"
#include "vibration/vibration.h"

#define DEFAULT_S   10.
#define MOST_S      120.
#define WAIT_MS     200
#define PATIENCE_NS (10 * NS_PER_S) /* how long to wait for a field, and for a daemon to return */
#define WITHOUT_NS  (5 * NS_PER_S)  /* how long frames may come without any */
#define SLOW        0.7 /* fields for each frame: below this, the rate deserves a note */

const char motion_help[] =
    "A vibrometer: reads for some seconds how the picture before the filter moves,\n"
    "and says at which frequencies regions of it do, with amplitude and phase;\n"
    "without regions, the mean of all blocks (all) and single blocks. It needs\n"
    "output = { motion = \"32\"; }; in the configuration (16, 32 or 64: the side of a\n"
    "block in pixels), or fftd --set output.motion=32.\n\n"
    "Frequencies go from two periods within the time to half the rate of the fields;\n"
    "faster vibrations appear below that, as with a stroboscope. Amplitudes are from\n"
    "the middle to the end of the movement, in pixels of the captured picture; +- is\n"
    "the standard deviation by noise. A region should lie within what moves.\n\n"
    "      --seconds N        how long to read, 0.5 .. 120 (default: 10)\n"
    "      --region [NAME=]X,Y,WxH\n"
    "                         look at these pixels; may be repeated, up to 8 times\n"
    "      --csv              print the displacement over time as CSV instead\n"
    "  -o, --output FILE      write that to FILE as well\n"
    "      --plot FILE        draw displacement and spectrum as a PNG image\n"
    "      --picture FILE     draw where the picture moves at a frequency over the\n"
    "                         last frame, as a PNG image\n"
    "      --at HZ            that frequency (default: of the greatest amplitude)\n\n"
    "Ctrl-C ends the reading early.\n\n"
    "Examples:\n"
    "  fftd-ctl motion\n"
    "  fftd-ctl motion --region pump=200,120,96x96 --region wall=0,0,96x96\n"
    "  fftd-ctl motion --seconds 30 -o pump.csv --plot pump.png --picture mode.png\n"
    "  fftd-ctl motion --json | jq .Regions[0].Modes[0].Hz\n";

/* When this program got something. */
struct motion_arrivals {
    int64_t first_frame_ns; /* 0: none has come */
    int64_t last_field_ns;  /* before there is one: when reading began */
};

static bool shows_progress(const struct ctl *ctl)
{
    return !ctl->json && isatty(STDERR_FILENO);
}

/* ---- options ---- */

static bool parse_pixels(const char **text, char end, uint32_t *ret)
{
    char *behind;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    const unsigned long value = strtoul(*text, &behind, 10);
    if (errno != 0 || value > 65535 || *behind != end)
        return false;
    *text = behind + (end != '\0');
    *ret = (uint32_t)value;
    return true;
}

static int parse_region(const struct ctl *ctl, const char *text, struct vibration *vibration)
{
    struct series_place place = {.left = 0};
    const char *equals = strchr(text, '='), *at = equals != NULL ? equals + 1 : text;
    const size_t length = equals != NULL ? (size_t)(equals - text) : 0;
    const size_t valid = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                      "0123456789_-");
    if (equals == NULL)
        snprintf(place.name, sizeof place.name, "region%u", vibration->regions + 1);
    else if (length == 0 || length >= sizeof place.name || valid != length)
        return ctl_fail(ctl, EX_USAGE,
                        "--region %.100s: expected a name of 1 .. %zu letters, digits, _ and -",
                        text, sizeof place.name - 1);
    else
        memcpy(place.name, text, length);
    if (!parse_pixels(&at, ',', &place.left) || !parse_pixels(&at, ',', &place.top) ||
        !parse_pixels(&at, 'x', &place.width) || !parse_pixels(&at, '\0', &place.height) ||
        place.width == 0 || place.height == 0)
        return ctl_fail(ctl, EX_USAGE,
                        "--region %.100s: expected [NAME=]X,Y,WxH in pixels, such as "
                        "pump=200,120,96x96",
                        text);
    for (unsigned i = 0; i < vibration->regions; i++)
        if (strcmp(vibration->region[i].name, place.name) == 0)
            return ctl_fail(ctl, EX_USAGE, "--region %.100s: there are two regions %s", text,
                            place.name);
    vibration->region[vibration->regions++] = place;
    return 0;
}

static int check_options(const struct ctl *ctl, struct vibration *vibration)
{
    int code = 0;
    if (ctl->seconds != 0 && !(ctl->seconds >= 0.5 && ctl->seconds <= MOST_S))
        return ctl_fail(ctl, EX_USAGE, "motion: --seconds: expected 0.5 .. %.0f", MOST_S);
    if (ctl->csv && ctl->json)
        return ctl_fail(ctl, EX_USAGE,
                        "motion: expected --csv or --json; with --json, "
                        "--output FILE writes CSV");
    if (ctl->csv && ctl->output != NULL)
        return ctl_fail(ctl, EX_USAGE, "motion: expected --csv, which prints, or --output FILE");
    if (ctl->at_hz != 0 && ctl->picture == NULL)
        return ctl_fail(ctl, EX_USAGE, "motion: --at belongs to --picture FILE");
    if (ctl->regions.count > VIBRATION_MOST_REGIONS)
        return ctl_fail(ctl, EX_USAGE, "motion: --region: expected at most %d of them",
                        VIBRATION_MOST_REGIONS);
    for (unsigned i = 0; i < ctl->regions.count && code == 0; i++)
        code = parse_region(ctl, ctl->regions.text[i], vibration);
    vibration->is_surveyed = ctl->regions.count == 0;
    vibration->with_blocks = vibration->is_surveyed || ctl->picture != NULL;
    if (vibration->is_surveyed)
        vibration->region[vibration->regions++] =
            (struct series_place){.name = "all", .width = UINT16_MAX, .height = UINT16_MAX};
    return code;
}

/* ---- reading ---- */

static int take_frame(const struct ctl *ctl, struct vibration *vibration,
                      struct motion_arrivals *arrivals, const struct fftd *camera,
                      const struct fftd_frame *frame)
{
    const int64_t now_ns = clock_now_ns();
    const struct series *series = &vibration->series;
    const struct series_place *region;
    const int r = vibration_take(vibration, camera, frame);
    arrivals->first_frame_ns = arrivals->first_frame_ns != 0 ? arrivals->first_frame_ns : now_ns;
    arrivals->last_field_ns = r == 1 ? now_ns : arrivals->last_field_ns;
    switch (r) {
    case 0:
    case 1:
        return 0;
    case -ERANGE:
        region = &vibration->region[vibration->wrong];
        return ctl_fail(
            ctl, EX_USAGE, "--region %s begins at %u,%u: the blocks of the picture end at %u,%u",
            region->name, region->left, region->top, (series->columns + 1) * (series->block / 2),
            (series->rows + 1) * (series->block / 2));
    case -EPROTO:
        return ctl_fail(ctl, EX_PROTOCOL, "motion: the daemon describes an impossible field");
    case -ESTALE:
        return ctl_fail(ctl, EX_TEMPFAIL,
                        "motion: the size of the pictures or blocks has changed meanwhile");
    default:
        return ctl_fail(ctl, EX_OSERR, "motion: %s", strerror(-r));
    }
}

/* Ends a reading that gets nothing new. Returns 0 if there is something to measure already. */
static int give_up(const struct ctl *ctl, const struct vibration *vibration,
                   const struct motion_arrivals *arrivals, const char *dir, bool is_connected)
{
    if (vibration->series.count >= MODES_FEWEST_STEPS) {
        if (!ctl->json)
            fprintf(stderr, "fftd-ctl: motion: no field came for 10 s after the first %.1f s\n",
                    series_seconds(&vibration->series));
        return 0;
    }
    if (!is_connected)
        return ctl_fail(ctl, EX_UNAVAILABLE,
                        "the daemon in %s has ended and did not come back within 10 s", dir);
    if (arrivals->first_frame_ns == 0)
        return ctl_fail(ctl, EX_TEMPFAIL,
                        "motion: the camera has delivered no frame for 10 s; `%s status` says what "
                        "it does",
                        ctl_program(ctl));
    if (vibration->series.block == 0)
        return ctl_fail(ctl, EX_CONFIG,
                        "motion: the frames in %s carry no field of motion: the configuration "
                        "needs output = { motion = \"32\"; }; and fftd a restart (by hand: "
                        "--set output.motion=32), and pictures must be larger than a block",
                        dir);
    return ctl_fail(ctl, EX_DATAERR,
                    "motion: nothing in the picture can be followed from one "
                    "frame to the next: expected texture and light");
}

static void show_reading(const struct ctl *ctl, const struct vibration *vibration, double seconds,
                         const char *end)
{
    if (shows_progress(ctl))
        fprintf(stderr, "\rreading: %.1f of %.1f s, %u fields%s",
                series_seconds(&vibration->series), seconds, vibration->series.count, end);
}

static bool is_patience_over(const struct vibration *vibration,
                             const struct motion_arrivals *arrivals)
{
    const int64_t now_ns = clock_now_ns();
    return now_ns - arrivals->last_field_ns > PATIENCE_NS ||
           (vibration->series.block == 0 && arrivals->first_frame_ns != 0 &&
            now_ns - arrivals->first_frame_ns > WITHOUT_NS);
}

/* A restart of the daemon meanwhile is a gap. */
static int read_fields(const struct ctl *ctl, struct vibration *vibration, struct fftd *camera,
                       const char *dir)
{
    const double seconds = ctl->seconds != 0 ? ctl->seconds : DEFAULT_S;
    struct motion_arrivals arrivals = {.last_field_ns = clock_now_ns()};
    struct fftd_frame frame;
    int code = 0;
    frames_skip_old(camera);
    while (code == 0 && !ctl_interrupted && series_seconds(&vibration->series) < seconds) {
        const int r = fftd_wait(camera, WAIT_MS);
        if (r < 0 && r != -EPIPE)
            return ctl_no_daemon(ctl, dir, r);
        while (code == 0 && r > 0 && fftd_next(camera, &frame) == 0)
            code = take_frame(ctl, vibration, &arrivals, camera, &frame);
        show_reading(ctl, vibration, seconds, "");
        if (code == 0 && is_patience_over(vibration, &arrivals)) {
            code = give_up(ctl, vibration, &arrivals, dir, r >= 0);
            break;
        }
    }
    show_reading(ctl, vibration, seconds, "\n");
    return code;
}

static void show_search(void *context, unsigned done, unsigned total)
{
    if (shows_progress(context))
        fprintf(stderr, "\rsearching: %u of %u blocks%s", done, total, done >= total ? "\n" : "");
}

static int find(const struct ctl *ctl, struct vibration *vibration)
{
    const int r = vibration_find(vibration, show_search, (void *)ctl);
    if (r == -ENODATA)
        return ctl_fail(ctl, EX_DATAERR,
                        "motion: fewer than %u fields could be followed: expected texture, light, "
                        "and more --seconds",
                        MODES_FEWEST_STEPS);
    return r == 0 ? 0 : ctl_fail(ctl, EX_OSERR, "motion: %s", strerror(-r));
}

/* ---- files ---- */

static int save_csv(const struct ctl *ctl, const struct vibration *vibration)
{
    struct output_file output;
    const int code = save_begin(ctl, &output, ctl->output, OUTPUT_WHOLE);
    if (code != 0)
        return code;
    vibration_write_csv(vibration, output.file);
    return save_end(ctl, &output, ctl->output, 0);
}

static int save_plot(const struct ctl *ctl, const struct vibration *vibration)
{
    struct picture picture = {0};
    const int r = vibration_draw(vibration, &picture);
    const int code = r == 0 ? save_picture(ctl, &picture, ctl->plot)
                            : ctl_fail(ctl, EX_OSERR, "motion: %s", strerror(-r));
    picture_free(&picture);
    return code;
}

/* The width of captured pictures, in whose pixels regions are; 0: the daemon does not say. */
static uint32_t captured_width(const struct ctl *ctl)
{
    uint32_t width = 0;
    sd_bus *bus = NULL;
    sd_bus_message *properties = NULL;
    const struct bus_field fields[] = {{"captured_width", "u", &width}};
    if (daemon_try_open(ctl, &bus) == 0 && daemon_try_get_all(ctl, bus, &properties) == 0 &&
        bus_find(properties, "Format", "a{sv}"))
        bus_read_fields(properties, fields, 1, NULL, NULL);
    sd_bus_message_unref(properties);
    sd_bus_unref(bus);
    return width;
}

/* Copies the next frame as a picture. */
static int take_picture(const struct ctl *ctl, struct fftd *camera, struct picture *ret)
{
    const int64_t begin_ns = clock_now_ns();
    while (clock_now_ns() - begin_ns < PATIENCE_NS) {
        struct fftd_frame frame;
        if (fftd_wait(camera, WAIT_MS) <= 0 || fftd_frame(camera, &frame) < 0)
            continue;
        struct pixels pixels;
        const int r = pixels_from_frame(&pixels, &frame);
        if (r < 0)
            return ctl_fail(ctl, EX_PROTOCOL,
                            r == -EOPNOTSUPP
                                ? "motion: this fftd-ctl does not know the camera's pixel format"
                                : "motion: the daemon describes an impossible picture");
        if (picture_from_pixels(ret, &pixels) < 0)
            return ctl_fail(ctl, EX_OSERR, "motion: out of memory");
        if (fftd_frame_valid(camera, &frame))
            return 0;
        picture_free(ret);
    }
    return ctl_fail(ctl, EX_TEMPFAIL, "motion: no frame came for --picture");
}

static int save_mode(const struct ctl *ctl, const struct vibration *vibration, struct fftd *camera)
{
    const double hz = ctl->at_hz != 0 ? ctl->at_hz : vibration_strongest_hz(vibration);
    const struct modes *modes = vibration_known(vibration);
    struct picture frame = {0}, picture = {0};
    struct mode *mode = NULL;
    if (hz == 0)
        return ctl_fail(ctl, EX_DATAERR,
                        "motion: nothing vibrates, so that %s is not drawn; --at HZ chooses a "
                        "frequency",
                        ctl->picture);
    if (hz < modes->least_hz || hz > modes->most_hz)
        return ctl_fail(ctl, EX_USAGE, "motion: --at %g: these fields show %.2f to %.2f Hz", hz,
                        modes->least_hz, modes->most_hz);
    int code = take_picture(ctl, camera, &frame);
    int r = code == 0 ? survey_fit(&mode, &vibration->series, hz) : 0;
    if (code == 0 && r == 0) {
        const uint32_t width = captured_width(ctl);
        r = chart_draw_mode(&picture, &frame, width != 0 ? width : frame.width, &vibration->series,
                            mode, hz);
    }
    if (r < 0)
        code = ctl_fail(ctl, EX_OSERR, "motion: %s", strerror(-r));
    if (code == 0)
        code = save_picture(ctl, &picture, ctl->picture);
    free(mode);
    picture_free(&frame);
    picture_free(&picture);
    return code;
}

/* ---- the command ---- */

/* Says that the daemon takes fields of few frames, which limits the frequencies. */
static void note_rate(const struct ctl *ctl, const struct vibration *vibration)
{
    const double seconds = series_seconds(&vibration->series);
    const double frames_hz = (double)vibration->frames / seconds;
    const double most_hz = vibration_known(vibration)->most_hz;
    if (!ctl->json && most_hz < SLOW * frames_hz / 2)
        fprintf(stderr,
                "fftd-ctl: motion: of %.1f frames a second, %.1f had a new field; use smaller "
                "pictures, larger blocks or output.motion_by = \"device\" for frequencies beyond "
                "%.2f Hz\n",
                frames_hz, vibration->series.count / seconds, most_hz);
}

/* Files come last, so that a file that cannot be written does not take the result with it. */
static int tell(const struct ctl *ctl, const struct vibration *vibration, struct fftd *camera)
{
    note_rate(ctl, vibration);
    if (ctl->csv)
        vibration_write_csv(vibration, stdout);
    else if (ctl->json)
        vibration_write_json(vibration, stdout);
    else
        vibration_write_text(vibration, stdout);
    int code = ctl_finish(ctl);
    if (code == 0 && ctl->output != NULL)
        code = save_csv(ctl, vibration);
    if (code == 0 && ctl->plot != NULL)
        code = save_plot(ctl, vibration);
    if (code == 0 && ctl->picture != NULL)
        code = save_mode(ctl, vibration, camera);
    return code;
}

int command_motion(const struct ctl *ctl)
{
    struct vibration vibration = {.regions = 0};
    struct fftd *camera = NULL;
    char dir[PATH_MAX];
    int code = check_options(ctl, &vibration);
    if (code == 0)
        code = ctl_runtime_dir(ctl, dir);
    const int r = code == 0 ? fftd_open(&camera, dir) : 0;
    if (r < 0)
        code = ctl_no_daemon(ctl, dir, r);
    if (code == 0) {
        ctl_catch_signals();
        code = read_fields(ctl, &vibration, camera, dir);
    }
    if (code == 0)
        code = find(ctl, &vibration);
    if (code == 0)
        code = tell(ctl, &vibration, camera);
    fftd_close(camera);
    vibration_finish(&vibration);
    return code;
}
