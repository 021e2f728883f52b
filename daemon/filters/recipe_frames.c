/* Whether frames suit a recipe and a chain. */
#include <errno.h>

#include "filters/calibration.h"
#include "filters/recipe.h"
#include "filters/warp.h"

/* Returns the first stage that moves pixels so that colours which are not filtered would stay
 * behind; NULL: none does. A load that moves pixels (warp.h) moves the colours of RGB and of
 * mosaics too, but not planes of chroma. */
static const struct filter_kind *find_mover(const struct filter_chain *chain,
                                            enum pixel_family family)
{
    for (unsigned i = 0; i < chain->count; i++) {
        const struct filter_kind *kind = chain->stage[i].kind;
        if ((kind->origin != NULL && family == FAMILY_YUV) ||
            (kind->adapts == FILTER_ADAPTS_SHAKE && family != FAMILY_GREY))
            return kind;
    }
    return NULL;
}

int recipe_check_frames(const struct recipe *recipe, const struct fftd_format *format,
                        const struct filter_chain *chain, struct error *why)
{
    const uint32_t width = format->width, height = format->height;
    const uint32_t fourcc = recipe->captured != 0 ? recipe->captured : format->fourcc;
    const struct format_info *info = format_by_fourcc(fourcc);
    if (info == NULL)
        return error_set(why, EINVAL, "pixel format 0x%08x is not supported: no frame is filtered",
                         fourcc);
    if (width < RECIPE_MIN_SIDE || height < RECIPE_MIN_SIDE || width > FFTD_MAX_SIDE ||
        height > FFTD_MAX_SIDE)
        return error_set(why, EINVAL, "frames of %ux%u cannot be filtered: expected %dx%d .. %ux%u",
                         width, height, RECIPE_MIN_SIDE, RECIPE_MIN_SIDE, FFTD_MAX_SIDE,
                         FFTD_MAX_SIDE);
    const struct filter_kind *mover = find_mover(chain, info->family);
    if (mover != NULL && recipe->planes == RECIPE_LUMA && recipe->view == VIEW_PICTURE)
        return error_set(why, EINVAL,
                         "%s moves pixels, but engine.planes = luma leaves the colour of %s where "
                         "it was captured: expected engine.planes = all or luma-only",
                         mover->name, info->name);
    const int r = calibration_check_size(chain, width, height, why);
    return r < 0 ? r : warp_check(chain, width, height, why);
}
