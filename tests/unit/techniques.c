/* Compares the technique that is chosen on a GPU before any is measured with measured times. */
#include <math.h>

#include "support/cmocka.h"
#include "support/tuner_choice.h"

#define MOST_LOSS 1.15 /* the choice may take this multiple of the fastest technique's time */

static const struct gpu_device h200 = {.type = CL_DEVICE_TYPE_GPU,
                                       .max_group = 1024,
                                       .local_bytes = 48 * 1024,
                                       .compute_units = 132,
                                       .vector_width = 1};

/* clang-format off */
#define TAPS(of)    {.is_short = true, .radius = (of)}
#define PRODUCT(of) {.is_short = true, .radius = (of), .products = 1, .line = TAPS_EVEN}
#define TILES(of)   {.radius = (of)}
#define HALF(of)    {.half_radius = (of)}
#define FAR         {.is_short = false}

/* Microseconds for a frame alone on an NVIDIA H200, by its clock; 0: not measured, because the
 * technique cannot do this reach. Kernels of radius 1 ... 30, then blurs:
 *     build/tests/bench/techniques --seconds 0.05 --rounds 3 --filters kernel,blur --radii
 *     1,2,3,4,5,6,7,8,9,10,12,14,16,18,20,24,27,30 1280x720 1920x1080 3840x2160
 * on 2026-11-28 (docs/results/2026-11-28-cheapest-way.md). */
static const struct measured {
    uint32_t width, height;
    struct taps_reach reach;
    double fused_us, direct_us, tiles_us, half_us;
} measured[] = {
    {1280, 720, TAPS(1), 25.4, 10.7, 8.2, 0},
    {1280, 720, TAPS(2), 24.0, 11.5, 10.1, 0},
    {1280, 720, TAPS(3), 23.9, 12.8, 12.3, 0},
    {1280, 720, TAPS(4), 26.7, 15.7, 12.9, 0},
    {1280, 720, TAPS(7), 23.6, 47.4, 12.2, 0},
    {1280, 720, TAPS(7), 24.6, 47.2, 12.4, 0},
    {1280, 720, TAPS(7), 24.2, 47.4, 12.3, 0},
    {1280, 720, TILES(12), 24.4, 0, 15.9, 0},
    {1280, 720, TILES(12), 24.2, 0, 16.1, 0},
    {1280, 720, TILES(12), 24.2, 0, 16.1, 0},
    {1280, 720, TILES(12), 24.4, 0, 16.1, 0},
    {1280, 720, TILES(16), 24.4, 0, 15.5, 0},
    {1280, 720, TILES(16), 24.4, 0, 15.5, 0},
    {1280, 720, FAR, 28.1, 0, 27.7, 0},
    {1280, 720, FAR, 27.8, 0, 26.8, 0},
    {1280, 720, FAR, 25.9, 0, 26.9, 0},
    {1280, 720, FAR, 25.1, 0, 37.4, 0},
    {1280, 720, FAR, 28.6, 0, 37.6, 0},
    {1280, 720, TAPS(1), 27.7, 11.1, 8.9, 0},
    {1280, 720, PRODUCT(7), 26.2, 14.7, 12.3, 0},
    {1280, 720, PRODUCT(7), 23.1, 14.3, 12.1, 0},
    {1280, 720, PRODUCT(7), 23.5, 14.4, 12.1, 0},
    {1280, 720, PRODUCT(7), 23.4, 14.4, 11.7, 0},
    {1280, 720, PRODUCT(7), 23.6, 14.8, 12.8, 0},
    {1280, 720, PRODUCT(10), 22.8, 16.5, 15.7, 0},
    {1280, 720, PRODUCT(10), 22.9, 16.4, 15.6, 0},
    {1280, 720, PRODUCT(10), 23.6, 16.5, 15.4, 0},
    {1280, 720, HALF(6), 22.3, 0, 0, 22.4},
    {1280, 720, HALF(6), 22.4, 0, 0, 22.4},
    {1280, 720, HALF(8), 22.9, 0, 0, 23.0},
    {1280, 720, HALF(8), 22.8, 0, 0, 23.0},
    {1280, 720, HALF(10), 22.6, 0, 0, 25.6},
    {1280, 720, HALF(10), 22.6, 0, 0, 25.9},
    {1280, 720, HALF(14), 22.8, 0, 0, 29.4},
    {1280, 720, HALF(14), 24.0, 0, 0, 29.9},
    {1280, 720, FAR, 23.2, 0, 0, 0},
    {1920, 1080, TAPS(1), 35.1, 11.4, 12.7, 0},
    {1920, 1080, TAPS(2), 35.4, 12.9, 17.7, 0},
    {1920, 1080, TAPS(3), 35.2, 15.4, 16.9, 0},
    {1920, 1080, TAPS(4), 35.3, 19.5, 17.3, 0},
    {1920, 1080, TAPS(7), 35.8, 76.8, 21.4, 0},
    {1920, 1080, TAPS(7), 35.9, 76.5, 21.4, 0},
    {1920, 1080, TAPS(7), 35.5, 76.7, 20.6, 0},
    {1920, 1080, TILES(12), 35.2, 0, 28.7, 0},
    {1920, 1080, TILES(12), 34.9, 0, 28.9, 0},
    {1920, 1080, TILES(12), 35.5, 0, 29.2, 0},
    {1920, 1080, TILES(12), 35.5, 0, 28.5, 0},
    {1920, 1080, TILES(16), 36.0, 0, 28.2, 0},
    {1920, 1080, TILES(16), 35.3, 0, 28.1, 0},
    {1920, 1080, FAR, 35.0, 0, 49.1, 0},
    {1920, 1080, FAR, 35.4, 0, 49.5, 0},
    {1920, 1080, FAR, 34.8, 0, 49.3, 0},
    {1920, 1080, FAR, 40.3, 0, 80.4, 0},
    {1920, 1080, FAR, 40.6, 0, 81.7, 0},
    {1920, 1080, TAPS(1), 34.9, 11.4, 12.2, 0},
    {1920, 1080, PRODUCT(7), 34.9, 16.7, 20.5, 0},
    {1920, 1080, PRODUCT(7), 35.0, 16.6, 20.2, 0},
    {1920, 1080, PRODUCT(7), 34.9, 16.8, 20.1, 0},
    {1920, 1080, PRODUCT(7), 35.4, 16.9, 20.8, 0},
    {1920, 1080, PRODUCT(7), 34.6, 16.5, 20.3, 0},
    {1920, 1080, PRODUCT(10), 34.8, 19.5, 24.1, 0},
    {1920, 1080, PRODUCT(10), 32.4, 19.5, 24.1, 0},
    {1920, 1080, PRODUCT(10), 32.5, 19.4, 24.2, 0},
    {1920, 1080, HALF(6), 32.3, 0, 0, 32.3},
    {1920, 1080, HALF(6), 28.9, 0, 0, 31.9},
    {1920, 1080, HALF(8), 28.8, 0, 0, 32.9},
    {1920, 1080, HALF(8), 29.4, 0, 0, 32.9},
    {1920, 1080, HALF(10), 29.1, 0, 0, 36.8},
    {1920, 1080, HALF(10), 29.4, 0, 0, 36.5},
    {1920, 1080, HALF(14), 27.5, 0, 0, 37.3},
    {1920, 1080, HALF(14), 27.6, 0, 0, 37.2},
    {1920, 1080, FAR, 27.8, 0, 0, 0},
    {3840, 2160, TAPS(1), 107.9, 21.8, 39.5, 0},
    {3840, 2160, TAPS(2), 107.9, 25.3, 51.5, 0},
    {3840, 2160, TAPS(3), 107.5, 34.5, 54.6, 0},
    {3840, 2160, TAPS(4), 108.0, 46.0, 59.2, 0},
    {3840, 2160, TAPS(7), 107.6, 277.0, 68.1, 0},
    {3840, 2160, TAPS(7), 107.9, 277.5, 68.3, 0},
    {3840, 2160, TAPS(7), 107.6, 277.3, 68.3, 0},
    {3840, 2160, TILES(12), 107.7, 0, 103.3, 0},
    {3840, 2160, TILES(12), 107.5, 0, 102.0, 0},
    {3840, 2160, TILES(12), 107.4, 0, 102.1, 0},
    {3840, 2160, TILES(12), 107.8, 0, 103.1, 0},
    {3840, 2160, TILES(16), 107.8, 0, 111.1, 0},
    {3840, 2160, TILES(16), 107.6, 0, 111.7, 0},
    {3840, 2160, FAR, 107.6, 0, 180.4, 0},
    {3840, 2160, FAR, 107.0, 0, 180.6, 0},
    {3840, 2160, FAR, 107.6, 0, 180.4, 0},
    {3840, 2160, FAR, 107.7, 0, 298.1, 0},
    {3840, 2160, FAR, 108.1, 0, 298.9, 0},
    {3840, 2160, TAPS(1), 92.7, 21.8, 38.6, 0},
    {3840, 2160, PRODUCT(7), 92.9, 34.3, 66.5, 0},
    {3840, 2160, PRODUCT(7), 93.1, 34.2, 66.4, 0},
    {3840, 2160, PRODUCT(7), 93.1, 34.3, 66.0, 0},
    {3840, 2160, PRODUCT(7), 93.7, 34.9, 67.2, 0},
    {3840, 2160, PRODUCT(7), 92.7, 34.0, 66.1, 0},
    {3840, 2160, PRODUCT(10), 86.0, 41.5, 81.0, 0},
    {3840, 2160, PRODUCT(10), 79.5, 41.4, 80.0, 0},
    {3840, 2160, PRODUCT(10), 72.1, 41.4, 79.8, 0},
    {3840, 2160, HALF(6), 72.6, 0, 0, 49.5},
    {3840, 2160, HALF(6), 65.7, 0, 0, 48.7},
    {3840, 2160, HALF(8), 65.5, 0, 0, 50.3},
    {3840, 2160, HALF(8), 60.2, 0, 0, 50.4},
    {3840, 2160, HALF(10), 60.7, 0, 0, 55.8},
    {3840, 2160, HALF(10), 60.7, 0, 0, 55.3},
    {3840, 2160, HALF(14), 56.7, 0, 0, 61.6},
    {3840, 2160, HALF(14), 56.3, 0, 0, 61.9},
    {3840, 2160, FAR, 56.3, 0, 0, 0},
};
/* clang-format on */

/* Each choice takes at most MOST_LOSS times as long as the fastest technique. */
static void test_choices_are_nearly_the_fastest(void **state)
{
    unsigned slow = 0;
    (void)state;
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        const struct measured *m = &measured[i];
        const double us[TRANSFORM_TECHNIQUES] = {[TRANSFORM_FUSED] = m->fused_us,
                                                 [TRANSFORM_DIRECT] = m->direct_us,
                                                 [TRANSFORM_TILES] = m->tiles_us,
                                                 [TRANSFORM_HALF_RATE] = m->half_us};
        const enum transform_technique chosen = tuner_choice(&h200, m->width, m->height, m->reach);
        double least = HUGE_VAL;
        for (unsigned t = 0; t < TRANSFORM_TECHNIQUES; t++)
            if (us[t] > 0)
                least = fmin(least, us[t]);
        if (us[chosen] > 0 && us[chosen] <= MOST_LOSS * least)
            continue;
        print_message("%ux%u, radius %u, %u at half the rate: technique %u, %g us, not %g\n",
                      m->width, m->height, m->reach.radius, m->reach.half_radius, chosen,
                      us[chosen], least);
        slow++;
    }
    assert_int_equal(slow, 0);
}

/* With fewer compute units, each has more work, and the fixed time of a dispatch counts less. */
static void test_few_units_have_enough_work(void **state)
{
    const struct taps_reach plain = TAPS(1), product = PRODUCT(7), half = HALF(14);
    struct gpu_device few = h200;
    (void)state;
    few.compute_units = 8;
    assert_int_equal(tuner_choice(&h200, 1280, 720, plain), TRANSFORM_TILES);
    assert_int_equal(tuner_choice(&few, 1280, 720, plain), TRANSFORM_DIRECT);
    assert_int_equal(tuner_choice(&h200, 1280, 720, product), TRANSFORM_TILES);
    assert_int_equal(tuner_choice(&few, 1280, 720, product), TRANSFORM_DIRECT);
    assert_int_equal(tuner_choice(&h200, 1280, 720, half), TRANSFORM_FUSED);
    assert_int_equal(tuner_choice(&few, 1280, 720, half), TRANSFORM_HALF_RATE);
}

/* A blur of sigma 3.33 can use either. Half the rate has less work, but a longer latency. */
static void test_taps_or_half_rate(void **state)
{
    const struct taps_reach both = {.is_short = true,
                                    .radius = TAPS_MAX_RADIUS,
                                    .products = 1,
                                    .line = TAPS_EVEN,
                                    .half_radius = 6};
    (void)state;
    assert_int_equal(tuner_choice(&h200, 1920, 1080, both), TRANSFORM_DIRECT);
    assert_int_equal(tuner_choice(&h200, 3840, 2160, both), TRANSFORM_HALF_RATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices_are_nearly_the_fastest),
        cmocka_unit_test(test_few_units_have_enough_work),
        cmocka_unit_test(test_taps_or_half_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
