#include "filters/warp.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const struct filter_stage *find_stage(const struct filter_chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        if (chain->stage[i].kind->origin != NULL)
            return &chain->stage[i];
    return NULL;
}

bool warp_is_needed(const struct filter_chain *chain)
{
    return find_stage(chain) != NULL;
}

bool warp_is_cubic(const struct filter_chain *chain)
{
    const struct filter_stage *stage = find_stage(chain);
    return stage != NULL && stage->kind->origin_is_cubic(stage);
}

/* Turns a place in an image into one in the frame. */
static double to_frame(double at, unsigned sub)
{
    return (at + 0.5) * sub - 0.5;
}

/* Limits a place to the image, and rounds the move to it to units of the table, for one coordinate.
 */
static double to_units(double frame_at, unsigned sub, uint32_t here, uint32_t length)
{
    const double at = (frame_at + 0.5) / sub - 0.5;
    return rint(WARP_UNIT * fmin(fmax(at, 0), length - 1.)) - WARP_UNIT * (double)here;
}

static bool fits(double units)
{
    return units >= INT16_MIN && units <= INT16_MAX;
}

/* Fills in the table's entry for one sample. */
static int put(int16_t entry[2], const struct warp_image *image, const struct filter_stage *stage,
               uint32_t x, uint32_t y, struct error *why)
{
    const uint32_t size[2] = {image->frame_width, image->frame_height};
    double at[2] = {to_frame(x, image->sub_x), to_frame(y, image->sub_y)};
    const int r = stage->kind->origin(stage, size, at, why);
    if (r < 0)
        return r;
    if (!isfinite(at[0]) || !isfinite(at[1]))
        return error_set(why, EINVAL,
                         "%s: its parameters map column %u, row %u of a frame of %ux%u to no "
                         "place: expected those of a calibration",
                         stage->kind->name, x * image->sub_x, y * image->sub_y, size[0], size[1]);
    const double right = to_units(at[0], image->sub_x, x, image->width);
    const double down = to_units(at[1], image->sub_y, y, image->height);
    if (!fits(right) || !fits(down))
        return error_set(why, ERANGE,
                         "%s: column %u, row %u of a frame of %ux%u would move by %.0f, %.0f "
                         "samples: expected less than %d",
                         stage->kind->name, x * image->sub_x, y * image->sub_y, size[0], size[1],
                         right / WARP_UNIT, down / WARP_UNIT, INT16_MAX / WARP_UNIT + 1);
    entry[0] = (int16_t)right;
    entry[1] = (int16_t)down;
    return 0;
}

int warp_check(const struct filter_chain *chain, uint32_t width, uint32_t height, struct error *why)
{
    const struct warp_image image = {width, height, width, height, 1, 1};
    const struct filter_stage *stage = find_stage(chain);
    int16_t unused[2];
    int r = 0;
    if (stage == NULL)
        return 0;
    for (uint32_t x = 0; x < width && r == 0; x++) {
        r = put(unused, &image, stage, x, 0, why);
        if (r == 0)
            r = put(unused, &image, stage, x, height - 1, why);
    }
    for (uint32_t y = 0; y < height && r == 0; y++) {
        r = put(unused, &image, stage, 0, y, why);
        if (r == 0)
            r = put(unused, &image, stage, width - 1, y, why);
    }
    return r;
}

int warp_fill(int16_t (*table)[2], const struct warp_image *image, const struct filter_chain *chain,
              struct error *why)
{
    const struct filter_stage *stage = find_stage(chain);
    if (stage == NULL) {
        memset(table, 0, (size_t)image->width * image->height * sizeof *table);
        return 0;
    }
    for (uint32_t y = 0; y < image->height; y++)
        for (uint32_t x = 0; x < image->width; x++) {
            const int r = put(table[(size_t)y * image->width + x], image, stage, x, y, why);
            if (r < 0)
                return r;
        }
    return 0;
}

/* ---- the middle ---- */

#define PART 8. /* slopes are taken over this part of the smaller side, to each side */

static double determinant(const struct warp_middle *middle)
{
    return middle->by[0] * middle->by[3] - middle->by[1] * middle->by[2];
}

struct warp_middle warp_find_middle(const struct filter_chain *chain, uint32_t width,
                                    uint32_t height)
{
    static const struct warp_middle none = {.by = {1, 0, 0, 1}};
    const struct filter_stage *stage = find_stage(chain);
    const uint32_t size[2] = {width, height};
    const double middle[2] = {(width - 1) / 2., (height - 1) / 2.};
    const double step = fmin(width, height) / PART;
    struct warp_middle ret = {.by = {0}};
    double at[2][2]; /* before and after, along an axis */
    for (unsigned axis = 0; stage != NULL && axis < 2; axis++) {
        for (unsigned side = 0; side < 2; side++) {
            at[side][axis] = middle[axis] + (side == 0 ? -step : step);
            at[side][1 - axis] = middle[1 - axis];
            if (stage->kind->origin(stage, size, at[side], NULL) < 0)
                return none;
        }
        for (unsigned k = 0; k < 2; k++) {
            ret.by[2 * k + axis] = (at[1][k] - at[0][k]) / (2 * step);
            ret.off[k] += (at[0][k] + at[1][k] - 2 * middle[k]) / 4;
        }
    }
    return fabs(determinant(&ret)) > 1e-3 ? ret : none; /* not if something is not finite */
}

void warp_carry(const struct warp_middle *middle, struct similarity *motion)
{
    const double area = determinant(middle);
    double at[2] = {middle->off[0], middle->off[1]};
    similarity_move(motion, at);
    const double right = at[0] - middle->off[0], down = at[1] - middle->off[1];
    motion->dx = (middle->by[3] * right - middle->by[1] * down) / area;
    motion->dy = (middle->by[0] * down - middle->by[2] * right) / area;
    motion->angle_rad *= area < 0 ? -1 : 1;
}
