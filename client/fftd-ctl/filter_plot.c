/* Implements `filter plot`, which draws the response of a filter: |H| over the plane of
 * frequencies, and beside it the profile, with the mean and the range over all angles by distance
 * from frequency zero. The daemon, which knows the filters, computes the response in small parts,
 * so that its other clients do not wait.
 *
 * The plane and the profile share one scale of |H|, which is drawn between them: the plane uses its
 * grey levels, the profile its heights. The scale begins at 0. It ends at the first of 1, 2 or 5
 * times a power of ten that no magnitude exceeds. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"
#include "commands.h"
#include "daemon.h"
#include "pictures/canvas.h"
#include "save.h"

#define PART_POINTS   ((size_t)256) /* the daemon's limit for one call */

/* The plane has one frequency per pixel, like the image of a spectrum (spectrum.h). Pixel i of a
 * row or column is at i / PLOT_SIDE - 0.5 cycles per pixel; y grows downwards. */
#define PLOT_SIDE     512
#define PLOT_RADII    (PLOT_SIDE + 1) /* 0 .. 0.5 cycles per pixel, one per column */
#define PLOT_ANGLES   360             /* in half a turn: H(-f) is the complex conjugate of H(f) */
#define PLOT_POINTS   ((size_t)PLOT_SIDE * PLOT_SIDE + (size_t)PLOT_RADII * PLOT_ANGLES)

#define PLANE_SIZE    ((size_t)PLOT_SIDE * PLOT_SIDE)

/* ---- arrangement, in pixels ---- */

#define TICK_PX       6
#define LABEL_PX      (8 * CANVAS_GLYPH_WIDTH) /* "2.5e-05" and a gap */
#define TOP           (2 * CANVAS_GLYPH_HEIGHT)
#define BOTTOM        (TOP + PLOT_SIDE)
#define PLANE_LEFT    LABEL_PX
#define SCALE_WIDTH   16
#define SCALE_LEFT    (PLANE_LEFT + PLOT_SIDE + 2 * CANVAS_GLYPH_WIDTH + LABEL_PX)
#define PROFILE_LEFT  (SCALE_LEFT + SCALE_WIDTH + 10)
#define WHOLE_WIDTH   (PROFILE_LEFT + PLOT_RADII + 3 * CANVAS_GLYPH_WIDTH)
#define WHOLE_HEIGHT  (BOTTOM + 4 * CANVAS_GLYPH_HEIGHT)
#define HORIZONTAL_AT (BOTTOM + CANVAS_GLYPH_HEIGHT) /* the labels of horizontal axes */
#define TITLE_AT      (HORIZONTAL_AT + 3 * CANVAS_GLYPH_HEIGHT / 2)

#define TICKS         4 /* intervals of each axis */

/* Returns the frequency of a point, in cycles per pixel. The index is below PLOT_POINTS. */
static void plot_point(size_t index, double *ret_fx, double *ret_fy)
{
    if (index < PLANE_SIZE) {
        const size_t row = index / PLOT_SIDE, column = index % PLOT_SIDE;
        *ret_fx = (double)column / PLOT_SIDE - 0.5;
        *ret_fy = (double)row / PLOT_SIDE - 0.5;
        return;
    }
    index -= PLANE_SIZE;
    const size_t ring = index / PLOT_ANGLES, spoke = index % PLOT_ANGLES;
    const double radius = (double)ring / (PLOT_RADII - 1) / 2;
    const double angle = (double)spoke * (M_PI / PLOT_ANGLES);
    *ret_fx = radius * cos(angle);
    *ret_fy = radius * sin(angle);
}

/* ---- the scale ---- */

static double scale_end(const double *magnitudes)
{
    static const double steps[] = {1, 2, 5, 10};
    double greatest = 0;
    for (size_t i = 0; i < PLOT_POINTS; i++)
        greatest = fmax(greatest, magnitudes[i]);
    if (greatest == 0)
        return 1;
    const double decade = pow(10, floor(log10(greatest)));
    for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (greatest <= steps[i] * decade * (1 + 1e-9)) /* tolerates rounding */
            return fmin(steps[i] * decade, DBL_MAX);
    return greatest;
}

static uint8_t grey_of(double magnitude, double end)
{
    return (uint8_t)lrint(255 * fmin(magnitude / end, 1));
}

/* Returns the row of a magnitude in the profile. */
static int row_of(double magnitude, double end)
{
    return BOTTOM - 1 - (int)lrint((PLOT_SIDE - 1) * fmin(magnitude / end, 1));
}

/* ---- axes ---- */

static void frame(struct picture *picture, int left, int width)
{
    canvas_fill(picture, left - 1, TOP - 1, width + 2, PLOT_SIDE + 2, 0, 0, 0);
    canvas_fill(picture, left, TOP, width, PLOT_SIDE, 255, 255, 255);
}

static void horizontal_axis(struct picture *picture, int left, double from, double to,
                            const char *title)
{
    char label[32];
    for (int i = 0; i <= TICKS; i++) {
        const int x = left + i * PLOT_SIDE / TICKS;
        snprintf(label, sizeof label, "%.3g", from + (to - from) * i / TICKS);
        canvas_fill(picture, x, BOTTOM, 1, TICK_PX, 0, 0, 0);
        canvas_text(picture, x - canvas_text_width(label) / 2, HORIZONTAL_AT, label);
    }
    canvas_text(picture, left + (PLOT_SIDE - canvas_text_width(title)) / 2, TITLE_AT, title);
}

/* `from` is the value at the top. */
static void vertical_axis(struct picture *picture, int left, double from, double to,
                          const char *title)
{
    char label[32];
    for (int i = 0; i <= TICKS; i++) {
        const int y = TOP + i * PLOT_SIDE / TICKS;
        snprintf(label, sizeof label, "%.3g", from + (to - from) * i / TICKS);
        canvas_fill(picture, left - 1 - TICK_PX, y, TICK_PX, 1, 0, 0, 0);
        canvas_text(picture, left - 2 * TICK_PX - canvas_text_width(label),
                    y - CANVAS_GLYPH_HEIGHT / 2, label);
    }
    canvas_text(picture, left, TOP / 4, title);
}

/* ---- the parts ---- */

static void draw_plane(struct picture *picture, const double *plane, double end)
{
    frame(picture, PLANE_LEFT, PLOT_SIDE);
    for (int y = 0; y < PLOT_SIDE; y++)
        for (int x = 0; x < PLOT_SIDE; x++) {
            const uint8_t grey = grey_of(plane[y * PLOT_SIDE + x], end);
            canvas_fill(picture, PLANE_LEFT + x, TOP + y, 1, 1, grey, grey, grey);
        }
    horizontal_axis(picture, PLANE_LEFT, -0.5, 0.5, "fx (cycles/pixel)");
    vertical_axis(picture, PLANE_LEFT, -0.5, 0.5, "fy (cycles/pixel)");
}

static void draw_scale(struct picture *picture, double end)
{
    frame(picture, SCALE_LEFT, SCALE_WIDTH);
    for (int y = 0; y < PLOT_SIDE; y++) {
        const uint8_t grey = grey_of(PLOT_SIDE - 1 - y, PLOT_SIDE - 1);
        canvas_fill(picture, SCALE_LEFT, TOP + y, SCALE_WIDTH, 1, grey, grey, grey);
    }
    vertical_axis(picture, SCALE_LEFT, end, 0, "|H|");
}

/* Each column continues the curve where the previous column ended. */
static void draw_profile(struct picture *picture, const double *polar, double end)
{
    int before = 0;
    frame(picture, PROFILE_LEFT, PLOT_RADII);
    for (int i = 0; i < PLOT_RADII; i++) {
        const double *around = polar + (size_t)i * PLOT_ANGLES;
        double least = around[0], greatest = around[0], mean = 0;
        for (int a = 0; a < PLOT_ANGLES; a++) {
            least = fmin(least, around[a]);
            greatest = fmax(greatest, around[a]);
            mean += around[a] / PLOT_ANGLES;
        }
        const int x = PROFILE_LEFT + i, top = row_of(greatest, end), row = row_of(mean, end);
        before = i == 0 ? row : before;
        canvas_fill(picture, x, top, 1, row_of(least, end) - top + 1, 160, 200, 240);
        canvas_fill(picture, x, (row < before ? row : before) - 1, 1, abs(row - before) + 2, 0, 0,
                    128);
        before = row;
    }
    horizontal_axis(picture, PROFILE_LEFT, 0, 0.5, "frequency (cycles/pixel)");
}

/* Labels the line and the area of the profile, above it. */
static void draw_legend(struct picture *picture)
{
    const int middle = TOP / 4 + CANVAS_GLYPH_HEIGHT / 2;
    int x = PROFILE_LEFT + 3 * CANVAS_GLYPH_WIDTH;
    canvas_fill(picture, x, middle - 1, 2 * CANVAS_GLYPH_WIDTH, 2, 0, 0, 128);
    x += 3 * CANVAS_GLYPH_WIDTH;
    canvas_text(picture, x, TOP / 4, "mean");
    x += canvas_text_width("mean") + 2 * CANVAS_GLYPH_WIDTH;
    canvas_fill(picture, x, middle - TICK_PX, 2 * CANVAS_GLYPH_WIDTH, 2 * TICK_PX, 160, 200, 240);
    x += 3 * CANVAS_GLYPH_WIDTH;
    canvas_text(picture, x, TOP / 4, "min to max over angle");
}

/* Draws PLOT_POINTS magnitudes, which must be finite and not negative. -ENOMEM. */
static int plot_draw(struct picture *ret, const double *magnitudes)
{
    const double end = scale_end(magnitudes);
    int r = picture_create(ret, WHOLE_WIDTH, WHOLE_HEIGHT);
    if (r < 0)
        return r;
    canvas_fill(ret, 0, 0, WHOLE_WIDTH, WHOLE_HEIGHT, 255, 255, 255);
    draw_plane(ret, magnitudes, end);
    draw_scale(ret, end);
    draw_profile(ret, magnitudes + PLANE_SIZE, end);
    draw_legend(ret);
    return 0;
}

/* ---- the response ---- */

static int make_request(sd_bus *bus, sd_bus_message **ret, const char *chain, const double *fx,
                        const double *fy, size_t count)
{
    int r = bus_new_call(bus, ret, "GetResponse");
    if (r < 0 || (r = sd_bus_message_append(*ret, "s", chain)) < 0 ||
        (r = sd_bus_message_append_array(*ret, 'd', fx, count * sizeof *fx)) < 0)
        return r;
    return sd_bus_message_append_array(*ret, 'd', fy, count * sizeof *fy);
}

/* Copies the magnitudes. False: the reply has another count, or one is negative or not finite. */
static bool read_magnitudes(sd_bus_message *reply, double *ret, size_t count)
{
    const void *values;
    size_t bytes;
    if (sd_bus_message_read_array(reply, 'd', &values, &bytes) < 0 || bytes != count * sizeof *ret)
        return false;
    memcpy(ret, values, bytes);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(ret[i]) || ret[i] < 0)
            return false;
    return true;
}

static int ask_part(const struct ctl *ctl, sd_bus *bus, const char *chain, size_t first,
                    size_t count, double *ret)
{
    double fx[PART_POINTS], fy[PART_POINTS];
    sd_bus_message *request = NULL, *reply = NULL;
    for (size_t i = 0; i < count; i++)
        plot_point(first + i, &fx[i], &fy[i]);
    int r = make_request(bus, &request, chain, fx, fy, count);
    int code = daemon_send(ctl, bus, r, request, &reply);
    if (code == 0 && !read_magnitudes(reply, ret, count))
        code = ctl_fail(ctl, EX_PROTOCOL, "GetResponse: unexpected reply format");
    sd_bus_message_unref(reply);
    return code;
}

static int ask_response(const struct ctl *ctl, sd_bus *bus, const char *chain, double *ret)
{
    int code = 0;
    for (size_t done = 0; code == 0 && done < PLOT_POINTS; done += PART_POINTS) {
        const size_t left = PLOT_POINTS - done;
        code = ask_part(ctl, bus, chain, done, left < PART_POINTS ? left : PART_POINTS, ret + done);
    }
    return code;
}

/* Computes the response of a chain; NULL: the chain in use. It is read only once, so a filter that
 * changes during the drawing does not mix two responses. */
static int get_response(const struct ctl *ctl, const char *chain, double *ret)
{
    sd_bus *bus = NULL;
    sd_bus_message *properties = NULL;
    int code = daemon_open(ctl, &bus);
    if (code == 0 && chain == NULL)
        code = daemon_get_all(ctl, bus, &properties);
    if (code == 0)
        code = ask_response(ctl, bus, chain != NULL ? chain : bus_text(properties, "Filter"), ret);
    sd_bus_message_unref(properties);
    sd_bus_unref(bus);
    return code;
}

static int report(const struct ctl *ctl, const char *path)
{
    const bool to_stdout = strcmp(path, "-") == 0;
    struct json json = {.file = stdout};
    if (ctl->json && !to_stdout) {
        json_open(&json, NULL, '{');
        json_open(&json, "Pictures", '[');
        json_text(&json, NULL, path);
        json_close(&json, ']');
        json_close(&json, '}');
    } else if (!to_stdout) {
        puts(path);
    }
    return ctl_finish(ctl);
}

int filter_plot(const struct ctl *ctl)
{
    struct picture picture = {0};
    char chain[CHAIN_BYTES];
    const char *path = ctl->argv[1];
    int code = change_join_chain(ctl, 2, chain);
    if (code != 0)
        return code;
    double *response = malloc(PLOT_POINTS * sizeof *response);
    if (response == NULL)
        return ctl_fail(ctl, EX_OSERR, "filter plot: %s", strerror(ENOMEM));
    code = get_response(ctl, ctl->argc > 2 ? chain : NULL, response);
    if (code != 0)
        goto out;
    int r = plot_draw(&picture, response);
    code = r < 0 ? ctl_fail(ctl, EX_OSERR, "filter plot: %s", strerror(-r))
                 : save_picture(ctl, &picture, path);
    if (code == 0)
        code = report(ctl, path);

out:
    picture_free(&picture);
    free(response);
    return code;
}
