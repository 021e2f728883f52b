/* The table of corrections that a chain's stages make: against formulas written again, and what is
 * refused. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/chains.h"

#include "filters/calibration.h"

#define MAX_PIXELS 400

static float gains[MAX_PIXELS], offsets[MAX_PIXELS];
static uint8_t is_bad[MAX_PIXELS];

/* ---- images ---- */

#define WIDTH  20
#define HEIGHT 16
#define PIXELS (WIDTH * HEIGHT)

static struct filter_image *images[2];

static int load(const struct filter_image **ret, const char *name, struct error *why)
{
    for (unsigned i = 0; i < 2; i++)
        if (images[i] != NULL && strcmp(images[i]->name, name) == 0) {
            *ret = images[i];
            return 0;
        }
    return error_set(why, ENOENT, "no image %s", name);
}

/* A frame of one level; pixels may be set afterwards. Drawn again in the same size, it stays where
 * it is, because chains refer to it. */
static float *draw(unsigned number, const char *name, unsigned width, unsigned height, double level)
{
    struct filter_image *image = images[number];
    const size_t bytes = sizeof *image + (size_t)width * height * sizeof(float);
    if (image == NULL || image->columns != width || image->rows != height)
        image = images[number] = realloc(image, bytes);
    memset(image, 0, sizeof *image);
    snprintf(image->name, sizeof image->name, "%s", name);
    image->columns = width;
    image->rows = height;
    image->lowest = image->highest = (float)level;
    for (unsigned i = 0; i < width * height; i++)
        image->pixel[i] = (float)level;
    return image->pixel;
}

static void forget_images(void)
{
    for (unsigned i = 0; i < 2; i++) {
        filter_image_destroy(images[i]);
        images[i] = NULL;
    }
}

static int try_fill(const struct filter_chain *chain, uint32_t width, uint32_t height,
                    uint32_t cell, struct error *why)
{
    struct filter_calibration table = {.width = width,
                                       .height = height,
                                       .cell = cell,
                                       .white = 255,
                                       .offset = offsets,
                                       .gain = gains,
                                       .is_bad = is_bad};
    return calibration_fill(&table, chain, why);
}

static void fill(const struct filter_chain *chain, uint32_t width, uint32_t height)
{
    struct error why = {""};
    if (try_fill(chain, width, height, 1, &why) < 0)
        fail_msg("%s", why.text);
}

static void assert_near(double got, double expected)
{
    if (fabs(got - expected) > 1e-4)
        fail_msg("%g, expected %g", got, expected);
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

/* What is in the table gives (sample - dark) * mean / (flat - dark) + pedestal. */
static void dark_and_flat_frames_make_the_table(void **state)
{
    (void)state;
    float *dark = draw(0, "d.pfm", WIDTH, HEIGHT, 0), *flat = draw(1, "f.pfm", WIDTH, HEIGHT, 0);
    double mean = 0;
    for (unsigned i = 0; i < PIXELS; i++) {
        dark[i] = (float)(0.04 + 0.01 * sin(i));
        flat[i] = (float)(0.5 + 0.1 * cos(0.7 * i));
        mean += 255 * ((double)flat[i] - (double)dark[i]) / PIXELS;
    }
    const struct filter_chain both =
        chain_of("flat:image=f.pfm | gain | dark:image=d.pfm,pedestal=0.1");
    fill(&both, WIDTH, HEIGHT);
    for (unsigned i = 0; i < PIXELS; i++) {
        const double black = 255 * (double)dark[i];
        const double light = 255 * (double)flat[i] - black;
        assert_near((100 - (double)offsets[i]) * (double)gains[i],
                    (100 - black) * mean / light + 25.5);
    }
    const struct filter_chain alone = chain_of("flat:image=f.pfm");
    fill(&alone, WIDTH, HEIGHT);
    assert_near(offsets[7], 0);
    assert_near((double)gains[7] * (double)flat[7], (double)gains[8] * (double)flat[8]);
    forget_images();
}

/* Each colour of a mosaic has a mean of its own, so that the lamp keeps its colour. */
static void a_mosaic_keeps_the_colour_of_the_light(void **state)
{
    (void)state;
    float *flat = draw(1, "f.pfm", WIDTH, HEIGHT, 0.2);
    struct error why = {""};
    for (unsigned i = 0; i < PIXELS; i += 2)
        flat[i] = i / WIDTH % 2 == 0 ? 0.4F : 0.7F;
    flat[0] = 0.8F;
    const struct filter_chain chain = chain_of("flat:image=f.pfm");
    assert_int_equal(try_fill(&chain, WIDTH, HEIGHT, 2, &why), 0);
    assert_near(gains[1], 1);
    assert_near(gains[WIDTH], 1);
    assert_near(gains[0], (0.4 + 0.4 / (PIXELS / 4.)) / 0.8);
    forget_images();
}

static void gains_are_limited(void **state)
{
    (void)state;
    float *flat = draw(1, "f.pfm", WIDTH, HEIGHT, 0.4);
    const struct filter_chain chain = chain_of("flat:image=f.pfm,limit=2,dead=0");
    flat[5] = 0;
    flat[6] = 0.05F;
    flat[7] = 1;
    fill(&chain, WIDTH, HEIGHT);
    assert_near(gains[5], 2);
    assert_near(gains[6], 2);
    assert_near(gains[7], 0.5);
    forget_images();
}

static void pixels_that_stand_out_are_replaced(void **state)
{
    static const int around[] = {1, -1, WIDTH, -WIDTH};
    static const unsigned hot[] = {0, 3 * WIDTH + 5, 3 * WIDTH + 6, PIXELS - 1};
    struct error why = {""};
    (void)state;
    float *dark = draw(0, "d.pfm", WIDTH, HEIGHT, 0.02),
          *flat = draw(1, "f.pfm", WIDTH, HEIGHT, 0.5);
    for (unsigned i = 0; i < sizeof hot / sizeof hot[0]; i++)
        dark[hot[i]] = 0.3F;
    for (unsigned x = 10; x < WIDTH; x++) /* a step is no bad pixel */
        for (unsigned y = 8; y < HEIGHT - 1; y++)
            dark[y * WIDTH + x] = 0.15F;
    flat[9 * WIDTH + 3] = 0.05F;
    const struct filter_chain both = chain_of("dark:image=d.pfm | flat:image=f.pfm");
    const struct filter_chain neither =
        chain_of("dark:image=d.pfm,hot=1 | flat:image=f.pfm,dead=0");
    fill(&both, WIDTH, HEIGHT);
    for (unsigned i = 0; i < PIXELS; i++) {
        bool expected = i == 9 * WIDTH + 3;
        for (unsigned k = 0; k < sizeof hot / sizeof hot[0]; k++)
            expected |= hot[k] == i;
        if ((gains[i] == 0) != expected)
            fail_msg("pixel %u, %u is %s", i % WIDTH, i / WIDTH, expected ? "kept" : "replaced");
    }
    fill(&neither, WIDTH, HEIGHT);
    for (unsigned i = 0; i < PIXELS; i++)
        assert_true(gains[i] > 0);

    /* In a mosaic the neighbours are two pixels away; a cross of bad ones leaves none in its
     * middle, which is corrected like any other. */
    draw(0, "d.pfm", WIDTH, HEIGHT, 0.02);
    images[0]->pixel[4 * WIDTH + 4] = images[0]->pixel[4 * WIDTH + 5] = 0.4F;
    assert_int_equal(try_fill(&both, WIDTH, HEIGHT, 2, &why), 0);
    assert_true(gains[4 * WIDTH + 4] == 0 && gains[4 * WIDTH + 5] == 0);
    draw(0, "d.pfm", WIDTH, HEIGHT, 0.02)[4 * WIDTH + 4] = 0.3F;
    for (unsigned i = 0; i < 4; i++)
        flat[4 * WIDTH + 4 + around[i]] = 0.05F;
    fill(&both, WIDTH, HEIGHT);
    assert_true(gains[4 * WIDTH + 4] > 0);
    assert_true(gains[3 * WIDTH + 4] == 0 && gains[4 * WIDTH + 5] == 0);
    forget_images();
}

/* `fftd-ctl calibrate stripes` writes such an image. */
static void a_pattern_about_0_keeps_the_brightness(void **state)
{
    (void)state;
    float *dark = draw(0, "d.pfm", WIDTH, HEIGHT, 0);
    for (unsigned i = 0; i < PIXELS; i++)
        dark[i] = i % 2 == 0 ? -0.02F : 0.02F;
    images[0]->lowest = -0.02F;
    images[0]->highest = 1;
    dark[7 * WIDTH] = dark[7 * WIDTH + 5] = dark[7 * WIDTH + 6] = dark[8 * WIDTH + 5] = 1;
    dark[8 * WIDTH + 6] = 1; /* four together, of which none stands out of enough neighbours */
    const struct filter_chain chain = chain_of("dark:image=d.pfm"),
                              raised = chain_of("dark:image=d.pfm,pedestal=0.1"),
                              kept = chain_of("dark:image=d.pfm,hot=1");
    fill(&chain, WIDTH, HEIGHT);
    for (unsigned i = 0; i < PIXELS; i++) {
        assert_true((gains[i] == 0) == (dark[i] == 1));
        if (gains[i] > 0)
            assert_near(offsets[i], 255 * (double)dark[i]);
    }
    fill(&raised, WIDTH, HEIGHT);
    assert_near(offsets[0], 255 * (-0.02 - 0.1));
    fill(&kept, WIDTH, HEIGHT);
    for (unsigned i = 0; i < PIXELS; i++)
        assert_true(gains[i] > 0);
    forget_images();
}

static void images_that_do_not_fit_are_refused(void **state)
{
    static const struct {
        const char *chain;
        unsigned dark_width;
        double dark, flat;
        const char *expected;
    } cases[] = {
        {"dark:image=d.pfm", WIDTH + 1, 0, 1, "dark: image d.pfm has 21x16 pixels: expected 20x16"},
        {"gain | dark:image=d.pfm | flat:image=f.pfm", WIDTH, 0.5, 0.5,
         "flat: image f.pfm is not brighter than the dark frame"},
        {"flat:image=f.pfm", WIDTH, 0, 0, "flat: image f.pfm is not brighter"},
    };
    struct filter_chain chain;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error why = {""};
        draw(0, "d.pfm", cases[i].dark_width, HEIGHT, cases[i].dark);
        draw(1, "f.pfm", WIDTH, HEIGHT, cases[i].flat);
        chain = chain_of(cases[i].chain);
        assert_int_equal(try_fill(&chain, WIDTH, HEIGHT, 1, &why), -EINVAL);
        if (strstr(why.text, cases[i].expected) == NULL)
            fail_msg("%s", why.text);
    }
    static const struct {
        const char *chain;
        float level;
        const char *expected;
    } levels[] = {
        {"dark:image=d.pfm", -1.01F, "is -1.01: expected -1 .. 1"},
        {"dark:image=d.pfm", 1.01F, "is 1.01: expected -1 .. 1"},
        {"flat:image=d.pfm", -0.01F, "is -0.01: expected 0 .. 1"},
        {"flat:image=d.pfm", 1.01F, "is 1.01: expected 0 .. 1"},
    };
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        struct error why = {""};
        draw(0, "d.pfm", WIDTH, HEIGHT, 0.5)[WIDTH + 2] = levels[i].level;
        images[0]->lowest = fminf(0.5F, levels[i].level);
        images[0]->highest = fmaxf(0.5F, levels[i].level);
        assert_int_equal(filter_chain_parse(&chain, levels[i].chain, &why), -EINVAL);
        assert_non_null(strstr(why.text, "column 3 of row 2 of image d.pfm"));
        if (strstr(why.text, levels[i].expected) == NULL)
            fail_msg("%s", why.text);
    }
    forget_images();
}

int main(void)
{
    filter_image_set_loader(load);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_chains_that_correct_need_a_table),
        cmocka_unit_test(a_vignette_grows_with_the_radius),
        cmocka_unit_test(a_vignette_stays_in_range),
        cmocka_unit_test(dark_and_flat_frames_make_the_table),
        cmocka_unit_test(a_mosaic_keeps_the_colour_of_the_light),
        cmocka_unit_test(gains_are_limited),
        cmocka_unit_test(pixels_that_stand_out_are_replaced),
        cmocka_unit_test(a_pattern_about_0_keeps_the_brightness),
        cmocka_unit_test(images_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
