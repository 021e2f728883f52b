/* The estimator of periodic noise, and the fit that removes it, on clips whose waves are known.
 * Their frequencies drift by up to 0.05 of 1/width in a frame, their phases drift or jump, the
 * scene may be so bright and dark that up to 40 % of the samples are cut off, only each first,
 * second or fourth frame is observed, and what was found is used one or two frames later. By
 * default a few small clips; FFTD_TEST_CLIPS=all runs them all, FFTD_TEST_SEED chooses others,
 * FFTD_TEST_ONLY runs one of them, and FFTD_TEST_VERBOSE says what became of each. */
#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/clip.h"
#include "support/cmocka.h"
#include "support/trials.h"

#include "estimators/periodic.h"
#include "estimators/periodic_sheet.h"

#define FRAME_NS    33333333LL
#define SECOND      30u /* frames */
#define FRAMES      45u
#define MOST_TRIALS 200u

static const struct periodic_options OPTIONS = {PERIODIC_MIN_AMPLITUDE, CORRECTION_MAX_WAVES};

/* ---- clips with waves ---- */

struct component {
    double fx, fy, amplitude, phase, drift;
    double rate_x, rate_y; /* of the frequency, in 1/width and 1/height per frame */
    bool is_restless;      /* the phase of each frame is another one */
};

struct trial {
    unsigned width, height;
    unsigned components;
    struct component component[4];
    unsigned pattern; /* of the observed frames: PATTERN_... */
    double contrast;  /* of the scene, whose middle is 120 */
    double corners;   /* as in clip.h */
    unsigned ahead; /* frames from the last one that may have been observed to the corrected one */
    enum clip_scene scene;
    bool is_panning;
    double sigma;
    uint64_t seed;
};

enum { PATTERN_ALL, PATTERN_SECOND, PATTERN_FOURTH, PATTERNS };

struct result {
    unsigned components, found, reports, true_reports;
    double before, after; /* PSNR in dB, of the frames after the first second; medians */
    double first_s;       /* when all were removed; INFINITY: never */
    double cost_ms, fit_ms;
    double clipped; /* share of the samples */
};

static bool is_observed(unsigned pattern, unsigned frame)
{
    return frame % (1u << pattern) == 0;
}

static void add_waves(float *pixel, unsigned width, unsigned height, const struct wave *wave,
                      unsigned count, double sign)
{
    for (unsigned y = 0; y < height; y++)
        for (unsigned k = 0; k < count; k++) {
            const double complex along = cexp(2 * M_PI * I * wave[k].fx);
            double complex turn =
                sign * (wave[k].re + wave[k].im * I) * cexp(2 * M_PI * I * wave[k].fy * y);
            for (unsigned x = 0; x < width; x++, turn *= along)
                pixel[(size_t)y * width + x] += (float)creal(turn);
        }
}

/* What the engine makes of a frame (filters/correction.h). */
static void correct(float *pixel, unsigned width, unsigned height, const struct correction *c)
{
    const size_t size = (size_t)width * height;
    float *wave = calloc(size, sizeof *wave);
    const float top = (float)c->top;
    add_waves(wave, width, height, c->wave, c->wave_count, 1);
    for (size_t i = 0; i < size; i++) {
        const double share = pixel[i] >= top ? c->share_high : pixel[i] <= 0 ? c->share_low : 1;
        const float level = pixel[i] - (float)share * wave[i];
        pixel[i] = c->wave_count == 0 ? pixel[i] : fminf(fmaxf(level, 0), top);
    }
    free(wave);
}

static struct component component_in(const struct trial *t, unsigned k, unsigned frame)
{
    struct component c = t->component[k];
    uint64_t random = t->seed + 977 * frame + k;
    c.phase += 2 * M_PI * c.drift * frame;
    if (c.is_restless)
        c.phase = clip_uniform(&random, 0, 2 * M_PI);
    c.fx += c.rate_x * frame / t->width;
    c.fy += c.rate_y * frame / t->height;
    return c;
}

/* What a camera with this interference gives: 8 bits. */
static void spoil(const struct trial *t, unsigned frame, float *clean, float *pixel)
{
    struct wave wave[4];
    const size_t size = (size_t)t->width * t->height;
    for (unsigned k = 0; k < t->components; k++) {
        const struct component c = component_in(t, k, frame);
        /* Phases count from the middle, as those of a drifting frequency would from anywhere. */
        const double phase = c.phase - M_PI * (c.fx * t->width + c.fy * t->height);
        wave[k] = (struct wave){c.fx, c.fy, c.amplitude * cos(phase), c.amplitude * sin(phase)};
    }
    for (size_t i = 0; i < size; i++)
        clean[i] = fminf(fmaxf(120 + (float)t->contrast * (clean[i] - 120), 0), 255);
    memcpy(pixel, clean, size * sizeof *clean);
    add_waves(pixel, t->width, t->height, wave, t->components, 1);
    for (size_t i = 0; i < size; i++)
        pixel[i] = roundf(fminf(fmaxf(pixel[i], 0), 255));
}

static double psnr(const float *a, const float *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)(a[i] - b[i]) * (a[i] - b[i]);
    return 10 * log10(255 * 255 / (sum / (double)count + 1e-9));
}

static double apart(double a, double b)
{
    return fabs(a - b - round(a - b));
}

static bool matches(const struct component *c, const struct periodic_report *r, unsigned width,
                    unsigned height)
{
    const double dx = 0.25 / width;
    const double dy = 0.25 / height;
    return ((apart(c->fx, r->fx) < dx && apart(c->fy, r->fy) < dy) ||
            (apart(c->fx, -r->fx) < dx && apart(c->fy, -r->fy) < dy)) &&
           fabs(r->amplitude - c->amplitude) < 0.3 * c->amplitude + 0.5;
}

static void count_reports(const struct trial *t, const struct periodic *p, unsigned frame,
                          struct result *ret)
{
    struct component component[4];
    for (unsigned k = 0; k < t->components; k++)
        component[k] = component_in(t, k, frame);
    struct periodic_report report[PERIODIC_MAX_REPORTS];
    const unsigned count = periodic_reports(p, report);
    ret->components += t->components;
    ret->reports += count;
    for (unsigned i = 0; i < count; i++) {
        bool is_true = false;
        for (unsigned k = 0; k < t->components; k++)
            is_true |= matches(&component[k], &report[i], t->width, t->height);
        ret->true_reports += is_true;
        if (!is_true && getenv("FFTD_TEST_VERBOSE") != NULL)
            printf("# wrong %.4f %.4f amplitude %.1f\n", report[i].fx, report[i].fy,
                   report[i].amplitude);
    }
    for (unsigned k = 0; k < t->components; k++) {
        bool is_found = false;
        for (unsigned i = 0; i < count; i++)
            is_found |= matches(&component[k], &report[i], t->width, t->height);
        ret->found += is_found;
        if (!is_found && getenv("FFTD_TEST_VERBOSE") != NULL)
            printf("# missed %.4f %.4f amplitude %.1f drift %.3f rate %.3f\n", component[k].fx,
                   component[k].fy, component[k].amplitude, component[k].drift,
                   hypot(component[k].rate_x, component[k].rate_y));
    }
}

static double processor_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static struct result run_trial(const struct trial *t, unsigned frames)
{
    struct result result = {.first_s = INFINITY};
    struct clip clip;
    struct periodic *p;
    const size_t size = (size_t)t->width * t->height;
    float *clean = malloc(size * sizeof *clean);
    float *pixel = malloc(size * sizeof *pixel);
    struct wave_model model[64] = {0}; /* what was known before each frame */
    struct wave_fit *fit;
    double share = 0;
    double before[64];
    double after[64];
    unsigned judged = 0;
    unsigned observed = 0;
    clip_make(&clip, t->scene, t->width, t->height, t->is_panning, t->sigma, t->seed);
    clip.corners = t->corners;
    assert_int_equal(periodic_create(&p, t->width, t->height, &OPTIONS, NULL), 0);
    assert_int_equal(wave_fit_create(&fit, t->width, t->height, NULL), 0);
    for (unsigned frame = 0; frame < frames; frame++) {
        clip_frame(&clip, frame, clean);
        spoil(t, frame, clean, pixel);
        for (size_t i = 0; i < size; i++)
            share += (pixel[i] < 0.5F || pixel[i] > 254.5F) / (double)(size * frames);
        if (is_observed(t->pattern, frame)) {
            const double start = processor_s();
            periodic_observe(p, pixel, frame * FRAME_NS);
            result.cost_ms += (processor_s() - start) * 1e3;
            observed++;
        }
        periodic_get_model(p, &model[frame + t->ahead]);
        if (frame == SECOND - 1 || (frames < SECOND && frame == frames - 1))
            count_reports(t, p, frame, &result);
        struct correction correction;
        double start = processor_s();
        wave_fit_frame(fit, &model[frame], pixel, &correction);
        result.fit_ms += (processor_s() - start) * 1e3 / frames;
        if (frame >= frames - frames / 3) {
            before[judged] = psnr(pixel, clean, size);
            correct(pixel, t->width, t->height, &correction);
            after[judged++] = psnr(pixel, clean, size);
        }
    }
    result.cost_ms /= observed;
    result.clipped = share;
    result.before = trials_median(before, judged);
    result.after = trials_median(after, judged);
    periodic_destroy(p);
    wave_fit_destroy(fit);
    clip_clear(&clip);
    free(clean);
    free(pixel);
    return result;
}

static struct trial random_trial(uint64_t seed, bool is_small)
{
    static const unsigned sizes[][2] = {{320, 240}, {320, 240}, {640, 480}, {333, 251}, {320, 240}};
    struct trial t = {.seed = seed};
    uint64_t state = seed * 7919;
    const unsigned which = is_small ? 0 : (unsigned)clip_uniform(&state, 0, 5);
    t.width = sizes[which][0];
    t.height = sizes[which][1];
    t.components = 1 + (unsigned)clip_uniform(&state, 0, 4);
    t.pattern = (unsigned)clip_uniform(&state, 0, PATTERNS);
    t.ahead = 1 + (unsigned)clip_uniform(&state, 0, 2);
    t.scene = clip_uniform(&state, 0, 1) < 0.75 ? CLIP_NATURAL : CLIP_SMOOTH;
    t.is_panning = clip_uniform(&state, 0, 1) < 0.4;
    t.sigma = clip_uniform(&state, 1, 3);
    /* Few clips would say more of the draw than of the estimator if some were mostly black and
     * white: what_is_cut_off_leaves_little() has such ones. */
    t.contrast = clip_uniform(&state, 0, 1) < 0.3 ? clip_uniform(&state, 1, 4) : 1;
    t.contrast = is_small ? 1 : t.contrast;
    for (unsigned k = 0; k < t.components; k++) {
        struct component *c = &t.component[k];
        do {
            c->fx = clip_uniform(&state, -0.5, 0.5);
            c->fy = clip_uniform(&state, -0.5, 0.5);
            if (clip_uniform(&state, 0, 1) < 0.3) { /* on a bin of the frame */
                c->fx = round(c->fx * t.width) / t.width;
                c->fy = round(c->fy * t.height) / t.height;
            }
            if (clip_uniform(&state, 0, 1) < 0.15)
                c->fx = 0;
        } while (hypot(c->fx, c->fy) < 0.06);
        c->amplitude = 255 * 0.02 * pow(10, clip_uniform(&state, 0, 1));
        c->phase = clip_uniform(&state, 0, 2 * M_PI);
        c->drift = clip_uniform(&state, 0, 1) < 0.4 ? 0 : clip_uniform(&state, -0.5, 0.5);
        if (clip_uniform(&state, 0, 1) < 0.4) {
            const double rate = 0.05 * clip_uniform(&state, 0, 1);
            const double angle = clip_uniform(&state, 0, 2 * M_PI);
            c->rate_x = rate * cos(angle);
            c->rate_y = rate * sin(angle);
        }
        c->is_restless = clip_uniform(&state, 0, 1) < 0.15;
    }
    t.corners = clip_corners(&state);
    return t;
}

static uint64_t first_seed(void)
{
    const char *text = getenv("FFTD_TEST_SEED");
    return text != NULL ? strtoull(text, NULL, 10) : 1000000;
}

/* What the table shows of the clips of a class. */
struct class
{
    const char *name;
    unsigned count;
    struct result sum;
    double before[MOST_TRIALS], after[MOST_TRIALS];
};

static void class_add(struct class *c, const struct result *r)
{
    c->sum.components += r->components;
    c->sum.found += r->found;
    c->sum.reports += r->reports;
    c->sum.true_reports += r->true_reports;
    c->before[c->count] = r->before;
    c->after[c->count++] = r->after;
}

/* Prints the row of a class, and sorts its PSNRs, the lowest first. */
static void class_print(struct class *c)
{
    const double before = trials_median(c->before, c->count),
                 after = trials_median(c->after, c->count);
    printf("# figures: %-16s %3u clips, %u waves, %.1f %% found, %.1f %% of %u reports true, PSNR "
           "%.1f -> %.1f dB (medians), worst tenth %.1f dB\n",
           c->name, c->count, c->sum.components, 100.0 * c->sum.found / c->sum.components,
           100.0 * c->sum.true_reports / c->sum.reports, c->sum.reports, before, after,
           c->after[c->count / 10]);
}

/* Returns 1 if all waves of a clip stand, 2 if phases drift or leap, 3 if frequencies drift. */
static unsigned class_of(const struct trial *t)
{
    unsigned class = 1;
    for (unsigned k = 0; k < t->components; k++) {
        const struct component *c = &t->component[k];
        if (c->rate_x != 0 || c->rate_y != 0)
            return 3;
        if (c->drift != 0 || c->is_restless)
            class = 2;
    }
    return class;
}

static void waves_are_found_and_removed(void **state)
{
    static struct class classes[] = {
        {.name = "all"}, {.name = "stand"}, {.name = "phase drifts"}, {.name = "frequency drifts"}};
    (void)state;
    const unsigned trials = trials_are_all() ? MOST_TRIALS : 3;
    const char *only = getenv("FFTD_TEST_ONLY");
    for (unsigned i = 0; i < trials; i++) {
        if (only != NULL && i != strtoul(only, NULL, 10))
            continue;
        const struct trial t = random_trial(first_seed() + i, !trials_are_all());
        const struct result r = run_trial(&t, FRAMES);
        if (getenv("FFTD_TEST_VERBOSE") != NULL)
            printf("# %u: %ux%u scene %u pan %d sigma %.1f pattern %u ahead %u clipped %.3f: found "
                   "%u/%u true %u/%u %.1f -> %.1f dB, %.1f and %.1f ms\n",
                   i, t.width, t.height, (unsigned)t.scene, t.is_panning, t.sigma, t.pattern,
                   t.ahead, r.clipped, r.found, r.components, r.true_reports, r.reports, r.before,
                   r.after, r.cost_ms, r.fit_ms);
        class_add(&classes[0], &r);
        class_add(&classes[class_of(&t)], &r);
    }
    for (unsigned i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (classes[i].count > 0)
            class_print(&classes[i]);
    const struct result *sum = &classes[0].sum;
    assert_true(sum->found * 100 >= sum->components * (trials_are_all() ? 95 : 70));
    assert_true(sum->true_reports * 100 >= sum->reports * 99);
    assert_true(classes[0].after[classes[0].count / 2] >= (trials_are_all() ? 44 : 35));
}

static void difficult_waves_are_found(void **state)
{
    (void)state;
    static const struct component clips[][2] = {
        /* between two bins of a patch: both are as strong */
        {{0.1549, 0.0241, 30, 1, 0, 0, 0, false}, {0.3737, -0.0903, 20, 2, -0.1, 0, 0, false}},
        /* less than two bins apart */
        {{0.2522, -0.3586, 30, 1, 0.2, 0, 0, false}, {0.2617, -0.3330, 13, 3, 0, 0, 0, false}},
        /* near half a cycle per pixel, where the mirrored wave is near, too */
        {{0, 0.4835, 33, 0, 0.1, 0, 0, false}, {0.4539, -0.4630, 30, 1, 0, 0, 0, false}},
        /* few periods in a patch */
        {{0, 0.0865, 23, 1, 0, 0, 0, false}, {0.0483, -0.0507, 11, 2, 0.4, 0, 0, false}},
        /* the same, and a bin apart: their sum is strong in some patches and missing in others */
        {{0.0153, 0.1068, 13, 1, -0.3, 0, 0, false}, {0, 0.1142, 11, 2, 0, 0, 0, false}},
    };
    const unsigned count =
        trials_count(sizeof clips / sizeof clips[0], sizeof clips / sizeof clips[0]);
    for (unsigned i = 0; i < count; i++) {
        struct trial t = {.width = 320,
                          .height = 240,
                          .components = 2,
                          .ahead = 1,
                          .sigma = 2,
                          .contrast = 1,
                          .corners = 1};
        t.seed = first_seed() + i;
        memcpy(t.component, clips[i], sizeof clips[i]);
        const struct result r = run_trial(&t, 15);
        assert_int_equal(r.found, 2);
        assert_int_equal(r.reports, 2);
        assert_true(r.after > r.before + 15);
    }
}

/* As cameras warm up and clocks wander, up to the largest drift that is promised. */
static void drifting_frequencies_are_followed(void **state)
{
    (void)state;
    static const double rates[] = {0.006, 0.017, 0.05}; /* of 1/width in a frame */
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        for (unsigned pattern = 0; pattern < PATTERNS; pattern += 2) {
            struct trial t = {
                .width = 320,
                .height = 240,
                .components = 1,
                .component = {{0.17, -0.23, 12, 1, 0.3, rates[i], 0, false}},
                .pattern = pattern,
                .ahead = 2,
                .sigma = 2,
                .contrast = 1,
                .corners = 1,
                .seed = first_seed(),
            };
            const struct result r = run_trial(&t, SECOND);
            printf("# figures: drift of %.3f/width, each of %u frames observed: PSNR %.1f -> "
                   "%.1f dB\n",
                   rates[i], 1u << pattern, r.before, r.after);
            assert_int_equal(r.found, 1);
            assert_true(r.after > 50);
        }
}

/* Textures have lines of their own, of which some may be near the wave or twice its frequency. */
static void waves_before_textures_are_found(void **state)
{
    (void)state;
    static const enum clip_scene scenes[] = {CLIP_BLINDS, CLIP_BRICKS, CLIP_FABRIC, CLIP_GRATING,
                                             CLIP_CHECKERBOARD};
    const unsigned trials = trials_count(100, 5);
    unsigned found = 0, reports = 0, right = 0;
    double after[100];
    for (unsigned i = 0; i < trials; i++) {
        struct trial t = random_trial(first_seed() + 1000 + i, true);
        t.components = 1;
        t.pattern = PATTERN_ALL;
        t.scene = scenes[i % 5];
        t.component[0].is_restless = false;
        t.component[0].amplitude = 12;
        t.component[0].fx = fmax(fabs(t.component[0].fx), 0.1);
        const struct result r = run_trial(&t, 20);
        found += r.found;
        reports += r.reports;
        right += r.true_reports;
        after[i] = r.after;
        if (getenv("FFTD_TEST_VERBOSE") != NULL)
            printf("# texture %u: scene %u pan %d: found %u, %.1f -> %.1f dB\n", i,
                   (unsigned)t.scene, t.is_panning, r.found, r.before, r.after);
    }
    const double middle = trials_median(after, trials);
    printf("# figures: before %u textures %u waves are found, %u of %u reports true, PSNR %.1f dB "
           "(median), worst tenth %.1f\n",
           trials, found, right, reports, middle, after[trials / 10]);
    assert_true(found * 10 >= trials * 8);
}

/* The lines of a texture that are related do not count as waves, of which there may be six. */
static void lines_of_textures_are_not_counted(void **state)
{
    (void)state;
    static const enum clip_scene scenes[] = {CLIP_BLINDS, CLIP_BRICKS};
    for (unsigned i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        struct trial t = random_trial(7001, true);
        t.pattern = PATTERN_ALL;
        t.scene = scenes[i];
        for (unsigned k = 0; k < t.components; k++)
            t.component[k].amplitude = 2 + t.component[k].amplitude / 6;
        const struct result r = run_trial(&t, SECOND);
        assert_int_equal(r.found, t.components);
        assert_int_equal(r.true_reports, r.reports);
    }
}

/* Waves that are weaker than what each patch of the scene has at their frequency. All patches
 * together tell them, as the scene moves or the phase of the wave drifts. */
static void waves_below_the_scene_are_found(void **state)
{
    (void)state;
    const unsigned trials = trials_count(100, 8);
    unsigned found = 0, reports = 0, right = 0;
    for (unsigned i = 0; i < trials; i++) {
        struct trial t = random_trial(first_seed() + 3000 + i, true);
        uint64_t random = t.seed;
        const double period_px = clip_uniform(&random, 14, 20);
        const double angle = clip_uniform(&random, 0.3, 1.2);
        t.components = 1;
        t.pattern = PATTERN_ALL;
        t.scene = CLIP_NATURAL;
        t.contrast = 2;
        t.is_panning = i % 2 == 1;
        t.component[0] = (struct component){.fx = cos(angle) / period_px,
                                            .fy = sin(angle) / period_px,
                                            .amplitude = 5,
                                            .drift = t.is_panning ? 0 : 0.23};
        const struct result r = run_trial(&t, SECOND);
        found += r.found;
        reports += r.reports;
        right += r.true_reports;
    }
    printf("# figures: %u of %u waves below the scene found, %u of %u reports true\n", found,
           trials, right, reports);
    assert_true(found * 10 >= trials * 8);
    assert_int_equal(right, reports);
}

/* Two weak waves beside a strong one that another disturbs: what is refused because it cannot be
 * told from its neighbours is tried again when one of them is followed. */
static void disturbed_waves_are_found(void **state)
{
    (void)state;
    struct trial t = {.width = 320,
                      .height = 240,
                      .components = 4,
                      .component = {{0.1949, 0.4237, 19, 1, 0.1, 0, 0, false},
                                    {0.0251, -0.1546, 34, 2, 0, 0, 0, false},
                                    {-0.0085, 0.1348, 19, 3, -0.2, 0, 0, false},
                                    {0.0531, -0.0792, 12, 4, 0, 0, 0, false}},
                      .ahead = 1,
                      .sigma = 2,
                      .contrast = 1,
                      .corners = 1};
    for (unsigned i = 0; i < trials_count(4, 2); i++) {
        t.seed = first_seed() + i;
        const struct result r = run_trial(&t, 15);
        printf("# figures: of 4 waves close together %u are found, PSNR %.1f -> %.1f dB\n", r.found,
               r.before, r.after);
        assert_int_equal(r.found, 4);
        assert_int_equal(r.reports, 4);
    }
}

enum { BEGIN = 5, END = 20 }; /* frames with waves */

/* When waves that come and go are removed, and what stays of them. Each frame is observed. */
struct ends {
    unsigned begun; /* frames from the beginning to the first of three that are corrected */
    unsigned ghost; /* frames after the end that are changed */
    unsigned wrong; /* frames with more waves removed than there are */
    double worst;   /* PSNR in dB, of the third frame with waves and those after it */
};

static struct ends run_ends(const struct trial *trial)
{
    struct trial t = *trial;
    struct ends ends = {.begun = END - BEGIN, .worst = INFINITY};
    struct wave_model model = {.count = 0};
    struct periodic *p;
    struct wave_fit *fit;
    struct clip clip;
    unsigned good = 0;
    const size_t size = (size_t)t.width * t.height;
    float *clean = malloc(size * sizeof *clean), *pixel = malloc(size * sizeof *pixel);
    clip_make(&clip, t.scene, t.width, t.height, t.is_panning, t.sigma, t.seed);
    clip.corners = t.corners;
    assert_int_equal(periodic_create(&p, t.width, t.height, &OPTIONS, NULL), 0);
    assert_int_equal(wave_fit_create(&fit, t.width, t.height, NULL), 0);
    for (unsigned frame = 0; frame < END + 10; frame++) {
        struct correction correction;
        t.components = frame >= BEGIN && frame < END ? trial->components : 0;
        clip_frame(&clip, frame, clean);
        spoil(&t, frame, clean, pixel);
        wave_fit_frame(fit, &model, pixel, &correction); /* of the frames before */
        periodic_observe(p, pixel, frame * FRAME_NS);
        periodic_get_model(p, &model);
        ends.wrong += correction.wave_count > t.components;
        if (t.components > 0) {
            const double before = psnr(pixel, clean, size);
            correct(pixel, t.width, t.height, &correction);
            const double after = psnr(pixel, clean, size);
            good = after > fmin(before + 15, 45) ? good + 1 : 0;
            if (good == 3 && ends.begun == END - BEGIN)
                ends.begun = frame - 2 - BEGIN;
            if (frame >= BEGIN + 2)
                ends.worst = fmin(ends.worst, after);
        } else if (frame >= END) {
            ends.ghost += correction.wave_count > 0;
        } else {
            assert_int_equal(correction.wave_count, 0);
        }
    }
    periodic_destroy(p);
    wave_fit_destroy(fit);
    clip_clear(&clip);
    free(clean);
    free(pixel);
    return ends;
}

/* A clear wave is known after two observed frames, and gone with the first that does not have it.
 */
static void waves_begin_and_end(void **state)
{
    (void)state;
    enum { CLEAR = 4, MOST_DRAWN = 60 };
    static const struct component component = {0.17, -0.23, 12, 1, 0.1, 0, 0, false};
    struct trial t = {.width = 320, .height = 240, .components = 1, .contrast = 1, .corners = 1};
    const unsigned drawn = trials_count(MOST_DRAWN, 4);
    double begun[MOST_DRAWN], ghost[MOST_DRAWN];
    t.component[0] = component;
    t.sigma = 2;
    for (unsigned i = 0; i < CLEAR; i++) {
        t.is_panning = i % 2;
        t.seed = first_seed() + i;
        const struct ends ends = run_ends(&t);
        assert_in_range(ends.begun, 0, 2);
        assert_int_equal(ends.wrong, 0); /* and so no ghost */
        assert_true(ends.worst > 45);
    }
    for (unsigned i = 0; i < drawn; i++) {
        t = random_trial(first_seed() + 2000 + i, !trials_are_all());
        const struct ends ends = run_ends(&t);
        begun[i] = ends.begun == END - BEGIN ? INFINITY : ends.begun;
        ghost[i] = ends.ghost;
    }
    trials_print_ends(&(struct trials_ends){begun, ghost, drawn, END - BEGIN});
    assert_true(!trials_are_all() || trials_median(begun, drawn) <= 3);
    assert_true(ghost[drawn - 1] <= 3);
}

/* Of a large frame, some of the rows are fitted. Whatever a wave's direction, they tell its
 * amplitude. */
static void waves_of_large_frames_are_measured(void **state)
{
    (void)state;
    static const double fx[] = {0, 1. / 320, 0.02, -0.2};
    const unsigned width = 320, height = 720;
    float *pixel = malloc((size_t)width * height * sizeof *pixel);
    struct clip clip;
    clip_make(&clip, CLIP_SMOOTH, width, height, false, 2, first_seed());
    double worst = 0;
    for (size_t i = 0; i < sizeof fx / sizeof fx[0]; i++) {
        const struct wave wave = {.fx = fx[i], .fy = 0.31, .re = 10};
        const struct wave_model model = {1, {{{wave.fx, wave.fy}, 1}}};
        struct correction correction;
        struct wave_fit *fit;
        clip_frame(&clip, 0, pixel);
        add_waves(pixel, width, height, &wave, 1, 1);
        assert_int_equal(wave_fit_create(&fit, width, height, NULL), 0);
        wave_fit_frame(fit, &model, pixel, &correction);
        assert_int_equal(correction.wave_count, 1);
        const struct wave *got = &correction.wave[0];
        worst = fmax(worst, hypot(got->re - wave.re, got->im - wave.im));
        wave_fit_destroy(fit);
    }
    clip_clear(&clip);
    free(pixel);
    printf("# figures: amplitudes of 10 in frames of 720 rows at most %.2f off\n", worst);
    assert_true(worst < 0.8);
}

/* The contrast with which that share of a clip's first frame is cut off. */
static double contrast_for(struct trial t, double share)
{
    const size_t size = (size_t)t.width * t.height;
    float *clean = malloc(size * sizeof *clean), *pixel = malloc(size * sizeof *pixel);
    double low = 0, high = 16;
    struct clip clip;
    clip_make(&clip, t.scene, t.width, t.height, t.is_panning, t.sigma, t.seed);
    clip.corners = t.corners;
    for (unsigned halving = 0; halving < 12; halving++) {
        size_t cut = 0;
        t.contrast = (low + high) / 2;
        clip_frame(&clip, 0, clean);
        spoil(&t, 0, clean, pixel);
        for (size_t i = 0; i < size; i++)
            cut += pixel[i] < 0.5F || pixel[i] > 254.5F;
        if ((double)cut > share * (double)size)
            high = t.contrast;
        else
            low = t.contrast;
    }
    clip_clear(&clip);
    free(clean);
    free(pixel);
    return (low + high) / 2;
}

/* Parts of the scene are white and black, and more of it becomes so by the wave. */
static void what_is_cut_off_leaves_little(void **state)
{
    (void)state;
    static const double shares[] = {0.05, 0.15, 0.25};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        struct trial t = {.width = 320,
                          .height = 240,
                          .components = 1,
                          .component = {{0.21, 0.13, 25, 1, 0.1, 0, 0, false}},
                          .ahead = 1,
                          .sigma = 2,
                          .corners = 1};
        t.seed = first_seed();
        t.contrast = contrast_for(t, shares[i]);
        const struct result r = run_trial(&t, 14);
        printf("# figures: %.0f %% of the samples cut off at a contrast of %.1f, PSNR %.1f -> "
               "%.1f dB\n",
               100 * r.clipped, t.contrast, r.before, r.after);
        assert_int_equal(r.found, 1);
        assert_true(r.after > 36);
    }
}

/* A fifth of the samples is cut off, unevenly over the frame, and the strongest wave moves by 0.18
 * of 1/width from one observed frame to the next, which used to be seen as half as much. */
static void cut_off_waves_are_followed(void **state)
{
    (void)state;
    const struct trial t = random_trial(91827381, false);
    const struct result r = run_trial(&t, SECOND);
    printf("# figures: %.0f %% of the samples cut off, %u of %u waves found, %u of %u reports "
           "true\n",
           100 * r.clipped, r.found, r.components, r.true_reports, r.reports);
    assert_true(r.clipped > 0.15 && hypot(t.component[0].rate_x, t.component[0].rate_y) > 0.04);
    assert_true(r.found >= 3);
    assert_int_equal(r.true_reports, r.reports);
}

/* Clipping adds a lattice of sums and differences to strong waves. A wave that drifts passes over
 * it, and a line that comes and goes may put waves that do not drift on one. */
static void a_known_wave_passes_a_lattice(void **state)
{
    (void)state;
    static const uint64_t seeds[] = {28119999, 1000099, 1000004};
    for (unsigned i = 0; i < sizeof seeds / sizeof seeds[0]; i++) {
        const struct trial t = random_trial(seeds[i], false);
        const struct result r = run_trial(&t, FRAMES);
        printf("# figures: %.0f %% of the samples cut off, %u of %u waves found, PSNR %.1f -> %.1f "
               "dB\n",
               100 * r.clipped, r.found, r.components, r.before, r.after);
        assert_true(r.clipped > 0.05);
        assert_int_equal(r.found, r.components);
        assert_true(r.after > r.before + 12);
    }
}

/* A line of 0.03 to 1 grey levels within the peak of a wave is taken up while the wave's frequency
 * drifts. The wave must be followed all the same. */
static void a_weak_line_stops_no_drift(void **state)
{
    (void)state;
    static const uint64_t seeds[] = {28119960, 28119988, 28113214};
    for (unsigned i = 0; i < sizeof seeds / sizeof seeds[0]; i++) {
        const struct trial t = random_trial(seeds[i], false);
        const struct result r = run_trial(&t, SECOND);
        printf("# figures: %u of %u waves found, %u of %u reports true\n", r.found, r.components,
               r.true_reports, r.reports);
        assert_int_equal(r.found, r.components);
        assert_int_equal(r.true_reports, r.reports);
    }
}

/* Where a part of the frame is white, the rest lies to one side of the middle, from which phases
 * count. A frequency that is off must not turn them. */
static void a_part_of_the_frame_tells_the_phase(void **state)
{
    (void)state;
    enum { WIDTH = 320, HEIGHT = 240 };
    static const struct {
        double off_x, off_y;    /* 1/width, 1/height */
        unsigned width, height; /* of what is white, from the upper left */
    } cases[] = {{0, 0, 160, 240},    {0.3, 0, 0, 0},     {0.3, 0, 160, 240},
                 {-0.3, 0, 160, 240}, {0, 0.3, 320, 120}, {0.2, -0.2, 160, 120}};
    static const unsigned least_rows[] = {0, 100};
    const double fx = 0.17, fy = -0.23;
    const double complex amplitude = 20 * cexp(I);
    const double complex first =
        amplitude * cexp(-M_PI * I * (fx * (WIDTH - 1) + fy * (HEIGHT - 1)));
    const struct wave wave = {fx, fy, creal(first), cimag(first)};
    float *luma = malloc(sizeof *luma * WIDTH * HEIGHT);
    double turned = 0, weakened = 0;
    assert_non_null(luma);
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        const size_t c = i / 2;
        struct sheet_frequency f = {fx - cases[c].off_x / WIDTH, fy - cases[c].off_y / HEIGHT};
        struct sheet sheet;
        double complex got;
        for (unsigned k = 0; k < WIDTH * HEIGHT; k++)
            luma[k] = 120;
        add_waves(luma, WIDTH, HEIGHT, &wave, 1, 1);
        for (unsigned y = 0; y < cases[c].height; y++)
            for (unsigned x = 0; x < cases[c].width; x++)
                luma[(size_t)y * WIDTH + x] = 255;
        assert_int_equal(sheet_init(&sheet, WIDTH, HEIGHT, least_rows[i % 2], NULL), 0);
        sheet_load(&sheet, luma);
        sheet_fit(&sheet, &f, 1, &got);
        turned = fmax(turned, fabs(carg(got / amplitude)));
        weakened = fmax(weakened, fabs(cabs(got / amplitude) - 1));
        sheet_clear(&sheet);
    }
    free(luma);
    printf("# figures: amplitudes in a part of the frame at most %.3f rad and %.1f %% off\n",
           turned, 100 * weakened);
    assert_true(turned < 0.04);
    assert_true(weakened < 0.005);
}

/* What is reported of a wave that stays is an average over frames, and not what the noise of the
 * newest one makes of it. */
static void steady_frequencies_are_averaged(void **state)
{
    (void)state;
    double squares = 0;
    unsigned count = 0;
    for (unsigned i = 0; i < 4; i++) {
        struct periodic_report report[PERIODIC_MAX_REPORTS];
        struct trial t = {
            .width = 320, .height = 240, .components = 1, .contrast = 1, .corners = 1};
        struct periodic *p;
        struct clip clip;
        float *clean = malloc((size_t)t.width * t.height * sizeof *clean);
        float *pixel = malloc((size_t)t.width * t.height * sizeof *pixel);
        t.component[0] = (struct component){.fx = 0.2, .fy = 0.1 + 0.02 * i, .amplitude = 3};
        clip_make(&clip, CLIP_NATURAL, t.width, t.height, true, 3, first_seed() + i);
        assert_int_equal(periodic_create(&p, t.width, t.height, &OPTIONS, NULL), 0);
        for (unsigned frame = 0; frame < 30; frame++) {
            clip_frame(&clip, frame, clean);
            spoil(&t, frame, clean, pixel);
            periodic_observe(p, pixel, frame * FRAME_NS);
            if (frame < 20)
                continue;
            assert_int_equal(periodic_reports(p, report), 1);
            squares += pow((report[0].fx - t.component[0].fx) * t.width, 2) +
                       pow((report[0].fy - t.component[0].fy) * t.height, 2);
            count++;
        }
        periodic_destroy(p);
        clip_clear(&clip);
        free(clean);
        free(pixel);
    }
    const double off = sqrt(squares / count);
    printf("# figures: frequencies %.4f of 1/width off (root of the mean square)\n", off);
    assert_true(off < 0.0065);
}

/* Observes a clip without waves. Returns the PSNR in dB of what became of its worst frame;
 * INFINITY: none was changed. *ret_reports: waves at the end. */
static double run_clean(const struct trial *t, unsigned frames, unsigned *ret_reports)
{
    struct periodic_report report[PERIODIC_MAX_REPORTS];
    struct periodic *p;
    struct wave_fit *fit;
    struct clip clip;
    double worst = INFINITY;
    struct trial bare = *t;
    const size_t size = (size_t)t->width * t->height;
    float *clean = malloc(size * sizeof *clean);
    float *pixel = malloc(size * sizeof *pixel);
    bare.components = 0;
    clip_make(&clip, t->scene, t->width, t->height, t->is_panning, t->sigma, t->seed);
    clip.corners = t->corners;
    assert_int_equal(periodic_create(&p, t->width, t->height, &OPTIONS, NULL), 0);
    assert_int_equal(wave_fit_create(&fit, t->width, t->height, NULL), 0);
    for (unsigned frame = 0; frame < frames; frame++) {
        struct correction correction;
        struct wave_model model;
        clip_frame(&clip, frame, pixel);
        spoil(&bare, frame, pixel, clean);
        periodic_observe(p, clean, frame * FRAME_NS);
        periodic_get_model(p, &model);
        wave_fit_frame(fit, &model, clean, &correction);
        if (correction.wave_count == 0)
            continue;
        memcpy(pixel, clean, size * sizeof *clean);
        correct(pixel, t->width, t->height, &correction);
        worst = fmin(worst, psnr(pixel, clean, size));
    }
    *ret_reports = periodic_reports(p, report);
    if (getenv("FFTD_TEST_VERBOSE") != NULL && (*ret_reports > 0 || worst < 100))
        printf("# clean %llu: %ux%u scene %u pan %d sigma %.1f contrast %.1f corners %.2f: %u "
               "reports, %.1f dB\n",
               (unsigned long long)t->seed, t->width, t->height, (unsigned)t->scene, t->is_panning,
               t->sigma, t->contrast, t->corners, *ret_reports, worst);
    periodic_destroy(p);
    wave_fit_destroy(fit);
    clip_clear(&clip);
    free(clean);
    free(pixel);
    return worst;
}

/* Of a wave of nearly half a cycle per pixel, rows have hardly more than the sine part. What little
 * they have of the other one must not make a large wave out of noise. */
static void noise_is_no_wave_of_half_a_cycle(void **state)
{
    (void)state;
    enum { WIDTH = 400, HEIGHT = 300 };
    const struct wave_model model = {.count = 1, .wave = {{.f = {1e-5, -0.499995}}}};
    float *luma = malloc(sizeof *luma * WIDTH * HEIGHT);
    struct correction correction = {0};
    struct wave_fit *fit;
    uint64_t seed = 5;
    assert_non_null(luma);
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        luma[i] = 120 + 3 * (float)clip_normal(&seed);
    assert_int_equal(wave_fit_create(&fit, WIDTH, HEIGHT, NULL), 0);
    wave_fit_frame(fit, &model, luma, &correction);
    for (unsigned i = 0; i < correction.wave_count; i++)
        assert_true(hypot(correction.wave[i].re, correction.wave[i].im) < 0.1);
    wave_fit_destroy(fit);
    free(luma);
}

static void clean_clips_are_not_changed(void **state)
{
    (void)state;
    static const enum clip_scene few[] = {CLIP_BLINDS, CLIP_BRICKS, CLIP_FABRIC, CLIP_CHECKERBOARD};
    const unsigned trials = trials_count(300, sizeof few / sizeof few[0]);
    const char *only = getenv("FFTD_TEST_ONLY");
    unsigned changed = 0;
    unsigned reported = 0;
    for (unsigned i = 0; i < trials; i++) {
        if (only != NULL && i != strtoul(only, NULL, 10))
            continue;
        struct trial t = random_trial(first_seed() + 500 + i, !trials_are_all());
        unsigned reports;
        t.scene = trials_are_all() ? i % CLIP_SCENES : few[i];
        changed += run_clean(&t, trials_are_all() ? FRAMES : 10, &reports) < 45;
        reported += reports;
    }
    printf("# figures: %u clean clips, %u changed, %u false reports\n", trials, changed, reported);
    assert_true(changed * 100 <= trials);
}

/* Textures that were taken for waves: gratings with narrow margins, products of bent lines, the
 * alias of a harmonic, a line while there was no room to follow those beside it, the corners of a
 * parallelogram, which were the only relation between the lines of a clipped checkerboard, and the
 * straight product of two lines that are bent by several periods. */
static void hard_textures_are_not_changed(void **state)
{
    (void)state;
    static const struct {
        uint64_t seed;
        enum clip_scene scene;
        bool is_cut_off;
    } clips[] = {{2000568, CLIP_GRATING, false},       {3000722, CLIP_GRATING, false},
                 {2000637, CLIP_FABRIC, false},        {2000728, CLIP_FABRIC, false},
                 {3000777, CLIP_FABRIC, false},        {1000642, CLIP_BLINDS, false},
                 {20261857, CLIP_CHECKERBOARD, false}, {28116147, CLIP_CHECKERBOARD, true},
                 {28118351, CLIP_FABRIC, false},       {28118365, CLIP_FABRIC, false},
                 {28118477, CLIP_FABRIC, false},       {60000727, CLIP_FABRIC, false},
                 {60000760, CLIP_FABRIC, true}};
    const unsigned count =
        trials_count(sizeof clips / sizeof clips[0], sizeof clips / sizeof clips[0]);
    for (unsigned i = 0; i < count; i++) {
        struct trial t = random_trial(clips[i].seed, false);
        unsigned reports;
        t.scene = clips[i].scene;
        t.contrast = clips[i].is_cut_off ? t.contrast : 1;
        t.corners = 1;
        assert_true(run_clean(&t, 12, &reports) > 45);
    }
}

/* The product of two sines along the axes, as even as a fine weave can be: two waves that mirror
 * each other, and no harmonics. */
static void weaves_are_not_changed(void **state)
{
    (void)state;
    struct trial t = random_trial(first_seed(), true);
    t.components = 2;
    t.pattern = PATTERN_ALL;
    t.component[0] = (struct component){.fx = 0.1137, .fy = 0.0894, .amplitude = 2.5};
    t.component[1] = (struct component){.fx = 0.1137, .fy = -0.0894, .amplitude = 2.5};
    const struct result r = run_trial(&t, SECOND);
    assert_int_equal(r.reports, 0);
    assert_true(r.after > r.before - 0.1);
}

/* Planks of nearly three periods per patch. Their line led the search to the brightness of the
 * picture, which is at frequency 0, and as even as a wave. */
static void brightness_is_no_wave(void **state)
{
    (void)state;
    enum { SIDE = 400 };
    float *luma = malloc(sizeof *luma * SIDE * SIDE);
    assert_non_null(luma);
    for (unsigned plank_px = 40; plank_px <= 85; plank_px += 5) {
        struct periodic_report report[PERIODIC_MAX_REPORTS];
        struct periodic *periodic;
        uint64_t seed = 3;
        assert_int_equal(periodic_create(&periodic, SIDE, SIDE, &OPTIONS, NULL), 0);
        for (unsigned frame = 0; frame < 10; frame++) {
            const double moved = clip_normal(&seed);
            for (unsigned y = 0; y < SIDE; y++)
                for (unsigned x = 0; x < SIDE; x++) {
                    const double at = (x + moved) / plank_px + 10;
                    luma[(size_t)y * SIDE + x] =
                        (float)(60 + 30 * (at - floor(at)) + 1.4 * clip_normal(&seed));
                }
            periodic_observe(periodic, luma, 1 + frame * FRAME_NS);
        }
        assert_int_equal(periodic_reports(periodic, report), 0);
        periodic_destroy(periodic);
    }
    free(luma);
}

/* Bricks of single brightness. Zooming moves their lines away from where some were refused, so that
 * a faint one is related to none. */
static void bricks_that_zoom_are_not_changed(void **state)
{
    (void)state;
    enum { WIDTH = 320, HEIGHT = 240 };
    static const uint64_t seeds[] = {114, 118};
    float *luma = malloc(sizeof *luma * WIDTH * HEIGHT);
    assert_non_null(luma);
    for (unsigned i = 0; i < sizeof seeds / sizeof seeds[0]; i++) {
        struct periodic *periodic;
        uint64_t random = seeds[i], seed = seeds[i] - 72;
        const double high_px = clip_uniform(&random, 7, 16);
        const double wide_px = high_px * clip_uniform(&random, 1.8, 2.6);
        const double rate = clip_uniform(&random, -0.003, 0.003);
        const double sigma = clip_uniform(&random, 0.7, 2.5);
        assert_int_equal(periodic_create(&periodic, WIDTH, HEIGHT, &OPTIONS, NULL), 0);
        for (unsigned frame = 0; frame < 60; frame++) {
            struct periodic_report report[PERIODIC_MAX_REPORTS];
            const double zoom = 1 - rate * frame;
            for (unsigned y = 0; y < HEIGHT; y++)
                for (unsigned x = 0; x < WIDTH; x++) {
                    const double v = (y - HEIGHT / 2.0) * zoom / high_px + 100;
                    const double shift = fmod(floor(v), 2) / 2;
                    const double u = (x - WIDTH / 2.0) * zoom / wide_px + 100 + shift;
                    uint64_t brick = (uint64_t)(floor(v) * 1000 + floor(u));
                    const double level = clip_uniform(&brick, 60, 85);
                    const double edge_px = fmin((v - floor(v)) * high_px, (u - floor(u)) * wide_px);
                    const double joint = (95 - level) / (1 + exp((edge_px - 2) * 2));
                    luma[(size_t)y * WIDTH + x] =
                        (float)(level + joint + sigma * clip_normal(&seed));
                }
            periodic_observe(periodic, luma, 1 + frame * FRAME_NS);
            assert_int_equal(periodic_reports(periodic, report), 0);
        }
        periodic_destroy(periodic);
    }
    free(luma);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waves_are_found_and_removed),
        cmocka_unit_test(difficult_waves_are_found),
        cmocka_unit_test(drifting_frequencies_are_followed),
        cmocka_unit_test(waves_before_textures_are_found),
        cmocka_unit_test(lines_of_textures_are_not_counted),
        cmocka_unit_test(waves_below_the_scene_are_found),
        cmocka_unit_test(disturbed_waves_are_found),
        cmocka_unit_test(waves_begin_and_end),
        cmocka_unit_test(waves_of_large_frames_are_measured),
        cmocka_unit_test(what_is_cut_off_leaves_little),
        cmocka_unit_test(cut_off_waves_are_followed),
        cmocka_unit_test(a_known_wave_passes_a_lattice),
        cmocka_unit_test(a_weak_line_stops_no_drift),
        cmocka_unit_test(a_part_of_the_frame_tells_the_phase),
        cmocka_unit_test(steady_frequencies_are_averaged),
        cmocka_unit_test(noise_is_no_wave_of_half_a_cycle),
        cmocka_unit_test(clean_clips_are_not_changed),
        cmocka_unit_test(hard_textures_are_not_changed),
        cmocka_unit_test(weaves_are_not_changed),
        cmocka_unit_test(brightness_is_no_wave),
        cmocka_unit_test(bricks_that_zoom_are_not_changed),
    };
    return cmocka_run_group_tests_name("periodic", tests, NULL, NULL);
}
