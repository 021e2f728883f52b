/* The noise that wiener gets where none is given, on random blurred pictures: Gaussians of 0.5 to 4
 * pixels, disks of 1 to 6, motions of 3 to 24, whose sizes are known to 5 %; noise of 0.5 to 20, 8
 * bits. By default a few pictures; FFTD_TEST_CLIPS=all draws more, and prints the mean PSNR with
 * the estimate, with the fixed default, with the best fixed number for each blur, and with the best
 * number for each picture. FFTD_TEST_SEED draws others. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/cmocka.h"
#include "support/leaves.h"
#include "support/scene.h"
#include "support/trials.h"

#include "core/clock.h"
#include "core/fft.h"
#include "observer/blur_noise.h"

#define SIDE      512u
#define WIDTH     320u
#define HEIGHT    240u
#define EDGE      16u /* pixels at each edge of a picture that are not compared */
#define FALLOFF   2
#define NUMBERS   14u
#define MOST      240u
#define SHAPES    3u
#define STRENGTHS 4u

static const double numbers[NUMBERS] = {0.0003, 0.001, 0.002, 0.004, 0.007, 0.014, 0.03,
                                        0.06,   0.1,   0.2,   0.5,   1,     3,     10};
static const char *const shapes[SHAPES] = {"Gaussian", "disk", "motion"};
static const double sizes[SHAPES][2] = {{0.5, 4}, {1, 6}, {3, 24}};
static const double strengths[STRENGTHS + 1] = {0.5, 1.5, 4, 10, 20};

enum { UNTOUCHED, DEFAULT, ESTIMATED, ORACLE, RESULTS };

struct clip {
    struct blur blur; /* as it is */
    double told_px;
    double sigma;
    float *sharp, *blurred;
};

struct bench {
    struct fft *fft;
    float complex *square, *spectrum;
    double *response; /* of the blur, as told */
};

static double between(uint64_t *seed, double from, double to)
{
    return from + (to - from) * scene_uniform(seed);
}

static double frequency(unsigned k)
{
    return (k < SIDE / 2 ? (double)k : (double)k - SIDE) / SIDE;
}

static void find_response(struct bench *bench, const struct blur *blur)
{
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++)
            bench->response[y * SIDE + x] = blur_response(blur, frequency(x), frequency(y));
}

static float eight_bits(double value)
{
    return (float)round(fmin(fmax(value, 0), 255));
}

/* The scene is larger than the picture, so that light from beyond its edges is in it. */
static void make_clip(struct bench *bench, struct clip *clip, unsigned shape, uint64_t *seed)
{
    const struct leaves_view view = {.blur_px = 0};
    const double contrast = between(seed, 0.3, 1), level = between(seed, 60, 160);
    struct leaves leaves;
    leaves_make(&leaves, SIDE, scene_uniform(seed), seed);
    float *scene = malloc(SIDE * SIDE * sizeof *scene);
    for (unsigned i = 0; i < SIDE * SIDE; i++)
        scene[i] = 128;
    leaves_draw(&leaves, &view, SIDE, SIDE, scene);
    leaves_clear(&leaves);
    clip->blur = (struct blur){.shape = (enum blur_shape)shape,
                               .size_px = between(seed, sizes[shape][0], sizes[shape][1]),
                               .angle_deg = between(seed, -180, 180)};
    clip->told_px = clip->blur.size_px * between(seed, 0.95, 1.05);
    clip->sigma = 0.5 * pow(40, scene_uniform(seed));
    find_response(bench, &clip->blur);
    for (unsigned i = 0; i < SIDE * SIDE; i++)
        bench->square[i] = scene[i] = (float)(level + contrast * ((double)scene[i] - 128));
    fft_square(bench->fft, bench->square, false);
    for (unsigned i = 0; i < SIDE * SIDE; i++)
        bench->square[i] *= (float)(bench->response[i] / (SIDE * SIDE));
    fft_square(bench->fft, bench->square, true);
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++) {
            const unsigned from = (y + 100) * SIDE + x + 100;
            clip->sharp[y * WIDTH + x] = scene[from];
            clip->blurred[y * WIDTH + x] =
                eight_bits((double)crealf(bench->square[from]) + clip->sigma * scene_normal(seed));
        }
    free(scene);
}

/* What is beyond the picture is its mirror image, as the engine has it. */
static unsigned mirrored(unsigned at, unsigned length)
{
    if (at < length)
        return at;
    return at < (length + SIDE) / 2 ? 2 * length - 1 - at : SIDE - 1 - at;
}

static void load(struct bench *bench, const float *picture)
{
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++)
            bench->spectrum[y * SIDE + x] =
                picture[mirrored(y, HEIGHT) * WIDTH + mirrored(x, WIDTH)];
    fft_square(bench->fft, bench->spectrum, false);
}

static double psnr_db(const float complex *picture, unsigned stride, const float *sharp)
{
    double sum = 0;
    for (unsigned y = EDGE; y < HEIGHT - EDGE; y++)
        for (unsigned x = EDGE; x < WIDTH - EDGE; x++) {
            const double difference = (double)(eight_bits((double)crealf(picture[y * stride + x])) -
                                               sharp[y * WIDTH + x]);
            sum += difference * difference;
        }
    return 10 * log10(255. * 255 * (WIDTH - 2 * EDGE) * (HEIGHT - 2 * EDGE) / sum);
}

/* As wiener does it. */
static double restored_db(struct bench *bench, const struct clip *clip, double noise)
{
    for (unsigned y = 0; y < SIDE; y++)
        for (unsigned x = 0; x < SIDE; x++) {
            const double b = bench->response[y * SIDE + x];
            const double f = hypot(frequency(x), frequency(y));
            const double h = f > 0 ? b / (b * b + noise * pow(f / BLUR_NOISE_AT, FALLOFF)) : 1;
            bench->square[y * SIDE + x] =
                bench->spectrum[y * SIDE + x] * (float)(h / (SIDE * SIDE));
        }
    fft_square(bench->fft, bench->square, true);
    return psnr_db(bench->square, SIDE, clip->sharp);
}

static double blurred_db(const struct bench *bench, const struct clip *clip)
{
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        bench->square[i] = clip->blurred[i];
    return psnr_db(bench->square, WIDTH, clip->sharp);
}

static double estimate(const struct clip *clip, const struct blur *blur)
{
    const struct blur_noise_options options = {.blur = *blur, .falloff = FALLOFF};
    struct blur_noise *noise;
    assert_int_equal(blur_noise_create(&noise, WIDTH, HEIGHT, &options, NULL), 0);
    const double found = blur_noise_observe(noise, clip->blurred);
    blur_noise_destroy(noise);
    return found;
}

static void begin(struct bench *bench, struct clip *clip)
{
    const size_t count = (size_t)SIDE * SIDE;
    assert_int_equal(fft_create(&bench->fft, SIDE, NULL), 0);
    bench->square = malloc(count * sizeof *bench->square);
    bench->spectrum = malloc(count * sizeof *bench->spectrum);
    bench->response = malloc(count * sizeof *bench->response);
    clip->sharp = malloc(WIDTH * HEIGHT * sizeof *clip->sharp);
    clip->blurred = malloc(WIDTH * HEIGHT * sizeof *clip->blurred);
}

static void end(struct bench *bench, struct clip *clip)
{
    fft_destroy(bench->fft);
    free(bench->square);
    free(bench->spectrum);
    free(bench->response);
    free(clip->sharp);
    free(clip->blurred);
}

struct tally {
    unsigned count;
    double sum[RESULTS], of_number[NUMBERS];
};

static void add(struct tally *tally, const double result[RESULTS], const double *of_number)
{
    tally->count++;
    for (unsigned i = 0; i < RESULTS; i++)
        tally->sum[i] += result[i];
    for (unsigned i = 0; i < NUMBERS; i++)
        tally->of_number[i] += of_number[i];
}

static void print_tally(const char *name, const struct tally *tally)
{
    double best = 0;
    for (unsigned i = 0; i < NUMBERS; i++)
        best = fmax(best, tally->of_number[i]);
    printf("# figures: %-9s %3u pictures, PSNR untouched %.2f dB, default %.2f, best fixed %.2f, "
           "estimated %.2f, best for each %.2f\n",
           name, tally->count, tally->sum[UNTOUCHED] / tally->count,
           tally->sum[DEFAULT] / tally->count, best / tally->count,
           tally->sum[ESTIMATED] / tally->count, tally->sum[ORACLE] / tally->count);
}

static void an_estimate_is_better_than_a_fixed_number(void **state)
{
    const char *chosen = getenv("FFTD_TEST_SEED");
    const uint64_t first = chosen != NULL ? strtoull(chosen, NULL, 10) : 1000000;
    const unsigned count = trials_count(MOST, 9);
    struct tally all = {0}, of_shape[SHAPES] = {{0}}, of_strength[STRENGTHS] = {{0}};
    unsigned worse[RESULTS] = {0};
    struct bench bench;
    struct clip clip;
    (void)state;
    begin(&bench, &clip);
    for (unsigned i = 0; i < count; i++) {
        uint64_t seed = first + i;
        const unsigned shape = i % SHAPES;
        double result[RESULTS], of_number[NUMBERS];
        make_clip(&bench, &clip, shape, &seed);
        struct blur told = clip.blur;
        told.size_px = clip.told_px;
        const double noise = estimate(&clip, &told);
        assert_true(noise >= 0.002 && noise <= 10);
        find_response(&bench, &told);
        load(&bench, clip.blurred);
        result[UNTOUCHED] = blurred_db(&bench, &clip);
        result[DEFAULT] = restored_db(&bench, &clip, BLUR_NOISE_DEFAULT);
        result[ESTIMATED] = restored_db(&bench, &clip, noise);
        result[ORACLE] = result[ESTIMATED];
        for (unsigned k = 0; k < NUMBERS; k++) {
            of_number[k] = trials_are_all() ? restored_db(&bench, &clip, numbers[k]) : 0;
            result[ORACLE] = fmax(result[ORACLE], of_number[k]);
        }
        unsigned strength = 0;
        while (strength < STRENGTHS - 1 && clip.sigma >= strengths[strength + 1])
            strength++;
        add(&all, result, of_number);
        add(&of_shape[shape], result, of_number);
        add(&of_strength[strength], result, of_number);
        for (unsigned k = 0; k < RESULTS; k++)
            worse[k] += result[k] < result[UNTOUCHED] - 0.1;
        if (getenv("FFTD_TEST_VERBOSE") != NULL)
            printf("# %u: %s of %.2f px, noise %.2f: %.4f, PSNR %.2f, %.2f, %.2f, %.2f dB\n", i,
                   shapes[shape], clip.blur.size_px, clip.sigma, noise, result[UNTOUCHED],
                   result[DEFAULT], result[ESTIMATED], result[ORACLE]);
    }
    end(&bench, &clip);
    if (trials_are_all()) {
        for (unsigned i = 0; i < SHAPES; i++)
            print_tally(shapes[i], &of_shape[i]);
        for (unsigned i = 0; i < STRENGTHS; i++) {
            char name[32];
            snprintf(name, sizeof name, "%g..%g", strengths[i], strengths[i + 1]);
            print_tally(name, &of_strength[i]);
        }
        print_tally("all", &all);
    }
    printf("# figures: worse than untouched: default %u, estimated %u\n", worse[DEFAULT],
           worse[ESTIMATED]);
    if (count > 1)
        assert_true(all.sum[ESTIMATED] > all.sum[DEFAULT] + 0.5 * all.count);
    assert_true(worse[ESTIMATED] <= worse[DEFAULT] / 2);
}

/* A point spread that was measured gives what its formula gives. */
static void an_image_of_the_blur_gives_the_same(void **state)
{
    const unsigned side = 31;
    struct bench bench;
    struct clip clip;
    char text[31 * 31 * 14];
    size_t used = 0;
    uint64_t seed = 5;
    struct filter_image *image;
    (void)state;
    begin(&bench, &clip);
    make_clip(&bench, &clip, BLUR_GAUSSIAN, &seed);
    clip.blur.size_px = 2.5;
    for (unsigned y = 0; y < side; y++)
        for (unsigned x = 0; x < side; x++) {
            const double dx = (double)x - 15, dy = (double)y - 15;
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%.6f%c",
                                 100 * exp(-(dx * dx + dy * dy) / 12.5), x + 1 < side ? ' ' : '\n');
        }
    assert_int_equal(filter_image_parse(&image, "spread", text, used, NULL), 0);
    const struct blur of_image = {.shape = BLUR_IMAGE, .size_px = NAN, .image = image};
    const double expected = estimate(&clip, &clip.blur), found = estimate(&clip, &of_image);
    if (fabs(found / expected - 1) > 0.01)
        fail_msg("%g with an image, %g without", found, expected);
    filter_image_destroy(image);
    end(&bench, &clip);
}

static void pictures_that_show_nothing_tell_nothing(void **state)
{
    static const struct blur_noise_options options = {.blur = {.size_px = 2}, .falloff = 2};
    static const struct blur_noise_options wide = {.blur = {.size_px = 50}, .falloff = 2};
    static float picture[WIDTH * HEIGHT];
    struct blur_noise *noise;
    uint64_t seed = 1;
    (void)state;
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        picture[i] = (float)(128 + scene_normal(&seed));
    assert_int_equal(blur_noise_create(&noise, 63, 200, &options, NULL), 0);
    assert_true(blur_noise_observe(noise, picture) == 0); /* too small */
    blur_noise_destroy(noise);
    assert_int_equal(blur_noise_create(&noise, WIDTH, HEIGHT, &wide, NULL), 0);
    assert_true(blur_noise_observe(noise, picture) == 0); /* the blur leaves nothing */
    blur_noise_destroy(noise);
    assert_int_equal(blur_noise_create(&noise, WIDTH, HEIGHT, &options, NULL), 0);
    assert_true(blur_noise_observe(noise, picture) > 1); /* nothing but noise */
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        picture[i] = 255;
    const double before = blur_noise_observe(noise, picture);
    assert_true(before == blur_noise_observe(noise, picture)); /* burnt out: as before */
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        picture[i] = 100;
    assert_true(isfinite(blur_noise_observe(noise, picture))); /* plain */
    blur_noise_destroy(noise);
}

/* Strong waves, which auto-notch removes from the samples, stay in what is observed. */
static void waves_are_not_taken_for_noise(void **state)
{
    struct bench bench;
    struct clip clip;
    uint64_t seed = 9;
    (void)state;
    begin(&bench, &clip);
    make_clip(&bench, &clip, BLUR_DISK, &seed);
    const double before = estimate(&clip, &clip.blur);
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++)
            clip.blurred[y * WIDTH + x] += (float)(20 * cos(2 * M_PI * (0.21 * x + 0.13 * y)) +
                                                   10 * cos(2 * M_PI * (0.3 * x - 0.37 * y)));
    const double after = estimate(&clip, &clip.blur);
    if (!(after < 2 * before))
        fail_msg("%g with waves, %g without", after, before);
    end(&bench, &clip);
}

/* Processor time of one thread, printed, for 1280x720. */
static void its_cost(void **state)
{
    static const struct blur_noise_options options = {.blur = {.shape = BLUR_MOTION, .size_px = 9},
                                                      .falloff = 2};
    float *picture = malloc((size_t)1280 * 720 * sizeof *picture);
    int64_t best_ns = INT64_MAX;
    struct blur_noise *noise;
    uint64_t seed = 3;
    (void)state;
    for (unsigned i = 0; i < 1280 * 720; i++)
        picture[i] = (float)(100 + 20 * sin(i % 1280 / 30.) + 3 * scene_normal(&seed));
    const int64_t begun_ns = clock_processor_ns();
    assert_int_equal(blur_noise_create(&noise, 1280, 720, &options, NULL), 0);
    const int64_t created_ns = clock_processor_ns() - begun_ns;
    for (unsigned i = 0; i < trials_count(10, 2); i++) {
        const int64_t from_ns = clock_processor_ns();
        assert_true(blur_noise_observe(noise, picture) > 0);
        const int64_t took_ns = clock_processor_ns() - from_ns;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
    }
    printf("# figures: %.1f ms of processor time to begin, %.1f ms for a frame of 1280x720\n",
           (double)created_ns / 1e6, (double)best_ns / 1e6);
    blur_noise_destroy(noise);
    free(picture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_estimate_is_better_than_a_fixed_number),
                                       cmocka_unit_test(an_image_of_the_blur_gives_the_same),
                                       cmocka_unit_test(pictures_that_show_nothing_tell_nothing),
                                       cmocka_unit_test(waves_are_not_taken_for_noise),
                                       cmocka_unit_test(its_cost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
