/* Similarities fitted to fields of motion: of pairs of pictures whose motion is known
 * (support/flow.h), with a thing that moves otherwise in a third of them, and of made-up fields.
 * FFTD_TEST_CLIPS=all measures more pairs, FFTD_TEST_SEED chooses others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/cmocka.h"
#include "support/flow.h"
#include "support/scene.h"
#include "support/trials.h"

#include "estimators/motion/motion_similarity.h"

#define DEGREE (M_PI / 180)
#define BLOCK  32u

static uint64_t first_seed(void)
{
    const char *seed = getenv("FFTD_TEST_SEED");
    return seed != NULL ? strtoull(seed, NULL, 10) : 9000;
}

static double between(uint64_t *seed, double from, double to)
{
    return from + (to - from) * scene_uniform(seed);
}

/* Shakes of up to 10 pixels, 1.5 degrees and 1.5 %. */
static struct similarity draw_similarity(uint64_t *seed)
{
    return (struct similarity){.dx = between(seed, -7, 7),
                               .dy = between(seed, -7, 7),
                               .angle_rad = between(seed, -1.5, 1.5) * DEGREE,
                               .log_zoom = between(seed, -0.015, 0.015)};
}

static void fit_pair(const float *last, const float *next, unsigned width, unsigned height,
                     struct motion_similarity *ret)
{
    struct motion_field *field;
    struct motion_grid grid;
    assert_int_equal(motion_grid_make(&grid, width, height, BLOCK, NULL), 0);
    assert_int_equal(motion_field_create(&field, width, height, BLOCK, NULL), 0);
    motion_field_observe(field, last);
    motion_similarity_fit(&grid, motion_field_observe(field, next), width, height, ret);
    motion_field_destroy(field);
}

/* The largest distance in a corner. */
static double corner_error(const struct similarity *a, const struct similarity *b, double width,
                           double height)
{
    double most = 0;
    for (unsigned i = 0; i < 4; i++) {
        double p[2] = {(i % 2 == 0 ? -0.5 : 0.5) * width, (i < 2 ? -0.5 : 0.5) * height};
        double q[2] = {p[0], p[1]};
        similarity_move(a, p);
        similarity_move(b, q);
        most = fmax(most, hypot(p[0] - q[0], p[1] - q[1]));
    }
    return most;
}

/* What is demanded of a stabilised clip: 0.1 pixel and 0.02 degrees. */
static void rendered_shakes_are_found(void **state)
{
    (void)state;
    const unsigned width = 426, height = 240; /* as frames of 1280 x 720 are reduced */
    const unsigned pairs = trials_count(40, 4);
    double most_px = 0, most_degrees = 0, most_corner = 0, squares = 0;
    for (unsigned pair = 0; pair < pairs; pair++) {
        uint64_t seed = first_seed() + 500 + pair;
        const struct similarity moved = draw_similarity(&seed);
        const double away = between(&seed, 0, 2 * M_PI), speed = between(&seed, 2, 10);
        const double thing[2] = {moved.dx + speed * cos(away), moved.dy + speed * sin(away)};
        struct motion_similarity found;
        struct flow flow;
        flow_make_similarity(&flow, width, height, &moved, pair % 4 == 3 ? 0 : 1 / 3.0, thing,
                             between(&seed, 1, 5), seed);
        fit_pair(flow.last, flow.next, width, height, &found);
        flow_clear(&flow);
        const double px = hypot(found.moved.dx - moved.dx, found.moved.dy - moved.dy);
        const double degrees = fabs(found.moved.angle_rad - moved.angle_rad) / DEGREE;
        const double corner = corner_error(&found.moved, &moved, width, height);
        if (!found.is_sure || px > 0.05)
            printf("# pair %u: %.3f px, %.4f degrees, %.3f px in a corner, agreement %.2f, "
                   "deviation %.3f\n",
                   pair, px, degrees, corner, found.agreement, found.deviation);
        assert_true(found.is_sure);
        squares += px * px;
        most_px = fmax(most_px, px);
        most_degrees = fmax(most_degrees, degrees);
        most_corner = fmax(most_corner, corner);
    }
    printf("# figures: %u pairs of %u x %u, a thing in a third of most: rms error of the shift "
           "%.4f px, at most %.4f px, %.4f degrees and %.3f px in a corner\n",
           pairs, width, height, sqrt(squares / pairs), most_px, most_degrees, most_corner);
    assert_true(most_px <= 0.1 && most_degrees <= 0.02);
}

/* A field of vectors with errors of 0.03 pixel. Those for which is_other is true move otherwise. */
static void make_field(const struct motion_grid *grid, double width, double height,
                       const struct similarity *moved, double other_share, uint64_t *seed,
                       struct motion_vector *ret)
{
    const struct similarity back = similarity_inverse(moved);
    for (unsigned i = 0; i < grid->columns * grid->rows; i++) {
        const unsigned column = i % grid->columns, row = i / grid->columns;
        const double to[2] = {0.5 * grid->block + column * grid->hop - 0.5 * width,
                              0.5 * grid->block + row * grid->hop - 0.5 * height};
        double from[2] = {to[0], to[1]};
        similarity_move(&back, from);
        const bool is_other = i % grid->columns < other_share * grid->columns;
        ret[i] = (struct motion_vector){
            (float)(to[0] - from[0] + 0.03 * scene_normal(seed) + (is_other ? 4.0 : 0)),
            (float)(to[1] - from[1] + 0.03 * scene_normal(seed) - (is_other ? 2.5 : 0)), 0.95F};
    }
}

static void a_field_gives_its_similarity(void **state)
{
    (void)state;
    static const struct similarity moved[] = {
        {0},
        {.dx = 12.5, .dy = -3.25},
        {.angle_rad = 3 * DEGREE},
        {.log_zoom = 0.04},
        {.dx = -8, .dy = 20, .angle_rad = -2 * DEGREE, .log_zoom = -0.03},
    };
    struct motion_vector vector[500];
    struct motion_similarity found;
    struct motion_grid grid;
    uint64_t seed = 4;
    assert_int_equal(motion_grid_make(&grid, 426, 240, BLOCK, NULL), 0);
    for (unsigned i = 0; i < sizeof moved / sizeof *moved; i++)
        for (unsigned other = 0; other < 2; other++) {
            /* The picture may be larger than the field by parts of a pixel. */
            make_field(&grid, 426.67, 240.33, &moved[i], 0.4 * other, &seed, vector);
            motion_similarity_fit(&grid, vector, 426.67, 240.33, &found);
            assert_true(found.is_sure);
            assert_true(corner_error(&found.moved, &moved[i], 426, 240) < 0.05);
            assert_true(fabs(found.agreement - (other ? 0.6 : 1)) < 0.05);
            assert_true(corner_error(&found.moved, &moved[i], 426, 240) < 5 * found.deviation);
        }
}

/* Neither half is the scene. */
static void no_majority_is_unsure(void **state)
{
    (void)state;
    const struct similarity none = {0};
    struct motion_vector vector[500];
    struct motion_similarity found;
    struct motion_grid grid;
    uint64_t seed = 5;
    assert_int_equal(motion_grid_make(&grid, 426, 240, BLOCK, NULL), 0);
    make_field(&grid, 426, 240, &none, 0, &seed, vector);
    for (unsigned i = 0; i < grid.columns * grid.rows; i++) {
        vector[i].dx += 3.0F * (float)(i % 3);
        vector[i].dy -= 2.0F * (float)(i % 3);
    }
    motion_similarity_fit(&grid, vector, 426, 240, &found);
    assert_false(found.is_sure);

    /* Only a corner is seen, which says little about rotation. */
    make_field(&grid, 426, 240, &none, 0, &seed, vector);
    for (unsigned i = 0; i < grid.columns * grid.rows; i++)
        if (i % grid.columns > 5 || i / grid.columns > 3)
            vector[i].confidence = 0;
    motion_similarity_fit(&grid, vector, 426, 240, &found);
    assert_false(found.is_sure);

    for (unsigned i = 0; i < grid.columns * grid.rows; i++)
        vector[i] = (struct motion_vector){0};
    motion_similarity_fit(&grid, vector, 426, 240, &found);
    assert_false(found.is_sure);
    assert_true(similarity_is_none(&found.moved));
}

static void cuts_and_walls_are_unsure(void **state)
{
    (void)state;
    static float wall[2][192 * 144];
    const struct similarity none = {0};
    const double still[2] = {0, 0};
    struct motion_similarity found;
    struct flow one, other;
    uint64_t seed = 6;
    flow_make_similarity(&one, 192, 144, &none, 0, still, 3, first_seed() + 31);
    flow_make_similarity(&other, 192, 144, &none, 0, still, 3, first_seed() + 32);
    fit_pair(one.last, other.last, 192, 144, &found);
    assert_false(found.is_sure);
    fit_pair(one.last, one.next, 192, 144, &found);
    assert_true(found.is_sure);
    flow_clear(&one);
    flow_clear(&other);
    for (unsigned i = 0; i < 2 * 192 * 144; i++)
        wall[i / (192 * 144)][i % (192 * 144)] = (float)round(120 + 3 * scene_normal(&seed));
    fit_pair(wall[0], wall[1], 192, 144, &found);
    assert_false(found.is_sure);
}

static void similarities_are_joined_and_undone(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (unsigned i = 0; i < 20; i++) {
        const struct similarity a = draw_similarity(&seed), b = draw_similarity(&seed);
        const struct similarity both = similarity_join(&a, &b), back = similarity_inverse(&a);
        double at[2] = {120, -77}, same[2] = {120, -77};
        similarity_move(&a, at);
        similarity_move(&back, at);
        assert_true(hypot(at[0] - 120, at[1] + 77) < 1e-9);
        similarity_move(&a, at);
        similarity_move(&b, at);
        similarity_move(&both, same);
        assert_true(hypot(at[0] - same[0], at[1] - same[1]) < 1e-9);
    }
}

/* A blurred picture may have no vector that is sure, though all of them agree. */
static void doubtful_vectors_that_agree_are_sure(void **state)
{
    struct motion_grid grid;
    struct motion_vector vector[400];
    struct motion_similarity found;
    (void)state;
    assert_int_equal(motion_grid_make(&grid, 320, 212, 32, NULL), 0);
    assert_true(grid.columns * grid.rows <= 400);
    for (unsigned i = 0; i < grid.columns * grid.rows; i++)
        vector[i] = (struct motion_vector){.dx = 1.25F, .dy = -0.5F, .confidence = 0.7F};
    motion_similarity_fit(&grid, vector, 320, 212, &found);
    assert_true(found.is_sure);
    assert_true(fabs(found.moved.dx - 1.25) < 1e-3 && fabs(found.moved.dy + 0.5) < 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubtful_vectors_that_agree_are_sure),
        cmocka_unit_test(rendered_shakes_are_found),
        cmocka_unit_test(a_field_gives_its_similarity),
        cmocka_unit_test(no_majority_is_unsure),
        cmocka_unit_test(cuts_and_walls_are_unsure),
        cmocka_unit_test(similarities_are_joined_and_undone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
