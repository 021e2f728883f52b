/* The table of corrections that a chain's stages make: against formulas written again, and what is
 * refused. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/cmocka.h"

#include "core/calibration.h"

#define MAX_PIXELS 400

static float gains[MAX_PIXELS], offsets[MAX_PIXELS];

static struct filter_chain chain_of(const char *text)
{
    struct filter_chain chain;
    struct error why = {""};
    if (filter_chain_parse(&chain, text, &why) < 0)
        fail_msg("%s", why.text);
    return chain;
}

static void fill(const struct filter_chain *chain, uint32_t width, uint32_t height)
{
    struct filter_calibration table = {
        .width = width, .height = height, .white = 255, .offset = offsets, .gain = gains};
    struct error why = {""};
    if (calibration_fill(&table, chain, &why) < 0)
        fail_msg("%s", why.text);
}

static void only_chains_that_correct_need_a_table(void **state)
{
    (void)state;
    const struct filter_chain plain = chain_of("gain | gaussian-blur:sigma=2");
    const struct filter_chain correcting = chain_of("gain | vignette:a=1,b=0");
    assert_false(calibration_is_needed(&(struct filter_chain){.count = 0}));
    assert_false(calibration_is_needed(&plain));
    assert_true(calibration_is_needed(&correcting));
    fill(&plain, 20, 20);
    for (unsigned i = 0; i < MAX_PIXELS; i++)
        assert_true(gains[i] == 1 && offsets[i] == 0);
}

/* The radius is 1 at the corner of the outermost pixel, so just below that in its middle. */
static void a_vignette_grows_with_the_radius(void **state)
{
    static const uint32_t sizes[][2] = {{20, 20}, {20, 10}, {7, 19}, {1, 1}};
    (void)state;
    const struct filter_chain chain = chain_of("vignette:a=0.4,b=-0.1 | vignette:a=0,b=1");
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const double width = sizes[s][0], height = sizes[s][1];
        fill(&chain, sizes[s][0], sizes[s][1]);
        for (unsigned y = 0; y < sizes[s][1]; y++)
            for (unsigned x = 0; x < sizes[s][0]; x++) {
                const double r = hypot(x + 0.5 - width / 2, y + 0.5 - height / 2) /
                                 sqrt(width * width / 4 + height * height / 4);
                const double expected = (1 + 0.4 * r * r - 0.1 * pow(r, 4)) * (1 + pow(r, 4));
                const double got = gains[y * sizes[s][0] + x];
                if (fabs(got - expected) > 1e-6)
                    fail_msg("%u, %u of %gx%g: %g, expected %g", x, y, width, height, got,
                             expected);
            }
    }
}

static void a_vignette_stays_in_range(void **state)
{
    static const char *const refused[] = {"vignette:a=-1,b=0", "vignette:a=4,b=4",
                                          "vignette:a=-4,b=4", "vignette:a=8,b=-0.5"};
    static const char *const allowed[] = {"vignette:a=-3.9,b=4", "vignette:a=3,b=4",
                                          "vignette:a=8,b=-3", "vignette:a=0,b=0"};
    struct filter_chain chain;
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct error why = {""};
        if (filter_chain_parse(&chain, refused[i], &why) != -EINVAL)
            fail_msg("%s is allowed", refused[i]);
        assert_non_null(strstr(why.text, "the gain is from"));
    }
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
        chain_of(allowed[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_chains_that_correct_need_a_table),
        cmocka_unit_test(a_vignette_grows_with_the_radius),
        cmocka_unit_test(a_vignette_stays_in_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
