/* Shifts between pictures of scenes whose true shift is known to the last digit, with noise; and
 * pairs that no shift explains. FFTD_TEST_CLIPS=all measures more and larger pairs. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/scene.h"
#include "support/trials.h"

#include "estimators/motion/motion.h"
#include "estimators/motion/motion_cells.h"

/* Pairs for the figures have seeds from here on; others were used to choose the constants. */
#define FIRST_SEED 9000

struct size {
    unsigned width, height, pairs;
};

static struct size chosen_size(void)
{
    return trials_are_all() ? (struct size){640, 480, 60} : (struct size){160, 136, 8};
}

static float *picture(struct size size, const struct scene *scene, double x, double y,
                      double angle_rad, double sigma, uint64_t *seed)
{
    float *samples = malloc(sizeof *samples * size.width * size.height);
    scene_draw(scene, x, y, angle_rad, size.width, size.height, samples);
    for (size_t i = 0; sigma > 0 && i < (size_t)size.width * size.height; i++)
        samples[i] = (float)fmax(0, fmin(255, samples[i] + sigma * scene_normal(seed)));
    return samples;
}

/* Takes both pictures. */
static struct motion between(struct size size, float *last, float *next)
{
    struct motion_estimator *m;
    struct motion motion;
    assert_int_equal(motion_create(&m, size.width, size.height, NULL), 0);
    motion_observe(m, last, &motion);
    assert_false(motion.is_sure);
    motion_observe(m, next, &motion);
    motion_destroy(m);
    free(last);
    free(next);
    return motion;
}

static int by_size(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

static void shifts_are_found(void **state)
{
    (void)state;
    const struct size size = chosen_size();
    const double largest = trials_are_all() ? 40 : 15;
    double error[64] = {0}, lowest = 1;
    unsigned near = 0, sure = 0;
    for (unsigned i = 0; i < size.pairs; i++) {
        uint64_t seed = FIRST_SEED + i;
        struct scene scene;
        scene_make(&scene, 1.6 * size.width, &seed);
        const double angle = 2 * M_PI * scene_uniform(&seed);
        const double shift = largest * i / (size.pairs - 1);
        const double dx = shift * cos(angle), dy = shift * sin(angle);
        const double sigma = 15 * scene_uniform(&seed);
        float *last = picture(size, &scene, 0, 0, 0, sigma, &seed);
        float *next = picture(size, &scene, -dx, -dy, 0, sigma, &seed);
        const struct motion motion = between(size, last, next);
        error[i] = hypot(motion.dx - dx, motion.dy - dy);
        near += error[i] < 0.1;
        sure += motion.is_sure;
        lowest = motion.confidence < lowest ? motion.confidence : lowest;
    }
    qsort(error, size.pairs, sizeof *error, by_size);
    const double median = 0.5 * (error[(size.pairs - 1) / 2] + error[size.pairs / 2]);
    printf("# figures: %u pairs of %u x %u, noise to sigma 15: median error %.4f px, largest %.4f, "
           "%u within 0.1 px, %u sure, lowest confidence %.2f\n",
           size.pairs, size.width, size.height, median, error[size.pairs - 1], near, sure, lowest);
    assert_true(median <= (trials_are_all() ? 0.01 : 0.05));
    assert_true(near >= size.pairs * 9 / 10);
    assert_true(sure >= size.pairs * 9 / 10);
}

static void rotations_and_cuts_are_unsure(void **state)
{
    (void)state;
    const struct size size = chosen_size();
    unsigned unsure[2] = {0};
    double highest[2] = {0};
    for (unsigned i = 0; i < size.pairs; i++)
        for (unsigned cut = 0; cut <= 1; cut++) {
            uint64_t seed = FIRST_SEED + 1000 + i;
            struct scene scene, other;
            scene_make(&scene, 1.6 * size.width, &seed);
            scene_make(&other, 1.6 * size.width, &seed);
            const double sigma = 15 * scene_uniform(&seed);
            const double angle = M_PI / 180 * (2 + 18.0 * i / (size.pairs - 1));
            float *last = picture(size, &scene, 0, 0, 0, sigma, &seed);
            float *next = cut ? picture(size, &other, 0, 0, 0, sigma, &seed)
                              : picture(size, &scene, 0, 0, angle, sigma, &seed);
            const struct motion motion = between(size, last, next);
            unsure[cut] += !motion.is_sure;
            highest[cut] = fmax(highest[cut], motion.confidence);
        }
    printf("# figures: unsure are %u of %u rotations by 2 to 20 degrees (highest confidence %.2f) "
           "and %u of %u cuts (%.2f)\n",
           unsure[0], size.pairs, highest[0], unsure[1], size.pairs, highest[1]);
    assert_true(unsure[0] * 10 >= size.pairs * 9 - (trials_are_all() ? 0 : 10));
    assert_true(unsure[1] * 10 >= size.pairs * 9);
}

static void flat_pictures_are_unsure(void **state)
{
    (void)state;
    const struct size size = {96, 80, 1};
    static const struct scene none;
    for (unsigned i = 0; i < 6; i++) {
        uint64_t seed = FIRST_SEED + 2000 + i;
        const double sigma = i * 2;
        float *last = picture(size, &none, 0, 0, 0, sigma, &seed);
        float *next = picture(size, &none, 0, 0, 0, sigma, &seed);
        const struct motion motion = between(size, last, next);
        assert_false(motion.is_sure);
        assert_true(motion.is_plain);
        assert_true(motion.dx == 0 && motion.dy == 0);
    }
}

/* Bands of light move over a scene that stands still. */
static void bands_are_not_motion(void **state)
{
    (void)state;
    const struct size size = {160, 136, 1};
    uint64_t seed = FIRST_SEED + 3000;
    struct scene scene;
    scene_make(&scene, 256, &seed);
    float *picture_of[2];
    for (unsigned i = 0; i < 2; i++) {
        picture_of[i] = picture(size, &scene, 0, 0, 0, 3, &seed);
        for (unsigned y = 0; y < size.height; y++)
            for (unsigned x = 0; x < size.width; x++)
                picture_of[i][y * size.width + x] *=
                    (float)(1 + 0.2 * cos(2 * M_PI * (y / 61.0 + 0.3 * i)));
    }
    const struct motion motion = between(size, picture_of[0], picture_of[1]);
    assert_true(motion.is_sure);
    assert_true(hypot(motion.dx, motion.dy) < 0.1);
}

/* A texture has as many shifts as periods. The one near which it is looked for is found. The second
 * texture is a product of waves: where it moves along y, its rows change as under bands of light.
 */
static void a_texture_moves_by_the_shift_that_is_near(void **state)
{
    enum { WIDTH = 160, HEIGHT = 136 };
    static float luma[2][WIDTH * HEIGHT];
    struct motion_estimator *m;
    struct motion motion;
    uint64_t seed = FIRST_SEED + 5000;
    (void)state;
    for (unsigned texture = 0; texture < 2; texture++) {
        const bool is_product = texture == 1;
        for (unsigned i = 0; i < 2; i++)
            for (unsigned at = 0; at < WIDTH * HEIGHT; at++) {
                const unsigned row = at / WIDTH;
                const double x = at % WIDTH - 0.3 * i, y = row + 0.4 * i;
                const double wave[] = {cos(2 * M_PI * (2 * x + y) / 26) +
                                           cos(2 * M_PI * (x - 2 * y) / 26),
                                       2 * cos(2 * M_PI * x / 10.4) * cos(2 * M_PI * y / 10.4)};
                luma[i][at] = (float)(120 + 20 * wave[texture] + scene_normal(&seed));
            }
        assert_int_equal(motion_create(&m, WIDTH, HEIGHT, NULL), 0);
        motion_observe(m, luma[0], &motion);
        assert_false(motion_near(m, 0, 0, &motion));
        motion_observe(m, luma[1], &motion);
        assert_true(motion.is_ambiguous && !motion.is_sure);
        for (int i = -1; i <= 1; i++) {
            const double x = 10.4 * i, y = (is_product ? 10.4 : 5.2) * i;
            assert_true(motion_near(m, x, y, &motion));
            assert_true(motion.is_sure);
            assert_true(hypot(motion.dx - x - 0.3, motion.dy - y + 0.4) < 0.05);
        }
        /* Half a period away it is as far from one as from the next, and nothing agrees. */
        assert_true(is_product || !motion_near(m, 5.5, 2.2, &motion));
        motion_reset(m);
        motion_observe(m, luma[1], &motion);
        assert_false(motion_near(m, 0, 0, &motion));
        motion_destroy(m);
    }
}

/* The width of a cell is a multiple of eight pixels. Even so, what is at the left or right edge of
 * the picture must be inside a cell. */
static void edges_are_seen(void **state)
{
    (void)state;
    enum { WIDTH = 330, HEIGHT = 100, MARGIN = 60, COUNT = WIDTH * HEIGHT };
    const struct size size = {.width = WIDTH, .height = HEIGHT};
    const double dx = 0.4, dy = -0.3;
    for (unsigned is_right = 0; is_right < 2; is_right++) {
        uint64_t seed = FIRST_SEED;
        struct scene scene;
        struct cells_shift shift = {.noise = INFINITY};
        float *last = calloc(COUNT + CELLS_SPARE, sizeof *last),
              *next = calloc(COUNT + CELLS_SPARE, sizeof *next);
        scene_make(&scene, WIDTH, &seed);
        for (unsigned i = 0; i < 2; i++) {
            float *whole = picture(size, &scene, -dx * i, -dy * i, 0, 0, &seed);
            for (unsigned k = 0; k < COUNT; k++) {
                const unsigned x = k % WIDTH;
                const bool is_there = is_right ? x >= WIDTH - MARGIN : x < MARGIN;
                (i == 0 ? last : next)[k] =
                    (is_there ? whole[k] : 128) + (float)scene_normal(&seed);
            }
            free(whole);
        }
        const struct cells_pictures pictures = {
            .last = last, .next = next, .width = WIDTH, .height = HEIGHT};
        struct cells_work *work = cells_create();
        assert_non_null(work);
        assert_true(cells_refine(work, &pictures, 4, &shift));
        assert_true(hypot(shift.dx - dx, shift.dy - dy) < 0.05);
        cells_destroy(work);
        free(last);
        free(next);
    }
}

static void all_sizes_work(void **state)
{
    (void)state;
    static const struct size sizes[] = {
        {16, 16, 1}, {17, 300, 1}, {300, 19, 1}, {64, 64, 1}, {65, 127, 1}};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t seed = FIRST_SEED + 4000 + i;
        struct scene scene;
        scene_make(&scene, 64, &seed);
        float *last = picture(sizes[i], &scene, 0, 0, 0, 0, &seed);
        float *next = picture(sizes[i], &scene, -1.25, 2.5, 0, 0, &seed);
        const struct motion motion = between(sizes[i], last, next);
        if (motion.is_sure)
            assert_true(hypot(motion.dx - 1.25, motion.dy + 2.5) <
                        (sizes[i].width < 64 || sizes[i].height < 64 ? 0.7 : 0.1));
        if (sizes[i].width >= 64 && sizes[i].height >= 64)
            assert_true(motion.is_sure);
    }
    struct motion_estimator *m = NULL;
    struct error why = {""};
    assert_int_equal(motion_create(&m, 15, 300, &why), -EINVAL);
    assert_string_equal(why.text, "motion cannot be estimated in pictures of 15 x 300 pixels: "
                                  "expected at least 16 x 16");
    assert_null(m);
    motion_destroy(NULL);
}

/* Numbers that are no numbers, and what follows them. */
static void bad_numbers_pass_by(void **state)
{
    (void)state;
    const struct size size = {64, 64, 1};
    uint64_t seed = FIRST_SEED + 5000;
    struct scene scene;
    scene_make(&scene, 64, &seed);
    struct motion_estimator *m;
    struct motion motion;
    assert_int_equal(motion_create(&m, size.width, size.height, NULL), 0);
    float *samples = picture(size, &scene, 0, 0, 0, 1, &seed);
    motion_observe(m, samples, &motion);
    float *bad = malloc(sizeof *bad * 64 * 64);
    for (unsigned i = 0; i < 64 * 64; i++)
        bad[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -1e38F;
    motion_observe(m, bad, &motion);
    assert_false(motion.is_sure);
    assert_true(isfinite(motion.dx) && isfinite(motion.dy));
    motion_observe(m, samples, &motion);
    assert_false(motion.is_sure);
    motion_observe(m, samples, &motion);
    assert_true(motion.is_sure && motion.confidence > 0.9);
    motion_reset(m);
    motion_observe(m, samples, &motion);
    assert_false(motion.is_sure);
    motion_destroy(m);
    free(samples);
    free(bad);
}

/* A pair of a scene that pans behind the offsets of a sensor's columns, which stand. */
static void make_columns(struct size size, double dx, double dy, double blur, uint64_t seed,
                         float *ret[2])
{
    const size_t count = (size_t)size.width * size.height;
    struct scene scene;
    float *column = calloc(size.width, sizeof *column);
    scene_make(&scene, 1.6 * size.width, &seed);
    for (unsigned k = 0; k < SCENE_WAVES; k++)
        scene.amplitude[k] *= exp(-2 * M_PI * M_PI * blur * blur *
                                  (scene.fx[k] * scene.fx[k] + scene.fy[k] * scene.fy[k]));
    for (unsigned k = 0; blur > 0 && k < SCENE_DISCS; k++)
        scene.level[k] = 0; /* their edges are not blurred */
    for (unsigned x = 0; x < size.width; x++)
        column[x] = (float)(3 * scene_normal(&seed));
    for (unsigned i = 0; i < 2; i++) {
        float *whole = picture(size, &scene, -dx * i, -dy * i, 0, 1, &seed);
        ret[i] = calloc(count + CELLS_SPARE, sizeof *ret[i]);
        for (size_t k = 0; k < count; k++)
            ret[i][k] = whole[k] + column[k % size.width];
        free(whole);
    }
    free(column);
}

/* Returns the shift along x by one kernel. */
static double by_kernel(struct size size, float *const pair[2], double dx, double dy, bool is_fine)
{
    const struct cells_pictures pictures = {.last = pair[0],
                                            .next = pair[1],
                                            .width = size.width,
                                            .height = size.height,
                                            .is_fine = is_fine};
    struct cells_shift shift = {.dx = dx, .dy = dy, .noise = INFINITY};
    struct cells_work *work = cells_create();
    assert_non_null(work);
    assert_true(cells_refine(work, &pictures, 4, &shift));
    cells_destroy(work);
    return shift.dx;
}

/* Offsets of columns pull a shift to zero, and the finer kernel lets more of them pass. The
 * estimator must be nearer to the smoother one where the shift is short, and be better than that
 * where it is long. */
static void columns_do_not_hold_back(void **state)
{
    (void)state;
    static const struct size sizes[] = {{160, 136, 6}, {320, 264, 6}}; /* with one and two levels */
    static const struct {
        double dx, blur;
    } cases[] = {{0.1, 0}, {0.1, 3}, {0.6, 3}, {1.2, 0}, {2.2, 0}};
    for (unsigned s = 0; s < 2; s++)
        for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++) {
            const double dx = cases[c].dx, dy = -0.5 * dx;
            double held = 0, smooth = 0, fine = 0;
            for (unsigned i = 0; i < sizes[s].pairs; i++) {
                float *pair[2];
                make_columns(sizes[s], dx, dy, cases[c].blur, FIRST_SEED + 7000 + i, pair);
                smooth += (dx - by_kernel(sizes[s], pair, dx, dy, false)) / sizes[s].pairs;
                fine += (dx - by_kernel(sizes[s], pair, dx, dy, true)) / sizes[s].pairs;
                held += (dx - between(sizes[s], pair[0], pair[1]).dx) / sizes[s].pairs;
            }
            printf("# figures: %u x %u, %.1f px, blur of %.0f: held back by %.4f px, by %.4f with "
                   "the smoother kernel, %.4f with the finer one\n",
                   sizes[s].width, sizes[s].height, dx, cases[c].blur, held, smooth, fine);
            if (dx < 1.5)
                assert_true(fine > smooth && held < 0.5 * (smooth + fine));
            else
                assert_true(fine < smooth && held < smooth);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shifts_are_found),
        cmocka_unit_test(rotations_and_cuts_are_unsure),
        cmocka_unit_test(flat_pictures_are_unsure),
        cmocka_unit_test(bands_are_not_motion),
        cmocka_unit_test(a_texture_moves_by_the_shift_that_is_near),
        cmocka_unit_test(edges_are_seen),
        cmocka_unit_test(columns_do_not_hold_back),
        cmocka_unit_test(all_sizes_work),
        cmocka_unit_test(bad_numbers_pass_by),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
