/* Compiles the kernels of several forms of the transform for counts.py. It builds each form on the
 * OpenCL device and enqueues one frame, because some drivers compile a kernel at its first launch.
 * Nothing is measured and no result is read, so a device that only compiles is enough.
 *
 *     build/tests/mali/forms WIDTHxHEIGHT...
 *
 * Writes a line for each form, then one for each of its dispatches, tabs between the fields:
 *     form    NAME  WIDTHxHEIGHT  PADDED  BYTES A PIXEL
 *     kernel  NAME  ITEMS */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu/transform_private.h"

#define MARGIN 16

struct form {
    const char *name;
    enum transform_technique technique;
    unsigned max_radix, stages_per_dispatch;
    bool half;
};

static const struct form forms[] = {
    {"fused", TRANSFORM_FUSED, 16, 2, false},
    {"fused, half", TRANSFORM_FUSED, 16, 2, true},
    {"fused, radix to 8", TRANSFORM_FUSED, 8, 2, false},
    {"fused, radix to 4", TRANSFORM_FUSED, 4, 2, false},
    {"staged", TRANSFORM_STAGED, 16, 2, false},
    {"staged, half", TRANSFORM_STAGED, 16, 2, true},
    {"staged, radix to 8", TRANSFORM_STAGED, 8, 2, false},
    {"staged, radix to 4", TRANSFORM_STAGED, 4, 2, false},
    {"staged, radix to 8, one stage a dispatch", TRANSFORM_STAGED, 8, 1, false},
    {"staged, radix to 4, one stage a dispatch", TRANSFORM_STAGED, 4, 1, false},
};

static cl_mem make_buffer(const struct gpu_device *device, size_t size)
{
    cl_int code;
    return clCreateBuffer(device->context, CL_MEM_READ_WRITE, size, NULL, &code);
}

static int run(const struct transform *transform, cl_command_queue queue, struct error *why)
{
    const struct transform_image *image = &transform->image;
    const size_t image_bytes = (size_t)image->width * image->height;
    const struct transform_buffers buffers = {
        .image = make_buffer(transform->device, image_bytes),
        .result = make_buffer(transform->device, image_bytes),
        .response = make_buffer(transform->device, transform_response_bytes(transform)),
    };
    struct transform_frame *frame = NULL;
    int r = transform_frame_create(&frame, transform, why);
    if (r == 0)
        r = transform_frame_enqueue(frame, queue, &buffers, NULL, NULL, why);
    if (r == 0 && clFinish(queue) != CL_SUCCESS)
        r = error_set(why, EIO, "clFinish fails");
    transform_frame_destroy(frame);
    clReleaseMemObject(buffers.image);
    clReleaseMemObject(buffers.result);
    clReleaseMemObject(buffers.response);
    return r;
}

static int show(const struct form *form, uint32_t width, uint32_t height,
                const struct gpu_device *device, cl_command_queue queue, struct error *why)
{
    const struct transform_image image = {.width = width,
                                          .height = height,
                                          .stride = width,
                                          .step = 1,
                                          .kind = SAMPLE_U8,
                                          .bits = 8,
                                          .count = 1};
    const struct transform_border border = {.margin_x = MARGIN, .margin_y = MARGIN};
    struct transform_tuning tuning;
    struct transform *transform;
    struct error warning;
    transform_default_tuning(&tuning, device);
    tuning.technique = form->technique;
    tuning.max_radix = form->max_radix;
    tuning.stages_per_dispatch = form->stages_per_dispatch;
    tuning.half = form->half;
    int r = transform_create(&transform, device, &image, &border, &tuning, NULL, &warning, why);
    if (r < 0)
        return r;
    const struct plan *plan = transform_plan(transform);
    printf("form\t%s\t%ux%u\t%ux%u\t%.1f\n", form->name, width, height, plan->x.length,
           plan->y.length, transform_traffic(transform) / width / height);
    for (unsigned i = 0; i < transform->dispatch_count; i++)
        printf("kernel\t%s\t%zu\n", transform->dispatch[i].kernel, transform->dispatch[i].global);
    r = run(transform, queue, why);
    transform_destroy(transform);
    return r;
}

static int show_all(const char *size, const struct gpu_device *device, cl_command_queue queue,
                    struct error *why)
{
    char *x, *end = NULL;
    const unsigned long width = strtoul(size, &x, 10);
    const unsigned long height = *x == 'x' ? strtoul(x + 1, &end, 10) : 0;
    if (end == NULL || *end != '\0' || width - 1 >= PLAN_MAX_LENGTH ||
        height - 1 >= PLAN_MAX_LENGTH)
        return error_set(why, EINVAL, "%s is not WIDTHxHEIGHT, of 1 to %d", size, PLAN_MAX_LENGTH);
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof forms / sizeof forms[0]; i++)
        r = show(&forms[i], (uint32_t)width, (uint32_t)height, device, queue, why);
    return r;
}

int main(int argc, char **argv)
{
    const char *selector = getenv("FFTD_DEVICE");
    struct gpu_device *device = NULL;
    cl_command_queue queue = NULL;
    struct error why;
    cl_int code;
    int r = gpu_device_open(&device, selector != NULL ? selector : "auto", &why);
    if (r == 0) {
        queue = clCreateCommandQueue(device->context, device->id, 0, &code);
        r = code == CL_SUCCESS ? 0 : opencl_fail(&why, code, "clCreateCommandQueue");
    }
    for (int i = 1; r == 0 && i < argc; i++)
        r = show_all(argv[i], device, queue, &why);
    if (r < 0)
        fprintf(stderr, "forms: %s\n", why.text);
    if (queue != NULL)
        clReleaseCommandQueue(queue);
    gpu_device_close(device);
    return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
