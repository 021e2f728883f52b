#include "estimators/motion/motion_aligner.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimators/motion/motion_field.h"
#include "estimators/motion/motion_refine.h"
#include "estimators/motion/motion_similarity.h"

#define BLOCK     32
#define FITS      3u   /* at most, for each picture */
#define NEAR      0.25 /* pixels in a corner: a fit that moves less is the last one */
/* Pixels from the fit, beyond which a vector moves otherwise: any one, and one that is sure. */
#define APART     1.0
#define SURE      0.2
#define STEPS     6u   /* at most, of what is refined */
#define STILL     0.05 /* pixels in a corner: a step that moves less is the last one */
#define TAPS      4

/* Where noise leaves few vectors that are sure, nearly all of them agree. */
#define AGREEMENT 0.9
#define DEVIATION 0.2 /* pixels, in a corner */

/* The correlation of gradients of pictures of one scene that are blurred by up to 12 pixels in
 * different directions is 0.83 or more; that of different scenes is below 0.1. */
#define ALIKE     0.8

struct motion_aligner {
    unsigned width, height;
    double middle[2];
    struct motion_field *field;
    struct motion_grid grid;
    struct motion_vector *vector; /* those of blocks that the moved picture shows */
    size_t cells;                 /* hop x hop pixels each */
    bool *moves_otherwise;        /* for each cell */
    float *reference;             /* owns the memory of the others, too */
    float *moved, *smooth_reference, *smooth_moved;
    bool is_blurred;
    unsigned count;          /* pictures of the reference; 0: the next one begins a stack */
    unsigned left_out;       /* in a row */
    struct similarity place; /* where the last picture is that joined */
};

int motion_aligner_create(struct motion_aligner **ret, unsigned width, unsigned height,
                          const double middle[2], bool is_blurred, struct error *why)
{
    struct motion_grid grid;
    int r = motion_grid_make(&grid, width, height, BLOCK, why);
    if (r < 0)
        return r;
    struct motion_aligner *aligner = calloc(1, sizeof *aligner);
    if (aligner == NULL)
        return error_set(why, ENOMEM, "out of memory for aligning frames");
    const size_t count = (size_t)width * height;
    *aligner = (struct motion_aligner){
        .width = width,
        .height = height,
        .middle = {middle[0], middle[1]},
        .grid = grid,
        .cells = (size_t)((width + grid.hop - 1) / grid.hop) * ((height + grid.hop - 1) / grid.hop),
        .is_blurred = is_blurred,
    };
    aligner->vector = calloc((size_t)grid.columns * grid.rows, sizeof *aligner->vector);
    aligner->reference = calloc(4 * count, sizeof *aligner->reference);
    aligner->moves_otherwise = calloc(aligner->cells, sizeof *aligner->moves_otherwise);
    if (aligner->vector == NULL || aligner->reference == NULL || aligner->moves_otherwise == NULL)
        r = error_set(why, ENOMEM, "out of memory for aligning frames");
    else
        r = motion_field_create(&aligner->field, width, height, BLOCK, why);
    if (r < 0) {
        motion_aligner_destroy(aligner);
        return r;
    }
    aligner->moved = aligner->reference + count;
    aligner->smooth_reference = aligner->moved + count;
    aligner->smooth_moved = aligner->smooth_reference + count;
    *ret = aligner;
    return 0;
}

void motion_aligner_destroy(struct motion_aligner *aligner)
{
    if (aligner == NULL)
        return;
    motion_field_destroy(aligner->field);
    free(aligner->vector);
    free(aligner->reference);
    free(aligner->moves_otherwise);
    free(aligner);
}

void motion_aligner_reset(struct motion_aligner *aligner)
{
    aligner->count = aligner->left_out = 0;
    aligner->place = (struct similarity){.dx = 0};
}

/* The place in a picture of a pixel of the reference, as a linear map: x' = m[0] x + m[1] y + m[2],
 * and y' = m[3] x + m[4] y + m[5]. Middles of pixels are whole numbers. */
static void map_of(const struct motion_aligner *aligner, const struct similarity *place,
                   double ret[6])
{
    double at[3][2] = {{1, 0}, {0, 1}, {0, 0}};
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned axis = 0; axis < 2; axis++)
            at[i][axis] += 0.5 - aligner->middle[axis];
        similarity_move(place, at[i]);
        for (unsigned axis = 0; axis < 2; axis++)
            at[i][axis] += aligner->middle[axis] - 0.5;
    }
    for (unsigned axis = 0; axis < 2; axis++) {
        ret[3 * axis] = at[0][axis] - at[2][axis];
        ret[3 * axis + 1] = at[1][axis] - at[2][axis];
        ret[3 * axis + 2] = at[2][axis];
    }
}

/* Keys' cubic convolution. */
static void find_taps(float ret[TAPS], float t)
{
    ret[0] = ((-0.5F * t + 1) * t - 0.5F) * t;
    ret[1] = (1.5F * t - 2.5F) * t * t + 1;
    ret[2] = ((-1.5F * t + 2) * t + 0.5F) * t;
    ret[3] = (0.5F * t - 0.5F) * t * t;
}

static int limited(int i, unsigned length)
{
    return i < 0 ? 0 : i >= (int)length ? (int)length - 1 : i;
}

/* A sample of a picture, whose outermost ones are repeated beyond it. */
static float sample_at(const struct motion_aligner *aligner, const float *picture, float x, float y)
{
    const int left = (int)(x + TAPS) - TAPS, above = (int)(y + TAPS) - TAPS; /* at least -TAPS */
    const bool is_inside = left >= 1 && above >= 1 && left + 3 <= (int)aligner->width &&
                           above + 3 <= (int)aligner->height;
    float edge[TAPS * TAPS];
    const float *from =
        is_inside ? picture + (size_t)(above - 1) * aligner->width + left - 1 : edge;
    const size_t pitch = is_inside ? aligner->width : TAPS;
    float across[TAPS], down[TAPS], column[TAPS] = {0};
    find_taps(across, x - (float)left);
    find_taps(down, y - (float)above);
    /* The columns are added up side by side, so that they fit the compiler's vectors. */
    for (int i = 0; i < TAPS * TAPS && !is_inside; i++)
        edge[i] = picture[(size_t)limited(above + i / TAPS - 1, aligner->height) * aligner->width +
                          (size_t)limited(left + i % TAPS - 1, aligner->width)];
    for (size_t j = 0; j < TAPS; j++)
        for (size_t i = 0; i < TAPS; i++)
            column[i] += down[j] * from[j * pitch + i];
    return across[0] * column[0] + across[1] * column[1] + across[2] * column[2] +
           across[3] * column[3];
}

/* Comparisons, because fmin and fmax are calls of libm. */
static float between(double value, double least, double most)
{
    return (float)(value > least ? value < most ? value : most : least);
}

static void move_back(struct motion_aligner *aligner, const float *picture,
                      const struct similarity *place)
{
    double m[6];
    float *to = aligner->moved;
    map_of(aligner, place, m);
    for (unsigned y = 0; y < aligner->height; y++)
        for (unsigned x = 0; x < aligner->width; x++)
            *to++ = sample_at(aligner, picture,
                              between(m[0] * x + m[1] * y + m[2], -TAPS, aligner->width + TAPS),
                              between(m[3] * x + m[4] * y + m[5], -TAPS, aligner->height + TAPS));
}

static bool is_shown(const struct motion_aligner *aligner, const double m[6], double x, double y)
{
    const double u = m[0] * x + m[1] * y + m[2], v = m[3] * x + m[4] * y + m[5];
    return u >= 0 && v >= 0 && u <= aligner->width - 1 && v <= aligner->height - 1;
}

/* Keeps the vectors of blocks of which the moved picture has every pixel. */
static void keep_shown(struct motion_aligner *aligner, const struct motion_vector *found,
                       const struct similarity *place)
{
    const struct motion_grid *grid = &aligner->grid;
    double m[6];
    map_of(aligner, place, m);
    for (unsigned i = 0; i < grid->columns * grid->rows; i++) {
        const unsigned row = i / grid->columns, column = i % grid->columns;
        const double x = column * grid->hop, y = row * grid->hop;
        const double right = x + grid->block - 1, below = y + grid->block - 1;
        aligner->vector[i] = found[i];
        if (!is_shown(aligner, m, x, y) || !is_shown(aligner, m, right, y) ||
            !is_shown(aligner, m, x, below) || !is_shown(aligner, m, right, below))
            aligner->vector[i].confidence = 0;
    }
}

/* By how much a similarity moves the farthest corner, at most. */
static double distance_of(const struct motion_aligner *aligner, const struct similarity *s)
{
    return hypot(s->dx, s->dy) +
           0.5 * hypot(aligner->width, aligner->height) * hypot(s->angle_rad, s->log_zoom);
}

/* Finds what moves otherwise than a fit says. */
static void judge_cells(struct motion_aligner *aligner, const struct similarity *fit)
{
    const struct motion_grid *grid = &aligner->grid;
    const unsigned across = (aligner->width + grid->hop - 1) / grid->hop;
    for (unsigned i = 0; i < grid->columns * grid->rows; i++) {
        const unsigned row = i / grid->columns, column = i % grid->columns;
        const struct motion_vector *v = &aligner->vector[i];
        const double x = 0.5 * grid->block + column * grid->hop - aligner->middle[0];
        const double y = 0.5 * grid->block + row * grid->hop - aligner->middle[1];
        double at[2] = {x - (double)v->dx, y - (double)v->dy};
        similarity_move(fit, at);
        if (hypot(at[0] - x, at[1] - y) <= (v->confidence >= MOTION_FIELD_SURE ? SURE : APART))
            continue;
        for (unsigned k = 0; k < 4; k++)
            aligner->moves_otherwise[(row + k / 2) * across + column + k % 2] = true;
    }
}

/* Improves a place by fields of motion. Returns false if it is unsure. */
static bool find_place(struct motion_aligner *aligner, const float *picture,
                       struct similarity *place)
{
    struct motion_similarity found;
    for (unsigned fit = 0; fit < FITS; fit++) {
        move_back(aligner, picture, place);
        keep_shown(aligner, motion_field_compare(aligner->field, aligner->moved), place);
        motion_similarity_fit(&aligner->grid, aligner->vector, 2 * aligner->middle[0],
                              2 * aligner->middle[1], &found);
        if (!found.is_sure && !(found.agreement >= AGREEMENT && found.deviation <= DEVIATION))
            return false;
        *place = similarity_join(&found.moved, place);
        if (distance_of(aligner, &found.moved) < NEAR)
            break;
    }
    judge_cells(aligner, &found.moved);
    return true;
}

/* Binomial weights along both axes: noise and the differences between blurs are less. */
static void smooth(const struct motion_aligner *aligner, const float *from, float *to)
{
    const unsigned width = aligner->width, height = aligner->height;
    for (unsigned y = 0; y < height; y++) {
        const float *row[5];
        float *line = to + (size_t)y * width, before[2];
        for (int k = 0; k < 5; k++)
            row[k] = from + (size_t)limited((int)y + k - 2, height) * width;
        for (unsigned x = 0; x < width; x++)
            line[x] = (row[0][x] + row[4][x] + 4 * (row[1][x] + row[3][x]) + 6 * row[2][x]) / 16;
        before[0] = before[1] = line[0];
        for (unsigned x = 0; x < width; x++) {
            const float here = line[x];
            const float next = line[x + 1 < width ? x + 1 : width - 1];
            const float last = line[x + 2 < width ? x + 2 : width - 1];
            line[x] = (before[0] + last + 4 * (before[1] + next) + 6 * here) / 16;
            before[0] = before[1];
            before[1] = here;
        }
    }
}

/* Improves a place by all pixels. Returns how alike gradients are there. */
static double refine_place(struct motion_aligner *aligner, const float *picture,
                           struct similarity *place)
{
    struct motion_pair pair = {.reference = aligner->smooth_reference,
                               .moved = aligner->smooth_moved,
                               .is_left_out = aligner->moves_otherwise,
                               .width = aligner->width,
                               .height = aligner->height,
                               .cell = aligner->grid.hop,
                               .middle = {aligner->middle[0], aligner->middle[1]}};
    struct similarity moved;
    double alike = 0;
    for (unsigned step = 0; step < STEPS; step++) {
        move_back(aligner, picture, place);
        smooth(aligner, aligner->moved, aligner->smooth_moved);
        map_of(aligner, place, pair.map);
        alike = motion_refine(&pair, &moved);
        *place = similarity_join(&moved, place);
        if (distance_of(aligner, &moved) < STILL)
            break;
    }
    return alike;
}

static void keep_reference(struct motion_aligner *aligner)
{
    motion_field_keep(aligner->field, aligner->reference);
    smooth(aligner, aligner->reference, aligner->smooth_reference);
}

/* Where a picture shows nothing, the reference stays as it is. */
static void add_to_reference(struct motion_aligner *aligner, const float *picture)
{
    const float part = 1 / (float)++aligner->count;
    double m[6];
    float *to = aligner->reference;
    move_back(aligner, picture, &aligner->place);
    map_of(aligner, &aligner->place, m);
    for (unsigned y = 0; y < aligner->height; y++)
        for (unsigned x = 0; x < aligner->width; x++, to++)
            if (is_shown(aligner, m, x, y))
                *to += part * (aligner->moved[to - aligner->reference] - *to);
    keep_reference(aligner);
}

enum stack_place motion_aligner_observe(struct motion_aligner *aligner, const float *picture,
                                        struct similarity *ret)
{
    struct similarity place = aligner->place;
    *ret = (struct similarity){.dx = 0};
    if (aligner->left_out >= ALIGNER_MAX_LEFT_OUT)
        motion_aligner_reset(aligner);
    if (aligner->count == 0) {
        memcpy(aligner->reference, picture,
               (size_t)aligner->width * aligner->height * sizeof *picture);
        keep_reference(aligner);
        aligner->count = 1;
        return STACK_BEGINS;
    }
    memset(aligner->moves_otherwise, 0, aligner->cells * sizeof *aligner->moves_otherwise);
    bool is_sure = find_place(aligner, picture, &place);
    if (is_sure || aligner->is_blurred)
        is_sure |= refine_place(aligner, picture, &place) >= ALIKE;
    if (!is_sure) {
        aligner->left_out++;
        return STACK_LEFT_OUT;
    }
    aligner->left_out = 0;
    aligner->place = *ret = place;
    if (aligner->count < ALIGNER_REFERENCES)
        add_to_reference(aligner, picture);
    return STACK_JOINS;
}
