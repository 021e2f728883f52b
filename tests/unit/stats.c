/* Every duration lands in the bucket whose edges hold it; percentiles are within 9%. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include "core/stats.h"

static unsigned only_bucket(const struct histogram *histogram)
{
    unsigned found = HISTOGRAM_BUCKETS;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        if (histogram->bucket[i] != 0) {
            assert_int_equal(found, HISTOGRAM_BUCKETS);
            found = i;
        }
    assert_in_range(found, 0, HISTOGRAM_BUCKETS - 1);
    return found;
}

static unsigned bucket_for(int64_t ns)
{
    struct histogram histogram = {.count = 0};
    histogram_add(&histogram, ns);
    return only_bucket(&histogram);
}

static void edges_are_eighths_of_octaves(void **state)
{
    (void)state;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        double wanted = 1000 * pow(2, i / 8.0);
        assert_true(fabs((double)histogram_edge(i) - wanted) <= 1 + wanted * 1e-7);
    }
    assert_int_equal(histogram_edge(0), 1000);
    assert_int_equal(histogram_edge(8), 2000);
    assert_true(histogram_edge(HISTOGRAM_BUCKETS - 1) > 100 * 1000000000ull);
}

static void a_duration_lies_between_its_edges(void **state)
{
    (void)state;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS - 1; i++) {
        int64_t edge = (int64_t)histogram_edge(i);
        assert_int_equal(bucket_for(edge), i);
        assert_int_equal(bucket_for(edge + 1), i + 1);
    }
    assert_int_equal(bucket_for(0), 0);
    assert_int_equal(bucket_for(-5), 0);
    assert_int_equal(bucket_for(INT64_MIN), 0);
    assert_int_equal(bucket_for(INT64_MAX), HISTOGRAM_BUCKETS - 1);
}

static void totals_are_exact(void **state)
{
    (void)state;
    struct histogram histogram = {.count = 0};
    histogram_add(&histogram, 5000);
    histogram_add(&histogram, -1);
    histogram_add(&histogram, 0);
    histogram_add(&histogram, 7000);
    assert_int_equal(histogram.count, 4);
    assert_int_equal(histogram.sum_ns, 12000);
    assert_int_equal(histogram.max_ns, 7000);
}

static void empty_has_no_quantile(void **state)
{
    (void)state;
    struct histogram histogram = {.count = 0};
    assert_int_equal(histogram_quantile(&histogram, 0.5), 0);
}

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void quantiles_are_within_nine_percent(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    static int64_t samples[COUNT];
    struct histogram histogram = {.count = 0};
    srand(1);
    for (int i = 0; i < COUNT; i++) {
        samples[i] = (int64_t)(2000 * exp(12 * (double)rand() / RAND_MAX)); /* 2 us .. 0.3 s */
        histogram_add(&histogram, samples[i]);
    }
    qsort(samples, COUNT, sizeof samples[0], by_value);
    static const double fractions[] = {0, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1};
    for (size_t i = 0; i < sizeof fractions / sizeof fractions[0]; i++) {
        int rank = (int)ceil(fractions[i] * COUNT);
        double exact = (double)samples[rank > 0 ? rank - 1 : 0];
        double estimate = (double)histogram_quantile(&histogram, fractions[i]);
        assert_true(estimate >= exact);
        assert_true(estimate <= exact * 1.0906 + 1);
    }
}

static void ranks_are_exact(void **state)
{
    (void)state;
    struct histogram histogram = {.count = 0};
    histogram_add(&histogram, 500);
    histogram_add(&histogram, 2000);
    histogram_add(&histogram, 4000);
    histogram_add(&histogram, 8000);
    assert_int_equal(histogram_quantile(&histogram, 0), 1000);
    assert_int_equal(histogram_quantile(&histogram, 0.25), 1000);
    assert_int_equal(histogram_quantile(&histogram, 0.26), 2000);
    assert_int_equal(histogram_quantile(&histogram, 0.5), 2000);
    assert_int_equal(histogram_quantile(&histogram, 0.75), 4000);
    assert_int_equal(histogram_quantile(&histogram, 1), 8000);
}

static void a_quantile_never_exceeds_the_largest(void **state)
{
    (void)state;
    struct histogram histogram = {.count = 0};
    histogram_add(&histogram, 1500);
    assert_int_equal(histogram_quantile(&histogram, 0.5), 1500);
    int64_t huge = 1000 * 1000000000ll; /* beyond the last edge */
    histogram_add(&histogram, huge);
    assert_int_equal(histogram_quantile(&histogram, 1), huge);
    assert_int_equal(histogram_quantile(&histogram, 2), huge);
    assert_true(histogram_quantile(&histogram, NAN) <= (uint64_t)huge);
}

static void counts_add_up_to_the_total(void **state)
{
    (void)state;
    struct histogram histogram = {.count = 0};
    assert_int_equal(histogram_below(&histogram, HISTOGRAM_BUCKETS - 1), 0);
    for (int64_t ns = 500; ns < INT64_MAX / 3; ns *= 3)
        histogram_add(&histogram, ns);
    uint64_t before = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        uint64_t below = 0;
        for (int64_t ns = 500; ns < INT64_MAX / 3; ns *= 3)
            below += (uint64_t)ns <= histogram_edge(i) || i == HISTOGRAM_BUCKETS - 1;
        assert_int_equal(histogram_below(&histogram, i), below);
        assert_true(below >= before);
        before = below;
    }
    assert_int_equal(before, histogram.count);
}

/* A step that was not measured in a frame does not change the mean of the others. */
static void overhead_counts_what_was_measured(void **state)
{
    (void)state;
    struct time_sum sum[OVERHEAD_COUNT] = {{.frames = 0}};
    struct overhead overhead = {.ns = {[OVERHEAD_COPY] = 700, [OVERHEAD_GAP] = -1}};
    time_sums_add(sum, overhead.ns, OVERHEAD_COUNT);
    overhead.ns[OVERHEAD_GAP] = 40;
    time_sums_add(sum, overhead.ns, OVERHEAD_COUNT);
    assert_int_equal(sum[OVERHEAD_COPY].frames, 2);
    assert_int_equal(sum[OVERHEAD_COPY].ns, 1400);
    assert_int_equal(sum[OVERHEAD_MAP].frames, 2);
    assert_int_equal(sum[OVERHEAD_MAP].ns, 0);
    assert_int_equal(sum[OVERHEAD_GAP].frames, 1);
    assert_int_equal(sum[OVERHEAD_GAP].ns, 40);
    for (unsigned i = 0; i < OVERHEAD_COUNT; i++)
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(overhead_names[i], overhead_names[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_are_eighths_of_octaves),
        cmocka_unit_test(a_duration_lies_between_its_edges),
        cmocka_unit_test(totals_are_exact),
        cmocka_unit_test(empty_has_no_quantile),
        cmocka_unit_test(quantiles_are_within_nine_percent),
        cmocka_unit_test(ranks_are_exact),
        cmocka_unit_test(a_quantile_never_exceeds_the_largest),
        cmocka_unit_test(counts_add_up_to_the_total),
        cmocka_unit_test(overhead_counts_what_was_measured),
    };
    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
