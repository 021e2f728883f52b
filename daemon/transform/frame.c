/* A frame in flight. It has its own kernel objects, whose arguments stay set from one frame to the
 * next, because setting them costs as much as enqueuing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transform/transform_private.h"

struct transform_frame {
    const struct transform *transform;
    cl_mem spectra, lines;
    cl_mem powers;   /* of a spectrum (view.cl); otherwise NULL */
    cl_mem filtered; /* samples of which edges are drawn (view.cl); otherwise NULL */
    cl_kernel kernel[TRANSFORM_MAX_DISPATCHES];
    struct transform_buffers bound; /* retained, so that no new buffer gets the same address */
};

/* Returns what an argument is set to, or NULL if it is local memory. */
static const void *find_value(const struct transform_frame *frame, const struct argument *argument)
{
    switch (argument->kind) {
    case ARGUMENT_IMAGE:
        return &frame->bound.image;
    case ARGUMENT_RESULT:
        return &frame->bound.result;
    case ARGUMENT_RESPONSE:
        return &frame->bound.response.numbers;
    case ARGUMENT_BAND:
        return &frame->bound.response.band;
    case ARGUMENT_CORRECTION:
        return &frame->bound.correction;
    case ARGUMENT_CALIBRATION:
        return &frame->bound.calibration;
    case ARGUMENT_DENOISED:
        return &frame->bound.denoised;
    case ARGUMENT_SPECTRUM:
        return &frame->spectra;
    case ARGUMENT_LINES:
        return &frame->lines;
    case ARGUMENT_POWERS:
        return &frame->powers;
    case ARGUMENT_FILTERED:
        return &frame->filtered;
    case ARGUMENT_TABLE:
        return &argument->table;
    case ARGUMENT_LOCAL:
    case ARGUMENT_NONE:
        break;
    }
    return NULL;
}

/* Sets all arguments of one kind in all kernels. */
static int set_arguments(struct transform_frame *frame, enum argument_kind kind, struct error *why)
{
    const struct transform *transform = frame->transform;
    for (unsigned i = 0; i < transform->dispatch_count; i++) {
        const struct dispatch *dispatch = &transform->dispatch[i];
        for (unsigned a = 0; a < dispatch->argument_count; a++) {
            const struct argument *argument = &dispatch->argument[a];
            if (argument->kind != kind)
                continue;
            const size_t size = kind == ARGUMENT_LOCAL  ? argument->local_bytes
                                : kind == ARGUMENT_BAND ? sizeof(cl_uint)
                                                        : sizeof(cl_mem);
            const cl_int code =
                clSetKernelArg(frame->kernel[i], a, size, find_value(frame, argument));
            if (code != CL_SUCCESS)
                return opencl_fail(why, code, "clSetKernelArg");
        }
    }
    return 0;
}

static int bind(struct transform_frame *frame, cl_mem *bound, cl_mem buffer,
                enum argument_kind kind, struct error *why)
{
    if (*bound == buffer)
        return 0;
    clRetainMemObject(buffer);
    if (*bound != NULL)
        clReleaseMemObject(*bound);
    *bound = buffer;
    return set_arguments(frame, kind, why);
}

static int bind_band(struct transform_frame *frame, uint32_t band, struct error *why)
{
    if (band == 0)
        band = plan_pair_count(&frame->transform->plan);
    if (frame->bound.response.band == band)
        return 0;
    frame->bound.response.band = band;
    return set_arguments(frame, ARGUMENT_BAND, why);
}

static int make_kernels(struct transform_frame *frame, struct error *why)
{
    const struct transform *transform = frame->transform;
    for (unsigned i = 0; i < transform->dispatch_count; i++) {
        cl_int code;
        frame->kernel[i] = clCreateKernel(transform->program, transform->dispatch[i].kernel, &code);
        if (code != CL_SUCCESS)
            return opencl_fail(why, code, transform->dispatch[i].kernel);
    }
    return 0;
}

static int make_buffer(cl_mem *ret, const struct transform *transform, size_t bytes, void *contents,
                       struct error *why)
{
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (contents != NULL ? CL_MEM_COPY_HOST_PTR : 0);
    return opencl_make_buffer(ret, transform->device->context, flags, bytes, contents, why);
}

/* Creates the two buffers of the staged technique: zeros, with the tables at the end of each
 * image's part. */
static int make_staged(struct transform_frame *frame, struct error *why)
{
    const struct transform *transform = frame->transform;
    const struct staged_layout layout = transform_staged_layout(transform);
    const unsigned count = transform->image.count;
    char *spectra = calloc(count, layout.spectrum_bytes);
    char *lines = calloc(count, layout.lines_bytes);
    int r = spectra != NULL && lines != NULL
                ? 0
                : error_set(why, ENOMEM, "out of memory while creating a frame");
    for (unsigned i = 0; r == 0 && i < count; i++)
        transform_fill_staged(transform, spectra + i * layout.spectrum_bytes,
                              lines + i * layout.lines_bytes);
    if (r == 0)
        r = make_buffer(&frame->spectra, transform, count * layout.spectrum_bytes, spectra, why);
    if (r == 0)
        r = make_buffer(&frame->lines, transform, count * layout.lines_bytes, lines, why);
    free(spectra);
    free(lines);
    return r;
}

static int make_powers(struct transform_frame *frame, struct error *why)
{
    const struct response_layout layout = transform_response_layout(frame->transform);
    return make_buffer(&frame->powers, frame->transform,
                       response_part_count(&layout) * sizeof(cl_float), NULL, why);
}

static int make_filtered(struct transform_frame *frame, struct error *why)
{
    const struct transform_image *image = &frame->transform->image;
    return make_buffer(&frame->filtered, frame->transform,
                       (size_t)image->width * image->height * sizeof(cl_ushort), NULL, why);
}

static int make_buffers(struct transform_frame *frame, struct error *why)
{
    const struct transform *transform = frame->transform;
    int r = view_is_spectrum(transform->tuning.recipe.view) ? make_powers(frame, why) : 0;
    if (r == 0 && transform->tuning.recipe.view == VIEW_EDGES)
        r = make_filtered(frame, why);
    if (r < 0)
        return r;
    if (transform->tuning.technique == TRANSFORM_STAGED)
        return make_staged(frame, why);
    return make_buffer(&frame->spectra, transform,
                       transform->image.count * transform_spectrum_size(transform) *
                           transform_stored_bytes(transform),
                       NULL, why);
}

int transform_frame_create(struct transform_frame **ret, const struct transform *transform,
                           struct error *why)
{
    struct transform_frame *frame = calloc(1, sizeof *frame);
    if (frame == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a frame");
    frame->transform = transform;

    int r = make_buffers(frame, why);
    if (r == 0)
        r = make_kernels(frame, why);
    if (r == 0)
        r = set_arguments(frame, ARGUMENT_SPECTRUM, why);
    if (r == 0)
        r = set_arguments(frame, ARGUMENT_LINES, why);
    if (r == 0)
        r = set_arguments(frame, ARGUMENT_POWERS, why);
    if (r == 0)
        r = set_arguments(frame, ARGUMENT_FILTERED, why);
    if (r == 0)
        r = set_arguments(frame, ARGUMENT_TABLE, why);
    if (r == 0)
        r = set_arguments(frame, ARGUMENT_LOCAL, why);
    if (r < 0) {
        transform_frame_destroy(frame);
        return r;
    }
    *ret = frame;
    return 0;
}

void transform_frame_destroy(struct transform_frame *frame)
{
    if (frame == NULL)
        return;
    for (unsigned i = 0; i < TRANSFORM_MAX_DISPATCHES; i++)
        if (frame->kernel[i] != NULL)
            clReleaseKernel(frame->kernel[i]);
    const cl_mem buffers[] = {frame->spectra,          frame->lines,
                              frame->powers,           frame->bound.image,
                              frame->bound.result,     frame->bound.response.numbers,
                              frame->bound.correction, frame->bound.calibration,
                              frame->bound.denoised,   frame->filtered};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        if (buffers[i] != NULL)
            clReleaseMemObject(buffers[i]);
    free(frame);
}

void transform_frame_drop_image(struct transform_frame *frame)
{
    if (frame->bound.image != NULL)
        clReleaseMemObject(frame->bound.image); /* a kernel's argument does not keep it alive */
    frame->bound.image = NULL;
}

void transform_frame_drop_result(struct transform_frame *frame)
{
    if (frame->bound.result != NULL)
        clReleaseMemObject(frame->bound.result);
    frame->bound.result = NULL;
}

int transform_frame_bind(struct transform_frame *frame, const struct transform_buffers *buffers,
                         struct error *why)
{
    const struct transform *transform = frame->transform;
    int r = bind(frame, &frame->bound.image, buffers->image, ARGUMENT_IMAGE, why);
    if (r == 0)
        r = bind(frame, &frame->bound.result, buffers->result, ARGUMENT_RESULT, why);
    if (r == 0)
        r = bind(frame, &frame->bound.response.numbers, buffers->response.numbers,
                 ARGUMENT_RESPONSE, why);
    if (r == 0)
        r = bind_band(frame, buffers->response.band, why);
    if (r == 0)
        r = bind(frame, &frame->bound.correction, buffers->correction, ARGUMENT_CORRECTION, why);
    if (r == 0 && transform_table_bytes(transform) > 0)
        r = bind(frame, &frame->bound.calibration, buffers->calibration, ARGUMENT_CALIBRATION, why);
    if (r == 0 && transform->tuning.recipe.denoise.block > 0)
        r = bind(frame, &frame->bound.denoised, buffers->denoised, ARGUMENT_DENOISED, why);
    return r;
}

static int enqueue(const struct transform_frame *frame, cl_command_queue queue, unsigned index,
                   cl_event *ret_event, struct error *why)
{
    const struct dispatch *dispatch = &frame->transform->dispatch[index];
    const size_t per_group = dispatch->pairs_per_group;
    const unsigned along = dispatch->band_dimension;
    size_t global[3];
    memcpy(global, dispatch->global, sizeof global);
    if (per_group > 0)
        global[along] =
            (frame->bound.response.band + per_group - 1) / per_group * dispatch->local[along];
    const cl_int code = clEnqueueNDRangeKernel(queue, frame->kernel[index], dispatch->dimensions,
                                               NULL, global, dispatch->local, 0, NULL, ret_event);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueNDRangeKernel");
}

int transform_frame_enqueue(struct transform_frame *frame, cl_command_queue queue,
                            const struct transform_buffers *buffers, cl_event *first,
                            cl_event *last, struct error *why)
{
    const unsigned count = frame->transform->dispatch_count;
    int r = transform_frame_bind(frame, buffers, why);
    for (unsigned i = 0; i < count && r == 0; i++)
        r = enqueue(frame, queue, i, i == 0 ? first : i + 1 == count ? last : NULL, why);
    return r;
}

int transform_frame_enqueue_each(struct transform_frame *frame, cl_command_queue queue,
                                 cl_event ret_event[TRANSFORM_MAX_DISPATCHES], unsigned *ret_count,
                                 struct error *why)
{
    int r = 0;
    *ret_count = 0;
    for (unsigned i = 0; i < frame->transform->dispatch_count && r == 0; i++) {
        r = enqueue(frame, queue, i, &ret_event[i], why);
        *ret_count += r == 0;
    }
    return r;
}
