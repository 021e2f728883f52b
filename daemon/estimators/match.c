#include "estimators/match.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "estimators/match_sheet.h"
#include "estimators/match_sieve.h"

#define LEVELS     4u  /* blocks of 1, 2, 4 and 8 pixels a side */
#define CANDIDATES 12u /* places that are followed from the level at which all are compared */
#define FOLLOWED   4u  /* as many of these are followed from the next level on */
#define FINALISTS  2u  /* and as many of those at full size */
#define MOVES      4u  /* a place makes at one level, each to its best neighbour */

struct template
{
    struct match_shape shape[LEVELS]; /* up to hasty_level */
    unsigned level;                   /* at which all places are compared; LEVELS: at none */
    unsigned hasty_level;             /* tried before it: the next coarser one, or the same */
    float complex *kernel[LEVELS];    /* at both: conjugate spectrum of the shape, over side^2 */
};

struct matcher {
    struct match_sheet sheet[LEVELS]; /* the picture in blocks of each size */
    unsigned levels;                  /* that some template needs, at least 1 */
    unsigned count;
    struct template template[FILTER_MAX_MATCHES];
    unsigned sieves;
    struct match_sieve *sieve[FILTER_MAX_MATCHES / MATCH_SIEVE_LEAST]; /* at full size */
};

static unsigned greater(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

/* ---- life: templates ---- */

/* Writes the means of 2 x 2 pixels. A last odd column or row is left out. */
static void halve(float *to, const float *from, struct match_extent size)
{
    for (unsigned y = 0; y < size.rows / 2; y++) {
        const float *upper = from + (size_t)2 * y * size.columns, *lower = upper + size.columns;
        for (unsigned x = 0; x < size.columns / 2; x++)
            *to++ = (upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1]) / 4;
    }
}

/* Subtracts the mean. */
static void complete_shape(struct match_shape *shape, struct match_extent picture)
{
    const size_t count = match_area(shape->image);
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)shape->pixel[i];
    for (size_t i = 0; i < count; i++) {
        const double rest = (double)shape->pixel[i] - sum / (double)count;
        shape->pixel[i] = (float)rest;
        shape->variation += rest * rest;
    }
    shape->places = match_places(picture, shape->image);
}

/* Returns whether blocks leave this share of a template's variation. */
static bool keeps(const struct match_shape *shape, const struct match_shape *finest,
                  unsigned blocks, double share)
{
    return match_area(shape->image) >= MATCH_LEAST_BLOCKS &&
           shape->variation * blocks * blocks >= share * finest->variation;
}

/* Makes the shapes of a template, up to the levels at which it is looked for. */
static int shape_template(struct template *t, const struct filter_image *image,
                          const struct match_sheet *sheets, unsigned levels)
{
    for (unsigned k = 0; k < levels; k++) {
        struct match_shape *shape = &t->shape[k];
        shape->image = (struct match_extent){image->columns >> k, image->rows >> k};
        if (match_area(shape->image) == 0)
            return 0;
        shape->pixel = calloc(match_area(shape->image), sizeof *shape->pixel);
        if (shape->pixel == NULL)
            return -ENOMEM;
        if (k == 0)
            memcpy(shape->pixel, image->pixel, match_area(shape->image) * sizeof *shape->pixel);
        else
            halve(shape->pixel, t->shape[k - 1].pixel, t->shape[k - 1].image);
        complete_shape(shape, sheets[k].picture);
        if (k > 0 && !keeps(shape, &t->shape[0], 1u << k, MATCH_HASTY_SHARE))
            return 0;
        t->hasty_level = k;
        if (k > 0 && !keeps(shape, &t->shape[0], 1u << k, MATCH_LEAST_SHARE))
            return 0;
        t->level = k;
    }
    return 0;
}

/* ---- life: sheets ---- */

/* The templates that are looked for at one level. */
struct group {
    unsigned count;
    struct match_extent largest, smallest;
};

static struct group group_at(const struct matcher *m, unsigned level)
{
    struct group group = {.smallest = {UINT_MAX, UINT_MAX}};
    for (unsigned i = 0; i < m->count; i++) {
        const struct template *t = &m->template[i];
        if (t->level != level && t->hasty_level != level)
            continue;
        const struct match_extent image = t->shape[level].image;
        group.count++;
        group.largest = match_larger(group.largest, image);
        group.smallest = match_smaller(group.smallest, image);
    }
    return group;
}

static int create_sheet(struct matcher *m, unsigned level, struct error *why)
{
    const struct group group = group_at(m, level);
    struct match_sheet *sheet = &m->sheet[level];
    if (level > 0) {
        sheet->blocks = malloc((match_area(sheet->picture) + 1) * sizeof *sheet->blocks);
        if (sheet->blocks == NULL)
            return -ENOMEM;
        sheet->luma = sheet->blocks;
    }
    const int r = match_sheet_init_sums(sheet);
    return r == 0 && group.count > 0 ? match_sheet_init(sheet, group.smallest, group.largest, why)
                                     : r;
}

/* ---- life ---- */

/* Templates that are looked for at full size are looked for together where that is possible. */
static int create_sieves(struct matcher *m)
{
    const struct match_shape *left[FILTER_MAX_MATCHES];
    for (unsigned i = 0; i < m->count; i++)
        left[i] = m->template[i].level == 0 ? &m->template[i].shape[0] : NULL;
    for (m->sieves = 0;; m->sieves++) {
        struct match_sieve *next;
        const int r = match_sieve_create(&next, &m->sheet[0], left, m->count);
        if (r < 0 || next == NULL)
            return r;
        m->sieve[m->sieves] = next;
    }
}

static int take_templates(struct matcher *m, const struct filter_image *const *images,
                          unsigned count, unsigned levels, struct error *why)
{
    const struct match_extent picture = m->sheet[0].picture;
    for (m->count = 0; m->count < count; m->count++) {
        const struct filter_image *image = images[m->count];
        struct template *t = &m->template[m->count];
        t->level = t->hasty_level = LEVELS;
        if (image->columns > picture.columns || image->rows > picture.rows) {
            error_set(why, EINVAL,
                      "match: image %s has %u x %u pixels, frames %u x %u: expected a template "
                      "that fits in",
                      image->name, image->columns, image->rows, picture.columns, picture.rows);
            continue;
        }
        if (shape_template(t, image, m->sheet, levels) < 0) {
            m->count++;
            return -ENOMEM;
        }
        m->levels = greater(m->levels, t->hasty_level + 1);
    }
    return 0;
}

/* Every level is counted as if all templates were looked for there, and each of them has kernels of
 * two levels, which are largest at the first two. Shapes of all levels are at most twice the first
 * one. */
uint64_t matcher_bytes(unsigned width, unsigned height, const struct filter_image *const *images,
                       unsigned count)
{
    struct match_extent largest = {0, 0}, smallest = {width, height};
    uint64_t bytes = sizeof(struct matcher), kernels = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct match_extent image = {images[i]->columns, images[i]->rows};
        if (image.columns > width || image.rows > height)
            continue;
        kernels++;
        bytes += 2 * match_area(image) * sizeof(float);
        largest = match_larger(largest, image);
        smallest = match_smaller(smallest, image);
    }
    for (unsigned k = 0; k < (count > 1 ? LEVELS : 1) && kernels > 0; k++) {
        const struct match_extent picture = {width >> k, height >> k};
        uint64_t kernel;
        if (largest.columns >> k == 0 || largest.rows >> k == 0)
            break;
        const struct match_extent least = {smallest.columns >> k, smallest.rows >> k};
        bytes += match_sheet_bytes(picture, match_larger(least, (struct match_extent){1, 1}),
                                   (struct match_extent){largest.columns >> k, largest.rows >> k},
                                   &kernel);
        if (k > 0)
            bytes += match_area(picture) * sizeof(float);
        if (k < 2)
            bytes += (kernels + (k == 0 ? kernels / MATCH_SIEVE_LEAST : 0)) * kernel;
    }
    return bytes;
}

int matcher_create(struct matcher **ret, unsigned width, unsigned height,
                   const struct filter_image *const *images, unsigned count, struct error *why)
{
    const unsigned levels = count > 1 ? LEVELS : 1;
    struct matcher *m = calloc(1, sizeof *m);
    if (m == NULL)
        return error_set(why, ENOMEM, "out of memory for a matcher");
    m->levels = 1;
    for (unsigned k = 0; k < LEVELS; k++)
        m->sheet[k].picture = (struct match_extent){width >> k, height >> k};
    int r = take_templates(m, images, count, levels, why);
    for (unsigned k = 0; r == 0 && k < m->levels; k++)
        r = create_sheet(m, k, why);
    for (unsigned i = 0; r == 0 && i < count; i++) {
        struct template *t = &m->template[i];
        for (unsigned k = t->level; r == 0 && k <= t->hasty_level && k < LEVELS; k++) {
            t->kernel[k] = match_sheet_kernel(&m->sheet[k], &t->shape[k]);
            r = t->kernel[k] == NULL ? -ENOMEM : 0;
        }
    }
    if (r == 0)
        r = create_sieves(m);
    if (r < 0) {
        matcher_destroy(m);
        return error_set(why, -r, "out of memory for matches in %ux%u", width, height);
    }
    *ret = m;
    return 0;
}

void matcher_destroy(struct matcher *m)
{
    if (m == NULL)
        return;
    for (unsigned i = 0; i < m->count; i++) {
        for (unsigned k = 0; k < LEVELS; k++) {
            free(m->template[i].shape[k].pixel);
            free(m->template[i].kernel[k]);
        }
    }
    for (unsigned i = 0; i < m->sieves; i++)
        match_sieve_destroy(m->sieve[i]);
    for (unsigned k = 0; k < LEVELS; k++)
        match_sheet_finish(&m->sheet[k]);
    free(m);
}

/* ---- from level to level ---- */

/* Scores around the place from which a climb began, each calculated once. */
struct climb {
    const struct match_sheet *sheet;
    const struct match_shape *shape;
    unsigned left, top; /* that place */
    double score[2 * MOVES + 3][2 * MOVES + 3];
    bool is_known[2 * MOVES + 3][2 * MOVES + 3];
};

static double climb_score(struct climb *climb, unsigned x, unsigned y)
{
    const unsigned column = x + MOVES + 1 - climb->left, row = y + MOVES + 1 - climb->top;
    if (!climb->is_known[row][column]) {
        climb->is_known[row][column] = true;
        climb->score[row][column] = match_sheet_score(climb->sheet, climb->shape, x, y);
    }
    return climb->score[row][column];
}

/* Moves a place to its best neighbour, and repeats this from there. */
static void climb_from(const struct match_sheet *sheet, const struct match_shape *shape,
                       struct match_place *place)
{
    struct climb climb = {.sheet = sheet, .shape = shape, .left = place->x, .top = place->y};
    place->score = climb_score(&climb, place->x, place->y);
    for (unsigned move = 0; move < MOVES; move++) {
        struct match_place best = *place;
        for (unsigned y = place->y > 0 ? place->y - 1 : 0;
             y <= place->y + 1 && y < shape->places.rows; y++)
            for (unsigned x = place->x > 0 ? place->x - 1 : 0;
                 x <= place->x + 1 && x < shape->places.columns; x++) {
                const double score = climb_score(&climb, x, y);
                if (score > best.score || (isnan(best.score) && !isnan(score)))
                    best = (struct match_place){x, y, score};
            }
        if (best.x == place->x && best.y == place->y)
            return;
        *place = best;
    }
}

/* Orders places by their scores, the best one first, and those without a score last. */
static int compare(const void *a, const void *b)
{
    const double first = ((const struct match_place *)a)->score;
    const double second = ((const struct match_place *)b)->score;
    if (isnan(first) || isnan(second))
        return isnan(first) - isnan(second);
    return (first < second) - (first > second);
}

/* Returns the best place at full size that one of these at a level leads to. */
static struct match_place follow(const struct matcher *m, const struct template *t, unsigned from,
                                 struct match_place *places, unsigned count)
{
    for (unsigned level = from; level-- > 0;) {
        const struct match_extent within = t->shape[level].places;
        if (level + 1 < from)
            count = match_lesser(count, FOLLOWED);
        if (level == 0 && from > 1)
            count = match_lesser(count, FINALISTS);
        for (unsigned i = 0; i < count; i++) {
            places[i].x = match_lesser(2 * places[i].x, within.columns - 1);
            places[i].y = match_lesser(2 * places[i].y, within.rows - 1);
            climb_from(&m->sheet[level], &t->shape[level], &places[i]);
        }
        qsort(places, count, sizeof *places, compare);
    }
    return places[0];
}

/* ---- the best place ---- */

/* Returns where a parabola through three neighbouring scores has its peak, from the middle one,
 * which is the greatest: -0.5 .. 0.5. */
static double peak_between(double before, double middle, double after)
{
    const double bend = before - 2 * middle + after;
    return bend < 0 ? fmax(-0.5, fmin(0.5 * (before - after) / bend, 0.5)) : 0; /* NaN: 0, too */
}

/* Compares a template with all places of a level. The score is NaN if no window has one. */
static struct match_place find_from(struct matcher *m, const struct template *t, unsigned level)
{
    struct match_place places[CANDIDATES];
    const struct match_shape *shape = &t->shape[level];
    const unsigned count = match_sheet_search(&m->sheet[level], shape->image, shape->places,
                                              t->kernel[level], places, level > 0 ? CANDIDATES : 1);
    if (count == 0)
        return (struct match_place){.score = (double)NAN};
    if (level == 0)
        places[0].score = match_sheet_score(&m->sheet[0], shape, places[0].x, places[0].y);
    return follow(m, t, level, places, count);
}

static struct match_place find_place(struct matcher *m, const struct template *t)
{
    const struct match_place hasty = find_from(m, t, t->hasty_level);
    if (t->level == t->hasty_level || hasty.score >= MATCH_CLEAR)
        return hasty;
    const struct match_place thorough = find_from(m, t, t->level);
    return compare(&hasty, &thorough) < 0 ? hasty : thorough;
}

static struct match match_at(const struct match_sheet *sheet, const struct match_shape *shape,
                             struct match_place best)
{
    const unsigned x = best.x, y = best.y;
    if (isnan(best.score))
        return (struct match){.x = NAN, .y = NAN, .score = 0};
    const unsigned middle_x = x + shape->image.columns / 2, middle_y = y + shape->image.rows / 2;
    struct match ret = {middle_x, middle_y, fmax(-1, fmin(best.score, 1))};
    if (x > 0 && x + 1 < shape->places.columns)
        ret.x += peak_between(match_sheet_score(sheet, shape, x - 1, y), best.score,
                              match_sheet_score(sheet, shape, x + 1, y));
    if (y > 0 && y + 1 < shape->places.rows)
        ret.y += peak_between(match_sheet_score(sheet, shape, x, y - 1), best.score,
                              match_sheet_score(sheet, shape, x, y + 1));
    return ret;
}

void matcher_find(struct matcher *m, const float *luma, struct match *ret)
{
    m->sheet[0].luma = luma;
    for (unsigned k = 0; k < m->levels; k++) {
        struct match_sheet *sheet = &m->sheet[k];
        if (k > 0)
            halve(sheet->blocks, m->sheet[k - 1].luma, m->sheet[k - 1].picture);
        match_sheet_take(sheet);
    }
    struct match_place best[FILTER_MAX_MATCHES];
    for (unsigned i = 0; i < m->count; i++)
        best[i].score = (double)NAN;
    for (unsigned i = 0; i < m->sieves; i++)
        match_sieve_find(m->sieve[i], &m->sheet[0], best);
    for (unsigned i = 0; i < m->count; i++) {
        const struct template *t = &m->template[i];
        if (!isnan(best[i].score)) /* from a sieve, whose other templates may have moved the peak */
            climb_from(&m->sheet[0], &t->shape[0], &best[i]);
        else if (t->level < LEVELS)
            best[i] = find_place(m, t);
        ret[i] = match_at(&m->sheet[0], &t->shape[0], best[i]);
    }
}
