#include "support/pattern_frame.h"

#include <errno.h>
#include <stdlib.h>

#include "capture/pattern_draw.h"

static int draw_object_over(const struct fftd_format *format, uint64_t index, uint8_t *frame,
                            struct error *why)
{
    struct pattern_rectangle where = pattern_object_at(format, index);
    if (where.width == 0)
        return 0;
    struct fftd_format object_format;
    uint8_t *object;
    int r = pattern_draw_object(format, &object_format, &object, why);
    if (r < 0)
        return r;
    pattern_copy(frame, format, where, object, &object_format, 0, 0);
    free(object);
    return 0;
}

int pattern_draw(const char *scene_name, const struct fftd_format *format, uint64_t index,
                 uint32_t seed, uint8_t *frame, struct error *why)
{
    const struct pattern_scene *scene;
    int r = pattern_find(&scene, scene_name, why);
    if (r < 0)
        return r;
    if (format_by_fourcc(format->fourcc) == NULL)
        return error_set(why, EINVAL, "pixel format 0x%08x is not supported by test scenes",
                         format->fourcc);
    switch (scene->motion) {
    case PATTERN_STILL:
        return pattern_draw_still(scene, format, seed, frame, why);
    case PATTERN_NOISE:
        pattern_draw_noise(format, index, seed, frame);
        return 0;
    case PATTERN_OBJECT:
        r = pattern_draw_still(scene, format, seed, frame, why);
        return r < 0 ? r : draw_object_over(format, index, frame, why);
    }
    return -EINVAL;
}
