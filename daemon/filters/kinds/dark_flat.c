/* dark and flat: correct each captured pixel by recorded frames (calibration.h). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filters/filter_shape.h"

static size_t count_of(const struct filter_calibration *table)
{
    return (size_t)table->width * table->height;
}

/* Returns whether a value differs from a neighbour's so much that its pixel may be bad. */
typedef bool differs_fn(double value, double neighbour, double limit);

/* Returns whether a pixel differs from at least three quarters of its nearest neighbours of the
 * same colour, of which there are up to eight. Pixels in a bad line do, but not those in the corner
 * of an area. */
static bool stands_out(const struct filter_calibration *table, const float *value, size_t at,
                       differs_fn *differs, double limit)
{
    const int64_t step = table->cell;
    const int64_t x = (int64_t)(at % table->width), y = (int64_t)(at / table->width);
    unsigned differing = 0, count = 0;
    for (int64_t dy = -step; dy <= step; dy += step)
        for (int64_t dx = -step; dx <= step; dx += step) {
            const int64_t column = x + dx, row = y + dy;
            if ((dx == 0 && dy == 0) || column < 0 || row < 0 || column >= table->width ||
                row >= table->height)
                continue;
            count++;
            const size_t other = (size_t)row * table->width + (size_t)column;
            differing += differs((double)value[at], (double)value[other], limit);
        }
    return 4 * differing >= 3 * count;
}

/* The images come from `fftd-ctl calibrate`, or have the same scale. */
static int check_levels(const struct filter_stage *stage, float lowest, struct error *why)
{
    const struct filter_image *image = stage->image;
    const size_t count = (size_t)image->columns * image->rows;
    if (image->lowest >= lowest && image->highest <= 1) /* the main thread checks a chain, too */
        return 0;
    for (size_t i = 0; i < count; i++)
        if (image->pixel[i] < lowest || image->pixel[i] > 1)
            return error_set(why, EINVAL,
                             "%s: the pixel in column %zu of row %zu of image %s is %g: expected "
                             "%g .. 1, where 1 is white",
                             stage->kind->name, i % image->columns + 1, i / image->columns + 1,
                             image->name, (double)image->pixel[i], (double)lowest);
    return 0;
}

/* ---- dark ---- */

enum { DARK_IMAGE, DARK_PEDESTAL, DARK_HOT };

/* What is added to a column or a row may be less than nothing. */
static int check_dark(const struct filter_stage *stage, struct error *why)
{
    return check_levels(stage, -1, why);
}

static bool is_hot_beside(double value, double neighbour, double limit)
{
    return value > neighbour + limit;
}

static int dark_offsets(const struct filter_stage *stage, struct filter_calibration *table,
                        struct error *why)
{
    const float *dark = stage->image->pixel;
    const double hot = number(stage, DARK_HOT);
    (void)why;
    table->pedestal += number(stage, DARK_PEDESTAL) * table->white;
    for (size_t i = 0; i < count_of(table); i++) {
        table->offset[i] += (float)((double)dark[i] * table->white);
        if ((double)dark[i] > hot &&
            (dark[i] >= 1 || stands_out(table, dark, i, is_hot_beside, hot)))
            table->is_bad[i] = 1;
    }
    return 0;
}

const struct filter_kind filter_dark = {
    .name = "dark",
    .group = "light",
    .summary = "subtracts what the sensor adds to each pixel, and replaces hot pixels",
    .formula =
        "H = 1; corrected = sample - white * image(x, y) + white * pedestal; where image(x, "
        "y) is more than hot above 6 of its 8 neighbours, or is 1, the mean of the 4 nearest",
    .param =
        {
            [DARK_IMAGE] = IMAGE_PARAM("the mean of frames taken in the dark, as large as the "
                                       "frames, 1 is white; `fftd-ctl calibrate dark` records it",
                                       true),
            [DARK_PEDESTAL] =
                {
                    .name = "pedestal",
                    .summary = "level of black afterwards, such as 0.0627 where black is 16 of 255",
                    .max = 0.5,
                },
            [DARK_HOT] =
                {
                    .name = "hot",
                    .summary = "what a pixel must have more than its neighbours to be replaced; 1: "
                               "none is",
                    .min = 0.005,
                    .max = 1,
                    .initial = 0.1,
                },
        },
    .check = check_dark,
    .add_offsets = dark_offsets,
    .example = "dark:image=dark.pfm",
};

/* ---- flat ---- */

enum { FLAT_IMAGE, FLAT_LIMIT, FLAT_DEAD };

static int check_flat(const struct filter_stage *stage, struct error *why)
{
    return check_levels(stage, 0, why);
}

static bool is_dead_beside(double value, double neighbour, double limit)
{
    return value < neighbour * limit;
}

/* Returns the index of a pixel in its cell. */
static size_t colour_of(const struct filter_calibration *table, size_t at)
{
    return table->cell * (at / table->width % table->cell) + at % table->width % table->cell;
}

/* Computes the mean light on good pixels, for each colour of a cell separately, so that the colour
 * of the lamp does not become white. Returns whether all means are above 0. */
static bool mean_light(double mean[4], const struct filter_calibration *table, const float *light)
{
    double count[4] = {0};
    bool is_bright = true;
    memset(mean, 0, 4 * sizeof mean[0]);
    for (size_t i = 0; i < count_of(table); i++) {
        if (table->is_bad[i] != 0)
            continue;
        mean[colour_of(table, i)] += (double)light[i];
        count[colour_of(table, i)]++;
    }
    for (unsigned i = 0; i < table->cell * table->cell; i++) {
        is_bright = is_bright && mean[i] > 0;
        mean[i] /= fmax(count[i], 1);
    }
    return is_bright;
}

static void multiply_flat(const struct filter_stage *stage, struct filter_calibration *table,
                          const float *light, const double mean[4])
{
    const double limit = number(stage, FLAT_LIMIT), dead = number(stage, FLAT_DEAD);
    for (size_t i = 0; i < count_of(table); i++) {
        const double level = mean[colour_of(table, i)];
        const double gain = (double)light[i] > 0 ? level / (double)light[i] : limit;
        table->gain[i] *= (float)fmin(fmax(gain, 1 / limit), limit);
        if ((double)light[i] < level && stands_out(table, light, i, is_dead_beside, dead))
            table->is_bad[i] = 1;
    }
}

static int flat_gains(const struct filter_stage *stage, struct filter_calibration *table,
                      struct error *why)
{
    double mean[4];
    float *light = malloc(count_of(table) * sizeof *light);
    if (light == NULL)
        return error_set(why, ENOMEM, "out of memory while computing a calibration");
    for (size_t i = 0; i < count_of(table); i++)
        light[i] =
            (float)((double)stage->image->pixel[i] * table->white - (double)table->offset[i]);
    const bool is_bright = mean_light(mean, table, light);
    if (is_bright)
        multiply_flat(stage, table, light, mean);
    free(light);
    return is_bright ? 0
                     : error_set(why, EINVAL,
                                 "flat: image %s is not brighter than the dark frame: expected an "
                                 "evenly lit one",
                                 stage->image->name);
}

const struct filter_kind filter_flat = {
    .name = "flat",
    .group = "light",
    .summary = "evens out what the lens and each pixel let through, and replaces dead pixels",
    .formula = "H = 1; corrected = sample * g, g = mean of F / F(x, y) within 1/limit .. limit, F "
               "= white * image - what dark subtracts; where F(x, y) is below dead times 6 of its "
               "8 neighbours, the mean of the 4 nearest",
    .param =
        {
            [FLAT_IMAGE] =
                IMAGE_PARAM("the mean of frames of an evenly lit surface, as large as the frames, "
                            "1 is white; `fftd-ctl calibrate flat` records it",
                            true),
            [FLAT_LIMIT] =
                {
                    .name = "limit",
                    .summary = "the greatest gain",
                    .min = 1,
                    .max = FILTER_MAX_GAIN,
                    .initial = 4,
                },
            [FLAT_DEAD] =
                {
                    .name = "dead",
                    .summary = "share of its neighbours' light below which a pixel is replaced",
                    .max = 0.9,
                    .initial = 0.5,
                },
        },
    .check = check_flat,
    .multiply_gains = flat_gains,
    .example = "flat:image=flat.pfm",
};
