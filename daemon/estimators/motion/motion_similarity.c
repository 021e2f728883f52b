#include "estimators/motion/motion_similarity.h"

#include <complex.h>
#include <math.h>
#include <stdint.h>

#define LEAST_CONFIDENCE 0.5F  /* a vector with less does not count */
#define TRIALS           96u   /* a third of outliers leaves two good vectors in 43 of them */
#define DRAWS            16u   /* tries for a vector, until one is sure */
#define APART            0.25  /* two vectors of a trial, at least, in diagonals of the picture */
#define ROUGH            0.7   /* pixels: how far a vector may be from a trial */
#define FINE             0.12  /* pixels: how far it may be in the end */
#define STEPS            10u   /* steps of least squares, from rough to fine */
#define AGREES           0.35  /* pixels: a vector agrees with the result */
#define MAJORITY         0.45  /* the share of all confidence that makes the result sure */
#define MIN_AGREEING     8.0   /* vectors */
#define MAX_DEVIATION    0.1   /* pixels, at a corner */
#define OVERLAP          4.0   /* blocks overlap by half, so that four share each pixel */
#define LEAST_NOISE      0.005 /* pixels, of a vector: no result is more certain */
#define REGIONS_X        6u    /* regions across the picture */
#define REGIONS_Y        4u
#define FEW              1.0 /* vectors of a region: fewer than about these count less together */
#define IN_THE_MIDDLE    0.2 /* what a vector there counts, beside 1.2 in a corner */

/* What a similarity says about the past: a place z of the new picture was at factor * z + shift. */
struct origin {
    double complex factor, shift;
};

/* Sums of a fit about the mean place of all vectors. */
struct fit {
    double weight, spread; /* sums over all vectors: weights, and weights times distance^2 */
    double complex to, from, cross; /* mean places; new ones times old ones */
};

struct field {
    const struct motion_grid *grid;
    const struct motion_vector *vector;
    unsigned count;
    double complex middle;
    double radius;                      /* from the middle to a corner */
    double share[REGIONS_Y][REGIONS_X]; /* what a confidence in a region weighs */
};

static double complex place(const struct field *f, unsigned i)
{
    const struct motion_grid *grid = f->grid;
    const unsigned column = i % grid->columns, row = i / grid->columns;
    return 0.5 * grid->block + (double)column * grid->hop +
           I * (0.5 * grid->block + (double)row * grid->hop) - f->middle;
}

static double complex place_before(const struct field *f, unsigned i)
{
    return place(f, i) - ((double)f->vector[i].dx + I * (double)f->vector[i].dy);
}

static double squared(double complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

static void find_region(const struct field *f, unsigned i, unsigned *ret_x, unsigned *ret_y)
{
    *ret_x = i % f->grid->columns * REGIONS_X / f->grid->columns;
    *ret_y = i / f->grid->columns * REGIONS_Y / f->grid->rows;
}

/* The vectors of each region together count about as much as those of any other: a thing with much
 * texture must not outvote a scene with little of it. */
static void share_out(struct field *f)
{
    unsigned x, y;
    for (unsigned i = 0; i < f->count; i++) {
        find_region(f, i, &x, &y);
        if (f->vector[i].confidence >= LEAST_CONFIDENCE)
            f->share[y][x] += (double)f->vector[i].confidence;
    }
    for (y = 0; y < REGIONS_Y; y++)
        for (x = 0; x < REGIONS_X; x++)
            f->share[y][x] = 1 / (f->share[y][x] + FEW);
}

/* How much a vector counts: more at the edges, because a scene surrounds what moves in it. */
static double importance(const struct field *f, unsigned i)
{
    unsigned x, y;
    const float confidence = f->vector[i].confidence;
    if (confidence < LEAST_CONFIDENCE)
        return 0;
    find_region(f, i, &x, &y);
    return (double)confidence * f->share[y][x] *
           (IN_THE_MIDDLE + squared(place(f, i)) / (f->radius * f->radius));
}

/* How far a vector is from what a similarity says; pixels^2. */
static double error_of(const struct field *f, const struct origin *origin, unsigned i)
{
    return squared(place_before(f, i) - origin->factor * place(f, i) - origin->shift);
}

/* A generator of Numerical Recipes, whose highest bits are good enough. */
static uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Returns a vector of such confidence, or `count`. */
static unsigned draw_vector(const struct field *f, float confidence, uint32_t *state)
{
    for (unsigned i = 0; i < DRAWS; i++) {
        const unsigned at = draw(state) % f->count;
        if (f->vector[at].confidence >= confidence)
            return at;
    }
    return f->count;
}

static double score_of(const struct field *f, const struct origin *origin)
{
    double sum = 0;
    for (unsigned i = 0; i < f->count; i++)
        sum += importance(f, i) / (1 + error_of(f, origin, i) / (ROUGH * ROUGH));
    return sum;
}

/* The best of the similarities through two vectors of such confidence. Returns false if there are
 * no two. */
static bool try_pairs(const struct field *f, float confidence, struct origin *ret)
{
    uint32_t state = 1;
    double best = 0;
    for (unsigned trial = 0; trial < TRIALS; trial++) {
        const unsigned a = draw_vector(f, confidence, &state);
        const unsigned b = draw_vector(f, confidence, &state);
        if (a == f->count || b == f->count)
            continue;
        const double complex apart = place(f, b) - place(f, a);
        if (cabs(apart) < APART * 2 * f->radius)
            continue;
        struct origin origin;
        origin.factor = (place_before(f, b) - place_before(f, a)) / apart;
        origin.shift = place_before(f, a) - origin.factor * place(f, a);
        const double score = score_of(f, &origin);
        if (score > best) {
            best = score;
            *ret = origin;
        }
    }
    return best > 0;
}

static double weight_of(const struct field *f, const struct origin *origin, unsigned i,
                        double scale)
{
    const double w = 1 / (1 + error_of(f, origin, i) / (scale * scale));
    return importance(f, i) * w * w;
}

/* A step of least squares. Returns false if too little counts. */
static bool improve(const struct field *f, double scale, struct origin *origin, struct fit *ret)
{
    struct fit fit = {.weight = 0};
    for (unsigned i = 0; i < f->count; i++) {
        const double w = weight_of(f, origin, i, scale);
        fit.weight += w;
        fit.to += w * place(f, i);
        fit.from += w * place_before(f, i);
    }
    if (fit.weight <= 0)
        return false;
    fit.to /= fit.weight;
    fit.from /= fit.weight;
    for (unsigned i = 0; i < f->count; i++) {
        const double w = weight_of(f, origin, i, scale);
        const double complex to = place(f, i) - fit.to;
        fit.spread += w * squared(to);
        fit.cross += w * conj(to) * (place_before(f, i) - fit.from);
    }
    *ret = fit;
    if (fit.spread <= 0 || cabs(fit.cross) <= 0)
        return false;
    origin->factor = fit.cross / fit.spread;
    origin->shift = fit.from - origin->factor * fit.to;
    return true;
}

/* Sets how much agrees, and by how much the result may be wrong in a corner. */
static void judge(const struct field *f, const struct origin *origin, const struct fit *fit,
                  struct motion_similarity *ret)
{
    double all = 0, agreeing = 0, errors = 0, count = 0;
    for (unsigned i = 0; i < f->count; i++) {
        const double error = error_of(f, origin, i), counts = importance(f, i);
        all += counts;
        if (counts == 0 || error > AGREES * AGREES)
            continue;
        agreeing += counts;
        errors += counts * error;
        count++;
    }
    const double noise = agreeing > 0 ? errors / agreeing + LEAST_NOISE * LEAST_NOISE : INFINITY;
    const double farthest = f->radius + cabs(fit->to);
    ret->agreement = all > 0 ? agreeing / all : 0;
    /* As if all vectors that agree counted alike. */
    ret->deviation =
        sqrt(OVERLAP * noise / count * (1 + farthest * farthest * fit->weight / fit->spread));
    ret->is_sure =
        ret->agreement >= MAJORITY && count >= MIN_AGREEING && ret->deviation <= MAX_DEVIATION;
}

void motion_similarity_fit(const struct motion_grid *grid, const struct motion_vector *vector,
                           double width, double height, struct motion_similarity *ret)
{
    struct field f = {.grid = grid,
                      .vector = vector,
                      .count = grid->columns * grid->rows,
                      .middle = 0.5 * width + I * (0.5 * height),
                      .radius = 0.5 * hypot(width, height)};
    struct origin origin = {.factor = 1};
    struct fit fit = {.weight = 0};
    *ret = (struct motion_similarity){.deviation = INFINITY};
    share_out(&f);
    /* In blurred pictures hardly a vector may be sure. */
    if (!try_pairs(&f, MOTION_FIELD_SURE, &origin) && !try_pairs(&f, LEAST_CONFIDENCE, &origin))
        return;
    for (unsigned step = 0; step < STEPS; step++) {
        const double part = (double)step / (STEPS - 1);
        if (!improve(&f, ROUGH * pow(FINE / ROUGH, part), &origin, &fit))
            return;
    }
    judge(&f, &origin, &fit, ret);
    const struct similarity back = {.dx = creal(origin.shift),
                                    .dy = cimag(origin.shift),
                                    .angle_rad = carg(origin.factor),
                                    .log_zoom = log(cabs(origin.factor))};
    ret->moved = similarity_inverse(&back);
}
