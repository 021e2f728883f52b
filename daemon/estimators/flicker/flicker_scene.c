#include "estimators/flicker/flicker_scene.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/order.h"
#include "core/vectors.h"
#include "estimators/motion/motion.h"

#define BLOCK         8u  /* pixels, of what is compared where motion.h is not sure */
#define DIFFERENT     0.5 /* squares of differences between blocks, of the squares of the scene */
#define AS_GOOD       1.15
#define SEARCHES      16u /* steps */
#define LEAP_PX       1.0
#define CLEAR         4.0 /* medians by which one of two changes of a block must be larger */
#define FEW           0.1 /* share of the blocks; if fewer tell, a likely motion is believed */
#define MIDDLE        128.0F
/* Shifts below this are errors of the estimate, whose largest is 0.03 in tests/unit/motion.c,
 * unless they add up to three times this. */
#define STILL_PX      0.05
#define DRIFT_PX      0.15
/* The shift is estimated in a reduced frame. Its shorter side has at least this many samples,
 * unless the frame itself has fewer. A bin has more than two of them there, and all thresholds are
 * about them. */
#define LEAST_REDUCED 180u

struct flicker_scene {
    unsigned width, height;
    unsigned around; /* rows on each side of one, whose brightness is evened out with it */
    /* In samples of `flat`: motion that was too little to follow, and that into the newest frame.
     */
    double still_x, still_y;
    double moved_x, moved_y;
    struct motion_estimator *motion;
    /* The last frame and the new one, with rows of equal brightness; a sample is the mean of
     * reduction x reduction. */
    float *flat[2];
    unsigned reduction, flat_width, flat_height;
    float *line; /* sum of the rows that become one row of `flat` */
    unsigned blocks;
    float *change; /* room for has_moved(): three numbers for each block */
    double *above; /* sums over the samples of the rows above each row: height + 1 */
};

int flicker_scene_create(struct flicker_scene **ret, unsigned width, unsigned height,
                         unsigned around, struct error *why)
{
    struct flicker_scene *scene = calloc(1, sizeof *scene);
    if (scene == NULL)
        return error_set(why, ENOMEM, "out of memory for the motion of a scene");
    scene->width = width;
    scene->height = height;
    scene->around = around;
    const unsigned least = width < height ? width : height;
    scene->reduction = least < 2 * LEAST_REDUCED ? 1 : least / LEAST_REDUCED;
    scene->flat_width = width / scene->reduction;
    scene->flat_height = height / scene->reduction;
    scene->above = calloc((size_t)height + 1, sizeof *scene->above);
    scene->line = calloc(width, sizeof *scene->line);
    scene->blocks = (scene->flat_width / BLOCK + 1) * (scene->flat_height / BLOCK + 1);
    scene->change = calloc(3 * (size_t)scene->blocks, sizeof *scene->change);
    for (unsigned i = 0; i < 2; i++)
        scene->flat[i] =
            calloc((size_t)scene->flat_width * scene->flat_height, sizeof *scene->flat[i]);
    int r = motion_create(&scene->motion, scene->flat_width, scene->flat_height, why);
    if (r == 0 && (scene->above == NULL || scene->line == NULL || scene->change == NULL ||
                   scene->flat[0] == NULL || scene->flat[1] == NULL))
        r = error_set(why, ENOMEM, "out of memory for the motion of a scene");
    if (r < 0) {
        flicker_scene_destroy(scene);
        return r;
    }
    *ret = scene;
    return 0;
}

void flicker_scene_destroy(struct flicker_scene *scene)
{
    if (scene == NULL)
        return;
    motion_destroy(scene->motion);
    for (unsigned i = 0; i < 2; i++)
        free(scene->flat[i]);
    free(scene->line);
    free(scene->change);
    free(scene->above);
    free(scene);
}

void flicker_scene_reset(struct flicker_scene *scene)
{
    motion_reset(scene->motion);
}

void flicker_scene_settle(struct flicker_scene *scene)
{
    scene->still_x = scene->still_y = 0;
}

static ALWAYS_INLINE double row_sum(const float *row, unsigned width)
{
    floats sum = {0};
    double all = 0;
    unsigned x = 0;
    for (; x + FLOATS <= width; x += FLOATS)
        sum += FLOATS_AT(row + x);
    for (; x < width; x++)
        all += (double)row[x];
    for (unsigned i = 0; i < FLOATS; i++)
        all += (double)sum[i];
    return all;
}

static ALWAYS_INLINE void add_row(float *restrict to, const float *restrict row, float factor,
                                  unsigned width)
{
    unsigned x = 0;
    for (; x + FLOATS <= width; x += FLOATS)
        FLOATS_AT(to + x) += factor * FLOATS_AT(row + x);
    for (; x < width; x++)
        to[x] += factor * row[x];
}

/* Makes all rows equally bright, so that flicker is not taken for motion. Each is divided
 * by the brightness of the rows around it: a single bright row belongs to the scene, and moves. */
VECTORS static void flatten(struct flicker_scene *scene, const float *luma, float *ret)
{
    const unsigned reduction = scene->reduction, height = scene->flat_height * reduction;
    const unsigned around = scene->around;
    double *above = scene->above;
    for (unsigned y = 0; y < height; y++)
        above[y + 1] = above[y] + row_sum(luma + (size_t)y * scene->width, scene->width);
    for (unsigned y = 0; y < height; y++) {
        float *flat = ret + (size_t)(y / reduction) * scene->flat_width;
        const unsigned first = y < around ? 0 : y - around;
        const unsigned end = y + around + 1 > height ? height : y + around + 1;
        const double sum = (above[end] - above[first]) / (end - first);
        const float factor = (float)((sum > 0 ? (double)MIDDLE * scene->width / sum : 1) /
                                     (double)(reduction * reduction));
        if (y % reduction == 0)
            memset(scene->line, 0, scene->width * sizeof *scene->line);
        add_row(scene->line, luma + (size_t)y * scene->width, factor, scene->width);
        if ((y + 1) % reduction != 0)
            continue;
        const float *line = scene->line;
        for (unsigned x = 0; x < scene->flat_width; x++, line += reduction) {
            flat[x] = line[0];
            for (unsigned i = 1; i < reduction; i++)
                flat[x] += line[i];
        }
    }
}

/* Ignores shifts that are errors of the estimate, so that still scenes stay exactly still. */
static void settle(struct flicker_scene *scene, double *dx, double *dy)
{
    scene->still_x += *dx;
    scene->still_y += *dy;
    if (hypot(*dx, *dy) < STILL_PX && hypot(scene->still_x, scene->still_y) < DRIFT_PX) {
        *dx = *dy = 0;
        return;
    }
    *dx = scene->still_x;
    *dy = scene->still_y;
    scene->still_x = scene->still_y = 0;
}

/* The sum over a block of the last frame (0) or the new one (1). */
static double block_sum(const struct flicker_scene *scene, unsigned which, int at_x, int at_y)
{
    const float *luma = scene->flat[which] + (size_t)at_y * scene->flat_width + at_x;
    float sum = 0;
    for (unsigned y = 0; y < BLOCK; y++)
        for (unsigned x = 0; x < BLOCK; x++)
            sum += luma[(size_t)y * scene->flat_width + x];
    return (double)sum;
}

/* The squares of differences between blocks of the last frame and of the new one, which has moved
 * by that many pixels, relative to those of the scene. */
static double difference(const struct flicker_scene *scene, int dx, int dy)
{
    const int width = (int)scene->flat_width, height = (int)scene->flat_height, block = (int)BLOCK;
    double sum = 0, squares = 0, differences = 0;
    unsigned count = 0;
    for (int y = block; y + 2 * block <= height; y += 2 * block)
        for (int x = block; x + 2 * block <= width; x += 2 * block) {
            const int to_x = x + dx, to_y = y + dy;
            if (to_x < 0 || to_y < 0 || to_x + block > width || to_y + block > height)
                continue;
            const double p = block_sum(scene, 0, x, y), q = block_sum(scene, 1, to_x, to_y);
            differences += (p - q) * (p - q);
            sum += p;
            squares += p * p;
            count++;
        }
    return count == 0 ? INFINITY : differences / fmax(squares - sum * sum / count, 1e-9);
}

static float median(float *value, unsigned count)
{
    qsort(value, count, sizeof *value, order_floats);
    return value[count / 2];
}

/* The same between pixels of the new frame. */
static double block_between(const struct flicker_scene *scene, double at_x, double at_y)
{
    const int x = (int)floor(at_x), y = (int)floor(at_y);
    const double a = at_x - x, b = at_y - y;
    return (1 - b) * ((1 - a) * block_sum(scene, 1, x, y) + a * block_sum(scene, 1, x + 1, y)) +
           b * ((1 - a) * block_sum(scene, 1, x, y + 1) + a * block_sum(scene, 1, x + 1, y + 1));
}

/* Makes what is common to the blocks of a row, which may be light, 0. */
static void remove_common(float *change, unsigned count, float *sorted)
{
    if (count == 0)
        return;
    memcpy(sorted, change, count * sizeof *change);
    const float common = median(sorted, count);
    for (unsigned i = 0; i < count; i++)
        change[i] = fabsf(change[i] - common);
}

/* Lists by how much blocks change if the scene stands still, and if it has moved. Blocks that leave
 * the frame are left out. Returns how many there are. */
static unsigned list_changes(const struct flicker_scene *scene, const struct motion *motion,
                             float *still, float *moved)
{
    const int width = (int)scene->flat_width, height = (int)scene->flat_height, block = (int)BLOCK;
    unsigned count = 0;
    for (int y = block; y + 2 * block <= height; y += 2 * block) {
        const double to_y = y + motion->dy;
        const unsigned first = count;
        if (to_y < 0 || to_y + block + 1 > height)
            continue;
        for (int x = block; x + 2 * block <= width; x += 2 * block) {
            const double to_x = x + motion->dx, last = block_sum(scene, 0, x, y);
            if (to_x < 0 || to_x + block + 1 > width)
                continue;
            still[count] = (float)(block_sum(scene, 1, x, y) - last);
            moved[count++] = (float)(block_between(scene, to_x, to_y) - last);
        }
        remove_common(still + first, count - first, scene->change);
        remove_common(moved + first, count - first, scene->change);
    }
    return count;
}

/* Returns whether the scene has moved rather than stood still: which of both makes more blocks
 * alike. Each block that tells has one vote, so that something bright which moves before a scene
 * that stands still does not outweigh it. is_likely: to be believed unless many blocks tell, and
 * most of them against it. */
static bool has_moved(const struct flicker_scene *scene, const struct motion *motion,
                      bool is_likely)
{
    float *sorted = scene->change, *still = sorted + scene->blocks, *moved = still + scene->blocks;
    const unsigned count = list_changes(scene, motion, still, moved);
    unsigned telling = 0, nearer = 0;
    if (count == 0)
        return is_likely;
    memcpy(sorted, still, count * sizeof *still);
    float noise = median(sorted, count);
    memcpy(sorted, moved, count * sizeof *moved);
    noise = fminf(noise, median(sorted, count));
    for (unsigned i = 0; i < count; i++)
        if (fabsf(still[i] - moved[i]) > CLEAR * noise) {
            telling++;
            nearer += moved[i] < still[i];
        }
    if (is_likely)
        return telling < FEW * count || 2 * nearer >= telling;
    return 2 * nearer > telling;
}

/* Looks for the shift where details are too few to estimate it, from that of the frame before on.
 * False if nothing resembles. */
static bool search_shift(const struct flicker_scene *scene, struct motion *motion)
{
    static const int side_x[] = {1, -1, 0, 0}, side_y[] = {0, 0, 1, -1};
    int x = (int)lround(scene->moved_x), y = (int)lround(scene->moved_y), step = 4;
    double best = difference(scene, x, y), side[4] = {0};
    for (unsigned tries = 0; step > 0 && tries < SEARCHES; tries++) {
        unsigned least = 0;
        for (unsigned i = 0; i < 4; i++) {
            side[i] = difference(scene, x + step * side_x[i], y + step * side_y[i]);
            least = side[i] < side[least] ? i : least;
        }
        if (side[least] < best) {
            x += step * side_x[least];
            y += step * side_y[least];
            best = side[least];
        } else {
            step /= 2;
        }
    }
    const double bend_x = side[0] + side[1] - 2 * best, bend_y = side[2] + side[3] - 2 * best;
    if (step > 0 || !(best < DIFFERENT) || !(bend_x > 0) || !(bend_y > 0))
        return false;
    if (difference(scene, 0, 0) < AS_GOOD * best) {
        motion->dx = motion->dy = 0;
        return true;
    }
    motion->dx = x + 0.5 * (side[1] - side[0]) / bend_x;
    motion->dy = y + 0.5 * (side[3] - side[2]) / bend_y;
    return true;
}

/* The gains of the pixels stand still whatever the scene does, and may be the finest details that
 * there are. They average out in blocks, which therefore have to agree that the scene stands still.
 * Returns false if they show another scene. */
static bool confirm_still(struct flicker_scene *scene, struct motion *motion)
{
    struct motion moved = {.dx = 0};
    scene->moved_x = scene->moved_y = 0;
    if (!search_shift(scene, &moved))
        return difference(scene, 0, 0) < DIFFERENT;
    if (has_moved(scene, &moved, false))
        *motion = moved;
    return true;
}

/* Edges in one direction leave the shift along them open. If it leaps, and the frame before moved
 * in a way that suits this one better, so did this one. */
static void steady_motion(struct flicker_scene *scene, struct motion *motion)
{
    const double leap = hypot(motion->dx - scene->moved_x, motion->dy - scene->moved_y);
    if (leap > LEAP_PX &&
        difference(scene, (int)lround(scene->moved_x), (int)lround(scene->moved_y)) <
            difference(scene, (int)lround(motion->dx), (int)lround(motion->dy))) {
        motion->dx = scene->moved_x;
        motion->dy = scene->moved_y;
    }
}

/* Blocks tell which of the shifts that suit a texture is right, but not its fraction, and details
 * that are off by a part of a pixel seem to travel over the rows. False if it stays unknown. */
static bool know_fraction(const struct flicker_scene *scene, struct motion *motion)
{
    return motion_near(scene->motion, motion->dx, motion->dy, motion) || !motion->is_ambiguous;
}

bool flicker_scene_follow(struct flicker_scene *scene, const float *luma, unsigned frames,
                          double *ret_dx, double *ret_dy)
{
    struct motion motion;
    float *newest = scene->flat[0];
    scene->flat[0] = scene->flat[1];
    scene->flat[1] = newest;
    flatten(scene, luma, newest);
    motion_observe(scene->motion, newest, &motion);
    if (frames <= 1)
        scene->moved_x = scene->moved_y = 0;
    if (frames == 0)
        return false;
    if (motion.is_sure) {
        if (frames > 1)
            steady_motion(scene, &motion);
        if (hypot(motion.dx, motion.dy) >= LEAP_PX && !has_moved(scene, &motion, true))
            motion.dx = motion.dy = 0;
        if (lround(motion.dx) == 0 && lround(motion.dy) == 0 && !confirm_still(scene, &motion))
            return false;
    } else if (!search_shift(scene, &motion) || !know_fraction(scene, &motion)) {
        return false;
    }
    scene->moved_x = motion.dx;
    scene->moved_y = motion.dy;
    double dx = motion.dx, dy = motion.dy;
    settle(scene, &dx, &dy);
    dx *= scene->reduction;
    dy *= scene->reduction;
    if (!(fabs(dx) < 0.5 * scene->width) || !(fabs(dy) < 0.5 * scene->height))
        return false;
    *ret_dx = dx;
    *ret_dy = dy;
    return true;
}
