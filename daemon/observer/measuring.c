#include "observer/measuring.h"

#include <errno.h>
#include <stdlib.h>

#include "core/format.h"
#include "estimators/measures.h"
#include "estimators/motion/motion.h"

#define ROUNDING   1e-3F /* in luma; less than the step of any format */
#define NEAR       1.5F  /* grey levels; samples this close to black or white count as there */
#define BEYOND     4.F   /* grey levels; filters and codecs overshoot by less */
#define RANGE_ROWS 90    /* about as many rows are looked at */

struct measuring {
    struct measurer *measurer;
    struct motion_estimator *motion; /* NULL: pictures are too small for it */
    uint64_t last_number;            /* number of the picture measured before; 0: none */
    unsigned start;                  /* the start of the source that delivered it */
};

int measuring_create(struct measuring **ret, uint32_t width, uint32_t height, struct error *why)
{
    struct measuring *measuring = calloc(1, sizeof *measuring);
    if (measuring == NULL)
        return error_set(why, ENOMEM, "out of memory for measures");
    int r = measurer_create(&measuring->measurer, width, height, why);
    if (r == 0 && width >= MOTION_MIN_SIZE && height >= MOTION_MIN_SIZE)
        r = motion_create(&measuring->motion, width, height, why);
    if (r < 0) {
        measuring_destroy(measuring);
        return r;
    }
    *ret = measuring;
    return 0;
}

void measuring_destroy(struct measuring *measuring)
{
    if (measuring == NULL)
        return;
    measurer_destroy(measuring->measurer);
    motion_destroy(measuring->motion);
    free(measuring);
}

/* Converts a level of the limited range, which is defined for 8 bits, to luma of 0 .. 255
 * (luma.h). */
static float limited_level(const struct format_info *info, unsigned level)
{
    return (float)(level << (info->bits - 8)) * 255 / (float)((1u << info->bits) - 1);
}

/* Moves black and white to the ends of the full range where the picture shows that it uses it. Many
 * files and cameras do not say which range they use, and are taken for limited: C420jpeg, in the
 * header of a Y4M file, only says where chroma is sited. Samples that were clipped are all at black
 * or at white. If more samples are well beyond it, it was not the end. */
static void find_range(struct measures_picture *picture)
{
    const uint32_t step = 1 + (picture->height - 1) / RANGE_ROWS;
    uint64_t black = 0, darker = 0, white = 0, brighter = 0;
    for (uint32_t y = 0; y < picture->height; y += step)
        for (uint32_t x = 0; x < picture->width; x++) {
            const float sample = picture->samples[(size_t)y * picture->width + x];
            black += fabsf(sample - picture->black) < NEAR;
            darker += sample < picture->black - BEYOND;
            white += fabsf(sample - picture->white) < NEAR;
            brighter += sample > picture->white + BEYOND;
        }
    if (darker > black)
        picture->black = 0;
    if (brighter > white)
        picture->white = 255 - ROUNDING;
}

/* Measures how the picture has moved since the one that was measured before. */
static void measure_shift(struct measuring *measuring, const struct observed_frame *frame,
                          const float *luma, struct fftd_measures *ret)
{
    struct motion motion;
    const bool is_first = frame->start != measuring->start || measuring->last_number == 0;
    const double frames = (double)(frame->number - measuring->last_number);

    measuring->last_number = frame->number;
    measuring->start = frame->start;
    if (measuring->motion == NULL)
        return;
    if (is_first)
        motion_reset(measuring->motion);
    motion_observe(measuring->motion, luma, &motion);
    if (is_first)
        return;
    ret->shift_confidence = (float)motion.confidence;
    if (motion.is_sure) {
        ret->shift_x = (float)(motion.dx / frames);
        ret->shift_y = (float)(motion.dy / frames);
    }
}

enum fftd_picture_state measuring_observe(struct measuring *measuring,
                                          const struct observed_frame *frame, const float *luma,
                                          struct fftd_measures *ret)
{
    const struct observed_frames *frames = &frame->frames;
    const struct format_info *info = format_by_fourcc(frames->fourcc);
    struct measures measures;
    struct measures_picture picture = {
        .samples = luma,
        .width = frames->width,
        .height = frames->height,
        .black = frames->is_full_range ? 0 : limited_level(info, 16) + ROUNDING,
        .white = (frames->is_full_range ? 255 : limited_level(info, 235)) - ROUNDING,
    };
    if (!frames->is_full_range)
        find_range(&picture);
    measurer_measure(measuring->measurer, &picture, &measures);
    ret->sharpness = measures.sharpness;
    ret->noise = measures.noise;
    ret->mean = measures.mean;
    ret->clipped = measures.clipped;
    ret->shift_x = ret->shift_y = ret->shift_confidence = NAN;
    measure_shift(measuring, frame, luma, ret);
    return measures.state;
}
