#include "chart.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pictures/canvas.h"
#include "survey.h"

struct colour {
    uint8_t red, green, blue;
};

static const struct colour blue = {0, 60, 190}, orange = {225, 110, 0}, mark = {200, 0, 0};

/* ---- lines ---- */

static void dot(struct picture *picture, double x, double y, int size, struct colour colour)
{
    canvas_fill(picture, (int)floor(x) - size / 2, (int)floor(y) - size / 2, size, size, colour.red,
                colour.green, colour.blue);
}

static void line(struct picture *picture, double x0, double y0, double x1, double y1, int size,
                 struct colour colour)
{
    const int steps = 1 + (int)fmax(fabs(x1 - x0), fabs(y1 - y0));
    for (int i = 0; i <= steps; i++)
        dot(picture, x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps, size, colour);
}

/* ---- charts; lengths in pixels ---- */

#define LABEL_PX      (8 * CANVAS_GLYPH_WIDTH)
#define TIME_PX       640
#define SPECTRUM_PX   512
#define HEIGHT_PX     200
#define TIME_LEFT     LABEL_PX
#define SPECTRUM_LEFT (TIME_LEFT + TIME_PX + LABEL_PX + 2 * CANVAS_GLYPH_WIDTH)
#define WHOLE_WIDTH   (SPECTRUM_LEFT + SPECTRUM_PX + 3 * CANVAS_GLYPH_WIDTH)
#define TITLE_PX      (2 * CANVAS_GLYPH_HEIGHT)
#define PANEL_PX      (TITLE_PX + HEIGHT_PX + 3 * CANVAS_GLYPH_HEIGHT)
#define TICK_PX       5
#define TICKS         4

struct axes {
    int left, top, width;
    double x0, x1, y0, y1; /* values at the edges; y0 is at the bottom */
};

static double along(const struct axes *axes, double x)
{
    return axes->left + (axes->width - 1) * (x - axes->x0) / (axes->x1 - axes->x0);
}

static double upward(const struct axes *axes, double y)
{
    return axes->top + (HEIGHT_PX - 1) * (axes->y1 - y) / (axes->y1 - axes->y0);
}

static void draw_axes(struct picture *picture, const struct axes *axes, const char *x_title)
{
    char label[32];
    canvas_fill(picture, axes->left - 1, axes->top - 1, axes->width + 2, HEIGHT_PX + 2, 0, 0, 0);
    canvas_fill(picture, axes->left, axes->top, axes->width, HEIGHT_PX, 255, 255, 255);
    for (int i = 0; i <= TICKS; i++) {
        const double x = axes->x0 + (axes->x1 - axes->x0) * i / TICKS;
        const double y = axes->y0 + (axes->y1 - axes->y0) * i / TICKS;
        const int at_x = (int)along(axes, x), at_y = (int)upward(axes, y);
        snprintf(label, sizeof label, "%.3g", x);
        canvas_fill(picture, at_x, axes->top + HEIGHT_PX, 1, TICK_PX, 0, 0, 0);
        canvas_text(picture, at_x - canvas_text_width(label) / 2,
                    axes->top + HEIGHT_PX + 2 * TICK_PX, label);
        snprintf(label, sizeof label, "%.2g", y);
        canvas_fill(picture, axes->left - 1 - TICK_PX, at_y, TICK_PX, 1, 0, 0, 0);
        canvas_text(picture, axes->left - 2 * TICK_PX - canvas_text_width(label),
                    at_y - CANVAS_GLYPH_HEIGHT / 2, label);
    }
    canvas_text(picture, axes->left + (axes->width - canvas_text_width(x_title)) / 2,
                axes->top + HEIGHT_PX + 2 * CANVAS_GLYPH_HEIGHT - TICK_PX, x_title);
}

/* Walks along a place's displacement. Draws it if the axes are known, and otherwise widens
 * ret_range to it. */
static void walk(struct picture *picture, const struct axes *axes, const struct series *series,
                 unsigned place, double ret_range[2])
{
    double at[2] = {0, 0};
    for (unsigned i = 0; i < series->count; i++) {
        const struct series_shift *shift = series_shift_of(series, i, place);
        if (shift->confidence == 0)
            continue;
        if (series_begins_at(series, i, place))
            at[0] = at[1] = 0;
        const double moved[2] = {(double)shift->dx, (double)shift->dy};
        const double from_s = series_seconds_to(series, series->step[i].from_ns);
        const double to_s = series_seconds_to(series, series->step[i].to_ns);
        for (unsigned k = 2; k-- > 0;) {
            if (axes != NULL)
                line(picture, along(axes, from_s), upward(axes, at[k]), along(axes, to_s),
                     upward(axes, at[k] + moved[k]), 2, k == 0 ? blue : orange);
            at[k] += moved[k];
            ret_range[0] = fmin(ret_range[0], at[k]);
            ret_range[1] = fmax(ret_range[1], at[k]);
        }
    }
}

static void draw_displacement(struct picture *picture, const struct series *series,
                              const struct chart_panel *panel, int top)
{
    double range[2] = {-1e-3, 1e-3};
    walk(NULL, NULL, series, panel->place, range);
    const double margin = 0.05 * (range[1] - range[0]);
    const struct axes axes = {.left = TIME_LEFT,
                              .top = top,
                              .width = TIME_PX,
                              .x1 = series_seconds(series),
                              .y0 = range[0] - margin,
                              .y1 = range[1] + margin};
    draw_axes(picture, &axes, "seconds");
    walk(picture, &axes, series, panel->place, range);
}

static void draw_spectrum(struct picture *picture, const struct chart_panel *panel, int top)
{
    const struct modes_spectrum *spectrum = panel->spectrum;
    double most = 1e-6;
    /* Slow drifts are left of these, and may be much greater. */
    for (unsigned i = 0; i < spectrum->count; i++)
        if (spectrum->first_hz + i * spectrum->step_hz > 2 * spectrum->first_hz)
            most = fmax(most, spectrum->px[i]);
    for (unsigned i = 0; i < panel->modes->count; i++)
        most = fmax(most, panel->modes->mode[i].px);
    const struct axes axes = {.left = SPECTRUM_LEFT,
                              .top = top,
                              .width = SPECTRUM_PX,
                              .x1 = spectrum->first_hz + spectrum->count * spectrum->step_hz,
                              .y1 = 1.1 * most};
    draw_axes(picture, &axes, "Hz");
    for (unsigned i = 1; i < spectrum->count; i++) {
        const double hz = spectrum->first_hz + i * spectrum->step_hz;
        const double before = fmin(spectrum->px[i - 1], axes.y1),
                     px = fmin(spectrum->px[i], axes.y1);
        line(picture, along(&axes, hz - spectrum->step_hz), upward(&axes, before), along(&axes, hz),
             upward(&axes, px), 2, blue);
    }
    for (unsigned i = 0; i < panel->modes->count; i++)
        dot(picture, along(&axes, panel->modes->mode[i].hz),
            fmax(upward(&axes, panel->modes->mode[i].px), top), 8, mark);
}

static void draw_titles(struct picture *picture, const struct chart_panel *panel, int top)
{
    char text[80];
    snprintf(text, sizeof text, "%.20s: px right", panel->title);
    for (char *c = text; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c); /* the canvas has no capitals */
    const int at = top - TITLE_PX / 2 - CANVAS_GLYPH_HEIGHT / 2;
    canvas_text(picture, TIME_LEFT, at, text);
    int x = TIME_LEFT + canvas_text_width(text) + CANVAS_GLYPH_WIDTH;
    canvas_fill(picture, x, at + CANVAS_GLYPH_HEIGHT / 2, 24, 3, blue.red, blue.green, blue.blue);
    x += 24 + 2 * CANVAS_GLYPH_WIDTH;
    canvas_text(picture, x, at, "down");
    x += canvas_text_width("down") + CANVAS_GLYPH_WIDTH;
    canvas_fill(picture, x, at + CANVAS_GLYPH_HEIGHT / 2, 24, 3, orange.red, orange.green,
                orange.blue);
    if (panel->modes->count > 0)
        snprintf(text, sizeof text, "px: %.4g at %.3f Hz", panel->modes->mode[0].px,
                 panel->modes->mode[0].hz);
    else
        snprintf(text, sizeof text, "px");
    canvas_text(picture, SPECTRUM_LEFT, at, text);
}

int chart_draw(struct picture *ret, const struct series *series, const struct chart_panel *panel,
               unsigned count)
{
    const int r = picture_create(ret, WHOLE_WIDTH, PANEL_PX * count);
    if (r < 0)
        return r;
    canvas_fill(ret, 0, 0, WHOLE_WIDTH, (int)(PANEL_PX * count), 255, 255, 255);
    for (unsigned i = 0; i < count; i++) {
        const int top = (int)(PANEL_PX * i) + TITLE_PX;
        draw_titles(ret, &panel[i], top);
        draw_displacement(ret, series, &panel[i], top);
        draw_spectrum(ret, &panel[i], top);
    }
    return 0;
}

/* ---- modes ---- */

#define LEAST_WIDTH 480u /* a mode's picture is at least as wide, so that its text fits */
#define MOST_ZOOM   4u

/* Reddens the square around the middle of a block. */
static void redden(struct picture *picture, double x, double y, double side, double share)
{
    const int left = (int)fmax(x - side / 2, 0), top = (int)fmax(y - side / 2, 0);
    for (int row = top; row < (int)picture->height && row < (int)(y + side / 2); row++)
        for (int column = left; column < (int)picture->width && column < (int)(x + side / 2);
             column++) {
            uint8_t *rgb = picture->rgb + 3 * ((size_t)row * picture->width + (size_t)column);
            rgb[0] = (uint8_t)(rgb[0] + share * (255 - rgb[0]));
            rgb[1] = (uint8_t)(rgb[1] * (1 - share));
            rgb[2] = (uint8_t)(rgb[2] * (1 - share));
        }
}

/* Copies a picture, each pixel of which becomes zoom x zoom, and leaves room below it. */
static int enlarge(struct picture *ret, const struct picture *picture, uint32_t zoom,
                   uint32_t below)
{
    const int r = picture_create(ret, picture->width * zoom, picture->height * zoom + below);
    if (r < 0)
        return r;
    canvas_fill(ret, 0, 0, (int)ret->width, (int)ret->height, 255, 255, 255);
    for (uint32_t y = 0; y < picture->height * zoom; y++)
        for (uint32_t x = 0; x < ret->width; x++)
            memcpy(ret->rgb + 3 * ((size_t)y * ret->width + x),
                   picture->rgb + 3 * ((size_t)(y / zoom) * picture->width + x / zoom), 3);
    return 0;
}

int chart_draw_mode(struct picture *ret, const struct picture *under, uint32_t captured_width,
                    const struct series *series, const struct mode *mode, double hz)
{
    const uint32_t enough = (LEAST_WIDTH + under->width - 1) / under->width;
    const uint32_t zoom = enough < MOST_ZOOM ? enough : MOST_ZOOM;
    const int r = enlarge(ret, under, zoom, 2 * CANVAS_GLYPH_HEIGHT);
    if (r < 0)
        return r;
    const double scale = (double)ret->width / captured_width, hop = 0.5 * scale * series->block;
    const unsigned blocks = series->columns * series->rows;
    double most = 0;
    for (unsigned i = 0; i < blocks; i++)
        most = survey_is_moving(&mode[i]) ? fmax(most, mode[i].px) : most;
    for (unsigned pass = 0; pass < 2; pass++) /* lines go over the red of their neighbours */
        for (unsigned i = 0; i < blocks; i++) {
            if (!survey_is_moving(&mode[i]))
                continue;
            const unsigned column = i % series->columns, row = i / series->columns;
            const double x = hop * (1 + column), y = hop * (1 + row);
            const double share = mode[i].px / most, angle = mode[i].angle_deg * (M_PI / 180);
            const double dx = 0.5 * share * hop * cos(angle), dy = 0.5 * share * hop * sin(angle);
            if (pass == 0)
                redden(ret, x, y, hop, 0.7 * share);
            else
                line(ret, x - dx, y - dy, x + dx, y + dy, 2, (struct colour){255, 255, 0});
        }
    char text[80];
    snprintf(text, sizeof text, "%.3f Hz, %.4g px at most", hz, most);
    canvas_text(ret, CANVAS_GLYPH_WIDTH, (int)(under->height * zoom) + CANVAS_GLYPH_HEIGHT / 2,
                text);
    return 0;
}
