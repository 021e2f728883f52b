#include "estimators/stabiliser.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "estimators/luma.h"
#include "estimators/motion/motion.h"
#include "estimators/motion/motion_field.h"
#include "estimators/motion/motion_similarity.h"

#define SMALLER_SIDE 256 /* pixels; limit of the smaller side of the reduced picture */
#define BLOCK        32  /* pixels of the reduced picture: a side of the field's blocks */
#define MAX_GAP_S    1.0 /* between two frames; after a longer one nothing is known */

struct stabiliser {
    const struct format_info *format;
    uint32_t width, height;
    uint32_t factor; /* by which the picture is reduced */
    uint32_t reduced_width, reduced_height;
    float *rows;                     /* `factor` rows of the frame */
    float *reduced;                  /* the picture */
    struct motion_estimator *motion; /* NULL: a similarity is measured: */
    struct motion_field *field;
    struct motion_grid grid;
    struct motion_aligner *aligner; /* not NULL: frames are aligned, and have no path */
    int64_t last_ns;                /* when the frame before was captured; 0: there is none */
    struct similarity distance;     /* from the camera's path to the smooth one */
    struct similarity speed;        /* speed of the smooth path, per second */
};

/* Mosaics have cells of 2 x 2 pixels, and luma is read in strips of whole cells. For stacks a
 * reduced picture may have SMALLER_SIDE pixels, too, so that frames with a side of 256 are seen
 * whole: in half of it places would be found half as well. So every side that is a multiple of 256
 * is reduced less. */
static uint32_t reduction(const struct format_info *format, enum stabiliser_model model,
                          uint32_t width, uint32_t height)
{
    const uint32_t smaller = width < height ? width : height;
    const uint32_t factor = (smaller - stabiliser_stacks(model)) / SMALLER_SIDE + 1;
    return format->kind == SAMPLE_BAYER ? (factor + 1) / 2 * 2 : factor;
}

static int create_estimator(struct stabiliser *s, enum stabiliser_model model, struct error *why)
{
    if (model == STABILISER_SHIFT)
        return motion_create(&s->motion, s->reduced_width, s->reduced_height, why);
    const double middle[2] = {0.5 * s->width / s->factor, 0.5 * s->height / s->factor};
    if (stabiliser_stacks(model))
        return motion_aligner_create(&s->aligner, s->reduced_width, s->reduced_height, middle,
                                     model == STABILISER_BURST, why);
    const int r = motion_grid_make(&s->grid, s->reduced_width, s->reduced_height, BLOCK, why);
    return r < 0 ? r
                 : motion_field_create(&s->field, s->reduced_width, s->reduced_height, BLOCK, why);
}

int stabiliser_create(struct stabiliser **ret, enum stabiliser_model model,
                      const struct format_info *format, uint32_t width, uint32_t height,
                      struct error *why)
{
    struct stabiliser *s = calloc(1, sizeof *s);
    if (s == NULL)
        return error_set(why, ENOMEM, "out of memory for a stabiliser");
    s->format = format;
    s->width = width;
    s->height = height;
    s->factor = reduction(format, model, width, height);
    s->reduced_width = width / s->factor;
    s->reduced_height = height / s->factor;
    int r = create_estimator(s, model, why);
    if (r < 0)
        goto fail;
    s->rows = malloc((size_t)width * s->factor * sizeof *s->rows);
    s->reduced = malloc((size_t)s->reduced_width * s->reduced_height * sizeof *s->reduced);
    if (s->rows == NULL || s->reduced == NULL) {
        r = error_set(why, ENOMEM, "out of memory for a stabiliser");
        goto fail;
    }
    *ret = s;
    return 0;
fail:
    stabiliser_destroy(s);
    return r;
}

void stabiliser_destroy(struct stabiliser *stabiliser)
{
    if (stabiliser == NULL)
        return;
    motion_destroy(stabiliser->motion);
    motion_field_destroy(stabiliser->field);
    motion_aligner_destroy(stabiliser->aligner);
    free(stabiliser->rows);
    free(stabiliser->reduced);
    free(stabiliser);
}

void stabiliser_reset(struct stabiliser *stabiliser)
{
    stabiliser->last_ns = 0;
    stabiliser->distance = stabiliser->speed = (struct similarity){.dx = 0};
    if (stabiliser->motion != NULL)
        motion_reset(stabiliser->motion);
    else if (stabiliser->aligner != NULL)
        motion_aligner_reset(stabiliser->aligner);
    else
        motion_field_reset(stabiliser->field);
}

static void reduce(struct stabiliser *s, const uint8_t *plane, uint32_t stride)
{
    const uint32_t factor = s->factor;
    for (uint32_t y = 0; y < s->reduced_height; y++) {
        luma_read(s->rows, s->format, DEMOSAIC_BILINEAR, s->width, factor,
                  plane + (size_t)y * factor * stride, stride);
        for (uint32_t x = 0; x < s->reduced_width; x++) {
            float sum = 0;
            for (uint32_t v = 0; v < factor; v++)
                for (uint32_t u = 0; u < factor; u++)
                    sum += s->rows[(size_t)v * s->width + x * factor + u];
            s->reduced[(size_t)y * s->reduced_width + x] = sum / (float)(factor * factor);
        }
    }
}

/* By what the content of the reduced picture has moved since the one before, in pixels of the
 * frame. Returns false if that is not sure. */
static bool measure(struct stabiliser *s, struct similarity *ret)
{
    if (s->motion != NULL) {
        struct motion motion;
        motion_observe(s->motion, s->reduced, &motion);
        *ret = (struct similarity){.dx = motion.dx * s->factor, .dy = motion.dy * s->factor};
        return motion.is_sure;
    }
    struct motion_similarity found;
    motion_similarity_fit(&s->grid, motion_field_observe(s->field, s->reduced),
                          (double)s->width / s->factor, (double)s->height / s->factor, &found);
    *ret = found.moved;
    ret->dx *= s->factor;
    ret->dy *= s->factor;
    return found.is_sure;
}

static struct similarity scale(const struct similarity *s, double by)
{
    return (struct similarity){.dx = by * s->dx,
                               .dy = by * s->dy,
                               .angle_rad = by * s->angle_rad,
                               .log_zoom = by * s->log_zoom};
}

/* No shift is more than the limit, and a corner turns no further. */
static void apply_limit(struct stabiliser *s, double limit_px)
{
    struct similarity *distance = &s->distance;
    const double corner_px =
        0.5 * hypot(s->width, s->height) * hypot(distance->angle_rad, distance->log_zoom);
    const double part = corner_px > limit_px ? limit_px / corner_px : 1;
    distance->dx = fmin(fmax(distance->dx, -limit_px), limit_px);
    distance->dy = fmin(fmax(distance->dy, -limit_px), limit_px);
    distance->angle_rad *= part;
    distance->log_zoom *= part;
}

/* The next frame has moved by `moved` in `seconds`. */
static void follow(struct stabiliser *s, const struct similarity *moved, double seconds,
                   const struct stabiliser_options *options)
{
    const double kept = exp(-seconds / options->time_s);
    const struct similarity back = similarity_inverse(moved), ahead = scale(&s->speed, seconds);
    const struct similarity there = similarity_join(&back, &s->distance);
    /* What undoes the error of the prediction. */
    const struct similarity off = similarity_join(&there, &ahead);
    const struct similarity change = scale(&off, -(1 - kept) * (1 - kept) / seconds);
    s->distance = scale(&off, kept * kept);
    s->speed.dx += change.dx;
    s->speed.dy += change.dy;
    s->speed.angle_rad += change.angle_rad;
    s->speed.log_zoom += change.log_zoom;
    apply_limit(s, options->limit_px);
}

void stabiliser_observe(struct stabiliser *s, const struct stabiliser_options *options,
                        const uint8_t *plane, uint32_t stride, int64_t captured_ns,
                        struct similarity *ret)
{
    struct similarity moved;
    const double seconds = (double)(captured_ns - s->last_ns) / 1e9;
    const bool is_known = s->last_ns != 0 && seconds > 0 && seconds <= MAX_GAP_S;
    if (!is_known)
        stabiliser_reset(s);
    s->last_ns = captured_ns;
    reduce(s, plane, stride);
    const bool is_sure = measure(s, &moved);
    if (is_known && is_sure)
        follow(s, &moved, seconds, options);
    else if (is_known)
        s->distance = scale(&s->distance, exp(-seconds / options->time_s));
    *ret = s->distance;
}

enum stack_place stabiliser_align(struct stabiliser *s, const uint8_t *plane, uint32_t stride,
                                  struct similarity *ret)
{
    struct similarity moved;
    reduce(s, plane, stride);
    const enum stack_place place = motion_aligner_observe(s->aligner, s->reduced, &moved);
    moved.dx *= s->factor;
    moved.dy *= s->factor;
    *ret = similarity_inverse(&moved);
    return place;
}
