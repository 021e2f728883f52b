/* Whether frames suit a recipe and a chain, and the recipe of their chroma. */
#include <errno.h>
#include <string.h>

#include "filters/calibration.h"
#include "filters/filter_adapt.h"
#include "filters/recipe.h"
#include "filters/warp.h"

struct recipe recipe_of_chroma(const struct recipe *recipe)
{
    struct recipe ret = *recipe;
    for (unsigned i = 0; i < recipe_table.count; i++)
        if (recipe_table.member[i].is_luma)
            memset((char *)&ret + recipe_table.member[i].offset, 0, recipe_table.member[i].size);
    ret.reach = recipe->chroma_reach;
    return ret;
}

/* Returns the first stage that moves pixels so that colours which are not filtered would stay
 * behind; NULL: none does. A load that moves pixels (warp.h) moves the colours of RGB and of
 * mosaics too, but not planes of chroma. */
static const struct filter_kind *find_mover(const struct filter_chain *chain,
                                            enum pixel_family family)
{
    for (unsigned i = 0; i < chain->count; i++) {
        const struct filter_stage *stage = &chain->stage[i];
        const bool is_load = stage->kind->origin != NULL || filter_stage_has_similarity(stage);
        if ((is_load && family == FAMILY_YUV) ||
            (!is_load && stage->kind->adapts == FILTER_ADAPTS_SHAKE && family != FAMILY_GREY))
            return stage->kind;
    }
    return NULL;
}

static int check_side(uint32_t width, uint32_t height, struct error *why)
{
    if (width >= RECIPE_MIN_SIDE && height >= RECIPE_MIN_SIDE && width <= FFTD_MAX_SIDE &&
        height <= FFTD_MAX_SIDE)
        return 0;
    return error_set(why, EINVAL, "frames of %ux%u cannot be filtered: expected %dx%d .. %ux%u",
                     width, height, RECIPE_MIN_SIDE, RECIPE_MIN_SIDE, FFTD_MAX_SIDE, FFTD_MAX_SIDE);
}

/* Whether smaller frames can be made of captured ones with this pixel format. Samples of chroma
 * cover whole pixels in both. Luma alone cannot be filtered where it is a sum of colours, because
 * its change is added to captured colours. */
static int check_smaller(const struct recipe *recipe, const struct fftd_format *format,
                         const struct format_info *info, struct error *why)
{
    const uint32_t width = recipe->captured_width, height = recipe->captured_height;
    const bool has_planes = info->plane_count > 1, has_chroma = info->family == FAMILY_YUV;
    const unsigned sub_x = has_planes ? info->plane[1].sub_x : has_chroma ? 2 : 1;
    const unsigned sub_y = has_planes ? info->plane[1].sub_y : 1;
    if (format->width > width || format->height > height)
        return error_set(why, EINVAL,
                         "frames of %ux%u cannot become %ux%u: expected at most their "
                         "size",
                         width, height, format->width, format->height);
    if (recipe->view != VIEW_PICTURE)
        return error_set(why, EINVAL,
                         "frames of %ux%u become %ux%u, which no view can show: "
                         "expected engine.view = picture, or output.size = auto",
                         width, height, format->width, format->height);
    if (info->family != FAMILY_GREY && !has_chroma && recipe->planes == RECIPE_LUMA)
        return error_set(why, EINVAL,
                         "%s has no luma of its own, and cannot become smaller with "
                         "engine.planes = luma: expected all or luma-only",
                         info->name);
    if (info->kind == SAMPLE_BAYER && recipe->planes == RECIPE_ALL)
        return error_set(why, EINVAL,
                         "the colours of %s cannot become smaller: expected "
                         "engine.planes = luma-only, or output.size = auto",
                         info->name);
    if (recipe->planes != RECIPE_LUMA_ONLY && (width % sub_x != 0 || format->width % sub_x != 0 ||
                                               height % sub_y != 0 || format->height % sub_y != 0))
        return error_set(why, EINVAL,
                         "%s of %ux%u cannot become %ux%u: expected multiples of "
                         "%ux%u",
                         info->name, width, height, format->width, format->height, sub_x, sub_y);
    return 0;
}

int recipe_check_frames(const struct recipe *recipe, const struct fftd_format *format,
                        const struct filter_chain *chain, struct error *why)
{
    const bool is_smaller = recipe_is_smaller(recipe);
    const uint32_t width = is_smaller ? recipe->captured_width : format->width;
    const uint32_t height = is_smaller ? recipe->captured_height : format->height;
    const uint32_t fourcc = recipe->captured != 0 ? recipe->captured : format->fourcc;
    const struct format_info *info = format_by_fourcc(fourcc);
    if (info == NULL)
        return error_set(why, EINVAL, "pixel format 0x%08x is not supported: no frame is filtered",
                         fourcc);
    int r = check_side(width, height, why);
    if (r == 0 && is_smaller)
        r = check_side(format->width, format->height, why);
    if (r == 0 && is_smaller)
        r = check_smaller(recipe, format, info, why);
    if (r < 0)
        return r;
    if (recipe->depth == RECIPE_DEPTH_16 && info->family != FAMILY_GREY &&
        recipe->planes != RECIPE_LUMA_ONLY)
        return error_set(why, EINVAL,
                         "%s has colour, which cannot be published with 16 bits: expected "
                         "engine.depth = auto, or engine.planes = luma-only",
                         info->name);
    const struct filter_kind *mover = find_mover(chain, info->family);
    if (mover != NULL && recipe->planes == RECIPE_LUMA && view_has_picture(recipe->view))
        return error_set(why, EINVAL,
                         "%s moves pixels, but engine.planes = luma leaves the colour of %s where "
                         "it was captured: expected engine.planes = all or luma-only",
                         mover->name, info->name);
    r = calibration_check_size(chain, width, height, why);
    return r < 0 ? r : warp_check(chain, width, height, why);
}
