#include "estimators/match_sieve.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "filters/adaptation.h"

#define SQUARE      4u   /* pixels a side, whose mean is no detail */
#define CORRELATION 0.4  /* of details, at any place that is good enough */
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
    float *detail;      /* of norm 1; NULL after the sieve is made */
};

struct match_sieve {
    unsigned count;
    struct member member[FILTER_MAX_MATCHES];
    struct match_extent window; /* the smallest columns and rows of them */
    struct match_extent places; /* of such a window */
    float complex *kernel;
    unsigned capacity;
    struct match_place *found; /* of that capacity */
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

/* Returns the share of a template's variation that its details have. */
static double make_detail(float *detail, const struct match_shape *shape)
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

/* What template b adds to the kernel's sum at a place of template a, relative to what a does. */
static double crosstalk(const struct member *a, const struct member *b)
{
    const struct match_extent first = a->shape->image, second = b->shape->image;
    const unsigned columns = match_lesser(first.columns, second.columns);
    const unsigned rows = match_lesser(first.rows, second.rows);
    double sum = 0;
    for (unsigned y = 0; y < rows; y++)
        for (unsigned x = 0; x < columns; x++)
            sum += (double)a->detail[(size_t)y * first.columns + x] *
                   (double)b->detail[(size_t)y * second.columns + x];
    return sum * sqrt((double)match_area(first) / (double)match_area(second));
}

/* ---- life ---- */

/* Adds a template, unless it and those that are there would hide each other. */
static bool join(struct match_sieve *sieve, const struct member *next)
{
    double own = 0, each[FILTER_MAX_MATCHES];
    for (unsigned i = 0; i < sieve->count; i++) {
        own += crosstalk(next, &sieve->member[i]);
        each[i] = crosstalk(&sieve->member[i], next);
        for (unsigned k = 0; k < sieve->count; k++)
            if (k != i)
                each[i] += crosstalk(&sieve->member[i], &sieve->member[k]);
        if (each[i] < -CROSSTALK)
            return false;
    }
    if (own < -CROSSTALK)
        return false;
    sieve->member[sieve->count++] = *next;
    return true;
}

static int choose_members(struct match_sieve *sieve, const struct match_shape **shapes,
                          unsigned count)
{
    double chance = 0;
    for (unsigned i = 0; i < count; i++) {
        if (shapes[i] == NULL)
            continue;
        const size_t area = match_area(shapes[i]->image);
        struct member next = {.shape = shapes[i], .index = i};
        next.detail = calloc(area, sizeof *next.detail);
        if (next.detail == NULL)
            return -ENOMEM;
        const double share = make_detail(next.detail, shapes[i]);
        next.least_score = sqrt(fmax(0, 1 - share)) + CORRELATION * sqrt(share);
        if (next.least_score < 0.99 && chance + 1 / (double)area <= MOST_CHANCE &&
            join(sieve, &next))
            chance += 1 / (double)area;
        else
            free(next.detail);
    }
    return 0;
}

/* The kernel is the sum of all details. Each is divided by the root of its number of pixels, so
 * that it weighs as much beside the deviation of a window, whatever the window's size. */
static int make_kernel(struct match_sieve *sieve, const struct match_sheet *sheet)
{
    struct match_shape sum = {.image = sieve->member[0].shape->image};
    size_t area = match_area(sum.image);
    sieve->window = sum.image;
    for (unsigned i = 1; i < sieve->count; i++) {
        const struct match_extent image = sieve->member[i].shape->image;
        sum.image.columns = sum.image.columns > image.columns ? sum.image.columns : image.columns;
        sum.image.rows = sum.image.rows > image.rows ? sum.image.rows : image.rows;
        sieve->window.columns = match_lesser(sieve->window.columns, image.columns);
        sieve->window.rows = match_lesser(sieve->window.rows, image.rows);
        area += match_area(image);
    }
    sieve->places = (struct match_extent){sheet->picture.columns - sieve->window.columns + 1,
                                          sheet->picture.rows - sieve->window.rows + 1};
    sieve->capacity = (unsigned)(MOST_WORK / area) + 1;
    sieve->found = calloc(sieve->capacity, sizeof *sieve->found);
    sum.pixel = calloc(match_area(sum.image), sizeof *sum.pixel);
    if (sieve->found == NULL || sum.pixel == NULL) {
        free(sum.pixel);
        return -ENOMEM;
    }
    for (unsigned i = 0; i < sieve->count; i++) {
        const struct match_extent image = sieve->member[i].shape->image;
        const float weight = 1 / sqrtf((float)match_area(image));
        for (unsigned y = 0; y < image.rows; y++)
            for (unsigned x = 0; x < image.columns; x++)
                sum.pixel[(size_t)y * sum.image.columns + x] +=
                    weight * sieve->member[i].detail[(size_t)y * image.columns + x];
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
    int r = choose_members(sieve, shapes, count);
    const bool is_enough = sieve->count >= MATCH_SIEVE_LEAST;
    if (r == 0 && is_enough)
        r = make_kernel(sieve, sheet);
    for (unsigned i = 0; i < sieve->count; i++) {
        free(sieve->member[i].detail);
        sieve->member[i].detail = NULL;
    }
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
