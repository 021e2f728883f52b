/* Recipes: each row of a table takes part in equality, union, text and key; each row of a recipe's
 * table also in what a chain needs, which engines are refused, and the constants of kernels. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "support/chains.h"
#include "support/cmocka.h"

#include "filters/recipe.h"
#include "filters/warp.h"

static struct recipe recipe_for(const char *text, enum view_kind view)
{
    struct filter_chain chain;
    struct error why;
    const struct recipe settings = {.view = view};
    if (filter_chain_parse(&chain, text, &why) < 0)
        fail_msg("%s", why.text);
    return recipe_of(&chain, &settings);
}

/* ---- a member that somebody adds ---- */

struct extended {
    struct recipe recipe;
    bool embossed;
};

static void test_a_new_member_takes_part(void **state)
{
    struct recipe_member member[32];
    const struct recipe_table table = {member, recipe_table.count + 1};
    struct extended a = {.recipe.warped = true}, b = a;
    char text[64], key_a[RECIPE_KEY_BYTES], key_b[RECIPE_KEY_BYTES];
    (void)state;
    assert_true(table.count <= 32);
    memcpy(member, recipe_table.member, recipe_table.count * sizeof *member);
    member[recipe_table.count] =
        (struct recipe_member){.name = "embossed",
                               .offset = offsetof(struct extended, embossed),
                               .size = sizeof b.embossed,
                               .type = &recipe_flag};
    assert_true(recipe_table_equal(&table, &a, &b));
    b.embossed = true;
    assert_false(recipe_table_equal(&table, &a, &b));
    recipe_table_key(&table, &a, key_a);
    recipe_table_key(&table, &b, key_b);
    assert_string_not_equal(key_a, key_b);
    recipe_table_describe(&table, &b, text, sizeof text);
    assert_string_equal(text, ", warped, embossed");
    assert_true(recipe_table_unite(&table, &a, &b));
    assert_true(a.embossed);
}

/* ---- existing members ---- */

/* A field without a row in recipe.c leaves a row of zeros. */
static void test_every_field_has_a_row(void **state)
{
    (void)state;
    for (unsigned i = 0; i < recipe_table.count; i++) {
        const struct recipe_member *member = &recipe_table.member[i];
        if (member->name == NULL || member->type == NULL || member->size == 0)
            fail_msg("field %u of RECIPE_FIELDS has no row", i);
        for (unsigned k = 0; k < i; k++)
            assert_int_not_equal(member->offset, recipe_table.member[k].offset);
    }
}

/* Recipes that differ from the plain one in one number each. */
static const struct recipe variants[] = {
    {.precision = RECIPE_HALF},
    {.planes = RECIPE_ALL},
    {.view = VIEW_EDGES},
    {.edges = {.low = 0.1}},
    {.edges = {.high = 0.1}},
    {.captured = 1},
    {.captured_width = 1},
    {.captured_height = 1},
    {.stride = 2},
    {.demosaic = DEMOSAIC_GRADIENTS},
    {.complex_response = true},
    {.corrections = true},
    {.calibrated = true},
    {.warped = true},
    {.cubic = true},
    {.similarities = true},
    {.shifts = true},
    {.thresholds = true},
    {.median = true},
    {.binarise = 1},
    {.binarise = 2},
    {.reach = {.is_short = true}},
    {.reach = {.is_short = true, .radius = 3}},
    {.reach = {.is_short = true, .radius = 3, .products = 1}},
    {.reach = {.is_short = true, .radius = 3, .products = 1, .line = TAPS_EQUAL}},
    {.reach = {.is_short = true, .radius = 3, .products = 1, .has_middle = true}},
    {.reach = {.half_radius = 6}},
    {.chroma_reach = {.is_short = true}},
    {.denoise = {.block = 16}},
    {.denoise = {.overlap = 2}},
    {.denoise = {.passes = 1}},
    {.denoise = {.estimated = true}},
    {.denoise = {.past = 1}},
    {.denoise = {.unclips = true}},
    {.stack = STACK_MEANS},
    {.stack = STACK_CLIPS},
    {.stack = STACK_WEIGHS},
    {.weighs_details = true},
    {.curve = {.kind = CURVE_LOG}},
    {.curve = {.kind = CURVE_POWER}},
    {.curve = {.kind = CURVE_POWER, .power = 2}},
    {.curve = {.kind = CURVE_POWER, .offset = 0.1}},
    {.curve = {.kind = CURVE_POWER, .cut = 0.1}},
    {.curve = {.kind = CURVE_POWER, .slope = 0.1}},
    {.precision = RECIPE_FLOAT}, /* the plain one */
};

#define VARIANT_COUNT (sizeof variants / sizeof variants[0])

static void test_each_number_distinguishes_recipes(void **state)
{
    char key[VARIANT_COUNT][RECIPE_KEY_BYTES];
    (void)state;
    for (size_t i = 0; i < VARIANT_COUNT; i++) {
        recipe_key(&variants[i], key[i]);
        assert_true(recipe_equal(&variants[i], &variants[i]));
        assert_true(strlen(key[i]) + 100 < RECIPE_KEY_BYTES);
        for (size_t k = 0; k < i; k++)
            if (recipe_equal(&variants[i], &variants[k]) || strcmp(key[i], key[k]) == 0)
                fail_msg("\"%s\" and \"%s\"", key[i], key[k]);
    }
}

/* One chain for each need, and what is said about the engine for it. */
static const struct {
    const char *chain, *words;
    bool is_checked;
} needs[] = {
    {"lowpass:cutoff=0.1", "", false},
    {"gradient:along=x", ", complex response", true},
    {"deflicker", ", corrections", false},
    {"vignette:a=0.5,b=0", ", calibrated", true},
    {"undistort:fx=100,fy=100,cx=50,cy=50,k1=-0.1", ", warped", true},
    {"remap:image=even", ", warped", true},
    {"remap:image=even,interpolation=bicubic", ", warped, bicubic", true},
    {"soft-threshold:sigma=10", ", thresholds", true},
    {"stabilise", ", complex response, shifts", true},
    {"stabilise:model=similarity", ", similarities, bicubic", true},
    {"stabilise:model=similarity | remap:image=even", ", warped, similarities, bicubic", true},
    {"denoise:sigma=5", ", denoised", true},
    {"stack", ", similarities, bicubic, stacked, details weighed", true},
    {"stack:clip=3", ", similarities, bicubic, stacked, clipped, details weighed", true},
    {"stack:details=all", ", similarities, bicubic, stacked", true},
    {"stack:clip=3,details=all", ", similarities, bicubic, stacked, clipped", true},
    {"stack:power=8", ", similarities, bicubic, stacked by spectra", true},
    {"homomorphic", ", logarithmic", true},
    {"median", ", median", true},
    {"binarise:level=128", ", binarised", true},
};

static void test_chains_get_what_they_need(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        const struct recipe recipe = recipe_for(needs[i].chain, VIEW_PICTURE);
        char text[128];
        recipe_describe(&recipe, text, sizeof text);
        if (strcmp(text, needs[i].words) != 0)
            fail_msg("%s: \"%s\", expected \"%s\"", needs[i].chain, text, needs[i].words);
    }
    char text[128];
    const struct recipe peaks = recipe_for("none", VIEW_PEAKS);
    recipe_describe(&peaks, text, sizeof text);
    assert_string_equal(text, ", view peaks");
}

static void test_engines_refuse_what_they_lack(void **state)
{
    const struct recipe plain = {.view = VIEW_PICTURE};
    (void)state;
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        struct filter_chain chain;
        struct error why = {.text = ""};
        if (filter_chain_parse(&chain, needs[i].chain, &why) < 0)
            fail_msg("%s", why.text);
        const struct recipe recipe = recipe_of(&chain, &plain);
        assert_int_equal(recipe_check(&recipe, &chain, &why), 0);
        assert_int_equal(recipe_check(&plain, &chain, &why), needs[i].is_checked ? -EINVAL : 0);
        if (needs[i].is_checked)
            assert_non_null(strstr(why.text, "expected"));
        const struct filter_chain none = {.count = 0};
        assert_int_equal(recipe_check(&recipe, &none, &why), 0);
        /* An engine may do more than the chain needs, but not to samples that it does not want. */
        const bool is_otherwise = recipe.denoise.block > 0 || recipe.curve.kind != CURVE_NONE ||
                                  recipe.median || recipe.binarise > 0 || recipe.cubic;
        assert_int_equal(filter_chain_parse(&chain, "sharpen", &why), 0);
        assert_int_equal(recipe_check(&recipe, &chain, &why), is_otherwise ? -EINVAL : 0);
    }
}

static void test_only_flags_unite(void **state)
{
    struct recipe a = recipe_for("undistort:fx=100,fy=100,cx=50,cy=50,k1=-0.1", VIEW_PICTURE);
    const struct recipe b = recipe_for("gradient:along=x", VIEW_PICTURE);
    const struct recipe noise = recipe_for("denoise:sigma=5", VIEW_PICTURE);
    struct recipe median = recipe_for("median", VIEW_PICTURE);
    const struct recipe view = recipe_for("none", VIEW_EDGES);
    (void)state;
    assert_true(recipe_unite(&a, &b));
    assert_true(a.warped && a.complex_response);
    assert_false(recipe_unite(&median, &b)); /* it would take medians for both */
    assert_false(recipe_unite(&a, &noise));
    assert_false(recipe_unite(&a, &view));
}

/* A recipe that may be short, for frames captured in this format. */
static struct recipe short_recipe(const char *text, const char *format, enum recipe_planes planes,
                                  enum view_kind view)
{
    const struct recipe settings = {.planes = planes,
                                    .captured = format_by_name(format)->fourcc,
                                    .view = view,
                                    .reach.is_short = true,
                                    .chroma_reach.is_short = true};
    const struct filter_chain chain = chain_of(text);
    return recipe_of(&chain, &settings);
}

static void test_short_filters_have_a_reach(void **state)
{
    (void)state;
    struct recipe recipe = short_recipe("gaussian-blur:sigma=2", "NV12", RECIPE_LUMA, VIEW_PICTURE);
    assert_true(recipe.reach.is_short && recipe.reach.radius == 7 && recipe.reach.products == 1);
    assert_false(recipe.chroma_reach.is_short); /* it is not filtered */
    recipe = short_recipe("gaussian-blur:sigma=3", "YUYV", RECIPE_ALL, VIEW_DIFFERENCE);
    assert_true(recipe.reach.radius == 10 && recipe.chroma_reach.radius == 10); /* 1.5 x 3 */
    recipe = short_recipe("gaussian-blur:sigma=3", "NV12", RECIPE_ALL, VIEW_EDGES);
    assert_true(recipe.reach.radius == 10 && recipe.chroma_reach.radius == 7);
    assert_int_equal(recipe_of_chroma(&recipe).reach.radius, 7);
    recipe = short_recipe("gaussian-blur:sigma=2", "Y12", RECIPE_LUMA, VIEW_PICTURE);
    assert_int_equal(recipe.reach.radius, 10);
    recipe = short_recipe("gaussian-blur:sigma=2", "SRGGB12", RECIPE_ALL, VIEW_PICTURE);
    assert_int_equal(recipe.reach.radius, 7); /* it is demosaiced to 8 bits */
    assert_false(recipe.chroma_reach.is_short);

    /* What needs the spectrum, whatever H is. */
    static const char *const chains[] = {"soft-threshold:sigma=3", "stabilise",
                                         "notch:at=0.1/0.2,width=0.1"};
    for (unsigned i = 0; i < sizeof chains / sizeof chains[0]; i++)
        assert_false(short_recipe(chains[i], "GREY", RECIPE_LUMA, VIEW_PICTURE).reach.is_short);
    assert_true(short_recipe("none", "GREY", RECIPE_LUMA, VIEW_PICTURE).reach.is_short);
    /* A similarity is in the load. */
    assert_true(
        short_recipe("stabilise:model=similarity | sharpen", "GREY", RECIPE_LUMA, VIEW_PICTURE)
            .reach.is_short);
    assert_false(short_recipe("none", "GREY", RECIPE_LUMA, VIEW_SPECTRUM).reach.is_short);
    assert_false(short_recipe("none", "GREY", RECIPE_LUMA, VIEW_PEAKS).reach.is_short);
    assert_false(recipe_for("none", VIEW_PICTURE).reach.is_short); /* without the setting */
}

/* Where settings allow them, up to a radius; other filters of these settings are as before. */
static void test_wide_blurs_have_a_half_rate(void **state)
{
    struct recipe settings = {.planes = RECIPE_ALL,
                              .captured = format_by_name("NV12")->fourcc,
                              .reach = {.is_short = true, .half_radius = 8},
                              .chroma_reach = {.is_short = true, .half_radius = 8}};
    const struct filter_chain wide = chain_of("gaussian-blur:sigma=5");
    const struct filter_chain wider = chain_of("gaussian-blur:sigma=8");
    (void)state;
    struct recipe recipe = recipe_of(&wide, &settings);
    assert_true(recipe.reach.half_radius == 8 && !recipe.reach.is_short);
    assert_true(recipe.chroma_reach.half_radius == 0 && recipe.chroma_reach.is_short);
    assert_int_equal(recipe_check(&recipe, &wide, NULL), 0);
    recipe = recipe_of(&wider, &settings);
    assert_int_equal(recipe.reach.half_radius, 0);
    assert_int_equal(recipe.chroma_reach.half_radius, 6);
    assert_int_equal(recipe_check(&recipe, &wider, NULL), 0);
    settings.captured = format_by_name("Y16")->fourcc;
    assert_int_equal(recipe_of(&wide, &settings).reach.half_radius, 0);
    settings.captured = format_by_name("GREY")->fourcc;
    settings.view = VIEW_SPECTRUM;
    assert_int_equal(recipe_of(&wide, &settings).reach.half_radius, 0);
    settings.view = VIEW_PICTURE;
    settings.reach.half_radius = 0;
    assert_int_equal(recipe_of(&wide, &settings).reach.half_radius, 0);
}

static void test_reaches_unite(void **state)
{
    struct recipe a = short_recipe("none", "NV12", RECIPE_ALL, VIEW_PICTURE);
    const struct recipe b = short_recipe("laplacian", "NV12", RECIPE_ALL, VIEW_PICTURE);
    const struct filter_chain blur = chain_of("gaussian-blur:sigma=3");
    (void)state;
    assert_true(a.chroma_reach.is_short && b.reach.is_short && !b.chroma_reach.is_short);
    assert_true(recipe_unite(&a, &b));
    assert_true(a.reach.is_short && a.reach.radius == 1 && !a.chroma_reach.is_short);
    assert_int_equal(recipe_check(&a, &blur, NULL), -EINVAL);
    a.reach = (struct taps_reach){.is_short = false};
    assert_int_equal(recipe_check(&a, &blur, NULL), 0);
}

static void test_chroma_has_no_needs_of_brightness(void **state)
{
    struct recipe recipe = recipe_for("vignette:a=0.5,b=0 | homomorphic", VIEW_PICTURE);
    (void)state;
    recipe.warped = true;
    const struct recipe chroma = recipe_of_chroma(&recipe);
    assert_false(chroma.calibrated || chroma.curve.kind != CURVE_NONE);
    assert_true(chroma.warped);
    assert_int_equal(recipe_load_bytes(&recipe), 2 * sizeof(float) + 2 * sizeof(int16_t));
    assert_int_equal(recipe_load_bytes(&chroma), 2 * sizeof(int16_t));
}

static void test_kernels_get_their_constants(void **state)
{
    const struct recipe recipe = {.warped = true, .thresholds = true};
    char all[RECIPE_CONSTANT_BYTES], load[RECIPE_CONSTANT_BYTES];
    (void)state;
    recipe_constants(&recipe, false, all);
    recipe_constants(&recipe, true, load);
    assert_non_null(strstr(all, "#define WARP_TABLE 1\n"));
    assert_non_null(strstr(all, "#define THRESHOLDS 1\n"));
    assert_non_null(strstr(all, "#define CALIBRATED 0\n"));
    assert_string_equal(load, "#define CORRECTIONS 0\n#define CALIBRATED 0\n#define WARP_TABLE 1\n"
                              "#define SIMILARITIES 0\n#define CUBIC 0\n#define MEDIAN 0\n");
}

/* ---- what suits frames ---- */

static bool has_kind(const struct filter_chain *chain, const char *name)
{
    for (unsigned i = 0; i < chain->count; i++)
        if (strcmp(chain->stage[i].kind->name, name) == 0)
            return true;
    return false;
}

/* Whether a chain stabilises with that model: 0 shift, 1 similarity. */
static bool stabilises(const struct filter_chain *chain, double model)
{
    for (unsigned i = 0; i < chain->count; i++)
        if (strcmp(chain->stage[i].kind->name, "stabilise") == 0 &&
            chain->stage[i].value[2].number == model)
            return true;
    return false;
}

/* What is said about a chain and frames, in the order of the check; NULL: nothing. Lenses are left
 * out. The images of random chains are smaller than any frame. */
static const char *expected_refusal(const struct recipe *recipe, const struct fftd_format *format,
                                    const struct filter_chain *chain)
{
    const enum pixel_family family = format_by_fourcc(format->fourcc)->family;
    const bool leaves_colour = recipe->planes == RECIPE_LUMA && view_has_picture(recipe->view);
    if (format->width < 16 || format->height < 16 || format->width > 8192 || format->height > 8192)
        return "cannot be filtered: expected 16x16 .. 8192x8192";
    const bool turns = stabilises(chain, 1) || has_kind(chain, "stack");
    const bool moves = has_kind(chain, "undistort") || has_kind(chain, "remap") || turns;
    if (leaves_colour &&
        ((moves && family == FAMILY_YUV) || (stabilises(chain, 0) && family != FAMILY_GREY)))
        return "moves pixels, but engine.planes = luma";
    if (has_kind(chain, "dark") || has_kind(chain, "flat"))
        return "as the camera's frames";
    if (has_kind(chain, "remap"))
        return "all columns above all rows";
    return NULL;
}

#define LONGEST_TABLE 96 /* pixels of a side */

/* Whether the engine's table of moved pixels can be computed for luma. */
static bool has_table(const struct filter_chain *chain, const struct fftd_format *format)
{
    static int16_t table[LONGEST_TABLE * LONGEST_TABLE][2];
    const struct warp_image image = {.width = format->width,
                                     .height = format->height,
                                     .frame_width = format->width,
                                     .frame_height = format->height,
                                     .sub_x = 1,
                                     .sub_y = 1};
    return warp_fill(table, &image, chain, NULL) == 0;
}

static void test_random_chains_and_frames(void **state)
{
    static const uint32_t sides[] = {1, 7, 15, 16, 17, 62, 96, 8192, 8193};
    unsigned format_count, refused = 0, lenses = 0;
    const struct format_info *formats = format_table(&format_count);
    uint64_t seed = 17;
    (void)state;
    for (unsigned trial = 0; trial < 20000; trial++) {
        struct error why = {""};
        struct filter_chain chain;
        random_chain(&chain, &seed);
        chain.count = chain.count < 4 ? chain.count : 4; /* or nearly all would be refused */
        const struct fftd_format format = {.fourcc =
                                               formats[random_bits(&seed) % format_count].fourcc,
                                           .width = sides[random_bits(&seed) % 9],
                                           .height = sides[random_bits(&seed) % 9]};
        const struct recipe recipe = {.planes = (enum recipe_planes)(random_bits(&seed) % 3),
                                      .view = (enum view_kind)(random_bits(&seed) % VIEW_COUNT),
                                      .precision =
                                          random_bits(&seed) % 2 ? RECIPE_HALF : RECIPE_FLOAT};
        const char *expected = expected_refusal(&recipe, &format, &chain);
        const int r = recipe_check_frames(&recipe, &format, &chain, &why);
        char text[FILTER_TEXT_BYTES];
        filter_chain_print(&chain, text, sizeof text);
        if (expected != NULL && (r != -EINVAL || strstr(why.text, expected) == NULL))
            fail_msg("%s, %ux%u: \"%s\", expected \"%s\"", text, format.width, format.height,
                     why.text, expected);
        /* Only a lens can refuse anything else, and only if its table cannot be computed. */
        const bool is_small = format.width <= LONGEST_TABLE && format.height <= LONGEST_TABLE;
        if (expected == NULL && r < 0 &&
            (!has_kind(&chain, "undistort") || (is_small && has_table(&chain, &format))))
            fail_msg("%s, %ux%u: %s", text, format.width, format.height, why.text);
        refused += r < 0;
        lenses += expected == NULL && r < 0;
    }
    assert_in_range(refused, 5000, 19000);
    assert_in_range(lenses, 10, 5000);
}

/* What is captured counts, not what is published. */
static void test_captured_frames_count(void **state)
{
    const struct fftd_format published = {
        .fourcc = format_by_name("GREY")->fourcc, .width = 64, .height = 48};
    struct recipe recipe = {.planes = RECIPE_LUMA};
    struct filter_chain chain;
    (void)state;
    assert_int_equal(filter_chain_parse(&chain, "stabilise", NULL), 0);
    assert_int_equal(recipe_check_frames(&recipe, &published, &chain, NULL), 0);
    recipe.captured = format_by_name("NV12")->fourcc;
    assert_int_equal(recipe_check_frames(&recipe, &published, &chain, NULL), -EINVAL);
    recipe.captured = 1;
    assert_int_equal(recipe_check_frames(&recipe, &published, &chain, NULL), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_member_takes_part),
        cmocka_unit_test(test_every_field_has_a_row),
        cmocka_unit_test(test_each_number_distinguishes_recipes),
        cmocka_unit_test(test_chains_get_what_they_need),
        cmocka_unit_test(test_engines_refuse_what_they_lack),
        cmocka_unit_test(test_only_flags_unite),
        cmocka_unit_test(test_short_filters_have_a_reach),
        cmocka_unit_test(test_wide_blurs_have_a_half_rate),
        cmocka_unit_test(test_reaches_unite),
        cmocka_unit_test(test_chroma_has_no_needs_of_brightness),
        cmocka_unit_test(test_kernels_get_their_constants),
        cmocka_unit_test(test_random_chains_and_frames),
        cmocka_unit_test(test_captured_frames_count),
    };
    chains_use_images();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
