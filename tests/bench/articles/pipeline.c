/* Pipelines: steps, what they own, and their result. */
#include "private.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *text;
} files[] = {
#include "articles-kernels.inc"
};

#define PROGRAM_CACHE 256

/* Programs are kept until the end, because several pipelines use the same. */
static struct {
    char key[256];
    cl_program program;
} programs[PROGRAM_CACHE];
static unsigned program_count;

struct pipeline *pipeline_new(struct group *group, const char *format, ...)
{
    struct pipeline *p = calloc(1, sizeof *p);
    va_list arguments;
    if (p == NULL || group->count == sizeof group->list / sizeof group->list[0]) {
        fprintf(stderr, "articles: out of memory, or a group with too many pipelines\n");
        exit(1);
    }
    va_start(arguments, format);
    vsnprintf(p->name, sizeof p->name, format, arguments);
    va_end(arguments);
    p->group = group;
    p->read_bytes = p->written_bytes = p->moved_bytes = NAN;
    p->equal = p->error = NAN;
    group->list[group->count++] = p;
    return p;
}

__attribute__((format(printf, 3, 0))) static void end(struct pipeline *p, enum state state,
                                                      const char *format, va_list arguments)
{
    if (p->state != STATE_OK)
        return;
    vsnprintf(p->why.text, sizeof p->why.text, format, arguments);
    p->state = state;
}

void pipeline_refuse(struct pipeline *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    end(p, STATE_REFUSED, format, arguments);
    va_end(arguments);
}

void pipeline_fail(struct pipeline *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    end(p, STATE_FAILED, format, arguments);
    va_end(arguments);
}

bool pipeline_has_ended(const struct pipeline *p)
{
    return p->state != STATE_OK;
}

static void fail_code(struct pipeline *p, cl_int code, const char *what)
{
    pipeline_fail(p, "%s: %s", what, opencl_error_name(code));
}

/* ---- what a pipeline owns ---- */

cl_mem pipeline_buffer(struct pipeline *p, size_t bytes, const void *data)
{
    cl_int code;
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (data != NULL ? CL_MEM_COPY_HOST_PTR : 0);
    if (pipeline_has_ended(p))
        return NULL;
    if (p->buffer_count == MAX_OWNED) {
        pipeline_fail(p, "more than %d buffers", MAX_OWNED);
        return NULL;
    }
    cl_mem buffer =
        clCreateBuffer(p->group->bench->device->context, flags, bytes, (void *)data, &code);
    if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_INVALID_BUFFER_SIZE) {
        pipeline_refuse(p, "the device has no buffer of %zu bytes", bytes);
        return NULL;
    }
    if (code != CL_SUCCESS) {
        fail_code(p, code, "clCreateBuffer");
        return NULL;
    }
    p->buffer[p->buffer_count++] = buffer;
    return buffer;
}

cl_mem pipeline_image(struct pipeline *p, size_t width, size_t height, const void *data)
{
    const cl_image_format format = {CL_R, CL_UNORM_INT8};
    const cl_image_desc shape = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = width, .image_height = height};
    const cl_mem_flags flags = CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR;
    const struct gpu_device *device = p->group->bench->device;
    cl_bool has_images = CL_FALSE;
    cl_int code =
        clGetDeviceInfo(device->id, CL_DEVICE_IMAGE_SUPPORT, sizeof has_images, &has_images, NULL);
    if (pipeline_has_ended(p))
        return NULL;
    if (code != CL_SUCCESS || !has_images || p->buffer_count == MAX_OWNED) {
        pipeline_refuse(p, "the device has no images");
        return NULL;
    }
    cl_mem image = clCreateImage(device->context, flags, &format, &shape, (void *)data, &code);
    if (code != CL_SUCCESS) {
        fail_code(p, code, "clCreateImage");
        return NULL;
    }
    p->buffer[p->buffer_count++] = image;
    return image;
}

void *pipeline_memory(struct pipeline *p, size_t bytes)
{
    void *memory = p->memory_count < MAX_OWNED ? calloc(1, bytes) : NULL;
    if (memory == NULL)
        pipeline_fail(p, "out of memory");
    else
        p->memory[p->memory_count++] = memory;
    return memory;
}

void pipeline_free(struct pipeline *p)
{
    for (unsigned i = 0; i < p->step_count; i++) {
        if (p->step[i].kernel != NULL)
            clReleaseKernel(p->step[i].kernel);
        if (p->step[i].close != NULL)
            p->step[i].close(p->step[i].context);
    }
    for (unsigned i = 0; i < p->buffer_count; i++)
        clReleaseMemObject(p->buffer[i]);
    for (unsigned i = 0; i < p->memory_count; i++)
        free(p->memory[i]);
    free(p->step);
    free(p->differences);
    free(p);
}

/* ---- programs ---- */

static char *changed_text[sizeof files / sizeof files[0]];

static char *read_text(const char *folder, const char *name)
{
    char path[512], *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (file == NULL || getdelim(&text, &size, '\0', file) < 0) {
        fprintf(stderr, "articles: %s: %s\n", path, strerror(errno));
        exit(1);
    }
    fclose(file);
    return text;
}

/* A kernel file as it was built in, or as it is in the folder of --kernels. */
static const char *text_of(const struct bench *bench, const char *name)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (strcmp(files[i].name, name) == 0) {
            if (bench->kernels != NULL && changed_text[i] == NULL)
                changed_text[i] = read_text(bench->kernels, name);
            return changed_text[i] != NULL ? changed_text[i] : files[i].text;
        }
    abort();
}

/* "arm.cl+stockham.cl" is both files, one after the other. */
static cl_program build(struct pipeline *p, const char *names, const char *options)
{
    const struct gpu_device *device = p->group->bench->device;
    const char *text[2], *plus = strchr(names, '+');
    char first[64];
    cl_uint count = 0;
    cl_int code;
    snprintf(first, sizeof first, "%.*s", plus != NULL ? (int)(plus - names) : 63, names);
    text[count++] = text_of(p->group->bench, first);
    if (plus != NULL)
        text[count++] = text_of(p->group->bench, plus + 1);
    cl_program program = clCreateProgramWithSource(device->context, count, text, NULL, &code);
    if (code != CL_SUCCESS) {
        fail_code(p, code, "clCreateProgramWithSource");
        return NULL;
    }
    code = clBuildProgram(program, 1, &device->id, options, NULL, NULL);
    if (code == CL_SUCCESS)
        return program;
    char log[300] = "";
    clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    pipeline_fail(p, "%s %s: %s: %s", names, options, opencl_error_name(code), log);
    clReleaseProgram(program);
    return NULL;
}

cl_program pipeline_program(struct pipeline *p, const char *file, const char *format, ...)
{
    char options[200], key[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(options, sizeof options, format, arguments);
    va_end(arguments);
    if (p->group->counting)
        strncat(options, " -DCOUNT", sizeof options - strlen(options) - 1);
    snprintf(key, sizeof key, "%s %s", file, options);
    if (pipeline_has_ended(p))
        return NULL;
    for (unsigned i = 0; i < program_count; i++)
        if (strcmp(programs[i].key, key) == 0)
            return programs[i].program;
    if (program_count == PROGRAM_CACHE) {
        pipeline_fail(p, "more than %d programs", PROGRAM_CACHE);
        return NULL;
    }
    cl_program program = build(p, file, options);
    if (program != NULL) {
        memcpy(programs[program_count].key, key, sizeof key);
        programs[program_count++].program = program;
    }
    return program;
}

void pipeline_programs_release(void)
{
    while (program_count > 0)
        clReleaseProgram(programs[--program_count].program);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        free(changed_text[i]);
}

/* ---- steps ---- */

static struct step *add_step(struct pipeline *p)
{
    struct step *grown = realloc(p->step, (p->step_count + 1) * sizeof *grown);
    if (grown == NULL) {
        pipeline_fail(p, "out of memory");
        return NULL;
    }
    p->step = grown;
    memset(&grown[p->step_count], 0, sizeof *grown);
    return &grown[p->step_count++];
}

static cl_int set_arguments(struct step *step, const char *types, va_list arguments)
{
    cl_int code = CL_SUCCESS;
    for (cl_uint i = 0; types[i] != '\0' && code == CL_SUCCESS; i++) {
        if (types[i] == 'b') {
            const cl_mem buffer = va_arg(arguments, cl_mem);
            code = clSetKernelArg(step->kernel, i, sizeof buffer, &buffer);
        } else if (types[i] == 'u') {
            const cl_uint number = va_arg(arguments, unsigned);
            code = clSetKernelArg(step->kernel, i, sizeof number, &number);
        } else if (types[i] == 's') {
            const cl_short number = (cl_short)va_arg(arguments, int);
            code = clSetKernelArg(step->kernel, i, sizeof number, &number);
        } else if (types[i] == 'f') {
            const cl_float number = (cl_float)va_arg(arguments, double);
            code = clSetKernelArg(step->kernel, i, sizeof number, &number);
        }
    }
    return code;
}

void pipeline_launch(struct pipeline *p, cl_program program, const char *kernel, struct shape shape,
                     const char *types, ...)
{
    cl_int code;
    va_list arguments;
    struct step *step = pipeline_has_ended(p) ? NULL : add_step(p);
    if (step == NULL)
        return;
    step->rows = 1;
    step->shape = shape;
    step->kernel = clCreateKernel(program, kernel, &code);
    if (code != CL_SUCCESS) {
        step->kernel = NULL;
        fail_code(p, code, kernel);
        return;
    }
    va_start(arguments, types);
    code = set_arguments(step, types, arguments);
    va_end(arguments);
    const cl_mem counters = p->group->bench->counters;
    if (p->group->counting && code == CL_SUCCESS)
        code = clSetKernelArg(step->kernel, (cl_uint)strlen(types), sizeof counters, &counters);
    if (code != CL_SUCCESS)
        fail_code(p, code, kernel);
}

void pipeline_repeat(struct pipeline *p, unsigned rows)
{
    if (!pipeline_has_ended(p))
        p->step[p->step_count - 1].rows = rows;
}

size_t pipeline_group_limit(struct pipeline *p, cl_program program, const char *kernel,
                            size_t wanted)
{
    size_t limit = 1;
    cl_int code;
    if (pipeline_has_ended(p))
        return 1;
    cl_kernel probe = clCreateKernel(program, kernel, &code);
    if (code == CL_SUCCESS) {
        code = clGetKernelWorkGroupInfo(probe, p->group->bench->device->id,
                                        CL_KERNEL_WORK_GROUP_SIZE, sizeof limit, &limit, NULL);
        clReleaseKernel(probe);
    }
    if (code != CL_SUCCESS)
        fail_code(p, code, kernel);
    return limit < wanted ? limit : wanted;
}

void pipeline_call(struct pipeline *p, int (*call)(void *context, struct error *why),
                   void (*close)(void *context), void *context)
{
    struct step *step = add_step(p);
    if (step == NULL)
        return;
    step->call = call;
    step->close = close;
    step->context = context;
}

struct copy {
    cl_command_queue queue;
    cl_mem from, to;
    size_t size[3];
};

static int copy_to_image(void *context, struct error *why)
{
    const struct copy *copy = context;
    const size_t origin[3] = {0};
    const cl_int code = clEnqueueCopyBufferToImage(copy->queue, copy->from, copy->to, 0, origin,
                                                   copy->size, 0, NULL, NULL);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clEnqueueCopyBufferToImage");
}

void pipeline_copy_to_image(struct pipeline *p, cl_mem from, cl_mem to, size_t width, size_t height)
{
    struct copy *copy = pipeline_has_ended(p) ? NULL : pipeline_memory(p, sizeof *copy);
    if (copy == NULL)
        return;
    *copy = (struct copy){p->group->bench->queue, from, to, {width, height, 1}};
    pipeline_call(p, copy_to_image, NULL, copy);
}

static int run_step(const struct pipeline *p, const struct step *step, struct error *why)
{
    if (step->call != NULL)
        return step->call(step->context, why);
    const size_t global[] = {step->shape.across, step->shape.down, step->shape.deep};
    const size_t local[] = {step->shape.local_across, step->shape.local_down, 1};
    const cl_uint dimensions = step->shape.deep > 0 ? 3 : 2;
    for (cl_uint row = 0; row < step->rows; row++) {
        const size_t offset[] = {0, row, 0};
        const cl_int code =
            clEnqueueNDRangeKernel(p->group->bench->queue, step->kernel, dimensions, offset, global,
                                   local[0] > 0 ? local : NULL, 0, NULL, NULL);
        if (code != CL_SUCCESS)
            return opencl_fail(why, code, "clEnqueueNDRangeKernel");
    }
    return 0;
}

/* Waits for a marker, because clFinish of rusticl 22.3 returns at once after a clFlush. */
static int wait_for_device(cl_command_queue queue, struct error *why)
{
    cl_event event;
    cl_int code = clEnqueueMarkerWithWaitList(queue, 0, NULL, &event);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "clEnqueueMarkerWithWaitList");
    code = clWaitForEvents(1, &event);
    clReleaseEvent(event);
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "clWaitForEvents");
}

static int run_steps(const struct pipeline *p, unsigned first, unsigned end, struct error *why)
{
    for (unsigned i = first; i < end; i++) {
        const int r = run_step(p, &p->step[i], why);
        if (r < 0)
            return r;
    }
    return 0;
}

int pipeline_run(struct pipeline *p, unsigned frames, struct error *why)
{
    for (unsigned frame = 0; frame < frames; frame++) {
        const int r = run_steps(p, 0, p->step_count, why);
        if (r < 0)
            return r;
        clFlush(p->group->bench->queue);
    }
    return wait_for_device(p->group->bench->queue, why);
}

unsigned pipeline_dispatches(const struct pipeline *p)
{
    unsigned count = p->more_dispatches;
    for (unsigned i = 0; i < p->step_count; i++)
        count += p->step[i].kernel != NULL ? p->step[i].rows : 0;
    return count;
}

void pipeline_traffic(struct pipeline *p, double moved_bytes)
{
    p->moved_bytes = moved_bytes;
}

/* ---- results ---- */

void pipeline_result(struct pipeline *p, enum result_kind kind, cl_mem buffer, size_t count,
                     const double *expected, double limit)
{
    p->result = (struct result){
        .kind = kind, .buffer = buffer, .count = count, .expected = expected, .limit = limit};
}

void pipeline_rows_result(struct pipeline *p, cl_mem buffer, size_t width, size_t height,
                          size_t pitch, const double *expected, double limit)
{
    pipeline_result(p, RESULT_BYTES, buffer, width * height, expected, limit);
    p->result.width = width;
    p->result.pitch = pitch;
}

void pipeline_host_result(struct pipeline *p, const float *result, size_t count,
                          const double *expected, double limit)
{
    pipeline_result(p, RESULT_FLOATS, NULL, count, expected, limit);
    p->result.host = result;
}

void pipeline_check(struct pipeline *p, cl_mem buffer, size_t count, const double *expected,
                    double limit)
{
    if (p->check_count == MAX_CHECKS) {
        pipeline_fail(p, "more than %d checks", MAX_CHECKS);
        return;
    }
    p->check[p->check_count++] = (struct result){.kind = RESULT_FLOATS,
                                                 .buffer = buffer,
                                                 .count = count,
                                                 .expected = expected,
                                                 .limit = limit,
                                                 .after = p->step_count};
}

static size_t place(const struct result *result, size_t i)
{
    return result->width == 0 ? i : i / result->width * result->pitch + i % result->width;
}

static double compare(const struct result *result, const void *values)
{
    const uint8_t *bytes = values;
    const float *floats = values;
    double largest = 0, difference = 0, norm = 0;
    for (size_t i = 0; i < result->count; i++) {
        const size_t at = place(result, i);
        const double d =
            (result->kind == RESULT_BYTES ? bytes[at] : floats[at]) - result->expected[i];
        if (!(fabs(d) <= largest)) /* a NaN is the largest of all */
            largest = fabs(d);
        difference += d * d;
        norm += result->expected[i] * result->expected[i];
    }
    return result->kind == RESULT_BYTES ? largest : sqrt(difference / norm);
}

#define MAX_DIFFERENCES 4000

/* Notes the bytes that are not the rounded expected ones, so that the results of two devices can be
 * compared without storing them: "12+1 5-2" are 1 above at index 12 and 2 below at index 17. */
static int note_bytes(struct pipeline *p, const uint8_t *bytes)
{
    size_t count = 0, last = 0, length = 0;
    char *text = NULL;
    FILE *file = open_memstream(&text, &length);
    if (file == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < p->result.count; i++) {
        const int difference = bytes[place(&p->result, i)] - (int)nearbyint(p->result.expected[i]);
        if (difference == 0)
            continue;
        fprintf(file, "%s%zu%+d", count > 0 ? " " : "", i - last, difference);
        last = i;
        count++;
    }
    if (fclose(file) != 0) {
        free(text);
        return -ENOMEM;
    }
    p->equal = 1 - (double)count / (double)p->result.count;
    if (count <= MAX_DIFFERENCES)
        p->differences = text;
    else
        free(text);
    return 0;
}

/* Compares one result, and notes the bytes of the last one. */
static int judge(struct pipeline *p, const struct result *result, struct error *why)
{
    const bool bytes = result->kind == RESULT_BYTES, last = result == &p->result;
    const size_t size =
        (place(result, result->count - 1) + 1) * (bytes ? sizeof(uint8_t) : sizeof(float));
    void *read = NULL;
    int r = wait_for_device(p->group->bench->queue, why);
    if (r == 0 && result->host == NULL && (read = malloc(size)) == NULL)
        r = error_set(why, ENOMEM, "out of memory while comparing results");
    if (r == 0 && read != NULL) {
        const cl_int code = clEnqueueReadBuffer(p->group->bench->queue, result->buffer, CL_TRUE, 0,
                                                size, read, 0, NULL, NULL);
        if (code != CL_SUCCESS)
            r = opencl_fail(why, code, "clEnqueueReadBuffer");
    }
    if (r == 0) {
        const double error = compare(result, read != NULL ? read : result->host);
        if (last)
            p->error = error;
        if (!(error <= result->limit))
            r = error_set(why, EDOM, "wrong: the error of the %s is %.2g: expected at most %.2g",
                          last ? "result" : "spectrum", error, result->limit);
    }
    if (r == 0 && last && bytes && note_bytes(p, read) < 0)
        r = error_set(why, ENOMEM, "out of memory while comparing results");
    free(read);
    return r;
}

int pipeline_validate(struct pipeline *p, struct error *why)
{
    unsigned at = 0;
    int r = p->result.count > 0 ? 0 : error_set(why, EDOM, "wrong: it has no result");
    for (unsigned i = 0; i < p->check_count && r == 0; i++) {
        r = run_steps(p, at, p->check[i].after, why);
        if (r == 0)
            r = judge(p, &p->check[i], why);
        at = p->check[i].after;
    }
    if (r == 0)
        r = run_steps(p, at, p->step_count, why);
    return r < 0 ? r : judge(p, &p->result, why);
}
