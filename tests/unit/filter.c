/* Chains as text: every chain comes back from its own text, and every refusal says what is wrong
 * and what would be right. The maths is in filter_response.c. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/chains.h"
#include "support/cmocka.h"

#include "filters/filter_adapt.h"
#include "filters/filter.h"
#include "filters/filter_value.h"
#include "core/text.h"

static void the_table_is_sound(void **state)
{
    (void)state;
    unsigned count;
    const struct filter_kind *const *kinds = filter_kinds(&count);
    for (unsigned i = 0; i < count; i++) {
        const struct filter_kind *kind = kinds[i];
        assert_ptr_equal(filter_kind_by_name(kind->name), kind); /* so names are unique */
        assert_int_equal(strspn(kind->name, "abcdefghijklmnopqrstuvwxyz-"), strlen(kind->name));
        assert_true(strlen(kind->summary) > 0);
        assert_non_null(kind->formula);
        assert_true(strncmp(kind->formula, "H = ", 4) == 0);
        assert_true(kind->response == NULL || kind->complex_response == NULL);
        assert_true(kind->response != NULL || kind->complex_response != NULL ||
                    kind->image_response != NULL || kind->curve != NULL || kind->denoise != NULL ||
                    kind->threshold != NULL || kind->takes_median || kind->binarise != NULL ||
                    kind->add_offsets != NULL || kind->multiply_gains != NULL ||
                    kind->origin != NULL ||
                    kind->adapts != FILTER_ADAPTS_NOT); /* it does something */
        assert_true(kind->is_real == NULL || kind->complex_response != NULL ||
                    kind->image_response != NULL);
        struct filter_chain example;
        struct error why = {""};
        if (strstr(kind->example, "image=") == NULL &&
            filter_chain_parse(&example, kind->example, &why) < 0)
            fail_msg("%s: %s", kind->example, why.text);
        for (unsigned p = 0; p < filter_param_count(kind); p++) {
            const struct filter_param *param = &kind->param[p];
            assert_non_null(param->name);
            assert_int_equal(filter_param_index(kind, param->name), (int)p);
            assert_true(strlen(param->summary) > 0);
            char expects[FILTER_EXPECTS_BYTES];
            assert_true(strlen(filter_value_expects(expects, param)) < sizeof expects - 1);
            if (param->type == FILTER_CHOICE)
                assert_non_null(param->choices[(unsigned)param->initial]);
            else if (!param->required && !isnan(param->initial))
                assert_true(param->initial >= param->min && param->initial <= param->max);
            if (param->type != FILTER_CHOICE && param->type != FILTER_BOOL &&
                param->type != FILTER_IMAGE)
                assert_true(param->min < param->max);
        }
        for (unsigned p = filter_param_count(kind); p < FILTER_MAX_PARAMS; p++)
            assert_null(kind->param[p].name);
    }
    assert_null(filter_kind_by_name("none"));
}

static void nothing_is_the_empty_chain(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "   ", "none", " none\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct filter_chain chain = {.count = 7};
        char text[FILTER_TEXT_BYTES];
        assert_int_equal(filter_chain_parse(&chain, texts[i], NULL), 0);
        assert_int_equal(chain.count, 0);
        filter_chain_print(&chain, text, sizeof text);
        assert_string_equal(text, "none");
    }
}

static void text_becomes_stages(void **state)
{
    (void)state;
    struct filter_chain chain;
    struct error why = {""};
    const char *text =
        " lowpass : cutoff = 0.1 , shape=ideal|notch:at=0.25/-0.125,width=1e-2|sharpen ";
    if (filter_chain_parse(&chain, text, &why) != 0)
        fail_msg("%s", why.text);
    assert_int_equal(chain.count, 3);
    assert_string_equal(chain.stage[0].kind->name, "lowpass");
    assert_true(chain.stage[0].value[filter_param_index(chain.stage[0].kind, "cutoff")].number ==
                0.1);
    assert_true(chain.stage[0].value[filter_param_index(chain.stage[0].kind, "order")].number == 2);
    struct filter_value at = chain.stage[1].value[filter_param_index(chain.stage[1].kind, "at")];
    assert_true(at.number == 0.25 && at.second == -0.125);

    char printed[FILTER_TEXT_BYTES];
    filter_chain_print(&chain, printed, sizeof printed);
    assert_string_equal(printed, "lowpass:shape=ideal,cutoff=0.1,order=2 | "
                                 "notch:at=0.25/-0.125,width=0.01,shape=gaussian,order=2 | "
                                 "sharpen:amount=1,sigma=1");
}

static void chains_come_back_from_their_text(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int i = 0; i < 3000; i++) {
        struct filter_chain chain, back;
        struct error why = {""};
        char text[FILTER_TEXT_BYTES], again[FILTER_TEXT_BYTES];
        random_chain(&chain, &random);
        filter_chain_print(&chain, text, sizeof text);
        if (filter_chain_parse(&back, text, &why) != 0)
            fail_msg("%s: %s", text, why.text);
        assert_int_equal(back.count, chain.count);
        for (unsigned s = 0; s < chain.count; s++) {
            assert_ptr_equal(back.stage[s].kind, chain.stage[s].kind);
            assert_memory_equal(back.stage[s].value, chain.stage[s].value,
                                sizeof chain.stage[s].value);
            struct filter_stage stage;
            print_stage(&chain.stage[s], text, sizeof text);
            assert_int_equal(filter_stage_parse(&stage, text, NULL), 0);
            assert_memory_equal(stage.value, chain.stage[s].value, sizeof stage.value);
        }
        filter_chain_print(&back, text, sizeof text);
        filter_chain_print(&chain, again, sizeof again);
        assert_string_equal(text, again);
    }
}

/* The number of a parameter's range that has the longest text. */
static double longest_number(const struct filter_param *param)
{
    char text[TEXT_NUMBER_BYTES];
    size_t length = 0;
    if (param->min < 0)
        return -DBL_MIN; /* 17 digits, two signs, and an exponent of three digits */
    if (param->min == 0)
        return DBL_MIN;
    double longest = param->min, number = param->min;
    for (unsigned i = 0; i < 100; i++) {
        number = nextafter(number, INFINITY);
        text_from_number(number, text, sizeof text);
        if (strlen(text) > length)
            longest = number;
        length = strlen(text) > length ? strlen(text) : length;
    }
    return longest;
}

static unsigned longest_choice(const struct filter_param *param)
{
    unsigned longest = 0;
    for (unsigned c = 0; param->choices[c] != NULL; c++)
        if (strlen(param->choices[c]) > strlen(param->choices[longest]))
            longest = c;
    return longest;
}

static void chains_are_compared(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "none",
        "lowpass:cutoff=0.1",
        "lowpass:cutoff=0.2",
        "lowpass:cutoff=0.1,shape=ideal",
        "highpass:cutoff=0.1",
        "notch:at=0.25/0,width=0.01",
        "notch:at=0.25/0.1,width=0.01",
        "lowpass:cutoff=0.1 | sharpen",
        "sharpen | lowpass:cutoff=0.1",
    };
    const size_t count = sizeof texts / sizeof texts[0];
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            struct filter_chain a, b;
            memset(&a, 0x55, sizeof a);
            memset(&b, 0xaa, sizeof b);
            assert_int_equal(filter_chain_parse(&a, texts[i], NULL), 0);
            assert_int_equal(filter_chain_parse(&b, texts[j], NULL), 0);
            assert_int_equal(filter_chain_equal(&a, &b), i == j);
        }
    }
}

static void longest_kernel(struct filter_kernel *ret)
{
    ret->rows = ret->columns = FILTER_KERNEL_SIDE;
    for (unsigned y = 0; y < ret->rows; y++)
        for (unsigned x = 0; x < ret->columns; x++)
            ret->value[y][x] = -1.17549449e-38f;
}

/* FILTER_TEXT_BYTES keeps its promise for the worst chain there can be. */
static void the_longest_chain_fits(void **state)
{
    (void)state;
    chains_use_images();
    unsigned count;
    const struct filter_kind *const *kinds = filter_kinds(&count);
    for (unsigned i = 0; i < count; i++) {
        struct filter_stage stage;
        filter_stage_init(&stage, kinds[i]);
        for (unsigned p = 0; p < filter_param_count(kinds[i]); p++) {
            const struct filter_param *param = &kinds[i]->param[p];
            const double number = param->type == FILTER_CHOICE ? longest_choice(param)
                                  : param->type == FILTER_BOOL || param->type == FILTER_IMAGE
                                      ? false
                                      : longest_number(param);
            stage.value[p] = (struct filter_value){number, number};
            if (param->type == FILTER_IMAGE && param->required)
                assert_int_equal(filter_image_load(&stage.image, "even", NULL), 0);
            if (param->type == FILTER_KERNEL)
                longest_kernel(&stage.kernel);
        }
        const bool is_alone = kinds[i]->curve != NULL || kinds[i]->denoise != NULL ||
                              kinds[i]->threshold != NULL || kinds[i]->origin != NULL ||
                              kinds[i]->takes_median || kinds[i]->binarise != NULL ||
                              kinds[i]->adapts != FILTER_ADAPTS_NOT; /* a chain has one at most */
        const bool is_template = kinds[i]->has_image_response != NULL;
        struct filter_chain chain = {.count = is_alone      ? 1
                                              : is_template ? FILTER_MAX_MATCHES
                                                            : FILTER_MAX_STAGES},
                            back;
        for (unsigned s = 0; s < chain.count; s++)
            chain.stage[s] = stage;
        char text[4 * FILTER_TEXT_BYTES];
        struct error why = {""};
        filter_chain_print(&chain, text, sizeof text);
        if (strlen(text) >= FILTER_TEXT_BYTES)
            fail_msg("%s needs %zu bytes", kinds[i]->name, strlen(text) + 1);
        if (stage.kind->check != NULL && stage.kind->check(&stage, NULL) < 0)
            continue; /* such as a band whose two edges are equal */
        if (filter_chain_parse(&back, text, &why) < 0)
            fail_msg("%s: %s", text, why.text);
        assert_true(filter_chain_equal(&chain, &back));
    }
}

static void a_short_buffer_is_not_overrun(void **state)
{
    (void)state;
    struct filter_chain chain;
    char text[16];
    assert_int_equal(filter_chain_parse(&chain, "lowpass:cutoff=0.1 | sharpen", NULL), 0);
    memset(text, 'x', sizeof text);
    filter_chain_print(&chain, text, 12);
    assert_string_equal(text, "lowpass:sha");
    assert_int_equal(text[12], 'x');
}

static const struct {
    const char *text;
    const char *says[3];
} refusals[] = {
    {"denoise:shot=2", {"shot = 2 without sigma", "expected a sigma greater than 0"}},
    {"denoise:sigma=9 | gain | denoise", {"stage 3", "has denoise already", "at most one"}},
    {"soft-threshold:strength=2", {"soft-threshold", "sigma"}},
    {"soft-threshold:sigma=9 | soft-threshold:sigma=9", {"stage 2", "soft-threshold already"}},
    {"denoise:block=16,temporal=64", {"denoise: temporal", "64", "63"}},
    {"denoise:block=24", {"denoise: block", "24", "16"}},
    {"lowpas:cutoff=0.1",
     {"unknown filter lowpas", "lowpass, highpass, bandpass", "did you mean lowpass?"}},
    {"xyzzy", {"unknown filter xyzzy", "expected one of"}},
    {"none | sharpen", {"stage 1", "unknown filter none"}},
    {"lowpass:cutof=0.1",
     {"lowpass: unknown parameter cutof", "shape, cutoff, order", "did you mean cutoff?"}},
    {"lowpass", {"lowpass: cutoff is missing", "0.0001 .. 0.5 cycles/pixel"}},
    {"lowpass:", {"lowpass", "expected NAME=VALUE"}},
    {"lowpass:cutoff", {"lowpass: cutoff", "expected NAME=VALUE"}},
    {"lowpass:cutoff=", {"lowpass: cutoff = ''", "is not a number"}},
    {"lowpass:cutoff=0.1,", {"lowpass", "expected NAME=VALUE"}},
    {"lowpass:cutoff=0.7",
     {"lowpass: cutoff = 0.7 is out of range: expected 0.0001 .. 0.5 cycles/pixel"}},
    {"lowpass:cutoff=-0.1", {"cutoff = -0.1 is out of range"}},
    {"lowpass:cutoff=0", {"cutoff = 0 is out of range"}},
    {"lowpass:cutoff=nan", {"cutoff = nan is not a number"}},
    {"lowpass:cutoff=inf", {"cutoff = inf is not a number"}},
    {"lowpass:cutoff=1e999", {"cutoff = 1e999 is out of range"}},
    {"lowpass:cutoff=0.1abc", {"cutoff = 0.1abc is not a number"}},
    {"lowpass:cutoff=0x1p-3", {"is not a number"}},
    {"lowpass:cutoff=0,1", {"cutoff = 0 is out of range"}},
    {"lowpass:cutoff=0.1,cutoff=0.2", {"lowpass: cutoff is given twice"}},
    {"lowpass:cutoff=0.1,shape=round",
     {"shape = round is not known", "ideal, butterworth or gaussian"}},
    {"lowpass:cutoff=0.1,shape=Gaussian", {"shape = Gaussian is not known"}},
    {"lowpass:cutoff=0.1,order=11", {"order = 11 is out of range: expected 1 .. 10"}},
    {"bandpass:low=0.2,high=0.1", {"bandpass: low = 0.2 must be below high = 0.1"}},
    {"bandstop:low=0.2,high=0.2", {"bandstop: low = 0.2 must be below high = 0.2"}},
    {"bandpass:low=0.2", {"bandpass: high is missing"}},
    {"notch:width=0.01", {"notch: at is missing", "x/y, each -0.5 .. 0.5 cycles/pixel"}},
    {"notch:at=0.25/0", {"notch: width is missing"}},
    {"notch:at=0.25,width=0.01", {"at = 0.25 is not a pair", "x/y"}},
    {"notch:at=0.25/,width=0.01", {"at = 0.25/ is not a pair"}},
    {"notch:at=/0.25,width=0.01", {"at = /0.25 is not a pair"}},
    {"notch:at=0.1/0.2/0.3,width=0.01", {"is not a pair"}},
    {"notch:at=nan/0,width=0.01", {"at = nan/0 is not a pair"}},
    {"notch:at=0.7/0,width=0.01", {"at = 0.7/0 is out of range"}},
    {"notch:at=0/0.7,width=0.01", {"at = 0/0.7 is out of range"}},
    {"gaussian-blur:sigma=0", {"sigma = 0 is out of range: expected 0.05 .. 100 px"}},
    {"sharpen | | sharpen", {"stage 2: a stage is empty"}},
    {"|", {"stage 1: a stage is empty"}},
    {"sharpen |", {"stage 2: a stage is empty"}},
    {"sharpen | lowpass:cutoff=2", {"stage 2: lowpass: cutoff = 2 is out of range"}},
    {"homomorphic | sharpen | linear-light",
     {"stage 3: the chain has homomorphic already", "one of both"}},
    {"homomorphic:gain=1", {"homomorphic: unknown parameter gain", "expected none"}},
    {"linear-light:gamma=4", {"gamma = 4 is out of range: expected 1 .. 3"}},
    {"sharpen:amount=\x1b[31m", {"amount = '?[31m'"}},
};

static void refusals_say_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        struct filter_chain chain, before;
        struct error why = {""};
        memset(&chain, 0x5a, sizeof chain);
        before = chain;
        assert_int_equal(filter_chain_parse(&chain, refusals[i].text, &why), -EINVAL);
        assert_memory_equal(&chain, &before, sizeof chain);
        for (unsigned s = 0; s < 3 && refusals[i].says[s] != NULL; s++)
            if (strstr(why.text, refusals[i].says[s]) == NULL)
                fail_msg("%s: '%s' does not hold '%s'", refusals[i].text, why.text,
                         refusals[i].says[s]);
    }
}

static void too_much_is_refused(void **state)
{
    (void)state;
    struct filter_chain chain;
    struct error why = {""};
    char text[3 * FILTER_TEXT_BYTES] = "sharpen";
    for (unsigned i = 1; i < FILTER_MAX_STAGES; i++)
        strcat(text, "|sharpen");
    assert_int_equal(filter_chain_parse(&chain, text, NULL), 0);
    assert_int_equal(chain.count, FILTER_MAX_STAGES);
    strcat(text, "|sharpen");
    assert_int_equal(filter_chain_parse(&chain, text, &why), -EINVAL);
    assert_non_null(strstr(why.text, "more than 32 stages"));

    memset(text, ' ', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(filter_chain_parse(&chain, text, &why), -EINVAL);
    assert_non_null(strstr(why.text, "at most 32767 characters"));
}

/* Checks the message for a name: it has all names, in order, and a suggestion. */
static void expect_names(const char *before, const char *text, const char *const *names,
                         unsigned count, const char *after)
{
    struct filter_chain chain;
    struct error why = {""};
    char expected[4096] = "";
    text_append(expected, sizeof expected, "%s", before);
    for (unsigned i = 0; i < count; i++)
        text_append(expected, sizeof expected, "%s%s", i == 0 ? "" : ", ", names[i]);
    text_append(expected, sizeof expected, "%s", after);
    assert_int_equal(filter_chain_parse(&chain, text, &why), -EINVAL);
    assert_string_equal(why.text, expected);
}

/* A message has a fixed size, and every name has to fit into it. */
static void unknown_names_list_the_known_ones(void **state)
{
    (void)state;
    unsigned count;
    const struct filter_kind *const *kinds = filter_kinds(&count);
    const char *names[64];
    char text[256], before[256], after[128], longest[TEXT_QUOTE_BYTES];
    assert_true(count <= 64);
    for (unsigned i = 0; i < count; i++)
        names[i] = kinds[i]->name;
    memset(text, '*', 100);
    text[100] = '\0';
    snprintf(before, sizeof before, "unknown filter %s: expected one of ",
             text_quote(longest, text));
    expect_names(before, text, names, count, "");
    for (unsigned i = 0; i < count; i++) {
        snprintf(text, sizeof text, "gain | %sx", kinds[i]->name);
        snprintf(before, sizeof before, "stage 2: unknown filter %sx: expected one of ",
                 kinds[i]->name);
        snprintf(after, sizeof after, "; did you mean %s?", kinds[i]->name);
        expect_names(before, text, names, count, after);
    }
    for (unsigned i = 0; i < count; i++) {
        const char *params[FILTER_MAX_PARAMS];
        for (unsigned p = 0; p < filter_param_count(kinds[i]); p++)
            params[p] = kinds[i]->param[p].name;
        snprintf(text, sizeof text, "%s:************=1", kinds[i]->name);
        snprintf(before, sizeof before, "%s: unknown parameter '************': expected %s",
                 kinds[i]->name, filter_param_count(kinds[i]) > 0 ? "one of " : "none");
        expect_names(before, text, params, filter_param_count(kinds[i]), "");
    }
}

/* Each pixel of these images is read for each frequency. */
static void large_images_are_refused(void **state)
{
    (void)state;
    static const char *const kinds[] = {"convolve", "match", "wiener"};
    char line[2 * (FILTER_IMAGE_KERNEL_SIDE + 1) + 1] = "";
    struct filter_image *image;
    for (unsigned x = 0; x <= FILTER_IMAGE_KERNEL_SIDE; x++)
        strcat(line, x % 2 == 0 ? "1 " : "2 ");
    assert_int_equal(filter_image_parse(&image, "wide", line, strlen(line), NULL), 0);
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct filter_stage stage;
        struct error why = {""};
        filter_stage_init(&stage, filter_kind_by_name(kinds[i]));
        if (strcmp(kinds[i], "wiener") == 0)
            assert_int_equal(filter_stage_set(&stage, "blur", "image", NULL), 0);
        stage.image = image;
        if (strcmp(kinds[i], "match") == 0) /* also if it is only looked for */
            assert_int_equal(filter_stage_set(&stage, "show", "false", NULL), 0);
        assert_int_equal(filter_stage_check(&stage, &why), -EINVAL);
        if (strstr(why.text, "image wide has 256x1 pixels: expected at most 255x255") == NULL)
            fail_msg("%s: %s", kinds[i], why.text);
    }
    filter_image_destroy(image);
}

/* Chains of `match`, without a loader: the stages get the image here. */
static void one_template_is_shown_and_sixteen_are_looked_for(void **state)
{
    (void)state;
    struct filter_image *image;
    struct filter_chain chain = {.count = 0};
    struct error why = {""};
    assert_int_equal(filter_image_parse(&image, "t", "1 2 3\n", 6, NULL), 0);
    for (unsigned i = 0; i <= FILTER_MAX_MATCHES; i++) {
        struct filter_stage *stage = &chain.stage[chain.count++];
        filter_stage_init(stage, filter_kind_by_name("match"));
        stage->image = image;
        if (i > 0)
            assert_int_equal(filter_stage_set(stage, "show", "false", NULL), 0);
        assert_int_equal(filter_stage_check(stage, NULL), 0);
        if (i < FILTER_MAX_MATCHES)
            assert_int_equal(filter_chain_check(&chain, &why), 0);
    }
    assert_int_equal(filter_chain_check(&chain, &why), -EINVAL);
    assert_string_equal(why.text, "the chain has 17 templates: expected at most 16 `match`");
    chain.count = FILTER_MAX_MATCHES;
    assert_int_equal(filter_chain_adaptation(&chain).match_count, FILTER_MAX_MATCHES);

    /* Only the first one has a response, and pixels that are summed. */
    const struct filter_chain first = {.count = 1, .stage = {chain.stage[0]}};
    const double complex shown = filter_chain_response(&first, 0.2, 0.1);
    assert_true(cabs(shown) > 0);
    assert_true(cabs(filter_chain_response(&chain, 0.2, 0.1) - shown) < 1e-15);
    assert_int_equal(filter_chain_pixels(&chain), 3);
    assert_true(filter_chain_support(&chain) == filter_chain_support(&first));
    assert_int_equal(filter_stage_set(&chain.stage[0], "show", "false", NULL), 0);
    assert_false(filter_chain_has_response(&chain));
    assert_false(filter_chain_is_complex(&chain));
    assert_true(filter_chain_response(&chain, 0.2, 0.1) == 1);

    assert_int_equal(filter_stage_set(&chain.stage[1], "show", "true", NULL), 0);
    assert_int_equal(filter_chain_check(&chain, NULL), 0);
    assert_int_equal(filter_stage_set(&chain.stage[4], "show", "true", NULL), 0);
    assert_int_equal(filter_chain_check(&chain, &why), -EINVAL);
    assert_string_equal(why.text, "stage 5: the picture shows the template of stage 2 already: "
                                  "expected match:show=false, which only looks for it");
    filter_image_destroy(image);
}

/* Which chains ask for an estimate of the noise, and which stages get it. */
static void noise_is_estimated_where_none_is_given(void **state)
{
    static const struct {
        const char *before, *after; /* NULL: as before */
    } cases[] = {
        {"wiener:size=2", "wiener:size=2,noise=0.05"},
        {"wiener:size=2,noise=0 | gain:dc=0.5", "wiener:size=2,noise=0.05 | gain:dc=0.5"},
        {"wiener:size=2,noise=0.1", NULL},
        {"wiener:size=2,noise=0.1 | wiener:blur=motion,size=9 | wiener:size=1",
         "wiener:size=2,noise=0.1 | wiener:blur=motion,size=9,noise=0.05 | "
         "wiener:size=1,noise=0.05"},
        {"denoise | wiener:size=2", NULL},
        {"wiener:size=2 | soft-threshold:sigma=4", NULL},
        {"median | wiener:size=2", NULL},
        {"homomorphic | wiener:size=2", NULL},
        {"gaussian-blur:sigma=2", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct filter_chain chain, after;
        struct error why = {""};
        const bool is_asked = cases[i].after != NULL;
        if (filter_chain_parse(&chain, cases[i].before, &why) < 0 ||
            filter_chain_parse(&after, is_asked ? cases[i].after : cases[i].before, &why) < 0)
            fail_msg("%s", why.text);
        const struct filter_adaptation wanted = filter_chain_adaptation(&chain);
        assert_int_equal(wanted.estimates_noise, is_asked);
        filter_chain_take_noise(&chain, 0.05);
        if (!filter_chain_equal(&chain, &after))
            fail_msg("%s", cases[i].before);
    }
}

static void setting_is_all_or_nothing(void **state)
{
    (void)state;
    struct filter_stage stage, before;
    struct error why = {""};
    filter_stage_init(&stage, filter_kind_by_name("notch"));
    assert_int_equal(filter_stage_check(&stage, &why), -EINVAL);
    assert_non_null(strstr(why.text, "notch: at is missing"));
    assert_int_equal(filter_stage_set(&stage, "at", "0.25/0.125", NULL), 0);
    assert_int_equal(filter_stage_set(&stage, "width", "0.01", NULL), 0);
    assert_int_equal(filter_stage_check(&stage, &why), 0);

    before = stage;
    assert_int_equal(filter_stage_set(&stage, "at", "0.1/0.9", &why), -EINVAL);
    assert_int_equal(filter_stage_set(&stage, "width", "wide", &why), -EINVAL);
    assert_int_equal(filter_stage_set(&stage, "colour", "1", &why), -EINVAL);
    assert_memory_equal(&stage, &before, sizeof stage);
    assert_non_null(strstr(why.text, "notch: unknown parameter colour"));
}

/* Types that no kind of the table needs yet, and ranges at their very ends. */
static void any_kind_can_be_described(void **state)
{
    (void)state;
    static const char *const choices[] = {"left", "right", NULL};
    static const struct filter_kind kind = {
        .name = "made-up",
        .param = {{.name = "on", .type = FILTER_BOOL, .initial = 1},
                  {.name = "side", .type = FILTER_CHOICE, .choices = choices},
                  {.name = "at", .unit = "px", .type = FILTER_PAIR, .min = -1, .max = 2}},
    };
    struct filter_stage stage;
    struct error why = {""};
    char text[128];
    filter_stage_init(&stage, &kind);
    assert_int_equal(filter_stage_check(&stage, NULL), 0);
    print_stage(&stage, text, sizeof text);
    assert_string_equal(text, "made-up:on=true,side=left,at=0/0");
    assert_int_equal(filter_stage_set(&stage, "on", "false", NULL), 0);
    assert_int_equal(filter_stage_set(&stage, "side", "right", NULL), 0);
    assert_int_equal(filter_stage_set(&stage, "at", "-1/2", NULL), 0);
    print_stage(&stage, text, sizeof text);
    assert_string_equal(text, "made-up:on=false,side=right,at=-1/2");
    assert_int_equal(filter_stage_set(&stage, "on", "1", &why), -EINVAL);
    assert_string_equal(why.text, "made-up: on = 1 is not known: expected true or false");
    assert_int_equal(filter_stage_set(&stage, "at", "-1/2.1", &why), -EINVAL);
    assert_string_equal(why.text,
                        "made-up: at = -1/2.1 is out of range: expected x/y, each -1 .. 2 px");
}

static void stages_are_parsed_alone(void **state)
{
    (void)state;
    struct filter_stage stage;
    struct error why = {""};
    assert_int_equal(filter_stage_parse(&stage, "gaussian-blur:sigma=2", NULL), 0);
    assert_string_equal(stage.kind->name, "gaussian-blur");
    assert_int_equal(filter_stage_parse(&stage, "sharpen|sharpen", &why), -EINVAL);
    assert_int_equal(filter_stage_parse(&stage, "", &why), -EINVAL);
    assert_string_equal(stage.kind->name, "gaussian-blur");
}

/* Bytes drawn from what chains are made of: most are refused, none does harm, and what is taken
 * comes back. */
static void noise_does_no_harm(void **state)
{
    (void)state;
    static const char *const pieces[] = {"lowpass", "notch", "sharpen", ":",  ",",    "=",   "|",
                                         "cutoff",  "at",    "shape",   "/",  "0.1",  "-",   "e",
                                         "9",       " ",     "ideal",   "\n", "\xff", "none"};
    uint64_t random = 7;
    unsigned taken = 0;
    for (int i = 0; i < 50000; i++) {
        char text[256] = "";
        unsigned length = (unsigned)(random_bits(&random) % 12);
        for (unsigned p = 0; p < length; p++)
            strcat(text, pieces[random_bits(&random) % (sizeof pieces / sizeof pieces[0])]);
        struct filter_chain chain, back;
        struct error why = {""};
        char printed[FILTER_TEXT_BYTES];
        if (filter_chain_parse(&chain, text, &why) != 0) {
            assert_true(strlen(why.text) > 10);
            continue;
        }
        taken++;
        filter_chain_print(&chain, printed, sizeof printed);
        assert_int_equal(filter_chain_parse(&back, printed, NULL), 0);
        assert_int_equal(back.count, chain.count);
    }
    assert_true(taken > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_sound),
        cmocka_unit_test(nothing_is_the_empty_chain),
        cmocka_unit_test(text_becomes_stages),
        cmocka_unit_test(chains_come_back_from_their_text),
        cmocka_unit_test(chains_are_compared),
        cmocka_unit_test(the_longest_chain_fits),
        cmocka_unit_test(a_short_buffer_is_not_overrun),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(unknown_names_list_the_known_ones),
        cmocka_unit_test(large_images_are_refused),
        cmocka_unit_test(one_template_is_shown_and_sixteen_are_looked_for),
        cmocka_unit_test(noise_is_estimated_where_none_is_given),
        cmocka_unit_test(setting_is_all_or_nothing),
        cmocka_unit_test(any_kind_can_be_described),
        cmocka_unit_test(stages_are_parsed_alone),
        cmocka_unit_test(noise_does_no_harm),
    };
    return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
