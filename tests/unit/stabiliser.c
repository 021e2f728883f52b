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
static const struct stabiliser_options similar = {
    .model = STABILISER_SIMILARITY, .time_s = 0.5, .limit_px = 16};

/* A picture with noise, rounded to bytes. */
static void draw(const struct scene *scene, double x, double y, double angle_rad, uint64_t *seed,
                 uint8_t *ret)
{
    static float samples[WIDTH * HEIGHT];
    scene_draw(scene, x, y, angle_rad, WIDTH, HEIGHT, samples);
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        ret[i] = (uint8_t)fmin(fmax(rint(samples[i] + 2 * scene_normal(seed)), 0), 255);
}

static struct stabiliser *create(enum stabiliser_model model, unsigned width, unsigned height)
{
    struct stabiliser *stabiliser;
    struct error why;
    if (stabiliser_create(&stabiliser, model, format_by_name("GREY"), width, height, &why) < 0)
        fail_msg("%s", why.text);
    return stabiliser;
}

static void observe(struct stabiliser *stabiliser, const struct stabiliser_options *options,
                    const uint8_t *picture, unsigned frame, struct similarity *ret)
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
        double path[FRAMES][2], shown[FRAMES][2], most = 0;
        struct similarity moved;
        struct stabiliser *stabiliser = create(STABILISER_SHIFT, WIDTH, HEIGHT);
        scene_make(&scene, 2 * WIDTH, &seed);
        draw_shake(path, pans[p], &seed);
        for (unsigned i = 0; i < FRAMES; i++) {
            draw(&scene, -path[i][0], -path[i][1], 0, &seed, picture);
            observe(stabiliser, &common, picture, i, &moved);
            const double shift[2] = {moved.dx, moved.dy};
            assert_true(moved.angle_rad == 0 && moved.log_zoom == 0);
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
        double path[FRAMES][2], distance = 0;
        struct similarity moved, last = {.dx = 0};
        struct stabiliser *stabiliser = create(STABILISER_SHIFT, WIDTH, HEIGHT);
        scene_make(&scene[0], 2 * WIDTH, &seed);
        scene_make(&scene[1], 2 * WIDTH, &seed);
        draw_shake(path, (double[2]){0, 0}, &seed);
        for (unsigned i = 0; i < FRAMES; i++) {
            /* Other scenes, or turns of 10 degrees, from one frame to the next. */
            const unsigned changes = i < 30 ? 0 : i - 29;
            draw(&scene[turns ? 0 : changes % 2], -path[i][0], -path[i][1],
                 turns ? changes * 10 * M_PI / 180 : 0, &seed, picture);
            observe(stabiliser, &common, picture, i, &moved);
            if (i >= 30)
                assert_true(fabs(moved.dx - last.dx) < 1 && fabs(moved.dy - last.dy) < 1);
            last = moved;
            distance = hypot(moved.dx, moved.dy);
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
    double most = 0;
    struct similarity moved;
    (void)state;
    struct stabiliser *stabiliser = create(STABILISER_SHIFT, WIDTH, HEIGHT);
    scene_make(&scene, 2 * WIDTH, &seed);
    for (unsigned i = 0; i < 20; i++) {
        draw(&scene, -2. * i, 1. * i, 0, &seed, picture);
        observe(stabiliser, &options, picture, i, &moved);
        most = fmax(most, fmax(fabs(moved.dx), fabs(moved.dy)));
    }
    assert_true(most <= 3 && most > 2.9);
    observe(stabiliser, &options, picture, 20 + 2 * FPS, &moved); /* after two seconds */
    assert_true(similarity_is_none(&moved));
    stabiliser_destroy(stabiliser);
}

/* The motion is that of the pixels of the frame, though the picture is reduced by 2. */
static void large_frames_are_reduced(void **state)
{
    enum { SCALE = 2, LARGE = 289 }; /* the last row and column are not in the reduced picture */
    static const struct stabiliser_options *const options[] = {&common, &similar};
    static float samples[LARGE * LARGE];
    static uint8_t rows[LARGE * LARGE * 2];
    uint64_t seed = 3;
    struct scene scene;
    (void)state;
    scene_make(&scene, 2 * LARGE, &seed);
    for (unsigned model = 0; model < 2; model++) {
        struct stabiliser *stabiliser;
        struct similarity moved;
        const double angle_rad = model == STABILISER_SIMILARITY ? 0.01 : 0;
        assert_int_equal(
            stabiliser_create(&stabiliser, model, format_by_name("YUYV"), LARGE, LARGE, NULL), 0);
        for (unsigned i = 0; i < 2; i++) {
            scene_draw(&scene, -4.5 * i, 2.25 * i, -angle_rad * i, LARGE, LARGE, samples);
            for (unsigned p = 0; p < LARGE * LARGE; p++)
                rows[2 * p] = (uint8_t)rintf(samples[p]);
            stabiliser_observe(stabiliser, options[model], rows, 2 * LARGE,
                               1 + (int64_t)i * 40000000, &moved);
        }
        /* The scene's middle is at its place, turned with it. */
        struct similarity camera = {.angle_rad = angle_rad};
        double shift[2] = {4.5, -2.25};
        similarity_move(&camera, shift);
        camera.dx = shift[0];
        camera.dy = shift[1];
        const struct similarity back = similarity_inverse(&camera);
        const double kept = exp(-2 * 0.04 / common.time_s); /* of an error, after one frame */
        assert_true(fabs(moved.dx - kept * back.dx) < 0.1 && fabs(moved.dy - kept * back.dy) < 0.1);
        assert_true(fabs(moved.angle_rad - kept * back.angle_rad) < 2e-4);
        stabiliser_destroy(stabiliser);
    }
}

#define WIDE 256
#define HIGH 192

/* Draws a scene as a camera sees it that has moved its content so, behind a thing that covers a
 * third of the picture and shows another scene, which moves otherwise. */
static void draw_behind(const struct scene *scene, const struct scene *thing,
                        const struct similarity *camera, const double at[2], uint64_t *seed,
                        uint8_t *ret)
{
    static float samples[WIDE * HIGH], before[WIDE * HIGH];
    const struct similarity back = similarity_inverse(camera);
    scene_draw(scene, back.dx, back.dy, -camera->angle_rad, WIDE, HIGH, samples);
    scene_draw(thing, -at[0], -at[1], 0, WIDE, HIGH, before);
    for (unsigned i = 0; i < WIDE * HIGH; i++) {
        const unsigned column = i % WIDE, row = i / WIDE;
        const double x = column - at[0], y = row - at[1];
        const bool is_thing = x > 40 && x < 40 + 0.6 * WIDE && y > 30 && y < 30 + 0.55 * HIGH;
        const double level = (double)(is_thing ? before[i] : samples[i]);
        ret[i] = (uint8_t)fmin(fmax(rint(level + 2 * scene_normal(seed)), 0), 255);
    }
}

/* How much the camera shakes in what is shown, from frame to frame: pixels and degrees, rms. */
static void add_motion(const struct similarity *last, const struct similarity *next, double ret[2])
{
    const struct similarity back = similarity_inverse(last);
    const struct similarity moved = similarity_join(&back, next);
    ret[0] += moved.dx * moved.dx + moved.dy * moved.dy;
    ret[1] += pow(moved.angle_rad * 180 / M_PI, 2);
}

/* With a time constant so long that the smooth path has nothing of the shake: what is left is the
 * error of the measurement. */
static void rotation_is_removed_behind_a_moving_thing(void **state)
{
    static uint8_t picture[WIDE * HIGH];
    const struct stabiliser_options options = {
        .model = STABILISER_SIMILARITY, .time_s = 10, .limit_px = 64};
    (void)state;
    for (unsigned t = 0; t < trials_count(8, 2); t++) {
        uint64_t seed = 1200 + t;
        struct scene scene, thing;
        double path[FRAMES][2], turns[FRAMES][2], before[2] = {0}, after[2] = {0};
        struct stabiliser *stabiliser = create(STABILISER_SIMILARITY, WIDE, HIGH);
        struct similarity last[2] = {{.dx = 0}};
        scene_make(&scene, 2 * WIDE, &seed);
        scene_make(&thing, 2 * WIDE, &seed);
        draw_shake(path, (double[2]){0, 0}, &seed);
        draw_shake(turns, (double[2]){0, 0}, &seed);
        for (unsigned i = 0; i < FRAMES; i++) {
            const double at[2] = {0.3 * i - 20, 5 * sin(0.3 * i)};
            const struct similarity camera = {
                .dx = path[i][0], .dy = path[i][1], .angle_rad = 0.3 * turns[i][0] * M_PI / 180};
            struct similarity moved;
            draw_behind(&scene, &thing, &camera, at, &seed, picture);
            stabiliser_observe(stabiliser, &options, picture, WIDE,
                               1 + (int64_t)i * 1000000000 / FPS, &moved);
            const struct similarity shown = similarity_join(&camera, &moved);
            if (i > SETTLED) {
                add_motion(&last[0], &camera, before);
                add_motion(&last[1], &shown, after);
            }
            last[0] = camera;
            last[1] = shown;
        }
        for (unsigned i = 0; i < 2; i++) {
            before[i] = sqrt(before[i] / (FRAMES - SETTLED - 1));
            after[i] = sqrt(after[i] / (FRAMES - SETTLED - 1));
        }
        printf("# figures: a thing in a third of the picture: motion from frame to frame %.2f px "
               "and %.3f degrees before, %.3f px and %.4f degrees after\n",
               before[0], before[1], after[0], after[1]);
        assert_true(before[0] > 1 && before[1] > 0.2);
        assert_true(after[0] <= 0.1 && after[1] <= 0.02);
        stabiliser_destroy(stabiliser);
    }
}

/* A camera that turns steadily goes on turning; one that has turned too far is followed. */
static void steady_turns_are_kept_and_limited(void **state)
{
    static uint8_t picture[WIDTH * HEIGHT];
    uint64_t seed = 21;
    struct scene scene;
    struct similarity moved = {.dx = 0};
    const double radius = 0.5 * hypot(WIDTH, HEIGHT);
    double most = 0;
    (void)state;
    scene_make(&scene, 2 * WIDTH, &seed);
    for (unsigned limited = 0; limited < 2; limited++) {
        struct stabiliser *stabiliser = create(STABILISER_SIMILARITY, WIDTH, HEIGHT);
        const struct stabiliser_options options = {.model = STABILISER_SIMILARITY,
                                                   .time_s = limited ? 5 : 0.2,
                                                   .limit_px = limited ? 2 : 16};
        for (unsigned i = 0; i < 40; i++) {
            draw(&scene, 0, 0, -0.01 * i, &seed, picture);
            observe(stabiliser, &options, picture, i, &moved);
            most = fmax(most, fabs(moved.angle_rad) * radius);
        }
        if (!limited)
            assert_true(fabs(moved.angle_rad) < 0.002); /* of 0.4, at the end */
        most = limited ? most : 0;
        stabiliser_destroy(stabiliser);
    }
    assert_true(most <= 2.001 && most > 1.9);
}

static void small_frames_are_refused(void **state)
{
    struct stabiliser *stabiliser = NULL;
    struct error why = {""};
    (void)state;
    for (unsigned model = 0; model < 2; model++) {
        why.text[0] = '\0';
        assert_int_equal(
            stabiliser_create(&stabiliser, model, format_by_name("GREY"), 640, 12, &why), -EINVAL);
        assert_null(stabiliser);
        assert_true(why.text[0] != '\0');
    }
    stabiliser_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shake_is_removed_and_a_pan_is_kept),
        cmocka_unit_test(unsure_motion_makes_no_jump),
        cmocka_unit_test(frames_move_no_further_than_the_limit),
        cmocka_unit_test(large_frames_are_reduced),
        cmocka_unit_test(rotation_is_removed_behind_a_moving_thing),
        cmocka_unit_test(steady_turns_are_kept_and_limited),
        cmocka_unit_test(small_frames_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
