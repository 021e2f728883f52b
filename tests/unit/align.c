/* The search for the shift between two pictures, with noise and with a pattern of columns
 * and rows that does not move. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/cmocka.h"
#include "support/reference.h"

#include "calibration/align.h"

#define WIDTH  160
#define HEIGHT 120
#define WAVES  80

struct ripple {
    double fx, fy, phase, size;
};

static struct ripple wave[WAVES];
static float picture[2][HEIGHT * WIDTH];

/* Coarse waves are the strongest ones. */
static void draw_scene(uint64_t *seed)
{
    for (unsigned i = 0; i < WAVES; i++) {
        const double f = 0.005 * pow(60, reference_noise(seed));
        const double angle = 2 * M_PI * reference_noise(seed);
        wave[i] = (struct ripple){f * cos(angle), f * sin(angle), 2 * M_PI * reference_noise(seed),
                                  0.002 / sqrt(f)};
    }
}

static double scene(double x, double y)
{
    double sum = 0.5;
    for (unsigned i = 0; i < WAVES; i++)
        sum += wave[i].size * cos(2 * M_PI * (wave[i].fx * x + wave[i].fy * y) + wave[i].phase);
    return sum;
}

/* The second picture shows at (x + dx, y + dy) what the first one shows at (x, y). */
static struct align_shift find(double dx, double dy, double pattern, double noise, unsigned cell,
                               uint64_t *seed)
{
    struct align_picture *aligned[2];
    struct align_shift shift;
    float column[WIDTH], row[HEIGHT];
    for (unsigned x = 0; x < WIDTH; x++)
        column[x] = (float)(pattern * (reference_noise(seed) - 0.5));
    for (unsigned y = 0; y < HEIGHT; y++)
        row[y] = (float)(pattern * (reference_noise(seed) - 0.5));
    for (unsigned which = 0; which < 2; which++) {
        for (unsigned y = 0; y < HEIGHT; y++)
            for (unsigned x = 0; x < WIDTH; x++)
                picture[which][y * WIDTH + x] = (float)(scene(x - which * dx, y - which * dy) +
                                                        noise * (reference_noise(seed) - 0.5)) +
                                                column[x] + row[y];
        assert_int_equal(align_create(&aligned[which], picture[which], WIDTH, HEIGHT, cell), 0);
    }
    align_find(aligned[0], aligned[1], &shift);
    align_destroy(aligned[0]);
    align_destroy(aligned[1]);
    return shift;
}

static void shifts_are_found_through_noise_and_a_pattern(void **state)
{
    static const double shifts[][2] = {{0, 0},     {1, 0},       {-3.25, 7.5}, {20.4, -11.8},
                                       {-47, 2.1}, {60.3, 40.6}, {0.4, -0.3}};
    uint64_t seed = 5;
    double worst = 0;
    (void)state;
    for (unsigned i = 0; i < sizeof shifts / sizeof *shifts; i++) {
        draw_scene(&seed);
        const struct align_shift shift =
            find(shifts[i][0], shifts[i][1], 0.06, i % 2 == 0 ? 0 : 0.03, 1, &seed);
        const double error = hypot(shift.whole_x + shift.part_x - shifts[i][0],
                                   shift.whole_y + shift.part_y - shifts[i][1]);
        printf("# figures: shift %.2f, %.2f: error %.3f px, score %.2f\n", shifts[i][0],
               shifts[i][1], error, shift.score);
        assert_true(shift.score > 0.5);
        worst = fmax(worst, error);
    }
    assert_true(worst < 0.1);
}

static void shifts_of_a_mosaic_are_counted_in_cells(void **state)
{
    uint64_t seed = 6;
    (void)state;
    draw_scene(&seed);
    const struct align_shift shift = find(12.5, -9, 0.06, 0.01, 2, &seed);
    assert_true(fabs(shift.whole_x + shift.part_x - 6.25) < 0.1);
    assert_true(fabs(shift.whole_y + shift.part_y + 4.5) < 0.1);
}

static void draw_still(float *ret)
{
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++)
            ret[y * WIDTH + x] = (float)scene(x, y);
}

static void other_and_plain_pictures_are_not_aligned(void **state)
{
    struct align_picture *aligned[2];
    struct align_shift shift;
    uint64_t seed = 7;
    (void)state;
    draw_scene(&seed);
    draw_still(picture[0]);
    draw_scene(&seed);
    draw_still(picture[1]);
    for (unsigned which = 0; which < 2; which++)
        assert_int_equal(align_create(&aligned[which], picture[which], WIDTH, HEIGHT, 1), 0);
    align_find(aligned[0], aligned[1], &shift);
    printf("# figures: other picture: score %.2f\n", shift.score);
    align_destroy(aligned[1]);
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        picture[1][i] = 0.5F;
    assert_int_equal(align_create(&aligned[1], picture[1], WIDTH, HEIGHT, 1), 0);
    assert_true(shift.score < 0.5);
    align_find(aligned[0], aligned[1], &shift);
    assert_true(shift.score < 0.1);
    align_destroy(aligned[0]);
    align_destroy(aligned[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shifts_are_found_through_noise_and_a_pattern),
        cmocka_unit_test(shifts_of_a_mosaic_are_counted_in_cells),
        cmocka_unit_test(other_and_plain_pictures_are_not_aligned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
