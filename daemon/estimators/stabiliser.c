#include "estimators/stabiliser.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "estimators/luma.h"
#include "estimators/motion.h"

#define SMALLER_SIDE 256 /* of the reduced picture, at most: fewer pixels than this */
#define MAX_GAP_S    1.0 /* between two frames; after a longer one nothing is known */

/* The state of the smooth path along one axis. */
struct path {
    double distance; /* from the camera's path to the smooth one, pixels */
    double speed;    /* of the smooth path, pixels per second */
};

struct stabiliser {
    const struct format_info *format;
    uint32_t width, height;
    uint32_t factor; /* by which the picture is reduced */
    uint32_t reduced_width, reduced_height;
    float *rows;    /* `factor` rows of the frame */
    float *reduced; /* the picture */
    struct motion_estimator *motion;
    int64_t last_ns; /* when the frame before was captured; 0: there is none */
    struct path path[2];
};

/* Mosaics have cells of 2 x 2 pixels, and luma is read in strips of whole cells. */
static uint32_t reduction(const struct format_info *format, uint32_t width, uint32_t height)
{
    const uint32_t smaller = width < height ? width : height;
    const uint32_t factor = smaller / SMALLER_SIDE + 1;
    return format->kind == SAMPLE_BAYER ? (factor + 1) / 2 * 2 : factor;
}

int stabiliser_create(struct stabiliser **ret, const struct format_info *format, uint32_t width,
                      uint32_t height, struct error *why)
{
    struct stabiliser *s = calloc(1, sizeof *s);
    if (s == NULL)
        return error_set(why, ENOMEM, "out of memory for a stabiliser");
    s->format = format;
    s->width = width;
    s->height = height;
    s->factor = reduction(format, width, height);
    s->reduced_width = width / s->factor;
    s->reduced_height = height / s->factor;
    int r = motion_create(&s->motion, s->reduced_width, s->reduced_height, why);
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
    free(stabiliser->rows);
    free(stabiliser->reduced);
    free(stabiliser);
}

void stabiliser_reset(struct stabiliser *stabiliser)
{
    stabiliser->last_ns = 0;
    stabiliser->path[0] = stabiliser->path[1] = (struct path){.distance = 0};
    motion_reset(stabiliser->motion);
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

/* The next frame has moved by `moved` pixels in `seconds`; NAN: nobody knows. */
static void follow(struct path *path, double moved, double seconds,
                   const struct stabiliser_options *options)
{
    const double kept = exp(-seconds / options->time_s);
    const double ahead = path->distance + path->speed * seconds;
    if (isnan(moved)) {
        path->distance *= kept;
        return;
    }
    /* The error of the prediction is -(ahead - moved). */
    path->distance = kept * kept * (ahead - moved);
    path->speed -= (1 - kept) * (1 - kept) * (ahead - moved) / seconds;
    path->distance = fmin(fmax(path->distance, -options->limit_px), options->limit_px);
}

void stabiliser_observe(struct stabiliser *s, const struct stabiliser_options *options,
                        const uint8_t *plane, uint32_t stride, int64_t captured_ns, double ret[2])
{
    struct motion motion;
    const double seconds = (double)(captured_ns - s->last_ns) / 1e9;
    const bool is_known = s->last_ns != 0 && seconds > 0 && seconds <= MAX_GAP_S;
    if (!is_known)
        stabiliser_reset(s);
    s->last_ns = captured_ns;
    reduce(s, plane, stride);
    motion_observe(s->motion, s->reduced, &motion);
    const double moved[2] = {motion.dx * s->factor, motion.dy * s->factor};
    for (unsigned axis = 0; axis < 2; axis++) {
        if (is_known)
            follow(&s->path[axis], motion.is_sure ? moved[axis] : NAN, seconds, options);
        ret[axis] = s->path[axis].distance;
    }
}
