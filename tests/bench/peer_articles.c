/* The published pipeline that fftd grew from: ARM's articles on a mixed-radix FFT in OpenCL on the
 * Mali GPU, with every improvement they found. It has four rounds, one for each axis and direction:
 * a gather into digit-reversed order, one in-place kernel for each radix stage with merged
 * twiddles, and a transpose in blocks of 2x2. The product is between the forward and the inverse
 * transform. articles/arm.cl describes each kernel. */
#include "fft.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STAGES 16
#define MAX_STEPS  (4 * (MAX_STAGES + 2) + 1)

enum variant { TABLE, SINCOS };

struct axis {
    uint32_t length, radix[MAX_STAGES], stage_count;
    cl_mem index;             /* digit-reversed order, uint */
    cl_mem table[MAX_STAGES]; /* twiddles of all stages but the first */
};

struct step {
    cl_kernel kernel;
    size_t global[2], local[2]; /* local 0: the driver's choice */
};

struct run {
    const struct scene *scene;
    enum variant variant;
    struct axis x, y;
    cl_program forward, inverse;
    cl_mem image, response;
    cl_mem work[2]; /* complex frames */
    cl_mem result;  /* one of them */
    struct step step[MAX_STEPS];
    unsigned step_count;
};

static void print_version(char *text, size_t size)
{
    snprintf(text, size, "%s", "as published");
}

/* ---- tables ---- */

static int factor(struct axis *axis, uint32_t length)
{
    static const uint32_t radices[] = {8, 7, 5, 4, 3, 2};
    uint32_t rest = length;
    axis->length = length;
    for (size_t i = 0; i < sizeof radices / sizeof radices[0]; i++)
        for (; rest % radices[i] == 0 && axis->stage_count < MAX_STAGES; rest /= radices[i])
            axis->radix[axis->stage_count++] = radices[i];
    return rest == 1 && axis->stage_count > 0 ? 0 : -ENOTSUP;
}

/* Returns the source index of the number at index n: the articles' map from n to k, stage by stage.
 */
static uint32_t digit_reversed(const struct axis *axis, uint32_t n)
{
    uint32_t nx = axis->radix[0];
    for (unsigned i = 1; i < axis->stage_count; i++) {
        const uint32_t ny = axis->radix[i], ni = nx * ny;
        n = n * ny % ni + n / nx % ny + n / ni * ni;
        nx = ni;
    }
    return n;
}

static int make_index(struct axis *axis, const struct scene *scene, struct error *why)
{
    cl_uint *index = malloc(axis->length * sizeof *index);
    if (index == NULL)
        return error_set(why, ENOMEM, "out of memory while computing an index");
    for (uint32_t n = 0; n < axis->length; n++)
        index[n] = digit_reversed(axis, n);
    const int r = fft_buffer(&axis->index, scene, axis->length * sizeof *index, index, why);
    free(index);
    return r;
}

/* (cos, sin) of nx j times the stage's angle: leg j = 1 .. radix - 1, nx = 0 .. span - 1. */
static int make_table(cl_mem *ret, const struct scene *scene, uint32_t span, uint32_t radix,
                      struct error *why)
{
    const size_t size = (size_t)span * (radix - 1) * 2 * sizeof(float);
    float *table = malloc(size), *entry = table;
    if (table == NULL)
        return error_set(why, ENOMEM, "out of memory while computing twiddle factors");
    for (uint32_t j = 1; j < radix; j++)
        for (uint32_t nx = 0; nx < span; nx++) {
            const double phi = 2 * M_PI * nx * j / (span * radix);
            *entry++ = (float)cos(phi);
            *entry++ = (float)sin(phi);
        }
    const int r = fft_buffer(ret, scene, size, table, why);
    free(table);
    return r;
}

static int make_axis(struct axis *axis, const struct run *run, uint32_t length, struct error *why)
{
    if (factor(axis, length) < 0 || length % 2 != 0)
        return error_set(why, ENOTSUP, "a length of %u: expected an even product of 2, 3, 5 and 7",
                         length);
    int r = make_index(axis, run->scene, why);
    uint32_t span = axis->radix[0];
    for (unsigned i = 1; i < axis->stage_count && r == 0; i++) {
        if (run->variant == TABLE)
            r = make_table(&axis->table[i], run->scene, span, axis->radix[i], why);
        span *= axis->radix[i];
    }
    return r;
}

/* The response of all frequencies; those on the right are the conjugates of those on the left. */
static int make_response(struct run *run, struct error *why)
{
    const uint32_t width = run->scene->width, height = run->scene->height;
    const size_t pitch = width / 2 + 1, size = (size_t)width * height * sizeof(float);
    float *response = malloc(size), *entry = response;
    if (response == NULL)
        return error_set(why, ENOMEM, "out of memory while computing the response");
    for (uint32_t v = 0; v < height; v++)
        for (uint32_t u = 0; u < width; u++)
            *entry++ = u <= width / 2
                           ? run->scene->response[v * pitch + u]
                           : run->scene->response[(height - v) % height * pitch + width - u];
    const int r = fft_buffer(&run->response, run->scene, size, response, why);
    free(response);
    return r;
}

static int make_buffers(struct run *run, struct error *why)
{
    const size_t count = (size_t)run->scene->width * run->scene->height;
    const size_t size = 2 * count * sizeof(float);
    float *image = calloc(2 * count, sizeof *image);
    if (image == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a frame");
    for (size_t i = 0; i < count; i++)
        image[2 * i] = run->scene->samples[i];
    int r = fft_buffer(&run->image, run->scene, size, image, why);
    for (int i = 0; i < 2 && r == 0; i++)
        r = fft_buffer(&run->work[i], run->scene, size, NULL, why);
    free(image);
    return r;
}

/* ---- steps ---- */

static int add_step(struct run *run, cl_program program, const char *name, const cl_mem *buffers,
                    unsigned buffer_count, size_t across, size_t down, struct step **ret,
                    struct error *why)
{
    struct step *step = &run->step[run->step_count];
    const int r = fft_kernel(&step->kernel, program, name, buffers, buffer_count, why);
    if (r < 0)
        return r;
    run->step_count++;
    step->global[0] = across;
    step->global[1] = down;
    *ret = step;
    return 0;
}

static int add_stage(struct run *run, cl_program program, const struct axis *axis, unsigned stage,
                     uint32_t span, size_t rows, cl_mem data, struct error *why)
{
    const uint32_t radix = axis->radix[stage];
    char name[16];
    struct step *step;
    snprintf(name, sizeof name, "%s_%u", stage == 0 ? "first" : "stage", radix);
    int r = add_step(run, program, name, &data, 1, axis->length / radix, rows, &step, why);
    if (r < 0)
        return r;
    const float phi_step = (float)(2 * M_PI / (span * radix));
    cl_int code = clSetKernelArg(step->kernel, 1, sizeof axis->length, &axis->length);
    if (stage > 0 && code == CL_SUCCESS)
        code = clSetKernelArg(step->kernel, 2, sizeof span, &span);
    if (stage > 0 && code == CL_SUCCESS)
        code = run->variant == TABLE
                   ? clSetKernelArg(step->kernel, 3, sizeof(cl_mem), &axis->table[stage])
                   : clSetKernelArg(step->kernel, 3, sizeof phi_step, &phi_step);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clSetKernelArg");
}

/* Chooses groups of 2x4 or 1x2 work-items if they divide half the size, otherwise the driver's. */
static void set_transpose_group(struct step *step)
{
    if (step->global[0] % 2 == 0 && step->global[1] % 4 == 0) {
        step->local[0] = 2;
        step->local[1] = 4;
    } else if (step->global[1] % 2 == 0) {
        step->local[0] = 1;
        step->local[1] = 2;
    }
}

/* Sets *data to the result. */
static int add_transpose(struct run *run, cl_program program, uint32_t width, uint32_t height,
                         cl_mem *data, struct error *why)
{
    const bool square = width == height;
    const cl_mem other = *data == run->work[0] ? run->work[1] : run->work[0];
    const cl_mem buffers[] = {*data, other};
    struct step *step;
    int r = add_step(run, program, square ? "transpose_square" : "transpose", buffers,
                     square ? 1 : 2, width / 2, height / 2, &step, why);
    if (r < 0)
        return r;
    cl_int code = clSetKernelArg(step->kernel, square ? 1 : 2, sizeof width, &width);
    if (!square && code == CL_SUCCESS)
        code = clSetKernelArg(step->kernel, 3, sizeof height, &height);
    set_transpose_group(step);
    *data = square ? *data : other;
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clSetKernelArg");
}

/* Transforms `rows` rows from *data and transposes. Sets *data to the result. */
static int add_rows(struct run *run, cl_program program, const struct axis *axis, uint32_t rows,
                    cl_mem *data, struct error *why)
{
    const cl_mem other = *data == run->work[0] ? run->work[1] : run->work[0];
    const cl_mem buffers[] = {*data, other, axis->index};
    struct step *step;
    int r = add_step(run, program, "digit_reverse", buffers, 3, axis->length, rows, &step, why);
    if (r < 0)
        return r;
    const cl_int code = clSetKernelArg(step->kernel, 3, sizeof axis->length, &axis->length);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clSetKernelArg");
    *data = other;
    uint32_t span = 1;
    for (unsigned i = 0; i < axis->stage_count && r == 0; i++) {
        r = add_stage(run, program, axis, i, span, rows, *data, why);
        span *= axis->radix[i];
    }
    return r < 0 ? r : add_transpose(run, program, axis->length, rows, data, why);
}

static int make_steps(struct run *run, struct error *why)
{
    const uint32_t width = run->scene->width, height = run->scene->height;
    cl_mem data = run->image;
    struct step *step;
    int r = add_rows(run, run->forward, &run->x, height, &data, why);
    if (r == 0)
        r = add_rows(run, run->forward, &run->y, width, &data, why);
    const cl_mem buffers[] = {data, run->response};
    if (r == 0)
        r = add_step(run, run->forward, "multiply_all", buffers, 2, width, height, &step, why);
    if (r == 0)
        r = add_rows(run, run->inverse, &run->x, height, &data, why);
    if (r == 0)
        r = add_rows(run, run->inverse, &run->y, width, &data, why);
    run->result = data;
    return r;
}

/* ---- a run ---- */

static void release_axis(struct axis *axis)
{
    fft_buffer_release(axis->index);
    for (unsigned i = 0; i < MAX_STAGES; i++)
        fft_buffer_release(axis->table[i]);
}

static void run_close(void *state)
{
    struct run *run = state;
    if (run == NULL)
        return;
    for (unsigned i = 0; i < run->step_count; i++)
        clReleaseKernel(run->step[i].kernel);
    if (run->forward != NULL)
        clReleaseProgram(run->forward);
    if (run->inverse != NULL)
        clReleaseProgram(run->inverse);
    release_axis(&run->x);
    release_axis(&run->y);
    fft_buffer_release(run->image);
    fft_buffer_release(run->response);
    fft_buffer_release(run->work[0]);
    fft_buffer_release(run->work[1]);
    free(run);
}

static int run_open(void **ret, const struct subject *subject, const struct scene *scene,
                    struct cost *cost, struct error *why)
{
    struct run *run = calloc(1, sizeof *run);
    if (run == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a run");
    run->scene = scene;
    run->variant = (enum variant)subject->variant;
    const bool table = run->variant == TABLE;
    int r = make_axis(&run->x, run, scene->width, why);
    if (r == 0)
        r = make_axis(&run->y, run, scene->height, why);
    if (r == 0)
        r = make_response(run, why);
    if (r == 0)
        r = make_buffers(run, why);
    if (r == 0)
        r = fft_program(&run->forward, scene, "arm.cl", table ? "" : "-DSINCOS", why);
    if (r == 0)
        r = fft_program(&run->inverse, scene, "arm.cl", table ? "-DINVERSE" : "-DINVERSE -DSINCOS",
                        why);
    if (r == 0)
        r = make_steps(run, why);
    if (r < 0) {
        run_close(run);
        return r;
    }
    /* Every step reads and writes all complex numbers; the product reads the response, too. */
    cost->bytes_per_pixel = 16. * run->step_count + 4;
    *ret = run;
    return 0;
}

static int run_enqueue(void *state, struct error *why)
{
    const struct run *run = state;
    for (unsigned i = 0; i < run->step_count; i++) {
        const struct step *step = &run->step[i];
        const cl_int code =
            clEnqueueNDRangeKernel(run->scene->queue, step->kernel, 2, NULL, step->global,
                                   step->local[0] > 0 ? step->local : NULL, 0, NULL, NULL);
        if (code != CL_SUCCESS)
            return opencl_fail(why, code, "clEnqueueNDRangeKernel");
    }
    return fft_submit(run->scene->queue, why);
}

static int run_finish(void *state, struct error *why)
{
    const struct run *run = state;
    return fft_finish(run->scene, why);
}

static int run_read(void *state, float *result, struct error *why)
{
    const struct run *run = state;
    const size_t count = (size_t)run->scene->width * run->scene->height;
    const size_t size = 2 * count * sizeof(float);
    float *values = malloc(size);
    if (values == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a frame");
    const cl_int code = clEnqueueReadBuffer(run->scene->queue, run->result, CL_TRUE, 0, size,
                                            values, 0, NULL, NULL);
    for (size_t i = 0; code == CL_SUCCESS && i < count; i++)
        result[i] = values[2 * i];
    free(values);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueReadBuffer");
}

static const struct subject subjects[] = {
    {.name = "articles, table twiddles", .variant = TABLE, .error_limit = 1e-5},
    {.name = "articles, sincos twiddles", .variant = SINCOS, .error_limit = 1e-5},
};

const struct peer peer_articles = {
    .name = "the articles' pipeline",
    .version = print_version,
    .subjects = subjects,
    .subject_count = sizeof subjects / sizeof subjects[0],
    .open = run_open,
    .enqueue = run_enqueue,
    .finish = run_finish,
    .read = run_read,
    .close = run_close,
};
