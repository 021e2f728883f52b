/* diagnosis/diagnosis.h: what is said of clips with one to three known faults, and of clean ones.
 *
 * Scenes are those of support/clip.h that look like photographs, panned or still, with a little
 * noise. Faults are drawn at random, within the ranges of the functions below. By default a few
 * clips; FFTD_TEST_CLIPS=all takes 40 of each and prints figures, and FFTD_TEST_SEED chooses
 * others. tests/bench/diagnose.py does the same with photographs, and also with blur and shading.
 */
#include "support/cmocka.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/clip.h"
#include "support/trials.h"

#include "diagnosis/detail.h"
#include "diagnosis/diagnosis.h"
#include "diagnosis/lines.h"
#include "diagnosis/noise.h"
#include "diagnosis/private.h"
#include "diagnosis/shake.h"
#include "filters/filter.h"

#define WIDTH    256u
#define HEIGHT   192u
#define PIXELS   (WIDTH * HEIGHT)
#define FRAMES   30u
#define INTERVAL 33433000 /* ns */
#define ALL      40u

/* ---- faults ---- */

enum fault { WAVES, FLICKER, STRIPES, HOT, NOISE, SHAKE, WHITE, DARK, FAULTS };
static const enum diagnosis_kind kinds[FAULTS] = {
    DIAGNOSIS_PERIODIC, DIAGNOSIS_FLICKER, DIAGNOSIS_STRIPES,  DIAGNOSIS_HOT,
    DIAGNOSIS_NOISE,    DIAGNOSIS_SHAKE,   DIAGNOSIS_CLIPPING, DIAGNOSIS_EXPOSURE};

struct faulty {
    struct clip clip;
    bool has[FAULTS];
    uint64_t seed;
    double fx, fy, amplitude;                /* 0.09 .. 0.45 cycles/pixel, 3 .. 12 grey levels */
    double depth, line_s, hertz;             /* 0.08 .. 0.4, 60 .. 150 us, 100 or 120 */
    float column[WIDTH], row[HEIGHT];        /* standard deviation of 2 .. 5 grey levels */
    float fixed[PIXELS];                     /* 30 .. 150 pixels of 50 .. 150 grey levels */
    double shake_x[FRAMES], shake_y[FRAMES]; /* 1.5 .. 4 pixels RMS */
};

static double uniform(struct faulty *faulty, double from, double to)
{
    return clip_uniform(&faulty->seed, from, to);
}

static void draw_sensor(struct faulty *faulty)
{
    const double columns = faulty->has[STRIPES] ? uniform(faulty, 2, 5) : 0;
    const double rows = faulty->has[STRIPES] ? uniform(faulty, 2, 5) : 0;
    for (unsigned i = 0; i < WIDTH; i++)
        faulty->column[i] = (float)(columns * clip_normal(&faulty->seed));
    for (unsigned i = 0; i < HEIGHT; i++)
        faulty->row[i] = (float)(rows * clip_normal(&faulty->seed));
    memset(faulty->fixed, 0, sizeof faulty->fixed);
    const unsigned count = faulty->has[HOT] ? (unsigned)uniform(faulty, 30, 150) : 0;
    for (unsigned i = 0; i < count; i++)
        faulty->fixed[(size_t)uniform(faulty, 0, PIXELS - 1)] = (float)uniform(faulty, 50, 150);
}

static void draw_faulty(struct faulty *faulty, uint64_t seed, unsigned faults)
{
    *faulty = (struct faulty){.seed = seed};
    while (faults > 0) {
        const enum fault fault = (enum fault)uniform(faulty, 0, FAULTS - 1e-9);
        /* What is cut off or dark hides the rest. */
        const bool is_hiding = fault == WHITE || fault == DARK;
        const bool hides = faulty->has[WHITE] || faulty->has[DARK];
        if (faulty->has[fault] || hides || (is_hiding && faults != 1) ||
            (is_hiding && (faulty->has[NOISE] || faulty->has[FLICKER])))
            continue;
        faulty->has[fault] = true;
        faults--;
    }
    const double sigma = faulty->has[NOISE] ? uniform(faulty, 6, 14) : uniform(faulty, 0.3, 1.5);
    const bool is_panning = uniform(faulty, 0, 1) < 0.5;
    clip_make(&faulty->clip, CLIP_NATURAL, WIDTH, HEIGHT, is_panning, sigma,
              (uint64_t)uniform(faulty, 0, 1e9));
    const double f = uniform(faulty, 0.09, 0.45), angle = uniform(faulty, 0.1, M_PI / 2 - 0.1);
    faulty->fx = f * cos(angle);
    faulty->fy = f * sin(angle);
    faulty->amplitude = faulty->has[WAVES] ? uniform(faulty, 3, 12) : 0;
    faulty->depth = faulty->has[FLICKER] ? uniform(faulty, 0.08, 0.4) : 0;
    faulty->line_s = uniform(faulty, 60e-6, 150e-6);
    faulty->hertz = uniform(faulty, 0, 1) < 0.5 ? 100 : 120;
    draw_sensor(faulty);
    const double rms = faulty->has[SHAKE] ? uniform(faulty, 1.5, 4) : 0;
    for (unsigned i = 0; i < FRAMES; i++) {
        faulty->shake_x[i] = rms / sqrt(2) * clip_normal(&faulty->seed);
        faulty->shake_y[i] = rms / sqrt(2) * clip_normal(&faulty->seed);
    }
}

/* A frame of the clip, whose scene is somewhere else by whole pixels. */
static void draw_scene(const struct faulty *faulty, unsigned index, float *ret)
{
    struct clip clip = faulty->clip;
    const int x = (int)lround(fmin(fmax(faulty->shake_x[index], -12), 12));
    const int y = (int)lround(fmin(fmax(faulty->shake_y[index], -12), 12));
    clip.canvas += (ptrdiff_t)y * clip.canvas_width + x;
    clip_frame(&clip, index, ret);
}

static void draw_frame(struct faulty *faulty, unsigned index, float *ret)
{
    static float scene[PIXELS];
    const double seconds = index * INTERVAL * 1e-9;
    const double start = uniform(faulty, 0, 1);
    const double gain = faulty->has[WHITE] ? 2.2 : faulty->has[DARK] ? 0.15 : 1;
    draw_scene(faulty, index, scene);
    for (unsigned i = 0; i < PIXELS; i++) {
        const unsigned x = i % WIDTH, y = i / WIDTH;
        const double light =
            1 + faulty->depth * sin(2 * M_PI * faulty->hertz * (seconds + faulty->line_s * y));
        const double wave =
            faulty->amplitude * cos(2 * M_PI * (faulty->fx * x + faulty->fy * y + start));
        const double level = gain * light * (double)scene[i] + wave + (double)faulty->column[x] +
                             (double)faulty->row[y] + (double)faulty->fixed[i];
        ret[i] = (float)rint(fmin(fmax(level, 0), 255));
    }
}

static void diagnose(struct faulty *faulty, struct diagnosis_result *ret)
{
    static float luma[PIXELS];
    const struct diagnosis_format format = {
        .width = WIDTH, .height = HEIGHT, .white = 255, .mosaic_step = 1};
    struct diagnosis *diagnosis;
    assert_int_equal(diagnosis_create(&diagnosis, &format), 0);
    for (unsigned i = 0; i < FRAMES; i++) {
        draw_frame(faulty, i, luma);
        assert_int_equal(diagnosis_add(diagnosis, luma, 1 + (int64_t)i * INTERVAL), 0);
    }
    assert_int_equal(diagnosis_finish(diagnosis, ret, NULL, NULL), 0);
    assert_int_equal(ret->frames, FRAMES);
    diagnosis_destroy(diagnosis);
    clip_clear(&faulty->clip);
}

/* A scene that pans, with fine texture of this standard deviation, and 60 hot pixels. */
static const char *stage_against_hot_pixels(double texture)
{
    static struct faulty faulty;
    static struct diagnosis_result result;
    faulty = (struct faulty){.seed = 11};
    clip_make(&faulty.clip, CLIP_NATURAL, WIDTH, HEIGHT, true, 0.5, 12);
    const size_t samples = (size_t)faulty.clip.canvas_width * faulty.clip.canvas_height;
    for (size_t i = 0; i < samples; i++)
        faulty.clip.canvas[i] += (float)(texture * clip_normal(&faulty.seed));
    for (unsigned i = 0; i < 60; i++)
        faulty.fixed[(size_t)uniform(&faulty, 0, PIXELS - 1)] = 100;
    diagnose(&faulty, &result);
    for (unsigned i = 0; i < result.count; i++)
        if (result.finding[i].kind == DIAGNOSIS_HOT)
            return result.finding[i].stage;
    fail_msg("no hot pixels were found");
    return NULL;
}

static void a_median_must_not_cost_more_than_hot_pixels(void **state)
{
    (void)state;
    assert_string_equal(stage_against_hot_pixels(0), "median");
    assert_string_equal(stage_against_hot_pixels(10), "");
}

/* What a lens does to a scene, under which light, and the noise of the sensor. */
struct seen {
    double corner;       /* the light of the corners */
    double radius;       /* pixels of a disk */
    double length, tilt; /* pixels of a line, and its angle in degrees */
    double light, sigma;
    double depth, hertz; /* of flicker; a row takes LINE_S */
    bool is_panning;
    double scene_corner; /* of a scene, and not of the lens; 0: as in the middle */
    double pan;          /* pixels a frame; 0: as is_panning says */
    double stripes;      /* grey levels by which columns differ, standard deviation */
    enum clip_scene scene;
    unsigned other; /* counts scenes of that kind */
};
#define LINE_S 80e-6

/* Returns whether the blur spreads a point of the scene so far. */
static bool is_reached(const struct seen *seen, double x, double y)
{
    const double c = cos(seen->tilt * M_PI / 180), s = sin(seen->tilt * M_PI / 180);
    return seen->radius > 0 ? hypot(x, y) < seen->radius
                            : fabs(x * c + y * s) < seen->length / 2 && fabs(y * c - x * s) < 0.5;
}

/* Returns the scene as a lens that is out of focus, or that moves, sees it. */
static void blur(struct clip *clip, const struct seen *seen)
{
    const int width = (int)clip->canvas_width, height = (int)clip->canvas_height;
    const int reach = (int)ceil(fmax(seen->radius, seen->length / 2)) + 1;
    double share[17][17], sum = 0;
    float *sharp = malloc((size_t)width * (size_t)height * sizeof *sharp);
    assert_non_null(sharp);
    assert_true(reach <= 8);
    memcpy(sharp, clip->canvas, (size_t)width * (size_t)height * sizeof *sharp);
    for (int v = -reach; v <= reach; v++)
        for (int u = -reach; u <= reach; u++) {
            unsigned inside = 0;
            for (unsigned y = 0; y < 8; y++)
                for (unsigned x = 0; x < 8; x++)
                    inside += is_reached(seen, u + (x + 0.5) / 8 - 0.5, v + (y + 0.5) / 8 - 0.5);
            sum += share[v + 8][u + 8] = inside;
        }
    for (int y = reach; y + reach < height; y++)
        for (int x = reach; x + reach < width; x++) {
            double level = 0;
            for (int v = -reach; v <= reach; v++)
                for (int u = -reach; u <= reach; u++)
                    level += share[v + 8][u + 8] * (double)sharp[(y + v) * width + x + u];
            clip->canvas[y * width + x] = (float)(level / sum);
        }
    free(sharp);
}

/* Darkens a scene around the middle of what the first frames show. */
static void darken(struct clip *clip, double corner)
{
    const double x0 = clip->canvas_width / 2., y0 = clip->canvas_height / 2.;
    for (unsigned y = 0; y < clip->canvas_height; y++)
        for (unsigned x = 0; x < clip->canvas_width; x++) {
            const double u = (x - x0) * 2 / WIDTH, v = (y - y0) * 2 / HEIGHT;
            clip->canvas[(size_t)y * clip->canvas_width + x] /=
                (float)(1 + (1 / corner - 1) * (u * u + v * v) / 2);
        }
}

static float level_of(const struct seen *seen, double scene, unsigned index, unsigned at,
                      uint64_t *seed)
{
    uint64_t column = 1 + at % WIDTH;
    const unsigned row = at / WIDTH;
    const double u = 2. * (at % WIDTH) - WIDTH, v = 2. * row - HEIGHT;
    const double r2 = (u * u + v * v) / ((double)WIDTH * WIDTH + (double)HEIGHT * HEIGHT);
    const double seconds = index * INTERVAL * 1e-9 + LINE_S * row;
    const double light = seen->light * (1 + seen->depth * sin(2 * M_PI * seen->hertz * seconds));
    const double level = light * scene / (1 + (1 / seen->corner - 1) * r2) +
                         seen->sigma * clip_normal(seed) + seen->stripes * clip_normal(&column);
    return (float)rint(fmin(fmax(level, 0), 255));
}

static void see(const struct seen *seen, struct diagnosis_result *ret)
{
    static float scene[PIXELS], luma[PIXELS];
    const struct diagnosis_format format = {
        .width = WIDTH, .height = HEIGHT, .white = 255, .mosaic_step = 1};
    struct diagnosis *diagnosis;
    struct clip clip;
    uint64_t seed = 77;
    clip_make(&clip, seen->scene, WIDTH, HEIGHT, seen->is_panning, 0, 31 + seen->other);
    if (seen->scene_corner > 0)
        darken(&clip, seen->scene_corner);
    if (seen->pan > 0) {
        clip.pan_x = seen->pan;
        clip.pan_y = -seen->pan / 2;
    }
    if (seen->radius > 0 || seen->length > 0)
        blur(&clip, seen);
    assert_int_equal(diagnosis_create(&diagnosis, &format), 0);
    for (unsigned i = 0; i < FRAMES; i++) {
        clip_frame(&clip, i, scene);
        for (unsigned k = 0; k < PIXELS; k++)
            luma[k] = level_of(seen, (double)scene[k], i, k, &seed);
        assert_int_equal(diagnosis_add(diagnosis, luma, 1 + (int64_t)i * INTERVAL), 0);
    }
    assert_int_equal(diagnosis_finish(diagnosis, ret, NULL, NULL), 0);
    for (unsigned i = 0; i < ret->count; i++)
        printf("# %s\n", ret->finding[i].text);
    diagnosis_destroy(diagnosis);
    clip_clear(&clip);
}

/* Returns the first figure of a finding; -1: there is none. */
static double figure_of(const struct diagnosis_result *result, enum diagnosis_kind kind)
{
    for (unsigned i = 0; i < result->count; i++)
        if (result->finding[i].kind == kind)
            return result->finding[i].figure[0].value;
    return -1;
}

static bool has(const struct diagnosis_result *result, enum diagnosis_kind kind)
{
    for (unsigned i = 0; i < result->count; i++)
        if (result->finding[i].kind == kind)
            return true;
    return false;
}

static bool is_wanted(const struct faulty *faulty, enum diagnosis_kind kind)
{
    for (enum fault fault = 0; fault < FAULTS; fault++)
        if (kinds[fault] == kind && faulty->has[fault])
            return true;
    return false;
}

static uint64_t first_seed(void)
{
    const char *seed = getenv("FFTD_TEST_SEED");
    return 1000 * (seed != NULL ? strtoull(seed, NULL, 10) : 1);
}

/* ---- clips ---- */

static void faults_are_found(void **state)
{
    (void)state;
    static struct faulty faulty;
    const unsigned count = trials_count(ALL, 5);
    unsigned wanted = 0, found = 0, others = 0;
    for (unsigned i = 0; i < count; i++) {
        struct diagnosis_result result;
        unsigned right = 0;
        draw_faulty(&faulty, first_seed() + i, 1 + i % 3);
        diagnose(&faulty, &result);
        for (enum fault fault = 0; fault < FAULTS; fault++) {
            wanted += faulty.has[fault];
            right += faulty.has[fault] && has(&result, kinds[fault]);
            if (faulty.has[fault] && !has(&result, kinds[fault]))
                printf("# clip %u: %s was not found\n", i, diagnosis_name(kinds[fault]));
        }
        for (unsigned k = 0; k < result.count; k++)
            if (!is_wanted(&faulty, result.finding[k].kind))
                printf("# clip %u has no such fault: %s\n", i, result.finding[k].text);
        for (unsigned k = 1; k < result.count; k++)
            assert_true(result.finding[k].annoyance <= result.finding[k - 1].annoyance);
        found += right;
        others += result.count - right;
    }
    printf("# figures: %u of %u faults in %u clips, and %u others\n", found, wanted, count, others);
    assert_true(20 * found >= 19 * wanted || found + 1 >= wanted);
    assert_true(others <= 1 + count / 10);
}

static void clean_clips_are_silent(void **state)
{
    (void)state;
    static struct faulty faulty;
    const unsigned count = trials_count(ALL, 3);
    unsigned alarms = 0;
    for (unsigned i = 0; i < count; i++) {
        struct diagnosis_result result;
        draw_faulty(&faulty, first_seed() + 500 + i, 0);
        diagnose(&faulty, &result);
        alarms += result.count > 0;
        for (unsigned k = 0; k < result.count; k++)
            printf("# clean clip %u: %s\n", i, result.finding[k].text);
        assert_true(result.count > 0 || result.chain[0] == '\0');
    }
    printf("# figures: %u of %u clean clips have findings\n", alarms, count);
    assert_true(alarms <= count / 20);
}

/* ---- lenses and light ---- */

/* Returns a figure of a finding by its name; -1: there is none. */
static double named_figure(const struct diagnosis_result *result, enum diagnosis_kind kind,
                           const char *name)
{
    for (unsigned i = 0; i < result->count; i++)
        for (unsigned k = 0; k < result->finding[i].figures; k++)
            if (result->finding[i].kind == kind &&
                strcmp(result->finding[i].figure[k].name, name) == 0)
                return result->finding[i].figure[k].value;
    return -1;
}

/* Corners that are a third darker hardly show in one picture, whose own parts differ by more. If it
 * moves, even by two pixels in all, they are measured, and the error that is said is about right.
 */
static void shading_is_measured_where_the_picture_moves(void **state)
{
    (void)state;
    static const struct seen cases[] = {
        {.corner = 0.66, .sigma = 1, .is_panning = true},
        {.corner = 0.66, .sigma = 1, .pan = 0.2},
        {.corner = 0.5, .sigma = 1, .pan = 0.06},
        {.corner = 0.6, .sigma = 1, .pan = 0.15, .stripes = 2},
        {.corner = 0.6, .sigma = 1, .pan = 0.15, .length = 9, .tilt = 60},
        /* Stripes that stand hold back the shifts of what is blurred. */
        {.corner = 0.35, .sigma = 1, .pan = 0.1, .length = 13, .tilt = 166, .stripes = 4},
        {.corner = 0.5, .sigma = 8, .pan = 0.3},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct diagnosis_result result;
        struct seen seen = cases[i];
        seen.light = 1;
        see(&seen, &result);
        const double corner = named_figure(&result, DIAGNOSIS_SHADING, "corner");
        const double error = named_figure(&result, DIAGNOSIS_SHADING, "error");
        printf("# case %u: %.4f for %.4f, error %.4f\n", i, corner, seen.corner, error);
        assert_true(error > 0 && error < 0.03);
        assert_true(fabs(corner - seen.corner) < 4 * error + 0.002);
        assert_int_equal(result.count,
                         1 + (seen.sigma > 4) + (seen.stripes > 0) + (seen.length > 0));
    }
}

/* White areas have the bands that the rest has lost. */
static void shading_is_measured_beside_white_areas(void **state)
{
    (void)state;
    struct diagnosis_result result;
    see(
        &(struct seen){
            .corner = 0.5, .light = 2, .sigma = 1, .depth = 0.35, .hertz = 200, .pan = 1},
        &result);
    assert_true(figure_of(&result, DIAGNOSIS_CLIPPING) > 0);
    assert_true(named_figure(&result, DIAGNOSIS_SHADING, "error") > 0);
    assert_true(fabs(named_figure(&result, DIAGNOSIS_SHADING, "corner") - 0.5) < 0.05);
}

/* A scene that is darker around its middle looks like a lens that is, until it moves. */
static void a_scene_with_dark_corners_is_no_lens(void **state)
{
    (void)state;
    struct diagnosis_result result;
    struct seen seen = {.corner = 1, .scene_corner = 0.5, .light = 1, .sigma = 1};
    see(&seen, &result);
    assert_true(figure_of(&result, DIAGNOSIS_SHADING) > 0);
    seen.pan = 0.1;
    see(&seen, &result);
    assert_int_equal(result.count, 0);
    seen.depth = 0.3;
    seen.hertz = 100;
    see(&seen, &result);
    assert_true(figure_of(&result, DIAGNOSIS_FLICKER) > 0);
    assert_true(figure_of(&result, DIAGNOSIS_SHADING) < 0);
}

/* Sixteen waves of the camera are weaker than a screen, and must not crowd it out. */
static void a_screen_is_found_among_many_waves(void **state)
{
    (void)state;
    static const double fx[] = {0.27, 0.33, 0.39, 0.45}, fy[] = {-0.05, -0.17, 0.05, 0.17};
    static float luma[PIXELS];
    struct detail *detail;
    struct detail_screen screen;
    struct clip clip;
    double dx, dy;
    clip_make(&clip, CLIP_NATURAL, WIDTH, HEIGHT, false, 0, 12);
    clip_frame(&clip, 0, luma);
    clip_clear(&clip);
    for (unsigned i = 0; i < PIXELS; i++) {
        const unsigned column = i % WIDTH, row = i / WIDTH;
        const double x = column, y = row;
        double waves =
            10 * cos(2 * M_PI * (0.24 * x + 0.14 * y)) + 10 * cos(2 * M_PI * (0.24 * y - 0.14 * x));
        for (unsigned k = 0; k < 16; k++)
            waves += 4 * cos(2 * M_PI * (fx[k / 4] * x + fy[k % 4] * y) + k);
        luma[i] = 90 + 0.3f * luma[i] + (float)waves;
    }
    assert_int_equal(detail_create(&detail, WIDTH, HEIGHT), 0);
    detail_begin(detail, luma, 0, 255);
    assert_true(detail_add(detail, &(struct detail_view){.luma = luma}, &dx, &dy));
    detail_end(detail);
    assert_true(detail_find_screen(detail, &screen));
    assert_true(fabs(screen.fx - 0.24) < 0.003 && fabs(screen.fy - 0.14) < 0.003);
    detail_destroy(detail);
}

/* Columns that differ are not taken for what a blur leaves. */
static void blur_is_seen_through_stripes(void **state)
{
    (void)state;
    struct diagnosis_result result;
    see(
        &(struct seen){
            .corner = 1, .light = 1, .sigma = 1, .length = 11, .tilt = 20, .pan = 4, .stripes = 4},
        &result);
    assert_true(figure_of(&result, DIAGNOSIS_STRIPES) > 0);
    assert_true(fabs(named_figure(&result, DIAGNOSIS_MOTION, "size_px") - 11) < 0.6);
    assert_true(fabs(named_figure(&result, DIAGNOSIS_MOTION, "angle_deg") - 20) < 2);
}

/* All frequencies together tell the direction of a line. */
static void direction_of_blur_is_exact(void **state)
{
    (void)state;
    static const double tilts[] = {77, 154, 23};
    for (unsigned i = 0; i < sizeof tilts / sizeof tilts[0]; i++) {
        struct diagnosis_result result;
        see(&(struct seen){.corner = 1, .light = 1, .sigma = 1, .length = 9, .tilt = tilts[i]},
            &result);
        assert_true(fabs(named_figure(&result, DIAGNOSIS_MOTION, "angle_deg") - tilts[i]) < 1.5);
    }
}

/* What is left of bands is not taken for light. */
static void shading_is_measured_under_flicker(void **state)
{
    (void)state;
    struct diagnosis_result result;
    see(&(struct seen){.corner = 0.55,
                       .light = 1,
                       .sigma = 1,
                       .depth = 0.25,
                       .hertz = 100,
                       .is_panning = true},
        &result);
    assert_true(figure_of(&result, DIAGNOSIS_FLICKER) > 0);
    assert_true(fabs(figure_of(&result, DIAGNOSIS_SHADING) - 0.55) < 0.01);
}

/* Bands at a multiple of the frame rate hardly move, so they are not found. In a picture that
 * stands still they look like errors of its shifts, and a lens that darkens corners explained them.
 */
static void bands_that_stand_are_no_lens(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct diagnosis_result result;
        see(&(struct seen){.corner = 1,
                           .light = 1,
                           .sigma = 0.5,
                           .depth = i % 2 > 0 ? 0.14 : 0.08,
                           .hertz = i < 2 ? 3e9 / INTERVAL + 0.004 : 5e9 / INTERVAL - 0.012},
            &result);
        assert_false(has(&result, DIAGNOSIS_SHADING));
    }
}

/* The spectrum of a regular pattern has gaps, which are none of a lens. */
static void patterns_are_not_out_of_focus(void **state)
{
    (void)state;
    static const struct {
        enum clip_scene scene;
        unsigned other;
        double light;
    } cases[] = {
        {CLIP_FABRIC, 7, 0.5},        {CLIP_FABRIC, 23, 0.2},  {CLIP_GRATING, 11, 0.2},
        {CLIP_CHECKERBOARD, 27, 1.0}, {CLIP_GRATING, 54, 1.0}, {CLIP_CHECKERBOARD, 43, 0.5},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct diagnosis_result result;
        see(&(struct seen){.corner = 1,
                           .light = cases[i].light,
                           .sigma = 0.5,
                           .scene = cases[i].scene,
                           .other = cases[i].other},
            &result);
        assert_false(has(&result, DIAGNOSIS_DEFOCUS));
    }
}

/* White that takes a small part of the picture is said, too. */
static void a_little_white_is_said(void **state)
{
    (void)state;
    struct diagnosis_result result;
    see(&(struct seen){.corner = 1, .light = 1.55, .sigma = 1}, &result);
    const double white = figure_of(&result, DIAGNOSIS_CLIPPING);
    assert_true(white > 0.05 && white < 0.12);
}

/* Where the picture stands still, what all frames have in common has less noise than each. */
/* Even where most of what the blur leaves is below the noise. */
static void blur_is_seen_through_noise(void **state)
{
    (void)state;
    static const struct seen cases[] = {
        {.radius = 4, .sigma = 6},
        {.radius = 3.2, .sigma = 12},
        {.radius = 4, .sigma = 8, .is_panning = true},
        {.length = 9, .tilt = 30, .sigma = 5},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct diagnosis_result result;
        struct seen seen = cases[i];
        seen.corner = seen.light = 1;
        see(&seen, &result);
        const bool is_line = seen.length > 0;
        const double size = is_line ? seen.length : seen.radius;
        const double found = figure_of(&result, is_line ? DIAGNOSIS_MOTION : DIAGNOSIS_DEFOCUS);
        if (fabs(found / size - 1) > 0.1)
            fail_msg("case %u: found %.2f pixels instead of %.2f", i, found, size);
        assert_false(has(&result, is_line ? DIAGNOSIS_DEFOCUS : DIAGNOSIS_MOTION));
    }
}

/* Writes the sum of tiles of `smallest` pixels a side, and of those that are 2, 4 and 8 times as
 * large if `sizes` is 4. */
static void draw_tiles(float *canvas, unsigned width, unsigned height, unsigned smallest,
                       unsigned sizes)
{
    for (unsigned i = 0; i < width * height; i++)
        canvas[i] = 120;
    for (unsigned n = 0; n < sizes; n++)
        for (unsigned i = 0; i < width * height; i++) {
            const unsigned side = smallest << n;
            uint64_t seed = 1 + n + 10 * (i % width / side) + 10000 * (i / width / side);
            canvas[i] += (float)((sizes > 1 ? 9 : 20) * clip_normal(&seed));
        }
}

/* Judges frames taken at random from a loop that moves by up to 4 pixels, as a reader that is late
 * sees them. Returns the kind of blur; DIAGNOSIS_KINDS: there is none. */
static enum diagnosis_kind blur_of_tiles(unsigned smallest, unsigned sizes, uint64_t seed)
{
    static float canvas[(WIDTH + 4) * (HEIGHT + 4)], luma[PIXELS];
    const struct diagnosis_format format = {
        .width = WIDTH, .height = HEIGHT, .white = 255, .mosaic_step = 1};
    struct diagnosis *diagnosis;
    struct diagnosis_result result;
    draw_tiles(canvas, WIDTH + 4, HEIGHT + 4, smallest, sizes);
    assert_int_equal(diagnosis_create(&diagnosis, &format), 0);
    for (unsigned i = 0; i < FRAMES; i++) {
        const unsigned at = (unsigned)clip_uniform(&seed, 0, 4.999);
        for (unsigned k = 0; k < PIXELS; k++) {
            const size_t from = (size_t)(k / WIDTH + at) * (WIDTH + 4) + k % WIDTH + at;
            const double level = (double)canvas[from] + 0.7 * clip_normal(&seed);
            luma[k] = (float)rint(fmin(fmax(level, 0), 255));
        }
        assert_int_equal(diagnosis_add(diagnosis, luma, 1 + (int64_t)i * INTERVAL), 0);
    }
    assert_int_equal(diagnosis_finish(diagnosis, &result, NULL, NULL), 0);
    diagnosis_destroy(diagnosis);
    return has(&result, DIAGNOSIS_DEFOCUS)  ? DIAGNOSIS_DEFOCUS
           : has(&result, DIAGNOSIS_MOTION) ? DIAGNOSIS_MOTION
                                            : DIAGNOSIS_KINDS;
}

/* Tiles have zeros along both of their sides, about where a disk has its ring. */
static void tiles_are_not_out_of_focus(void **state)
{
    (void)state;
    static const struct {
        unsigned smallest, sizes;
    } cases[] = {{5, 1}, {7, 1}, {8, 1}, {8, 4}, {11, 1}, {16, 1}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const enum diagnosis_kind kind = blur_of_tiles(cases[i].smallest, cases[i].sizes, 50 + i);
        if (kind != DIAGNOSIS_KINDS)
            fail_msg("tiles of %u pixels (%u sizes): %s", cases[i].smallest, cases[i].sizes,
                     diagnosis_name(kind));
    }
}

static void disks_are_out_of_focus(void **state)
{
    (void)state;
    for (unsigned radius = 2; radius <= 6; radius++) {
        struct diagnosis_result result;
        see(&(struct seen){.corner = 1, .light = 1, .sigma = 1, .radius = radius}, &result);
        const double found = figure_of(&result, DIAGNOSIS_DEFOCUS);
        if (fabs(found / radius - 1) > 0.1)
            fail_msg("found %.2f pixels instead of %u", found, radius);
    }
}

/* Noise that reaches black is no clipping: the picture lacks light. */
static void a_dark_picture_with_noise_is_too_dark(void **state)
{
    (void)state;
    struct diagnosis_result result;
    see(&(struct seen){.corner = 1, .light = 0.11, .sigma = 14}, &result);
    assert_true(figure_of(&result, DIAGNOSIS_EXPOSURE) > 0);
    assert_true(figure_of(&result, DIAGNOSIS_CLIPPING) < 0);
}

/* Much noise in a picture without fine details hides how it moves from frame to frame. */
static void noise_is_measured_where_it_hides_the_shift(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct diagnosis_result result;
        see(&(struct seen){.corner = 1, .light = 0.4, .sigma = 8, .radius = 7, .is_panning = i > 0},
            &result);
        const double sigma = figure_of(&result, DIAGNOSIS_NOISE);
        if (fabs(sigma / 8 - 1) > 0.1)
            fail_msg("%s: found noise of %.2f instead of 8", i > 0 ? "panning" : "still", sigma);
    }
}

/* In the dark, noise of 2.5 is a seventh of the light; 1.4 is what clean clips have. */
static void less_noise_is_reported_in_the_dark(void **state)
{
    (void)state;
    struct diagnosis_result result;
    see(&(struct seen){.corner = 1, .light = 0.13, .sigma = 2.5}, &result);
    assert_true(figure_of(&result, DIAGNOSIS_NOISE) > 0);
    see(&(struct seen){.corner = 1, .light = 0.13, .sigma = 1.4}, &result);
    assert_true(figure_of(&result, DIAGNOSIS_NOISE) < 0);
    see(&(struct seen){.corner = 1, .light = 0.8, .sigma = 2.5}, &result);
    assert_true(figure_of(&result, DIAGNOSIS_NOISE) < 0);
}

/* Returns the `noise` of the wiener stage against a line. */
static double care_for_line(double length)
{
    struct diagnosis_result result;
    see(&(struct seen){.corner = 1, .light = 1, .sigma = 0.5, .length = length, .tilt = 35},
        &result);
    for (unsigned i = 0; i < result.count; i++)
        if (result.finding[i].kind == DIAGNOSIS_MOTION)
            return strtod(strstr(result.finding[i].stage, "noise=") + 6, NULL);
    fail_msg("a line of %.0f pixels was not found", length);
    return 0;
}

static void longer_lines_are_undone_with_more_care(void **state)
{
    (void)state;
    assert_true(care_for_line(14) > 1.5 * care_for_line(7));
}

/* ---- parts ---- */

static void a_pan_is_no_shake(void **state)
{
    (void)state;
    struct shake_shift shift[60] = {{0}};
    for (unsigned i = 0; i < 60; i++)
        shift[i] = (struct shake_shift){3, -1, (int64_t)i * INTERVAL, i > 0};
    struct shake shake;
    assert_int_equal(shake_judge(&shake, shift, 60), 0);
    assert_true(shake.rms_px < 0.01);
    shift[30].dx += 20; /* a picture that jumps once */
    assert_int_equal(shake_judge(&shake, shift, 60), 0);
    assert_true(shake.rms_px < 0.01);
    shift[30].dx -= 20;
    for (unsigned i = 0; i < 60; i++)
        shift[i].dx += i % 2 == 0 ? 4 : -4;
    assert_int_equal(shake_judge(&shake, shift, 60), 0);
    assert_true(fabs(shake.rms_px - 2) < 0.3); /* four or five of nine are on either side */
    assert_true(shake.sure > 0.9);
    assert_int_equal(shake_judge(&shake, shift, 0), 0);
    assert_true(shake.rms_px == 0 && shake.sure == 0);
}

/* Every fourth shift is not known, as beside white areas. */
static void shake_is_seen_in_a_broken_path(void **state)
{
    (void)state;
    struct shake_shift shift[60] = {{0}};
    struct shake shake;
    uint64_t seed = 4;
    double x = 0, y = 0;
    for (unsigned turn = 0; turn < 2; turn++) {
        for (unsigned i = 0; i < 60; i++) {
            const double next_x = turn * 2 * clip_normal(&seed);
            const double next_y = turn * 2 * clip_normal(&seed);
            shift[i] = (struct shake_shift){3 + next_x - x, -1 + next_y - y, (int64_t)i * INTERVAL,
                                            i % 4 != 0};
            x = next_x;
            y = next_y;
        }
        assert_int_equal(shake_judge(&shake, shift, 60), 0);
        print_message("# %.2f pixels (RMS), at most %.2f\n", shake.rms_px, shake.most_px);
        assert_true(turn == 0 ? shake.rms_px < 0.01 : fabs(shake.rms_px / sqrt(8) - 1) < 0.3);
    }
}

/* How a picture moves whose camera loses frames. */
struct wander {
    double radius;       /* of a circle, in pixels, on which it goes round in 6 s */
    double rms;          /* of its shake, in pixels */
    const unsigned *gap; /* milliseconds between frames, by turns */
    unsigned gaps;
};

static void draw_shifts(struct shake_shift *shift, unsigned count, const struct wander *wander,
                        uint64_t *seed)
{
    double x = 0, y = 0;
    int64_t captured_ns = 0;
    for (unsigned i = 0; i < count; i++) {
        captured_ns += 1000000 * (int64_t)wander->gap[i % wander->gaps];
        const double turn = 2 * M_PI * 1e-9 * (double)captured_ns / 6;
        const double next_x =
            wander->radius * cos(turn) + wander->rms / sqrt(2) * clip_normal(seed);
        const double next_y =
            wander->radius * sin(turn) + wander->rms / sqrt(2) * clip_normal(seed);
        shift[i] = (struct shake_shift){next_x - x, next_y - y, captured_ns, i > 0};
        x = next_x;
        y = next_y;
    }
}

/* A microscope's stage that moves in a circle, seen by a busy machine, which loses most frames;
 * then the same with shake. */
static void a_pan_with_lost_frames_is_no_shake(void **state)
{
    (void)state;
    static const unsigned gap[2][5] = {{40, 120, 80, 200, 40}, {120, 360, 80, 160, 480}};
    for (unsigned turn = 0; turn < 4; turn++) {
        const struct wander wander = {
            .radius = 40, .rms = turn < 2 ? 0 : 4, .gap = gap[turn % 2], .gaps = 5};
        struct shake_shift shift[60];
        struct shake shake;
        uint64_t seed = 6;
        draw_shifts(shift, 60, &wander, &seed);
        assert_int_equal(shake_judge(&shake, shift, 60), 0);
        print_message("# %.2f pixels (RMS), at most %.2f\n", shake.rms_px, shake.most_px);
        if (wander.rms == 0)
            assert_true(shake.rms_px < 0.5);
        else if (turn % 2 == 0) /* too few frames are near others in the second turn */
            assert_true(fabs(shake.rms_px / wander.rms - 1) < 0.3);
    }
}

/* In the first, each fourth place has three that are near each other and far from it, and the line
 * passes nearly through it. Lines through four places leave three quarters of their power. */
static void lost_frames_do_not_hide_shake(void **state)
{
    (void)state;
    static const unsigned gaps[][4] = {
        {10, 10, 140, 180}, {20, 20, 120, 168}, {10, 140, 10, 180}, {55, 55, 55, 55}};
    enum { TRIALS = 40 };
    for (unsigned k = 0; k < sizeof gaps / sizeof gaps[0]; k++) {
        struct shake_shift shift[60];
        struct shake shake;
        uint64_t seed = 10;
        double sum = 0;
        for (unsigned trial = 0; trial < TRIALS; trial++) {
            draw_shifts(shift, 60, &(struct wander){.rms = 4, .gap = gaps[k], .gaps = 4}, &seed);
            assert_int_equal(shake_judge(&shake, shift, 60), 0);
            sum += shake.rms_px;
        }
        print_message("# %u %u %u %u ms: %.2f pixels (RMS)\n", gaps[k][0], gaps[k][1], gaps[k][2],
                      gaps[k][3], sum / TRIALS);
        const double left = k == 3 ? 6. / 7 : 3. / 4;
        assert_true(fabs(sum / TRIALS / (4 * sqrt(left)) - 1) < 0.1);
    }
}

/* At six frames a second, neighbours are more than half a window away. */
static void shake_is_seen_above_six_frames_a_second(void **state)
{
    (void)state;
    for (unsigned gap = 142; gap <= 167; gap += 25) {
        struct shake_shift shift[60];
        struct shake shake;
        uint64_t seed = 12;
        draw_shifts(shift, 60, &(struct wander){.rms = 4, .gap = &gap, .gaps = 1}, &seed);
        assert_int_equal(shake_judge(&shake, shift, 60), 0);
        assert_true(gap == 142 ? shake.rms_px > 2 : shake.rms_px == 0);
    }
}

/* Returns the noise by which two frames of one place differ. */
static struct noise_result compare_frames(float frame[2][PIXELS])
{
    struct noise_sums sums = {0};
    assert_int_equal(
        noise_compare(&sums, &(struct noise_pair){frame[0], frame[1], WIDTH, HEIGHT, 0, 0}), 0);
    return noise_solve(&sums);
}

static void noise_and_its_shot_part_are_measured(void **state)
{
    (void)state;
    static float frame[2][PIXELS];
    const struct {
        double sigma, shot;
    } cases[] = {{8, 0}, {2, 0.3}};
    for (unsigned i = 0; i < 2; i++) {
        uint64_t seed = 5;
        for (unsigned k = 0; k < 2 * PIXELS; k++) {
            const unsigned x = k % WIDTH, y = k % PIXELS / WIDTH;
            const double level = 40 + 170. * x / WIDTH + 8 * ((x / 24 + y / 24) % 2);
            frame[k / PIXELS][k % PIXELS] =
                (float)(level + sqrt(cases[i].sigma * cases[i].sigma + cases[i].shot * level) *
                                    clip_normal(&seed));
        }
        const struct noise_result noise = compare_frames(frame);
        print_message("# sigma %.2f at black, shot %.3f\n", noise.floor, noise.shot);
        assert_true(fabs(noise.shot - cases[i].shot) < 0.06);
        assert_true(fabs(noise.floor - cases[i].sigma) < (cases[i].shot > 0 ? 2 : 0.4));
    }
}

/* Returns sums of eight levels whose variance is floor + shot * level. */
static struct noise_sums sums_of(double floor, double shot)
{
    struct noise_sums sums = {0};
    for (unsigned i = 0; i < 8; i++) {
        const double level = 40 + 20 * i;
        const unsigned at = (unsigned)(level * NOISE_LEVELS / 256);
        sums.weight[at] += 10;
        sums.level[at] += 10 * level;
        sums.variance[at] += 10 * (floor + shot * level);
    }
    return sums;
}

/* `denoise` with shot noise takes no sigma of 0, which would be estimated. */
static void noise_without_a_floor_has_a_stage(void **state)
{
    (void)state;
    static struct diagnosis diagnosis;
    for (unsigned i = 0; i < 2; i++) {
        struct diagnosis_finding finding = {0};
        struct filter_chain chain;
        struct error why = {0};
        diagnosis = (struct diagnosis){.noise = sums_of(i > 0 ? 1e-5 : 0, 1.5),
                                       .measured = {.count = 1, .mean = 110}};
        assert_true(diagnosis_faults[DIAGNOSIS_NOISE].judge(&diagnosis, &finding));
        print_message("# %s\n", finding.stage);
        assert_non_null(strstr(finding.stage, "shot=1.500"));
        if (filter_chain_parse(&chain, finding.stage, &why) < 0)
            fail_msg("%s", why.text);
    }
}

/* Without frames that are whole pixels apart, noise of 5 is not reported, and stays in the picture
 * that `wiener` gets. Of noise that is reported, `denoise` takes most out before. */
static void noise_that_is_not_reported_stays_in_what_is_blurred(void **state)
{
    (void)state;
    static struct diagnosis diagnosis;
    double care[2];
    for (unsigned is_known = 0; is_known < 2; is_known++) {
        struct diagnosis_finding noise = {0};
        struct diagnosis_finding blur = {.kind = DIAGNOSIS_DEFOCUS};
        diagnosis = (struct diagnosis){
            .measured = {.count = 1, .mean = 110, .noisy = 1, .noise = 5},
            .blur = {.blur = DETAIL_DISK, .size_px = 4, .power = 1000},
        };
        if (is_known)
            diagnosis.noise = sums_of(25, 0);
        assert_int_equal(diagnosis_faults[DIAGNOSIS_NOISE].judge(&diagnosis, &noise), is_known);
        assert_true(diagnosis_faults[DIAGNOSIS_DEFOCUS].judge(&diagnosis, &blur));
        care[is_known] = strtod(strstr(blur.stage, "noise=") + 6, NULL);
        print_message("# %s\n", blur.stage);
    }
    assert_true(care[0] > 2 * care[1]);
}

/* Each block has a white square, as gravel has in too much light. */
static void noise_is_measured_between_white_areas(void **state)
{
    (void)state;
    static float frame[2][PIXELS];
    uint64_t seed = 6;
    for (unsigned k = 0; k < 2 * PIXELS; k++) {
        const unsigned x = k % WIDTH % 16, y = k % PIXELS / WIDTH % 16;
        frame[k / PIXELS][k % PIXELS] =
            (float)fmin((x < 8 && y < 8 ? 300 : 150) + 8 * clip_normal(&seed), 255);
    }
    const double sigma = compare_frames(frame).sigma;
    print_message("# sigma %.2f\n", sigma);
    assert_true(fabs(sigma - 8) < 1);
}

/* Few blocks are whole, and each of another brightness; the others have a white square. */
static void whole_blocks_that_are_too_few_of_a_level_do_not_hide_noise(void **state)
{
    (void)state;
    static float frame[2][PIXELS];
    uint64_t seed = 7;
    for (unsigned k = 0; k < 2 * PIXELS; k++) {
        const unsigned x = k % WIDTH, y = k % PIXELS / WIDTH;
        const double level = y < 16 ? 40 + 12 * (x / 16) : x % 16 < 8 && y % 16 < 8 ? 300 : 150;
        frame[k / PIXELS][k % PIXELS] = (float)fmin(level + 6 * clip_normal(&seed), 255);
    }
    const double sigma = compare_frames(frame).sigma;
    print_message("# sigma %.2f\n", sigma);
    assert_true(fabs(sigma - 6) < 0.6);
}

/* Half of each block is white. In the second turn, cells of 4 x 4 pixels also change as a whole, as
 * they do if the shift is wrong. What is white does not change. */
static void white_areas_do_not_hide_what_else_differs(void **state)
{
    (void)state;
    static float frame[2][PIXELS];
    uint64_t seed = 8;
    for (unsigned turn = 0; turn < 2; turn++) {
        struct noise_sums sums = {0};
        for (unsigned pair = 0; pair < 4; pair++) {
            for (unsigned k = 0; k < 2; k++)
                for (unsigned j = 0; j < PIXELS / 16; j++) {
                    const unsigned x = 4 * (j % (WIDTH / 4)), y = 4 * (j / (WIDTH / 4));
                    const double change = turn * 3 * clip_normal(&seed);
                    for (unsigned i = 0; i < 16; i++)
                        frame[k][(y + i / 4) * WIDTH + x + i % 4] = (float)fmin(
                            (x % 16 < 8 ? 300 : 150 + change) + 8 * clip_normal(&seed), 255);
                }
            assert_int_equal(
                noise_compare(&sums, &(struct noise_pair){frame[0], frame[1], WIDTH, HEIGHT, 0, 0}),
                0);
        }
        const double sigma = noise_solve(&sums).sigma;
        print_message("# sigma %.2f, coarse details have %.2f times its variance\n", sigma,
                      sums.coarse / sums.fine);
        assert_true(fabs(sigma - 8) < 0.2);
        assert_int_equal(noise_is_white(&sums), turn == 0);
    }
}

/* A frame that was shifted differs from another mostly in what is coarse. */
static void frames_of_other_places_do_not_differ_by_noise_alone(void **state)
{
    (void)state;
    static float frame[2][PIXELS];
    struct clip clip;
    for (int dx = 0; dx <= 12; dx += 4) {
        struct noise_sums sums = {0};
        clip_make(&clip, CLIP_NATURAL, WIDTH, HEIGHT, false, 2, 31);
        clip_frame(&clip, 0, frame[0]);
        clip_frame(&clip, 1, frame[1]);
        assert_false(noise_is_white(&sums));
        assert_int_equal(
            noise_compare(&sums, &(struct noise_pair){frame[0], frame[1], WIDTH, HEIGHT, dx, 0}),
            0);
        assert_int_equal(noise_is_white(&sums), dx == 0);
        clip_clear(&clip);
    }
}

/* Every column differs, or a few lines of the scene do. */
static void lines_of_a_sensor_are_everywhere(void **state)
{
    (void)state;
    static float luma[PIXELS];
    uint64_t seed = 9;
    float column[WIDTH];
    for (unsigned x = 0; x < WIDTH; x++)
        column[x] = (float)(3 * clip_normal(&seed));
    for (unsigned sensor = 0; sensor < 2; sensor++) {
        for (unsigned i = 0; i < PIXELS; i++)
            luma[i] = (float)(120 + clip_normal(&seed)) + (sensor != 0           ? column[i % WIDTH]
                                                           : i % WIDTH % 32 == 7 ? 60.f
                                                                                 : 0.f);
        const double found = lines_deviation(luma, WIDTH, HEIGHT, 1, false);
        assert_true(sensor != 0 ? fabs(found - 3) < 0.6 : found < 0.3);
        assert_true(lines_deviation(luma, WIDTH, HEIGHT, 1, true) < 0.3);
    }
}

static void bad_input_is_refused(void **state)
{
    (void)state;
    struct diagnosis *diagnosis = NULL;
    struct diagnosis_result result = {.count = 7};
    const struct diagnosis_format good = {
        .width = 64, .height = 64, .white = 255, .mosaic_step = 1};
    struct diagnosis_format format = good;
    format.width = DIAGNOSIS_MIN_SIDE - 1;
    assert_int_equal(diagnosis_create(&diagnosis, &format), -EINVAL);
    format = good;
    format.height = DIAGNOSIS_MAX_SIDE + 1;
    assert_int_equal(diagnosis_create(&diagnosis, &format), -EINVAL);
    format = good;
    format.mosaic_step = 3;
    assert_int_equal(diagnosis_create(&diagnosis, &format), -EINVAL);
    assert_null(diagnosis);
    diagnosis_destroy(NULL);
    assert_int_equal(diagnosis_create(&diagnosis, &good), 0);
    assert_int_equal(diagnosis_finish(diagnosis, &result, NULL, NULL), -ENODATA);
    assert_int_equal(result.count, 7);
    diagnosis_destroy(diagnosis);
}

/* A frame of one level, the smallest size, and numbers that are none. */
static void odd_frames_do_no_harm(void **state)
{
    (void)state;
    static float luma[64 * 64];
    const struct diagnosis_format format = {
        .width = 64, .height = 64, .black = 16, .white = 235, .mosaic_step = 2};
    for (unsigned turn = 0; turn < 3; turn++) {
        struct diagnosis *diagnosis;
        struct diagnosis_result result;
        assert_int_equal(diagnosis_create(&diagnosis, &format), 0);
        for (unsigned i = 0; i < 64 * 64; i++)
            luma[i] = turn == 0 ? 120 : turn == 1 ? NAN : i % 2 != 0 ? INFINITY : -1e30f;
        for (unsigned i = 0; i < 1 + 2 * turn; i++)
            assert_int_equal(diagnosis_add(diagnosis, luma, 5), 0);
        assert_int_equal(diagnosis_finish(diagnosis, &result, NULL, NULL), 0);
        if (turn == 0)
            assert_int_equal(result.count, 0);
        diagnosis_destroy(diagnosis);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_found),
        cmocka_unit_test(clean_clips_are_silent),
        cmocka_unit_test(a_median_must_not_cost_more_than_hot_pixels),
        cmocka_unit_test(shading_is_measured_where_the_picture_moves),
        cmocka_unit_test(shading_is_measured_beside_white_areas),
        cmocka_unit_test(a_scene_with_dark_corners_is_no_lens),
        cmocka_unit_test(a_screen_is_found_among_many_waves),
        cmocka_unit_test(blur_is_seen_through_stripes),
        cmocka_unit_test(direction_of_blur_is_exact),
        cmocka_unit_test(shading_is_measured_under_flicker),
        cmocka_unit_test(bands_that_stand_are_no_lens),
        cmocka_unit_test(a_little_white_is_said),
        cmocka_unit_test(patterns_are_not_out_of_focus),
        cmocka_unit_test(blur_is_seen_through_noise),
        cmocka_unit_test(tiles_are_not_out_of_focus),
        cmocka_unit_test(disks_are_out_of_focus),
        cmocka_unit_test(a_dark_picture_with_noise_is_too_dark),
        cmocka_unit_test(noise_is_measured_where_it_hides_the_shift),
        cmocka_unit_test(less_noise_is_reported_in_the_dark),
        cmocka_unit_test(longer_lines_are_undone_with_more_care),
        cmocka_unit_test(a_pan_is_no_shake),
        cmocka_unit_test(a_pan_with_lost_frames_is_no_shake),
        cmocka_unit_test(lost_frames_do_not_hide_shake),
        cmocka_unit_test(shake_is_seen_above_six_frames_a_second),
        cmocka_unit_test(shake_is_seen_in_a_broken_path),
        cmocka_unit_test(noise_and_its_shot_part_are_measured),
        cmocka_unit_test(noise_without_a_floor_has_a_stage),
        cmocka_unit_test(noise_that_is_not_reported_stays_in_what_is_blurred),
        cmocka_unit_test(noise_is_measured_between_white_areas),
        cmocka_unit_test(whole_blocks_that_are_too_few_of_a_level_do_not_hide_noise),
        cmocka_unit_test(white_areas_do_not_hide_what_else_differs),
        cmocka_unit_test(frames_of_other_places_do_not_differ_by_noise_alone),
        cmocka_unit_test(lines_of_a_sensor_are_everywhere),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(odd_frames_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
