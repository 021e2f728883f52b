/* Sharpness and state of random focus series: scenes that are blurred by 0 to 12 pixels, some of
 * them dim, noisy or of low contrast; and of what an alarm is for: covered lenses, darkness, frames
 * that are burnt out. FFTD_TEST_CLIPS=all draws more and larger series, and FFTD_TEST_SEED others.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/cmocka.h"
#include "support/leaves.h"
#include "support/scene.h"
#include "support/trials.h"

#include "estimators/measures.h"

#define MOST_SERIES 80u
#define STEPS       9u

static const double BLUR_PX[STEPS] = {0, 0.7, 1.5, 2.5, 3.5, 5, 7, 9, 12};

enum bad { COVERED, DARK, BURNT_OUT, BADS };

static double between(uint64_t *seed, double from, double to)
{
    return from + (to - from) * scene_uniform(seed);
}

static void measure(unsigned width, unsigned height, float *samples, double sigma, uint64_t *seed,
                    struct measures *ret)
{
    const struct measures_picture picture = {
        .samples = samples, .width = width, .height = height, .white = 255};
    struct measurer *measurer;
    for (size_t i = 0; i < (size_t)width * height; i++) {
        const double value = (double)samples[i] + sigma * scene_normal(seed);
        samples[i] = (float)round(fmin(fmax(value, 0), 255));
    }
    assert_int_equal(measurer_create(&measurer, width, height, NULL), 0);
    measurer_measure(measurer, &picture, ret);
    measurer_destroy(measurer);
}

struct tally {
    unsigned steps, falling, fine_pictures, fine, defocused_pictures, defocused, bads, bad;
    double sharp[MOST_SERIES], least[MOST_SERIES], worst[BADS][MOST_SERIES];
};

static void run_series(uint64_t seed, unsigned number, struct tally *tally)
{
    static const unsigned sizes[][2] = {{320, 240}, {640, 480}, {640, 360}, {501, 377}};
    const unsigned *size = sizes[trials_are_all() ? (unsigned)(4 * scene_uniform(&seed)) : 0];
    const unsigned width = size[0], height = size[1];
    const size_t count = (size_t)width * height;
    float *samples = malloc(count * sizeof *samples);
    struct leaves leaves;
    struct measures measures;
    leaves_make(&leaves, hypot(width, height) + 20, scene_uniform(&seed), &seed);
    const double kind = scene_uniform(&seed);
    const double gain = kind < 0.2 ? between(&seed, 0.1, 0.25) : between(&seed, 0.5, 1);
    const double contrast = kind > 0.8 ? between(&seed, 0.15, 0.4) : 1;
    const double sigma = kind < 0.2 ? between(&seed, 1, 2) : between(&seed, 1, 5);
    float last = INFINITY;
    for (unsigned k = 0; k < STEPS; k++) {
        const struct leaves_view view = {.blur_px = hypot(0.4, BLUR_PX[k])};
        for (size_t i = 0; i < count; i++)
            samples[i] = 128;
        leaves_draw(&leaves, &view, width, height, samples);
        for (size_t i = 0; i < count; i++)
            samples[i] = (float)(gain * (128 + contrast * ((double)samples[i] - 128)));
        measure(width, height, samples, sigma, &seed, &measures);
        if (getenv("FFTD_TEST_VERBOSE") != NULL)
            printf("# %u: kind %.2f noise %.1f blur %.1f: sharpness %.4f noise %.2f state %d%s\n",
                   number, kind, sigma, BLUR_PX[k], (double)measures.sharpness,
                   (double)measures.noise, (int)measures.state,
                   measures.sharpness < last ? "" : " RISES");
        tally->steps += k > 0;
        tally->falling += k > 0 && measures.sharpness < last;
        last = measures.sharpness;
        if (BLUR_PX[k] <= 1.5) {
            tally->fine_pictures++;
            tally->fine += measures.state == FFTD_PICTURE_FINE;
            tally->least[number] = (double)measures.sharpness;
        } else if (BLUR_PX[k] >= 5) {
            tally->defocused_pictures++;
            tally->defocused += measures.state == FFTD_PICTURE_DEFOCUSED;
        }
        if (k == 0)
            tally->sharp[number] = (double)measures.sharpness;
    }
    for (unsigned bad = 0; bad < BADS; bad++) {
        const double level = bad == COVERED ? between(&seed, 5, 110) : between(&seed, 0, 3);
        const double x0 = between(&seed, -1, 1), y0 = between(&seed, -1, 1);
        const double shade = bad == COVERED ? between(&seed, 0, 0.6) : 0;
        const struct leaves_view view = {.blur_px = 0.4};
        for (size_t i = 0; i < count; i++)
            samples[i] = 128;
        if (bad == BURNT_OUT)
            leaves_draw(&leaves, &view, width, height, samples);
        for (unsigned y = 0; y < height; y++)
            for (unsigned x = 0; x < width; x++) {
                float *sample = &samples[(size_t)y * width + x];
                const double u = 2.0 * x / width - 1 - x0, v = 2.0 * y / height - 1 - y0;
                *sample = bad == BURNT_OUT ? *sample * 3 + 100
                                           : (float)(level * (1 - shade * (u * u + v * v) / 4));
            }
        measure(width, height, samples, between(&seed, 0.5, 6), &seed, &measures);
        tally->worst[bad][number] = (double)measures.sharpness;
        tally->bads++;
        tally->bad +=
            measures.state == (bad == BURNT_OUT ? FFTD_PICTURE_OVEREXPOSED : FFTD_PICTURE_COVERED);
        if (getenv("FFTD_TEST_VERBOSE") != NULL)
            printf("# %u: bad %u: sharpness %.4f state %d burnt out %.2f\n", number, bad,
                   (double)measures.sharpness, (int)measures.state, (double)measures.burnt_out);
    }
    leaves_clear(&leaves);
    free(samples);
}

/* The probability that a bad frame is less sharp than a fine one. */
static double auc(const double *fine, const double *bad, unsigned count)
{
    double wins = 0;
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < count; j++)
            wins += bad[j] < fine[i] ? 1 : bad[j] == fine[i] ? 0.5 : 0;
    return wins / count / count;
}

static void random_series(void **state)
{
    (void)state;
    static struct tally tally;
    const char *chosen = getenv("FFTD_TEST_SEED");
    const uint64_t first = chosen != NULL ? strtoull(chosen, NULL, 10) : 1000000;
    const unsigned count = trials_count(MOST_SERIES, 8);
    double least_auc = 1;
    for (unsigned i = 0; i < count; i++)
        run_series(first + i, i, &tally);
    for (unsigned bad = 0; bad < BADS; bad++)
        least_auc = fmin(least_auc, auc(tally.least, tally.worst[bad], count));
    printf(
        "# figures: %u series: sharpness falls on %.1f %% of %u steps from 0 to 12 px; covered, "
        "dark and burnt out have less than a blur of 1.5 px with AUC %.3f at least; states: fine "
        "%u of %u up to 1.5 px, defocused %u of %u from 5 px on, covered or overexposed %u of %u\n",
        count, 100.0 * tally.falling / tally.steps, tally.steps, least_auc, tally.fine,
        tally.fine_pictures, tally.defocused, tally.defocused_pictures, tally.bad, tally.bads);
    assert_true(tally.falling >= 0.97 * tally.steps);
    assert_true(least_auc >= 0.99);
    assert_true(tally.fine >= 0.9 * tally.fine_pictures);
    assert_true(tally.defocused >= 0.9 * tally.defocused_pictures);
    assert_true(tally.bad >= 0.95 * tally.bads);
}

/* By chance, the flat blocks give a noise of a covered lens that is a seventh too low. The power
 * that then remains in all rings must not be taken for fine detail. */
static void noise_is_not_sharp(void **state)
{
    (void)state;
    enum { WIDTH = 320, HEIGHT = 240 };
    const unsigned pictures = trials_count(400, 25);
    float *samples = malloc(sizeof *samples * WIDTH * HEIGHT);
    double most = 0;
    uint64_t seed = 2;
    for (unsigned i = 0; i < pictures; i++) {
        struct measures measures;
        for (unsigned k = 0; k < WIDTH * HEIGHT; k++)
            samples[k] = 60;
        measure(WIDTH, HEIGHT, samples, 5, &seed, &measures);
        most = fmax(most, (double)measures.sharpness);
        assert_int_equal(measures.state, FFTD_PICTURE_COVERED);
    }
    free(samples);
    printf("# figures: the sharpness of noise is %.4f at most, of %u pictures\n", most, pictures);
    assert_true(most < 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_series),
                                       cmocka_unit_test(noise_is_not_sharp)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
