/* Fields of motion of pairs of pictures whose motion is known (support/flow.h). FFTD_TEST_CLIPS=all
 * measures more and larger pairs, FFTD_TEST_SEED chooses others. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/cmocka.h"
#include "support/flow.h"
#include "support/scene.h"
#include "support/trials.h"

#include "estimators/motion/motion_field.h"
#include "estimators/motion/motion_scale.h"

static double seconds_of_this_thread(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint64_t first_seed(void)
{
    const char *seed = getenv("FFTD_TEST_SEED");
    return seed != NULL ? strtoull(seed, NULL, 10) : 9000;
}

struct figures {
    double *error; /* of all blocks */
    size_t count, sure, sure_close;
};

static int by_size(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

static void measure(struct figures *figures, const struct flow *flow, unsigned block)
{
    struct motion_field *field;
    struct motion_grid grid;
    assert_int_equal(motion_grid_make(&grid, flow->width, flow->height, block, NULL), 0);
    assert_int_equal(motion_field_create(&field, flow->width, flow->height, block, NULL), 0);
    motion_field_observe(field, flow->last);
    const struct motion_vector *vector = motion_field_observe(field, flow->next);
    const size_t count = (size_t)grid.columns * grid.rows;
    figures->error = realloc(figures->error, (figures->count + count) * sizeof *figures->error);
    for (unsigned row = 0; row < grid.rows; row++)
        for (unsigned column = 0; column < grid.columns; column++, vector++) {
            const double error = flow_error(flow, 0.5 * block - 0.5 + column * grid.hop,
                                            0.5 * block - 0.5 + row * grid.hop, block,
                                            (double)vector->dx, (double)vector->dy);
            figures->error[figures->count++] = error;
            if (vector->confidence >= MOTION_FIELD_SURE) {
                figures->sure++;
                figures->sure_close += error <= 0.1;
            }
        }
    motion_field_destroy(field);
}

/* Of pairs of all kinds, with noise of sigma 5 at mid grey. Leaves have large parts without
 * texture, and edges, along which nothing is known. */
static void flows_are_found(void **state)
{
    (void)state;
    /* Medians of all blocks, in pixels, of leaves and particles. */
    static const double most[FLOW_KINDS][2] = {
        [FLOW_STILL] = {0.02, 0.015},    [FLOW_PAN] = {0.025, 0.015},
        [FLOW_ROTATION] = {0.03, 0.015}, [FLOW_ZOOM] = {0.03, 0.015},
        [FLOW_PARALLAX] = {0.06, 0.03},  [FLOW_OCCLUSION] = {0.04, 0.02},
        [FLOW_VORTEX] = {0.06, 0.03},    [FLOW_SHEAR] = {0.08, 0.04},
    };
    const bool is_all = trials_are_all();
    const unsigned pairs = trials_count(4, 1);
    size_t sure = 0, sure_close = 0;
    for (unsigned i = 0; i < 2 * FLOW_KINDS; i++) {
        const unsigned kind = i / 2, particles = i % 2;
        struct figures figures = {NULL, 0, 0, 0};
        if (!is_all && (kind + particles) % 2 == 1)
            continue;
        for (unsigned pair = 0; pair < pairs; pair++) {
            struct flow flow;
            flow_make(&flow, kind, particles == 1, is_all ? 320 : 192, is_all ? 240 : 144,
                      is_all ? 20 : 10, 5, first_seed() + 10 * pair + kind);
            measure(&figures, &flow, 32);
            flow_clear(&flow);
        }
        qsort(figures.error, figures.count, sizeof *figures.error, by_size);
        const double median = figures.error[figures.count / 2];
        printf("# figures: %s, %s: median error %.4f px, nine in ten within %.3f; %.3f are sure, "
               "%.4f of them within 0.1 px\n",
               particles ? "particles" : "leaves", flow_names[kind], median,
               figures.error[figures.count * 9 / 10], (double)figures.sure / figures.count,
               (double)figures.sure_close / fmax(figures.sure, 1));
        assert_true(median <= (is_all ? 1 : 4) * most[kind][particles]);
        sure += figures.sure;
        sure_close += figures.sure_close;
        free(figures.error);
    }
    printf("# figures: %zu blocks are sure, %.4f of them within 0.1 px\n", sure,
           (double)sure_close / sure);
    assert_true(sure_close >= 0.95 * sure);
}

/* The median error of blocks whose content was in the first picture. */
static double error_of_pan(double dx, double dy, unsigned block, double gain, double offset)
{
    struct flow flow;
    struct motion_field *field;
    struct motion_grid grid;
    double error[1024] = {0};
    unsigned count = 0;
    flow_make_pan(&flow, 256, 192, dx, dy, 5, first_seed() + 78);
    for (unsigned i = 0; i < 256 * 192; i++)
        flow.next[i] = (float)(gain * (double)flow.next[i] + offset);
    assert_int_equal(motion_grid_make(&grid, 256, 192, block, NULL), 0);
    assert_int_equal(motion_field_create(&field, 256, 192, block, NULL), 0);
    motion_field_observe(field, flow.last);
    const struct motion_vector *vector = motion_field_observe(field, flow.next);
    for (unsigned row = 0; row < grid.rows; row++)
        for (unsigned column = 0; column < grid.columns; column++, vector++) {
            const double x = column * grid.hop - dx, y = row * grid.hop - dy;
            if (x >= 0 && y >= 0 && x + block <= 256 && y + block <= 192)
                error[count++] = hypot((double)vector->dx - dx, (double)vector->dy - dy);
        }
    qsort(error, count, sizeof *error, by_size);
    motion_field_destroy(field);
    flow_clear(&flow);
    return error[count / 2];
}

static void large_shifts_are_found(void **state)
{
    (void)state;
    static const double shift[][2] = {{40, 0}, {-28.3, 28.3}, {0.4, -39.6}, {-33.37, -20}};
    for (unsigned i = 0; i < sizeof shift / sizeof *shift; i++) {
        const double error = error_of_pan(shift[i][0], shift[i][1], 32, 1, 0);
        printf("# figures: shift %.2f, %.2f: median error %.4f px\n", shift[i][0], shift[i][1],
               error);
        assert_true(error < 0.05);
    }
}

static void blocks_of_all_sizes_work(void **state)
{
    (void)state;
    for (unsigned block = 16; block <= 64; block *= 2) {
        const double error = error_of_pan(3.3, -1.6, block, 1, 0);
        printf("# figures: blocks of %u pixels: median error %.4f px\n", block, error);
        assert_true(error < (block == 16 ? 0.1 : 0.05));
    }
}

static void light_is_not_motion(void **state)
{
    (void)state;
    const double error = error_of_pan(2.5, 1.25, 32, 0.85, 12);
    printf("# figures: other light: median error %.4f px\n", error);
    assert_true(error < 0.08);
}

/* The share of vectors between two pictures of 192 x 144 that are sure. */
static double share_sure(const float *last, const float *next)
{
    struct motion_field *field;
    struct motion_grid grid;
    unsigned sure = 0;
    assert_int_equal(motion_grid_make(&grid, 192, 144, 32, NULL), 0);
    assert_int_equal(motion_field_create(&field, 192, 144, 32, NULL), 0);
    const struct motion_vector *vector = motion_field_observe(field, last);
    for (unsigned i = 0; i < grid.columns * grid.rows; i++)
        assert_true(vector[i].confidence == 0 && vector[i].dx == 0 && vector[i].dy == 0);
    vector = motion_field_observe(field, next);
    for (unsigned i = 0; i < grid.columns * grid.rows; i++)
        sure += vector[i].confidence >= MOTION_FIELD_SURE;
    motion_field_destroy(field);
    return (double)sure / (grid.columns * grid.rows);
}

static void what_nothing_explains_is_unsure(void **state)
{
    (void)state;
    for (unsigned particles = 0; particles < 2; particles++) {
        struct flow one, other;
        flow_make(&one, FLOW_STILL, particles, 192, 144, 0, 5, first_seed() + 31);
        flow_make(&other, FLOW_STILL, particles, 192, 144, 0, 5, first_seed() + 32);
        const double cut = share_sure(one.last, other.last);
        const double same = share_sure(one.last, one.next);
        for (unsigned i = 0; i < 192 * 144; i++) { /* only what the noise of both is */
            one.last[i] -= one.next[i];
            other.last[i] -= other.next[i];
        }
        const double noise = share_sure(one.last, other.last);
        printf("# figures: of a cut %.3f are sure, of noise alone %.3f, of the same scene %.3f\n",
               cut, noise, same);
        assert_true(cut <= 0.02 && noise == 0 && same > 0.7);
        flow_clear(&one);
        flow_clear(&other);
    }
}

/* A texture that repeats itself every 11 pixels moves by one of many shifts. */
static void repetition_is_unsure(void **state)
{
    (void)state;
    static float picture[2][192 * 144];
    for (unsigned i = 0; i < 2; i++)
        for (unsigned y = 0; y < 144; y++)
            for (unsigned x = 0; x < 192; x++)
                picture[i][y * 192 + x] = (float)(128 + 40 * sin(2 * M_PI * (x - 5.0 * i) / 11) +
                                                  40 * cos(2 * M_PI * (y + 4.0 * i) / 11) +
                                                  ((x * 7 + y * 13 + i * 5) % 5));
    const double sure = share_sure(picture[0], picture[1]);
    printf("# figures: of a texture that repeats itself %.3f are sure\n", sure);
    assert_true(sure < 0.1);
}

static void bad_input_passes_by(void **state)
{
    (void)state;
    struct flow flow;
    struct motion_field *field = NULL;
    struct error why = {""};
    assert_int_equal(motion_field_create(&field, 320, 240, 20, &why), -EINVAL);
    assert_string_equal(why.text, "motion cannot be estimated in blocks of 20 pixels: expected 16, "
                                  "32 or 64");
    assert_int_equal(motion_field_create(&field, 320, 40, 64, &why), -EINVAL);
    assert_string_equal(why.text,
                        "motion cannot be estimated in blocks of 64 pixels in pictures of 320 x 40 "
                        "pixels: expected pictures of at least 64 x 64");
    assert_null(field);
    motion_field_destroy(NULL);

    static const unsigned size[][3] = {
        {32, 32, 16}, {33, 300, 32}, {301, 35, 16}, {64, 64, 64}, {95, 97, 32}};
    for (unsigned i = 0; i < sizeof size / sizeof *size; i++) {
        struct motion_grid grid;
        flow_make(&flow, FLOW_PAN, false, size[i][0], size[i][1], 3, 5, first_seed() + 50 + i);
        assert_int_equal(motion_grid_make(&grid, size[i][0], size[i][1], size[i][2], NULL), 0);
        assert_int_equal(motion_field_create(&field, size[i][0], size[i][1], size[i][2], NULL), 0);
        motion_field_observe(field, flow.last);
        for (unsigned k = 0; k < 4; k++) {
            if (k == 1) /* no numbers, and numbers that are too large to be squared */
                for (unsigned j = 0; j < size[i][0] * size[i][1]; j++)
                    flow.next[j] = j % 3 == 0 ? NAN : j % 3 == 1 ? INFINITY : -1e38F;
            const struct motion_vector *vector =
                motion_field_observe(field, k < 2 ? flow.next : flow.last);
            for (unsigned j = 0; j < grid.columns * grid.rows; j++)
                assert_true(isfinite(vector[j].dx) && isfinite(vector[j].dy) &&
                            vector[j].confidence >= 0 && vector[j].confidence <= 1);
        }
        motion_field_reset(field);
        assert_true(motion_field_observe(field, flow.last)->confidence == 0);
        motion_field_destroy(field);
        flow_clear(&flow);
    }
}

#define RATE 60.0 /* frames a second */
#define SIDE 128u

/* The amplitude of a wave of that frequency in numbers that differ from frame to frame. */
static double amplitude_at(const double *differences, unsigned count, double hz)
{
    double re = 0, im = 0, weights = 0;
    const double step = 2 * M_PI * hz / RATE;
    for (unsigned i = 0; i < count; i++) {
        const double window = 1 - cos(2 * M_PI * (i + 0.5) / count);
        re += window * differences[i] * cos(step * i);
        im += window * differences[i] * sin(step * i);
        weights += window;
    }
    /* A wave of amplitude 1 differs from frame to frame by one of 2 sin(step / 2). */
    return 2 * hypot(re, im) / weights / (2 * sin(step / 2));
}

/* A half of the picture vibrates by 0.05 pixel at 7.3 Hz for ten seconds. Vectors are rounded to
 * 1/64 pixel, as clients get them. */
static void a_vibration_is_measured(void **state)
{
    (void)state;
    const unsigned frames = 600;
    const double true_hz = 7.3, true_amplitude = 0.05;
    static float still[3][SIDE * SIDE], picture[SIDE * SIDE];
    static double moved[600];
    uint64_t seed = first_seed() + 70;
    struct scene scene;
    struct motion_field *field;
    struct motion_grid grid;
    scene_make(&scene, 1.5 * SIDE, &seed);
    for (int i = 0; i < 3; i++) /* between these three, the scene is a parabola */
        scene_draw(&scene, -true_amplitude * (i - 1), 0, 0, SIDE, SIDE, still[i]);
    assert_int_equal(motion_grid_make(&grid, SIDE, SIDE, 32, NULL), 0);
    assert_int_equal(motion_field_create(&field, SIDE, SIDE, 32, NULL), 0);
    for (unsigned n = 0; n < frames; n++) {
        const double place = sin(2 * M_PI * true_hz * n / RATE + 0.4);
        for (unsigned i = 0; i < SIDE * SIDE; i++) {
            const double a = (double)still[0][i], b = (double)still[1][i], c = (double)still[2][i];
            const double x = i % SIDE < SIDE / 2 ? 0 : place;
            const double level = b + 0.5 * x * (c - a) + 0.5 * x * x * (a - 2 * b + c);
            picture[i] = (float)round(fmin(fmax(level + 5 * scene_normal(&seed), 0), 255));
        }
        const struct motion_vector *vector = motion_field_observe(field, picture);
        double sum = 0, weights = 0;
        for (unsigned row = 0; row < grid.rows; row++)
            for (unsigned column = SIDE / 2 / grid.hop; column < grid.columns; column++) {
                const struct motion_vector *v = &vector[row * grid.columns + column];
                sum += (double)v->confidence * round(64 * (double)v->dx) / 64;
                weights += (double)v->confidence;
            }
        moved[n] = weights > 0 ? sum / weights : 0;
    }
    motion_field_destroy(field);
    double hz = 0, highest = 0;
    for (unsigned i = 100; i < 2900; i++) {
        const double at = i / 100.;
        const double amplitude = amplitude_at(moved + 1, frames - 1, at);
        if (amplitude > highest) {
            highest = amplitude;
            hz = at;
        }
    }
    printf("# figures: a vibration of %.3f px at %.2f Hz is measured as %.4f px at %.2f Hz\n",
           true_amplitude, true_hz, highest, hz);
    assert_true(fabs(hz - true_hz) < 0.05 && fabs(highest - true_amplitude) < 0.005);
}

static int by_value(const void *a, const void *b)
{
    const float p = *(const float *)a, q = *(const float *)b;
    return (p > q) - (p < q);
}

/* Few values and many, some of them equal, and some infinite. */
static void the_quartile_is_that_of_sorted_values(void **state)
{
    (void)state;
    enum { MOST = 300 };
    uint64_t seed = first_seed();
    for (unsigned trial = 0; trial < 3000; trial++) {
        const unsigned count =
            1 + (unsigned)(scene_uniform(&seed) * (trial % 2 == 0 ? 17 : MOST - 1));
        const double kinds = trial % 3 == 0 ? 4 : 1e6;
        float value[MOST], sorted[MOST];
        for (unsigned i = 0; i < count; i++)
            value[i] =
                scene_uniform(&seed) < 0.05 ? INFINITY : (float)floor(kinds * scene_uniform(&seed));
        memcpy(sorted, value, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, by_value);
        assert_true(motion_scale_quartile(value, count) == sorted[count / 4]);
        qsort(value, count, sizeof *value, by_value);
        assert_memory_equal(value, sorted, count * sizeof *value); /* none is lost */
    }
}

/* 60 fields a second of 1280 x 720 on two processors. Only with all clips: sanitizers take longer.
 */
static void time_is_short(void **state)
{
    (void)state;
    if (!trials_are_all()) {
        print_message("skipped: FFTD_TEST_CLIPS=all measures the time of fields\n");
        skip();
    }
    struct flow flow;
    flow_make(&flow, FLOW_PARALLAX, false, 1280, 720, 10, 5, 77);
    struct motion_field *field;
    assert_int_equal(motion_field_create(&field, 1280, 720, 32, NULL), 0);
    motion_field_observe(field, flow.last);
    double least = INFINITY;
    for (unsigned i = 0; i < 10; i++) {
        const double begin = seconds_of_this_thread();
        motion_field_observe(field, i % 2 == 0 ? flow.next : flow.last);
        least = fmin(least, seconds_of_this_thread() - begin);
    }
    printf("# figures: a field of 1280 x 720 in blocks of 32 takes %.1f ms of a processor\n",
           1e3 * least);
    assert_true(least <= 2.0 / 60);
    motion_field_destroy(field);
    flow_clear(&flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flows_are_found),
        cmocka_unit_test(large_shifts_are_found),
        cmocka_unit_test(blocks_of_all_sizes_work),
        cmocka_unit_test(light_is_not_motion),
        cmocka_unit_test(what_nothing_explains_is_unsure),
        cmocka_unit_test(a_vibration_is_measured),
        cmocka_unit_test(repetition_is_unsure),
        cmocka_unit_test(bad_input_passes_by),
        cmocka_unit_test(the_quartile_is_that_of_sorted_values),
        cmocka_unit_test(time_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
