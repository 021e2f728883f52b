#include "estimators/match_sieve.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "filters/adaptation.h"

#define SQUARE      4u   /* pixels a side, whose mean is no detail */
#define CORRELATION 0.4  /* the least correlation of details at a place that is certain */
#define CROSSTALK   0.1  /* that the other templates may subtract from it */
#define LEAST       0.25 /* their difference, less a margin for different sizes of windows */

/* Details of a template of n pixels correlate by chance with a standard deviation of about
 * 1 / sqrt(n). That of all together is at most LEAST / 3.3, so that chance exceeds LEAST at one
 * place in two thousand. */
#define MOST_CHANCE ((LEAST / 3.3) * (LEAST / 3.3))
#define MOST_WORK   (1u << 25) /* products for scores of places, about 10 ms */

struct member {
    const struct match_shape *shape;
    unsigned index;
    double least_score; /* that is certain */
};

struct match_sieve {
    unsigned count;
    struct member member[FILTER_MAX_MATCHES];
    struct match_extent window; /* the smallest columns and rows of them */
    struct match_extent places; /* where such a window may be */
    float complex *kernel;
    unsigned capacity;
    struct match_place *found; /* the peaks; room for `capacity` */
};

/* The details of a template while a sieve is made. */
struct details {
    struct match_extent image;
    float *pixel;     /* the details, scaled to a norm of 1 */
    double crosstalk; /* what the other members add at its place, relative to what it does */
};

/* ---- details ---- */

/* Subtracts the mean of one square, which the template's edge may cut off. */
static void subtract_mean(float *pixel, struct match_extent size, unsigned left, unsigned top)
{
    const unsigned right = match_lesser(left + SQUARE, size.columns);
    const unsigned bottom = match_lesser(top + SQUARE, size.rows);
    float sum = 0;
    for (unsigned y = top; y < bottom; y++)
        for (unsigned x = left; x < right; x++)
            sum += pixel[(size_t)y * size.columns + x];
    const float mean = sum / (float)((right - left) * (bottom - top));
    for (unsigned y = top; y < bottom; y++)
        for (unsigned x = left; x < right; x++)
            pixel[(size_t)y * size.columns + x] -= mean;
}

/* Writes the details of a template. Returns the share of its variation that they have. */
static double make_details(float *detail, const struct match_shape *shape)
{
    const size_t area = match_area(shape->image);
    double variation = 0;
    for (size_t i = 0; i < area; i++)
        detail[i] = shape->pixel[i];
    for (unsigned y = 0; y < shape->image.rows; y += SQUARE)
        for (unsigned x = 0; x < shape->image.columns; x += SQUARE)
            subtract_mean(detail, shape->image, x, y);
    for (size_t i = 0; i < area; i++)
        variation += (double)detail[i] * (double)detail[i];
    if (variation > 0)
        for (size_t i = 0; i < area; i++)
            detail[i] /= (float)sqrt(variation);
    return variation / shape->variation;
}

/* Returns what template b contributes to the kernel's sum where the picture shows template a,
 * relative to a's own contribution. */
static double crosstalk(const struct details *a, const struct details *b)
{
    const struct match_extent both = match_smaller(a->image, b->image);
    double sum = 0;
    for (unsigned y = 0; y < both.rows; y++)
        for (unsigned x = 0; x < both.columns; x++)
            sum += (double)a->pixel[(size_t)y * a->image.columns + x] *
                   (double)b->pixel[(size_t)y * b->image.columns + x];
    return sum * sqrt((double)match_area(a->image) / (double)match_area(b->image));
}

/* ---- life ---- */

/* Adds a template to `count` others, unless it and they would hide each other. */
static bool join(struct details *others, unsigned count, struct details *next)
{
    double added[FILTER_MAX_MATCHES];
    for (unsigned i = 0; i < count; i++) {
        next->crosstalk += crosstalk(next, &others[i]);
        added[i] = crosstalk(&others[i], next);
        if (others[i].crosstalk + added[i] < -CROSSTALK)
            return false;
    }
    if (next->crosstalk < -CROSSTALK)
        return false;
    for (unsigned i = 0; i < count; i++)
        others[i].crosstalk += added[i];
    others[count] = *next;
    return true;
}

/* Chooses members from the shapes, and makes the details of each. */
static int choose_members(struct match_sieve *sieve, struct details *details,
                          const struct match_shape **shapes, unsigned count)
{
    double chance = 0;
    for (unsigned i = 0; i < count; i++) {
        if (shapes[i] == NULL)
            continue;
        const size_t area = match_area(shapes[i]->image);
        struct details next = {.image = shapes[i]->image};
        next.pixel = calloc(area, sizeof *next.pixel);
        if (next.pixel == NULL)
            return -ENOMEM;
        const double share = make_details(next.pixel, shapes[i]);
        const double least = sqrt(fmax(0, 1 - share)) + CORRELATION * sqrt(share);
        if (least < 0.99 && chance + 1 / (double)area <= MOST_CHANCE &&
            join(details, sieve->count, &next)) {
            chance += 1 / (double)area;
            sieve->member[sieve->count++] = (struct member){shapes[i], i, least};
        } else {
            free(next.pixel);
        }
    }
    return 0;
}

/* The kernel is the sum of all details. Each is divided by the root of its number of pixels, so
 * that it weighs as much beside the deviation of a window, whatever the window's size. */
static int make_kernel(struct match_sieve *sieve, const struct details *details,
                       const struct match_sheet *sheet)
{
    struct match_shape sum = {.image = details[0].image};
    size_t area = match_area(sum.image);
    sieve->window = sum.image;
    for (unsigned i = 1; i < sieve->count; i++) {
        sum.image = match_larger(sum.image, details[i].image);
        sieve->window = match_smaller(sieve->window, details[i].image);
        area += match_area(details[i].image);
    }
    sieve->places = match_places(sheet->picture, sieve->window);
    sieve->capacity = (unsigned)(MOST_WORK / area) + 1;
    sieve->found = calloc(sieve->capacity, sizeof *sieve->found);
    sum.pixel = calloc(match_area(sum.image), sizeof *sum.pixel);
    if (sieve->found == NULL || sum.pixel == NULL) {
        free(sum.pixel);
        return -ENOMEM;
    }
    for (unsigned i = 0; i < sieve->count; i++) {
        const struct match_extent image = details[i].image;
        const float weight = 1 / sqrtf((float)match_area(image));
        for (unsigned y = 0; y < image.rows; y++)
            for (unsigned x = 0; x < image.columns; x++)
                sum.pixel[(size_t)y * sum.image.columns + x] +=
                    weight * details[i].pixel[(size_t)y * image.columns + x];
    }
    sieve->kernel = match_sheet_kernel(sheet, &sum);
    free(sum.pixel);
    return sieve->kernel == NULL ? -ENOMEM : 0;
}

int match_sieve_create(struct match_sieve **ret, const struct match_sheet *sheet,
                       const struct match_shape **shapes, unsigned count)
{
    *ret = NULL;
    struct match_sieve *sieve = calloc(1, sizeof *sieve);
    if (sieve == NULL)
        return -ENOMEM;
    struct details details[FILTER_MAX_MATCHES];
    int r = choose_members(sieve, details, shapes, count);
    const bool is_enough = sieve->count >= MATCH_SIEVE_LEAST;
    if (r == 0 && is_enough)
        r = make_kernel(sieve, details, sheet);
    for (unsigned i = 0; i < sieve->count; i++)
        free(details[i].pixel);
    if (r < 0 || !is_enough) {
        match_sieve_destroy(sieve);
        return r;
    }
    for (unsigned i = 0; i < sieve->count; i++)
        shapes[sieve->member[i].index] = NULL;
    *ret = sieve;
    return 0;
}

void match_sieve_destroy(struct match_sieve *sieve)
{
    if (sieve == NULL)
        return;
    free(sieve->kernel);
    free(sieve->found);
    free(sieve);
}

/* ---- a search ---- */

void match_sieve_find(const struct match_sieve *sieve, struct match_sheet *sheet,
                      struct match_place *ret)
{
    const double least = LEAST * LEAST / (double)match_area(sieve->window);
    const unsigned count = match_sheet_search_all(
        sheet, sieve->window, sieve->places, sieve->kernel, least, sieve->found, sieve->capacity);
    for (unsigned i = 0; i < sieve->count; i++) {
        const struct member *member = &sieve->member[i];
        struct match_place best = {.score = (double)NAN};
        for (unsigned k = 0; k < count && count < sieve->capacity; k++) {
            const unsigned x = sieve->found[k].x, y = sieve->found[k].y;
            if (x >= member->shape->places.columns || y >= member->shape->places.rows)
                continue;
            const double score = match_sheet_score(sheet, member->shape, x, y);
            if (score >= member->least_score && !(score <= best.score))
                best = (struct match_place){x, y, score};
        }
        ret[member->index] = best;
    }
}
