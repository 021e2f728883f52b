/* Smaller pictures, made of the lowest frequencies: against double precision, for all forms of the
 * transform; what they keep of a zone plate; and whole frames of each pixel format. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/device.h"
#include "support/engine_frame.h"
#include "support/floats.h"
#include "support/queue.h"
#include "support/reference.h"

#include "core/format.h"
#include "engine/engine.h"
#include "transform/transform.h"
#include "transform/tuner.h"

#define EDGE         0.1
#define SHORT_VECTOR 4 /* floats in a vector of SSE or NEON */

/* One image of floats, or several alike, and the size that they get. */
struct shape {
    uint32_t width, height, smaller_width, smaller_height;
    uint32_t margin;
    enum plan_border border;
    const char *chain;
    unsigned more; /* images besides the first, in the same dispatches */
    double edge;   /* recipe.crop_edge */
};

static int try_to_make(struct transform **ret, const struct transform_tuning *tuning,
                       const struct shape *shape, struct error *why)
{
    struct transform_image image = floats_image(shape->width, shape->height, shape->more + 1);
    const struct transform_border border = {
        .mode = shape->border, .value = 100, .margin_x = shape->margin, .margin_y = shape->margin};
    struct error warning = {""};
    floats_make_smaller(&image, shape->smaller_width, shape->smaller_height);
    return transform_create(ret, device, &image, &border, tuning, NULL, &warning, why);
}

/* Makes smaller pictures of the images in `in` and sets the padded size of these. */
static void run(const struct transform_tuning *tuning, const struct shape *shape,
                const struct filter_chain *chain, const float *in, float *out, struct plan *ret)
{
    const size_t images = shape->more + 1;
    const size_t in_count = images * shape->width * shape->height;
    const size_t out_count = images * shape->smaller_width * shape->smaller_height;
    struct error why = {""};
    struct transform *t;
    struct transform_frame *frame;
    cl_event first = NULL, last = NULL;
    if (try_to_make(&t, tuning, shape, &why) < 0)
        fail_msg("%ux%u to %ux%u: %s", shape->width, shape->height, shape->smaller_width,
                 shape->smaller_height, why.text);
    void *response = malloc(transform_response_bytes(t));
    uint32_t band;
    assert_int_equal(transform_response_fill(t, response, chain, 1, 1, &band, &why), 0);
    struct transform_buffers buffers = {
        .image = device_buffer(in_count * sizeof *in, in),
        .result = device_buffer(out_count * sizeof *out, NULL),
        .response = {device_buffer(transform_response_bytes(t), response), band}};
    assert_int_equal(transform_frame_create(&frame, t, &why), 0);
    if (transform_frame_enqueue(frame, queue, &buffers, &first, &last, &why) < 0)
        fail_msg("%s", why.text);
    assert_int_equal(clEnqueueReadBuffer(queue, buffers.result, CL_TRUE, 0, out_count * sizeof *out,
                                         out, 0, NULL, NULL),
                     CL_SUCCESS);
    *ret = *transform_plan(t);
    clReleaseEvent(first);
    clReleaseEvent(last);
    transform_frame_destroy(frame);
    clReleaseMemObject(buffers.image);
    clReleaseMemObject(buffers.result);
    clReleaseMemObject(buffers.response.numbers);
    free(response);
    transform_destroy(t);
}

/* The root of the mean square error, in units of full scale 255, of smaller pictures of noise. */
static double measure(const struct transform_tuning *wanted, const struct shape *shape)
{
    const size_t in_one = (size_t)shape->width * shape->height;
    const size_t out_one = (size_t)shape->smaller_width * shape->smaller_height;
    const size_t images = shape->more + 1;
    struct transform_tuning tuning = *wanted;
    struct filter_chain chain;
    struct error why;
    struct plan plan;
    uint64_t state = in_one;
    double *in = malloc(images * in_one * sizeof *in), error = 0;
    float *in_float = malloc(images * in_one * sizeof *in_float);
    double *expected = malloc(out_one * sizeof *expected);
    float *out = malloc(images * out_one * sizeof *out);
    for (size_t i = 0; i < images * in_one; i++)
        in[i] = in_float[i] = (float)(255 * reference_noise(&state));
    if (filter_chain_parse(&chain, shape->chain, &why) < 0)
        fail_msg("%s", why.text);
    tuning.recipe.thresholds = filter_chain_threshold(&chain) > 0;
    tuning.recipe.crop_edge = shape->edge;
    run(&tuning, shape, &chain, in_float, out, &plan);
    const struct reference reference = {.width = shape->width,
                                        .height = shape->height,
                                        .padded_x = plan.x.length,
                                        .padded_y = plan.y.length,
                                        .border = shape->border,
                                        .border_value = 100,
                                        .sub_x = 1,
                                        .sub_y = 1,
                                        .threshold = filter_chain_threshold(&chain) *
                                                     sqrt((double)plan.x.length * plan.y.length),
                                        .chain = &chain};
    for (size_t image = 0; image < images; image++) {
        reference_smaller(&reference, in + image * in_one, shape->smaller_width,
                          shape->smaller_height, shape->edge > 0 ? shape->edge : EDGE, expected);
        for (size_t i = 0; i < out_one; i++)
            error += pow(out[image * out_one + i] - expected[i], 2) / (double)(images * out_one);
    }
    free(in);
    free(in_float);
    free(expected);
    free(out);
    return sqrt(error);
}

static void check(const struct transform_tuning *tuning, const struct shape *shape)
{
    const double rms = measure(tuning, shape);
    const bool half = tuning->recipe.precision == RECIPE_HALF;
    const double psnr_db = 20 * log10(255 / rms);
    print_message("# %ux%u to %ux%u, %s%s: PSNR %.1f dB\n", shape->width, shape->height,
                  shape->smaller_width, shape->smaller_height, shape->chain, half ? ", half" : "",
                  psnr_db);
    if (!(psnr_db > (half ? 60 : 120)))
        fail_msg("%ux%u to %ux%u, lanes %u, order %d, %s: PSNR %.1f dB", shape->width,
                 shape->height, shape->smaller_width, shape->smaller_height, tuning->lanes,
                 (int)tuning->order, shape->chain, psnr_db);
}

static void test_forms(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        {120, 96, 60, 48, 12, PLAN_MIRROR, "none", 0, 0},
        {120, 96, 40, 24, 0, PLAN_REPLICATE, "gaussian-blur:sigma=1.5", 2, 0},
        {90, 120, 60, 120, 7, PLAN_CONSTANT, "gradient:sigma=1,dc=0.5", 0, 0},
        {91, 77, 52, 44, 0, PLAN_WRAP, "soft-threshold:sigma=3", 0, 0},
    };
    struct transform_tuning common, tuning[FLOATS_FORMS];
    transform_default_tuning(&common, device);
    floats_forms(tuning, &common);
    for (unsigned i = 0; i < FLOATS_FORMS; i++)
        for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++)
            if (device_takes_every_layout() || k == i % 4 || k == (i + 1) % 4)
                check(&tuning[i], &shapes[k]);
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        {640, 480, 320, 240, 24, PLAN_MIRROR, "none", 0, 0},
        {1280, 720, 640, 360, 0, PLAN_MIRROR, "none", 0, 0},
        {1280, 720, 320, 180, 0, PLAN_MIRROR, "sharpen:sigma=2", 0, 0},
        {1280, 720, 800, 450, 0, PLAN_MIRROR, "none", 0, 0},
        {640, 480, 320, 240, 24, PLAN_MIRROR, "none", 0, 0.5},
        {640, 480, 320, 120, 24, PLAN_MIRROR, "none", 0, 0.001},
    };
    struct transform_tuning tuning;
    transform_default_tuning(&tuning, device);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (device_takes(shapes[i].width, shapes[i].height))
            check(&tuning, &shapes[i]);
}

static void check_taps(const struct transform_tuning *tuning, const struct shape *shape)
{
    const double rms = measure(tuning, shape);
    print_message("# %ux%u to %ux%u, %s, taps, %u lanes: %.3f steps\n", shape->width, shape->height,
                  shape->smaller_width, shape->smaller_height, shape->chain, tuning->lanes, rms);
    if (!(rms < 0.1))
        fail_msg("%s to %u columns, %u lanes: %.3f steps", shape->chain, shape->smaller_width,
                 tuning->lanes, rms);
}

/* Blurs whose smaller pictures need no transform: taps leave out half a step at most, and in noise
 * the root of the mean square is much less. Integers of 16 bits are only for bytes
 * (test_frames). */
static void test_taps(void **state)
{
    (void)state;
    static const struct {
        struct shape shape;
        bool is_short;
    } cases[] = {
        {{640, 480, 320, 240, 32, PLAN_MIRROR, "gaussian-blur:sigma=3", 0, 0}, true},
        {{320, 200, 160, 100, 32, PLAN_CONSTANT, "gaussian-blur:sigma=2.6", 2, 0}, true},
        {{134, 90, 67, 45, 32, PLAN_WRAP, "gaussian-blur:sigma=4.4 | gain:ac=1.2,dc=1.2", 0, 0.5},
         true},
        {{120, 96, 60, 48, 32, PLAN_REPLICATE, "gaussian-blur:sigma=3 | gaussian-blur:sigma=1", 0,
          0.001},
         true},
        {{640, 480, 320, 240, 32, PLAN_MIRROR, "gaussian-blur:sigma=1.5", 0, 0}, false},
        {{640, 480, 320, 240, 32, PLAN_MIRROR, "gaussian-blur:sigma=6", 0, 0}, false},
        {{640, 480, 320, 240, 32, PLAN_MIRROR, "none", 0, 0}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct shape *shape = &cases[i].shape;
        struct transform_tuning tuning;
        struct filter_chain chain;
        struct error why;
        if (filter_chain_parse(&chain, shape->chain, &why) < 0)
            fail_msg("%s", why.text);
        const struct taps_samples samples = {
            .sub_x = 1, .sub_y = 1, .bits = 8, .stride = TAPS_STRIDE, .edge = shape->edge};
        const struct tuner_subject subject = {.device = device,
                                              .image = floats_image(shape->width, shape->height, 1),
                                              .any_technique = true,
                                              .reach = taps_stride_reach_of(&chain, &samples)};
        if (subject.reach.is_short != cases[i].is_short)
            fail_msg("%s to %u columns: short %d", shape->chain, shape->smaller_width,
                     subject.reach.is_short);
        tuner_start(&tuning, &subject);
        tuning.recipe.reach = subject.reach;
        tuning.technique = TRANSFORM_DIRECT;
        if (!cases[i].is_short || !gpu_device_is_cpu(device))
            continue;
        check_taps(&tuning, shape);
        if (tuning.lanes != SHORT_VECTOR) {
            tuning.lanes = SHORT_VECTOR;
            check_taps(&tuning, shape);
        }
    }
}

#define PLATE 960 /* pixels */

static double plate_wave(double dx, double dy)
{
    return 127.5 * cos(M_PI / PLATE * (dx * dx + dy * dy));
}

/* Of a zone plate, whose frequency grows with the distance from the middle up to half the sampling
 * rate, a picture of half the size has what is below a quarter, and nothing of the rest: what is
 * folded is 50 dB below it. What is near to a quarter is left out, because the frequency changes
 * within the reach of the edge, and so is what the border continues with another frequency. */
static void test_zone_plate(void **state)
{
    (void)state;
    const struct shape shape = {PLATE, PLATE, PLATE / 2, PLATE / 2, 0, PLAN_MIRROR, "none", 0, 0};
    const struct filter_chain none = {.count = 0};
    struct transform_tuning tuning;
    struct plan plan;
    if (!device_takes(PLATE, PLATE)) {
        print_message("skipped: frames of %dx%d are left out\n", PLATE, PLATE);
        skip();
    }
    float *in = malloc(sizeof *in * PLATE * PLATE), *out = malloc(sizeof *out * PLATE * PLATE / 4);
    double kept = 0, folded = 0, plate = 0;
    unsigned kept_count = 0, folded_count = 0;
    transform_default_tuning(&tuning, device);
    for (int y = 0; y < PLATE; y++)
        for (int x = 0; x < PLATE; x++)
            in[y * PLATE + x] =
                (float)(127.5 + plate_wave(x + 0.5 - PLATE / 2., y + 0.5 - PLATE / 2.));
    run(&tuning, &shape, &none, in, out, &plan);
    for (int y = 0; y < PLATE / 2; y++)
        for (int x = 0; x < PLATE / 2; x++) {
            const double dx = 2 * x + 1 - PLATE / 2., dy = 2 * y + 1 - PLATE / 2.;
            const double frequency = 1.0 / PLATE * fmax(fabs(dx), fabs(dy));
            const double value = out[y * PLATE / 2 + x] - 127.5, wave = plate_wave(dx, dy);
            if (frequency < 0.16) {
                kept += (value - wave) * (value - wave);
                plate += wave * wave;
                kept_count++;
            } else if (frequency > 0.34 && frequency < 0.44) {
                folded += value * value;
                folded_count++;
            }
        }
    plate /= kept_count;
    const double folded_db = 10 * log10(folded / folded_count / plate);
    const double kept_db = 10 * log10(kept / kept_count / plate);
    print_message("# zone plate: folded %.1f dB, error of what is kept %.1f dB\n", folded_db,
                  kept_db);
    assert_true(folded_db < -50);
    assert_true(kept_db < -50);
    free(in);
    free(out);
}

/* A step beside which an ideal low-pass rings for long: 10 % of the step at once, and half a
 * percent after some thirty samples. With the edge a thousandth is left there. */
static void test_ringing(void **state)
{
    (void)state;
    const struct shape shape = {256, 32, 128, 16, 128, PLAN_MIRROR, "none", 0, 0};
    const struct filter_chain none = {.count = 0};
    struct transform_tuning tuning;
    struct plan plan;
    static float in[32 * 256], out[16 * 128];
    static double exact[32 * 256], ideal[16 * 128];
    double most = 0, most_ideal = 0;
    transform_default_tuning(&tuning, device);
    for (unsigned i = 0; i < 32 * 256; i++)
        exact[i] = in[i] = i % 256 < 127 ? 0 : 100;
    run(&tuning, &shape, &none, in, out, &plan);
    const struct reference reference = {.width = 256,
                                        .height = 32,
                                        .padded_x = plan.x.length,
                                        .padded_y = plan.y.length,
                                        .border = PLAN_MIRROR,
                                        .sub_x = 1,
                                        .sub_y = 1,
                                        .chain = &none};
    reference_smaller(&reference, exact, 128, 16, 0, ideal);
    for (unsigned x = 64 + 24; x < 128; x++) {
        most = fmax(most, fabs((double)out[8 * 128 + x] - 100));
        most_ideal = fmax(most_ideal, fabs(ideal[8 * 128 + x] - 100));
    }
    print_message("# 24 samples from an edge: %.3f %% of it, an ideal low-pass %.3f %%\n", most,
                  most_ideal);
    assert_true(most_ideal > 0.5);
    assert_true(most < 0.1);
}

/* A side for which no lengths are in its ratio is refused, and the nearest ones are named, which
 * can be had. */
static void test_sides_that_cannot_be_had(void **state)
{
    (void)state;
    static const struct {
        uint32_t width, height;
        const char *begin;
    } cases[] = {
        {326, 240, "640 columns cannot become 326: the nearest that can be had are "},
        {320, 241, "480 rows cannot become 241: the nearest that can be had are "},
        {2, 240, "640 columns cannot become 2: the nearest that can be had is "},
    };
    struct transform_tuning tuning;
    transform_default_tuning(&tuning, device);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct shape shape = {640, 480, cases[i].width, cases[i].height, 0, PLAN_MIRROR, NULL,
                                    0,   0};
        const size_t length = strlen(cases[i].begin);
        struct transform *t;
        struct error why = {""};
        unsigned side[2];
        const int r = try_to_make(&t, &tuning, &shape, &why);
        if (r == 0 && cases[i].width == 2) { /* with larger radices it can be had */
            transform_destroy(t);
            continue;
        }
        if (r != -EINVAL)
            fail_msg("%ux%u: %d, %s", cases[i].width, cases[i].height, r, why.text);
        print_message("# %s\n", why.text);
        assert_int_equal(strncmp(why.text, cases[i].begin, length), 0);
        /* NOLINTNEXTLINE(cert-err34-c): the library has written these numbers */
        const int count = sscanf(why.text + length, "%u or %u", &side[0], &side[1]);
        assert_true(count >= 1);
        for (int k = 0; k < count; k++) {
            struct shape nearest = shape;
            *(i == 1 ? &nearest.smaller_height : &nearest.smaller_width) = side[k];
            if (try_to_make(&t, &tuning, &nearest, &why) < 0)
                fail_msg("%u was named, but %s", side[k], why.text);
            transform_destroy(t);
        }
    }
}

/* Only one technique makes smaller pictures. */
static void test_other_techniques(void **state)
{
    (void)state;
    const struct shape shape = {64, 48, 32, 24, 0, PLAN_MIRROR, NULL, 0, 0};
    struct transform_tuning tuning;
    struct transform *t;
    struct error why = {""};
    transform_default_tuning(&tuning, device);
    tuning.technique = TRANSFORM_STAGED;
    assert_int_equal(try_to_make(&t, &tuning, &shape, &why), -ERANGE);
    assert_string_equal(
        why.text, "engine.technique = staged makes no smaller pictures: expected auto or fused");
}

/* ---- whole frames -------------------------------------------------------------------------- */

/* Frames of a pixel format, and the planes whose samples are compared: where they begin in a plane,
 * how far apart they are, and how many pixels each covers. */
struct scene {
    const char *captured;
    enum recipe_planes planes;
    const char *chain;
    double shift[2]; /* of the frame, which the model has in its chain */
    unsigned samples;
    struct {
        unsigned plane, offset, step, sub_x, sub_y;
        bool passes; /* it is not filtered, but only becomes smaller */
    } sample[3];
};

#define WIDTH          192
#define HEIGHT         96
#define SMALLER_WIDTH  96
#define SMALLER_HEIGHT 32

static double sample_at(const struct fftd_format *format, const uint8_t *frame, unsigned plane,
                        unsigned offset, unsigned step, uint32_t x, uint32_t y)
{
    const struct fftd_plane *p = &format->plane[plane];
    const uint8_t *at = frame + p->offset + (size_t)y * p->stride + (size_t)x * step + offset;
    const struct format_info *info = format_by_fourcc(format->fourcc);
    return info->kind == SAMPLE_U16 ? at[0] + 256 * at[1] : at[0];
}

/* Smooth noise, so that rounding decides about few samples. */
static void fill(const struct format_info *info, uint8_t *frame, size_t bytes)
{
    uint64_t state = 7;
    for (size_t i = 0; i < bytes; i++)
        frame[i] = (uint8_t)(40 + 170 * reference_noise(&state));
    for (size_t i = 1; info->kind == SAMPLE_U16 && i < bytes; i += 2)
        frame[i] &= (uint8_t)((1u << (info->bits - 8)) - 1);
}

static void check_scene(const struct scene *scene, enum recipe_precision precision, bool by_taps,
                        enum plan_border border)
{
    const struct format_info *info = format_by_name(scene->captured);
    const uint32_t smaller_height = by_taps ? HEIGHT / TAPS_STRIDE : SMALLER_HEIGHT;
    struct fftd_format captured, format;
    struct filter_chain chain;
    struct error why = {""};
    struct engine *engine;
    struct engine_response *response = NULL;
    struct engine_options options = {.recipe.captured = info->fourcc,
                                     .recipe.captured_width = WIDTH,
                                     .recipe.captured_height = HEIGHT,
                                     .recipe.planes = scene->planes,
                                     .recipe.precision = precision,
                                     .border = border,
                                     .in_flight = 1};
    if (by_taps) {
        engine_set_reach(&options, device);
        options.recipe.stride = TAPS_STRIDE;
    }
    assert_int_equal(format_layout(&captured, info->fourcc, WIDTH, HEIGHT, 1, &why), 0);
    assert_int_equal(
        format_layout(&format,
                      engine_published(&(struct recipe){.planes = scene->planes}, info->fourcc),
                      SMALLER_WIDTH, smaller_height, 64, &why),
        0);
    assert_int_equal(filter_chain_parse(&chain, scene->chain, &why), 0);
    options.recipe = recipe_of(&chain, &options.recipe);
    options.recipe.shifts = scene->shift[0] != 0;
    if (engine_create(&engine, device, &format, &options, filter_chain_support(&chain), NULL, NULL,
                      &why) < 0 ||
        engine_design(engine, &chain, &response, &why) < 0)
        fail_msg("%s: %s", scene->captured, why.text);
    engine_apply(engine, response, 1);
    if (by_taps != (strstr(engine_description(engine), "direct") != NULL))
        fail_msg("%s: %s", scene->captured, engine_description(engine));
    uint8_t *in = malloc(captured.frame_bytes), *out = calloc(1, format.frame_bytes);
    fill(info, in, captured.frame_bytes);
    const struct engine_job job = {.out = out, .shift = {scene->shift[0], scene->shift[1]}};
    engine_frame(engine, job, &captured, in, scene->captured);
    if (scene->shift[0] != 0) {
        char moving[64];
        snprintf(moving, sizeof moving, "shift:by=%g/%g", scene->shift[0], scene->shift[1]);
        assert_int_equal(filter_chain_parse(&chain, moving, &why), 0);
    }

    unsigned plan = 0;
    for (unsigned i = 0; i < scene->samples; i++) {
        const unsigned sub_x = scene->sample[i].sub_x, sub_y = scene->sample[i].sub_y;
        const uint32_t width = WIDTH / sub_x, height = HEIGHT / sub_y;
        const uint32_t columns = SMALLER_WIDTH / sub_x, rows = smaller_height / sub_y;
        const bool is_grey = scene->planes == RECIPE_LUMA_ONLY;
        double *exact = malloc(sizeof *exact * width * height);
        double *expected = malloc(sizeof *expected * columns * rows);
        for (uint32_t y = 0; y < height; y++)
            for (uint32_t x = 0; x < width; x++)
                exact[y * width + x] =
                    sample_at(&captured, in, scene->sample[i].plane, scene->sample[i].offset,
                              scene->sample[i].step, x, y);
        if (scene->sample[i].passes) {
            reference_resample(exact, width, height, expected, columns, rows);
        } else {
            const struct plan *padded = engine_plan(engine, plan++);
            const struct reference reference = {.width = width,
                                                .height = height,
                                                .padded_x = padded->x.length,
                                                .padded_y = padded->y.length,
                                                .border = border,
                                                .sub_x = sub_x,
                                                .sub_y = sub_y,
                                                .chain = &chain};
            reference_smaller(&reference, exact, columns, rows, EDGE, expected);
        }
        const double white = (1u << info->bits) - 1;
        double worst = 0;
        for (uint32_t y = 0; y < rows; y++)
            for (uint32_t x = 0; x < columns; x++) {
                const double value =
                    is_grey ? out[format.plane[0].stride * y + x]
                            : sample_at(&format, out, scene->sample[i].plane,
                                        scene->sample[i].offset, scene->sample[i].step, x, y);
                const double want = fmin(fmax(expected[y * columns + x], 0), white);
                worst = fmax(worst, fabs(value - want));
            }
        /* Sums of numbers of 16 bits, which are rounded twice; taps may leave out half a step. */
        const double most = scene->sample[i].passes    ? 0.7
                            : by_taps                  ? 1.01
                            : precision == RECIPE_HALF ? 0.5 + white / 512
                                                       : 0.51;
        if (!(worst <= most))
            fail_msg("%s, samples %u, %s: off by %.2f", scene->captured, i, scene->chain, worst);
        free(exact);
        free(expected);
    }
    free(in);
    free(out);
    engine_destroy(engine);
}

static void test_formats(void **state)
{
    (void)state;
    static const struct scene scenes[] = {
        {"GREY", RECIPE_LUMA, "sharpen:sigma=2", {0}, 1, {{0, 0, 1, 1, 1, false}}},
        {"GREY", RECIPE_LUMA, "none", {5.25, -3.5}, 1, {{0, 0, 1, 1, 1, false}}},
        {"Y12", RECIPE_LUMA, "none", {0}, 1, {{0, 0, 2, 1, 1, false}}},
        {"NV12",
         RECIPE_LUMA,
         "gaussian-blur:sigma=2",
         {0},
         3,
         {{0, 0, 1, 1, 1, false}, {1, 0, 2, 2, 2, true}, {1, 1, 2, 2, 2, true}}},
        {"NV12",
         RECIPE_ALL,
         "gaussian-blur:sigma=2",
         {0},
         3,
         {{0, 0, 1, 1, 1, false}, {1, 0, 2, 2, 2, false}, {1, 1, 2, 2, 2, false}}},
        {"YUYV",
         RECIPE_LUMA,
         "gaussian-blur:sigma=1.5",
         {0},
         3,
         {{0, 0, 2, 1, 1, false}, {0, 1, 4, 2, 1, true}, {0, 3, 4, 2, 1, true}}},
        {"YUV420",
         RECIPE_ALL,
         "none",
         {0},
         3,
         {{0, 0, 1, 1, 1, false}, {1, 0, 1, 2, 2, false}, {2, 0, 1, 2, 2, false}}},
        {"YVU420",
         RECIPE_LUMA,
         "none",
         {0},
         3,
         {{0, 0, 1, 1, 1, false}, {1, 0, 1, 2, 2, true}, {2, 0, 1, 2, 2, true}}},
        {"UYVY",
         RECIPE_LUMA,
         "gaussian-blur:sigma=1.5",
         {0},
         3,
         {{0, 1, 2, 1, 1, false}, {0, 0, 4, 2, 1, true}, {0, 2, 4, 2, 1, true}}},
        {"UYVY", RECIPE_LUMA_ONLY, "none", {0}, 1, {{0, 1, 2, 1, 1, false}}},
        {"BGR24",
         RECIPE_ALL,
         "none",
         {0},
         3,
         {{0, 0, 3, 1, 1, false}, {0, 1, 3, 1, 1, false}, {0, 2, 3, 1, 1, false}}},
    };
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        check_scene(&scenes[i], RECIPE_FLOAT, false, PLAN_MIRROR);
        if (device_takes_every_layout() || i == 0)
            check_scene(&scenes[i], RECIPE_HALF, false, PLAN_MIRROR);
    }
}

/* Blurs for which a CPU makes smaller pictures by taps, for bytes with integers of 16 bits. */
static void test_formats_by_taps(void **state)
{
    (void)state;
    static const struct scene scenes[] = {
        {"GREY", RECIPE_LUMA, "gaussian-blur:sigma=3", {0}, 1, {{0, 0, 1, 1, 1, false}}},
        {"GREY", RECIPE_LUMA, "gaussian-blur:sigma=4", {0}, 1, {{0, 0, 1, 1, 1, false}}},
        {"Y12", RECIPE_LUMA, "gaussian-blur:sigma=3.2", {0}, 1, {{0, 0, 2, 1, 1, false}}},
        {"NV12",
         RECIPE_LUMA,
         "gaussian-blur:sigma=4",
         {0},
         3,
         {{0, 0, 1, 1, 1, false}, {1, 0, 2, 2, 2, true}, {1, 1, 2, 2, 2, true}}},
        {"YUYV",
         RECIPE_LUMA,
         "gaussian-blur:sigma=3",
         {0},
         3,
         {{0, 0, 2, 1, 1, false}, {0, 1, 4, 2, 1, true}, {0, 3, 4, 2, 1, true}}},
        {"UYVY", RECIPE_LUMA_ONLY, "gaussian-blur:sigma=3", {0}, 1, {{0, 1, 2, 1, 1, false}}},
        {"BGR24",
         RECIPE_ALL,
         "gaussian-blur:sigma=3",
         {0},
         3,
         {{0, 0, 3, 1, 1, false}, {0, 1, 3, 1, 1, false}, {0, 2, 3, 1, 1, false}}},
    };
    if (!gpu_device_is_cpu(device))
        skip();
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
        for (int border = 0; border < 2; border++)
            check_scene(&scenes[i], RECIPE_FLOAT, true, border ? PLAN_CONSTANT : PLAN_MIRROR);
}

/* What cannot become smaller says so before anything is built. */
static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *captured;
        enum recipe_planes planes;
        enum view_kind view;
        uint32_t width, height;
        const char *text;
    } cases[] = {
        {"NV12", RECIPE_LUMA, VIEW_PICTURE, 384, 96,
         "frames of 192x96 cannot become 384x96: expected at most their size"},
        {"NV12", RECIPE_LUMA, VIEW_PICTURE, 96, 47,
         "NV12 of 192x96 cannot become 96x47: expected multiples of 2x2"},
        {"GREY", RECIPE_LUMA, VIEW_PICTURE, 96, 8,
         "frames of 96x8 cannot be filtered: expected 16x16 .. 8192x8192"},
        {"GREY", RECIPE_LUMA, VIEW_SPECTRUM, 96, 48,
         "frames of 192x96 become 96x48, which no view can show: expected engine.view = picture, "
         "or output.size = auto"},
        {"RGB24", RECIPE_LUMA, VIEW_PICTURE, 96, 48,
         "RGB24 has no luma of its own, and cannot become smaller with engine.planes = luma: "
         "expected all or luma-only"},
        {"SRGGB8", RECIPE_ALL, VIEW_PICTURE, 96, 48,
         "the colours of SRGGB8 cannot become smaller: expected engine.planes = luma-only, or "
         "output.size = auto"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint32_t fourcc = format_by_name(cases[i].captured)->fourcc;
        const struct engine_options options = {.recipe.captured = fourcc,
                                               .recipe.captured_width = WIDTH,
                                               .recipe.captured_height = HEIGHT,
                                               .recipe.planes = cases[i].planes,
                                               .recipe.view = cases[i].view,
                                               .in_flight = 1};
        struct fftd_format format;
        struct engine *engine;
        struct error why = {""};
        assert_int_equal(
            format_layout(&format,
                          engine_published(&(struct recipe){.planes = cases[i].planes}, fourcc),
                          cases[i].width, cases[i].height, 64, &why),
            0);
        assert_int_equal(engine_create(&engine, device, &format, &options, 0, NULL, NULL, &why),
                         -EINVAL);
        assert_string_equal(why.text, cases[i].text);
    }
}

/* The search for settings measures smaller pictures, too. */
static void test_tuning(void **state)
{
    (void)state;
    const struct tuner_subject subject = {
        .device = device,
        .image = {.count = 1,
                  .width = 96,
                  .height = 64,
                  .stride = 96,
                  .step = 1,
                  .kind = SAMPLE_U8,
                  .bits = 8,
                  .smaller = {.width = 48, .height = 32, .stride = 64, .offset = 64, .step = 1}},
        .any_technique = true};
    struct tuner *tuner;
    struct tuner_progress progress;
    struct transform_tuning best;
    struct error why = {""};
    assert_int_equal(tuner_create(&tuner, &subject, false, &why), 0);
    for (int i = 0; i < 3; i++)
        if (tuner_step(tuner, &why) < 0)
            fail_msg("%s", why.text);
    tuner_get_progress(tuner, &progress);
    tuner_get_best(tuner, &best);
    assert_true(progress.best_ms > 0);
    assert_int_equal(best.technique, TRANSFORM_FUSED);
    tuner_destroy(tuner);
}

/* ---- cost ---------------------------------------------------------------------------------- */

#define COST_TURNS 15

struct timed {
    struct transform *transform;
    struct transform_frame *frame;
    struct transform_buffers buffers;
    double least_ms;
};

static void begin_timed(struct timed *ret, uint32_t width, uint32_t height, unsigned divisor)
{
    const struct transform_image image = {.count = 1,
                                          .width = width,
                                          .height = height,
                                          .stride = width,
                                          .step = 1,
                                          .kind = SAMPLE_U8,
                                          .bits = 8,
                                          .smaller = {.width = divisor > 1 ? width / divisor : 0,
                                                      .height = divisor > 1 ? height / divisor : 0,
                                                      .stride = width / divisor,
                                                      .step = 1}};
    const struct transform_border border = {.mode = PLAN_MIRROR};
    const struct filter_chain none = {.count = 0};
    struct transform_tuning tuning;
    struct error why = {""}, warning = {""};
    uint8_t *grey = calloc(height, width);
    transform_default_tuning(&tuning, device);
    if (transform_create(&ret->transform, device, &image, &border, &tuning, NULL, &warning, &why) <
        0)
        fail_msg("%s", why.text);
    void *response = malloc(transform_response_bytes(ret->transform));
    uint32_t band;
    assert_int_equal(transform_response_fill(ret->transform, response, &none, 1, 1, &band, &why),
                     0);
    ret->buffers = (struct transform_buffers){
        .image = device_buffer((size_t)width * height, grey),
        .result = device_buffer((size_t)width * height, NULL),
        .response = {device_buffer(transform_response_bytes(ret->transform), response), band}};
    assert_int_equal(transform_frame_create(&ret->frame, ret->transform, &why), 0);
    ret->least_ms = HUGE_VAL;
    free(response);
    free(grey);
}

static void time_once(struct timed *timed)
{
    cl_event first = NULL, last = NULL;
    cl_ulong start = 0, end = 0;
    struct error why = {""};
    if (transform_frame_enqueue(timed->frame, queue, &timed->buffers, &first, &last, &why) < 0)
        fail_msg("%s", why.text);
    assert_int_equal(clFinish(queue), CL_SUCCESS);
    clGetEventProfilingInfo(first, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
    clGetEventProfilingInfo(last, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    clReleaseEvent(first);
    clReleaseEvent(last);
    timed->least_ms = fmin(timed->least_ms, (double)(end - start) / 1e6);
}

static void end_timed(struct timed *timed)
{
    transform_frame_destroy(timed->frame);
    transform_destroy(timed->transform);
    clReleaseMemObject(timed->buffers.image);
    clReleaseMemObject(timed->buffers.result);
    clReleaseMemObject(timed->buffers.response.numbers);
}

/* The least time of the kernels of a frame in turns. On a processor, where each number costs the
 * same, a smaller picture costs less than the frame in its own size, and the smaller the less. */
static void test_cost(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{1280, 720}, {1920, 1080}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct timed full, half, quarter;
        if (!device_takes(sizes[i][0], sizes[i][1]) || (i > 0 && !device_takes_every_layout()))
            continue;
        begin_timed(&full, sizes[i][0], sizes[i][1], 1);
        begin_timed(&half, sizes[i][0], sizes[i][1], 2);
        begin_timed(&quarter, sizes[i][0], sizes[i][1], 4);
        for (unsigned turn = 0; turn < COST_TURNS; turn++) {
            time_once(&full);
            time_once(&half);
            time_once(&quarter);
        }
        print_message("# %ux%u: full %.3f ms, half %.0f %%, quarter %.0f %% of it\n", sizes[i][0],
                      sizes[i][1], full.least_ms, 100 * half.least_ms / full.least_ms,
                      100 * quarter.least_ms / full.least_ms);
        if (gpu_device_is_cpu(device)) {
            assert_true(half.least_ms < full.least_ms);
            assert_true(quarter.least_ms < half.least_ms);
        }
        end_timed(&full);
        end_timed(&half);
        end_timed(&quarter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_taps),
        cmocka_unit_test(test_zone_plate),
        cmocka_unit_test(test_ringing),
        cmocka_unit_test(test_sides_that_cannot_be_had),
        cmocka_unit_test(test_other_techniques),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_formats_by_taps),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_tuning),
        cmocka_unit_test(test_cost),
    };
    return cmocka_run_group_tests_name("smaller pictures", tests, queue_setup, queue_teardown);
}
