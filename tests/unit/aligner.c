/* Frames of a stack: how far from the first one those are that drift and turn, and what becomes of
 * cuts and of frames that show nothing. FFTD_TEST_CLIPS=all measures more clips, FFTD_TEST_SEED
 * chooses others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/cmocka.h"
#include "support/leaves.h"
#include "support/scene.h"
#include "support/trials.h"

#include "estimators/motion/motion_aligner.h"
#include "estimators/stabiliser.h"

#define WIDTH  640
#define HEIGHT 360
#define FRAMES 24
#define SIGMA  10

static uint64_t first_seed(void)
{
    const char *seed = getenv("FFTD_TEST_SEED");
    return seed != NULL ? strtoull(seed, NULL, 10) : 9000;
}

static double between(uint64_t *seed, double from, double to)
{
    return from + (to - from) * scene_uniform(seed);
}

/* Draws leaves as a camera sees them that has moved its content so, with noise. */
static void draw(const struct leaves *leaves, const struct similarity *camera, uint64_t *seed,
                 uint8_t *ret)
{
    static float samples[WIDTH * HEIGHT];
    const struct similarity back = similarity_inverse(camera);
    const struct leaves_view view = {
        .x = back.dx, .y = back.dy, .angle_rad = -camera->angle_rad, .blur_px = 0.7};
    leaves_draw(leaves, &view, WIDTH, HEIGHT, samples);
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        ret[i] = (uint8_t)fmin(fmax(rint((double)samples[i] + SIGMA * scene_normal(seed)), 0), 255);
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

static struct stabiliser *create(void)
{
    struct stabiliser *stabiliser;
    assert_int_equal(stabiliser_create(&stabiliser, STABILISER_REFERENCE, format_by_name("GREY"),
                                       WIDTH, HEIGHT, NULL),
                     0);
    return stabiliser;
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
        struct stabiliser *stabiliser = create();
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

/* Frames of another scene are left out, until a new stack begins with one; a frame of the old scene
 * between them joins the old stack. */
static void cuts_begin_a_new_stack(void **state)
{
    static uint8_t picture[2][WIDTH * HEIGHT];
    (void)state;
    uint64_t seed = first_seed() + 50;
    const struct similarity still = {.dx = 0};
    struct similarity moved;
    struct stabiliser *stabiliser = create();
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drift_and_rotation_are_undone),
        cmocka_unit_test(cuts_begin_a_new_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
