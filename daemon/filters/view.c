#include "filters/view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/format.h"
#include "core/text.h"

#define MARK_REACH 4 /* pixels from the middle of a square to its sides */

const char *const view_names[VIEW_COUNT + 1] = {[VIEW_PICTURE] = "picture",
                                                [VIEW_DIFFERENCE] = "difference",
                                                [VIEW_SPECTRUM] = "spectrum",
                                                [VIEW_PEAKS] = "peaks",
                                                [VIEW_EDGES] = "edges"};

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

/* Draws a white pixel, unless it is beyond the picture. */
static void draw_pixel(uint8_t *frame, const struct fftd_format *format,
                       const struct format_info *info, long x, long y)
{
    if (x < 0 || y < 0 || x >= (long)format->width || y >= (long)format->height)
        return;
    uint8_t *at = frame + format->plane[0].offset + (size_t)y * format->plane[0].stride +
                  (size_t)x * info->step;
    const unsigned white = (1u << info->bits) - 1;
    if (info->kind == SAMPLE_RGB8) {
        for (unsigned i = 0; i < 3; i++)
            at[info->rgb[i]] = UINT8_MAX;
        return;
    }
    at[info->offset] = (uint8_t)white;
    if (info->bits > 8)
        at[info->offset + 1] = (uint8_t)(white >> 8);
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
        draw_pixel(frame, format, info, x + i, y - MARK_REACH);
        draw_pixel(frame, format, info, x + i, y + MARK_REACH);
        draw_pixel(frame, format, info, x - MARK_REACH, y + i);
        draw_pixel(frame, format, info, x + MARK_REACH, y + i);
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
