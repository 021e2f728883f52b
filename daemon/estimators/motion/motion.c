#include "estimators/motion/motion.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/vectors.h"
#include "estimators/motion/motion_cells.h"
#include "estimators/motion/motion_correlation.h"

/* Where a comment gives no other reason, a threshold was chosen on the pairs of
 * tests/unit/motion.c and tests/unit/motion_pairs.c. */
#define MAX_AREA      CELLS_MAX_WIDTH /* pixels of a side that are compared */
#define MAX_LEVELS    4u              /* from MAX_AREA to CORRELATION_MAX_SIDE there are three */
#define LARGEST       1e6F            /* largest sample, so that a sum of squares fits a float */
#define MIN_COUNT     40u             /* significant frequencies below which a picture is plain */
#define COARSE_PASSES 4u
#define FINE_PASSES   1u
#define NOISE_LIMIT   2.0 /* times the noise of the highest frequencies */
#define FLOOR_NOISE   0.1 /* variance of rounding to 8 bits */
#define CLEAR         0.7 /* agreement from which much lower peaks are not tried */
#define LOW           0.4 /* height of these, as a share of the highest one */
#define SAME          2.0 /* pixels; two peaks that lead closer to each other are one */
#define RIVAL         0.8 /* agreement with another shift, as a share of the best one */
/* A shift is sure from this agreement on, of as many cells, if its deviation is as small. The
 * highest agreement of a rotation was 0.2, the lowest with a large object before the scene 0.25. */
#define SURE          0.3
#define MIN_AGREED    3.0
#define MAX_DEVIATION 0.1 /* pixels */
/* A shift below as many pixels is held back more by columns' offsets with the finer kernel than
 * with the smoother one, and less above (tests/unit/motion.c, columns_do_not_hold_back). */
#define HOLDING       1.5

/* The pictures at half the size of the level before. */
struct level {
    unsigned width, height;
    float *picture[2]; /* the last one and the new one */
};

struct motion_estimator {
    unsigned width, height; /* the pictures' size */
    struct level level[MAX_LEVELS];
    unsigned levels;
    struct correlation *correlation; /* at the last level */
    struct cells_work *cells;
    bool has_last;
    bool is_compared; /* the last two, which have details */
    double noise;     /* its variance in the last comparison, and that of fine texture */
};

static unsigned lesser(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static bool allocate(struct motion_estimator *m)
{
    m->cells = cells_create();
    bool is_complete = m->cells != NULL;
    for (unsigned k = 0; k < m->levels; k++)
        for (unsigned i = 0; i < 2; i++) {
            struct level *level = &m->level[k];
            const size_t count = (size_t)level->width * level->height + CELLS_SPARE;
            level->picture[i] = calloc(count, sizeof *level->picture[i]);
            is_complete = level->picture[i] != NULL && is_complete;
        }
    return is_complete;
}

int motion_create(struct motion_estimator **ret, unsigned width, unsigned height, struct error *why)
{
    if (width < MOTION_MIN_SIZE || height < MOTION_MIN_SIZE)
        return error_set(why, EINVAL,
                         "motion cannot be estimated in pictures of %u x %u pixels: expected at "
                         "least %u x %u",
                         width, height, MOTION_MIN_SIZE, MOTION_MIN_SIZE);
    struct motion_estimator *m = calloc(1, sizeof *m);
    if (m == NULL)
        return error_set(why, ENOMEM, "out of memory for an estimator of motion");
    m->width = width;
    m->height = height;
    m->level[0] =
        (struct level){.width = lesser(width, MAX_AREA), .height = lesser(height, MAX_AREA)};
    m->levels = 1;
    while (lesser(m->level[m->levels - 1].width, m->level[m->levels - 1].height) >
           CORRELATION_MAX_SIDE) {
        const struct level *last = &m->level[m->levels - 1];
        m->level[m->levels++] =
            (struct level){.width = last->width / 2, .height = last->height / 2};
    }
    const struct level *last = &m->level[m->levels - 1];
    int err = correlation_create(&m->correlation, last->width, last->height, why);
    if (err == 0 && !allocate(m))
        err = error_set(why, ENOMEM, "out of memory for an estimator of motion");
    if (err < 0) {
        motion_destroy(m);
        return err;
    }
    *ret = m;
    return 0;
}

void motion_destroy(struct motion_estimator *m)
{
    if (m == NULL)
        return;
    correlation_destroy(m->correlation);
    cells_destroy(m->cells);
    for (unsigned k = 0; k < m->levels; k++)
        for (unsigned i = 0; i < 2; i++)
            free(m->level[k].picture[i]);
    free(m);
}

void motion_reset(struct motion_estimator *m)
{
    m->has_last = false;
}

/* Makes a picture of half the size. */
static ALWAYS_INLINE void halve(float *restrict to, const float *restrict from, unsigned stride,
                                unsigned width, unsigned height)
{
    for (unsigned y = 0; y < height; y++, from += 2 * (size_t)stride, to += width)
        for (unsigned x = 0; x < width; x++)
            to[x] = 0.25F * (from[2 * x] + from[2 * x + 1] + from[2 * x + stride] +
                             from[2 * x + stride + 1]);
}

/* Keeps the middle of a picture, and it at smaller sizes, as the new one. */
VECTORS static void keep_picture(struct motion_estimator *m, const float *luma)
{
    for (unsigned k = 0; k < m->levels; k++) {
        struct level *level = &m->level[k];
        float *restrict picture = level->picture[0];
        level->picture[0] = level->picture[1];
        level->picture[1] = picture;
        if (k > 0) {
            halve(picture, level[-1].picture[1], level[-1].width, level->width, level->height);
            continue;
        }
        const size_t left = (m->width - level->width) / 2, top = (m->height - level->height) / 2;
        for (unsigned y = 0; y < level->height; y++, picture += level->width) {
            const float *row = luma + (top + y) * m->width + left;
            for (unsigned x = 0; x < level->width; x++)
                picture[x] = fabsf(row[x]) < LARGEST ? row[x] : 0; /* also 0 if not a number */
        }
    }
}

static bool is_agreed(const struct cells_shift *shift)
{
    return shift->agreement >= SURE && shift->agreed >= MIN_AGREED;
}

static bool refine(struct motion_estimator *m, unsigned k, unsigned passes, bool is_even,
                   bool is_fine, struct cells_shift *shift)
{
    const struct level *level = &m->level[k];
    const struct cells_pictures pictures = {level->picture[0], level->picture[1], level->width,
                                            level->height,     is_even,           is_fine};
    return cells_refine(m->cells, &pictures, passes, shift);
}

static bool refine_level(struct motion_estimator *m, unsigned k, unsigned passes, bool is_even,
                         struct cells_shift *shift)
{
    return refine(m, k, passes, is_even, false, shift);
}

/* Offsets of a sensor's columns stand while the scene moves, and pull a short shift along x to
 * zero. The finer kernel lets more of them pass. Those of rows go with the rows' means. */
static bool may_be_held_back(const struct cells_shift *shift)
{
    return fabs(shift->dx) < HOLDING;
}

/* One pass that smooths less, at full size. Returns false, and leaves `shift` as it is, where too
 * little agrees with it, and where a fixed pattern would count more. */
static bool refine_finely(struct motion_estimator *m, bool is_even, struct cells_shift *shift)
{
    struct cells_shift found = {.dx = shift->dx, .dy = shift->dy, .noise = INFINITY};
    if (may_be_held_back(shift) || !refine(m, 0, FINE_PASSES, is_even, true, &found) ||
        !is_agreed(&found))
        return false;
    *shift = found;
    return true;
}

/* The best shift at the last level; returns the agreement with the best of the others, as a share
 * of that with the best one. */
static double choose(struct motion_estimator *m, struct cells_shift *ret)
{
    const unsigned last = m->levels - 1;
    struct correlation_peak peaks[CORRELATION_PEAKS];
    struct cells_shift found[CORRELATION_PEAKS] = {{.dx = 0}};
    unsigned count = 0, best = 0;
    double rival = 0, noise = INFINITY;
    correlation_find_peaks(m->correlation, peaks);
    for (unsigned p = 0; p < CORRELATION_PEAKS; p++) {
        if (count > 0 && found[0].agreement > CLEAR && peaks[p].height < LOW * peaks[0].height)
            break;
        found[count] = (struct cells_shift){
            .dx = peaks[p].x, .dy = peaks[p].y, .noise = NOISE_LIMIT * m->noise + FLOOR_NOISE};
        if (refine_level(m, last, COARSE_PASSES, false, &found[count]))
            noise = fmin(noise, found[count++].noise);
    }
    if (count == 0)
        return 1;
    for (unsigned p = 0; p < count; p++) {
        /* Where nearly nothing agrees, the noise seemed larger. */
        if (found[p].noise > noise) {
            found[p].noise = noise;
            if (!refine_level(m, last, 1, false, &found[p]))
                found[p].agreed = found[p].agreement = 0;
        }
        if (found[p].agreed > found[best].agreed)
            best = p;
    }
    for (unsigned p = 0; p < count; p++)
        if (hypot(found[p].dx - found[best].dx, found[p].dy - found[best].dy) > SAME)
            rival = fmax(rival, found[p].agreed / found[best].agreed);
    *ret = found[best];
    return rival;
}

/* The shift of the last level, improved in the larger pictures. clear: 0 .. 1, none like it. */
static struct motion at_full_size(struct motion_estimator *m, const struct cells_shift *coarse,
                                  double clear, bool is_even)
{
    struct cells_shift shift = *coarse;
    unsigned k = m->levels - 1;
    /* Where the full size shows nothing but noise, the smaller one has to do. */
    while (k > 0 && shift.agreement > 0) {
        struct cells_shift finer = {.dx = 2 * shift.dx, .dy = 2 * shift.dy, .noise = INFINITY};
        if (!(k == 1 && refine_finely(m, is_even, &finer)) &&
            !refine_level(m, k - 1, FINE_PASSES, is_even, &finer))
            break;
        shift = finer;
        k--;
    }
    if (m->levels == 1 && is_agreed(&shift))
        refine_finely(m, is_even, &shift);
    const double scale = 1u << k;
    struct motion motion = {
        .dx = scale * shift.dx, .dy = scale * shift.dy, .confidence = clear * shift.agreement};
    motion.is_sure = motion.confidence >= SURE && shift.agreed >= MIN_AGREED &&
                     scale * shift.deviation < MAX_DEVIATION;
    return motion;
}

void motion_observe(struct motion_estimator *m, const float *luma, struct motion *ret)
{
    *ret = (struct motion){.dx = 0};
    keep_picture(m, luma);
    const bool has_last = m->has_last;
    m->has_last = true;
    m->is_compared = false;
    if (!has_last)
        return;
    const struct level *level = &m->level[m->levels - 1];
    const unsigned significant =
        correlation_compare(m->correlation, level->picture[0], level->picture[1], &m->noise);
    if (significant < MIN_COUNT) {
        ret->is_plain = true;
        return;
    }
    m->is_compared = true;
    struct cells_shift shift = {.dx = 0};
    const double rival = choose(m, &shift);
    const double ambiguous = rival > RIVAL ? fmin(rival, 1) : 0;
    *ret = at_full_size(m, &shift, 1 - ambiguous, false);
    ret->is_ambiguous = ambiguous > 0 && shift.agreement >= SURE;
}

bool motion_near(struct motion_estimator *m, double dx, double dy, struct motion *ret)
{
    const double scale = 1u << (m->levels - 1);
    struct cells_shift shift = {
        .dx = dx / scale, .dy = dy / scale, .noise = NOISE_LIMIT * m->noise + FLOOR_NOISE};
    if (!m->is_compared || !refine_level(m, m->levels - 1, COARSE_PASSES, true, &shift))
        return false;
    const struct motion found = at_full_size(m, &shift, 1, true);
    if (found.is_sure)
        *ret = found;
    return found.is_sure;
}
