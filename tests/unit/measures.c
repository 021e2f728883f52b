/* estimators/measures.h: sharpness, noise, mean and clipped share of pictures that are drawn here.
 *
 * Pictures are dead leaves: discs that hide each other, whose radii follow a power law. Their power
 * falls with the square of the frequency, as that of photographs does. FFTD_TEST_CLIPS=all draws
 * more of them, larger, and measures the time. */
#include "support/cmocka.h"
#include "support/trials.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "estimators/measures.h"

#define MAX_WIDTH  1280
#define MAX_HEIGHT 720
#define MAX_SCENES 24

struct canvas {
    unsigned width, height;
    float sample[MAX_WIDTH * MAX_HEIGHT];
};

/* ---- random numbers ---- */

static uint64_t random_state;

/* 0 .. 1: the upper bits of a linear congruential generator. */
static double uniform(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(random_state >> 11) / 9007199254740992.0;
}

static double gaussian(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(2 * M_PI * uniform());
}

/* ---- pictures ---- */

static void draw_disc(struct canvas *canvas)
{
    const double radius = 3 / sqrt(1 - 0.9985 * uniform());
    const double cx = uniform() * canvas->width;
    const double cy = uniform() * canvas->height;
    const double level = 30 + 190 * uniform();
    const double slope = 0.3 * (uniform() - 0.5);
    const double texture = uniform() < 0.3 ? 12 * uniform() : 0;
    const double frequency = 0.05 + 0.3 * uniform();
    for (int y = (int)fmax(cy - radius, 0); y < fmin(cy + radius, canvas->height); y++)
        for (int x = (int)fmax(cx - radius, 0); x < fmin(cx + radius, canvas->width); x++)
            if (hypot(x - cx, y - cy) < radius)
                canvas->sample[y * (int)canvas->width + x] =
                    (float)(level + slope * (x - cx) + texture * sin(2 * M_PI * frequency * x));
}

static void draw_scene(struct canvas *canvas, unsigned width, unsigned height, unsigned seed)
{
    canvas->width = width;
    canvas->height = height;
    random_state = seed * 7919u + 1;
    for (unsigned i = 0; i < width * height; i++)
        canvas->sample[i] = 128;
    const unsigned discs = (unsigned)((0.3 + 0.7 * uniform()) * width * height / 60);
    for (unsigned i = 0; i < discs; i++)
        draw_disc(canvas);
}

/* A Gaussian blur of all rows, or of all columns; the edges are repeated. */
static void blur_axis(struct canvas *canvas, double sigma_px, bool along_y)
{
    float line[MAX_WIDTH] = {0};
    float weight[64] = {0};
    const int radius = (int)ceil(3 * sigma_px);
    const unsigned lines = along_y ? canvas->width : canvas->height;
    const int length = (int)(along_y ? canvas->height : canvas->width);
    const size_t step = along_y ? canvas->width : 1;
    double sum = 0;
    for (int i = -radius; i <= radius; i++)
        sum += exp(-i * i / (2 * sigma_px * sigma_px));
    for (int i = 0; i <= radius; i++)
        weight[i] = (float)(exp(-i * i / (2 * sigma_px * sigma_px)) / sum);
    for (unsigned k = 0; k < lines; k++) {
        float *from = canvas->sample + k * (size_t)(along_y ? 1 : canvas->width);
        for (int i = 0; i < length; i++)
            line[i] = from[(size_t)i * step];
        for (int i = 0; i < length; i++) {
            float value = line[i] * weight[0];
            for (int j = 1; j <= radius; j++)
                value += weight[j] *
                         (line[i < j ? 0 : i - j] + line[i + j < length ? i + j : length - 1]);
            from[(size_t)i * step] = value;
        }
    }
}

static void blur(struct canvas *canvas, double sigma_px)
{
    if (sigma_px <= 0)
        return;
    blur_axis(canvas, sigma_px, false);
    blur_axis(canvas, sigma_px, true);
}

/* What a camera makes of it: gain and offset, noise, and bytes. */
static void expose(const struct canvas *from, double gain, double offset, double sigma, uint8_t *to)
{
    for (unsigned i = 0; i < from->width * from->height; i++) {
        const double value = gain * (double)from->sample[i] + offset + sigma * gaussian();
        to[i] = (uint8_t)lround(fmin(fmax(value, 0), 255));
    }
}

static void measure(unsigned width, unsigned height, const uint8_t *bytes, struct measures *ret)
{
    static float samples[MAX_WIDTH * MAX_HEIGHT];
    const struct measures_picture picture = {
        .samples = samples, .width = width, .height = height, .white = 255};
    struct measurer *measurer;
    for (size_t i = 0; i < (size_t)width * height; i++)
        samples[i] = bytes[i];
    assert_int_equal(measurer_create(&measurer, width, height, NULL), 0);
    measurer_measure(measurer, &picture, ret);
    measurer_destroy(measurer);
}

/* What is often used instead. */
static double laplacian_variance(unsigned width, unsigned height, const uint8_t *p)
{
    double sum = 0, sum2 = 0;
    for (unsigned y = 1; y + 1 < height; y++)
        for (unsigned x = 1; x + 1 < width; x++) {
            const unsigned i = y * width + x;
            const double value = 4 * p[i] - p[i - 1] - p[i + 1] - p[i - width] - p[i + width];
            sum += value;
            sum2 += value * value;
        }
    const double count = (width - 2.0) * (height - 2.0);
    return sum2 / count - sum / count * (sum / count);
}

/* ---- tests ---- */

static struct canvas scene, canvas;
static uint8_t bytes[MAX_WIDTH * MAX_HEIGHT];

static void sharpness_falls_with_blur(void **state)
{
    (void)state;
    const bool large = trials_are_all();
    const unsigned scenes = large ? 10 : 2;
    const unsigned width = large ? 640 : 320;
    const unsigned height = large ? 360 : 192;
    const double step_px = large ? 0.25 : 0.75;
    unsigned steps = 0, falling = 0, falling_laplacian = 0;
    for (unsigned s = 0; s < scenes; s++) {
        float last = INFINITY;
        double last_laplacian = INFINITY;
        draw_scene(&scene, width, height, s);
        for (unsigned i = 0; i * step_px <= 6; i++) {
            const double sigma_px = i * step_px;
            struct measures measures;
            canvas = scene;
            blur(&canvas, sqrt(0.25 + sigma_px * sigma_px)); /* a lens blurs, too */
            expose(&canvas, 1, 0, 3, bytes);
            measure(width, height, bytes, &measures);
            const double laplacian = laplacian_variance(width, height, bytes);
            steps += isfinite(last);
            falling += isfinite(last) && measures.sharpness < last;
            falling_laplacian += isfinite(last) && laplacian < last_laplacian;
            last = measures.sharpness;
            last_laplacian = laplacian;
        }
    }
    printf("# figures: sharpness falls on %.1f %% of %u steps of blur; variance of the Laplacian "
           "on %.1f %%\n",
           100.0 * falling / steps, steps, 100.0 * falling_laplacian / steps);
    assert_true(falling >= 0.98 * steps);
}

/* The flattest places of such a picture are in its shadows, which have the least noise. */
static void sharpness_falls_with_blur_in_shot_noise(void **state)
{
    (void)state;
    static const double sigmas_px[] = {0.5, 1, 2, 4, 8};
    const unsigned width = 320, height = 192, scenes = trials_are_all() ? 10 : 2;
    unsigned steps = 0, falling = 0;
    for (unsigned s = 0; s < scenes; s++) {
        float last = INFINITY;
        draw_scene(&scene, width, height, s);
        for (unsigned i = 0; i < width * height; i++)
            scene.sample[i] = i % width < width / 3 ? 20 : scene.sample[i];
        for (size_t blurs = 0; blurs < sizeof sigmas_px / sizeof sigmas_px[0]; blurs++) {
            struct measures measures;
            canvas = scene;
            blur(&canvas, sigmas_px[blurs]);
            for (unsigned i = 0; i < width * height; i++)
                canvas.sample[i] += (float)(sqrt(1 + 0.1 * (double)canvas.sample[i]) * gaussian());
            expose(&canvas, 1, 0, 0, bytes);
            measure(width, height, bytes, &measures);
            steps += isfinite(last);
            falling += isfinite(last) && measures.sharpness < last;
            last = measures.sharpness;
        }
    }
    printf("# figures: with shot noise sharpness falls on %u of %u steps of blur\n", falling,
           steps);
    assert_int_equal(falling, steps);
}

static void noise_is_within_a_tenth(void **state)
{
    (void)state;
    static const double sigmas[] = {2, 3, 5, 10, 20, 30};
    const bool large = trials_are_all();
    const unsigned scenes = large ? 10 : 2;
    const unsigned width = large ? 1280 : 320;
    const unsigned height = large ? 720 : 192;
    for (size_t i = 0; i < sizeof sigmas / sizeof sigmas[0]; i++) {
        double worst = 0;
        for (unsigned s = 0; s < scenes; s++) {
            struct measures measures;
            draw_scene(&canvas, width, height, 100 + s);
            blur(&canvas, 0.7);
            expose(&canvas, 0.7, 40, sigmas[i], bytes);
            measure(width, height, bytes, &measures);
            const double error = (double)measures.noise / sigmas[i] - 1;
            worst = fabs(error) > fabs(worst) ? error : worst;
        }
        printf("# figures: noise of sigma %.0f: worst error %+.1f %%\n", sigmas[i], 100 * worst);
        assert_true(fabs(worst) <= 0.1);
    }
}

/* The probability that a bad frame has the greater value than a fine one. */
static double auc(const double *fine, const double *bad, unsigned count)
{
    double wins = 0;
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < count; j++)
            wins += bad[j] > fine[i] ? 1 : bad[j] == fine[i] ? 0.5 : 0;
    return wins / count / count;
}

static void bad_frames_are_told_from_fine_ones(void **state)
{
    (void)state;
    enum { FINE, COVERED, OVEREXPOSED, DEFOCUSED, KINDS };
    static struct measures measures[KINDS][MAX_SCENES];
    double fine[3][MAX_SCENES], bad[3][MAX_SCENES];
    const unsigned scenes = trials_are_all() ? MAX_SCENES : 6;
    for (unsigned s = 0; s < scenes; s++) {
        draw_scene(&scene, 320, 192, 200 + s);
        for (unsigned kind = 0; kind < KINDS; kind++) {
            const double gain = 0.5 + 0.4 * uniform();
            const double defocus_px = kind == DEFOCUSED ? 2.5 + 3 * uniform() : 0;
            canvas = scene;
            blur(&canvas, hypot(0.5 + 0.3 * uniform(), defocus_px));
            expose(&canvas,
                   kind == COVERED       ? 0.02
                   : kind == OVEREXPOSED ? 2 * gain + 1
                                         : gain,
                   kind == COVERED ? 5 * uniform() : 20, 1 + 5 * uniform(), bytes);
            measure(320, 192, bytes, &measures[kind][s]);
        }
        for (unsigned kind = COVERED; kind < KINDS; kind++)
            for (unsigned which = FINE; which <= kind; which += kind) {
                const struct measures *each = &measures[which][s];
                const double value = kind == COVERED       ? -(double)each->mean
                                     : kind == OVEREXPOSED ? (double)each->clipped
                                                           : -(double)each->sharpness;
                (which == FINE ? fine : bad)[kind - 1][s] = value;
            }
    }
    for (unsigned kind = COVERED; kind < KINDS; kind++) {
        static const char *const names[] = {NULL, "covered", "overexposed", "defocused"};
        const double area = auc(fine[kind - 1], bad[kind - 1], scenes);
        printf("# figures: %s frames: AUC %.3f\n", names[kind], area);
        assert_true(area >= 0.99);
    }
}

static void values_are_exact_where_they_can_be(void **state)
{
    (void)state;
    struct measures measures;
    memset(bytes, 90, sizeof bytes);
    measure(320, 192, bytes, &measures);
    assert_true(measures.sharpness == 0 && measures.noise == 0);
    assert_true(measures.mean == 90 && measures.clipped == 0);

    memset(bytes, 0, sizeof bytes);
    measure(320, 192, bytes, &measures);
    assert_true(measures.sharpness == 0 && isnan(measures.noise));
    assert_true(measures.mean == 0 && measures.clipped == 1);

    /* A wave of 8 pixels' length. */
    for (unsigned i = 0; i < 320 * 192; i++)
        bytes[i] = (uint8_t)lround(128 + 100 * sin(2 * M_PI * (i % 320) / 8));
    measure(320, 192, bytes, &measures);
    assert_true(fabsf(measures.sharpness - 0.125F) < 0.01F);

    /* Half of the rows are at white. */
    for (unsigned y = 0; y < 192; y++)
        memset(bytes + (size_t)y * 320, y < 96 ? 255 : 100, 320);
    measure(320, 192, bytes, &measures);
    assert_true(fabsf(measures.clipped - 0.5F) < 0.02F);
    assert_true(fabsf(measures.mean - 177.5F) < 4);
}

static void any_size_is_measured(void **state)
{
    (void)state;
    static const unsigned sizes[][2] = {{1, 1},   {15, 300}, {16, 16},
                                        {31, 64}, {33, 32},  {1279, 17}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct measures measures;
        const unsigned width = sizes[i][0];
        const unsigned height = sizes[i][1];
        const bool has_patches = width >= 16 && height >= 16;
        /* Of its own size, so that a read beyond it is found. */
        uint8_t *exact = malloc((size_t)width * height);
        for (unsigned k = 0; k < width * height; k++)
            exact[k] = (uint8_t)(100 + 50 * uniform());
        measure(width, height, exact, &measures);
        free(exact);
        assert_true(measures.mean >= 100 && measures.mean <= 150 && measures.clipped == 0);
        assert_int_equal(isnan(measures.sharpness), !has_patches);
        assert_int_equal(isnan(measures.noise), !has_patches);
    }
    measurer_destroy(NULL);
}

/* Only a figure: the load of the machine decides. */
static void time_is_counted(void **state)
{
    (void)state;
    const unsigned rounds = trials_count(200, 2);
    struct measurer *measurer;
    struct measures measures;
    const struct measures_picture picture = {
        .samples = canvas.sample, .width = 1280, .height = 720, .white = 255};
    draw_scene(&canvas, 1280, 720, 1);
    assert_int_equal(measurer_create(&measurer, 1280, 720, NULL), 0);
    const clock_t begin = clock();
    for (unsigned i = 0; i < rounds; i++)
        measurer_measure(measurer, &picture, &measures);
    printf("# figures: %.0f us of processor time for 1280x720\n",
           (double)(clock() - begin) / CLOCKS_PER_SEC * 1e6 / rounds);
    measurer_destroy(measurer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sharpness_falls_with_blur),
        cmocka_unit_test(sharpness_falls_with_blur_in_shot_noise),
        cmocka_unit_test(noise_is_within_a_tenth),
        cmocka_unit_test(bad_frames_are_told_from_fine_ones),
        cmocka_unit_test(values_are_exact_where_they_can_be),
        cmocka_unit_test(any_size_is_measured),
        cmocka_unit_test(time_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
