/* Plans: radices that multiply up, orders that undo each other, borders by their definition. */
#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include "transform/plan.h"
#include "transform/response.h"

static void every_smooth_length_factors(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= PLAN_MAX_LENGTH; n++) {
        struct plan_axis axis = {.length = 77};
        uint32_t rest = n, product = 1;
        for (uint32_t prime = 2; prime <= 7; prime++)
            while (rest % prime == 0)
                rest /= prime;
        const int r = plan_factor(&axis, n, 16, 0);
        if (rest != 1) {
            assert_int_equal(r, -EINVAL);
            assert_int_equal(axis.length, 77);
            continue;
        }
        assert_int_equal(r, 0);
        for (unsigned i = 0; i < axis.stage_count; i++)
            product *= axis.radix[i];
        assert_int_equal(product, n);
        assert_int_equal(axis.length, n);
    }
}

static void first_radix_is_even_where_asked(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 2048; n++) {
        struct plan_axis axis;
        const int r = plan_factor(&axis, n, 16, 1);
        if (r == 0)
            assert_int_equal(axis.radix[0] % 2, 0);
        else
            assert_int_equal(r, -EINVAL);
    }
}

static void radices_obey_their_limit(void **state)
{
    (void)state;
    struct plan_axis axis;
    assert_int_equal(plan_factor(&axis, 1024, 4, 0), 0);
    for (unsigned i = 0; i < axis.stage_count; i++)
        assert_true(axis.radix[i] <= 4);
    assert_int_equal(plan_factor(&axis, 16384, 2, 0), -EINVAL); /* too many stages */
    assert_int_equal(plan_factor(&axis, 14, 4, 0), -EINVAL);
}

static void positions_and_frequencies_undo_each_other(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {2, 16, 60, 63, 1000, 1296, 4410};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct plan_axis axis;
        assert_int_equal(plan_factor(&axis, lengths[i], 16, 0), 0);
        for (uint32_t q = 0; q < lengths[i]; q++) {
            const uint32_t k = plan_frequency(&axis, q);
            assert_in_range(k, 0, lengths[i] - 1);
            assert_int_equal(plan_position(&axis, k), q);
        }
    }
}

/* The stages as stage.cl describes them, in double and one number at a time, against the sum that
 * defines the transform: what plan_frequency says is where is there. */
static void stages_leave_the_frequency_plan_says(void **state)
{
    (void)state;
    const struct plan_axis axis = {.length = 60, .stage_count = 3, .radix = {4, 3, 5}};
    float twiddle[2 * 60];
    double re[60], im[60], in[60];
    assert_true(plan_twiddle_count(&axis) <= 60);
    plan_twiddles(&axis, twiddle);
    for (unsigned i = 0; i < 60; i++) {
        re[i] = in[i] = i * i % 17;
        im[i] = 0;
    }
    for (unsigned s = 0; s < 3; s++) {
        const unsigned r = axis.radix[s], m = plan_span(&axis, s);
        for (unsigned b = 0; b < 60 / r; b++) {
            const unsigned p = b % m, e = b / m * m * r + p;
            double yr[5], yi[5];
            for (unsigned k = 0; k < r; k++) {
                double sr = 0, si = 0;
                for (unsigned n = 0; n < r; n++) {
                    const double a = -2 * M_PI * n * k / r;
                    sr += re[e + n * m] * cos(a) - im[e + n * m] * sin(a);
                    si += re[e + n * m] * sin(a) + im[e + n * m] * cos(a);
                }
                const float *w =
                    &twiddle[2 * (plan_twiddle_offset(&axis, s) + (k > 0 ? k - 1 : 0) * m + p)];
                yr[k] = k > 0 ? sr * w[0] - si * w[1] : sr;
                yi[k] = k > 0 ? sr * w[1] + si * w[0] : si;
            }
            for (unsigned k = 0; k < r; k++) {
                re[e + k * m] = yr[k];
                im[e + k * m] = yi[k];
            }
        }
    }
    for (unsigned q = 0; q < 60; q++) {
        const unsigned k = plan_frequency(&axis, q);
        double sr = 0, si = 0;
        for (unsigned n = 0; n < 60; n++) {
            sr += in[n] * cos(-2 * M_PI * (n * k % 60) / 60);
            si += in[n] * sin(-2 * M_PI * (n * k % 60) / 60);
        }
        assert_true(fabs(sr - re[q]) < 1e-4 && fabs(si - im[q]) < 1e-4);
    }
}

static void borders_are_what_they_are_called(void **state)
{
    (void)state;
    int32_t map[9];
    static const int32_t mirror[] = {0, 1, 2, 3, 2, 1, 0, 2, 1};
    static const int32_t replicate[] = {0, 1, 2, 3, 3, 3, 3, 0, 0};
    static const int32_t constant[] = {0, 1, 2, 3, -1, -1, -1, -1, -1};
    static const int32_t wrap[] = {0, 1, 2, 3, 0, 1, 2, 2, 3};
    plan_border_map(map, 9, 4, PLAN_MIRROR);
    assert_memory_equal(map, mirror, sizeof map);
    plan_border_map(map, 9, 4, PLAN_REPLICATE);
    assert_memory_equal(map, replicate, sizeof map);
    plan_border_map(map, 9, 4, PLAN_CONSTANT);
    assert_memory_equal(map, constant, sizeof map);
    plan_border_map(map, 9, 4, PLAN_WRAP);
    assert_memory_equal(map, wrap, sizeof map);
}

/* A pad many times the image stays inside it. */
static void borders_survive_any_pad(void **state)
{
    (void)state;
    int32_t map[1000];
    for (uint32_t n = 1; n <= 17; n++)
        for (int border = PLAN_MIRROR; border <= PLAN_WRAP; border++) {
            plan_border_map(map, 1000, n, (enum plan_border)border);
            for (unsigned i = 0; i < 1000; i++)
                assert_in_range(map[i] + 1, 0, n);
        }
}

static void plans_observe_their_limits(void **state)
{
    (void)state;
    for (uint32_t width = 16; width < 4200; width += 97)
        for (uint32_t lanes = 1; lanes <= 16; lanes *= 4) {
            struct plan_limits limits = {.width = width,
                                         .height = width / 2 + 8,
                                         .margin_x = 10,
                                         .margin_y = 20,
                                         .lanes = lanes,
                                         .max_radix = 16};
            struct plan plan;
            struct error why;
            assert_int_equal(plan_choose(&plan, &limits, &why), 0);
            assert_true(plan.x.length >= width + 10);
            assert_true(plan.y.length >= width / 2 + 28);
            assert_true(plan.x.length < 1.5 * (width + 10) + 32);
            assert_int_equal(plan.x.length % (2 * lanes), 0);
            assert_int_equal(plan.x.radix[0] % 2, 0);

            limits.order = PLAN_ROWS_FIRST;
            assert_int_equal(plan_choose(&plan, &limits, &why), 0);
            assert_int_equal(plan.order, PLAN_ROWS_FIRST);
            assert_true(plan.x.length >= width + 10);
            assert_true(plan.y.length >= width / 2 + 28);
            assert_int_equal(plan.y.length % (2 * lanes), 0);
            assert_int_equal(plan.y.radix[0] % 2, 0);
        }
}

/* Every place is in one pair, beside that of the negative frequency. */
static void pairs_hold_every_frequency(void **state)
{
    (void)state;
    for (uint32_t length = 2; length < 700; length++)
        for (int order = PLAN_COLUMNS_FIRST; order <= PLAN_ROWS_FIRST; order++) {
            struct plan plan = {.order = (enum plan_order)order};
            struct plan_axis *axis = order == PLAN_ROWS_FIRST ? &plan.x : &plan.y;
            struct plan_pair pair[700 / 2 + 1];
            uint32_t frequency[700], seen = 0;
            if (plan_factor(axis, length, 16, 0) < 0)
                continue;
            plan_pairs(&plan, pair);
            for (uint32_t q = 0; q < length; q++)
                frequency[plan_place(axis, q, order == PLAN_ROWS_FIRST)] = plan_frequency(axis, q);
            for (uint32_t k = 0; k <= length / 2; k++) {
                assert_int_equal(frequency[pair[k].place], pair[k].frequency);
                assert_int_equal((frequency[pair[k].place] + frequency[pair[k].negative]) % length,
                                 0);
                seen += pair[k].place == pair[k].negative ? 1 : 2;
                for (uint32_t other = 0; other < k; other++)
                    assert_true(pair[other].place != pair[k].place &&
                                pair[other].place != pair[k].negative);
            }
            assert_int_equal(seen, length);
        }
}

/* Rows first: four neighbouring pairs in 32 whole bytes, for three quarters of them. */
static void neighbouring_pairs_are_neighbours(void **state)
{
    (void)state;
    static const uint32_t widths[] = {640, 1280, 1344, 1920, 3840};
    for (unsigned i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        const struct plan_limits limits = {.width = widths[i],
                                           .height = 16,
                                           .order = PLAN_ROWS_FIRST,
                                           .lanes = 1,
                                           .max_radix = 16};
        struct plan plan;
        struct error why;
        struct plan_pair pair[3840 / 2 + 1];
        unsigned whole = 0;
        assert_int_equal(plan_choose(&plan, &limits, &why), 0);
        assert_int_equal(plan.x.length, widths[i]);
        plan_pairs(&plan, pair);
        for (unsigned k = 0; k + 3 <= plan.x.length / 2; k += 4)
            whole += pair[k].place % 4 == 0 && pair[k + 3].place == pair[k].place + 3 &&
                     pair[k].negative % 4 == 3 && pair[k + 3].negative == pair[k].negative - 3;
        assert_true(whole >= plan.x.length / 8 * 3 / 4);
    }
}

static void too_large_is_refused_in_words(void **state)
{
    (void)state;
    const struct plan_limits limits = {
        .width = 4000, .height = 100, .lanes = 1, .max_x = 2048, .max_radix = 16};
    struct plan plan;
    struct error why;
    assert_int_equal(plan_choose(&plan, &limits, &why), -ERANGE);
    assert_non_null(strstr(why.text, "4000x100"));
    assert_non_null(strstr(why.text, "2048"));
}

static void sizes_are_ranked_by_their_cost(void **state)
{
    (void)state;
    struct plan_limits limits = {
        .width = 1280, .height = 720, .margin_x = 16, .margin_y = 16, .lanes = 4, .max_radix = 16};
    struct plan ranked[8], chosen;
    struct error why;
    assert_int_equal(plan_rank(ranked, 8, &limits), 8);
    assert_int_equal(plan_choose(&chosen, &limits, &why), 0);
    assert_int_equal(chosen.x.length, ranked[0].x.length);
    assert_int_equal(chosen.y.length, ranked[0].y.length);
    for (unsigned i = 0; i < 8; i++) {
        assert_true(ranked[i].x.length >= 1296 && ranked[i].y.length >= 736);
        for (unsigned j = 0; j < i; j++) {
            assert_true(plan_cost(&ranked[j], &limits) <= plan_cost(&ranked[i], &limits));
            assert_false(ranked[j].x.length == ranked[i].x.length &&
                         ranked[j].y.length == ranked[i].y.length);
        }
    }

    /* A wish is granted where it fits. */
    limits.want_x = ranked[7].x.length;
    limits.want_y = ranked[7].y.length;
    assert_int_equal(plan_choose(&chosen, &limits, &why), 0);
    assert_int_equal(chosen.x.length, ranked[7].x.length);
    assert_int_equal(chosen.y.length, ranked[7].y.length);
    limits.want_x = 1280; /* no room for the margin */
    limits.want_y = 739;  /* prime */
    assert_int_equal(plan_choose(&chosen, &limits, &why), 0);
    assert_int_equal(chosen.x.length, ranked[0].x.length);
    assert_int_equal(chosen.y.length, ranked[0].y.length);
}

static void assert_axis(const struct plan_axis *axis, uint32_t length, uint32_t step)
{
    uint32_t product = 1;
    for (unsigned i = 0; i < axis->stage_count; i++)
        product *= axis->radix[i];
    assert_int_equal(axis->length, length);
    assert_int_equal(product, length);
    assert_int_equal(length % step, 0);
    if (step > 1)
        assert_int_equal(axis->radix[0] % 2, 0);
}

/* The lengths of a smaller plane are in the ratio of the sides, in both orders. A side without such
 * lengths is refused, and the nearest that are named can be had. */
static void smaller_planes_have_lengths_in_their_ratio(void **state)
{
    (void)state;
    unsigned planned = 0, refused = 0;
    for (uint32_t width = 300; width < 640; width += 17)
        for (unsigned order = PLAN_COLUMNS_FIRST; order <= PLAN_ROWS_FIRST; order++) {
            struct plan_limits limits = {.width = 640,
                                         .height = 480,
                                         .margin_x = 24,
                                         .margin_y = 7,
                                         .order = (enum plan_order)order,
                                         .lanes = order == PLAN_COLUMNS_FIRST ? 4 : 1,
                                         .max_radix = 16,
                                         .smaller_width = width,
                                         .smaller_height = 160};
            struct plan plan, smaller;
            struct error why;
            unsigned nearest[2];
            if (plan_choose(&plan, &limits, &why) == 0) {
                const uint32_t step = 2 * limits.lanes;
                planned++;
                plan_smaller(&smaller, &plan, &limits);
                assert_int_equal((uint64_t)plan.x.length * width % 640, 0);
                assert_axis(&smaller.x, plan.x.length * width / 640,
                            order == PLAN_COLUMNS_FIRST ? step : 1);
                assert_axis(&smaller.y, plan.y.length / 3, order == PLAN_ROWS_FIRST ? step : 1);
                assert_int_equal(plan_check_smaller(&limits, &why), 0);
                continue;
            }
            refused++;
            assert_int_equal(plan_check_smaller(&limits, &why), -EINVAL);
            /* NOLINTNEXTLINE(cert-err34-c): the planner has written these numbers */
            assert_int_equal(sscanf(why.text,
                                    "640 columns cannot become %*u: the nearest that can "
                                    "be had are %u or %u",
                                    &nearest[0], &nearest[1]),
                             2);
            assert_true(nearest[0] < width && width < nearest[1]);
            for (unsigned i = 0; i < 2; i++) {
                limits.smaller_width = nearest[i];
                assert_int_equal(plan_choose(&plan, &limits, &why), 0);
            }
        }
    assert_true(planned > 0 && refused > 0);
}

/* An axis of even length has one frequency at half the sampling rate, whichever sign. */
static void nyquist_is_the_mean_of_both_signs(void **state)
{
    (void)state;
    struct filter_chain chain;
    struct error why;
    struct plan plan = {.width = 16, .height = 16};
    float values[16 * 16];
    assert_int_equal(plan_factor(&plan.x, 16, 16, 1), 0);
    assert_int_equal(plan_factor(&plan.y, 16, 16, 0), 0);
    assert_int_equal(filter_chain_parse(&chain, "notch:at=0.25/0.125,width=0.03", &why), 0);
    const struct response_layout layout = {.plan = &plan, .lanes = 1};
    struct plan_pair pair[9];
    unsigned k = 0;
    assert_int_equal(response_fill(values, &layout, &chain, 2, 2, 1, NULL), 0);
    plan_pairs(&plan, pair);
    while (pair[k].frequency != 4 && pair[k].frequency != 12)
        k++;
    const uint32_t at = plan_position(&plan.x, 8);
    const double one = creal(filter_chain_response(&chain, 0.25, 0.125));
    const double other = creal(filter_chain_response(&chain, -0.25, 0.125));
    assert_true(fabs(one - other) > 0.5);
    assert_float_equal(values[k * 16 + at], (one + other) / 2, 1e-6);
}

/* Rows first: pairs may hold a frequency above half the sampling rate, which is a negative one. */
static void responses_are_sampled_at_signed_frequencies(void **state)
{
    (void)state;
    enum { X = 45, Y = 30 }; /* the last radix along x is odd */
    static const char text[] = "lowpass:shape=gaussian,cutoff=0.1 | shift:by=3.25/-1.5";
    struct filter_chain chain;
    struct plan plan = {.width = X, .height = Y, .order = PLAN_ROWS_FIRST};
    struct plan_pair pair[X / 2 + 1];
    static float values[2 * (X / 2 + 1) * Y];
    unsigned above = 0;
    assert_int_equal(plan_factor(&plan.x, X, 5, 0), 0);
    assert_int_equal(plan_factor(&plan.y, Y, 16, 1), 0);
    assert_int_equal(filter_chain_parse(&chain, text, NULL), 0);
    const struct response_layout layout = {.plan = &plan, .lanes = 1, .is_complex = true};
    assert_int_equal(response_fill(values, &layout, &chain, 1, 1, 1, NULL), 0);
    plan_pairs(&plan, pair);
    for (unsigned k = 0; k < X / 2 + 1; k++)
        for (unsigned e = 0; e < Y; e++) {
            const unsigned fx = pair[k].frequency, fy = plan_frequency(&plan.y, e);
            above += fx > X / 2;
            if (2 * fx == X || 2 * fy == Y)
                continue;
            const double complex h =
                filter_chain_response(&chain, (2 * fx < X ? fx : fx - (double)X) / X,
                                      (2 * fy < Y ? fy : fy - (double)Y) / Y);
            const size_t at = k * Y + plan_place(&plan.y, e, false);
            assert_true(cabs(values[at] + values[(X / 2 + 1) * Y + at] * I - h) < 1e-6);
        }
    assert_true(above > 0);
}

/* The band of a chain, of 49 pairs with columns first or 61 with rows first. */
static uint32_t band_of(const char *text, enum plan_order order, double scale)
{
    enum { X = 120, Y = 96, MOST = (X / 2 + 1 + 3) * 2 * X };
    static float values[MOST];
    struct filter_chain chain;
    struct plan plan = {.width = X, .height = Y, .order = order};
    assert_int_equal(plan_factor(&plan.x, X, 8, 1), 0);
    assert_int_equal(plan_factor(&plan.y, Y, 8, 1), 0);
    assert_int_equal(plan.x.radix[plan.x.stage_count - 1], 4);
    assert_int_equal(filter_chain_parse(&chain, text, NULL), 0);
    const struct response_layout layout = {
        .plan = &plan, .lanes = 4, .is_complex = filter_chain_is_complex(&chain)};
    assert_true(response_count(&layout) <= MOST);
    assert_int_equal(response_fill(values, &layout, &chain, 1, 1, scale, NULL), 0);
    return response_band(values, &layout, scale);
}

/* The Gaussian of sigma 10 is below 2^-24 from 0.0918 cycles per pixel on: 8.8 per 96 pixels, 11.01
 * per 120. */
static void bands_end_at_the_last_frequency_that_passes(void **state)
{
    static const double scales[] = {1, 1e-3, 1e-6};
    (void)state;
    for (unsigned i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        const double scale = scales[i];
        assert_int_equal(band_of("gaussian-blur:sigma=10", PLAN_COLUMNS_FIRST, scale), 9);
        assert_int_equal(
            band_of("gaussian-blur:sigma=10 | shift:by=3/2", PLAN_COLUMNS_FIRST, scale), 9);
        assert_int_equal(
            band_of("gain:ac=0.001,dc=0.001 | gaussian-blur:sigma=10", PLAN_COLUMNS_FIRST, scale),
            9);
        assert_in_range(
            band_of("gaussian-blur:sigma=10 | gain:ac=16,dc=16", PLAN_COLUMNS_FIRST, scale), 10,
            12);
        assert_int_equal(band_of("none", PLAN_COLUMNS_FIRST, scale), 49);
        assert_int_equal(band_of("highpass:shape=ideal,cutoff=0.4", PLAN_COLUMNS_FIRST, scale), 49);
        assert_int_equal(band_of("gain:ac=0,dc=0", PLAN_COLUMNS_FIRST, scale), 1);
        /* The first of four legs has 30 frequencies. */
        assert_int_equal(band_of("gaussian-blur:sigma=10", PLAN_ROWS_FIRST, scale), 30);
        assert_int_equal(band_of("none", PLAN_ROWS_FIRST, scale), 61);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_smooth_length_factors),
        cmocka_unit_test(first_radix_is_even_where_asked),
        cmocka_unit_test(radices_obey_their_limit),
        cmocka_unit_test(positions_and_frequencies_undo_each_other),
        cmocka_unit_test(stages_leave_the_frequency_plan_says),
        cmocka_unit_test(borders_are_what_they_are_called),
        cmocka_unit_test(borders_survive_any_pad),
        cmocka_unit_test(plans_observe_their_limits),
        cmocka_unit_test(sizes_are_ranked_by_their_cost),
        cmocka_unit_test(responses_are_sampled_at_signed_frequencies),
        cmocka_unit_test(pairs_hold_every_frequency),
        cmocka_unit_test(bands_end_at_the_last_frequency_that_passes),
        cmocka_unit_test(neighbouring_pairs_are_neighbours),
        cmocka_unit_test(too_large_is_refused_in_words),
        cmocka_unit_test(smaller_planes_have_lengths_in_their_ratio),
        cmocka_unit_test(nyquist_is_the_mean_of_both_signs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
