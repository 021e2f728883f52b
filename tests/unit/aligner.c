/* Frames of a stack: how far from the first one those are that drift and turn, and what becomes of
 * cuts, of frames that are blurred, and of frames that show little. FFTD_TEST_CLIPS=all measures
 * more clips, FFTD_TEST_SEED chooses others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/leaves.h"
#include "support/scene.h"
#include "support/trials.h"

#include "estimators/motion/motion_aligner.h"
#include "estimators/stabiliser.h"

#define WIDTH          640
#define HEIGHT         360
#define FRAMES         24
#define SIGMA          10

#define BLURRED_FRAMES 8
#define BLURRED_SIGMA  3

#define MOVING_FRAMES  10

static uint64_t first_seed(void)
{
    const char *seed = getenv("FFTD_TEST_SEED");
    return seed != NULL ? strtoull(seed, NULL, 10) : 9000;
}

static double between(uint64_t *seed, double from, double to)
{
    return from + (to - from) * scene_uniform(seed);
}

/* Draws leaves as a camera sees them that has moved its content so. A place that no leaf covers is
 * grey. */
static void draw_clean(const struct leaves *leaves, const struct similarity *camera, float *ret)
{
    const struct similarity back = similarity_inverse(camera);
    const struct leaves_view view = {
        .x = back.dx, .y = back.dy, .angle_rad = -camera->angle_rad, .blur_px = 0.7};
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        ret[i] = 128;
    leaves_draw(leaves, &view, WIDTH, HEIGHT, ret);
}

static void expose(const float *samples, double sigma, uint64_t *seed, uint8_t *ret)
{
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        ret[i] = (uint8_t)fmin(fmax(rint((double)samples[i] + sigma * scene_normal(seed)), 0), 255);
}

static void draw(const struct leaves *leaves, const struct similarity *camera, uint64_t *seed,
                 uint8_t *ret)
{
    static float samples[WIDTH * HEIGHT];
    draw_clean(leaves, camera, samples);
    expose(samples, SIGMA, seed, ret);
}

/* The mean square over a frame of the distance by which it is beside the first one. */
static double error_of(const struct similarity *camera, const struct similarity *moved)
{
    const struct similarity shown = similarity_join(camera, moved);
    double sum = 0;
    for (int i = -4; i <= 4; i++)
        for (int k = -4; k <= 4; k++) {
            double at[2] = {i / 8. * WIDTH, k / 8. * HEIGHT};
            const double from[2] = {at[0], at[1]};
            similarity_move(&shown, at);
            sum += pow(at[0] - from[0], 2) + pow(at[1] - from[1], 2);
        }
    return sum / 81;
}

static struct stabiliser *create_for(enum stabiliser_model model, unsigned width, unsigned height)
{
    struct stabiliser *stabiliser;
    assert_int_equal(
        stabiliser_create(&stabiliser, model, format_by_name("GREY"), width, height, NULL), 0);
    return stabiliser;
}

static struct stabiliser *create(enum stabiliser_model model)
{
    return create_for(model, WIDTH, HEIGHT);
}

/* Errors do not add up: the last frames are where the first ones are. */
static void drift_and_rotation_are_undone(void **state)
{
    static uint8_t picture[WIDTH * HEIGHT];
    (void)state;
    double all = 0;
    unsigned count = 0;
    for (unsigned clip = 0; clip < trials_count(6, 1); clip++) {
        uint64_t seed = first_seed() + clip;
        struct leaves leaves;
        struct stabiliser *stabiliser = create(STABILISER_REFERENCE);
        const double speed[3] = {between(&seed, -1.5, 1.5), between(&seed, -1.5, 1.5),
                                 between(&seed, -0.2, 0.2) * M_PI / 180};
        double sum = 0, most = 0, last = 0;
        leaves_make(&leaves, 2 * WIDTH, 0.5, &seed);
        for (unsigned i = 0; i < FRAMES; i++) {
            const double jitter = i == 0 ? 0 : 1;
            const struct similarity camera = {.dx = i * speed[0] + jitter * scene_normal(&seed),
                                              .dy = i * speed[1] + jitter * scene_normal(&seed),
                                              .angle_rad = i * speed[2] +
                                                           jitter * 0.002 * scene_normal(&seed)};
            struct similarity moved;
            draw(&leaves, &camera, &seed, picture);
            const enum stack_place place = stabiliser_align(stabiliser, picture, WIDTH, &moved);
            assert_int_equal(place, i == 0 ? STACK_BEGINS : STACK_JOINS);
            last = error_of(&camera, &moved);
            sum += last;
            most = fmax(most, last);
        }
        printf("# figures: clip %u: %d frames, noise of sigma %d: rms distance from the first one "
               "%.4f px, at most %.4f px, the last one %.4f px\n",
               clip, FRAMES, SIGMA, sqrt(sum / (FRAMES - 1)), sqrt(most), sqrt(last));
        all += sum;
        count += FRAMES - 1;
        leaves_clear(&leaves);
        stabiliser_destroy(stabiliser);
    }
    printf("# figures: rms distance of all clips %.4f px\n", sqrt(all / count));
    assert_true(sqrt(all / count) <= 0.05);
}

/* Pixels that have nothing in common with those beside them, moved by whole pixels: of means of
 * 2 x 2 of them, an odd step would leave little. */
static void frames_of_256_pixels_are_seen_whole(void **state)
{
    enum { SIDE = 256, STEPS = 4 };
    static float scene[SIDE + STEPS][SIDE + STEPS];
    static uint8_t picture[SIDE * SIDE];
    (void)state;
    uint64_t seed = first_seed() + 70;
    double sum = 0;
    struct stabiliser *stabiliser = create_for(STABILISER_REFERENCE, SIDE, SIDE);
    for (unsigned i = 0; i < (SIDE + STEPS) * (SIDE + STEPS); i++)
        scene[i / (SIDE + STEPS)][i % (SIDE + STEPS)] = (float)(128 + 20 * scene_normal(&seed));
    for (unsigned step = 0; step < STEPS; step++) {
        struct similarity moved;
        for (unsigned i = 0; i < SIDE * SIDE; i++)
            picture[i] =
                (uint8_t)fmin(fmax(rint((double)scene[i / SIDE + step][i % SIDE]), 0), 255);
        assert_int_equal(stabiliser_align(stabiliser, picture, SIDE, &moved),
                         step == 0 ? STACK_BEGINS : STACK_JOINS);
        sum += pow(moved.dx, 2) + pow(moved.dy - step, 2);
    }
    stabiliser_destroy(stabiliser);
    printf("# figures: %d pixels: rms distance %.4f px\n", SIDE, sqrt(sum / (STEPS - 1)));
    assert_true(sqrt(sum / (STEPS - 1)) <= 0.002);
}

/* Frames of another scene are left out, until a new stack begins with one; a frame of the old scene
 * between them joins the old stack. */
static void cuts_begin_a_new_stack(void **state)
{
    static uint8_t picture[2][WIDTH * HEIGHT];
    (void)state;
    uint64_t seed = first_seed() + 50;
    const struct similarity still = {.dx = 0};
    struct similarity moved;
    struct stabiliser *stabiliser = create(STABILISER_REFERENCE);
    for (unsigned i = 0; i < 2; i++) {
        struct leaves leaves;
        leaves_make(&leaves, 2 * WIDTH, 0.5, &seed);
        draw(&leaves, &still, &seed, picture[i]);
        leaves_clear(&leaves);
    }
    assert_int_equal(stabiliser_align(stabiliser, picture[0], WIDTH, &moved), STACK_BEGINS);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(stabiliser_align(stabiliser, picture[1], WIDTH, &moved), STACK_LEFT_OUT);
    assert_int_equal(stabiliser_align(stabiliser, picture[0], WIDTH, &moved), STACK_JOINS);
    for (unsigned i = 0; i < ALIGNER_MAX_LEFT_OUT; i++)
        assert_int_equal(stabiliser_align(stabiliser, picture[1], WIDTH, &moved), STACK_LEFT_OUT);
    assert_int_equal(stabiliser_align(stabiliser, picture[1], WIDTH, &moved), STACK_BEGINS);
    assert_int_equal(stabiliser_align(stabiliser, picture[1], WIDTH, &moved), STACK_JOINS);
    stabiliser_reset(stabiliser);
    assert_int_equal(stabiliser_align(stabiliser, picture[1], WIDTH, &moved), STACK_BEGINS);
    stabiliser_destroy(stabiliser);
}

/* Draws leaves as they are on average while a camera moves its content by `path`, in pixels, about
 * where it is. */
static void draw_shaken(const struct leaves *leaves, const struct similarity *camera,
                        const double path[2], uint64_t *seed, uint8_t *ret)
{
    enum { STEPS = 13 };
    static float samples[WIDTH * HEIGHT], sum[WIDTH * HEIGHT];
    memset(sum, 0, sizeof sum);
    for (int i = 0; i < STEPS; i++) {
        const double part = (double)i / (STEPS - 1) - 0.5;
        const struct similarity there = {.dx = camera->dx + part * path[0],
                                         .dy = camera->dy + part * path[1],
                                         .angle_rad = camera->angle_rad};
        draw_clean(leaves, &there, samples);
        for (unsigned k = 0; k < WIDTH * HEIGHT; k++)
            sum[k] += samples[k] / STEPS;
    }
    expose(sum, BLURRED_SIGMA, seed, ret);
}

/* Each frame is blurred along another path. None is left out, and blurs move nothing. */
static void blurred_frames_are_where_the_sharp_ones_were(void **state)
{
    static uint8_t picture[WIDTH * HEIGHT];
    (void)state;
    double sum = 0, most = 0;
    unsigned count = 0;
    for (unsigned clip = 0; clip < trials_count(6, 1); clip++) {
        uint64_t seed = first_seed() + 100 + clip;
        struct leaves leaves;
        struct stabiliser *stabiliser = create(STABILISER_BURST);
        leaves_make(&leaves, 2 * WIDTH, 0.5, &seed);
        for (unsigned i = 0; i < BLURRED_FRAMES; i++) {
            const double jitter = i == 0 ? 0 : 1;
            const double length = between(&seed, 3, 12), angle = between(&seed, 0, M_PI);
            const double path[2] = {length * cos(angle), length * sin(angle)};
            const struct similarity camera = {.dx = i * 0.6 + jitter * scene_normal(&seed),
                                              .dy = -0.4 * i + jitter * scene_normal(&seed),
                                              .angle_rad = jitter * 0.002 * scene_normal(&seed)};
            struct similarity moved;
            draw_shaken(&leaves, &camera, path, &seed, picture);
            assert_int_equal(stabiliser_align(stabiliser, picture, WIDTH, &moved),
                             i == 0 ? STACK_BEGINS : STACK_JOINS);
            sum += error_of(&camera, &moved);
            most = fmax(most, error_of(&camera, &moved));
            count += i > 0;
        }
        leaves_clear(&leaves);
        stabiliser_destroy(stabiliser);
    }
    printf("# figures: frames blurred by 3 to 12 px: rms distance from the first one %.4f px, at "
           "most %.4f px\n",
           sqrt(sum / count), sqrt(most));
    assert_true(sqrt(sum / count) <= 0.05);
}

/* A sixth of the picture moves otherwise. */
static void what_moves_otherwise_does_not_count(void **state)
{
    static float samples[WIDTH * HEIGHT], object[WIDTH * HEIGHT];
    static uint8_t picture[WIDTH * HEIGHT];
    (void)state;
    uint64_t seed = first_seed() + 200;
    struct leaves leaves[2];
    double sum = 0;
    struct stabiliser *stabiliser = create(STABILISER_REFERENCE);
    for (unsigned i = 0; i < 2; i++)
        leaves_make(&leaves[i], 2 * WIDTH, 0.5, &seed);
    for (int i = 0; i < MOVING_FRAMES; i++) {
        const struct similarity camera = {.dx = 0.7 * i, .dy = -0.3 * i};
        const struct similarity other = {.dx = -2 * i, .dy = 1.5 * i};
        struct similarity moved;
        draw_clean(&leaves[0], &camera, samples);
        draw_clean(&leaves[1], &other, object);
        for (int y = 0; y < HEIGHT / 2; y++)
            memcpy(&samples[(100 + y + (int)other.dy) * WIDTH + 200 + (int)other.dx],
                   &object[(100 + y + (int)other.dy) * WIDTH + 200 + (int)other.dx],
                   WIDTH / 3 * sizeof *samples);
        expose(samples, BLURRED_SIGMA, &seed, picture);
        assert_int_equal(stabiliser_align(stabiliser, picture, WIDTH, &moved),
                         i == 0 ? STACK_BEGINS : STACK_JOINS);
        sum += error_of(&camera, &moved);
    }
    printf("# figures: a sixth moves otherwise: rms distance from the first frame %.4f px\n",
           sqrt(sum / (MOVING_FRAMES - 1)));
    assert_true(sqrt(sum / (MOVING_FRAMES - 1)) <= 0.05);
    for (unsigned i = 0; i < 2; i++)
        leaves_clear(&leaves[i]);
    stabiliser_destroy(stabiliser);
}

/* Draws spots on a wall, with little noise. */
static void draw_spots(const double (*at)[2], unsigned count, uint64_t *seed, uint8_t *ret)
{
    static float samples[WIDTH * HEIGHT];
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++) {
            double sample = 60;
            for (unsigned k = 0; k < count; k++)
                sample += 120 * exp(-(pow(x - at[k][0], 2) + pow(y - at[k][1], 2)) / 50);
            samples[y * WIDTH + x] = (float)sample;
        }
    expose(samples, 1, seed, ret);
}

/* A few vectors of three spots are too few to be sure, unless nearly all of them agree. */
static void few_vectors_have_to_agree(void **state)
{
    static const double before[3][2] = {{72, 72}, {552, 72}, {552, 264}};
    static const double together[3][2] = {{74, 73}, {554, 73}, {554, 265}};
    static const double apart[3][2] = {{74, 73}, {554, 73}, {549, 261}};
    static uint8_t picture[WIDTH * HEIGHT];
    (void)state;
    uint64_t seed = 9250;
    const struct similarity camera = {.dx = 2, .dy = 1};
    struct similarity moved;
    struct stabiliser *stabiliser = create(STABILISER_REFERENCE);
    draw_spots(before, 3, &seed, picture);
    assert_int_equal(stabiliser_align(stabiliser, picture, WIDTH, &moved), STACK_BEGINS);
    draw_spots(apart, 3, &seed, picture);
    assert_int_equal(stabiliser_align(stabiliser, picture, WIDTH, &moved), STACK_LEFT_OUT);
    draw_spots(together, 3, &seed, picture);
    assert_int_equal(stabiliser_align(stabiliser, picture, WIDTH, &moved), STACK_JOINS);
    assert_true(error_of(&camera, &moved) <= 0.1 * 0.1);
    stabiliser_destroy(stabiliser);
}

/* A blurred frame joins; another scene and a wall do not. */
static void only_frames_of_the_scene_are_in_a_burst(void **state)
{
    static uint8_t picture[WIDTH * HEIGHT];
    (void)state;
    const struct similarity still = {.dx = 0};
    const double along[2] = {12, 0}, across[2] = {0, 12};
    struct stabiliser *stabiliser = create(STABILISER_BURST);
    struct similarity moved;
    struct leaves leaves[2];
    uint64_t seed = first_seed() + 150;
    for (unsigned i = 0; i < 2; i++)
        leaves_make(&leaves[i], 2 * WIDTH, 0.5, &seed);
    draw_shaken(&leaves[0], &still, along, &seed, picture);
    assert_int_equal(stabiliser_align(stabiliser, picture, WIDTH, &moved), STACK_BEGINS);
    draw_shaken(&leaves[1], &still, across, &seed, picture);
    assert_int_equal(stabiliser_align(stabiliser, picture, WIDTH, &moved), STACK_LEFT_OUT);
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        picture[i] = (uint8_t)rint(fmin(fmax(128 + SIGMA * scene_normal(&seed), 0), 255));
    assert_int_equal(stabiliser_align(stabiliser, picture, WIDTH, &moved), STACK_LEFT_OUT);
    draw_shaken(&leaves[0], &still, across, &seed, picture);
    assert_int_equal(stabiliser_align(stabiliser, picture, WIDTH, &moved), STACK_JOINS);
    assert_true(error_of(&still, &moved) <= 0.1 * 0.1);
    leaves_clear(&leaves[0]);
    leaves_clear(&leaves[1]);
    stabiliser_destroy(stabiliser);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drift_and_rotation_are_undone),
        cmocka_unit_test(frames_of_256_pixels_are_seen_whole),
        cmocka_unit_test(cuts_begin_a_new_stack),
        cmocka_unit_test(blurred_frames_are_where_the_sharp_ones_were),
        cmocka_unit_test(what_moves_otherwise_does_not_count),
        cmocka_unit_test(few_vectors_have_to_agree),
        cmocka_unit_test(only_frames_of_the_scene_are_in_a_burst),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
