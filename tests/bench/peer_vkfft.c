/* VkFFT on OpenCL, real to complex, in two variants: with the product as a separate kernel between
 * forward and inverse, and with VkFFT's convolution, which does forward, product and inverse of the
 * last axis in one dispatch; the convolution also runs for two frames in one buffer, as two VkFFT
 * coordinates with a kernel each, because VkFFT batches do not support convolutions. */
#define VKFFT_BACKEND 3 /* OpenCL */

#include "fft.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <vkFFT.h>

enum variant { SEPARATE, CONVOLUTION, PAIRS };

struct run {
    const struct scene *scene;
    enum variant variant;
    unsigned frames; /* consecutive images and spectra */
    /* SEPARATE: both ways; the others: all at once. */
    VkFFTApplication app;
    cl_mem image, result, spectrum, kernel;
    uint64_t image_bytes, spectrum_bytes;
    struct product product;
};

static void print_version(char *text, size_t size)
{
    const int version = VkFFTGetVersion();
    snprintf(text, size, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

static void run_close(void *state)
{
    struct run *run = state;
    if (run == NULL)
        return;
    deleteVkFFT(&run->app);
    fft_product_close(&run->product);
    fft_buffer_release(run->image);
    fft_buffer_release(run->result);
    fft_buffer_release(run->spectrum);
    fft_buffer_release(run->kernel);
    free(run);
}

static int vkfft_fail(struct error *why, VkFFTResult code, const char *what)
{
    const bool size =
        code >= VKFFT_ERROR_UNSUPPORTED_RADIX && code < VKFFT_ERROR_FAILED_TO_ALLOCATE;
    return error_set(why, size ? ENOTSUP : EIO, "%s: VkFFT error %d", what, (int)code);
}

/* Real rows without padding in `image`, half spectra in `spectrum`. VkFFT keeps all these pointers.
 */
static VkFFTConfiguration configuration(struct run *run)
{
    const uint64_t pixels = (uint64_t)run->scene->width * run->scene->height;
    VkFFTConfiguration c = {
        .FFTdim = 2,
        .size = {run->scene->width, run->scene->height},
        .device = (cl_device_id *)&run->scene->device->id,
        .context = (cl_context *)&run->scene->device->context,
        .performR2C = 1,
        .coordinateFeatures = run->frames,
        .isInputFormatted = 1,
        .inputBuffer = &run->image,
        .inputBufferSize = &run->image_bytes,
        .inputBufferStride = {run->scene->width, pixels, pixels},
        .buffer = &run->spectrum,
        .bufferSize = &run->spectrum_bytes,
    };
    return c;
}

static int append(struct run *run, VkFFTApplication *app, int direction, cl_mem *image,
                  cl_mem *spectrum, struct error *why)
{
    VkFFTLaunchParams launch = {.commandQueue = (cl_command_queue *)&run->scene->queue,
                                .inputBuffer = image,
                                .buffer = spectrum};
    const VkFFTResult code = VkFFTAppend(app, direction, &launch);
    return code == VKFFT_SUCCESS ? 0 : vkfft_fail(why, code, "VkFFTAppend");
}

static int open_separate(struct run *run, struct error *why)
{
    VkFFTConfiguration c = configuration(run);
    c.inverseReturnToInputBuffer = 1; /* the launch names another one */
    const VkFFTResult code = initializeVkFFT(&run->app, c);
    return code == VKFFT_SUCCESS ? fft_product_open(&run->product, run->scene, run->spectrum, why)
                                 : vkfft_fail(why, code, "initializeVkFFT");
}

/* Transforms the filter's impulse response in `impulse` into the kernel, in the order that the
 * convolution uses. */
static int transform_kernel(struct run *run, cl_mem impulse, struct error *why)
{
    VkFFTApplication app = {0};
    VkFFTConfiguration c = configuration(run);
    c.kernelConvolution = 1;
    c.inputBuffer = &impulse;
    c.buffer = &run->kernel;
    const VkFFTResult code = initializeVkFFT(&app, c);
    int r = code == VKFFT_SUCCESS ? append(run, &app, -1, &impulse, &run->kernel, why)
                                  : vkfft_fail(why, code, "initializeVkFFT");
    if (r == 0)
        r = fft_finish(run->scene, why);
    deleteVkFFT(&app);
    return r;
}

/* The impulse response is the inverse transform of the response, which already includes the scale
 * of forward and inverse. The convolution divides by the height on its fused axis, so the impulse
 * response must be scaled by the width only. */
static int make_kernel(struct run *run, struct error *why)
{
    const struct scene *scene = run->scene;
    const size_t count = (size_t)(scene->width / 2 + 1) * scene->height;
    VkFFTApplication app = {0};
    VkFFTConfiguration c = configuration(run);
    float *values = calloc(2 * count * run->frames, sizeof *values);
    cl_mem impulse = NULL;
    if (values == NULL)
        return error_set(why, ENOMEM, "out of memory while computing the response");
    for (size_t i = 0; i < count * run->frames; i++)
        values[2 * i] = scene->response[i % count] / (float)scene->width;
    cl_int code = clEnqueueWriteBuffer(scene->queue, run->spectrum, CL_TRUE, 0, run->spectrum_bytes,
                                       values, 0, NULL, NULL);
    int r = code == CL_SUCCESS ? fft_buffer(&impulse, scene, run->image_bytes, NULL, why)
                               : opencl_fail(why, code, "clEnqueueWriteBuffer");
    if (r == 0) {
        c.inverseReturnToInputBuffer = 1;
        c.inputBuffer = &impulse;
        const VkFFTResult result = initializeVkFFT(&app, c);
        r = result == VKFFT_SUCCESS ? append(run, &app, 1, &impulse, &run->spectrum, why)
                                    : vkfft_fail(why, result, "initializeVkFFT");
    }
    if (r == 0)
        r = transform_kernel(run, impulse, why);
    deleteVkFFT(&app);
    fft_buffer_release(impulse);
    free(values);
    return r;
}

static int open_convolution(struct run *run, struct error *why)
{
    int r = fft_buffer(&run->kernel, run->scene, run->spectrum_bytes, NULL, why);
    if (r == 0)
        r = make_kernel(run, why);
    if (r < 0)
        return r;
    VkFFTConfiguration c = configuration(run);
    c.performConvolution = 1;
    c.kernel = &run->kernel;
    c.kernelSize = &run->spectrum_bytes;
    const VkFFTResult code = initializeVkFFT(&run->app, c);
    return code == VKFFT_SUCCESS ? 0 : vkfft_fail(why, code, "initializeVkFFT");
}

static int make_image(struct run *run, struct error *why)
{
    const size_t frame_bytes = run->image_bytes / run->frames;
    int r = fft_buffer(&run->image, run->scene, run->image_bytes, NULL, why);
    for (unsigned i = 0; i < run->frames && r == 0; i++) {
        const cl_int code =
            clEnqueueWriteBuffer(run->scene->queue, run->image, CL_TRUE, i * frame_bytes,
                                 frame_bytes, run->scene->samples, 0, NULL, NULL);
        r = code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueWriteBuffer");
    }
    return r;
}

static int run_open(void **ret, const struct subject *subject, const struct scene *scene,
                    struct cost *cost, struct error *why)
{
    struct run *run = calloc(1, sizeof *run);
    if (run == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a run");
    run->scene = scene;
    run->variant = (enum variant)subject->variant;
    run->frames = run->variant == PAIRS ? 2 : 1;
    run->image_bytes = (uint64_t)run->frames * scene->width * scene->height * sizeof(float);
    run->spectrum_bytes =
        (uint64_t)run->frames * (scene->width / 2 + 1) * scene->height * 2 * sizeof(float);
    int r = make_image(run, why);
    if (r == 0)
        r = fft_buffer(&run->result, scene, run->image_bytes, NULL, why);
    if (r == 0)
        r = fft_buffer(&run->spectrum, scene, run->spectrum_bytes, NULL, why);
    if (r == 0)
        r = run->variant == SEPARATE ? open_separate(run, why) : open_convolution(run, why);
    if (r < 0) {
        run_close(run);
        return r;
    }
    cost->response_bytes = run->variant == SEPARATE ? 4 : 8;
    cost->frames = run->frames;
    *ret = run;
    return 0;
}

static int run_enqueue(void *state, struct error *why)
{
    struct run *run = state;
    int r = append(run, &run->app, -1, &run->image, &run->spectrum, why);
    if (r == 0 && run->variant == SEPARATE) {
        r = fft_product_enqueue(&run->product, why);
        if (r == 0)
            r = append(run, &run->app, 1, &run->result, &run->spectrum, why);
    }
    return r < 0 ? r : fft_submit(run->scene->queue, why);
}

static int run_finish(void *state, struct error *why)
{
    const struct run *run = state;
    return fft_finish(run->scene, why);
}

/* The convolution stores its result in the spectrum's buffer, with the pitch of its rows. Of a
 * pair, the second frame is read. */
static int run_read(void *state, float *result, struct error *why)
{
    const struct run *run = state;
    const size_t origin[3] = {0}, last = run->frames - 1;
    const size_t from[3] = {last * run->spectrum_bytes / run->frames, 0, 0};
    const size_t row_bytes = run->scene->width * sizeof *result;
    const size_t region[3] = {row_bytes, run->scene->height, 1};
    const bool separate = run->variant == SEPARATE;
    const size_t pitch = separate ? row_bytes : (run->scene->width / 2 + 1) * 2 * sizeof *result;
    const cl_int code = clEnqueueReadBufferRect(
        run->scene->queue, separate ? run->result : run->spectrum, CL_TRUE, from, origin, region,
        pitch, 0, row_bytes, 0, result, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueReadBufferRect");
}

static const struct subject subjects[] = {
    {.name = "VkFFT R2C, convolution", .variant = CONVOLUTION, .error_limit = 1e-5},
    {.name = "VkFFT R2C, convolution, pairs", .variant = PAIRS, .error_limit = 1e-5},
    {.name = "VkFFT R2C, separate product", .variant = SEPARATE, .error_limit = 1e-5},
};

const struct peer peer_vkfft = {
    .name = "VkFFT",
    .version = print_version,
    .subjects = subjects,
    .subject_count = sizeof subjects / sizeof subjects[0],
    .open = run_open,
    .enqueue = run_enqueue,
    .finish = run_finish,
    .read = run_read,
    .close = run_close,
};
