/* Which samples of a picture count as clipped, by the range that its source names and by the one
 * that it uses. */
#include <math.h>
#include <stdint.h>

#include "support/cmocka.h"
#include "support/reference.h"

#include "core/format.h"
#include "observer/measuring.h"

#define WIDTH  128
#define HEIGHT 96
#define COUNT  (WIDTH * HEIGHT)

static float luma[COUNT];

static double clipped_share(const char *format, bool is_full_range)
{
    struct measuring *measuring = NULL;
    struct error why = {""};
    struct fftd_measures measures = MEASURING_NOTHING;
    const struct observed_frame frame = {.frames = {.fourcc = format_by_name(format)->fourcc,
                                                    .width = WIDTH,
                                                    .height = HEIGHT,
                                                    .is_full_range = is_full_range},
                                         .number = 1};
    assert_int_equal(measuring_create(&measuring, WIDTH, HEIGHT, &why), 0);
    measuring_observe(measuring, &frame, luma, &measures);
    measuring_destroy(measuring);
    return (double)measures.clipped;
}

/* Levels of a ramp with noise, limited to a range. */
static void draw(double from, double to, double low, double high)
{
    uint64_t seed = 5;
    for (unsigned i = 0; i < COUNT; i++) {
        const double level = from + (to - from) * (i % WIDTH) / WIDTH + reference_noise(&seed);
        luma[i] = (float)rint(fmin(fmax(level, low), high));
    }
}

/* A Y4M file with C420jpeg and without XCOLORRANGE, whose samples use the full range. */
static void a_full_range_that_is_not_named_is_not_clipped(void **state)
{
    (void)state;
    draw(3, 250, 0, 255);
    assert_true(clipped_share("YUV420", false) == 0);
    draw(-50, 305, 0, 255);
    const double share = clipped_share("YUV420", false);
    assert_true(share > 0.27 && share < 0.29);
    assert_true(share == clipped_share("YUV420", true));
    draw(60, 250, 0, 255); /* each end is judged by itself */
    assert_true(clipped_share("YUV420", false) == 0);
}

static void the_limited_range_is_clipped_at_its_ends(void **state)
{
    (void)state;
    draw(20, 230, 0, 255);
    assert_true(clipped_share("YUV420", false) == 0);
    draw(-34, 285, 16, 235);
    const double share = clipped_share("YUV420", false);
    assert_true(share > 0.30 && share < 0.33);
    assert_true(clipped_share("YUV420", true) == 0);
    for (unsigned i = 0; i < COUNT; i += 50) /* a codec overshoots */
        luma[i] += luma[i] < 100 ? -9 : 9;
    assert_true(fabs(clipped_share("YUV420", false) - share) < 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_range_that_is_not_named_is_not_clipped),
        cmocka_unit_test(the_limited_range_is_clipped_at_its_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
