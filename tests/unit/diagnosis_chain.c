/* diagnosis/diagnosis.h: whether what is proposed leaves a picture better than it was. */
#include "support/cmocka.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/clip.h"

#include "diagnosis/diagnosis.h"
#include "diagnosis/sector.h"

#define WIDTH    256u
#define HEIGHT   192u
#define PIXELS   (WIDTH * HEIGHT)
#define FRAMES   20u
#define INTERVAL 33433000 /* ns */

static float scene[PIXELS], fixed[PIXELS];

/* A scene like a photograph that stands still. Its vertical posts are cosines across the columns,
 * with random phases, frequencies up to `highest` and an rms of `posts` together. */
static void draw_scene(double posts, double highest)
{
    struct clip clip;
    uint64_t seed = 3;
    clip_make(&clip, CLIP_NATURAL, WIDTH, HEIGHT, false, 0, 41);
    clip_frame(&clip, 0, scene);
    clip_clear(&clip);
    for (unsigned k = 0; k < 16; k++) {
        const double f = 0.03 + (highest - 0.03) * k / 16, phase = clip_uniform(&seed, 0, 6);
        for (unsigned i = 0; i < PIXELS; i++)
            scene[i] += (float)(posts / sqrt(8) * cos(2 * M_PI * f * (i % WIDTH) + phase));
    }
    for (unsigned i = 0; i < PIXELS; i++)
        scene[i] = 40 + 0.7f * scene[i];
}

static void draw_stripes(double columns, unsigned hot)
{
    uint64_t seed = 8;
    float column[WIDTH];
    for (unsigned x = 0; x < WIDTH; x++)
        column[x] = (float)(columns * clip_normal(&seed));
    for (unsigned i = 0; i < PIXELS; i++)
        fixed[i] = column[i % WIDTH];
    for (unsigned i = 0; i < hot; i++)
        fixed[(size_t)clip_uniform(&seed, 0, PIXELS - 1)] = 90;
}

static double error_of(const float *luma)
{
    double sum = 0;
    for (unsigned i = 0; i < PIXELS; i++)
        sum += pow((double)luma[i] - (double)scene[i], 2);
    return sum / PIXELS;
}

/* Writes the finding of that kind. Returns the error after its stage, in that before. */
static double judge(enum diagnosis_kind kind, struct diagnosis_finding *ret)
{
    static float luma[PIXELS], before[PIXELS], after[PIXELS];
    static struct diagnosis_result result;
    const struct diagnosis_format format = {
        .width = WIDTH, .height = HEIGHT, .white = 255, .mosaic_step = 1};
    struct diagnosis *diagnosis;
    uint64_t seed = 5;
    double share = 1;
    assert_int_equal(diagnosis_create(&diagnosis, &format), 0);
    for (unsigned n = 0; n < FRAMES; n++) {
        for (unsigned i = 0; i < PIXELS; i++)
            luma[i] = rintf(scene[i] + fixed[i] + (float)(0.7 * clip_normal(&seed)));
        assert_int_equal(diagnosis_add(diagnosis, luma, 1 + (int64_t)n * INTERVAL), 0);
    }
    assert_int_equal(diagnosis_finish(diagnosis, &result, NULL, NULL), 0);
    *ret = (struct diagnosis_finding){.kind = DIAGNOSIS_KINDS};
    for (unsigned i = 0; i < result.count; i++)
        if (result.finding[i].kind == kind)
            *ret = result.finding[i];
    assert_int_equal(ret->kind, kind);
    if (diagnosis_preview(diagnosis, ret, before, after))
        share = error_of(after) / error_of(before);
    diagnosis_destroy(diagnosis);
    print_message("# %s: %.2f of the error\n", ret->stage, share);
    return share;
}

/* Where the scene has posts, a sector has to begin above them. */
static void a_sector_takes_less_than_the_stripes(void **state)
{
    (void)state;
    struct diagnosis_finding finding;
    draw_stripes(4, 0);
    draw_scene(0, 0);
    assert_true(judge(DIAGNOSIS_STRIPES, &finding) < 0.35);
    assert_non_null(strstr(finding.stage, "angle=0"));
    draw_scene(8, 0.12);
    assert_true(judge(DIAGNOSIS_STRIPES, &finding) < 0.8);
}

/* If nothing is gained, no stage is proposed. */
static void a_sector_that_takes_too_much_is_left_out(void **state)
{
    (void)state;
    struct filter_chain other = {0};
    char stage[SECTOR_TEXT];
    static float luma[PIXELS];
    draw_stripes(1, 0);
    for (unsigned turn = 0; turn < 2; turn++) {
        draw_scene(turn == 0 ? 0 : 40, 0.45);
        for (unsigned i = 0; i < PIXELS; i++)
            luma[i] = scene[i] + fixed[i];
        sector_choose(&(struct sector_view){.luma = luma,
                                            .width = WIDTH,
                                            .height = HEIGHT,
                                            .has_stripes = true,
                                            .stripes = 1,
                                            .other = &other},
                      stage);
        print_message("# '%s'\n", stage);
        assert_true(turn == 0 ? stage[0] != '\0' : stage[0] == '\0');
    }
}

/* What a median does to stripes is no loss. */
static void hot_pixels_are_replaced_beside_stripes(void **state)
{
    (void)state;
    struct diagnosis_finding finding;
    draw_scene(0, 0);
    draw_stripes(4, 60);
    assert_true(judge(DIAGNOSIS_HOT, &finding) < 0.7);
    assert_string_equal(finding.stage, "median");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sector_takes_less_than_the_stripes),
        cmocka_unit_test(a_sector_that_takes_too_much_is_left_out),
        cmocka_unit_test(hot_pixels_are_replaced_beside_stripes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
