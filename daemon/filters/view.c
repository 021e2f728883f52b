#include "filters/view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/format.h"
#include "core/text.h"

#define MARK_REACH 4  /* pixels from the middle of a square to its sides */
#define HEAD_PX    5. /* longest head of an arrow */

const char *const view_names[VIEW_COUNT + 1] = {
    [VIEW_PICTURE] = "picture", [VIEW_DIFFERENCE] = "difference", [VIEW_SPECTRUM] = "spectrum",
    [VIEW_PEAKS] = "peaks",     [VIEW_EDGES] = "edges",           [VIEW_MOTION] = "motion"};

int view_from_name(enum view_kind *ret, const char *name, struct error *why)
{
    char quoted[TEXT_QUOTE_BYTES], names[80] = "";
    for (unsigned i = 0; i < VIEW_COUNT; i++) {
        if (strcmp(view_names[i], name) == 0) {
            *ret = (enum view_kind)i;
            return 0;
        }
        text_append(names, sizeof names, "%s%s",
                    i == 0               ? ""
                    : i + 1 < VIEW_COUNT ? ", "
                                         : " or ",
                    view_names[i]);
    }
    return error_set(why, EINVAL, "unknown view %s: expected %s", text_quote(quoted, name), names);
}

/* Draws a white or black pixel, unless it is beyond the picture. */
static void draw_pixel(uint8_t *frame, const struct fftd_format *format,
                       const struct format_info *info, long x, long y, bool is_white)
{
    if (x < 0 || y < 0 || x >= (long)format->width || y >= (long)format->height)
        return;
    uint8_t *at = frame + format->plane[0].offset + (size_t)y * format->plane[0].stride +
                  (size_t)x * info->step;
    const unsigned level = is_white ? (1u << info->bits) - 1 : 0;
    if (info->kind == SAMPLE_RGB8) {
        for (unsigned i = 0; i < 3; i++)
            at[info->rgb[i]] = (uint8_t)level;
        return;
    }
    at[info->offset] = (uint8_t)level;
    if (info->bits > 8)
        at[info->offset + 1] = (uint8_t)(level >> 8);
}

static void draw_square(uint8_t *frame, const struct fftd_format *format, double fx, double fy,
                        bool is_whole)
{
    const struct format_info *info = format_by_fourcc(format->fourcc);
    const long x = lround(fx * format->width) + format->width / 2;
    const long y = lround(fy * format->height) + format->height / 2;
    for (long i = -MARK_REACH; i <= MARK_REACH; i++) {
        if (!is_whole && labs(i) < MARK_REACH - 1)
            continue;
        draw_pixel(frame, format, info, x + i, y - MARK_REACH, true);
        draw_pixel(frame, format, info, x + i, y + MARK_REACH, true);
        draw_pixel(frame, format, info, x - MARK_REACH, y + i, true);
        draw_pixel(frame, format, info, x + MARK_REACH, y + i, true);
    }
}

void view_mark(uint8_t *frame, const struct fftd_format *format, const struct view_mark *mark,
               unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        draw_square(frame, format, mark[i].fx, mark[i].fy, mark[i].is_removed);
        draw_square(frame, format, -mark[i].fx, -mark[i].fy, mark[i].is_removed);
    }
}

/* A line of single pixels from (x, y) in steps of at most one pixel. The border is the eight
 * neighbours of each pixel. */
static void draw_line(uint8_t *frame, const struct fftd_format *format, double x, double y,
                      double dx, double dy, bool is_border)
{
    const struct format_info *info = format_by_fourcc(format->fourcc);
    const long steps = lround(fmax(fabs(dx), fabs(dy)));
    const long reach = is_border ? 1 : 0;
    for (long i = 0; i <= steps; i++) {
        const double part = steps > 0 ? (double)i / (double)steps : 0;
        const long at_x = lround(x + part * dx), at_y = lround(y + part * dy);
        for (long v = -reach; v <= reach; v++)
            for (long u = -reach; u <= reach; u++)
                draw_pixel(frame, format, info, at_x + u, at_y + v, !is_border);
    }
}

/* The two strokes of the head go back from the point at 30 degrees to the shaft. */
static void draw_arrow(uint8_t *frame, const struct fftd_format *format, double x, double y,
                       double dx, double dy, bool is_border)
{
    const double length = hypot(dx, dy), head = fmin(HEAD_PX, length / 2);
    const double back = length > 0 ? head / length * cos(M_PI / 6) : 0;
    const double aside = length > 0 ? head / length * sin(M_PI / 6) : 0;
    draw_line(frame, format, x, y, dx, dy, is_border);
    for (int side = -1; side <= 1; side += 2)
        draw_line(frame, format, x + dx, y + dy, -back * dx - side * aside * dy,
                  -back * dy + side * aside * dx, is_border);
}

void view_arrows(uint8_t *frame, const struct fftd_format *format, const struct fftd_motion *motion)
{
    const size_t blocks = (size_t)motion->columns * motion->rows;
    const int16_t *vector = (const int16_t *)(const void *)(motion + 1);
    const uint8_t *confidence = (const uint8_t *)(vector + 2 * blocks);
    const double hop = motion->block / 2.;
    for (int is_border = 1; is_border >= 0; is_border--) /* all borders are below all arrows */
        for (size_t i = 0; i < blocks; i++) {
            const size_t row = i / motion->columns, column = i % motion->columns;
            const double dx = vector[2 * i] / (double)FFTD_MOTION_UNIT;
            const double dy = vector[2 * i + 1] / (double)FFTD_MOTION_UNIT;
            const double length = hypot(dx, dy);
            const double gain =
                length < VIEW_ARROW_MIN_PX ? 0 : fmin(VIEW_ARROW_GAIN, motion->block / length);
            if (confidence[i] >= FFTD_MOTION_SURE)
                draw_arrow(frame, format, hop * (double)(1 + column), hop * (double)(1 + row),
                           gain * dx, gain * dy, is_border != 0);
        }
}
