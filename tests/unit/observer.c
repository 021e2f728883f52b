/* The thread that observes frames: what it finds reaches the frames that follow, what makes it
 * forget, and how much of a processor it takes. How well waves are found is
 * tests/unit/periodic.c's.
 */
#include "observer/observer.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/flow.h"

#include "observer/estimators.h"
#include "observer/moving.h"
#include "observer/turn.h"
#include "core/clock.h"
#include "core/format.h"
#include "estimators/luma.h"

#define WIDTH       192
#define HEIGHT      256
#define INTERVAL_NS (NS_PER_S / 30)
#define PATIENCE_NS (120 * NS_PER_S)
#define FX          0.21
#define FY          0.13
#define AMPLITUDE   20.0 /* of 255 */
#define FRAMES      80

static const struct filter_adaptation off = {.removes_waves = false};
static const struct filter_adaptation on = {.removes_waves = true,
                                            .waves = {.min_amplitude = 1, .max_waves = 8}};

struct fixture {
    struct observer *observer;
    uint32_t fourcc;
    double top;
    uint8_t *plane;
    int64_t captured_ns;
    unsigned start;
    bool is_unpaced;
    uint64_t number;        /* of the frame offered last */
    struct ring_meta label; /* its measures when it was offered */
};

static void set_source(const struct fixture *f, uint64_t version, uint32_t height)
{
    const struct fftd_format captured = {
        .fourcc = f->fourcc, .width = WIDTH, .height = height, .full_range = 1};
    observer_set_source(f->observer, version, &captured, DEMOSAIC_BILINEAR);
}

static void start(struct fixture *f, const char *format, bool takes_measures)
{
    struct error why;
    *f = (struct fixture){.captured_ns = NS_PER_S};
    f->fourcc = format_by_name(format)->fourcc;
    f->top = (1u << format_by_name(format)->bits) - 1;
    f->plane = calloc(HEIGHT, luma_row_bytes(format_by_name(format), WIDTH));
    assert_int_equal(observer_create(&f->observer, takes_measures, &why), 0);
    set_source(f, 1, HEIGHT);
}

static void end(struct fixture *f)
{
    assert_int_equal(observer_destroy(f->observer, clock_now_ns() + PATIENCE_NS), 0);
    free(f->plane);
}

/* Blocks, a gradient and one wave that does not move, in 8 or 16 bits. */
static void draw(struct fixture *f)
{
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++) {
        const unsigned x = i % WIDTH, y = i / WIDTH;
        const double level = 80 + 0.2 * x + 0.1 * y + (x / 37 % 2 == y / 53 % 2 ? 30 : 0) +
                             AMPLITUDE * cos(2 * M_PI * (FX * x + FY * y));
        const unsigned code = (unsigned)lrint(level * f->top / 255);
        if (f->top > 255) {
            f->plane[2 * i] = (uint8_t)code;
            f->plane[2 * i + 1] = (uint8_t)(code >> 8);
        } else {
            f->plane[i] = (uint8_t)code;
        }
    }
}

static struct capture_frame frame_of(const struct fixture *f)
{
    return (struct capture_frame){
        .plane = {f->plane},
        .stride = {(uint32_t)luma_row_bytes(format_by_fourcc(f->fourcc), WIDTH)},
        .captured_ns = f->captured_ns,
        .start = f->start,
        .memory = -1};
}

/* The correction of a frame that is not observed. */
static const struct correction *correct(const struct fixture *f)
{
    const struct capture_frame frame = frame_of(f);
    return observer_correct(f->observer, &frame);
}

/* Offers a frame, and returns its correction. */
static const struct correction *offer(struct fixture *f)
{
    const struct capture_frame frame = frame_of(f);
    f->number = observer_offer(f->observer, &frame, f->is_unpaced);
    f->label = (struct ring_meta){.flags = 0};
    observer_label(f->observer, f->number, &off, &f->label);
    return correct(f);
}

static void configure(struct fixture *f, const struct filter_adaptation *wanted)
{
    struct error why;
    assert_int_equal(observer_configure(f->observer, wanted, &why), 0);
}

static struct observer_status status_of(const struct fixture *f)
{
    struct observer_status status;
    observer_get_status(f->observer, &status);
    return status;
}

/* Offers frames until one is corrected. Each is offered until it was observed, so that the time in
 * which frames are captured does not depend on how fast this machine is. */
static const struct correction *wait_for_correction(struct fixture *f)
{
    const int64_t deadline_ns = clock_now_ns() + PATIENCE_NS;
    const struct correction *correction;
    do {
        const uint64_t observed = status_of(f).observed;
        f->captured_ns += INTERVAL_NS;
        do {
            correction = offer(f);
            usleep(500);
            assert_true(clock_now_ns() < deadline_ns);
        } while (status_of(f).observed == observed);
    } while (correction == NULL);
    return correction;
}

static void waves_are_in_units_of_samples(void **state)
{
    (void)state;
    static const char *const formats[] = {"GREY", "Y12"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct fixture f;
        start(&f, formats[i], false);
        draw(&f);
        configure(&f, &on);
        const struct correction *correction = wait_for_correction(&f);
        assert_null(correction->row_gain);
        assert_int_equal(correction->wave_count, 1);
        assert_true(fabs(correction->top - f.top) < 1e-6 * f.top);
        const struct wave *wave = &correction->wave[0];
        assert_true(fabs(fabs(wave->fx) - FX) < 1e-3);
        assert_true(fabs(hypot(wave->re, wave->im) / (AMPLITUDE * f.top / 255) - 1) < 0.05);
        const struct observer_status status = status_of(&f);
        assert_int_equal(status.found.wave_count, 1);
        assert_true(status.found.wave[0].is_removed);
        assert_true(fabs(status.found.wave[0].amplitude / AMPLITUDE - 1) < 0.05);
        end(&f);
    }
}

/* The frames come as fast as they are taken, as those of a recording that is converted. */
static void every_frame_of_an_unpaced_source_is_observed(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, "GREY", true);
    f.is_unpaced = true;
    draw(&f);
    configure(&f, &on);
    bool is_corrected = false;
    for (unsigned i = 0; i < 20; i++) {
        f.captured_ns += INTERVAL_NS;
        is_corrected = offer(&f) != NULL;
        assert_int_equal(status_of(&f).observed, i + 1);
        assert_int_equal(f.label.measures.age, 0);
    }
    assert_true(is_corrected);
    end(&f);
}

static struct filter_image *read_template(const char *name, const char *text)
{
    struct filter_image *image;
    assert_int_equal(filter_image_parse(&image, name, text, strlen(text), NULL), 0);
    return image;
}

/* All outputs together look for two templates; that of a third output is not looked for. */
static void a_frame_has_the_matches_of_its_own_chain(void **state)
{
    static const struct {
        unsigned count, first;
    } chains[] = {{2, 0}, {1, 0}, {1, 1}, {0, 0}, {2, 1}, {1, 2}};
    struct filter_image *image[] = {read_template("a", "9 1 9 1 9\n1 5 1 5 1\n9 1 9 1 9"),
                                    read_template("b", "1 2 3 4\n2 3 4 5\n3 4 5 6\n9 9 9 0"),
                                    read_template("c", "1 2\n3 4\n")};
    struct filter_adaptation all = on;
    struct fixture f;
    (void)state;
    all.match_image[0] = image[0];
    all.match_image[1] = image[1];
    all.match_count = 2;
    start(&f, "GREY", true);
    f.is_unpaced = true;
    draw(&f);
    configure(&f, &all);
    f.captured_ns += INTERVAL_NS;
    offer(&f);
    const struct findings findings = status_of(&f).found;
    assert_int_equal(findings.match_count, 2);
    assert_true(findings.match[0].score > 0 && findings.match[1].score > 0 &&
                findings.match[0].x != findings.match[1].x);
    for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++) {
        struct filter_adaptation wanted = off;
        struct ring_meta label = {.flags = 0};
        for (unsigned k = 0; k < chains[i].count; k++)
            wanted.match_image[wanted.match_count++] = image[chains[i].first + k];
        observer_label(f.observer, f.number, &wanted, &label);
        assert_int_equal(label.match_count, chains[i].count);
        for (unsigned k = 0; k < chains[i].count; k++) {
            const unsigned number = chains[i].first + k;
            if (number < 2)
                assert_memory_equal(&label.match[k], &findings.match[number], sizeof *label.match);
            else
                assert_true(isnan(label.match[k].x) && isnan(label.match[k].y) &&
                            label.match[k].score == 0);
        }
    }
    configure(&f, &off); /* then none are of its job */
    struct ring_meta label = {.flags = 0};
    observer_label(f.observer, f.number, &all, &label);
    assert_int_equal(label.match_count, 0);
    end(&f);
    for (unsigned i = 0; i < 3; i++)
        filter_image_destroy(image[i]);
}

/* A label keeps no field whose memory the next one may overwrite. */
static void a_label_has_the_field_of_its_measures_or_none(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, "GREY", true);
    observer_take_motion(f.observer, 32);
    f.is_unpaced = true;
    draw(&f);
    configure(&f, &on); /* then each frame is observed before it is labelled */
    for (unsigned i = 0; i < 4; i++) {
        struct ring_meta before = f.label;
        f.captured_ns += INTERVAL_NS;
        offer(&f);
        assert_int_equal(f.label.measures.age, 0);
        assert_non_null(f.label.motion);
        assert_int_equal(((const struct fftd_motion *)f.label.motion)->captured_ns, f.captured_ns);
        observer_label(f.observer, f.number - 1, &off, &before); /* what is measured is newer */
        assert_null(before.motion);
    }
    end(&f);
}

/* Frames carry the field that an engine has found of them, and the observer takes none; as soon as
 * an engine finds none, it does. */
static void an_engine_finds_fields_instead(void **state)
{
    (void)state;
    struct fixture f;
    struct motion_grid grid;
    struct motion_vector vector[256];
    const struct fftd_motion *motion;
    start(&f, "GREY", true);
    observer_take_motion(f.observer, 32);
    f.is_unpaced = true;
    draw(&f);
    configure(&f, &on); /* then each frame is observed before it is labelled */
    assert_int_equal(motion_grid_make(&grid, WIDTH, HEIGHT, 32, NULL), 0);
    for (unsigned i = 0; i < grid.columns * grid.rows; i++)
        vector[i] = (struct motion_vector){4, -1.5F, 1};
    for (unsigned i = 0; i < 6; i++) {
        const bool finds = i < 4; /* the last two are an engine's that finds none */
        f.captured_ns += INTERVAL_NS;
        offer(&f);
        motion = f.label.motion;
        /* Before the engine has finished the frame, it has the field of the one before. */
        if (i > 1 && finds)
            assert_int_equal(motion->captured_ns, f.captured_ns - INTERVAL_NS);
        if (i > 1 && finds)
            assert_true((f.label.flags & FFTD_FLAG_SIMILARITY) != 0 &&
                        fabs((double)f.label.similarity.x - 2) < 1e-3 &&
                        fabs((double)f.label.similarity.y + 0.75) < 1e-3);
        const struct observed_field field = {.number = f.number,
                                             .frames = 2,
                                             .captured_ns = f.captured_ns,
                                             .since_ns = 7,
                                             .grid = finds ? &grid : NULL,
                                             .vector = finds && i > 0 ? vector : NULL};
        observer_take_field(f.observer, &field);
        observer_label(f.observer, f.number, &off, &f.label);
        motion = f.label.motion;
        if (i == 0 || !finds)
            continue;
        assert_non_null(motion);
        assert_int_equal(motion->captured_ns, f.captured_ns);
        assert_int_equal(motion->since_ns, 7);
        assert_int_equal(motion->columns, grid.columns);
        assert_int_equal(motion->rows, grid.rows);
        assert_int_equal(((const int16_t *)(motion + 1))[0], 4 * FFTD_MOTION_UNIT);
        assert_int_equal(((const int16_t *)(motion + 1))[1], -3 * FFTD_MOTION_UNIT / 2);
        assert_int_equal(f.label.motion_bytes, moving_bytes(WIDTH, HEIGHT, 32));
    }
    assert_int_equal(motion->captured_ns, f.captured_ns); /* its own again */
    assert_int_equal(((const int16_t *)(motion + 1))[0], 0);
    end(&f);
}

/* A frame may be in flight while the source is started again. */
static void a_field_of_an_earlier_start_is_none(void **state)
{
    (void)state;
    struct fixture f;
    struct motion_grid grid;
    struct motion_vector vector[256];
    start(&f, "GREY", true);
    observer_take_motion(f.observer, 32);
    f.is_unpaced = true;
    draw(&f);
    configure(&f, &on); /* then each frame is observed before it is labelled */
    assert_int_equal(motion_grid_make(&grid, WIDTH, HEIGHT, 32, NULL), 0);
    for (unsigned i = 0; i < grid.columns * grid.rows; i++)
        vector[i] = (struct motion_vector){4, -1.5F, 1};
    for (unsigned i = 0; i < 6; i++) {
        const struct observed_field field = {
            .number = f.number, .frames = 1, .grid = &grid, .vector = i > 0 ? vector : NULL};
        f.start += i == 3;
        f.captured_ns += INTERVAL_NS;
        offer(&f);
        /* The field that is handed over in this turn is that of the frame before. */
        assert_int_equal((f.label.flags & FFTD_FLAG_SIMILARITY) != 0, i == 2 || i == 5);
        observer_take_field(f.observer, &field);
    }
    end(&f);
}

/* Half a degree clockwise, 1 % larger, 3 pixels right and 1.5 up within three frames. */
static void the_scene_moves_as_a_whole(void **state)
{
    static const struct similarity moved = {
        .dx = 3, .dy = -1.5, .angle_rad = 0.5 * M_PI / 180, .log_zoom = 0.01};
    const double still[2] = {0};
    struct fftd_similarity found;
    bool is_sure;
    struct moving *moving;
    struct error why;
    struct flow flow;
    (void)state;
    flow_make_similarity(&flow, 320, 240, &moved, 0, still, 3, 1);
    assert_int_equal(moving_create(&moving, 320, 240, 32, &why), 0);
    struct observed_frame frame = {.number = 1, .start = 1, .captured_ns = INTERVAL_NS};
    moving_observe(moving, &frame, flow.last, &is_sure, &found);
    assert_false(is_sure); /* there is none before it */
    frame.number = 4;
    moving_observe(moving, &frame, flow.next, &is_sure, &found);
    assert_true(is_sure);
    printf("# figures: off by %.4f, %.4f px, %.5f degrees, %.6f times\n", (double)found.x - 1,
           (double)found.y + 0.5, (double)found.angle - 0.5 / 3,
           (double)found.zoom - exp(0.01 / 3));
    assert_true(fabs((double)found.x - 1) < 0.02 && fabs((double)found.y + 0.5) < 0.02);
    assert_true(fabs((double)found.angle - 0.5 / 3) < 0.01);
    assert_true(fabs((double)found.zoom - exp(0.01 / 3)) < 1e-4);
    assert_true(found.agreement > 0.5F && found.agreement <= 1);
    moving_destroy(moving);
    flow_clear(&flow);
}

static void only_a_chain_that_adapts_observes(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, "GREY", false);
    draw(&f);
    configure(&f, &off);
    for (unsigned i = 0; i < 10; i++)
        assert_null(offer(&f));
    assert_int_equal(status_of(&f).observed, 0);
    configure(&f, &on);
    wait_for_correction(&f);
    configure(&f, &off);
    assert_null(offer(&f));
    end(&f);
}

/* Freezing keeps what was found; other things to look for, and other frames, do not. */
static void what_makes_it_forget(void **state)
{
    struct fixture f;
    struct filter_adaptation frozen = on, other = on;
    (void)state;
    start(&f, "GREY", false);
    draw(&f);
    configure(&f, &on);
    wait_for_correction(&f);
    const int64_t since_ns = status_of(&f).found.wave[0].since_ns;

    frozen.is_frozen = true;
    configure(&f, &frozen);
    set_source(&f, 1, HEIGHT);
    assert_non_null(wait_for_correction(&f));
    assert_int_equal(status_of(&f).found.wave[0].since_ns, since_ns);
    assert_true(status_of(&f).wanted.is_frozen);

    other.waves.min_amplitude = 2;
    configure(&f, &other);
    assert_null(correct(&f));
    assert_int_equal(status_of(&f).found.wave_count, 0);
    wait_for_correction(&f);
    assert_true(status_of(&f).found.wave[0].since_ns > since_ns);

    set_source(&f, 2, HEIGHT);
    assert_null(correct(&f));
    assert_int_equal(status_of(&f).observed, 0);
    wait_for_correction(&f);
    set_source(&f, 2, HEIGHT / 2);
    assert_null(offer(&f));
    end(&f);
}

/* Offers frames until one carries measures of this one or of a later one. */
static void wait_for_measures(struct fixture *f, uint64_t least)
{
    const int64_t deadline_ns = clock_now_ns() + PATIENCE_NS;
    do {
        f->captured_ns += INTERVAL_NS;
        offer(f);
        usleep(500);
        assert_true(clock_now_ns() < deadline_ns);
    } while ((f->label.flags & FFTD_FLAG_MEASURES) == 0 ||
             f->number - f->label.measures.age < least);
}

/* One thread takes measures and looks for waves; what is not looked for is not measured. */
static void measures_include_what_the_chain_looks_for(void **state)
{
    const struct fftd_measures *measures;
    struct fixture f;
    double mean = 0;
    (void)state;
    start(&f, "GREY", true);
    draw(&f);
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        mean += (double)f.plane[i] / (WIDTH * HEIGHT);
    measures = &f.label.measures;
    wait_for_measures(&f, 1);
    assert_true(fabs((double)measures->mean - mean) < 0.5);
    assert_true(measures->sharpness > 0 && measures->clipped == 0);
    assert_true(isnan(measures->flicker_hz) && isnan(measures->flicker_depth));
    assert_true(isnan(measures->peak_strength) && measures->peaks == 0);
    assert_int_equal(status_of(&f).observed, 0);

    configure(&f, &on);
    wait_for_correction(&f);
    wait_for_measures(&f, f.number);
    assert_int_equal(measures->peaks, 1);
    assert_true(fabs((double)measures->peak_strength / AMPLITUDE - 1) < 0.05);
    assert_true(isnan(measures->flicker_hz));
    assert_true(measures->shift_x == 0 && measures->shift_y == 0);

    configure(&f, &off);
    wait_for_measures(&f, f.number + 1);
    assert_true(isnan(measures->peak_strength) && measures->peaks == 0);
    end(&f);
}

/* After another start of the source, measures of frames before it belong to no frame. */
static void measures_are_of_the_same_start(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, "GREY", true);
    draw(&f);
    wait_for_measures(&f, 1);
    f.start++;
    offer(&f);
    assert_int_equal(f.label.flags, 0);
    wait_for_measures(&f, f.number);
    assert_true(isnan(f.label.measures.shift_x));
    end(&f);
}

/* Frames of 12 rows are too small for flicker. */
static void one_estimator_that_fails_leaves_the_others(void **state)
{
    const struct filter_adaptation flicker = {.removes_flicker = true};
    struct fixture f;
    (void)state;
    start(&f, "GREY", true);
    draw(&f);
    set_source(&f, 1, 12);
    configure(&f, &flicker);
    wait_for_measures(&f, 1);
    assert_true(f.label.measures.mean > 0 && isnan(f.label.measures.flicker_hz));
    assert_non_null(strstr(status_of(&f).problem.text, "12"));
    set_source(&f, 2, HEIGHT);
    wait_for_measures(&f, f.number + 1);
    assert_true(f.label.measures.flicker_hz == 0);
    assert_string_equal(status_of(&f).problem.text, "");
    end(&f);
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* The time of a processor that other threads than this one take while frames come without end. */
static void all_of_it_takes_a_third_of_a_processor(void **state)
{
    const struct filter_adaptation all = {
        .removes_waves = true, .waves = on.waves, .removes_flicker = true};
    struct fixture f;
    (void)state;
    start(&f, "GREY", true);
    draw(&f);
    configure(&f, &all);
    wait_for_measures(&f, 3);
    const int64_t begin_ns = clock_now_ns(), observed = (int64_t)status_of(&f).observed;
    int64_t others_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    while (clock_now_ns() < begin_ns + NS_PER_S || (int64_t)status_of(&f).observed < observed + 8) {
        assert_true(clock_now_ns() < begin_ns + PATIENCE_NS);
        f.captured_ns += INTERVAL_NS;
        offer(&f);
        usleep(500);
    }
    const int64_t took_ns = clock_now_ns() - begin_ns;
    others_ns += clock_ns(CLOCK_PROCESS_CPUTIME_ID) - clock_ns(CLOCK_THREAD_CPUTIME_ID);
    /* One more observation may begin than has been paid for. */
    const int64_t count = (int64_t)status_of(&f).observed - observed;
    printf("# figures: %.0f %% of a processor, %.1f ms a frame\n",
           100 * (double)others_ns / (double)took_ns, (double)others_ns / 1e6 / (double)count);
    assert_true(others_ns < took_ns / 3 + 2 * others_ns / count);
    end(&f);
}

/* Whatever both cost, each side gets half of the time, and none is saved up. */
static void turns_share_the_time_in_halves(void **state)
{
    static const struct {
        int64_t long_ns, others_ns;
    } costs[] = {{40, 7}, {40, 40}, {5, 40}, {1000, 1}, {0, 3}, {3, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof costs / sizeof costs[0]; i++) {
        const int64_t one_ns = costs[i].long_ns, others_ns = costs[i].others_ns;
        struct turn turn = {0};
        int64_t long_ns = 0, frames = 0;
        for (; frames < 100000; frames++) {
            const bool is_due = turn_is_due(&turn);
            long_ns += is_due ? one_ns : 0;
            turn_account(&turn, is_due ? one_ns : 0, others_ns);
        }
        const int64_t fair_ns = others_ns < one_ns ? others_ns * frames : one_ns * frames;
        assert_true(long_ns <= fair_ns + one_ns);
        /* A turn comes at the first frame at which all is paid. */
        assert_true(long_ns >= fair_ns / 2);
    }
}

/* Blocks and one wave that does not move, in grey. */
static void draw_large(struct observed_frame *frame)
{
    const uint32_t width = frame->frames.width, height = frame->frames.height;
    for (uint32_t i = 0; i < width * height; i++) {
        const uint32_t x = i % width, y = i / width;
        frame->bytes[i] = (uint8_t)lrint(100 + (x / 37 % 2 == y / 53 % 2 ? 30 : 0) +
                                         AMPLITUDE * cos(2 * M_PI * (FX * x + FY * y)));
    }
}

/* Beside flicker, waves are looked for in fewer frames. They are found, and stay in between. */
static void waves_take_turns_with_flicker(void **state)
{
    struct observed_frame frame = {.frames = {.fourcc = format_by_name("GREY")->fourcc,
                                              .width = 320,
                                              .height = 240,
                                              .is_full_range = true}};
    struct estimators_job job = {
        .wanted = {.removes_waves = true, .waves = on.waves, .removes_flicker = true},
        .frames = frame.frames};
    struct estimators *estimators;
    struct findings found;
    struct error why;
    (void)state;
    frame.bytes = malloc((size_t)frame.frames.width * frame.frames.height);
    draw_large(&frame);
    unsigned first[2] = {0};
    for (unsigned beside = 0; beside < 2; beside++) {
        job.wanted.removes_flicker = beside;
        assert_int_equal(estimators_create(&estimators, &why), 0);
        why.text[0] = '\0';
        estimators_adopt(estimators, &job, &why);
        assert_string_equal(why.text, "");
        for (frame.number = 1; frame.number <= FRAMES; frame.number++) {
            frame.captured_ns = frame.scene_ns = (int64_t)frame.number * INTERVAL_NS;
            estimators_observe(estimators, &frame, &found);
            assert_true(first[beside] == 0 || found.waves.count > 0);
            if (first[beside] == 0 && found.waves.count > 0)
                first[beside] = (unsigned)frame.number;
        }
        estimators_destroy(estimators);
    }
    printf("# figures: a wave is known after %u frames, beside flicker after %u\n", first[0],
           first[1]);
    assert_in_range(first[0], 1, 3);
    /* how many frames are skipped is the processor's affair; turns_share_the_time_in_halves() */
    assert_in_range(first[1], first[0], FRAMES);
    free(frame.bytes);
}

/* Two waves along the columns, which are bands of rows, under light that flickers, and noise of up
 * to so many grey levels. */
static void draw_bands(struct observed_frame *frame, double depth, double first, double second,
                       unsigned noise)
{
    uint32_t random = (uint32_t)frame->number;
    const uint32_t width = frame->frames.width, height = frame->frames.height;
    for (uint32_t y = 0; y < height; y++) {
        const double cycles = 100.1 * (double)frame->number / 30 + 1.7 * y / height;
        const double light = 1 + depth * cos(2 * M_PI * cycles);
        const double bands = first * cos(2 * M_PI * 0.06 * y) + second * cos(2 * M_PI * 0.13 * y);
        for (uint32_t x = 0; x < width; x++) {
            const double scene = 100 + (x / 37 % 2 == y / 53 % 2 ? 30 : 0);
            random = random * 1664525 + 1013904223;
            frame->bytes[y * width + x] =
                (uint8_t)(lrint(scene * light + bands) + (random >> 16) % (noise + 1));
        }
    }
}

/* Starts estimators that remove one wave, and flicker, from frames of 320x240. Gets such a frame,
 * whose bytes the caller frees. */
static struct estimators *start_for_one_wave(struct observed_frame *ret)
{
    const struct estimators_job job = {.wanted = {.removes_waves = true,
                                                  .waves = {.min_amplitude = 1, .max_waves = 1},
                                                  .removes_flicker = true},
                                       .frames = {.fourcc = format_by_name("GREY")->fourcc,
                                                  .width = 320,
                                                  .height = 240,
                                                  .is_full_range = true}};
    struct estimators *estimators;
    struct error why;
    *ret = (struct observed_frame){.frames = job.frames, .bytes = malloc((size_t)320 * 240)};
    assert_int_equal(estimators_create(&estimators, &why), 0);
    estimators_adopt(estimators, &job, &why);
    return estimators;
}

/* Only the stronger of two waves is removed. Once the other one is clearly stronger, frames from
 * before are not compared with those that follow. Waves that leave are no reason for that, because
 * the frames from before do not have them either. */
static void another_wave_is_a_cut_for_flicker(void **state)
{
    enum { EQUAL = 45, LATER = 65, END = 80 };
    const double depth = 0.06;
    struct observed_frame frame;
    struct estimators *estimators = start_for_one_wave(&frame);
    struct findings found;
    double least = INFINITY, rest = 0;
    (void)state;
    for (frame.number = 1; frame.number <= END; frame.number++) {
        const double more = 0.1 * ((double)frame.number - EQUAL);
        frame.captured_ns = frame.scene_ns = (int64_t)frame.number * INTERVAL_NS;
        draw_bands(&frame, depth, 10 - more, 10 + more, 0);
        estimators_observe(estimators, &frame, &found);
        if (frame.number == EQUAL - 5 || frame.number == LATER) {
            const double fy = frame.number == LATER ? 0.13 : 0.06;
            assert_int_equal(found.waves.count, 1);
            assert_true(fabs(fabs(found.waves.wave[0].f.fy) - fy) < 0.002);
        }
        if (frame.number > EQUAL - 5)
            least = fmin(least, found.has_flicker ? found.flicker_report.depth : 0);
        if (frame.number > LATER)
            rest = fmax(rest, found.flicker.rest);
    }
    printf("# figures: another wave: a light of %.3f has at least %.4f, and leaves %.3f of the "
           "squares\n",
           depth, least, rest);
    assert_true(least > 0.9 * depth && rest < 0.05);
    const struct wave_model none = {.count = 0};
    assert_true(wave_model_adds(&found.waves, &none, 320, 240));
    assert_false(wave_model_adds(&none, &found.waves, 320, 240));
    struct wave_model drifted = found.waves;
    drifted.wave[0].f.fy += 0.5 / 240;
    assert_false(wave_model_adds(&drifted, &found.waves, 320, 240));
    drifted.wave[0].f.fy += 1.0 / 240;
    assert_true(wave_model_adds(&drifted, &found.waves, 320, 240));
    estimators_destroy(estimators);
    free(frame.bytes);
}

/* Noise makes now one and now the other of two equal waves the stronger. Each change would be a cut
 * for flicker. */
static void equal_waves_do_not_take_turns(void **state)
{
    enum { FOUND = 20, END = 60 };
    const double depth = 0.06;
    struct observed_frame frame;
    struct estimators *estimators = start_for_one_wave(&frame);
    struct wave_model before = {.count = 0};
    struct findings found;
    unsigned swaps = 0, removed = 0, unknown = 0;
    (void)state;
    for (frame.number = 1; frame.number <= END; frame.number++) {
        frame.captured_ns = frame.scene_ns = (int64_t)frame.number * INTERVAL_NS;
        draw_bands(&frame, depth, 10, 10, 40);
        estimators_observe(estimators, &frame, &found);
        swaps += before.count > 0 && wave_model_adds(&found.waves, &before, 320, 240);
        before = found.waves;
        removed = 0;
        for (unsigned i = 0; i < found.wave_count; i++)
            removed += found.wave[i].is_removed;
        assert_int_equal(removed, found.waves.count);
        if (frame.number > FOUND)
            unknown += !found.has_flicker || found.flicker.rest > 0.1;
    }
    printf("# figures: another of two equal waves is removed %u times; light is not known in %u of "
           "%d frames\n",
           swaps, unknown, END - FOUND);
    assert_int_equal(found.wave_count, 2);
    assert_int_equal(found.waves.count, 1);
    assert_int_equal(swaps, 0);
    assert_int_equal(unknown, 0);
    estimators_destroy(estimators);
    free(frame.bytes);
}

static size_t bytes_in_use(void)
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* Beside flicker, waves are also fitted to frames. The memory for that is released once either is
 * no longer wanted. */
static void waves_beside_flicker_release_their_memory(void **state)
{
    struct observed_frame frame = {.frames = {.fourcc = format_by_name("GREY")->fourcc,
                                              .width = 320,
                                              .height = 240,
                                              .is_full_range = true}};
    struct estimators_job job = {.wanted = {.removes_waves = true, .waves = on.waves},
                                 .frames = frame.frames};
    struct estimators *estimators;
    struct findings found;
    struct error why;
    (void)state;
    const size_t nothing = bytes_in_use();
    frame.bytes = malloc((size_t)frame.frames.width * frame.frames.height);
    assert_int_equal(estimators_create(&estimators, &why), 0);
    estimators_adopt(estimators, &job, &why);
    const size_t alone = bytes_in_use();
    /* sanitizers have their own memory, which is not counted */
    const bool is_counted = alone > nothing;
    job.wanted.removes_flicker = true;
    estimators_adopt(estimators, &job, &why);
    const size_t before = bytes_in_use();
    found.waves.count = 0;
    for (frame.number = 1; frame.number <= FRAMES && found.waves.count == 0; frame.number++) {
        frame.captured_ns = frame.scene_ns = (int64_t)frame.number * INTERVAL_NS;
        draw_bands(&frame, 0.06, 10, 0, 0);
        estimators_observe(estimators, &frame, &found);
    }
    assert_int_equal(found.waves.count, 1);
    const size_t fitted = bytes_in_use();
    job.wanted.removes_flicker = false;
    estimators_adopt(estimators, &job, &why);
    const size_t after = bytes_in_use();
    printf("# figures: the fit has %zu bytes, of which %zd stay\n", fitted - before,
           (ssize_t)(after - alone));
    if (is_counted)
        assert_true(fitted > before + 1000 && after < alone + (fitted - before) / 2);
    estimators_destroy(estimators);
    free(frame.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waves_are_in_units_of_samples),
        cmocka_unit_test(every_frame_of_an_unpaced_source_is_observed),
        cmocka_unit_test(a_frame_has_the_matches_of_its_own_chain),
        cmocka_unit_test(a_label_has_the_field_of_its_measures_or_none),
        cmocka_unit_test(an_engine_finds_fields_instead),
        cmocka_unit_test(the_scene_moves_as_a_whole),
        cmocka_unit_test(only_a_chain_that_adapts_observes),
        cmocka_unit_test(what_makes_it_forget),
        cmocka_unit_test(measures_include_what_the_chain_looks_for),
        cmocka_unit_test(measures_are_of_the_same_start),
        cmocka_unit_test(a_field_of_an_earlier_start_is_none),
        cmocka_unit_test(one_estimator_that_fails_leaves_the_others),
        cmocka_unit_test(turns_share_the_time_in_halves),
        cmocka_unit_test(waves_take_turns_with_flicker),
        cmocka_unit_test(another_wave_is_a_cut_for_flicker),
        cmocka_unit_test(equal_waves_do_not_take_turns),
        cmocka_unit_test(waves_beside_flicker_release_their_memory),
        cmocka_unit_test(all_of_it_takes_a_third_of_a_processor)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
