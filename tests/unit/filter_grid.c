/* Transforms of a chain's images against the sums that define them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/chains.h"
#include "support/cmocka.h"

#include "core/dft.h"
#include "filters/filter_grid.h"
#include "transform/response.h"

static double complex turn(double turns)
{
    return cos(2 * M_PI * turns) - I * sin(2 * M_PI * turns);
}

static void lines_are_what_the_definition_says(void **state)
{
    static const unsigned lengths[] = {1, 2, 3, 4, 5, 7, 8, 11, 16, 30, 36, 77, 128, 210, 1000};
    uint64_t seed = 3;
    (void)state;
    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const unsigned length = lengths[i];
        double complex before[1000], line[1000];
        struct dft *dft;
        for (unsigned n = 0; n < length; n++)
            before[n] = line[n] = random_between(&seed, -1, 1) + I * random_between(&seed, -1, 1);
        assert_int_equal(dft_create(&dft, length, NULL), 0);
        dft_line(dft, line);
        dft_destroy(dft);
        for (unsigned k = 0; k < length; k += 1 + length / 50) {
            double complex sum = 0;
            for (unsigned n = 0; n < length; n++)
                sum += before[n] * turn((double)k * n / length);
            assert_true(cabs(line[k] - sum) < 1e-14 * length * 4);
        }
    }
    struct dft *none = NULL;
    assert_true(dft_create(&none, 0, NULL) < 0 && dft_create(&none, DFT_MAX_LENGTH + 1, NULL) < 0);
    assert_null(none);
    dft_destroy(NULL);
}

static struct filter_chain chain_with_images(const char *text)
{
    chains_use_images();
    return chain_of(text);
}

/* Both kinds of axes, periods that are longer and shorter than the images, both signs. */
static void grids_are_what_the_definition_says(void **state)
{
    static const struct filter_grid_shape shapes[] = {
        {.first_period = 12, .second_period = 10, .lines = 7, .slots = 2, .first_is_x = true},
        {.first_period = 10, .second_period = 12, .lines = 6, .slots = 2, .first_is_x = false},
        {.first_period = 2, .second_period = 3, .lines = 2, .slots = 2, .first_is_x = true},
        {.first_period = 3, .second_period = 2, .lines = 2, .slots = 2, .first_is_x = false},
    };
    const struct filter_chain chain =
        chain_with_images("convolve:image=even | gain:dc=1 | convolve:image=odd");
    (void)state;
    for (unsigned i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const struct filter_grid_shape *shape = &shapes[i];
        struct filter_grid *grid = NULL;
        assert_int_equal(filter_grid_create(&grid, &chain, shape, NULL), 0);
        assert_non_null(grid);
        for (uint32_t line = 0; line < shape->lines; line++) {
            filter_grid_load(grid, line % 2, line);
            for (int sign = -1; sign <= 1; sign += 2)
                for (int32_t k = 1 - (int32_t)shape->second_period;
                     k < (int32_t)shape->second_period; k++) {
                    const double first = sign * (double)line / shape->first_period;
                    const double second = (double)k / shape->second_period;
                    const double fx = shape->first_is_x ? first : second;
                    const double fy = shape->first_is_x ? second : first;
                    double complex got[FILTER_MAX_STAGES] = {0};
                    filter_grid_read(grid, line % 2, sign < 0, k, got);
                    for (unsigned s = 0; s < 3; s += 2)
                        assert_true(cabs(got[s] - filter_image_transform(chain.stage[s].image, fx,
                                                                         fy)) < 1e-12);
                    assert_true(got[1] == 0);
                }
        }
        filter_grid_destroy(grid);
    }
    const struct filter_chain without = chain_with_images("gain:dc=1 | convolve:kernel=1 2 3");
    struct filter_grid *none = NULL;
    assert_int_equal(filter_grid_create(&none, &without, &shapes[0], NULL), 0);
    assert_null(none);
    filter_grid_destroy(NULL);
}

/* An image is the same filter as its numbers in the chain's text. */
static void images_are_kernels(void **state)
{
    static const char *const more[] = {"", ",normalise=sum,anchor=1/-2", ",correlate=true"};
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        for (unsigned odd = 0; odd <= 1; odd++) {
            char image[120], kernel[120];
            snprintf(image, sizeof image, "convolve:image=%s%s", odd ? "odd" : "even", more[i]);
            snprintf(kernel, sizeof kernel, "convolve:kernel=%s%s",
                     odd ? "0.5 1 0/2 4 2/0 1 0.5" : "1 2 -3 4/0 5 5 0/4 -3 2 1", more[i]);
            const struct filter_chain a = chain_with_images(image), b = chain_with_images(kernel);
            assert_int_equal(filter_chain_is_complex(&a), filter_chain_is_complex(&b));
            assert_true(filter_chain_support(&a) == filter_chain_support(&b));
            for (int y = -4; y <= 4; y++)
                for (int x = -5; x <= 5; x++)
                    assert_true(cabs(filter_chain_response(&a, x / 10.0, y / 8.0) -
                                     filter_chain_response(&b, x / 10.0, y / 8.0)) < 1e-12);
        }
}

/* Every value that an engine gets is the chain's response, also in a subsampled plane. */
static void responses_are_filled(void **state)
{
    static const char *const chains[] = {
        "convolve:image=even,normalise=sum | gaussian-blur:sigma=1",
        "convolve:image=odd,anchor=1/0"};
    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        const struct filter_chain chain = chain_with_images(chains[i % 2]);
        const struct plan_limits limits = {.width = 24,
                                           .height = 18,
                                           .margin_x = 2,
                                           .margin_y = 2,
                                           .order =
                                               i / 2 % 2 ? PLAN_ROWS_FIRST : PLAN_COLUMNS_FIRST,
                                           .lanes = 4,
                                           .max_radix = 8};
        const double sub = i < 4 ? 1 : 2;
        struct plan plan;
        struct plan_pair pair[64];
        assert_int_equal(plan_choose(&plan, &limits, NULL), 0);
        plan_pairs(&plan, pair);
        const struct response_layout layout = {.plan = &plan, .lanes = 4, .is_complex = true};
        const size_t part = response_part_count(&layout);
        const struct plan_axis *first = plan_first(&plan), *second = plan_second(&plan);
        float *values = malloc(response_count(&layout) * sizeof *values);
        assert_non_null(values);
        assert_int_equal(response_fill(values, &layout, &chain, sub, sub, 1, NULL), 0);
        for (uint32_t k = 0; k < first->length / 2; k++)
            for (uint32_t e = 0; e < second->length; e++) {
                const uint32_t f = plan_frequency(second, e);
                if (pair[k].frequency * 2 == first->length || f * 2 == second->length)
                    continue; /* means of two sides, which tests/unit/plan.c checks */
                const double f1 = (double)pair[k].frequency / first->length / sub;
                const double f2 = ((double)f - (2 * f > second->length) * (double)second->length) /
                                  second->length / sub;
                const double complex h = plan.order == PLAN_ROWS_FIRST
                                             ? filter_chain_response(&chain, f1, f2)
                                             : filter_chain_response(&chain, f2, f1);
                const size_t at = ((size_t)k / 4 * second->length + e) * 4 + k % 4;
                const double complex got = (double)values[at] + I * (double)values[part + at];
                assert_true(cabs(got - h) < 1e-6 * (1 + cabs(h)));
            }
        free(values);
    }
}

static int load_large(const struct filter_image **ret, const char *name, struct error *why)
{
    static char text[255 * 255 * 4 + 1];
    struct filter_image *image;
    uint64_t seed = 9;
    char *at = text;
    for (unsigned i = 0; i < 255 * 255; i++)
        at += sprintf(at, "%u%c", (unsigned)(random_bits(&seed) % 99), i % 255 == 254 ? '\n' : ' ');
    const int r = filter_image_parse(&image, name, text, strlen(text), why);
    if (r == 0)
        *ret = image;
    return r;
}

static double processor_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The largest kernel in a picture of 1280x720: how long it takes, and how exact it is. */
static void large_kernels_are_exact(void **state)
{
    const struct plan_limits limits = {.width = 1280,
                                       .height = 720,
                                       .margin_x = 181,
                                       .margin_y = 181,
                                       .lanes = 4,
                                       .max_radix = 16};
    struct plan plan;
    struct plan_pair pair[PLAN_MAX_LENGTH / 2 + 1];
    struct filter_chain chain;
    double complex got[FILTER_MAX_STAGES];
    double worst = 0;
    (void)state;
    filter_image_set_loader(load_large);
    assert_int_equal(filter_chain_parse(&chain, "convolve:image=large,normalise=sum", NULL), 0);
    assert_int_equal(plan_choose(&plan, &limits, NULL), 0);
    plan_pairs(&plan, pair);
    const struct response_layout layout = {.plan = &plan, .lanes = 4, .is_complex = true};
    float *values = malloc(response_count(&layout) * sizeof *values);
    assert_non_null(values);
    const double begin_s = processor_s();
    assert_int_equal(response_fill(values, &layout, &chain, 1, 1, 1, NULL), 0);
    const double fill_s = processor_s() - begin_s;
    const struct filter_grid_shape shape = {.first_period = plan.y.length,
                                            .second_period = plan.x.length,
                                            .lines = plan.y.length / 2 + 1,
                                            .slots = 1};
    struct filter_grid *grid = NULL;
    assert_int_equal(filter_grid_create(&grid, &chain, &shape, NULL), 0);
    for (unsigned i = 0; i < 2000; i++) {
        const uint32_t line = i * 7919 % shape.lines, k = i * 104729 % shape.second_period;
        filter_grid_load(grid, 0, line);
        filter_grid_read(grid, 0, false, (int32_t)k, got);
        const double complex expected =
            filter_image_transform(chain.stage[0].image, (double)k / shape.second_period,
                                   (double)line / shape.first_period);
        worst = fmax(worst, cabs(got[0] - expected) / chain.stage[0].image->sum);
    }
    print_message(
        "# figures: 255x255 at %ux%u: %.0f ms of processor time, error of the response %.1e\n",
        plan.x.length, plan.y.length, 1e3 * fill_s, worst);
    assert_true(worst < 1e-6);
    filter_grid_destroy(grid);
    filter_image_destroy((struct filter_image *)chain.stage[0].image);
    free(values);
    chains_use_images();
}

static void chains_hold_their_images(void **state)
{
    struct filter_chain chain = {.count = 0};
    const struct filter_chain a = chain_with_images("convolve:image=even | convolve:image=even"),
                              b = chain_with_images("convolve:image=odd");
    (void)state;
    filter_chain_assign(&chain, &a);
    assert_true(filter_image_is_held(a.stage[0].image));
    filter_chain_assign(&chain, &chain);
    assert_true(filter_image_is_held(a.stage[0].image));
    filter_chain_assign(&chain, &b);
    assert_false(filter_image_is_held(a.stage[0].image));
    assert_true(filter_image_is_held(b.stage[0].image));
    filter_chain_drop(&chain);
    assert_false(filter_image_is_held(b.stage[0].image));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_what_the_definition_says),
        cmocka_unit_test(grids_are_what_the_definition_says),
        cmocka_unit_test(images_are_kernels),
        cmocka_unit_test(responses_are_filled),
        cmocka_unit_test(large_kernels_are_exact),
        cmocka_unit_test(chains_hold_their_images),
    };
    return cmocka_run_group_tests_name("filter_grid", tests, NULL, NULL);
}
