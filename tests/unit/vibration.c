/* Vibrations that are found in fields of motion (client/vibration): of rendered pictures through
 * the estimator, and of numbers with known errors. FFTD_TEST_CLIPS=all measures more clips,
 * FFTD_TEST_SEED chooses others.
 *
 * A clip's values are drawn within these ranges: 0.4 to 28 Hz, 0.03 to 0.5 pixels, any direction
 * and phase, noise of a standard deviation of 2 to 6, at 60 pictures a second, for ten seconds. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/scene.h"
#include "support/trials.h"

#include "estimators/motion/motion_field.h"
#include "vibration/vibration.h"

#define RATE   60.0
#define SIDE   128u
#define BLOCK  32u
#define NODES  5
#define MOVING (SIDE / 2) /* columns from here on move */

static uint64_t first_seed(void)
{
    const char *seed = getenv("FFTD_TEST_SEED");
    return seed != NULL ? strtoull(seed, NULL, 10) : 9100;
}

static double between(uint64_t *seed, double least, double most)
{
    return least + (most - least) * scene_uniform(seed);
}

/* ---- pictures ---- */

/* A scene whose right half vibrates. Between the pictures of the nodes, which are Chebyshev's, each
 * pixel is a polynomial; with waves of at most 0.35 cycles/pixel its error is below a thousandth of
 * the contrast. */
struct clip {
    double hz, px, angle, phase, sigma;
    double node[NODES];
    float still[NODES][SIDE * SIDE];
    float picture[SIDE * SIDE];
    uint64_t seed;
};

static void clip_make(struct clip *clip)
{
    struct scene scene;
    scene_make(&scene, 1.5 * SIDE, &clip->seed);
    for (int i = 0; i < NODES; i++) {
        clip->node[i] = cos(M_PI * (i + 0.5) / NODES);
        const double moved = clip->px * clip->node[i];
        scene_draw(&scene, -moved * cos(clip->angle), -moved * sin(clip->angle), 0, SIDE, SIDE,
                   clip->still[i]);
    }
}

static double displacement(const struct clip *clip, double seconds)
{
    return cos(2 * M_PI * clip->hz * seconds + clip->phase);
}

static void clip_draw(struct clip *clip, double seconds)
{
    float weight[2][NODES];
    const double at[2] = {0, displacement(clip, seconds)};
    for (int half = 0; half < 2; half++)
        for (int i = 0; i < NODES; i++) {
            double product = 1;
            for (int k = 0; k < NODES; k++)
                if (k != i)
                    product *= (at[half] - clip->node[k]) / (clip->node[i] - clip->node[k]);
            weight[half][i] = (float)product;
        }
    for (unsigned i = 0; i < SIDE * SIDE; i++) {
        const float *w = weight[i % SIDE >= MOVING];
        double level = clip->sigma * scene_normal(&clip->seed);
        for (int k = 0; k < NODES; k++)
            level += (double)(w[k] * clip->still[k][i]);
        clip->picture[i] = (float)round(fmin(fmax(level, 0), 255));
    }
}

/* ---- fields as frames carry them ---- */

struct stream {
    struct series series;
    struct motion_field *estimator;
    struct motion_grid grid;
    struct fftd_motion field;
    int16_t *vectors;
    uint8_t *confidences;
};

static const struct series_place places[] = {
    {.name = "moving", .left = MOVING, .top = 0, .width = SIDE - MOVING, .height = SIDE},
    {.name = "still", .left = 0, .top = 0, .width = MOVING, .height = SIDE},
};

static void stream_begin(struct stream *stream, bool with_blocks)
{
    unsigned wrong;
    *stream = (struct stream){0};
    assert_int_equal(motion_grid_make(&stream->grid, SIDE, SIDE, BLOCK, NULL), 0);
    assert_int_equal(motion_field_create(&stream->estimator, SIDE, SIDE, BLOCK, NULL), 0);
    stream->field = (struct fftd_motion){.columns = (uint16_t)stream->grid.columns,
                                         .rows = (uint16_t)stream->grid.rows,
                                         .block = BLOCK};
    const size_t blocks = (size_t)stream->grid.columns * stream->grid.rows;
    stream->vectors = calloc(2 * blocks, sizeof *stream->vectors);
    stream->confidences = calloc(blocks, 1);
    assert_int_equal(series_begin(&stream->series, places, 2, with_blocks, &stream->field, &wrong),
                     0);
}

static void stream_end(struct stream *stream)
{
    series_finish(&stream->series);
    motion_field_destroy(stream->estimator);
    free(stream->vectors);
    free(stream->confidences);
}

/* Takes the next picture's field, as the daemon publishes it. */
static void stream_observe(struct stream *stream, const float *picture, int64_t captured_ns)
{
    const struct motion_vector *vector = motion_field_observe(stream->estimator, picture);
    stream->field.since_ns = stream->field.captured_ns;
    stream->field.captured_ns = captured_ns;
    for (unsigned i = 0; i < stream->grid.columns * stream->grid.rows; i++) {
        stream->vectors[2 * i] = (int16_t)lrintf(FFTD_MOTION_UNIT * vector[i].dx);
        stream->vectors[2 * i + 1] = (int16_t)lrintf(FFTD_MOTION_UNIT * vector[i].dy);
        stream->confidences[i] = (uint8_t)(255 * vector[i].confidence);
    }
}

static int stream_add(struct stream *stream)
{
    return series_add(&stream->series, &stream->field, stream->vectors, stream->confidences);
}

static int64_t time_of(unsigned n)
{
    return 5000000000 + (int64_t)llround(1e9 * n / RATE);
}

static struct clip draw_clip(uint64_t seed)
{
    struct clip ret = {.seed = seed};
    scene_uniform(&ret.seed);
    ret.hz = exp(between(&ret.seed, log(0.4), log(28)));
    ret.px = exp(between(&ret.seed, log(0.03), log(0.5)));
    ret.angle = between(&ret.seed, -M_PI / 2, M_PI / 2);
    ret.phase = between(&ret.seed, -M_PI, M_PI);
    ret.sigma = between(&ret.seed, 2, 6);
    return ret;
}

/* The stated goal: 0.05 pixel at 7.3 Hz under noise of sigma 5. */
static struct clip draw_goal(uint64_t seed)
{
    struct clip ret = draw_clip(seed);
    ret.hz = 7.3;
    ret.px = 0.05;
    ret.sigma = 5;
    return ret;
}

static double turn_between(double a_deg, double b_deg, double whole_deg)
{
    return fabs(remainder(a_deg - b_deg, whole_deg));
}

/* The estimator's vectors are up to a twenty-fifth too long or too short, depending on what the
 * blocks show, and its drift covers slow vibrations. So the bounds for the ranges above are wider
 * than that for the goal. */
static void check_mode(const struct clip *clip, const struct mode *mode, double most_px)
{
    const double phase_deg = clip->phase * 180 / M_PI, angle_deg = clip->angle * 180 / M_PI;
    const double phase_error = turn_between(mode->phase_deg, phase_deg, 180);
    printf("# figures: %.3f Hz, %.4f px, %.0f deg, phase %.0f, sigma %.1f: errors %.4f Hz, %.4f "
           "px, %.1f deg, phase %.1f\n",
           clip->hz, clip->px, angle_deg, phase_deg, clip->sigma, mode->hz - clip->hz,
           mode->px - clip->px, turn_between(mode->angle_deg, angle_deg, 180), phase_error);
    const double slow = clip->hz < 1 ? 3 : 1;
    assert_true(fabs(mode->hz - clip->hz) < 0.02);
    assert_true(fabs(mode->px - clip->px) < most_px);
    assert_true(turn_between(mode->angle_deg, angle_deg, 180) < 5 * slow);
    assert_true(phase_error < 10 * slow);
    assert_true(mode->minor_px < 0.1 * slow * clip->px);
}

/* Lets a clip's pictures come at 60 a second: `lost` of 100 fields are not received, and for `away`
 * pictures the daemon is restarted. */
static void play(struct clip *clip, struct stream *stream, unsigned lost, unsigned away)
{
    for (unsigned i = 0; i < 600; i++) {
        if (i >= 300 && i < 300 + away) {
            motion_field_reset(stream->estimator);
            continue;
        }
        clip_draw(clip, 1e-9 * (double)(time_of(i) - time_of(0)));
        stream_observe(stream, clip->picture, time_of(i));
        if (scene_uniform(&clip->seed) >= 0.01 * lost)
            stream_add(stream);
    }
}

/* The phase of a series that began later, at the time of the clip's first picture. */
static struct mode since_first_picture(struct mode mode, const struct series *series)
{
    const double late_s = 1e-9 * (double)(series->step[0].from_ns - time_of(0));
    mode.phase_deg -= 360 * mode.hz * late_s;
    return mode;
}

static void measure(struct clip *clip, unsigned lost, unsigned away, double most_px)
{
    struct stream stream;
    struct modes modes;
    const unsigned moving = 0, still = 1;
    clip_make(clip);
    stream_begin(&stream, false);
    play(clip, &stream, lost, away);
    assert_int_equal(modes_find(&modes, NULL, &stream.series, &moving, 1, 1), 0);
    assert_int_equal(modes.count, 1);
    const struct mode mode = since_first_picture(modes.mode[0], &stream.series);
    check_mode(clip, &mode, most_px);
    assert_int_equal(modes_find(&modes, NULL, &stream.series, &still, 1, 1), 0);
    for (unsigned i = 0; i < modes.count; i++) /* vectors follow those around them a little */
        assert_true(modes.mode[i].px < 0.03 * clip->px);
    stream_end(&stream);
}

static void a_twentieth_of_a_pixel_is_measured(void **state)
{
    (void)state;
    static struct clip clip;
    for (unsigned n = 0; n < trials_count(8, 1); n++) {
        clip = draw_goal(first_seed() + 1000 + 100 * n);
        measure(&clip, 0, 0, 0.005);
    }
}

static void vibrations_are_measured(void **state)
{
    (void)state;
    static struct clip clip;
    for (unsigned n = 0; n < trials_count(20, 3); n++) {
        clip = draw_clip(first_seed() + 100 * n);
        measure(&clip, 0, 0, 0.005 + 0.04 * clip.px);
    }
}

/* A third of all fields is lost, and the daemon is restarted for 1.5 s. */
static void gaps_change_nothing(void **state)
{
    (void)state;
    static struct clip clip;
    for (unsigned n = 0; n < trials_count(8, 1); n++) {
        clip = draw_goal(first_seed() + 2000 + 100 * n);
        measure(&clip, 33, 90, 0.005);
    }
}

static void blocks_are_surveyed(void **state)
{
    (void)state;
    static struct clip clip;
    struct stream stream;
    struct survey survey;
    clip = draw_goal(first_seed() + 3000);
    clip_make(&clip);
    stream_begin(&stream, true);
    play(&clip, &stream, 0, 0);
    assert_int_equal(survey_find(&survey, &stream.series, NULL, NULL), 0);
    assert_int_equal(survey.count, 1);
    const struct survey_line *line = &survey.line[0];
    printf("# figures: %.4f Hz, %u of 49 blocks, most of them %.4f px\n", line->hz, line->blocks,
           line->mode.px);
    assert_true(fabs(line->hz - clip.hz) < 0.02);
    assert_true(fabs(line->mode.px - clip.px) < 0.015);
    assert_true(stream.series.place[line->place].left + BLOCK > MOVING);
    /* Of seven columns the last three are in the moving half, the first two in the other one, and
     * the vectors of those between are joined with those around them. */
    struct mode *mode;
    double moving = 0, still = 0;
    assert_int_equal(survey_fit(&mode, &stream.series, line->hz), 0);
    for (unsigned i = 0; i < 49; i++) {
        moving += i % 7 >= 4 ? mode[i].px / 21 : 0;
        still += i % 7 < 2 ? mode[i].px / 14 : 0;
    }
    free(mode);
    printf("# figures: blocks that move: %.4f px, others: %.4f px\n", moving, still);
    assert_true(fabs(moving - clip.px) < 0.005 && still < 0.006);
    assert_in_range(line->blocks, 21, 42);
    stream_end(&stream);
}

/* ---- numbers ---- */

struct wave_made {
    double hz, x_px, x_deg, y_px, y_deg;
};

static double value_at(double hz, double px, double deg, double seconds)
{
    return px * cos(2 * M_PI * hz * seconds + deg * M_PI / 180);
}

/* Adds a field of one block whose two pictures show these waves, each with noise of its own, on a
 * drift. */
static void add_field(struct series *series, int64_t from_ns, int64_t to_ns,
                      const struct wave_made *wave, unsigned count, const double noise[2][2])
{
    const struct fftd_motion field = {
        .captured_ns = to_ns, .since_ns = from_ns, .columns = 1, .rows = 1, .block = 32};
    const uint8_t confidence = 250;
    const double time[2] = {1e-9 * (double)(from_ns - time_of(0)),
                            1e-9 * (double)(to_ns - time_of(0))};
    double at[2][2];
    for (unsigned end = 0; end < 2; end++) {
        const double drift = 0.3 * time[end] + 0.02 * time[end] * time[end];
        at[end][0] = drift + noise[end][0];
        at[end][1] = -drift + noise[end][1];
        for (unsigned i = 0; i < count; i++) {
            at[end][0] += value_at(wave[i].hz, wave[i].x_px, wave[i].x_deg, time[end]);
            at[end][1] += value_at(wave[i].hz, wave[i].y_px, wave[i].y_deg, time[end]);
        }
    }
    const int16_t vector[2] = {(int16_t)lrint(FFTD_MOTION_UNIT * (at[1][0] - at[0][0])),
                               (int16_t)lrint(FFTD_MOTION_UNIT * (at[1][1] - at[0][1]))};
    assert_int_equal(series_add(series, &field, vector, &confidence), 1);
}

static void begin_numbers(struct series *series)
{
    unsigned wrong;
    const struct series_place whole = {.name = "whole", .width = 32, .height = 32};
    const struct fftd_motion shape = {.columns = 1, .rows = 1, .block = 32};
    assert_int_equal(series_begin(series, &whole, 1, false, &shape, &wrong), 0);
}

static void make_numbers(struct series *series, unsigned pictures, const struct wave_made *wave,
                         unsigned count, double sigma, uint64_t *seed)
{
    double noise[2][2] = {{0}};
    begin_numbers(series);
    for (unsigned i = 0; i < pictures; i++) {
        memcpy(noise[0], noise[1], sizeof noise[0]);
        noise[1][0] = sigma * scene_normal(seed);
        noise[1][1] = sigma * scene_normal(seed);
        if (i > 0)
            add_field(series, time_of(i - 1), time_of(i), wave, count, (const double(*)[2])noise);
    }
}

/* In so many readings without a vibration at most one in a hundred has one, where one in a thousand
 * is expected. */
static void noise_does_not_vibrate(void **state)
{
    (void)state;
    uint64_t seed = first_seed() + 4000;
    const unsigned trials = trials_count(1500, 60), place = 0;
    unsigned found = 0;
    for (unsigned n = 0; n < trials; n++) {
        struct series series;
        struct modes modes;
        make_numbers(&series, 40 + (unsigned)(360 * scene_uniform(&seed)), NULL, 0,
                     between(&seed, 0.005, 0.05), &seed);
        assert_int_equal(modes_find(&modes, NULL, &series, &place, 1, 1), 0);
        found += modes.count > 0;
        series_finish(&series);
    }
    printf("# figures: %u of %u readings of noise have a vibration\n", found, trials);
    assert_true(found <= 1 + trials / 100);
}

/* Two vibrations at once, one along a circle, on a drift of pixels; the second one is a tenth as
 * strong. */
static void several_vibrations_are_told_apart(void **state)
{
    (void)state;
    uint64_t seed = first_seed() + 5000;
    struct series series;
    struct modes modes;
    const unsigned place = 0;
    const struct wave_made wave[] = {{11.7, 0.6, 40, 0.6, -50}, {4.15, 0.06, 10, 0, 0}};
    make_numbers(&series, 600, wave, 2, 0.01, &seed);
    assert_int_equal(modes_find(&modes, NULL, &series, &place, 1, 1), 0);
    for (unsigned i = 0; i < modes.count; i++)
        printf("# figures: %.4f +- %.4f Hz, %.4f +- %.4f px, across %.4f px, phase %.1f\n",
               modes.mode[i].hz, modes.mode[i].hz_error, modes.mode[i].px, modes.mode[i].px_error,
               modes.mode[i].minor_px, modes.mode[i].phase_deg);
    assert_int_equal(modes.count, 2);
    assert_true(fabs(modes.mode[0].hz - 11.7) < 0.003);
    assert_true(fabs(modes.mode[0].px - 0.6) < 0.005 && fabs(modes.mode[0].minor_px - 0.6) < 0.005);
    assert_true(fabs(modes.mode[0].x.px - 0.6) < 0.005 && fabs(modes.mode[0].y.px - 0.6) < 0.005);
    assert_true(turn_between(modes.mode[0].x.phase_deg, 40, 360) < 1);
    assert_true(turn_between(modes.mode[0].y.phase_deg, -50, 360) < 1);
    assert_true(fabs(modes.mode[1].hz - 4.15) < 0.01 && fabs(modes.mode[1].px - 0.06) < 0.003);
    assert_true(turn_between(modes.mode[1].phase_deg, 10, 360) < 4);
    assert_true(fabs(modes.mode[1].angle_deg) < 4);
    series_finish(&series);
}

/* The stated standard deviations are those of the errors, where noise is white. */
static void errors_are_as_stated(void **state)
{
    (void)state;
    uint64_t seed = first_seed() + 6000;
    const unsigned trials = trials_are_all() ? 300 : 40, place = 0;
    double hz = 0, px = 0;
    for (unsigned n = 0; n < trials; n++) {
        struct series series;
        struct modes modes;
        const struct wave_made wave = {between(&seed, 8, 24), 0.2, between(&seed, -180, 180), 0, 0};
        make_numbers(&series, 300, &wave, 1, 0.05, &seed);
        assert_int_equal(modes_find(&modes, NULL, &series, &place, 1, 1), 0);
        assert_true(modes.count >= 1);
        hz += pow((modes.mode[0].hz - wave.hz) / modes.mode[0].hz_error, 2) / trials;
        px += pow((modes.mode[0].px - wave.x_px) / modes.mode[0].px_error, 2) / trials;
        series_finish(&series);
    }
    printf("# figures: errors are %.2f (Hz) and %.2f (px) of the standard deviations\n", sqrt(hz),
           sqrt(px));
    assert_true(hz > 0.4 && hz < 2.2 && px > 0.4 && px < 2.2);
}

/* Fields that take two or three frames each show vibrations to half the rate of pictures, if some
 * of them take one. */
static void uneven_fields_are_used_as_they_are(void **state)
{
    (void)state;
    uint64_t seed = first_seed() + 7000;
    struct series series;
    struct modes modes;
    const unsigned place = 0;
    const struct wave_made wave = {21.3, 0.1, 70, 0, 0};
    double noise[2][2] = {{0}};
    begin_numbers(&series);
    for (unsigned i = 0, next; i < 600; i = next) {
        next = i + 1 + (unsigned)(3 * scene_uniform(&seed));
        memcpy(noise[0], noise[1], sizeof noise[0]);
        noise[1][0] = 0.01 * scene_normal(&seed);
        noise[1][1] = 0.01 * scene_normal(&seed);
        add_field(&series, time_of(i), time_of(next), &wave, 1, (const double(*)[2])noise);
    }
    assert_int_equal(modes_find(&modes, NULL, &series, &place, 1, 1), 0);
    assert_int_equal(modes.count, 1);
    assert_true(fabs(modes.mode[0].hz - 21.3) < 0.01 && fabs(modes.mode[0].px - 0.1) < 0.005);
    series_finish(&series);
}

/* ---- input ---- */

static void places_have_the_blocks_within_them(void **state)
{
    (void)state;
    struct series series;
    unsigned wrong = 9;
    struct fftd_motion shape = {.columns = 9, .rows = 7, .block = 32}; /* 160 x 128 pixels */
    const struct series_place named[] = {
        {"all", 0, 0, 65535, 65535, {0}, 0}, {"one", 16, 32, 32, 32, {0}, 0},
        {"between", 17, 33, 40, 40, {0}, 0}, {"small", 70, 50, 4, 4, {0}, 0},
        {"corner", 159, 127, 1, 1, {0}, 0},  {"wide", 0, 0, 64, 32, {0}, 0}};
    const uint32_t blocks[] = {63, 1, 1, 1, 1, 3};
    assert_int_equal(series_begin(&series, named, 6, true, &shape, &wrong), 0);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(series.place[i].blocks, blocks[i]);
    assert_int_equal(series.places, 6 + 63);
    assert_int_equal(series.place[6 + 9 * 2 + 3].left, 48);
    assert_int_equal(series.place[6 + 9 * 2 + 3].top, 32);

    int16_t vectors[2 * 63];
    uint8_t confidences[63];
    for (unsigned i = 0; i < 63; i++) {
        vectors[2 * i] = (int16_t)(i % 9 * 64);
        vectors[2 * i + 1] = (int16_t)(i / 9 * 64);
        confidences[i] = 255;
    }
    confidences[1] = FFTD_MOTION_SURE - 1; /* is left out */
    shape.captured_ns = 2;
    shape.since_ns = 1;
    assert_int_equal(series_add(&series, &shape, vectors, confidences), 1);
    const double right[] = {4.05, 1, 1, 4, 8, 1}, down[] = {3.05, 2, 2, 2, 6, 0};
    for (unsigned i = 0; i < 6; i++) {
        const struct series_shift *shift = series_shift_of(&series, 0, i);
        assert_true(fabs((double)shift->dx - right[i]) < 0.01);
        assert_true(fabs((double)shift->dy - down[i]) < 0.01);
    }
    assert_true(fabs((double)series_shift_of(&series, 0, 5)->confidence - 2. / 3) < 0.01);
    assert_true(series_shift_of(&series, 0, 6 + 1)->confidence == 0);
    series_finish(&series);

    const struct series_place beyond[] = {named[0], {"beyond", 160, 0, 9, 9, {0}, 0}};
    assert_int_equal(series_begin(&series, beyond, 2, false, &shape, &wrong), -ERANGE);
    assert_int_equal(wrong, 1);
    series_finish(&series);
}

/* A hostile or broken daemon may publish anything. */
static void bad_fields_pass_by(void **state)
{
    (void)state;
    struct series series;
    struct modes modes;
    struct mode mode;
    unsigned wrong;
    const unsigned place = 0;
    const struct series_place whole = {.name = "whole", .width = 32, .height = 32};
    const struct fftd_motion shapes[] = {{.columns = 0, .rows = 3, .block = 32},
                                         {.columns = 3, .rows = 0, .block = 32},
                                         {.columns = 3, .rows = 3, .block = 0},
                                         {.columns = 3, .rows = 3, .block = 1},
                                         {.columns = 65535, .rows = 65535, .block = 32}};
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        assert_int_equal(series_begin(&series, &whole, 1, true, &shapes[i], &wrong), -EPROTO);
        series_finish(&series);
    }
    begin_numbers(&series);
    int16_t vector[2] = {INT16_MIN, INT16_MAX};
    uint8_t confidence = 255;
    struct fftd_motion field = {.columns = 1, .rows = 1, .block = 32};
    const int64_t times[][2] = {{5, 5}, {6, 5}, {INT64_MAX, INT64_MIN}};
    for (unsigned i = 0; i < 3; i++) {
        field.since_ns = times[i][0];
        field.captured_ns = times[i][1];
        assert_int_equal(series_add(&series, &field, vector, &confidence), 0);
    }
    assert_int_equal(modes_find(&modes, NULL, &series, &place, 1, 1), -ENODATA);
    assert_int_equal(modes_fit(&mode, &series, 0, 5), -ENODATA);
    field.since_ns = INT64_MIN;
    field.captured_ns = -5;
    confidence = 0;
    assert_int_equal(series_add(&series, &field, vector, &confidence), 0);
    confidence = 255;
    assert_int_equal(series_add(&series, &field, vector, &confidence), 1);
    assert_int_equal(series_add(&series, &field, vector, &confidence), 0); /* the same one */
    field.block = 16;
    assert_int_equal(series_add(&series, &field, vector, &confidence), -ESTALE);
    field.block = 32;
    for (unsigned i = 0; i < 20; i++) { /* a billion pictures a second, and 500 years */
        field.since_ns = i;
        field.captured_ns = i < 19 ? i + 1 : INT64_MAX;
        assert_int_equal(series_add(&series, &field, vector, &confidence), 1);
    }
    assert_int_equal(modes_find(&modes, NULL, &series, &place, 1, 1), 0);
    assert_int_equal(modes.steps, 21);
    for (unsigned i = 0; i < modes.count; i++)
        assert_true(isfinite(modes.mode[i].hz) && isfinite(modes.mode[i].px));
    series_finish(&series);
    series_finish(&series);
}

/* Mostly a little later, and seldom anything. */
static int64_t next_time(int64_t ns, uint64_t *seed)
{
    const double kind = scene_uniform(seed);
    if (kind > 0.98 || ns > INT64_MAX / 2)
        return (int64_t)between(seed, -9e18, 9e18);
    return ns + (int64_t)(kind < 0.6 ? 16666667 : between(seed, -1, 3) * 1e8);
}

/* Random fields, some of which have impossible times, go through everything. */
static void anything_is_searched_and_drawn(void **state)
{
    (void)state;
    unsigned drawn = 0;
    uint64_t seed = first_seed() + 8000;
    FILE *nowhere = fopen("/dev/null", "w");
    assert_non_null(nowhere);
    for (unsigned n = 0; n < trials_count(200, 20); n++) {
        struct vibration vibration = {.region = {{.name = "a Z", .width = 40, .height = 40},
                                                 {.name = "b", .left = 9, .width = 1, .height = 1}},
                                      .regions = 2,
                                      .with_blocks = true,
                                      .is_surveyed = true};
        struct fftd_motion field = {.columns = (uint16_t)between(&seed, 1, 4),
                                    .rows = (uint16_t)between(&seed, 1, 4),
                                    .block = (uint16_t)between(&seed, 2, 70)};
        const unsigned blocks = (unsigned)field.columns * field.rows;
        int16_t vectors[32];
        uint8_t confidences[16];
        const int r =
            series_begin(&vibration.series, vibration.region, 2, true, &field, &vibration.wrong);
        assert_true(r == 0 || r == -ERANGE);
        for (unsigned i = 0; i < 200 && r == 0; i++) {
            field.since_ns = scene_uniform(&seed) < 0.8 ? field.captured_ns
                                                        : next_time(field.captured_ns, &seed);
            field.captured_ns = next_time(field.since_ns, &seed);
            for (unsigned k = 0; k < blocks; k++) {
                vectors[2 * k] = (int16_t)between(&seed, INT16_MIN, INT16_MAX);
                vectors[2 * k + 1] = (int16_t)between(&seed, -3, 3);
                confidences[k] = (uint8_t)between(&seed, 150, 255);
            }
            assert_in_range(series_add(&vibration.series, &field, vectors, confidences), 0, 1);
        }
        if (r == 0 && vibration_find(&vibration, NULL, NULL) == 0) {
            struct picture chart, mode_chart, under;
            struct mode *mode;
            vibration_write_text(&vibration, nowhere);
            vibration_write_json(&vibration, nowhere);
            vibration_write_csv(&vibration, nowhere);
            assert_int_equal(vibration_draw(&vibration, &chart), 0);
            assert_int_equal(survey_fit(&mode, &vibration.series, between(&seed, 0.01, 30)), 0);
            assert_int_equal(picture_create(&under, 1 + n % 50, 1 + n % 7), 0);
            assert_int_equal(
                chart_draw_mode(&mode_chart, &under, 1 + n % 99, &vibration.series, mode, 5), 0);
            drawn++;
            free(mode);
            picture_free(&chart);
            picture_free(&mode_chart);
            picture_free(&under);
        }
        vibration_finish(&vibration);
    }
    fclose(nowhere);
    assert_true(drawn >= trials_count(100, 10) / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_twentieth_of_a_pixel_is_measured),
        cmocka_unit_test(vibrations_are_measured),
        cmocka_unit_test(gaps_change_nothing),
        cmocka_unit_test(blocks_are_surveyed),
        cmocka_unit_test(noise_does_not_vibrate),
        cmocka_unit_test(several_vibrations_are_told_apart),
        cmocka_unit_test(errors_are_as_stated),
        cmocka_unit_test(uneven_fields_are_used_as_they_are),
        cmocka_unit_test(places_have_the_blocks_within_them),
        cmocka_unit_test(bad_fields_pass_by),
        cmocka_unit_test(anything_is_searched_and_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
