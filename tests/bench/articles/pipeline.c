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
    p->equal = p->psnr = NAN;
    group->list[group->count++] = p;
    return p;
}

void pipeline_refuse(struct pipeline *p, const char *format, ...)
{
    va_list arguments;
    if (p->refused)
        return;
    va_start(arguments, format);
    vsnprintf(p->why.text, sizeof p->why.text, format, arguments);
    va_end(arguments);
    p->refused = true;
}

bool pipeline_is_refused(const struct pipeline *p)
{
    return p->refused;
}

static void refuse_code(struct pipeline *p, cl_int code, const char *what)
{
    pipeline_refuse(p, "%s: %s", what, opencl_error_name(code));
}

/* ---- what a pipeline owns ---- */

cl_mem pipeline_buffer(struct pipeline *p, size_t bytes, const void *data)
{
    cl_int code;
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (data != NULL ? CL_MEM_COPY_HOST_PTR : 0);
    if (p->refused)
        return NULL;
    if (p->buffer_count == MAX_OWNED) {
        pipeline_refuse(p, "more than %d buffers", MAX_OWNED);
        return NULL;
    }
    cl_mem buffer =
        clCreateBuffer(p->group->bench->device->context, flags, bytes, (void *)data, &code);
    if (code != CL_SUCCESS) {
        refuse_code(p, code, "clCreateBuffer");
        return NULL;
    }
    p->buffer[p->buffer_count++] = buffer;
    return buffer;
}

void *pipeline_memory(struct pipeline *p, size_t bytes)
{
    void *memory = p->memory_count < MAX_OWNED ? calloc(1, bytes) : NULL;
    if (memory == NULL)
        pipeline_refuse(p, "out of memory");
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

static const char *text_of(const char *file)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (strcmp(files[i].name, file) == 0)
            return files[i].text;
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
    text[count++] = text_of(first);
    if (plus != NULL)
        text[count++] = text_of(plus + 1);
    cl_program program = clCreateProgramWithSource(device->context, count, text, NULL, &code);
    if (code != CL_SUCCESS) {
        refuse_code(p, code, "clCreateProgramWithSource");
        return NULL;
    }
    code = clBuildProgram(program, 1, &device->id, options, NULL, NULL);
    if (code == CL_SUCCESS)
        return program;
    char log[300] = "";
    clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    pipeline_refuse(p, "%s %s: %s: %s", names, options, opencl_error_name(code), log);
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
    if (p->refused)
        return NULL;
    for (unsigned i = 0; i < program_count; i++)
        if (strcmp(programs[i].key, key) == 0)
            return programs[i].program;
    if (program_count == PROGRAM_CACHE) {
        pipeline_refuse(p, "more than %d programs", PROGRAM_CACHE);
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
}

/* ---- steps ---- */

static struct step *add_step(struct pipeline *p)
{
    struct step *grown = realloc(p->step, (p->step_count + 1) * sizeof *grown);
    if (grown == NULL) {
        pipeline_refuse(p, "out of memory");
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
        } else if (types[i] == 'f') {
            const cl_float number = (cl_float)va_arg(arguments, double);
            code = clSetKernelArg(step->kernel, i, sizeof number, &number);
        } else if (types[i] == 'l') {
            code = clSetKernelArg(step->kernel, i, va_arg(arguments, size_t), NULL);
        }
    }
    return code;
}

void pipeline_launch(struct pipeline *p, cl_program program, const char *kernel, struct shape shape,
                     const char *types, ...)
{
    cl_int code;
    va_list arguments;
    struct step *step = p->refused ? NULL : add_step(p);
    if (step == NULL)
        return;
    step->rows = 1;
    step->shape = shape;
    step->kernel = clCreateKernel(program, kernel, &code);
    if (code != CL_SUCCESS) {
        step->kernel = NULL;
        refuse_code(p, code, kernel);
        return;
    }
    va_start(arguments, types);
    code = set_arguments(step, types, arguments);
    va_end(arguments);
    const cl_mem counters = p->group->bench->counters;
    if (p->group->counting && code == CL_SUCCESS)
        code = clSetKernelArg(step->kernel, (cl_uint)strlen(types), sizeof counters, &counters);
    if (code != CL_SUCCESS)
        refuse_code(p, code, kernel);
}

void pipeline_repeat(struct pipeline *p, unsigned rows)
{
    if (!p->refused)
        p->step[p->step_count - 1].rows = rows;
}

size_t pipeline_group_limit(struct pipeline *p, cl_program program, const char *kernel,
                            size_t wanted)
{
    size_t limit = 1;
    cl_int code;
    if (p->refused)
        return 1;
    cl_kernel probe = clCreateKernel(program, kernel, &code);
    if (code == CL_SUCCESS) {
        code = clGetKernelWorkGroupInfo(probe, p->group->bench->device->id,
                                        CL_KERNEL_WORK_GROUP_SIZE, sizeof limit, &limit, NULL);
        clReleaseKernel(probe);
    }
    if (code != CL_SUCCESS)
        refuse_code(p, code, kernel);
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

static int run_step(const struct pipeline *p, const struct step *step, struct error *why)
{
    if (step->call != NULL)
        return step->call(step->context, why);
    const size_t global[] = {step->shape.across, step->shape.down};
    const size_t local[] = {step->shape.local_across, step->shape.local_down};
    for (cl_uint row = 0; row < step->rows; row++) {
        const size_t offset[] = {0, row};
        const cl_int code =
            clEnqueueNDRangeKernel(p->group->bench->queue, step->kernel, 2, offset, global,
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

int pipeline_run(struct pipeline *p, unsigned frames, struct error *why)
{
    for (unsigned frame = 0; frame < frames; frame++) {
        for (unsigned i = 0; i < p->step_count; i++) {
            const int r = run_step(p, &p->step[i], why);
            if (r < 0)
                return r;
        }
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

/* ---- the result ---- */

void pipeline_result(struct pipeline *p, enum result_kind kind, cl_mem buffer, size_t count,
                     const double *expected, double limit)
{
    p->result_kind = kind;
    p->result = buffer;
    p->result_count = count;
    p->expected = expected;
    p->error_limit = limit;
}

void pipeline_rows_result(struct pipeline *p, cl_mem buffer, size_t width, size_t height,
                          size_t pitch, const double *expected, double limit)
{
    pipeline_result(p, RESULT_BYTES, buffer, width * height, expected, limit);
    p->result_width = width;
    p->result_pitch = pitch;
}

void pipeline_host_result(struct pipeline *p, const float *result, size_t count,
                          const double *expected, double limit)
{
    pipeline_result(p, RESULT_FLOATS, NULL, count, expected, limit);
    p->host_result = result;
}

static size_t place(const struct pipeline *p, size_t i)
{
    return p->result_width == 0 ? i : i / p->result_width * p->result_pitch + i % p->result_width;
}

static double compare(const struct pipeline *p, const void *result)
{
    const uint8_t *bytes = result;
    const float *floats = result;
    double largest = 0, difference = 0, norm = 0;
    for (size_t i = 0; i < p->result_count; i++) {
        const size_t at = place(p, i);
        const double d = (p->result_kind == RESULT_BYTES ? bytes[at] : floats[at]) - p->expected[i];
        if (!(fabs(d) <= largest)) /* a NaN is the largest of all */
            largest = fabs(d);
        difference += d * d;
        norm += p->expected[i] * p->expected[i];
    }
    return p->result_kind == RESULT_BYTES ? largest : sqrt(difference / norm);
}

void pipeline_psnr(struct pipeline *p, double decibels)
{
    p->psnr = decibels;
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
    for (size_t i = 0; i < p->result_count; i++) {
        const int difference = bytes[place(p, i)] - (int)nearbyint(p->expected[i]);
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
    p->equal = 1 - (double)count / (double)p->result_count;
    if (count <= MAX_DIFFERENCES)
        p->differences = text;
    else
        free(text);
    return 0;
}

int pipeline_validate(struct pipeline *p, struct error *why)
{
    const size_t bytes = (place(p, p->result_count - 1) + 1) *
                         (p->result_kind == RESULT_BYTES ? sizeof(uint8_t) : sizeof(float));
    int r = pipeline_run(p, 1, why);
    if (r < 0)
        return r;
    void *read = p->host_result == NULL ? malloc(bytes) : NULL;
    if (p->host_result == NULL && read == NULL)
        return error_set(why, ENOMEM, "out of memory while comparing results");
    const cl_int code = p->host_result != NULL
                            ? CL_SUCCESS
                            : clEnqueueReadBuffer(p->group->bench->queue, p->result, CL_TRUE, 0,
                                                  bytes, read, 0, NULL, NULL);
    if (code != CL_SUCCESS)
        r = opencl_fail(why, code, "clEnqueueReadBuffer");
    else
        p->error = compare(p, p->host_result != NULL ? (const void *)p->host_result : read);
    if (r == 0 && read != NULL && p->result_kind == RESULT_BYTES && note_bytes(p, read) < 0)
        r = error_set(why, ENOMEM, "out of memory while comparing results");
    free(read);
    if (r == 0 && !(p->error <= p->error_limit))
        r = error_set(why, EDOM, "the error is %.2g: expected at most %.2g", p->error,
                      p->error_limit);
    return r;
}
