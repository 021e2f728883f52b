/* Row 7: ARM's guide to convolution. Spatial convolution on the processor and on the device, each
 * improvement alone, beside fftd, whose time does not depend on the size of the kernel; and what
 * copying, mapping, arguments and launches add to a kernel. convolution.cl describes the kernels.
 *
 * The weights are positive integers close to a Gaussian, and the kernel is separable. */
#include "articles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct frame {
    uint32_t width, height, size, pitch;
    const uint8_t *picture; /* for fftd */
    uint8_t *extended;      /* by size / 2 pixels on each side, the edge pixel repeated */
    int *line, *square;     /* weights */
    int scale, line_scale;
    double *expected;
};

/* ---- on the processor ---- */

struct scalar {
    const struct frame *frame;
    float *result;
};

static int convolve(void *context, struct error *why)
{
    const struct scalar *s = context;
    const struct frame *f = s->frame;
    (void)why;
    for (uint32_t y = 0; y < f->height; y++)
        for (uint32_t x = 0; x < f->width; x++) {
            int sum = 0;
            for (uint32_t v = 0; v < f->size; v++)
                for (uint32_t u = 0; u < f->size; u++)
                    sum += f->extended[(y + v) * f->pitch + x + u] * f->square[v * f->size + u];
            const float value = (float)sum / (float)f->scale + 0.5f;
            s->result[y * f->width + x] = floorf(value < 0 ? 0 : value > 255 ? 255 : value);
        }
    return 0;
}

static void add_scalar(struct group *group, const struct frame *f)
{
    struct pipeline *p = pipeline_new(group, "CPU, one thread, plain C");
    const size_t count = (size_t)f->width * f->height;
    struct scalar *s = pipeline_memory(p, sizeof *s);
    float *result = pipeline_memory(p, count * sizeof *result);
    if (s == NULL || result == NULL)
        return;
    *s = (struct scalar){.frame = f, .result = result};
    pipeline_call(p, convolve, NULL, s);
    pipeline_host_result(p, result, count, f->expected, 5e-3);
}

/* ---- on the device ---- */

struct device_frame {
    cl_mem in, out, weights;
};

static size_t extended_bytes(const struct frame *f)
{
    return (size_t)f->pitch * (f->height + f->size - 1);
}

static cl_program program_for(struct pipeline *p, const struct frame *f)
{
    return pipeline_program(p, "convolution.cl", "-DSIZE=%u -DPITCH=%u -DWIDTH=%u", f->size,
                            f->pitch, f->width);
}

static struct device_frame make_frame(struct pipeline *p, const struct frame *f)
{
    const size_t count = (size_t)f->width * f->height;
    const struct device_frame d = {
        .in = pipeline_buffer(p, extended_bytes(f), f->extended),
        .out = pipeline_buffer(p, count, NULL),
        .weights = pipeline_buffer(p, f->size * f->size * sizeof(int), f->square)};
    /* Sums in float may round the other way where they are close to a half. */
    pipeline_result(p, RESULT_BYTES, d.out, count, f->expected, 1);
    return d;
}

static void add_kernel(struct group *group, const char *name, const char *kernel,
                       const struct frame *f, unsigned pixels)
{
    struct pipeline *p = pipeline_new(group, "%s", name);
    const struct device_frame d = make_frame(p, f);
    pipeline_launch(p, program_for(p, f), kernel,
                    (struct shape){f->width / pixels, f->height, 0, 0}, "bbbf", d.in, d.out,
                    d.weights, (double)f->scale);
}

static void add_separable(struct group *group, const struct frame *f)
{
    struct pipeline *p = pipeline_new(group, "separable, two passes, vector loads");
    const struct device_frame d = make_frame(p, f);
    const uint32_t rows = f->height + f->size - 1;
    const cl_program program = program_for(p, f);
    const cl_mem line = pipeline_buffer(p, f->size * sizeof(int), f->line);
    const cl_mem between = pipeline_buffer(p, (size_t)f->width * rows * sizeof(int), NULL);
    pipeline_launch(p, program, "separable_along", (struct shape){f->width / 4, rows, 0, 0}, "bbb",
                    d.in, between, line);
    pipeline_launch(p, program, "separable_down", (struct shape){f->width / 4, f->height, 0, 0},
                    "bbbf", between, d.out, line, (double)f->scale);
}

static const struct fftd_variant ours = {
    .name = "fftd, fused, any kernel", .bytes = true, .planes = 1, .twiddles = -1};

static void build_sizes(struct group *group, const void *context)
{
    const struct frame *f = context;
    add_scalar(group, f);
    add_kernel(group, "plain", "plain", f, 1);
    add_kernel(group, "common subexpressions removed", "common", f, 1);
    add_kernel(group, "clamp()", "clamped", f, 1);
    add_kernel(group, "saturating conversion", "saturated", f, 1);
    add_kernel(group, "vector loads, 4 pixels", "vectors", f, 4);
    add_separable(group, f);
    fftd_add(group, &ours, f->picture, f->width, f->height);
}

/* ---- what surrounds a kernel ---- */

enum transfer { WRITE, READ, MAP };

struct transfer_call {
    enum transfer kind;
    cl_command_queue queue;
    cl_mem buffer;
    void *host;
    size_t bytes;
};

static int move_frame(void *context, struct error *why)
{
    const struct transfer_call *t = context;
    cl_int code;
    if (t->kind == WRITE) {
        code =
            clEnqueueWriteBuffer(t->queue, t->buffer, CL_TRUE, 0, t->bytes, t->host, 0, NULL, NULL);
    } else if (t->kind == READ) {
        code =
            clEnqueueReadBuffer(t->queue, t->buffer, CL_TRUE, 0, t->bytes, t->host, 0, NULL, NULL);
    } else {
        void *mapped = clEnqueueMapBuffer(t->queue, t->buffer, CL_TRUE, CL_MAP_WRITE, 0, t->bytes,
                                          0, NULL, NULL, &code);
        if (code == CL_SUCCESS) {
            memcpy(mapped, t->host, t->bytes);
            code = clEnqueueUnmapMemObject(t->queue, t->buffer, mapped, 0, NULL, NULL);
        }
    }
    return code == CL_SUCCESS ? 0 : opencl_fail(why, code, "moving a frame");
}

static void add_transfer(struct pipeline *p, struct group *group, enum transfer kind, cl_mem buffer,
                         const void *data, size_t bytes)
{
    struct transfer_call *t = pipeline_memory(p, sizeof *t);
    void *host = pipeline_memory(p, bytes);
    if (t == NULL || host == NULL)
        return;
    if (data != NULL)
        memcpy(host, data, bytes);
    *t = (struct transfer_call){kind, bench_queue(group->bench), buffer, host, bytes};
    pipeline_call(p, move_frame, NULL, t);
}

static void build_overhead(struct group *group, const void *context)
{
    static const char *const names[] = {
        "kernel of 5x5 alone",     "+ the frame copied in", "+ the frame mapped, copied, unmapped",
        "+ the result copied out", "+ copied in and out",   "the kernel launched for each row"};
    const struct frame *f = context;
    const size_t count = (size_t)f->width * f->height;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct pipeline *p = pipeline_new(group, "%s", names[i]);
        const struct device_frame d = make_frame(p, f);
        const bool by_rows = i == 5;
        if (i == 1 || i == 4)
            add_transfer(p, group, WRITE, d.in, f->extended, extended_bytes(f));
        if (i == 2)
            add_transfer(p, group, MAP, d.in, f->extended, extended_bytes(f));
        pipeline_launch(p, program_for(p, f), "vectors",
                        (struct shape){f->width / 4, by_rows ? 1 : f->height, 0, 0}, "bbbf", d.in,
                        d.out, d.weights, (double)f->scale);
        if (by_rows)
            pipeline_repeat(p, f->height);
        if (i == 3 || i == 4)
            add_transfer(p, group, READ, d.out, NULL, count);
    }
}

/* ---- groups ---- */

static void make_weights(struct frame *f)
{
    for (uint32_t i = 0; i < f->size; i++) {
        const double d = (i - (f->size - 1) / 2.) / (f->size / 5.);
        f->line[i] = 1 + (int)(30 * exp(-d * d / 2));
        f->line_scale += f->line[i];
    }
    for (uint32_t v = 0; v < f->size; v++)
        for (uint32_t u = 0; u < f->size; u++)
            f->square[v * f->size + u] = f->line[v] * f->line[u];
    f->scale = f->line_scale * f->line_scale;
}

static uint32_t inside(uint32_t i, uint32_t margin, uint32_t length)
{
    return i < margin ? 0 : i - margin < length ? i - margin : length - 1;
}

/* Rounded, since the result is bytes. */
static void expect(struct frame *f)
{
    const uint32_t rows = f->height + f->size - 1;
    double *between = calloc((size_t)f->width * rows, sizeof *between);
    if (between == NULL)
        abort();
    for (uint32_t y = 0; y < rows; y++)
        for (uint32_t x = 0; x < f->width; x++)
            for (uint32_t u = 0; u < f->size; u++)
                between[y * f->width + x] += f->extended[y * f->pitch + x + u] * f->line[u];
    for (uint32_t y = 0; y < f->height; y++)
        for (uint32_t x = 0; x < f->width; x++) {
            double sum = 0;
            for (uint32_t v = 0; v < f->size; v++)
                sum += between[(y + v) * f->width + x] * f->line[v];
            f->expected[y * f->width + x] = floor(sum / f->scale + 0.5);
        }
    free(between);
}

static void measure(struct bench *bench, const char *name, uint32_t width, uint32_t height,
                    uint32_t size, void (*build)(struct group *group, const void *context))
{
    struct frame f = {.width = width, .height = height, .size = size, .pitch = width + size - 1};
    const uint32_t margin = size / 2, rows = height + size - 1;
    f.picture = reference_picture(width, height);
    f.extended = malloc(extended_bytes(&f));
    f.line = calloc(size, sizeof *f.line);
    f.square = calloc((size_t)size * size, sizeof *f.square);
    f.expected = calloc((size_t)width * height, sizeof *f.expected);
    if (f.extended == NULL || f.line == NULL || f.square == NULL || f.expected == NULL)
        abort();
    for (uint32_t y = 0; y < rows; y++)
        for (uint32_t x = 0; x < f.pitch; x++)
            f.extended[y * f.pitch + x] =
                f.picture[inside(y, margin, height) * width + inside(x, margin, width)];
    make_weights(&f);
    expect(&f);
    const struct group_head head = {
        .row = 7, .name = name, .x = build == build_sizes ? size : (double)width * height};
    bench_group(bench, &head, build, &f);
    free((void *)f.picture);
    free(f.extended);
    free(f.line);
    free(f.square);
    free(f.expected);
}

void row_convolution(struct bench *bench)
{
    static const uint32_t sizes[] = {3, 5, 7, 11, 15, 31, 63};
    static const uint32_t frames[][2] = {
        {160, 120}, {320, 240}, {640, 480}, {1280, 720}, {1920, 1080}};
    const bool quick = bench_is_quick(bench);
    for (unsigned i = 0; i < (quick ? 2 : sizeof sizes / sizeof sizes[0]); i++)
        measure(bench, "size of the kernel, 640x480", quick ? 64 : 640, quick ? 48 : 480, sizes[i],
                build_sizes);
    for (unsigned i = 0; i < (quick ? 1 : sizeof frames / sizeof frames[0]); i++)
        measure(bench, "around a kernel of 5x5, pixels", frames[i][0], frames[i][1], 5,
                build_overhead);
    overhead_measure(bench);
}
