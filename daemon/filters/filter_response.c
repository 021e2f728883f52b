/* The response of a chain, and what its stages do beside it. */
#include <math.h>

#include "filters/filter.h"

size_t filter_chain_pixels(const struct filter_chain *chain)
{
    size_t sum = 0;
    for (unsigned i = 0; i < chain->count; i++) {
        const struct filter_image *image = chain->stage[i].image;
        if (filter_stage_uses_image(&chain->stage[i]))
            sum += (size_t)image->columns * image->rows;
    }
    return sum;
}

/* `transform` is that of the stage's image, or NULL if it is not known. */
static double complex response_at(const struct filter_stage *stage, const double complex *transform,
                                  double fx, double fy)
{
    const struct filter_kind *kind = stage->kind;
    if (filter_stage_uses_image(stage))
        return kind->image_response(
            stage, transform != NULL ? *transform : filter_image_transform(stage->image, fx, fy),
            fx, fy);
    if (kind->complex_response != NULL)
        return kind->complex_response(stage, fx, fy);
    return kind->response != NULL ? kind->response(stage, fx, fy) : 1;
}

/* 0.5 and -0.5 are the same frequency. Their mean is the Hermitian part of H, which makes the
 * output real. Two of the four corners are the negatives of the other two. An image has the same
 * transform at both frequencies. */
static double complex stage_response(const struct filter_stage *stage,
                                     const double complex *transform, double fx, double fy)
{
    const double complex h = response_at(stage, transform, fx, fy);
    if (fabs(fx) == 0.5 && fabs(fy) == 0.5)
        return creal(h + response_at(stage, transform, -fx, fy)) / 2;
    if (fabs(fx) == 0.5)
        return (h + response_at(stage, transform, -fx, fy)) / 2;
    if (fabs(fy) == 0.5)
        return (h + response_at(stage, transform, fx, -fy)) / 2;
    return h;
}

double complex filter_chain_response(const struct filter_chain *chain, double fx, double fy)
{
    double complex product = 1;
    for (unsigned i = 0; i < chain->count; i++)
        product *= stage_response(&chain->stage[i], NULL, fx, fy);
    return product;
}

double complex filter_chain_response_of(const struct filter_chain *chain,
                                        const double complex transform[FILTER_MAX_STAGES],
                                        double fx, double fy)
{
    double complex product = 1;
    for (unsigned i = 0; i < chain->count; i++)
        product *= stage_response(&chain->stage[i], &transform[i], fx, fy);
    return product;
}

static bool is_complex(const struct filter_stage *stage)
{
    const struct filter_kind *kind = stage->kind;
    const bool may_be = kind->complex_response != NULL || filter_stage_uses_image(stage);
    return may_be && (kind->is_real == NULL || !kind->is_real(stage));
}

bool filter_chain_is_complex(const struct filter_chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        if (is_complex(&chain->stage[i]))
            return true;
    return false;
}

bool filter_chain_has_response(const struct filter_chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++) {
        const struct filter_kind *kind = chain->stage[i].kind;
        if (kind->response != NULL || kind->complex_response != NULL ||
            filter_stage_uses_image(&chain->stage[i]))
            return true;
    }
    return false;
}

/* ---- the curve ---- */

struct curve filter_chain_curve(const struct filter_chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        if (chain->stage[i].kind->curve != NULL)
            return chain->stage[i].kind->curve(&chain->stage[i]);
    return (struct curve){.kind = CURVE_NONE};
}

/* ---- noise ---- */

struct denoise filter_chain_denoise(const struct filter_chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        if (chain->stage[i].kind->denoise != NULL)
            return chain->stage[i].kind->denoise(&chain->stage[i]);
    return (struct denoise){.settings = {.block = 0}};
}

/* ---- the stack ---- */

struct stack filter_chain_stack(const struct filter_chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        if (chain->stage[i].kind->stack != NULL)
            return chain->stage[i].kind->stack(&chain->stage[i]);
    return (struct stack){.frames = 0};
}

double filter_chain_threshold(const struct filter_chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        if (chain->stage[i].kind->threshold != NULL)
            return chain->stage[i].kind->threshold(&chain->stage[i]);
    return 0;
}

bool filter_chain_takes_median(const struct filter_chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        if (chain->stage[i].kind->takes_median)
            return true;
    return false;
}

double filter_chain_binarise(const struct filter_chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        if (chain->stage[i].kind->binarise != NULL)
            return chain->stage[i].kind->binarise(&chain->stage[i]);
    return 0;
}

double filter_chain_support(const struct filter_chain *chain)
{
    double sum = 0, squares = 0;
    for (unsigned i = 0; i < chain->count; i++) {
        const struct filter_stage *stage = &chain->stage[i];
        const double radius = stage->kind->support != NULL ? stage->kind->support(stage) : 0;
        if (stage->kind->is_gaussian)
            squares += radius * radius;
        else
            sum += radius;
    }
    return fmin(sum + sqrt(squares), FILTER_MAX_SUPPORT_PX);
}
