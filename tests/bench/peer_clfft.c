/* clFFT, real to complex and back, out of place, with the product as a separate kernel between.
 * Strides and distances are set explicitly, because clFFT's defaults for real data differ. */
#include "fft.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <clFFT.h>

struct run {
    const struct scene *scene;
    cl_mem image, result, spectrum;
    clfftPlanHandle forward, inverse;
    struct product product;
};

static void print_version(char *text, size_t size)
{
    cl_uint major = 0, minor = 0, patch = 0;
    clfftGetVersion(&major, &minor, &patch);
    snprintf(text, size, "%u.%u.%u", major, minor, patch);
}

static int clfft_fail(struct error *why, clfftStatus code, const char *what)
{
    const bool size = code == CLFFT_NOTIMPLEMENTED || code == CLFFT_INVALID_ARG_VALUE;
    return error_set(why, size ? ENOTSUP : EIO, "%s: clFFT error %d", what, (int)code);
}

/* Sets clFFT up once for all runs. */
static int start_library(struct error *why)
{
    static bool started;
    clfftSetupData setup;
    if (started)
        return 0;
    clfftStatus code = clfftInitSetupData(&setup);
    if (code == CLFFT_SUCCESS)
        code = clfftSetup(&setup);
    if (code != CLFFT_SUCCESS)
        return clfft_fail(why, code, "clfftSetup");
    started = true;
    atexit((void (*)(void))clfftTeardown);
    return 0;
}

static void run_close(void *state)
{
    struct run *run = state;
    if (run == NULL)
        return;
    if (run->forward != 0)
        clfftDestroyPlan(&run->forward);
    if (run->inverse != 0)
        clfftDestroyPlan(&run->inverse);
    fft_product_close(&run->product);
    fft_buffer_release(run->image);
    fft_buffer_release(run->result);
    fft_buffer_release(run->spectrum);
    free(run);
}

static int make_plan(clfftPlanHandle *ret, const struct scene *scene, bool forward,
                     struct error *why)
{
    const size_t lengths[] = {scene->width, scene->height};
    const size_t pitch = scene->width / 2 + 1;
    size_t real[] = {1, scene->width}, complex[] = {1, pitch};
    const size_t real_count = real[1] * scene->height, complex_count = pitch * scene->height;
    cl_command_queue queue = scene->queue;
    clfftStatus code = clfftCreateDefaultPlan(ret, scene->device->context, CLFFT_2D, lengths);
    if (code != CLFFT_SUCCESS)
        return clfft_fail(why, code, "clfftCreateDefaultPlan");
    if ((code = clfftSetPlanPrecision(*ret, CLFFT_SINGLE)) != CLFFT_SUCCESS ||
        (code = clfftSetResultLocation(*ret, CLFFT_OUTOFPLACE)) != CLFFT_SUCCESS ||
        (code = clfftSetLayout(*ret, forward ? CLFFT_REAL : CLFFT_HERMITIAN_INTERLEAVED,
                               forward ? CLFFT_HERMITIAN_INTERLEAVED : CLFFT_REAL)) !=
            CLFFT_SUCCESS ||
        (code = clfftSetPlanInStride(*ret, CLFFT_2D, forward ? real : complex)) != CLFFT_SUCCESS ||
        (code = clfftSetPlanOutStride(*ret, CLFFT_2D, forward ? complex : real)) != CLFFT_SUCCESS ||
        (code = clfftSetPlanDistance(*ret, forward ? real_count : complex_count,
                                     forward ? complex_count : real_count)) != CLFFT_SUCCESS ||
        (code = clfftSetPlanScale(*ret, CLFFT_BACKWARD, 1)) != CLFFT_SUCCESS)
        return clfft_fail(why, code, "clfftSetPlan...");
    code = clfftBakePlan(*ret, 1, &queue, NULL, NULL);
    return code == CLFFT_SUCCESS ? 0 : clfft_fail(why, code, "clfftBakePlan");
}

static int run_open(void **ret, const struct subject *subject, const struct scene *scene,
                    struct cost *cost, struct error *why)
{
    const size_t samples_bytes = (size_t)scene->width * scene->height * sizeof(float);
    const size_t spectrum_bytes =
        (scene->width / 2 + 1) * (size_t)scene->height * 2 * sizeof(float);
    struct run *run = calloc(1, sizeof *run);
    (void)subject;
    if (run == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a run");
    run->scene = scene;
    int r = start_library(why);
    if (r == 0)
        r = fft_buffer(&run->image, scene, samples_bytes, scene->samples, why);
    if (r == 0)
        r = fft_buffer(&run->result, scene, samples_bytes, NULL, why);
    if (r == 0)
        r = fft_buffer(&run->spectrum, scene, spectrum_bytes, NULL, why);
    if (r == 0)
        r = make_plan(&run->forward, scene, true, why);
    if (r == 0)
        r = make_plan(&run->inverse, scene, false, why);
    if (r == 0)
        r = fft_product_open(&run->product, scene, run->spectrum, why);
    if (r < 0) {
        run_close(run);
        return r;
    }
    cost->response_bytes = 4;
    *ret = run;
    return 0;
}

static int transform(struct run *run, clfftPlanHandle plan, clfftDirection direction, cl_mem *in,
                     cl_mem *out, struct error *why)
{
    cl_command_queue queue = run->scene->queue;
    const clfftStatus code =
        clfftEnqueueTransform(plan, direction, 1, &queue, 0, NULL, NULL, in, out, NULL);
    return code == CLFFT_SUCCESS ? 0 : clfft_fail(why, code, "clfftEnqueueTransform");
}

static int run_enqueue(void *state, struct error *why)
{
    struct run *run = state;
    int r = transform(run, run->forward, CLFFT_FORWARD, &run->image, &run->spectrum, why);
    if (r == 0)
        r = fft_product_enqueue(&run->product, why);
    if (r == 0)
        r = transform(run, run->inverse, CLFFT_BACKWARD, &run->spectrum, &run->result, why);
    return r < 0 ? r : fft_submit(run->scene->queue, why);
}

static int run_finish(void *state, struct error *why)
{
    const struct run *run = state;
    return fft_finish(run->scene, why);
}

static int run_read(void *state, float *result, struct error *why)
{
    const struct run *run = state;
    const size_t size = (size_t)run->scene->width * run->scene->height * sizeof *result;
    const cl_int code = clEnqueueReadBuffer(run->scene->queue, run->result, CL_TRUE, 0, size,
                                            result, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueReadBuffer");
}

static const struct subject subjects[] = {{.name = "clFFT R2C", .error_limit = 1e-5}};

const struct peer peer_clfft = {
    .name = "clFFT",
    .version = print_version,
    .subjects = subjects,
    .subject_count = sizeof subjects / sizeof subjects[0],
    .open = run_open,
    .enqueue = run_enqueue,
    .finish = run_finish,
    .read = run_read,
    .close = run_close,
};
