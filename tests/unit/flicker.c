/* Clips of scenes under flickering light, of which the clip without flicker is known, and clips
 * that only look like it. FFTD_TEST_CLIPS=all measures many. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/scene.h"
#include "support/trials.h"

#include "core/clock.h"
#include "estimators/flicker.h"

/* Clips for the figures have seeds from here on; others were used to choose the constants. */
#ifndef FIRST_SEED
#define FIRST_SEED 9000
#endif

enum { WIDTH = 240, HEIGHT = 180, SAMPLES = WIDTH * HEIGHT };

struct clip {
    uint64_t seed;
    double frames_per_s, frequency_hz, line_time_us;
    double depth, second, third; /* of the light; of the harmonics, relative */
    double dx, dy;               /* px per frame */
    double sigma;                /* noise */
    double jitter_ns;            /* of time stamps, standard deviation */
    unsigned every;              /* that frame is observed; 0: all */
    double gamma;                /* samples are that root of the light; 0: 1 */
    double seconds;
    double from_s;    /* 0: 1; what is before does not count */
    unsigned stripes; /* 0: a scene, 1: blinds, 2: bars of random heights, 3: both */
};

struct outcome {
    double psnr_before, psnr_after, psnr_oracle; /* dB to the clip without flicker */
    double down_db;                              /* of the bands, where corrected */
    double change_psnr;                          /* of what was corrected to what was captured */
    bool is_found;
    struct flicker_report report;
};

static double psnr(double squares, double count)
{
    return squares <= 0 ? 99 : fmin(99, 10 * log10(255 * 255 * count / squares));
}

/* Factors of samples by row of a frame whose first row is exposed at that time. */
static void light(const struct clip *clip, double phase, double time_s, double *ret)
{
    for (unsigned y = 0; y < HEIGHT; y++) {
        const double turn =
            2 * M_PI * clip->frequency_hz * (time_s + y * clip->line_time_us * 1e-6);
        ret[y] = 1 + clip->depth * (cos(turn + phase) + clip->second * cos(2 * turn + 2.1 * phase) +
                                    clip->third * cos(3 * turn + 1.3 * phase));
        if (clip->gamma != 0)
            ret[y] = pow(ret[y], 1 / clip->gamma);
    }
}

/* Blinds and bars that are moved with the scene. */
static void draw_stripes(const struct clip *clip, double y0, float *samples)
{
    for (unsigned y = 0; y < HEIGHT; y++) {
        const double at = y + y0;
        uint64_t seed = clip->seed;
        double level = 0;
        if (clip->stripes & 1) {
            const double period = 14 + 40 * scene_uniform(&seed);
            level += 45 * tanh(3 * sin(2 * M_PI * at / period));
        }
        if (clip->stripes & 2)
            for (unsigned i = 0; i < 8; i++) {
                const double edge = HEIGHT * (3 * scene_uniform(&seed) - 1);
                level += 60 * (scene_uniform(&seed) - 0.5) * erf(at - edge);
            }
        for (unsigned x = 0; x < WIDTH; x++) {
            float *sample = &samples[y * WIDTH + x];
            *sample = fmaxf(0, fminf(255, 128 + 0.3F * (*sample - 128) + (float)level));
        }
    }
}

static void draw(const struct clip *clip, const struct scene *scene, unsigned frame, float *samples)
{
    scene_draw(scene, -clip->dx * frame, -clip->dy * frame, 0, WIDTH, HEIGHT, samples);
    if (clip->stripes != 0)
        draw_stripes(clip, -clip->dy * frame, samples);
}

struct squares {
    double before, after, oracle, change, count;
    double light, rest;
    unsigned rows;
};

/* Compares one corrected frame. */
static void compare(const float *clean, const float *noise, const float *captured,
                    const double *factor, const float *gain, struct squares *sums)
{
    for (unsigned y = 0; y < HEIGHT; y++) {
        for (unsigned x = 0; x < WIDTH; x++) {
            const unsigned i = y * WIDTH + x;
            const double want = fmax(0, fmin(255, clean[i] + noise[i]));
            const double got = fmin(255, captured[i] * gain[y]);
            sums->before += (captured[i] - want) * (captured[i] - want);
            sums->after += (got - want) * (got - want);
            sums->oracle += pow(fmin(255, captured[i] / factor[y]) - want, 2);
            sums->change += (got - captured[i]) * (got - captured[i]);
        }
    }
    for (unsigned y = 0; y < HEIGHT; y++) {
        sums->light += log(factor[y]) * log(factor[y]);
        sums->rest += log(factor[y] * gain[y]) * log(factor[y] * gain[y]);
    }
    sums->count += SAMPLES;
}

/* Runs a clip; each frame is corrected by what was known after the frame before it. What the
 * beginning shows does not count. */
static struct outcome run(const struct clip *clip, const struct flicker_options *options)
{
    static float clean[SAMPLES], captured[SAMPLES], noise[SAMPLES], gain[HEIGHT];
    static double factor[HEIGHT];
    uint64_t seed = clip->seed;
    struct scene scene;
    struct flicker *f;
    struct squares sums = {.count = 0};
    struct outcome outcome = {.is_found = false};
    scene_make(&scene, 1.6 * WIDTH, &seed);
    const double phase = 2 * M_PI * scene_uniform(&seed);
    assert_int_equal(flicker_create(&f, WIDTH, HEIGHT, options, NULL), 0);
    const unsigned frames = (unsigned)(clip->seconds * clip->frames_per_s);
    for (unsigned n = 0; n < frames; n++) {
        const double time_s = n / clip->frames_per_s;
        const int64_t at_ns =
            1000000000000ll + (int64_t)(time_s * NS_PER_S + clip->jitter_ns * scene_normal(&seed));
        if (n == 0 || clip->dx != 0 || clip->dy != 0)
            draw(clip, &scene, n, clean);
        light(clip, phase, time_s, factor);
        for (unsigned i = 0; i < SAMPLES; i++) {
            noise[i] = (float)(clip->sigma * scene_normal(&seed));
            const double value = clean[i] * factor[i / WIDTH] + noise[i];
            captured[i] = (float)round(fmax(0, fmin(255, value)));
        }
        struct flicker_model model;
        flicker_model_get(f, &model);
        flicker_model_gains(&model, at_ns, HEIGHT, gain);
        if (time_s >= (clip->from_s > 0 ? clip->from_s : 1)) {
            compare(clean, noise, captured, factor, gain, &sums);
            outcome.is_found |= model.is_valid && at_ns <= model.until_ns;
        }
        if (clip->every == 0 || n % clip->every == 0)
            flicker_observe(f, captured, at_ns);
    }
    flicker_report(f, &outcome.report);
    flicker_destroy(f);
    outcome.psnr_before = psnr(sums.before, sums.count);
    outcome.psnr_after = psnr(sums.after, sums.count);
    outcome.psnr_oracle = psnr(sums.oracle, sums.count);
    outcome.change_psnr = psnr(sums.change, sums.count);
    outcome.down_db = sums.rest > 0 ? 10 * log10(sums.light / sums.rest) : 0;
    return outcome;
}

/* A clip of a kind: by its number 100 or 120 Hz, harmonics, still or panning, rates and depths. */
static struct clip flickering(unsigned number)
{
    static const double rates[] = {25, 30, 60, 50, 29.97, 24, 40, 0};
    uint64_t seed = FIRST_SEED * 1000ull + number;
    struct clip clip = {.seed = seed, .seconds = 2};
    const double rate = rates[number % 8];
    clip.frames_per_s = rate > 0 ? rate : 25 + 35 * scene_uniform(&seed);
    clip.frequency_hz = number / 8 % 2 == 0 ? 100 : 120;
    clip.frequency_hz *= 1 + 0.005 * (2 * scene_uniform(&seed) - 1);
    const double readout = 0.4 + 0.55 * scene_uniform(&seed); /* of the time between frames */
    clip.line_time_us = 1e6 * readout / clip.frames_per_s / HEIGHT;
    clip.depth = 0.03 * pow(20.0 / 3, scene_uniform(&seed));
    if (number % 3 == 0) {
        clip.second = 0.1 + 0.3 * scene_uniform(&seed);
        clip.third = 0.15 * scene_uniform(&seed);
    }
    clip.sigma = 0.5 + 2.5 * scene_uniform(&seed);
    if (number % 5 >= 2) {
        const double angle = 2 * M_PI * scene_uniform(&seed);
        const double speed = 6 * scene_uniform(&seed);
        clip.dx = speed * cos(angle);
        clip.dy = speed * sin(angle);
    }
    return clip;
}

static struct clip without_flicker(unsigned number)
{
    uint64_t seed = FIRST_SEED * 2000ull + number;
    struct clip clip = flickering(number);
    clip.depth = 0;
    clip.stripes = number % 4;
    if (number % 3 != 0) {
        clip.dx = number % 3 == 1 ? 0 : 3 * scene_normal(&seed);
        clip.dy = 3 * scene_normal(&seed);
    }
    return clip;
}

static int by_size(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

static double median(double *numbers, unsigned count)
{
    qsort(numbers, count, sizeof *numbers, by_size);
    return count == 0 ? 0 : 0.5 * (numbers[(count - 1) / 2] + numbers[count / 2]);
}

static void flicker_is_taken_out(void **state)
{
    (void)state;
    static const unsigned few[] = {1, 10};
    const bool all = trials_are_all();
    const unsigned count = trials_count(72, 2);
    double after[72] = {0}, before[72] = {0}, oracle[72] = {0}, down[72] = {0}, change[72] = {0};
    unsigned found = 0, worse = 0, near = 0, deep = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct clip clip = flickering(all ? i : few[i % 2]);
        const struct outcome o = run(&clip, NULL);
        after[i] = o.psnr_after;
        before[i] = o.psnr_before;
        oracle[i] = o.psnr_oracle;
        change[i] = o.psnr_after - o.psnr_before;
        worse += o.psnr_after < o.psnr_before - 0.01;
        if (o.is_found)
            down[found++] = o.down_db;
        deep += o.is_found && o.down_db >= 24;
        near += o.is_found && fabs(o.report.line_time_ns / (1e3 * clip.line_time_us) - 1) < 0.05;
    }
    const double median_down = median(down, found); /* sorts, so that the least comes first */
    const double median_change = median(change, count);
    printf("# figures: %u clips, 1 s .. 2 s: median %.1f dB (before %.1f, oracle %.1f)\n", count,
           median(after, count), median(before, count), median(oracle, count));
    printf("# figures: %u found, %.1f dB down in the median, %.1f at least, %u of them by 24 dB; "
           "%u worse, PSNR changed by %.1f dB in the median, %.1f at least; %u line times within "
           "5 %%\n",
           found, median_down, found > 0 ? down[0] : 0, deep, worse, median_change, change[0],
           near);
    assert_int_equal(worse, 0);
    assert_true(found >= count * 2 / 3);
    assert_true(deep * 10 >= found * 9);
    assert_true(median(after, count) >= 54);
}

static void clean_clips_stay(void **state)
{
    (void)state;
    const unsigned count = trials_count(48, 2);
    unsigned changed = 0;
    double least = 99;
    for (unsigned i = 0; i < count; i++) {
        const struct clip clip = without_flicker(trials_are_all() ? i : i + 1);
        const struct outcome o = run(&clip, NULL);
        changed += o.change_psnr < 60;
        least = fmin(least, o.change_psnr);
    }
    printf("# figures: %u clips without flicker: %u changed; least %.1f dB\n", count, changed,
           least);
    assert_int_equal(changed, 0);
}

/* What cameras do to the times of frames and to samples, and what a user may know. */
static void it_is_found_under_difficulties(void **state)
{
    static const struct {
        const char *name;
        double jitter_ns, gamma;
        unsigned every;
        bool line_time_is_given, frequency_is_given;
    } cases[] = {
        {"time stamps jitter by 1 ms", 1e6, 0, 0, false, false},
        {"every second frame is observed, with jitter", 3e5, 0, 2, false, false},
        {"gamma 2.2", 0, 2.2, 0, false, false},
        {"the line time is given", 0, 0, 0, true, false},
        {"both are given", 0, 0, 0, true, true},
    };
    (void)state;
    const unsigned count =
        trials_count(sizeof cases / sizeof cases[0], sizeof cases / sizeof cases[0]);
    for (unsigned i = 0; i < count; i++) {
        struct clip clip = flickering(1);
        struct flicker_options options = {.line_time_us = 0};
        clip.jitter_ns = cases[i].jitter_ns;
        clip.gamma = cases[i].gamma;
        clip.every = cases[i].every;
        if (clip.every > 1) { /* so few frames take up to three seconds */
            clip.from_s = 3;
            clip.seconds = 3.5;
        }
        if (cases[i].line_time_is_given)
            options.line_time_us = clip.line_time_us;
        if (cases[i].frequency_is_given)
            options.frequency_hz = clip.frequency_hz;
        const struct outcome o = run(&clip, &options);
        printf("# figures: %s: %.1f dB before, %.1f after, oracle %.1f; %.1f dB down\n",
               cases[i].name, o.psnr_before, o.psnr_after, o.psnr_oracle, o.down_db);
        assert_true(o.is_found);
        assert_true(o.down_db >= 24);
        assert_true(fabs(o.report.frequency_hz / clip.frequency_hz - 1) < 0.002);
        assert_true(fabs(o.report.line_time_ns / (1e3 * clip.line_time_us) - 1) < 0.05);
        const double depth = clip.gamma != 0 ? clip.depth / clip.gamma : clip.depth;
        assert_true(fabs(o.report.depth / depth - 1) < 0.1);
    }
}

static void expect_gains(const struct flicker *f, int64_t at_ns, bool are_ones)
{
    float gain[HEIGHT];
    struct flicker_model model;
    flicker_model_get(f, &model);
    flicker_model_gains(&model, at_ns, HEIGHT, gain);
    for (unsigned y = 0; y < HEIGHT; y++) {
        assert_true(gain[y] >= 0.5F && gain[y] <= 2);
        assert_true(!are_ones || gain[y] == 1);
    }
}

/* Samples that are not numbers or all the same, and times that stand, go back or leap. */
static void bad_input_changes_nothing(void **state)
{
    static float luma[SAMPLES];
    static const float levels[] = {0, 255, NAN, INFINITY, -INFINITY, 1e30F, -40};
    struct flicker *f;
    (void)state;
    assert_int_equal(flicker_create(&f, WIDTH, HEIGHT, NULL, NULL), 0);
    int64_t at_ns = NS_PER_S;
    for (unsigned n = 0; n < 70; n++) {
        for (unsigned i = 0; i < SAMPLES; i++)
            luma[i] = n % 8 == 7 && i % 3 != 0 ? (float)(i % 251) : levels[n / 10 % 7];
        at_ns += n % 9 == 8 ? -NS_PER_S : n % 7 == 6 ? 0 : n % 11 == 10 ? INT64_MAX / 64 : 33333333;
        flicker_observe(f, luma, at_ns);
        expect_gains(f, at_ns, true);
        expect_gains(f, INT64_MIN, true);
        expect_gains(f, INT64_MAX, true);
    }
    flicker_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flicker_is_taken_out),
        cmocka_unit_test(clean_clips_stay),
        cmocka_unit_test(it_is_found_under_difficulties),
        cmocka_unit_test(bad_input_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
