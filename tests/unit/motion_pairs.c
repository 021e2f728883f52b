/* Shifts between random pairs as hard as cameras make them: noise, 8 bits, fractional shifts up to
 * 40 pixels, objects that move otherwise, light that changes, clipping, low light and blur; and
 * pairs that no shift explains, or several do. By default a few small pairs; FFTD_TEST_CLIPS=all
 * runs them all, FFTD_TEST_SEED chooses others, and FFTD_TEST_VERBOSE says what became of each. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/cmocka.h"
#include "support/leaves.h"
#include "support/scene.h"
#include "support/trials.h"

#include "estimators/motion/motion.h"

#define MOST_PAIRS 400u

enum kind {
    PLAIN,
    OBJECT, /* something in a part of the picture moves otherwise */
    LIGHT,  /* brightness and contrast change */
    DIM,
    BRIGHT, /* clipped */
    BLURRED,
    SHIFTED_KINDS,
    ROTATED = SHIFTED_KINDS, /* from here on pairs that must be unsure */
    UNRELATED,
    COVERED,
    PERIODIC, /* a texture that looks the same several pixels on */
    PLAIN_WALL,
    KINDS
};

static const char *const names[KINDS] = {"plain",   "object",   "light",   "dim",
                                         "bright",  "blurred",  "rotated", "unrelated",
                                         "covered", "periodic", "wall"};

struct pair {
    enum kind kind;
    unsigned width, height;
    double dx, dy; /* of the picture's content */
    double angle_deg;
    float *picture[2];
};

static void paint(const struct pair *pair, float *samples, const struct scene *waves,
                  const struct leaves *leaves, const struct leaves_view *view)
{
    if (waves != NULL)
        scene_draw(waves, view->x, view->y, view->angle_rad, pair->width, pair->height, samples);
    else
        for (size_t i = 0; i < (size_t)pair->width * pair->height; i++)
            samples[i] = 128;
    if (leaves != NULL)
        leaves_draw(leaves, view, pair->width, pair->height, samples);
}

/* Bricks or a fabric: the same rectangle again and again, all over the picture. */
static void paint_periodic(const struct pair *pair, float *samples, double x0, double y0,
                           const double period[2], unsigned harmonics)
{
    for (unsigned y = 0; y < pair->height; y++)
        for (unsigned x = 0; x < pair->width; x++) {
            double value = 128;
            for (unsigned k = 1; k <= harmonics; k++)
                value += 40.0 / k *
                         (sin(2 * M_PI * k * (x + x0) / period[0]) +
                          cos(2 * M_PI * k * (y + y0) / period[1] + k));
            samples[(size_t)y * pair->width + x] = (float)value;
        }
}

/* What a camera makes of it. */
static void expose(const struct pair *pair, float *samples, double gain, double offset,
                   double sigma, uint64_t *seed)
{
    for (size_t i = 0; i < (size_t)pair->width * pair->height; i++) {
        const double value = gain * (double)samples[i] + offset + sigma * scene_normal(seed);
        samples[i] = (float)round(fmin(fmax(value, 0), 255));
    }
}

static double between(uint64_t *seed, double from, double to)
{
    return from + (to - from) * scene_uniform(seed);
}

static void make_pair(struct pair *pair, uint64_t seed, bool is_small)
{
    static const unsigned small[][2] = {{160, 120}, {161, 137}, {192, 128}, {201, 151}};
    static const unsigned large[][2] = {{320, 240}, {640, 480}, {321, 243}, {640, 360},
                                        {500, 333}, {160, 120}, {768, 432}, {400, 300}};
    const unsigned which = (unsigned)(scene_uniform(&seed) * (is_small ? 4 : 8));
    *pair = (struct pair){.width = (is_small ? small : large)[which][0],
                          .height = (is_small ? small : large)[which][1]};
    pair->kind = scene_uniform(&seed) < 0.65
                     ? (enum kind)(scene_uniform(&seed) * SHIFTED_KINDS)
                     : (enum kind)(ROTATED + scene_uniform(&seed) * (KINDS - ROTATED));
    const double most = fmin(40, 0.3 * fmin(pair->width, pair->height));
    const double shift = most * pow(scene_uniform(&seed), 1.5);
    const double towards = between(&seed, 0, 2 * M_PI);
    const double sigma = between(&seed, 1, 5);
    const double size = hypot(pair->width, pair->height) + 2 * most;
    const bool has_waves = scene_uniform(&seed) < 0.5,
               has_leaves = !has_waves || scene_uniform(&seed) < 0.5;
    const size_t count = (size_t)pair->width * pair->height;
    struct scene waves[2];
    struct leaves leaves[2], object;
    for (unsigned i = 0; i < 2; i++) {
        scene_make(&waves[i], size, &seed);
        leaves_make(&leaves[i], size, scene_uniform(&seed), &seed);
        if (has_waves && has_leaves)
            leaves[i].count /= 8;
        pair->picture[i] = malloc(count * sizeof *pair->picture[i]);
    }
    const double object_size = fmin(pair->width, pair->height) * between(&seed, 0.3, 0.6);
    leaves_make(&object, object_size, between(&seed, 0.3, 1), &seed);
    double gain[2], offset[2] = {0}, blur = between(&seed, 0, 0.5);
    gain[0] = gain[1] = between(&seed, 0.4, 1);
    double noise = sigma;
    pair->dx = shift * cos(towards);
    pair->dy = shift * sin(towards);
    if (pair->kind == LIGHT) {
        gain[1] *= between(&seed, 0.7, 1.4);
        offset[1] = between(&seed, -15, 15);
    } else if (pair->kind == DIM) {
        gain[0] = gain[1] = between(&seed, 0.06, 0.2);
        noise = between(&seed, 1, 3);
    } else if (pair->kind == BRIGHT) {
        gain[0] = gain[1] = between(&seed, 1.5, 3);
    } else if (pair->kind == BLURRED) {
        blur = between(&seed, 1.5, 5);
    } else if (pair->kind == ROTATED) {
        pair->angle_deg = between(&seed, 0.5, 5) * (scene_uniform(&seed) < 0.5 ? -1 : 1);
        if (scene_uniform(&seed) < 0.5)
            pair->dx = pair->dy = 0;
    }
    const double period[2] = {between(&seed, 5, 30), between(&seed, 5, 30)};
    const unsigned harmonics = 1 + (unsigned)(3 * scene_uniform(&seed));
    const double object_dx = between(&seed, -12, 12), object_dy = between(&seed, -12, 12);
    const double object_x = between(&seed, -0.3, 0.3) * pair->width,
                 object_y = between(&seed, -0.3, 0.3) * pair->height;
    for (unsigned i = 0; i < 2; i++) {
        const struct leaves_view view = {.x = i * -pair->dx,
                                         .y = i * -pair->dy,
                                         .angle_rad = i * pair->angle_deg * M_PI / 180,
                                         .blur_px = blur};
        const unsigned of = pair->kind == UNRELATED ? i : 0;
        struct scene soft = waves[of];
        for (unsigned k = 0; k < SCENE_WAVES; k++)
            soft.amplitude[k] *= exp(-2 * M_PI * M_PI * blur * blur *
                                     (soft.fx[k] * soft.fx[k] + soft.fy[k] * soft.fy[k]));
        if (blur > 1)
            for (unsigned k = 0; k < SCENE_DISCS; k++)
                soft.level[k] = 0; /* their edges are not blurred */
        if (pair->kind == PERIODIC)
            paint_periodic(pair, pair->picture[i], view.x, view.y, period, harmonics);
        else if (pair->kind == PLAIN_WALL || (pair->kind == COVERED && i == 1))
            for (size_t k = 0; k < count; k++)
                pair->picture[i][k] = (float)(100 + 60.0 * (double)(k % pair->width) / pair->width *
                                                        (i + pair->kind == COVERED));
        else
            paint(pair, pair->picture[i], has_waves ? &soft : NULL, has_leaves ? &leaves[of] : NULL,
                  &view);
        if (pair->kind == OBJECT) {
            const struct leaves_view seen = {
                .x = -object_x - i * object_dx, .y = -object_y - i * object_dy, .blur_px = blur};
            leaves_draw(&object, &seen, pair->width, pair->height, pair->picture[i]);
        }
        if (pair->kind == COVERED && i == 1)
            gain[i] = between(&seed, 0, 0.5);
        expose(pair, pair->picture[i], gain[i], offset[i], noise, &seed);
    }
    for (unsigned i = 0; i < 2; i++)
        leaves_clear(&leaves[i]);
    leaves_clear(&object);
}

static int by_size(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

static double seconds_of_this_thread(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct tally {
    unsigned pairs, sure, near, wrong; /* wrong: sure, and more than 0.1 pixels off */
    unsigned unsure_pairs, unsure;
    double error[MOST_PAIRS];
};

static void run_pair(uint64_t seed, struct tally *tally)
{
    struct pair pair;
    struct motion motion;
    struct motion_estimator *m;
    make_pair(&pair, seed, !trials_are_all());
    assert_int_equal(motion_create(&m, pair.width, pair.height, NULL), 0);
    motion_observe(m, pair.picture[0], &motion);
    motion_observe(m, pair.picture[1], &motion);
    motion_destroy(m);
    const double error = hypot(motion.dx - pair.dx, motion.dy - pair.dy);
    if (pair.kind < SHIFTED_KINDS) {
        tally->error[tally->pairs++] = error;
        tally->sure += motion.is_sure;
        tally->near += error < 0.1 && motion.is_sure;
        tally->wrong += motion.is_sure && error >= 0.1;
    } else {
        tally->unsure_pairs++;
        tally->unsure += !motion.is_sure;
    }
    if (getenv("FFTD_TEST_VERBOSE") != NULL)
        printf("# %llu %s %u x %u, %.2f %.2f, %.1f degrees: %.3f %.3f, off by %.4f, confidence "
               "%.3f%s\n",
               (unsigned long long)seed, names[pair.kind], pair.width, pair.height, pair.dx,
               pair.dy, pair.angle_deg, motion.dx, motion.dy, error, motion.confidence,
               motion.is_sure ? ", sure" : "");
    free(pair.picture[0]);
    free(pair.picture[1]);
}

static void random_pairs(void **state)
{
    (void)state;
    static struct tally tally;
    const char *chosen = getenv("FFTD_TEST_SEED");
    const uint64_t first = chosen != NULL ? strtoull(chosen, NULL, 10) : 1000000;
    const unsigned count = trials_count(MOST_PAIRS, 40);
    for (unsigned i = 0; i < count; i++)
        run_pair(first + i, &tally);
    qsort(tally.error, tally.pairs, sizeof *tally.error, by_size);
    if (tally.pairs == 0)
        return;
    printf("# figures: %u pairs that a shift explains: median error %.4f px, %.1f %% within "
           "0.1 px, %u sure, %u of these wrong; %u of %u others unsure\n",
           tally.pairs, tally.error[tally.pairs / 2], 100.0 * tally.near / tally.pairs, tally.sure,
           tally.wrong, tally.unsure, tally.unsure_pairs);
    assert_true(tally.error[tally.pairs / 2] <= (trials_are_all() ? 0.0043 : 0.0120));
    assert_true(tally.near >= (trials_are_all() ? 0.96 : 0.9) * tally.pairs);
    assert_true(tally.wrong <= 0.01 * tally.pairs);
    assert_true(tally.unsure >= 0.98 * tally.unsure_pairs);
}

/* An object moves differently from the scene and has as much detail. Its shift must not be reported
 * as sure. */
static void an_object_is_not_the_scene(void **state)
{
    (void)state;
    struct pair pair;
    struct motion motion;
    struct motion_estimator *m;
    make_pair(&pair, 28116524, false);
    assert_int_equal(pair.kind, OBJECT);
    assert_int_equal(motion_create(&m, pair.width, pair.height, NULL), 0);
    motion_observe(m, pair.picture[0], &motion);
    motion_observe(m, pair.picture[1], &motion);
    assert_true(!motion.is_sure || hypot(motion.dx - pair.dx, motion.dy - pair.dy) < 0.1);
    motion_destroy(m);
    free(pair.picture[0]);
    free(pair.picture[1]);
}

/* Only a figure: the load of the machine decides. */
static void time_is_counted(void **state)
{
    (void)state;
    const unsigned width = 1280, height = 720, rounds = trials_count(15, 1);
    uint64_t seed = 1;
    struct leaves leaves;
    struct motion_estimator *m;
    struct motion motion;
    float *picture[2];
    double best = INFINITY;
    leaves_make(&leaves, 1500, 0.8, &seed);
    assert_int_equal(motion_create(&m, width, height, NULL), 0);
    for (unsigned i = 0; i < 2; i++) {
        const struct leaves_view view = {.x = 3.3 * i, .y = -1.7 * i};
        picture[i] = calloc((size_t)width * height, sizeof *picture[i]);
        leaves_draw(&leaves, &view, width, height, picture[i]);
        for (size_t k = 0; k < (size_t)width * height; k++)
            picture[i][k] += (float)(2 * scene_normal(&seed));
    }
    motion_observe(m, picture[0], &motion);
    for (unsigned i = 0; i < rounds; i++) {
        const double begin = seconds_of_this_thread();
        motion_observe(m, picture[(i + 1) % 2], &motion);
        best = fmin(best, seconds_of_this_thread() - begin);
        assert_true(motion.is_sure);
    }
    printf("# figures: %.2f ms of processor time for 1280x720\n", 1e3 * best);
    motion_destroy(m);
    leaves_clear(&leaves);
    free(picture[0]);
    free(picture[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_pairs),
        cmocka_unit_test(an_object_is_not_the_scene),
        cmocka_unit_test(time_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
