/* Waves that cannot be predicted, and the notches for them, on clips whose waves are known. By
 * default a few small clips; FFTD_TEST_CLIPS=all runs them all, FFTD_TEST_SEED chooses others. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/clip.h"
#include "support/cmocka.h"
#include "support/trials.h"

#include "core/fft.h"
#include "estimators/periodic_notches.h"

#define FRAME_NS   33333333LL
#define WIDTH      320u
#define HEIGHT     240u
#define PIXELS     ((size_t)WIDTH * HEIGHT)
#define SIDE       512u /* of the padded square that is filtered */
#define FRAMES     64u
#define MOST_CLIPS 40u

static const struct periodic_options OPTIONS = {PERIODIC_MIN_AMPLITUDE, CORRECTION_MAX_WAVES};

enum behaviour { RANDOM_PHASE, WAVERING, STEADY };

struct trial {
    double fx, fy, amplitude, drift;
    double waver; /* standard deviation of the frequency, in units of 1/width */
    enum behaviour behaviour;
    enum clip_scene scene;
    double sigma;
    uint64_t seed;
};

/* ---- clips ---- */

static void add_wave(float *pixel, double fx, double fy, double amplitude, double phase)
{
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++)
            pixel[y * WIDTH + x] +=
                (float)(amplitude *
                        cos(2 * M_PI * (fx * (x - WIDTH / 2.) + fy * (y - HEIGHT / 2.)) + phase));
}

/* What a camera with this interference gives: 8 bits. */
static void spoil(const struct trial *t, unsigned frame, uint64_t *random, float *pixel)
{
    const bool is_steady = t->behaviour == STEADY;
    const double phase =
        is_steady ? 2 * M_PI * t->drift * frame : clip_uniform(random, 0, 2 * M_PI);
    const double off = t->behaviour == WAVERING ? t->waver * clip_normal(random) / WIDTH : 0;
    add_wave(pixel, t->fx + off, t->fy, t->amplitude, phase);
    for (size_t i = 0; i < PIXELS; i++)
        pixel[i] = roundf(fminf(fmaxf(pixel[i], 0), 255));
}

static struct trial random_trial(uint64_t seed, enum behaviour behaviour)
{
    uint64_t state = seed * 7919;
    struct trial t = {.seed = seed, .behaviour = behaviour};
    t.scene = clip_uniform(&state, 0, 1) < 0.75 ? CLIP_NATURAL : CLIP_SMOOTH;
    t.sigma = clip_uniform(&state, 1, 3);
    do {
        t.fx = clip_uniform(&state, 0, 0.45);
        t.fy = clip_uniform(&state, -0.45, 0.45);
    } while (hypot(t.fx, t.fy) < 0.1);
    t.amplitude = 255 * 0.02 * pow(10, clip_uniform(&state, 0, 0.7));
    t.drift = clip_uniform(&state, -0.5, 0.5);
    t.waver = clip_uniform(&state, 0.05, 0.15);
    return t;
}

static uint64_t first_seed(void)
{
    const char *text = getenv("FFTD_TEST_SEED");
    return text != NULL ? strtoull(text, NULL, 10) : 2000000;
}

/* ---- filtering as the engine does ---- */

static double frequency(unsigned k)
{
    return k < SIDE / 2 ? (double)k / SIDE : (double)k / SIDE - 1;
}

/* Filters a frame, whose edges are mirrored, by a chain of the notches alone. */
static void filter(const struct notches *notches, float *pixel)
{
    static float complex square[SIDE * SIDE];
    struct notches added = *notches;
    struct filter_chain *chain = calloc(1, sizeof *chain);
    struct fft *fft;
    notches_append(&added, chain);
    assert_int_equal(added.count, notches->count);
    assert_int_equal(fft_create(&fft, SIDE, NULL), 0);
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++) {
            /* What is to the right of the frame is its mirror, and then what is to its left. */
            const unsigned mx = x < WIDTH                ? x
                                : x < (WIDTH + SIDE) / 2 ? 2 * WIDTH - 1 - x
                                                         : SIDE - x;
            const unsigned my = y < HEIGHT                ? y
                                : y < (HEIGHT + SIDE) / 2 ? 2 * HEIGHT - 1 - y
                                                          : SIDE - y;
            square[y * SIDE + x] = pixel[(my % HEIGHT) * WIDTH + mx % WIDTH];
        }
    fft_square(fft, square, false);
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++)
            square[y * SIDE + x] *=
                (float)creal(filter_chain_response(chain, frequency(x), frequency(y)));
    fft_square(fft, square, true);
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++)
            pixel[y * WIDTH + x] = crealf(square[y * SIDE + x]) / (SIDE * SIDE);
    fft_destroy(fft);
    free(chain);
}

static double psnr(const float *a, const float *b)
{
    double sum = 0;
    for (size_t i = 0; i < PIXELS; i++)
        sum += (double)(a[i] - b[i]) * (a[i] - b[i]);
    return 10 * log10(255 * 255 / (sum / (double)PIXELS + 1e-9));
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *value, unsigned count)
{
    qsort(value, count, sizeof *value, compare);
    return value[count / 2];
}

/* ---- tests ---- */

struct result {
    struct notches notches; /* after the last frame */
    unsigned changes;       /* of the notches */
    unsigned reports;
    double spread;
    double before, predicted, notched; /* PSNR of the last frame in dB */
};

static struct result run_trial(const struct trial *t)
{
    struct result ret = {.changes = 0};
    struct periodic_report report[PERIODIC_MAX_REPORTS];
    struct periodic *p;
    struct clip clip;
    uint64_t random = t->seed + 17;
    float *clean = malloc(PIXELS * sizeof *clean);
    float *pixel = malloc(PIXELS * sizeof *pixel);
    clip_make(&clip, t->scene, WIDTH, HEIGHT, false, t->sigma, t->seed);
    assert_int_equal(periodic_create(&p, WIDTH, HEIGHT, &OPTIONS, NULL), 0);
    for (unsigned frame = 0; frame < FRAMES; frame++) {
        struct notches next;
        clip_frame(&clip, frame, clean);
        memcpy(pixel, clean, PIXELS * sizeof *clean);
        spoil(t, frame, &random, pixel);
        if (frame == FRAMES - 1)
            break; /* corrected by what the frames before have told */
        periodic_observe(p, pixel, frame * FRAME_NS);
        ret.reports = periodic_reports(p, report);
        notches_choose(&next, &ret.notches, report, ret.reports, OPTIONS.max_waves);
        ret.changes += !notches_equal(&next, &ret.notches);
        ret.notches = next;
    }
    ret.spread = ret.reports > 0 ? report[0].spread : 0;
    ret.before = psnr(pixel, clean);
    struct wave wave[CORRECTION_MAX_WAVES];
    struct periodic_model model;
    periodic_get_model(p, &model);
    const unsigned waves = periodic_model_waves(&model, (FRAMES - 1) * FRAME_NS, wave);
    for (unsigned i = 0; i < waves; i++)
        add_wave(pixel, wave[i].fx, wave[i].fy, -hypot(wave[i].re, wave[i].im),
                 atan2(wave[i].im, wave[i].re) + M_PI * (wave[i].fx * WIDTH + wave[i].fy * HEIGHT));
    ret.predicted = psnr(pixel, clean);
    if (ret.notches.count > 0)
        filter(&ret.notches, pixel);
    ret.notched = psnr(pixel, clean);
    periodic_destroy(p);
    clip_clear(&clip);
    free(clean);
    free(pixel);
    return ret;
}

static void check_waves(enum behaviour behaviour, const char *name, double least_share,
                        double least_gain_db)
{
    const unsigned trials = trials_count(MOST_CLIPS, 2);
    double before[MOST_CLIPS] = {0}, predicted[MOST_CLIPS] = {0}, notched[MOST_CLIPS] = {0};
    unsigned removed = 0, changes = 0;
    for (unsigned i = 0; i < trials; i++) {
        const struct trial t = random_trial(first_seed() + i, behaviour);
        const struct result r = run_trial(&t);
        before[i] = r.before;
        predicted[i] = r.predicted;
        notched[i] = r.notched;
        removed += notches_cover(&r.notches, t.fx, t.fy);
        changes += r.changes;
        if (getenv("FFTD_TEST_VERBOSE") != NULL)
            printf("# %u: %.3f %.3f amplitude %.1f waver %.2f: %u reports, %u notches, %u changes, "
                   "spread %.5f, %.1f, %.1f, %.1f dB\n",
                   i, t.fx, t.fy, t.amplitude, t.waver, r.reports, r.notches.count, r.changes,
                   r.spread, r.before, r.predicted, r.notched);
    }
    const double gain = median(notched, trials) - median(before, trials);
    printf("# figures: %s: %u trials, %u with a notch, %u changes, PSNR %.1f dB, %.1f by "
           "subtraction alone, %.1f with notches (medians)\n",
           name, trials, removed, changes, median(before, trials), median(predicted, trials),
           median(notched, trials));
    assert_true(removed >= least_share * trials);
    assert_true(gain >= least_gain_db);
    assert_true(changes <= 2 * trials);
}

static void waves_of_random_phase_get_notches(void **state)
{
    (void)state;
    check_waves(RANDOM_PHASE, "random phase", 0.95, 8);
}

static void wavering_waves_get_notches(void **state)
{
    (void)state;
    check_waves(WAVERING, "wavering frequency", 0.8, 8);
}

static void steady_waves_get_none(void **state)
{
    (void)state;
    const unsigned trials = trials_count(20, 1);
    for (unsigned i = 0; i < trials; i++) {
        const struct trial t = random_trial(first_seed() + 100 + i, STEADY);
        const struct result r = run_trial(&t);
        assert_int_equal(r.notches.count, 0);
        assert_int_equal(r.changes, 0);
        assert_true(r.predicted > r.before + 10);
    }
}

static void a_wave_that_settles_loses_its_notch(void **state)
{
    (void)state;
    struct trial t = random_trial(first_seed(), RANDOM_PHASE);
    struct periodic *p;
    struct clip clip;
    struct notches notches = {.count = 0};
    uint64_t random = 5;
    unsigned given = 0, taken = 0;
    float *pixel = malloc(PIXELS * sizeof *pixel);
    clip_make(&clip, t.scene, WIDTH, HEIGHT, false, t.sigma, t.seed);
    assert_int_equal(periodic_create(&p, WIDTH, HEIGHT, &OPTIONS, NULL), 0);
    int64_t gap_ns = 0;
    for (unsigned frame = 0; frame < 190; frame++) {
        struct periodic_report report[PERIODIC_MAX_REPORTS];
        t.behaviour = frame < FRAMES ? RANDOM_PHASE : STEADY;
        clip_frame(&clip, frame % 64, pixel);
        spoil(&t, frame, &random, pixel);
        /* A pause of the camera changes nothing. */
        gap_ns += frame == FRAMES - 5 ? 3000000000 : 0;
        periodic_observe(p, pixel, frame * FRAME_NS + gap_ns);
        const unsigned count = periodic_reports(p, report);
        notches_choose(&notches, &notches, report, count, 1);
        if (given > 0 && frame < FRAMES)
            assert_int_equal(notches.count, 1);
        given = given == 0 && notches.count > 0 ? frame : given;
        taken = given > 0 && taken == 0 && notches.count == 0 ? frame : taken;
        /* When the notch goes, the wave is subtracted already. */
        if (taken > 0)
            assert_true(count > 0 && report[0].is_removed);
    }
    printf("# figures: a notch after %u frames, none %u frames after the wave settled\n", given,
           taken - FRAMES);
    assert_true(given > 0 && given < FRAMES);
    assert_true(taken > FRAMES);
    periodic_destroy(p);
    clip_clear(&clip);
    free(pixel);
}

/* How a scene moves: not at all, evenly, or shaken. */
enum motion { STANDING, PANNING, SHAKEN, MOTIONS };

static void clean_clips_get_no_notches(void **state)
{
    (void)state;
    const unsigned trials = trials_count(6 * CLIP_SCENES * MOTIONS, MOTIONS);
    unsigned notched = 0;
    for (unsigned i = 0; i < trials; i++) {
        const enum motion motion = i % MOTIONS;
        const enum clip_scene scene = (CLIP_BLINDS + i / MOTIONS) % CLIP_SCENES;
        struct periodic_report report[PERIODIC_MAX_REPORTS];
        struct notches notches = {.count = 0};
        struct periodic *p;
        struct clip clip;
        uint64_t random = i;
        bool has_any = false;
        float *pixel = malloc(PIXELS * sizeof *pixel);
        clip_make(&clip, scene, WIDTH, HEIGHT, motion != STANDING, clip_uniform(&random, 1, 3),
                  first_seed() + 500 + i);
        assert_int_equal(periodic_create(&p, WIDTH, HEIGHT, &OPTIONS, NULL), 0);
        for (unsigned frame = 0; frame < FRAMES; frame++) {
            const unsigned index =
                motion == SHAKEN ? (unsigned)clip_uniform(&random, 0, FRAMES - 0.01) : frame;
            clip_frame(&clip, index, pixel);
            periodic_observe(p, pixel, frame * FRAME_NS);
            const unsigned count = periodic_reports(p, report);
            notches_choose(&notches, &notches, report, count, OPTIONS.max_waves);
            has_any |= notches.count > 0;
        }
        if (has_any && getenv("FFTD_TEST_VERBOSE") != NULL)
            printf("# clean %u: scene %u motion %u has %u notches\n", i, (unsigned)scene,
                   (unsigned)motion, notches.count);
        notched += has_any;
        periodic_destroy(p);
        clip_clear(&clip);
        free(pixel);
    }
    printf("# figures: %u clean clips, %u with notches\n", trials, notched);
    assert_int_equal(notched, 0);
}

static void notches_are_few_and_steady(void **state)
{
    (void)state;
    struct periodic_report wave[] = {
        {.fx = 0.1, .fy = 0.2, .amplitude = 9, .is_unpredictable = true},
        {.fx = 0.3, .fy = -0.2, .amplitude = 8, .is_removed = true},
        {.fx = 0.4999, .fy = 0.1, .amplitude = 7, .is_unpredictable = true, .spread = 0.004},
    };
    const struct notches none = {.count = 0};
    struct notches a, b;
    notches_choose(&a, &none, wave, 3, 3);
    assert_int_equal(a.count, 2);
    assert_float_equal(a.notch[0].width, 0.02, 1e-9);
    assert_float_equal(a.notch[1].width, 0.035, 1e-9);
    assert_true(notches_cover(&a, -0.1, -0.2) && !notches_cover(&a, 0.3, -0.2));

    /* Subtracted waves count. */
    notches_choose(&b, &none, wave, 3, 2);
    assert_int_equal(b.count, 1);

    /* Small changes, also of the order and across half a cycle per pixel, change nothing. */
    struct periodic_report later[] = {wave[2], wave[1], wave[0]};
    later[2].fx += 0.001;
    later[0] = (struct periodic_report){
        .fx = 0.4999, .fy = -0.1, .is_unpredictable = true, .spread = 0.0041};
    later[0].fy = 0.1;
    notches_choose(&b, &a, later, 3, 3);
    assert_true(notches_equal(&a, &b));
    later[2].fx += 0.005;
    notches_choose(&b, &a, later, 3, 3);
    assert_false(notches_equal(&a, &b));

    /* A full chain takes no more stages. */
    struct filter_chain *chain = calloc(1, sizeof *chain);
    assert_int_equal(filter_chain_parse(chain, "sharpen", NULL), 0);
    while (chain->count < FILTER_MAX_STAGES - 1) {
        chain->stage[chain->count] = chain->stage[0];
        chain->count++;
    }
    notches_append(&a, chain);
    assert_int_equal(chain->count, FILTER_MAX_STAGES);
    assert_int_equal(a.count, 1);
    free(chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waves_of_random_phase_get_notches),
        cmocka_unit_test(wavering_waves_get_notches),
        cmocka_unit_test(steady_waves_get_none),
        cmocka_unit_test(a_wave_that_settles_loses_its_notch),
        cmocka_unit_test(clean_clips_get_no_notches),
        cmocka_unit_test(notches_are_few_and_steady),
    };
    return cmocka_run_group_tests_name("periodic_notches", tests, NULL, NULL);
}
