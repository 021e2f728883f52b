#include "support/leaves.h"

#include <math.h>
#include <stdlib.h>

#include "support/scene.h"

#define LARGEST    0.3  /* of the scene */
#define EDGE_STEPS 1024 /* of the table for each unit */
#define EDGE_REACH 4    /* units */

static double edge_table[2 * EDGE_REACH * EDGE_STEPS + 1];

static void make_edge_table(void)
{
    for (unsigned i = 0; i < sizeof edge_table / sizeof edge_table[0]; i++)
        edge_table[i] = 0.5 + 0.5 * erf((double)i / EDGE_STEPS - EDGE_REACH);
}

void leaves_make(struct leaves *ret, double size, double fineness, uint64_t *seed)
{
    const double least = 12 - 9 * fineness, most = LARGEST * size;
    ret->count = (unsigned)(size * size / (least * least) / (2 + 4 * scene_uniform(seed))) + 8;
    ret->leaf = calloc(ret->count, sizeof *ret->leaf);
    make_edge_table();
    for (unsigned i = 0; i < ret->count; i++) {
        struct leaf *leaf = &ret->leaf[i];
        const double share = 1 - (least / most) * (least / most);
        const double half = least / sqrt(1 - share * scene_uniform(seed));
        const double f = 0.02 + 0.28 * scene_uniform(seed);
        const double direction = 2 * M_PI * scene_uniform(seed);
        *leaf = (struct leaf){
            .x = (scene_uniform(seed) - 0.5) * size,
            .y = (scene_uniform(seed) - 0.5) * size,
            .angle_rad = 2 * M_PI * scene_uniform(seed),
            .half = {half, half * (0.3 + 0.7 * scene_uniform(seed))},
            .level = 30 + 190 * scene_uniform(seed),
            .slope = {0.3 * (scene_uniform(seed) - 0.5), 0.3 * (scene_uniform(seed) - 0.5)},
            .amplitude =
                scene_uniform(seed) < 0.7 * fineness ? 15 * fineness * scene_uniform(seed) : 0,
            .fx = f * cos(direction),
            .fy = f * sin(direction),
            .phase = 2 * M_PI * scene_uniform(seed),
            .is_disc = scene_uniform(seed) < 0.5,
        };
    }
}

void leaves_clear(struct leaves *leaves)
{
    free(leaves->leaf);
}

/* The share of a soft edge that covers a place, by its distance in units of the softness, to within
 * 1e-7. A table has it, because erf() took most of the time of a series of pictures. */
static double edge(double distance)
{
    const double place = (distance + EDGE_REACH) * EDGE_STEPS;
    if (!(place > 0))
        return 0;
    if (place >= 2 * EDGE_REACH * EDGE_STEPS)
        return 1;
    const double *entry = &edge_table[(unsigned)place];
    return entry[0] + (place - (unsigned)place) * (entry[1] - entry[0]);
}

/* The share of a soft leaf that covers a place, in its own coordinates. */
static double coverage(const struct leaf *leaf, double u, double v, double soft)
{
    if (leaf->is_disc)
        return edge((leaf->half[0] - sqrt(u * u + v * v)) / soft);
    return edge((leaf->half[0] - fabs(u)) / soft) * edge((leaf->half[1] - fabs(v)) / soft);
}

static void draw(const struct leaf *leaf, const struct leaves_view *view, unsigned width,
                 unsigned height, float *samples)
{
    const double c = cos(view->angle_rad), s = sin(view->angle_rad);
    const double lc = cos(leaf->angle_rad), ls = sin(leaf->angle_rad);
    const double soft = sqrt(2) * hypot(0.6, view->blur_px);
    const double dx = leaf->x - view->x, dy = leaf->y - view->y;
    const double px = c * dx + s * dy + 0.5 * (width - 1);
    const double py = c * dy - s * dx + 0.5 * (height - 1);
    const double reach =
        (leaf->is_disc ? leaf->half[0] : hypot(leaf->half[0], leaf->half[1])) + 2 * soft;
    const double damping = exp(-2 * M_PI * M_PI * view->blur_px * view->blur_px *
                               (leaf->fx * leaf->fx + leaf->fy * leaf->fy));
    const double amplitude = leaf->amplitude * damping;
    for (int j = (int)fmax(ceil(py - reach), 0); j <= fmin(py + reach, height - 1.0); j++)
        for (int i = (int)fmax(ceil(px - reach), 0); i <= fmin(px + reach, width - 1.0); i++) {
            const double x = c * (i - px) - s * (j - py), y = s * (i - px) + c * (j - py);
            const double share = coverage(leaf, lc * x + ls * y, lc * y - ls * x, soft);
            if (share < 1e-3)
                continue;
            double value = leaf->level + leaf->slope[0] * x + leaf->slope[1] * y;
            if (amplitude > 0.05)
                value += amplitude * sin(2 * M_PI * (leaf->fx * x + leaf->fy * y) + leaf->phase);
            float *sample = &samples[(unsigned)j * (size_t)width + (unsigned)i];
            *sample += (float)(share * (value - (double)*sample));
        }
}

void leaves_draw(const struct leaves *leaves, const struct leaves_view *view, unsigned width,
                 unsigned height, float *samples)
{
    for (unsigned i = 0; i < leaves->count; i++)
        draw(&leaves->leaf[i], view, width, height, samples);
}
