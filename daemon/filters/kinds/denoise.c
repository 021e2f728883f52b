/* denoise: reduces noise in overlapping blocks, before the chain's response (denoise.h). */
#include <errno.h>
#include <math.h>

#include "filters/filter_shape.h"

enum {
    DENOISE_SIGMA,
    DENOISE_SHOT,
    DENOISE_STRENGTH,
    DENOISE_BLOCK,
    DENOISE_HOP,
    DENOISE_PASSES,
    DENOISE_TEMPORAL,
    DENOISE_CLIPPING,
};
enum { BLOCK_16, BLOCK_32 };
enum { HOP_HALF, HOP_QUARTER };
enum { PASSES_1, PASSES_2 };
enum { CLIPPING_KEPT, CLIPPING_UNDONE };
static const char *const block_names[] = {"16", "32", NULL};
static const char *const hop_names[] = {"half", "quarter", NULL};
static const char *const pass_names[] = {"1", "2", NULL};
static const char *const clipping_names[] = {"kept", "undone", NULL};

static struct denoise denoise_of(const struct filter_stage *stage)
{
    const double factor = square(number(stage, DENOISE_STRENGTH));
    return (struct denoise){
        .settings = {.block = number(stage, DENOISE_BLOCK) == BLOCK_16 ? 16 : 32,
                     .overlap = number(stage, DENOISE_HOP) == HOP_HALF ? 2 : 4,
                     .passes = number(stage, DENOISE_PASSES) == PASSES_1 ? 1 : 2,
                     .estimated = number(stage, DENOISE_SIGMA) == 0,
                     .past = (unsigned)number(stage, DENOISE_TEMPORAL),
                     .unclips = number(stage, DENOISE_CLIPPING) == CLIPPING_UNDONE},
        .noise = {.constant = factor * square(number(stage, DENOISE_SIGMA)),
                  .slope = factor * number(stage, DENOISE_SHOT),
                  .factor = factor},
    };
}

static int denoise_check(const struct filter_stage *stage, struct error *why)
{
    if (number(stage, DENOISE_SIGMA) == 0 && number(stage, DENOISE_SHOT) > 0)
        return error_set(why, EINVAL,
                         "denoise: shot = %g without sigma: expected a sigma greater than 0, or "
                         "neither (both are estimated)",
                         number(stage, DENOISE_SHOT));
    if (number(stage, DENOISE_TEMPORAL) != floor(number(stage, DENOISE_TEMPORAL)))
        return error_set(why, EINVAL,
                         "denoise: temporal = %g: expected a whole number of frames from 0 to %d",
                         number(stage, DENOISE_TEMPORAL), DENOISE_MAX_PAST);
    return 0;
}

const struct filter_kind filter_denoise = {
    .name = "denoise",
    .group = "noise",
    .summary = "reduces noise in overlapping blocks, before the rest of the chain",
    .formula = "H = 1; each windowed block's transform F, without its level m, is multiplied by "
               "max(0, 1 - 2.5 V / |F|^2), V = strength^2 * (sigma^2 + shot * m) * (sum of the "
               "window's squares); with two passes the captured block's cosine transform by "
               "G^2 / (G^2 + V'), where G is that of the first pass's result; with temporal both "
               "filter the frame after it was joined to past ones along their motion",
    .param =
        {
            [DENOISE_SIGMA] =
                {
                    .name = "sigma",
                    .unit = "grey levels of 255",
                    .summary = "standard deviation of the noise at black; 0: estimated from each "
                               "frame, with shot",
                    .max = 128,
                },
            [DENOISE_SHOT] =
                {
                    .name = "shot",
                    .unit = "grey levels of 255",
                    .summary = "by how much the noise's variance grows with each grey level",
                    .max = 64,
                },
            [DENOISE_STRENGTH] =
                {
                    .name = "strength",
                    .summary = "factor of sigma, given or estimated",
                    .min = 0.1,
                    .max = 4,
                    .initial = 1,
                },
            [DENOISE_BLOCK] =
                {
                    .name = "block",
                    .unit = "px",
                    .summary = "side of the first pass's blocks",
                    .type = FILTER_CHOICE,
                    .initial = BLOCK_32,
                    .choices = block_names,
                },
            [DENOISE_HOP] =
                {
                    .name = "hop",
                    .summary = "from a block to the next one, as part of its side",
                    .type = FILTER_CHOICE,
                    .initial = HOP_HALF,
                    .choices = hop_names,
                },
            [DENOISE_PASSES] =
                {
                    .name = "passes",
                    .summary = "2: the result of the first guides a second one",
                    .type = FILTER_CHOICE,
                    .initial = PASSES_2,
                    .choices = pass_names,
                },
            [DENOISE_TEMPORAL] =
                {
                    .name = "temporal",
                    .unit = "frames",
                    .summary = "past frames that count at most, along their motion",
                    .max = DENOISE_MAX_PAST,
                },
            [DENOISE_CLIPPING] =
                {
                    .name = "clipping",
                    .summary = "undone: restores the mean where noise was clipped at black or "
                               "white; needs the true sigma",
                    .type = FILTER_CHOICE,
                    .initial = CLIPPING_KEPT,
                    .choices = clipping_names,
                },
        },
    .check = denoise_check,
    .denoise = denoise_of,
    .example = "denoise:sigma=12",
};
