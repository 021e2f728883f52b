/* The estimate of the offsets of columns and rows, from frames of moving textures with noise
 * and 8 bits. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/reference.h"

#include "calibration/stripes.h"

#define WIDTH   160
#define HEIGHT  120
#define TEXTURE 512 /* px, of a side */
#define FRAMES  24

static float texture[TEXTURE][TEXTURE];
static double column[WIDTH], row[HEIGHT], fault[HEIGHT][WIDTH];

/* Nearly normal, with a standard deviation of 1. */
static double normal(uint64_t *seed)
{
    double sum = -6;
    for (unsigned i = 0; i < 12; i++)
        sum += reference_noise(seed);
    return sum;
}

/* Noise of many scales, the coarse ones strongest as in photographs, and blocks with edges along
 * columns and rows. Both repeat. */
static void draw_texture(uint64_t *seed)
{
    memset(texture, 0, sizeof texture);
    for (unsigned size = 2; size <= 128; size *= 2)
        for (unsigned cy = 0; cy < TEXTURE / size; cy++)
            for (unsigned cx = 0; cx < TEXTURE / size; cx++) {
                const double level = normal(seed) * 1.5 * sqrt(size);
                for (unsigned i = 0; i < size * size; i++) {
                    const unsigned x = i % size, y = i / size;
                    const double u = (x + 0.5) / size, v = (y + 0.5) / size;
                    texture[cy * size + y][cx * size + x] +=
                        (float)(level * (size < 16 ? 1 : 16 * u * (1 - u) * v * (1 - v)));
                }
            }
    for (unsigned i = 0; i < 60; i++) {
        const unsigned left = (unsigned)(TEXTURE * reference_noise(seed));
        const unsigned top = (unsigned)(TEXTURE * reference_noise(seed));
        const unsigned width = (unsigned)(10 + 60 * reference_noise(seed));
        const double level = 50 * (reference_noise(seed) - 0.5);
        for (unsigned y = top; y < top + 160; y++)
            for (unsigned x = left; x < left + width; x++)
                texture[y % TEXTURE][x % TEXTURE] += (float)level;
    }
}

static void draw_pattern(double rms, uint64_t *seed)
{
    for (unsigned x = 0; x < WIDTH; x++)
        column[x] = rms / sqrt(2) * normal(seed);
    for (unsigned y = 0; y < HEIGHT; y++)
        row[y] = rms / sqrt(2) * normal(seed);
}

/* A wall: regular, so that joints meet the same columns and rows again and again. */
static void draw_bricks(uint64_t *seed)
{
    for (unsigned y = 0; y < TEXTURE; y++)
        for (unsigned x = 0; x < TEXTURE; x++) {
            const unsigned course = y / 16, along = x + course % 2 * 16, brick = along / 32;
            const bool is_joint = y % 16 < 2 || along % 32 < 2;
            texture[y][x] =
                (float)((is_joint ? -50 : 10 * sin(7 * brick + 3 * course)) + 4 * normal(seed));
        }
}

static double clean(unsigned x, unsigned y, double t, double speed)
{
    const double from_x = TEXTURE + x + 3.1 * speed * t, from_y = TEXTURE + y + 1.7 * speed * t;
    const unsigned left = (unsigned)from_x, top = (unsigned)from_y;
    double sum = 0;
    for (unsigned v = 0; v < 2; v++)
        for (unsigned u = 0; u < 2; u++)
            sum += (double)texture[(top + v) % TEXTURE][(left + u) % TEXTURE] *
                   (1 - fabs(from_x - left - u)) * (1 - fabs(from_y - top - v));
    return 120 + sum;
}

static void observe(struct stripes *stripes, double speed, double noise, uint64_t *seed)
{
    for (unsigned frame = 0; frame < FRAMES; frame++) {
        float *level = stripes->level;
        for (unsigned y = 0; y < HEIGHT; y++)
            for (unsigned x = 0; x < WIDTH; x++) {
                const double captured = clean(x, y, frame, speed) + column[x] + row[y] +
                                        fault[y][x] + noise * normal(seed);
                level[y * WIDTH + x] = (float)(rint(fmin(fmax(captured, 0), 255)) / 255);
            }
        assert_int_equal(stripes_add(stripes), 0);
    }
    assert_int_equal(stripes_solve(stripes), 0);
}

/* The root mean square of the pattern that is left in the picture, without its mean. */
static double left(const struct stripes *stripes, double factor)
{
    double sum = 0, squares = 0;
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++) {
            const double off = column[x] + row[y] -
                               factor * 255 * (stripes->column.offset[x] + stripes->row.offset[y]);
            sum += off;
            squares += off * off;
        }
    const double mean = sum / (WIDTH * HEIGHT);
    return sqrt(squares / (WIDTH * HEIGHT) - mean * mean);
}

static void patterns_are_found_while_the_scene_moves(void **state)
{
    uint64_t seed = 3;
    double worst = 0;
    (void)state;
    const char *clips = getenv("FFTD_TEST_CLIPS"); /* `one`: processors are emulated */
    const unsigned trials = clips != NULL && strcmp(clips, "one") == 0 ? 1 : 3;
    for (unsigned trial = 0; trial < trials; trial++) {
        struct stripes stripes;
        draw_texture(&seed);
        draw_pattern(4.4, &seed);
        assert_int_equal(stripes_init(&stripes, WIDTH, HEIGHT, 1, FRAMES), 0);
        observe(&stripes, 1, trial, &seed);
        const double before = left(&stripes, 0), after = left(&stripes, 1);
        printf("# figures: pattern of columns and rows, noise of %u: %.2f grey levels before, %.2f "
               "after; stillness %.2f\n",
               trial, before, after, stripes_stillness(&stripes));
        worst = fmax(worst, after);
        assert_true(before > 3.9);
        assert_true(stripes_stillness(&stripes) < 0.2);
        stripes_finish(&stripes);
    }
    assert_true(worst <= 1.2);
}

static void patterns_are_found_before_a_regular_scene(void **state)
{
    struct stripes stripes;
    uint64_t seed = 11;
    (void)state;
    draw_bricks(&seed);
    draw_pattern(4.4, &seed);
    assert_int_equal(stripes_init(&stripes, WIDTH, HEIGHT, 1, FRAMES), 0);
    observe(&stripes, 1, 1, &seed);
    printf("# figures: bricks: %.2f grey levels before, %.2f after\n", left(&stripes, 0),
           left(&stripes, 1));
    assert_true(left(&stripes, 1) <= 1.2);
    stripes_finish(&stripes);
}

static void a_picture_without_a_pattern_stays(void **state)
{
    struct stripes stripes;
    uint64_t seed = 9;
    (void)state;
    draw_texture(&seed);
    draw_pattern(0, &seed);
    assert_int_equal(stripes_init(&stripes, WIDTH, HEIGHT, 1, FRAMES), 0);
    observe(&stripes, 1, 1, &seed);
    printf("# figures: no pattern: %.2f grey levels after\n", left(&stripes, 1));
    assert_true(left(&stripes, 1) < 1);
    stripes_finish(&stripes);
}

/* Its own lines are in the way. A pattern that is weaker than these is still found in part. */
static void a_scene_that_stands_still_is_noticed(void **state)
{
    struct stripes stripes;
    uint64_t seed = 5;
    (void)state;
    draw_texture(&seed);
    draw_pattern(2.2, &seed);
    assert_int_equal(stripes_init(&stripes, WIDTH, HEIGHT, 1, FRAMES), 0);
    observe(&stripes, 0, 2, &seed);
    printf("# figures: a scene that stands still: %.2f grey levels before, %.2f after\n",
           left(&stripes, 0), left(&stripes, 1));
    assert_true(left(&stripes, 1) < 0.8 * left(&stripes, 0));
    assert_true(stripes_stillness(&stripes) > 0.6 && stripes_is_still(&stripes));
    stripes_finish(&stripes);
}

/* By more than an edge of the scene usually is. The pairs of a moving scene do not have to help. */
static void a_column_that_is_far_off_is_found(void **state)
{
    (void)state;
    for (unsigned speed = 0; speed <= 1; speed++) {
        struct stripes stripes;
        uint64_t seed = 13;
        draw_texture(&seed);
        draw_pattern(1, &seed);
        column[WIDTH / 3] += 70;
        assert_int_equal(stripes_init(&stripes, WIDTH, HEIGHT, 1, FRAMES), 0);
        observe(&stripes, speed, 1, &seed);
        const double beside = column[WIDTH / 3 - 1] - 255 * stripes.column.offset[WIDTH / 3 - 1];
        const double off = column[WIDTH / 3] - 255 * stripes.column.offset[WIDTH / 3] - beside;
        printf("# figures: a column that is off by 70, speed %u: %.2f grey levels are left\n",
               speed, off);
        assert_true(fabs(off) < 3);
        stripes_finish(&stripes);
    }
}

/* Less than a pixel between frames that are compared, but several in all. Pixels that are hot
 * beside each other are found only if the scene moves. */
static void a_slow_scene_does_not_stand_still(void **state)
{
    struct stripes stripes;
    uint64_t seed = 17;
    unsigned count = 0, found = 0;
    (void)state;
    draw_texture(&seed);
    draw_pattern(1, &seed);
    for (unsigned y = 10; y < HEIGHT - 10; y += 20)
        for (unsigned x = 10; x < WIDTH - 10; x += 20)
            fault[y][x] = fault[y][x + 1] = fault[y + 1][x] = 60;
    assert_int_equal(stripes_init(&stripes, WIDTH, HEIGHT, 1, FRAMES), 0);
    observe(&stripes, 0.09, 1, &seed);
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++) {
            count += fault[y][x] > 0;
            found += fault[y][x] > 0 && stripes.bad[y * WIDTH + x] != 0;
        }
    printf("# figures: a slow scene: stillness %.2f, %u of %u hot pixels are found\n",
           stripes_stillness(&stripes), found, count);
    assert_true(found == count && !stripes_is_still(&stripes));
    memset(fault, 0, sizeof fault);
    stripes_finish(&stripes);
}

/* As a daemon that is not trusted may send. */
static void a_single_pixel_is_no_pattern(void **state)
{
    struct stripes stripes;
    (void)state;
    assert_int_equal(stripes_init(&stripes, 1, 1, 2, 2), 0);
    for (unsigned frame = 0; frame < 2; frame++) {
        stripes.level[0] = 0.5F;
        assert_int_equal(stripes_add(&stripes), 0);
    }
    assert_int_equal(stripes_solve(&stripes), 0);
    assert_true(stripes_rms(&stripes.column) == 0 && stripes_rms(&stripes.row) == 0);
    stripes_finish(&stripes);
}

/* Columns of one colour are compared with each other; the two colours are of another brightness. */
static void a_mosaic_is_compared_by_colour(void **state)
{
    struct stripes stripes;
    uint64_t seed = 7;
    (void)state;
    draw_texture(&seed);
    draw_pattern(4.4, &seed);
    assert_int_equal(stripes_init(&stripes, WIDTH, HEIGHT, 2, FRAMES), 0);
    for (unsigned frame = 0; frame < FRAMES; frame++) {
        float *level = stripes.level;
        for (unsigned i = 0; i < WIDTH * HEIGHT; i++) {
            const unsigned x = i % WIDTH, y = i / WIDTH;
            const double light = clean(x, y, frame, 1) * ((x + y) % 2 == 0 ? 1 : 0.5);
            level[i] = (float)((light + column[x] + row[y] + normal(&seed)) / 255);
        }
        assert_int_equal(stripes_add(&stripes), 0);
    }
    assert_int_equal(stripes_solve(&stripes), 0);
    printf("# figures: mosaic: %.2f grey levels before, %.2f after\n", left(&stripes, 0),
           left(&stripes, 1));
    assert_true(left(&stripes, 1) <= 1.2);
    stripes_finish(&stripes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_are_found_while_the_scene_moves),
        cmocka_unit_test(patterns_are_found_before_a_regular_scene),
        cmocka_unit_test(a_picture_without_a_pattern_stays),
        cmocka_unit_test(a_scene_that_stands_still_is_noticed),
        cmocka_unit_test(a_column_that_is_far_off_is_found),
        cmocka_unit_test(a_slow_scene_does_not_stand_still),
        cmocka_unit_test(a_single_pixel_is_no_pattern),
        cmocka_unit_test(a_mosaic_is_compared_by_colour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
