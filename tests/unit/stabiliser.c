/* Frames of a scene whose path is known to the last digit: how much of the shake is left, what
 * becomes of a pan, a cut and a rotation, and what is refused. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/cmocka.h"
#include "support/scene.h"
#include "support/trials.h"

#include "estimators/stabiliser.h"

#define WIDTH   160
#define HEIGHT  136
#define FRAMES  75
#define FPS     25
#define SETTLED 25 /* frames after which the filter has settled: twice the time constant */

static const struct stabiliser_options common = {.time_s = 0.5, .limit_px = 16};

/* A picture with noise, rounded to bytes. */
static void draw(const struct scene *scene, double x, double y, double angle_rad, uint64_t *seed,
                 uint8_t *ret)
{
    static float samples[WIDTH * HEIGHT];
    scene_draw(scene, x, y, angle_rad, WIDTH, HEIGHT, samples);
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        ret[i] = (uint8_t)fmin(fmax(rint(samples[i] + 2 * scene_normal(seed)), 0), 255);
}

static struct stabiliser *create(void)
{
    struct stabiliser *stabiliser;
    struct error why;
    if (stabiliser_create(&stabiliser, format_by_name("GREY"), WIDTH, HEIGHT, &why) < 0)
        fail_msg("%s", why.text);
    return stabiliser;
}

static void observe(struct stabiliser *stabiliser, const struct stabiliser_options *options,
                    const uint8_t *picture, unsigned frame, double ret[2])
{
    stabiliser_observe(stabiliser, options, picture, WIDTH, 1 + (int64_t)frame * 1000000000 / FPS,
                       ret);
}

/* The root of the mean square, after the filter has settled, of the motion from frame to frame that
 * is not that of the pan. */
static double shake_of(double path[FRAMES][2], const double pan[2])
{
    double sum = 0;
    for (unsigned i = SETTLED + 1; i < FRAMES; i++)
        for (unsigned axis = 0; axis < 2; axis++)
            sum += pow(path[i][axis] - path[i - 1][axis] - pan[axis], 2);
    return sqrt(sum / (FRAMES - SETTLED - 1));
}

/* Three waves of 2 to 9 Hz and noise along each axis, about 2 pixels. */
static void draw_shake(double path[FRAMES][2], const double pan[2], uint64_t *seed)
{
    for (unsigned axis = 0; axis < 2; axis++) {
        double hz[3], phase[3];
        for (unsigned wave = 0; wave < 3; wave++) {
            hz[wave] = 2 + 7 * scene_uniform(seed);
            phase[wave] = 2 * M_PI * scene_uniform(seed);
        }
        for (unsigned i = 0; i < FRAMES; i++) {
            path[i][axis] = pan[axis] * i + 0.5 * scene_normal(seed);
            for (unsigned wave = 0; wave < 3; wave++)
                path[i][axis] += 1.2 * sin(2 * M_PI * hz[wave] * i / FPS + phase[wave]);
        }
    }
}

static void shake_is_removed_and_a_pan_is_kept(void **state)
{
    static const double pans[][2] = {{0, 0}, {0.8, -0.3}};
    static uint8_t picture[WIDTH * HEIGHT];
    (void)state;
    for (unsigned p = 0; p < trials_count(2, 2); p++) {
        uint64_t seed = 77 + p;
        struct scene scene;
        double path[FRAMES][2], shown[FRAMES][2], shift[2], most = 0;
        struct stabiliser *stabiliser = create();
        scene_make(&scene, 2 * WIDTH, &seed);
        draw_shake(path, pans[p], &seed);
        for (unsigned i = 0; i < FRAMES; i++) {
            draw(&scene, -path[i][0], -path[i][1], 0, &seed, picture);
            observe(stabiliser, &common, picture, i, shift);
            for (unsigned axis = 0; axis < 2; axis++) {
                shown[i][axis] = path[i][axis] + shift[axis];
                if (i > SETTLED)
                    most = fmax(most, fabs(shift[axis]));
            }
        }
        const double before = shake_of(path, pans[p]), after = shake_of(shown, pans[p]);
        printf("# figures: pan of %g, %g pixels a frame: motion from frame to frame %.2f px before "
               "and %.2f px after, moved by at most %.1f px\n",
               pans[p][0], pans[p][1], before, after, most);
        assert_true(after < before / 5);
        assert_true(most < 8); /* a pan does not use up the limit */
        stabiliser_destroy(stabiliser);
    }
}

/* What a frame is moved by changes by less than a pixel across a cut, and across a rotation, and
 * goes back to 0. */
static void unsure_motion_makes_no_jump(void **state)
{
    static uint8_t picture[WIDTH * HEIGHT];
    (void)state;
    for (unsigned turns = 0; turns < trials_count(2, 2); turns++) {
        uint64_t seed = 5;
        struct scene scene[2];
        double path[FRAMES][2], shift[2], last[2] = {0}, distance = 0;
        struct stabiliser *stabiliser = create();
        scene_make(&scene[0], 2 * WIDTH, &seed);
        scene_make(&scene[1], 2 * WIDTH, &seed);
        draw_shake(path, (double[2]){0, 0}, &seed);
        for (unsigned i = 0; i < FRAMES; i++) {
            /* Other scenes, or turns of 10 degrees, from one frame to the next. */
            const unsigned changes = i < 30 ? 0 : i - 29;
            draw(&scene[turns ? 0 : changes % 2], -path[i][0], -path[i][1],
                 turns ? changes * 10 * M_PI / 180 : 0, &seed, picture);
            observe(stabiliser, &common, picture, i, shift);
            if (i >= 30)
                assert_true(fabs(shift[0] - last[0]) < 1 && fabs(shift[1] - last[1]) < 1);
            last[0] = shift[0];
            last[1] = shift[1];
            distance = hypot(shift[0], shift[1]);
        }
        assert_true(distance < 0.3); /* exp(-1.8 s / 0.5 s) of some pixels */
        stabiliser_destroy(stabiliser);
    }
}

static void frames_move_no_further_than_the_limit(void **state)
{
    static uint8_t picture[WIDTH * HEIGHT];
    const struct stabiliser_options options = {.time_s = 5, .limit_px = 3};
    uint64_t seed = 9;
    struct scene scene;
    double shift[2], most = 0;
    (void)state;
    struct stabiliser *stabiliser = create();
    scene_make(&scene, 2 * WIDTH, &seed);
    for (unsigned i = 0; i < 20; i++) {
        draw(&scene, -2. * i, 1. * i, 0, &seed, picture);
        observe(stabiliser, &options, picture, i, shift);
        most = fmax(most, fmax(fabs(shift[0]), fabs(shift[1])));
    }
    assert_true(most <= 3 && most > 2.9);
    observe(stabiliser, &options, picture, 20 + 2 * FPS, shift); /* after two seconds */
    assert_true(shift[0] == 0 && shift[1] == 0);
    stabiliser_destroy(stabiliser);
}

/* The motion is that of the pixels of the frame, though the picture is reduced by 2. */
static void large_frames_are_reduced(void **state)
{
    enum { SCALE = 2, LARGE = 288 };
    static float samples[LARGE * LARGE];
    static uint8_t rows[LARGE * LARGE * 2];
    uint64_t seed = 3;
    struct scene scene;
    struct stabiliser *stabiliser;
    double shift[2];
    (void)state;
    scene_make(&scene, 2 * LARGE, &seed);
    assert_int_equal(stabiliser_create(&stabiliser, format_by_name("YUYV"), LARGE, LARGE, NULL), 0);
    for (unsigned i = 0; i < 2; i++) {
        scene_draw(&scene, -4.5 * i, 2.25 * i, 0, LARGE, LARGE, samples);
        for (unsigned p = 0; p < LARGE * LARGE; p++)
            rows[2 * p] = (uint8_t)rintf(samples[p]);
        stabiliser_observe(stabiliser, &common, rows, 2 * LARGE, 1 + (int64_t)i * 40000000, shift);
    }
    const double kept = exp(-2 * 0.04 / common.time_s); /* of an error, after one frame */
    assert_true(fabs(shift[0] + kept * 4.5) < 0.1 && fabs(shift[1] - kept * 2.25) < 0.1);
    stabiliser_destroy(stabiliser);
}

static void small_frames_are_refused(void **state)
{
    struct stabiliser *stabiliser = NULL;
    struct error why = {""};
    (void)state;
    assert_int_equal(stabiliser_create(&stabiliser, format_by_name("GREY"), 640, 12, &why),
                     -EINVAL);
    assert_null(stabiliser);
    assert_true(why.text[0] != '\0');
    stabiliser_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shake_is_removed_and_a_pan_is_kept),
        cmocka_unit_test(unsure_motion_makes_no_jump),
        cmocka_unit_test(frames_move_no_further_than_the_limit),
        cmocka_unit_test(large_frames_are_reduced),
        cmocka_unit_test(small_frames_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
