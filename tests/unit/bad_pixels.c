/* Which pixels of two noisy means count as bad. */
#include <stdbool.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/reference.h"

#include "calibration/bad_pixels.h"

#define WIDTH  61
#define HEIGHT 47
#define COUNT  (WIDTH * HEIGHT)

static float mean[2][COUNT];
static uint8_t bad[COUNT];

/* A slope with noise, and an edge; in a mosaic, every other pixel is darker. */
static void draw(unsigned step)
{
    uint64_t seed = 3;
    for (unsigned half = 0; half < 2; half++)
        for (unsigned i = 0; i < COUNT; i++) {
            const unsigned x = i % WIDTH, y = i / WIDTH;
            const double light = 100 + x + (y > 30 ? 40 : 0) - ((x + y) % step == 0 ? 0 : 50);
            mean[half][i] = (float)((light + 2 * reference_noise(&seed)) / 255);
        }
}

static void add(unsigned x, unsigned y, double first, double second)
{
    mean[0][y * WIDTH + x] += (float)(first / 255);
    mean[1][y * WIDTH + x] += (float)(second / 255);
}

static unsigned find_in(unsigned step, bool is_still)
{
    const float *means[2] = {mean[0], mean[1]};
    unsigned count = 0;
    assert_int_equal(bad_pixels_find(bad, means, WIDTH, HEIGHT, step, is_still), 0);
    for (unsigned i = 0; i < COUNT; i++)
        count += bad[i];
    return count;
}

static unsigned find(unsigned step)
{
    return find_in(step, false);
}

static bool is_bad(unsigned x, unsigned y)
{
    return bad[y * WIDTH + x] == 1;
}

static void hot_and_dead_pixels_are_found(void **state)
{
    (void)state;
    for (unsigned step = 1; step <= 2; step++) {
        draw(step);
        assert_int_equal(find(step), 0);
        add(20, 10, 30, 30);
        add(30, 40, -90, -90);
        add(40, 12, 60, 60); /* two together */
        add(41, 12, 80, 80);
        add(50, 31, 99, 99); /* at the edge */
        add(0, 20, 40, 40);
        assert_int_equal(find(step), 6);
        assert_true(is_bad(20, 10) && is_bad(30, 40) && is_bad(40, 12) && is_bad(41, 12) &&
                    is_bad(50, 31) && is_bad(0, 20));
    }
}

/* What stays in place for half of the time only belongs to the scene. */
static void both_halves_must_agree(void **state)
{
    (void)state;
    draw(1);
    add(20, 10, 60, 0);
    add(30, 10, 60, -60);
    add(40, 10, 3, 3); /* too little to matter */
    assert_int_equal(find(1), 0);
}

/* Two pixels that are alike belong to the scene, if it stands still. */
static void a_detail_that_stands_still_is_not_bad(void **state)
{
    (void)state;
    draw(1);
    add(20, 10, 60, 60);
    add(21, 11, 62, 62);
    add(40, 12, 60, 60);
    assert_int_equal(find_in(1, false), 3);
    assert_int_equal(find_in(1, true), 1);
    assert_true(is_bad(40, 12));
}

/* A bad pixel is replaced by those beside it, of which one must be good. */
static void a_pixel_among_bad_ones_is_not_marked(void **state)
{
    (void)state;
    draw(1);
    add(20, 10, 90, 90);
    add(19, 10, 90, 90);
    add(21, 10, -90, -90);
    add(20, 9, 90, 90);
    add(20, 11, -90, -90);
    find(1);
    assert_true(is_bad(19, 10) && is_bad(21, 10) && is_bad(20, 9) && is_bad(20, 11));
    assert_false(is_bad(20, 10));
}

static void a_single_pixel_has_no_neighbours(void **state)
{
    const float level = 0.5F, *const means[2] = {&level, &level};
    (void)state;
    bad[0] = 1;
    assert_int_equal(bad_pixels_find(bad, means, 1, 1, 2, false), 0);
    assert_int_equal(bad[0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hot_and_dead_pixels_are_found),
        cmocka_unit_test(both_halves_must_agree),
        cmocka_unit_test(a_detail_that_stands_still_is_not_bad),
        cmocka_unit_test(a_pixel_among_bad_ones_is_not_marked),
        cmocka_unit_test(a_single_pixel_has_no_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
