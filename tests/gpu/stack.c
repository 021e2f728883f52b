/* Stacks of frames that are moved and turned, against a model in double precision that is written
 * from daemon/filters/stack.h: the mean, with details weighed and with all of them, weights by
 * spectra, frames that are left out, and what begins a new stack. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/chains.h"
#include "support/cmocka.h"
#include "support/device.h"
#include "support/engine_frame.h"
#include "support/reference.h"

#include "engine/engine.h"

#define WIDTH  90
#define HEIGHT 70
#define TAPS   8
#define FRAMES 7

struct model {
    double mean[HEIGHT][WIDTH], count[HEIGHT][WIDTH], variance[HEIGHT][WIDTH];
};

static const struct similarity moved[FRAMES] = {
    {.dx = 0},
    {.dx = 1.3, .dy = -0.6, .angle_rad = 0.02},
    {.dx = -40, .dy = 3},
    {.dx = 8.5, .dy = 4.25, .angle_rad = -0.3, .log_zoom = 0.05},
    {.dx = 0.5},
    {.dx = -3.2, .dy = 2.7, .angle_rad = 0.7},
    {.dx = 0.1, .dy = 0.9, .angle_rad = -0.001},
};
static const enum stack_place places[FRAMES] = {
    STACK_BEGINS, STACK_JOINS, STACK_JOINS, STACK_JOINS, STACK_LEFT_OUT, STACK_JOINS, STACK_JOINS};

#define PRODUCTS 3 /* the two of a mean, and that of weighed spectra */

static void find_taps(double ret[TAPS], double t, unsigned product)
{
    static const double weights[PRODUCTS][TAPS / 2][4] = {
        {
            {-0.38074187, 1.80132255, -2.45332694, 1.07509595},
            {1.69633053, -7.93204423, 12.48718289, -6.98192468},
            {-3.87004690, 16.51009831, -27.50795651, 16.97196095},
            {5.02502380, -21.92059973, 37.27437653, -24.26531620},
        },
        {
            {-0.58875250, 2.73203480, -3.70382661, 1.64188753},
            {2.44546131, -11.31547156, 16.95378129, -9.09272213},
            {-6.33785778, 31.90344010, -55.53869702, 34.06484694},
            {8.64214286, -44.56952392, 81.07134068, -52.46907790},
        },
        {
            {-0.26217487, 1.00443622, -1.85793728, 1.28156086},
            {0.82387890, -2.74672166, 4.92421495, -3.38705027},
            {-1.65624825, 4.23567694, -6.94654567, 4.76271317},
            {1.86801784, -5.40929197, 7.98712767, -5.39513019},
        },
    };
    for (unsigned i = 0; i < TAPS / 2; i++) {
        const double u = 1 - t, *w = weights[product][i];
        ret[i] = t * u * (w[0] + w[1] * t + w[2] * t * t + w[3] * t * t * t);
        ret[TAPS - 1 - i] = t * u * (w[0] + w[1] * u + w[2] * u * u + w[3] * u * u * u);
    }
    if (product != 1) {
        ret[TAPS / 2 - 1] += 1 - t;
        ret[TAPS / 2] += t;
    }
}

static long limited(long i, long length)
{
    return i < 0 ? 0 : i >= length ? length - 1 : i;
}

static double product_at(const uint16_t *in, double x, double y, unsigned product)
{
    double across[TAPS], down[TAPS], sum = 0;
    find_taps(across, x - floor(x), product);
    find_taps(down, y - floor(y), product);
    for (long j = 0; j < TAPS; j++)
        for (long i = 0; i < TAPS; i++)
            sum += down[j] * across[i] *
                   in[limited((long)floor(y) + j - 3, HEIGHT) * WIDTH +
                      limited((long)floor(x) + i - 3, WIDTH)];
    return sum;
}

static double sample_at(const uint16_t *in, double x, double y)
{
    return product_at(in, x, y, 0) - product_at(in, x, y, 1);
}

/* Finds where a frame shows a place of the stack. */
static void place_of(double at[2], const struct similarity *back, long x, long y)
{
    at[0] = (double)x + 0.5 - 0.5 * WIDTH;
    at[1] = (double)y + 0.5 - 0.5 * HEIGHT;
    similarity_move(back, at);
    at[0] += 0.5 * WIDTH - 0.5;
    at[1] += 0.5 * HEIGHT - 0.5;
}

/* Adds a sample to those of a pixel, whose count has it already. */
static void add_sample(struct model *model, long x, long y, double sample)
{
    double *mean = &model->mean[y][x], *variance = &model->variance[y][x];
    const double before = *mean;
    *mean += (sample - before) / model->count[y][x];
    *variance += ((sample - before) * (sample - *mean) - *variance) / model->count[y][x];
}

/* Makes what is shown of the means. Returns the share of pixels of which a part of the detail is
 * shown: not all of it, and not none. */
static double settle(struct model *ret, const struct model *model)
{
    static const double blur[3] = {0.25, 0.5, 0.25};
    unsigned parts = 0;
    static double detail[HEIGHT][WIDTH];
    for (long y = 0; y < HEIGHT; y++)
        for (long x = 0; x < WIDTH; x++) {
            detail[y][x] = model->mean[y][x];
            for (long i = 0; i < 9; i++)
                detail[y][x] -=
                    blur[i / 3] * blur[i % 3] *
                    model->mean[limited(y + i / 3 - 1, HEIGHT)][limited(x + i % 3 - 1, WIDTH)];
        }
    for (long y = 0; y < HEIGHT; y++)
        for (long x = 0; x < WIDTH; x++) {
            double power = 0, noise = 0;
            for (long i = 0; i < 9; i++) {
                const long row = limited(y + i / 3 - 1, HEIGHT);
                const long column = limited(x + i % 3 - 1, WIDTH);
                power += pow(detail[row][column], 2);
                noise +=
                    0.646 * model->variance[row][column] / fmax(model->count[row][column] - 1, 1);
            }
            const double share = power > noise ? noise / power : 1;
            parts += share > 0 && share < 1;
            ret->mean[y][x] = model->mean[y][x] - share * detail[y][x];
        }
    return (double)parts / (WIDTH * HEIGHT);
}

static void join(struct model *model, const uint16_t *in, const struct similarity *by,
                 enum stack_place place, double frames)
{
    const struct similarity back = similarity_inverse(by);
    if (place == STACK_BEGINS)
        memset(model, 0, sizeof *model);
    for (long y = 0; y < HEIGHT && place != STACK_LEFT_OUT; y++)
        for (long x = 0; x < WIDTH; x++) {
            double at[2];
            double *mean = &model->mean[y][x], *count = &model->count[y][x];
            place_of(at, &back, x, y);
            /* The device's numbers are floats. */
            const double edge = 1e-4;
            const bool inside = at[0] > -edge && at[1] > -edge && at[0] < WIDTH - 1 + edge &&
                                at[1] < HEIGHT - 1 + edge;
            const double sample = sample_at(in, at[0], at[1]);
            if (inside)
                *count = fmin(*count + 1, frames);
            if (inside)
                add_sample(model, x, y, sample);
            else if (*count == 0)
                *mean = sample;
        }
}

static struct engine *make_engine(const struct fftd_format *format, const char *chain)
{
    const struct filter_chain parsed = chain_of(chain);
    const struct recipe settings = {.planes = RECIPE_LUMA};
    const struct engine_options options = {
        .recipe = recipe_of(&parsed, &settings), .margin = 16, .in_flight = 3};
    struct engine_response *response = NULL;
    struct engine *engine;
    struct error why;
    if (engine_create(&engine, device, format, &options, 0, NULL, NULL, &why) < 0 ||
        engine_design(engine, &parsed, &response, &why) < 0)
        fail_msg("%s", why.text);
    engine_apply(engine, response, 1);
    return engine;
}

/* A smooth scene with noise; each frame another one, so that every frame counts in the result. */
static void draw(uint16_t *ret, unsigned frame)
{
    uint64_t state = 7 + frame;
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        ret[i] = (uint16_t)(32768 + 9000 * sin(i % WIDTH * 0.2 + frame) +
                            9000 * cos((unsigned)(i / WIDTH) * 0.13) +
                            8000 * (reference_noise(&state) - 0.5));
}

/* Returns the greatest difference from what the model shows. */
static double compare_shown(const struct model *shown, const struct fftd_format *format,
                            const uint8_t *out)
{
    double most = 0;
    for (unsigned y = 0; y < HEIGHT; y++)
        for (unsigned x = 0; x < WIDTH; x++) {
            uint16_t sample;
            memcpy(&sample, out + (size_t)y * format->plane[0].stride + 2 * x, 2);
            const double expected = fmin(fmax(shown->mean[y][x], 0), 65535);
            most = fmax(most, fabs(sample - expected));
        }
    return most;
}

typedef double difference_fn(const struct model *model, const struct fftd_format *format,
                             const uint8_t *out);

static double compare(const struct model *model, const struct fftd_format *format,
                      const uint8_t *out)
{
    static struct model shown;
    settle(&shown, model);
    return compare_shown(&shown, format, out);
}

/* Filters frames of which three are in flight at once, and each is joined to the one before it. The
 * caller frees the results. */
static void filter_frames(uint8_t *out[FRAMES], const uint16_t in[FRAMES][WIDTH * HEIGHT],
                          const struct fftd_format *format, const char *chain)
{
    struct engine_done done;
    struct error why;
    struct engine *engine = make_engine(format, chain);
    for (unsigned i = 0; i < FRAMES; i++) {
        const struct engine_job job = {.in = {(const uint8_t *)in[i]},
                                       .in_stride = {2 * WIDTH},
                                       .out = out[i] = calloc(1, format->frame_bytes),
                                       .similarity = moved[i],
                                       .stack = places[i]};
        if (engine_in_flight(engine) == 3)
            assert_int_equal(engine_collect(engine, true, &done, &why), 0);
        if (engine_submit(engine, &job, &why) < 0)
            fail_msg("%s", why.text);
    }
    while (engine_in_flight(engine) > 0)
        assert_int_equal(engine_collect(engine, true, &done, &why), 0);
    engine_destroy(engine);
}

static void capture(struct fftd_format *format, uint16_t in[FRAMES][WIDTH * HEIGHT])
{
    struct error why;
    assert_int_equal(format_layout(format, format_by_name("Y16")->fourcc, WIDTH, HEIGHT, 4, &why),
                     0);
    for (unsigned i = 0; i < FRAMES; i++)
        draw(in[i], i);
}

static void join_frames(const char *chain, difference_fn *difference)
{
    struct fftd_format format;
    static struct model model;
    static uint16_t in[FRAMES][WIDTH * HEIGHT];
    uint8_t *out[FRAMES];
    capture(&format, in);
    filter_frames(out, (const void *)in, &format, chain);
    for (unsigned i = 0; i < FRAMES; i++) {
        join(&model, in[i], &moved[i], places[i], 3);
        const double most = difference(&model, &format, out[i]);
        printf("# figures: %s, frame %u: at most %.2f of 65535 from the model\n", chain, i, most);
        assert_true(most <= 1);
        free(out[i]);
    }
}

static void frames_are_joined_where_they_are(void **state)
{
    (void)state;
    join_frames("stack:frames=3", compare);
}

static void all_details_of_the_mean_are_shown(void **state)
{
    (void)state;
    join_frames("stack:frames=3,details=all", compare_shown);
}

/* A smooth scene that stands, as a camera that moves sees it: how the samples of a pixel differ is
 * noise, of which the mean has about as much as of details. */
static void draw_still(uint16_t *ret, unsigned frame, const struct similarity *by)
{
    uint64_t state = 70 + frame;
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++) {
        double at[2];
        place_of(at, by, i % WIDTH, i / WIDTH);
        ret[i] = (uint16_t)(32768 + 9000 * sin(at[0] * 0.2) + 9000 * cos(at[1] * 0.13) +
                            500 * (reference_noise(&state) - 0.5));
    }
}

/* Also after the frames that count alike: then a variance that is wrong shows at most pixels. */
static void details_are_weighed_by_the_noise_of_the_mean(void **state)
{
    enum { ALIKE = 3 };
    (void)state;
    struct fftd_format format;
    static struct model model, shown;
    static uint16_t in[FRAMES][WIDTH * HEIGHT];
    uint8_t *out[FRAMES];
    capture(&format, in);
    for (unsigned i = 0; i < FRAMES; i++)
        draw_still(in[i], i, &moved[i]);
    filter_frames(out, (const void *)in, &format, "stack:frames=3");
    for (unsigned i = 0; i < FRAMES; i++) {
        join(&model, in[i], &moved[i], places[i], ALIKE);
        const double parts = settle(&shown, &model);
        const double most = compare_shown(&shown, &format, out[i]);
        printf("# figures: still scene, frame %u: at most %.2f of 65535 from the model, a part of "
               "the detail at %.0f %% of pixels\n",
               i, most, 100 * parts);
        assert_true(most <= 1);
        assert_true(i < ALIKE || parts > 0.5);
        free(out[i]);
    }
}

/* ---- weights by spectra ---- */

#define BLOCK   32
#define HOP     16
#define COLUMNS ((WIDTH - 1) / HOP + 2)
#define ROWS    ((HEIGHT - 1) / HOP + 2)

struct spectra {
    double complex mean[ROWS][COLUMNS][BLOCK][BLOCK];
    double weight[ROWS][COLUMNS][BLOCK][BLOCK]; /* the logarithm; -HUGE_VAL: none */
    double high[ROWS][COLUMNS];                 /* power of the highest frequencies */
    unsigned count;
};

static double window_at(long n)
{
    return sin(M_PI * ((double)n + 0.5) / BLOCK);
}

/* sum of z(y, x) exp(sign 2 pi i (kx x + ky y) / BLOCK) */
static void fourier(double complex z[BLOCK][BLOCK], double sign)
{
    static double complex rows[BLOCK][BLOCK];
    double complex turn[BLOCK];
    for (unsigned k = 0; k < BLOCK; k++)
        turn[k] = cexp(sign * 2 * M_PI * I * k / BLOCK);
    for (unsigned y = 0; y < BLOCK; y++)
        for (unsigned k = 0; k < BLOCK; k++) {
            rows[y][k] = 0;
            for (unsigned x = 0; x < BLOCK; x++)
                rows[y][k] += z[y][x] * turn[k * x % BLOCK];
        }
    for (unsigned k = 0; k < BLOCK; k++)
        for (unsigned x = 0; x < BLOCK; x++) {
            z[k][x] = 0;
            for (unsigned y = 0; y < BLOCK; y++)
                z[k][x] += rows[y][x] * turn[k * y % BLOCK];
        }
}

static long mirror(long i, long length)
{
    return i < 0 ? -i : i >= length ? 2 * length - 2 - i : i;
}

static bool is_block_shown(const struct similarity *back, long left, long top)
{
    for (long corner = 0; corner < 4; corner++) {
        const long x = left + (corner % 2) * (BLOCK - 1), y = top + (corner / 2) * (BLOCK - 1);
        double at[2];
        place_of(at, back, limited(x, WIDTH), limited(y, HEIGHT));
        if (at[0] < -0.5 || at[1] < -0.5 || at[0] > WIDTH - 0.5 || at[1] > HEIGHT - 0.5)
            return false;
    }
    return true;
}

/* What a frame has in each block. */
struct shown {
    bool is_shown[ROWS][COLUMNS];
    double complex spectrum[ROWS][COLUMNS][BLOCK][BLOCK];
    double power[ROWS][COLUMNS][BLOCK][BLOCK]; /* without the level */
};

static void transform_block(double complex f[BLOCK][BLOCK], double power[BLOCK][BLOCK])
{
    static double complex level[BLOCK][BLOCK];
    double sum = 0;
    for (unsigned i = 0; i < BLOCK * BLOCK; i++)
        level[i / BLOCK][i % BLOCK] = window_at(i / BLOCK) * window_at(i % BLOCK);
    for (unsigned i = 0; i < BLOCK; i++)
        sum += window_at(i);
    fourier(level, -1);
    fourier(f, -1);
    for (unsigned i = 0; i < BLOCK * BLOCK; i++)
        power[i / BLOCK][i % BLOCK] =
            pow(cabs(f[i / BLOCK][i % BLOCK] -
                     creal(f[0][0]) / (sum * sum) * level[i / BLOCK][i % BLOCK]),
                2);
}

static void transform_frame(struct shown *ret, const uint16_t *in, const struct similarity *back)
{
    static double moved_samples[HEIGHT][WIDTH];
    for (long i = 0; i < WIDTH * HEIGHT; i++) {
        double at[2];
        place_of(at, back, i % WIDTH, i / WIDTH);
        moved_samples[i / WIDTH][i % WIDTH] = product_at(in, at[0], at[1], 2);
    }
    for (long b = 0; b < ROWS * COLUMNS; b++) {
        const long row = b / COLUMNS, column = b % COLUMNS;
        const long left = column * HOP - HOP, top = row * HOP - HOP;
        for (long i = 0; i < BLOCK * BLOCK; i++)
            ret->spectrum[row][column][i / BLOCK][i % BLOCK] =
                window_at(i / BLOCK) * window_at(i % BLOCK) *
                moved_samples[mirror(top + i / BLOCK, HEIGHT)][mirror(left + i % BLOCK, WIDTH)];
        ret->is_shown[row][column] = is_block_shown(back, left, top);
        transform_block(ret->spectrum[row][column], ret->power[row][column]);
    }
}

/* Fills in the logarithms of the weights of a block, by the mean powers of it and of its neighbours
 * that are shown. A part of their power of high frequencies counts in the mean of that. */
static void weigh(double ret[BLOCK][BLOCK], const struct shown *shown, long row, long column,
                  double power, double *high, double part)
{
    static double mean[BLOCK][BLOCK];
    double count = 0, highest = 0;
    memset(mean, 0, sizeof mean);
    for (long y = row - 1; y <= row + 1; y++)
        for (long x = column - 1; x <= column + 1; x++) {
            if (y < 0 || x < 0 || y >= ROWS || x >= COLUMNS || !shown->is_shown[y][x])
                continue;
            for (unsigned i = 0; i < BLOCK * BLOCK; i++)
                mean[i / BLOCK][i % BLOCK] += shown->power[y][x][i / BLOCK][i % BLOCK];
            count++;
        }
    for (unsigned y = 12; y <= 20; y++)
        for (unsigned x = 12; x <= 16; x++)
            highest += mean[y][x] / count / 45;
    *high += part * (highest - *high);
    for (unsigned i = 0; i < BLOCK * BLOCK; i++)
        ret[i / BLOCK][i % BLOCK] =
            power / 2 * log(mean[i / BLOCK][i % BLOCK] / count + *high + 1e-6);
}

/* Joins a frame, and adds up the stack's blocks in ret. */
static void join_spectra(struct spectra *stack, struct model *ret, const uint16_t *in,
                         const struct similarity *by, enum stack_place place, double frames,
                         double power)
{
    static struct shown shown;
    static double weight[BLOCK][BLOCK];
    static double complex f[BLOCK][BLOCK];
    const struct similarity back = similarity_inverse(by);
    const double faded = stack->count >= frames ? log(1 - 1 / frames) : 0;
    memset(ret, 0, sizeof *ret);
    transform_frame(&shown, in, &back);
    for (long b = 0; b < ROWS * COLUMNS; b++) {
        const long row = b / COLUMNS, column = b % COLUMNS;
        const long left = column * HOP - HOP, top = row * HOP - HOP;
        const bool is_shown = shown.is_shown[row][column];
        if (place != STACK_LEFT_OUT && is_shown)
            weigh(weight, &shown, row, column, power, &stack->high[row][column],
                  place == STACK_BEGINS ? 1 : 1 / fmin(stack->count + 1, frames));
        for (long i = 0; i < BLOCK * BLOCK; i++) {
            const double complex sample = shown.spectrum[row][column][i / BLOCK][i % BLOCK];
            double complex *mean = &stack->mean[row][column][i / BLOCK][i % BLOCK];
            double *sum = &stack->weight[row][column][i / BLOCK][i % BLOCK];
            const double own = weight[i / BLOCK][i % BLOCK];
            if (place == STACK_BEGINS) {
                *mean = sample;
                *sum = is_shown ? own : -HUGE_VAL;
            } else if (place == STACK_JOINS && is_shown) {
                const double before = *sum + faded, most = fmax(before, own);
                *sum = most + log(exp(before - most) + exp(own - most));
                *mean += exp(own - *sum) * (sample - *mean);
            }
        }
        memcpy(f, stack->mean[row][column], sizeof f);
        fourier(f, 1);
        for (long i = 0; i < BLOCK * BLOCK; i++) {
            const long x = left + i % BLOCK, y = top + i / BLOCK;
            if (x >= 0 && y >= 0 && x < WIDTH && y < HEIGHT)
                ret->mean[y][x] += creal(f[i / BLOCK][i % BLOCK]) / (BLOCK * BLOCK) *
                                   window_at(i / BLOCK) * window_at(i % BLOCK);
        }
    }
    stack->count = place == STACK_BEGINS ? 1 : stack->count + (place == STACK_JOINS);
}

static void spectra_are_weighed(void **state)
{
    (void)state;
    struct fftd_format format;
    static struct spectra stack;
    static struct model model;
    static uint16_t in[FRAMES][WIDTH * HEIGHT];
    uint8_t *out[FRAMES];
    capture(&format, in);
    filter_frames(out, (const void *)in, &format, "stack:frames=3,power=7");
    for (unsigned i = 0; i < FRAMES; i++) {
        join_spectra(&stack, &model, in[i], &moved[i], places[i], 3, 7);
        const double most = compare_shown(&model, &format, out[i]);
        printf("# figures: frame %u, by spectra: at most %.2f of 65535 from the model\n", i, most);
        assert_true(most <= 2);
        free(out[i]);
    }
}

/* A change of the filter, a start of the source, and the job itself; but a frame that is left out
 * does not begin one: it is shown alone. */
static void stacks_begin_again(void **state)
{
    (void)state;
    struct fftd_format format;
    static struct model model;
    static uint16_t in[2][WIDTH * HEIGHT];
    const struct filter_chain chain = chain_of("stack:frames=3");
    struct error why;
    assert_int_equal(format_layout(&format, format_by_name("Y16")->fourcc, WIDTH, HEIGHT, 4, &why),
                     0);
    struct fftd_format layout = format;
    layout.plane[0].stride = 2 * WIDTH;
    struct engine *engine = make_engine(&format, "stack:frames=3");
    uint8_t *out = calloc(1, format.frame_bytes);
    draw(in[0], 0);
    draw(in[1], 1);
    for (unsigned how = 0; how < 4; how++) {
        const enum stack_place place = how == 2   ? STACK_BEGINS
                                       : how == 3 ? STACK_LEFT_OUT
                                                  : STACK_JOINS;
        struct engine_job job = {.out = out};
        engine_frame(engine, job, &layout, (const uint8_t *)in[0], "before");
        job.is_first = how == 1;
        job.stack = place;
        if (how == 0 || how == 3) {
            struct engine_response *response;
            assert_int_equal(engine_design(engine, &chain, &response, &why), 0);
            engine_apply(engine, response, 2 + how);
        }
        engine_frame(engine, job, &layout, (const uint8_t *)in[1], "begins");
        join(&model, in[1], &moved[0], STACK_BEGINS, 3);
        assert_true(compare(&model, &format, out) <= 1);
        if (how == 3) {
            job.stack = STACK_JOINS;
            engine_frame(engine, job, &layout, (const uint8_t *)in[0], "after it was left out");
            join(&model, in[0], &moved[0], STACK_BEGINS, 3);
            assert_true(compare(&model, &format, out) <= 1);
        }
    }
    free(out);
    engine_destroy(engine);
}

/* Levels rise across the picture and down. Some pixels are bright in one frame, one of them in the
 * first. The result is the mean of the others, as if these samples had not been there. */
static void clip_passing_things(const char *chain, unsigned across, unsigned down,
                                difference_fn *difference)
{
    struct fftd_format format;
    static struct model model;
    static uint16_t in[FRAMES][WIDTH * HEIGHT];
    struct error why;
    assert_int_equal(format_layout(&format, format_by_name("Y16")->fourcc, WIDTH, HEIGHT, 4, &why),
                     0);
    struct fftd_format layout = format;
    layout.plane[0].stride = 2 * WIDTH;
    struct engine *engine = make_engine(&format, chain);
    uint8_t *out = calloc(1, format.frame_bytes);
    memset(&model, 0, sizeof model);
    uint64_t noise = 11;
    for (unsigned i = 0; i < FRAMES; i++) {
        for (unsigned p = 0; p < WIDTH * HEIGHT; p++) {
            const unsigned x = p % WIDTH, y = p / WIDTH;
            in[i][p] = (uint16_t)(4000 + across * x + down * y + 500 * reference_noise(&noise));
            if (x == 12 * i + 5) {
                in[i][p] = (uint16_t)(in[i][p] + 18000);
            } else {
                model.count[y][x]++;
                add_sample(&model, x, y, in[i][p]);
            }
        }
        const struct engine_job job = {.out = out, .stack = i == 0 ? STACK_BEGINS : STACK_JOINS};
        engine_frame(engine, job, &layout, (const uint8_t *)in[i], "clipped");
    }
    assert_true(difference(&model, &format, out) <= 1);
    free(out);
    engine_destroy(engine);
}

static void passing_things_are_clipped(void **state)
{
    (void)state;
    clip_passing_things("stack:frames=64,clip=12", 60, 0, compare);
    clip_passing_things("stack:frames=64,clip=12,details=all", 60, 0, compare_shown);
}

/* In a small frame of many levels each level has few differences. */
static void few_differences_tell_the_noise(void **state)
{
    (void)state;
    clip_passing_things("stack:frames=64,clip=12", 0, 570, compare);
}

/* Shows a picture for `before` frames, and another one for `after` frames, of which only the last
 * one is to be seen. Then that one stays, although the first one comes back for a frame. */
static void see_what_stays(const char *chain, unsigned frames, unsigned before, unsigned after)
{
    struct fftd_format format;
    struct error why;
    static struct model model;
    static uint16_t in[2][WIDTH * HEIGHT];
    assert_int_equal(format_layout(&format, format_by_name("Y16")->fourcc, WIDTH, HEIGHT, 4, &why),
                     0);
    struct fftd_format layout = format;
    layout.plane[0].stride = 2 * WIDTH;
    struct engine *engine = make_engine(&format, chain);
    uint8_t *out = calloc(1, format.frame_bytes);
    for (unsigned p = 0; p < WIDTH * HEIGHT; p++) {
        in[0][p] = p % WIDTH < 60 ? 12000 : 40000; /* most of each level stays as it is */
        in[1][p] = p % WIDTH < 6 ? 40000 : in[0][p];
    }
    for (unsigned i = 0; i < before + after + 3; i++) {
        const bool is_back = i == before + after;
        const unsigned shown = i >= before && !is_back;
        const struct engine_job job = {.out = out, .stack = i == 0 ? STACK_BEGINS : STACK_JOINS};
        engine_frame(engine, job, &layout, (const uint8_t *)in[shown], "a change");
        join(&model, in[i >= before + after - 1], &moved[0], STACK_BEGINS, frames);
        assert_true(compare(&model, &format, out) <= 1);
    }
    free(out);
    engine_destroy(engine);
}

/* What comes and stays is seen when it has been seen more often than what was there, of which at
 * most `frames` frames count. */
static void what_stays_is_seen(void **state)
{
    (void)state;
    see_what_stays("stack:frames=64,clip=12", 64, 3, 4);
    see_what_stays("stack:frames=3,clip=12", 3, 3, 4);
    see_what_stays("stack:frames=3,clip=12", 3, 9, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_joined_where_they_are),
        cmocka_unit_test(all_details_of_the_mean_are_shown),
        cmocka_unit_test(details_are_weighed_by_the_noise_of_the_mean),
        cmocka_unit_test(spectra_are_weighed),
        cmocka_unit_test(stacks_begin_again),
        cmocka_unit_test(passing_things_are_clipped),
        cmocka_unit_test(few_differences_tell_the_noise),
        cmocka_unit_test(what_stays_is_seen),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}
