/* The direct technique in two dispatches: it makes what double precision and the fused one make,
 * and is chosen on a Mali Midgard alone. */
#include <math.h>
#include <stdlib.h>

#include "support/beside_fused.h"
#include "support/chains.h"
#include "support/cmocka.h"
#include "support/device.h"
#include "support/tuner_choice.h"

#define BLUR(sigma) "gaussian-blur:sigma=" #sigma
#define MARGIN      64

static const struct beside twice = {.name = "direct in two dispatches",
                                    .technique = ENGINE_AUTO,
                                    .most = {.is_short = true},
                                    .border_value = 0.7,
                                    .margin = MARGIN};

/* ---- floats -------------------------------------------------------------------------------- */

/* Returns the greatest error of filtered noise, 0 .. 255. */
static double error_of(const char *text, enum plan_border mode)
{
    const struct filter_chain chain = chain_of(text);
    const struct taps_samples samples = {.sub_x = 1, .sub_y = 1, .bits = 8};
    const struct transform_border border = {.mode = mode, .value = 100};
    struct transform_tuning tuning = {.technique = TRANSFORM_TWICE};
    struct transform *transform;
    struct error why = {""}, warning;
    tuning.recipe.reach = taps_reach_of(&chain, &samples);
    if (transform_create(&transform, device, &beside_floats, &border, &tuning, NULL, &warning,
                         &why) < 0)
        fail_msg("%s: %s", text, why.text);
    const double worst = beside_error_of(transform, &chain, mode, MARGIN);
    print_message("# %s, border %d: %.2g\n", text, (int)mode, worst);
    transform_destroy(transform);
    return worst;
}

/* What the taps leave out is at most half a step; a box leaves out nothing. */
static void test_floats(void **state)
{
    static const char *const blurs[] = {BLUR(1), BLUR(1.3), BLUR(2), BLUR(3),
                                        "box-blur:radius=4.5"};
    (void)state;
    for (int border = PLAN_MIRROR; border <= PLAN_WRAP; border++) {
        for (size_t i = 0; i < sizeof blurs / sizeof blurs[0]; i++)
            if (!(error_of(blurs[i], (enum plan_border)border) < 0.5))
                fail_msg("%s, border %d", blurs[i], border);
        if (!(error_of("box-blur:radius=7", (enum plan_border)border) < 1e-3))
            fail_msg("a box, border %d", border);
    }
}

/* ---- frames -------------------------------------------------------------------------------- */

/* Formats, borders, and what loads and stores do, as on a Midgard. */
static void test_frames(void **state)
{
    static const struct scene scenes[] = {
        {.captured = "GREY", .chain = BLUR(2)},
        {.captured = "GREY", .chain = BLUR(2), .width = 160, .height = 96},
        {.captured = "GREY", .chain = BLUR(2), .width = 160, .height = 96, .border = PLAN_CONSTANT},
        {.captured = "GREY", .chain = BLUR(3), .width = 22, .height = 21, .border = PLAN_WRAP},
        {.captured = "NV12", .chain = BLUR(1.5), .border = PLAN_REPLICATE},
        {.captured = "YUV420", .chain = BLUR(2), .planes = RECIPE_ALL, .precision = RECIPE_HALF},
        {.captured = "UYVY", .chain = BLUR(2), .planes = RECIPE_LUMA_ONLY},
        {.captured = "XRGB32", .chain = BLUR(2)},
        {.captured = "BGR24", .chain = "box-blur:radius=5", .planes = RECIPE_ALL},
        {.captured = "SGRBG8", .chain = "vignette:a=0.5,b=0.1 | " BLUR(2)},
        {.captured = "Y10", .chain = BLUR(2), .border = PLAN_CONSTANT},
        {.captured = "GREY", .chain = "homomorphic | " BLUR(1), .border = PLAN_CONSTANT},
        {.captured = "GREY", .chain = "deflicker | " BLUR(2), .is_corrected = true},
        {.captured = "GREY", .chain = LENS " | " BLUR(2)},
        {.captured = "GREY", .chain = TURNED " | " BLUR(2)},
        {.captured = "GREY", .chain = "median | " BLUR(2)},
        {.captured = "GREY", .chain = BLUR(2), .view = VIEW_DIFFERENCE},
        {.captured = "NV12", .chain = BLUR(2), .view = VIEW_EDGES},
    };
    const bool is_midgard = device->midgard;
    (void)state;
    device->midgard = true;
    beside_check_as_on_a_gpu(&twice, scenes, sizeof scenes / sizeof scenes[0]);
    device->midgard = is_midgard;
}

/* ---- the choice ---------------------------------------------------------------------------- */

static void test_choice(void **state)
{
    const struct taps_reach blur = {
        .is_short = true, .radius = 7, .products = 1, .line = TAPS_SMALL};
    const struct taps_reach wide = {
        .is_short = true, .radius = 10, .products = 1, .line = TAPS_EVEN};
    struct taps_reach odd = blur, sharp = blur, two = blur;
    const struct taps_reach plain = {.is_short = true, .radius = 1};
    struct gpu_device mali = *device, other = *device;
    (void)state;
    mali.type = other.type = CL_DEVICE_TYPE_GPU;
    mali.midgard = true;
    other.midgard = false;
    odd.line = TAPS_ANY;
    sharp.has_middle = true;
    two.products = 2;
    assert_int_equal(tuner_choice(&mali, 1920, 1080, blur), TRANSFORM_TWICE);
    assert_int_equal(tuner_choice(&mali, 1920, 1080, wide), TRANSFORM_TWICE);
    assert_int_equal(tuner_choice(&mali, 1920, 1080, odd), TRANSFORM_STAGED);
    assert_int_equal(tuner_choice(&mali, 1920, 1080, sharp), TRANSFORM_STAGED);
    assert_int_equal(tuner_choice(&mali, 1920, 1080, two), TRANSFORM_STAGED);
    assert_int_equal(tuner_choice(&mali, 1920, 1080, plain), TRANSFORM_DIRECT);
    assert_int_not_equal(tuner_choice(&other, 1920, 1080, blur), TRANSFORM_TWICE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
