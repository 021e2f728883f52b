#include "support/beside_fused.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/chains.h"
#include "support/cmocka.h"
#include "support/device.h"
#include "support/engine_frame.h"
#include "support/reference.h"

/* ---- frames ---- */

uint8_t *beside_frame(const struct scene *scene, const struct fftd_format *captured)
{
    const struct format_info *info = format_by_name(scene->captured);
    uint8_t *frame = malloc(captured->frame_bytes);
    uint64_t seed = captured->fourcc;
    for (uint32_t i = 0; i < captured->frame_bytes; i++)
        frame[i] = (uint8_t)(20 + 210 * reference_noise(&seed));
    for (uint32_t i = 1; info->bits > 8 && i < captured->frame_bytes; i += 2)
        frame[i] = (uint8_t)(frame[i] >> (16 - info->bits));
    return frame;
}

void beside_lay_out(struct fftd_format *ret_format, struct fftd_format *ret_captured,
                    const struct scene *scene)
{
    const struct format_info *info = format_by_name(scene->captured);
    const uint32_t width = scene->width > 0 ? scene->width : BESIDE_WIDTH;
    const uint32_t height = scene->height > 0 ? scene->height : BESIDE_HEIGHT;
    struct error why;
    if (format_layout(ret_format,
                      engine_published(&(struct recipe){.planes = scene->planes}, info->fourcc),
                      width, height, 64, &why) < 0 ||
        format_layout(ret_captured, info->fourcc, width, height, 1, &why) < 0)
        fail_msg("%s", why.text);
}

struct engine *beside_engine(const struct beside *beside, bool is_fused, const struct scene *scene,
                             const struct filter_chain *chain, const struct fftd_format *format)
{
    const struct taps_reach whole = {.is_short = false};
    const struct recipe settings = {.precision = is_fused ? RECIPE_FLOAT : scene->precision,
                                    .planes = scene->planes,
                                    .captured = format_by_name(scene->captured)->fourcc,
                                    .view = scene->view,
                                    .reach = is_fused ? whole : beside->most,
                                    .chroma_reach = is_fused ? whole : beside->most};
    const struct engine_options options = {
        .recipe = recipe_of(chain, &settings),
        .technique = is_fused ? ENGINE_FUSED : beside->technique,
        .border = scene->border,
        .border_value = beside->border_value,
        .margin = (int)beside->margin,
        .in_flight = 1,
    };
    struct engine_response *response = NULL;
    struct engine *engine;
    struct error why;
    if (engine_create(&engine, device, format, &options, 0, NULL, NULL, &why) < 0 ||
        engine_design(engine, chain, &response, &why) < 0)
        fail_msg("%s, %s: %s", scene->captured, scene->chain, why.text);
    engine_apply(engine, response, 1);
    if (!is_fused && strncmp(engine_description(engine), beside->name, strlen(beside->name)) != 0)
        fail_msg("%s, %s: %s", scene->captured, scene->chain, engine_description(engine));
    return engine;
}

void beside_run(struct engine *engine, const struct scene *scene,
                const struct fftd_format *captured, const uint8_t *in, void *out)
{
    static float gain[BESIDE_HEIGHT];
    const struct correction correction = {
        .row_gain = gain,
        .wave_count = 2,
        .wave = {{.fx = 0.21, .fy = 0.13, .re = 9, .im = 4}, {.fx = -0.03, .fy = 0.4, .re = -3}}};
    struct engine_job job = {.out = out, .correction = scene->is_corrected ? &correction : NULL};
    if (strstr(scene->chain, TURNED) != NULL)
        job.similarity =
            (struct similarity){.dx = 2.3, .dy = -1.7, .angle_rad = 0.03, .log_zoom = 0.02};
    for (unsigned i = 0; i < BESIDE_HEIGHT; i++)
        gain[i] = 0.8f + 0.4f * (float)(i % 7) / 7;
    engine_frame(engine, job, captured, in, scene->chain);
}

static unsigned sample_at(const uint8_t *frame, uint32_t i, bool is_wide)
{
    return is_wide ? frame[2 * i] | (unsigned)frame[2 * i + 1] << 8 : frame[i];
}

void beside_compare(const struct scene *scene, const struct fftd_format *format, const uint8_t *out,
                    const uint8_t *expected)
{
    const struct format_info *info = format_by_name(scene->captured);
    const bool is_wide = info->bits > 8 && info->family == FAMILY_GREY;
    const uint32_t count = format->frame_bytes / (is_wide ? 2 : 1);
    const unsigned most = scene->view == VIEW_DIFFERENCE ? VIEW_GAIN : 1;
    unsigned differing = 0;
    for (uint32_t i = 0; i < count; i++) {
        const unsigned a = sample_at(out, i, is_wide), b = sample_at(expected, i, is_wide);
        differing += a != b;
        /* Edges are where the greatest change is, which may be either of two. */
        if ((a > b ? a - b : b - a) > most && scene->view != VIEW_EDGES)
            fail_msg("%s, %s, border %d, sample %u: %u, expected %u", scene->captured, scene->chain,
                     (int)scene->border, i, a, b);
    }
    print_message("# %s, %s: %u of %u differ\n", scene->captured, scene->chain, differing, count);
    if (differing > count / 25)
        fail_msg("%s, %s: %u of %u samples differ", scene->captured, scene->chain, differing,
                 count);
}

static void check_scene(const struct beside *beside, const struct scene *scene)
{
    const struct filter_chain chain = chain_of(scene->chain);
    struct fftd_format format, captured;
    beside_lay_out(&format, &captured, scene);
    uint8_t *in = beside_frame(scene, &captured);
    uint8_t *result[2];
    for (int is_fused = 0; is_fused < 2; is_fused++) {
        struct engine *engine = beside_engine(beside, is_fused, scene, &chain, &format);
        result[is_fused] = calloc(1, format.frame_bytes);
        beside_run(engine, scene, &captured, in, result[is_fused]);
        engine_destroy(engine);
    }
    beside_compare(scene, &format, result[false], result[true]);
    free(in);
    free(result[0]);
    free(result[1]);
}

void beside_check(const struct beside *beside, const struct scene *scenes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_scene(beside, &scenes[i]);
}

void beside_check_as_on_a_gpu(const struct beside *beside, const struct scene *scenes, size_t count)
{
    const cl_device_type type = device->type;
    device->type = CL_DEVICE_TYPE_GPU;
    beside_check(beside, scenes, count);
    device->type = type;
}

/* ---- floats ---- */

const struct transform_image beside_floats = {.count = 1,
                                              .width = BESIDE_WIDTH,
                                              .height = BESIDE_HEIGHT,
                                              .stride = BESIDE_WIDTH * 4,
                                              .step = 4,
                                              .kind = SAMPLE_F32,
                                              .bits = 8};

/* Runs a transform once on floats. */
static void filter(struct transform *transform, const struct filter_chain *chain, const float *in,
                   float *out)
{
    const size_t size = (size_t)BESIDE_WIDTH * BESIDE_HEIGHT * sizeof *in;
    void *values = malloc(transform_response_bytes(transform));
    struct transform_frame *frame = NULL;
    struct error why;
    cl_int code;
    if (transform_response_fill(transform, values, chain, 1, 1, NULL, &why) < 0 ||
        transform_frame_create(&frame, transform, &why) < 0)
        fail_msg("%s", why.text);
    const struct transform_buffers buffers = {
        .image = device_buffer(size, in),
        .result = device_buffer(size, NULL),
        .response.numbers = device_buffer(transform_response_bytes(transform), values)};
    cl_command_queue queue = clCreateCommandQueue(device->context, device->id, 0, &code);
    if (transform_frame_enqueue(frame, queue, &buffers, NULL, NULL, &why) < 0)
        fail_msg("%s", why.text);
    assert_int_equal(
        clEnqueueReadBuffer(queue, buffers.result, CL_TRUE, 0, size, out, 0, NULL, NULL),
        CL_SUCCESS);
    free(values);
    transform_frame_destroy(frame);
    clReleaseCommandQueue(queue);
    clReleaseMemObject(buffers.image);
    clReleaseMemObject(buffers.result);
    clReleaseMemObject(buffers.response.numbers);
}

double beside_error_of(struct transform *transform, const struct filter_chain *chain,
                       enum plan_border mode, uint32_t margin)
{
    enum { COUNT = BESIDE_WIDTH * BESIDE_HEIGHT };
    static float in[COUNT], out[COUNT];
    static double exact_in[COUNT], exact[COUNT];
    const struct reference reference = {.width = BESIDE_WIDTH,
                                        .height = BESIDE_HEIGHT,
                                        .padded_x = BESIDE_WIDTH + margin,
                                        .padded_y = BESIDE_HEIGHT + margin,
                                        .border = mode,
                                        .border_value = 100,
                                        .sub_x = 1,
                                        .sub_y = 1,
                                        .chain = chain};
    uint64_t seed = 5;
    double worst = 0;
    for (unsigned i = 0; i < COUNT; i++)
        exact_in[i] = in[i] = (float)(255 * reference_noise(&seed));
    filter(transform, chain, in, out);
    reference_filter(&reference, exact_in, exact);
    for (unsigned i = 0; i < COUNT; i++)
        worst = fmax(worst, fabs((double)out[i] - exact[i]));
    return worst;
}
