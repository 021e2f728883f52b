#include "filters/recipe.h"

#include <errno.h>
#include <string.h>

#include "core/text.h"
#include "filters/calibration.h"
#include "filters/filter_adapt.h"
#include "filters/warp.h"

/* ---- types of members ---- */

static unsigned flag_numbers(double *ret, const void *value)
{
    ret[0] = *(const bool *)value;
    return 1;
}

static const char *describe_flag(const void *value, const char *name)
{
    return *(const bool *)value ? name : NULL;
}

static unsigned choice_numbers(double *ret, const void *value)
{
    ret[0] = *(const uint32_t *)value;
    return 1;
}

static const char *describe_nothing(const void *value, const char *name)
{
    (void)value, (void)name;
    return NULL;
}

static const char *describe_view(const void *value, const char *name)
{
    static const char *const texts[VIEW_COUNT] = {[VIEW_DIFFERENCE] = "view difference",
                                                  [VIEW_SPECTRUM] = "view spectrum",
                                                  [VIEW_PEAKS] = "view peaks",
                                                  [VIEW_EDGES] = "view edges"};
    (void)name;
    return texts[*(const enum view_kind *)value];
}

static const char *describe_stack(const void *value, const char *name)
{
    static const char *const texts[] = {[STACK_MEANS] = "stacked",
                                        [STACK_CLIPS] = "stacked, clipped",
                                        [STACK_WEIGHS] = "stacked by spectra"};
    (void)name;
    return texts[*(const enum stack_model *)value];
}

static unsigned level_numbers(double *ret, const void *value)
{
    ret[0] = *(const double *)value;
    return 1;
}

static const char *describe_level(const void *value, const char *name)
{
    return *(const double *)value > 0 ? name : NULL;
}

static unsigned limits_numbers(double *ret, const void *value)
{
    const struct view_limits *limits = value;
    ret[0] = limits->low;
    ret[1] = limits->high;
    return 2;
}

static unsigned denoise_numbers(double *ret, const void *value)
{
    const struct denoise_settings *settings = value;
    ret[0] = settings->block;
    ret[1] = settings->overlap;
    ret[2] = settings->passes;
    ret[3] = settings->estimated;
    ret[4] = settings->past;
    ret[5] = settings->unclips;
    return 6;
}

static const char *describe_denoise(const void *value, const char *name)
{
    return ((const struct denoise_settings *)value)->block > 0 ? name : NULL;
}

/* Only a power has parameters. */
static unsigned curve_numbers(double *ret, const void *value)
{
    const struct curve *curve = value;
    const bool has_parameters = curve->kind == CURVE_POWER;
    ret[0] = curve->kind;
    ret[1] = has_parameters ? curve->power : 0;
    ret[2] = has_parameters ? curve->offset : 0;
    ret[3] = has_parameters ? curve->cut : 0;
    ret[4] = has_parameters ? curve->slope : 0;
    return 5;
}

static const char *describe_curve(const void *value, const char *name)
{
    static const char *const texts[] = {
        [CURVE_LOG] = "logarithmic", [CURVE_POWER] = "linear light"};
    (void)name;
    return texts[((const struct curve *)value)->kind];
}

_Static_assert(sizeof(struct denoise_settings) == 6 * sizeof(unsigned) && RECIPE_MAX_NUMBERS >= 6,
               "denoise_numbers lists every member");
_Static_assert(sizeof(struct curve) == 5 * sizeof(double) && RECIPE_MAX_NUMBERS >= 5,
               "curve_numbers lists every member");

static unsigned reach_numbers(double *ret, const void *value)
{
    const struct taps_reach *reach = value;
    ret[0] = reach->is_short;
    ret[1] = reach->radius;
    ret[2] = reach->products;
    ret[3] = reach->line;
    ret[4] = reach->has_middle;
    ret[5] = reach->half_radius;
    return 6;
}

static void unite_reaches(void *a, const void *b)
{
    *(struct taps_reach *)a =
        taps_reach_unite(*(struct taps_reach *)a, *(const struct taps_reach *)b);
}

static bool covers_reach(const void *a, const void *b)
{
    return taps_reach_covers(*(const struct taps_reach *)a, *(const struct taps_reach *)b);
}

const struct recipe_type recipe_flag = {.numbers = flag_numbers, .describe = describe_flag};
static const struct recipe_type exact = {.numbers = flag_numbers, /* must be equal */
                                         .describe = describe_flag};
static const struct recipe_type level = {.numbers = level_numbers, .describe = describe_level};
static const struct recipe_type amount = {.numbers = level_numbers, .describe = describe_nothing};
static const struct recipe_type choice = {.numbers = choice_numbers, .describe = describe_nothing};
static const struct recipe_type stacking = {.numbers = choice_numbers, .describe = describe_stack};
static const struct recipe_type view = {.numbers = choice_numbers, .describe = describe_view};
static const struct recipe_type limits = {.numbers = limits_numbers, .describe = describe_nothing};
static const struct recipe_type denoise = {.numbers = denoise_numbers,
                                           .describe = describe_denoise};
static const struct recipe_type curve = {.numbers = curve_numbers, .describe = describe_curve};
static const struct recipe_type reach_type = {.numbers = reach_numbers,
                                              .describe = describe_nothing,
                                              .unite = unite_reaches,
                                              .covers = covers_reach};

_Static_assert(sizeof(enum recipe_precision) == sizeof(uint32_t) &&
                   sizeof(enum recipe_planes) == sizeof(uint32_t) &&
                   sizeof(enum demosaic) == sizeof(uint32_t) &&
                   sizeof(enum stack_model) == sizeof(uint32_t) &&
                   sizeof(enum view_kind) == sizeof(uint32_t),
               "choice_numbers reads enumerations as uint32_t");

/* ---- what a chain needs ---- */

static bool has_threshold(const struct filter_chain *chain)
{
    return filter_chain_threshold(chain) > 0;
}

static void get_denoise(void *ret, const struct filter_chain *chain, const struct recipe *settings)
{
    (void)settings;
    *(struct denoise_settings *)ret = filter_chain_denoise(chain).settings;
}

static void get_stack(void *ret, const struct filter_chain *chain, const struct recipe *settings)
{
    const struct stack stack = filter_chain_stack(chain);
    (void)settings;
    *(enum stack_model *)ret = stack_model(&stack);
}

static bool weighs_details(const struct filter_chain *chain)
{
    const struct stack stack = filter_chain_stack(chain);
    return stack_weighs_details(&stack);
}

static bool is_cubic(const struct filter_chain *chain)
{
    return warp_is_cubic(chain) || filter_chain_has_similarity(chain);
}

static void get_binarise(void *ret, const struct filter_chain *chain, const struct recipe *settings)
{
    (void)settings;
    *(double *)ret = filter_chain_binarise(chain);
}

static void get_curve(void *ret, const struct filter_chain *chain, const struct recipe *settings)
{
    (void)settings;
    *(struct curve *)ret = filter_chain_curve(chain);
}

/* Chains that change the spectrum, views that show it, and sizes without a stride need a
 * transform. */
static bool may_be_short(const struct filter_chain *chain, const struct recipe *settings)
{
    return (!recipe_is_smaller(settings) || settings->stride > 0) && !has_threshold(chain) &&
           !filter_chain_shifts(chain) && !view_is_spectrum(settings->view);
}

/* Bits of published samples. Without a pixel format they may have 16. */
static void get_reach(void *ret, const struct filter_chain *chain, const struct recipe *settings)
{
    const struct format_info *info = format_by_fourcc(format_published(settings->captured));
    const unsigned bits = info != NULL && settings->depth == RECIPE_DEPTH_AUTO ? info->bits : 16;
    const struct taps_samples samples = {1, 1, bits, settings->stride, settings->crop_edge};
    if (settings->reach.is_short)
        *(struct taps_reach *)ret = may_be_short(chain, settings)
                                        ? taps_reach_within(chain, &samples, settings->reach)
                                        : (struct taps_reach){.is_short = false};
}

/* In packed formats luma has a sample for each pixel, and chroma one for two. */
static void get_chroma_reach(void *ret, const struct filter_chain *chain,
                             const struct recipe *settings)
{
    const struct format_info *info = format_by_fourcc(settings->captured);
    struct taps_reach *reach = ret;
    if (!settings->chroma_reach.is_short)
        return;
    *reach = (struct taps_reach){.is_short = false};
    if (info == NULL || settings->planes != RECIPE_ALL || info->family != FAMILY_YUV ||
        !may_be_short(chain, settings))
        return;
    const unsigned sub_x = info->plane_count == 1 ? 2 : info->plane[1].sub_x;
    const unsigned sub_y = info->plane_count == 1 ? 1 : info->plane[1].sub_y;
    const struct taps_samples samples = {sub_x, sub_y, info->bits, settings->stride,
                                         settings->crop_edge};
    *reach = taps_reach_within(chain, &samples, settings->chroma_reach);
}

#define MEMBER(field)                                                                              \
    .offset = offsetof(struct recipe, field), .size = sizeof(((struct recipe *)0)->field)
#define FLAG(field)       MEMBER(field), .type = &recipe_flag

/* A row for each field; one that is missing has no name. */
#define INDEX(type, name) row_##name,
enum { RECIPE_FIELDS(INDEX) ROW_COUNT };

static const struct recipe_member members[ROW_COUNT] = {
    [row_precision] = {.name = "precision", MEMBER(precision), .type = &choice},
    [row_planes] = {.name = "planes", MEMBER(planes), .type = &choice},
    [row_depth] = {.name = "depth", MEMBER(depth), .type = &choice},
    [row_captured] = {.name = "captured", MEMBER(captured), .type = &choice},
    [row_captured_width] = {.name = "width", MEMBER(captured_width), .type = &choice},
    [row_captured_height] = {.name = "height", MEMBER(captured_height), .type = &choice},
    [row_stride] = {.name = "stride", MEMBER(stride), .type = &choice},
    [row_crop_edge] = {.name = "edge of frequencies", MEMBER(crop_edge), .type = &amount},
    [row_demosaic] = {.name = "demosaic", MEMBER(demosaic), .type = &choice},
    [row_complex_response] =
        {.name = "complex response",
         FLAG(complex_response),
         .is_needed = filter_chain_is_complex,
         .constant = "COMPLEX_RESPONSE",
         .refusal = "the filter's response is complex: expected an engine with complex_response"},
    [row_corrections] = {.name = "corrections",
                         FLAG(corrections),
                         .is_needed = filter_chain_adapts,
                         .constant = "CORRECTIONS",
                         .is_load = true,
                         .is_luma = true},
    [row_calibrated] = {.name = "calibrated",
                        FLAG(calibrated),
                        .is_needed = calibration_is_needed,
                        .constant = "CALIBRATED",
                        .is_load = true,
                        .is_luma = true,
                        .table_bytes = 2 * sizeof(float),
                        .refusal =
                            "the filter corrects captured samples: expected a calibrated engine"},
    [row_warped] = {.name = "warped",
                    FLAG(warped),
                    .is_needed = warp_is_needed,
                    .constant = "WARP_TABLE",
                    .is_load = true,
                    .table_bytes = 2 * sizeof(int16_t),
                    .refusal = "the filter moves pixels: expected a warped engine"},
    [row_similarities] = {.name = "similarities",
                          FLAG(similarities),
                          .is_needed = filter_chain_has_similarity,
                          .constant = "SIMILARITIES",
                          .is_load = true,
                          .refusal =
                              "the filter turns frames: expected an engine with similarities"},
    [row_cubic] = {.name = "bicubic",
                   MEMBER(cubic),
                   .type = &exact,
                   .is_needed = is_cubic,
                   .constant = "CUBIC",
                   .is_load = true,
                   .refusal = "the filter and the engine interpolate moved pixels in another way: "
                              "expected an engine like the filter"},
    [row_shifts] = {.name = "shifts",
                    FLAG(shifts),
                    .is_needed = filter_chain_shifts,
                    .refusal = "the filter moves frames: expected an engine with shifts"},
    [row_thresholds] = {.name = "thresholds",
                        FLAG(thresholds),
                        .is_needed = has_threshold,
                        .constant = "THRESHOLDS",
                        .refusal =
                            "the filter has a threshold: expected an engine with thresholds"},
    [row_median] =
        {.name = "median",
         MEMBER(median),
         .type = &exact,
         .is_needed = filter_chain_takes_median,
         .constant = "MEDIAN",
         .is_load = true,
         .refusal = "the filter and the engine differ in a median of captured samples: expected "
                    "an engine like the filter"},
    [row_binarise] = {.name = "binarised",
                      MEMBER(binarise),
                      .type = &level,
                      .get = get_binarise,
                      .is_luma = true,
                      .refusal = "the filter makes samples black and white at another level than "
                                 "the engine: expected an engine with the same one"},
    [row_reach] = {.name = "reach",
                   MEMBER(reach),
                   .type = &reach_type,
                   .get = get_reach,
                   .refusal = "the filter reaches farther than the engine: expected an engine for "
                              "its reach, or one that transforms"},
    [row_chroma_reach] = {.name = "reach in chroma",
                          MEMBER(chroma_reach),
                          .type = &reach_type,
                          .get = get_chroma_reach,
                          .refusal = "the filter reaches farther in chroma than the engine: "
                                     "expected an engine for its reach, or one that transforms"},
    [row_denoise] =
        {.name = "denoised",
         MEMBER(denoise),
         .type = &denoise,
         .get = get_denoise,
         .refusal =
             "the filter reduces noise in another way than the engine: expected an engine with "
             "the same settings"},
    [row_stack] = {.name = "stacked",
                   MEMBER(stack),
                   .type = &stacking,
                   .get = get_stack,
                   .refusal =
                       "the filter and the engine differ in how frames are stacked: expected an "
                       "engine like the filter"},
    [row_weighs_details] =
        {.name = "details weighed",
         MEMBER(weighs_details),
         .type = &exact,
         .is_needed = weighs_details,
         .refusal = "the filter and the engine differ in what a stack shows of details: expected "
                    "an engine like the filter"},
    [row_curve] =
        {.name = "curve",
         MEMBER(curve),
         .type = &curve,
         .get = get_curve,
         .is_luma = true,
         .refusal =
             "the filter has another curve than the engine: expected an engine with the same "
             "one"},
    [row_motion] = {.name = "motion", MEMBER(motion), .type = &choice, .is_luma = true},
    [row_edges] = {.name = "edges", MEMBER(edges), .type = &limits},
    [row_view] = {.name = "view", MEMBER(view), .type = &view},
};

const struct recipe_table recipe_table = {members, ROW_COUNT};
