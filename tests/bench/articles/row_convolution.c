/* Row 7: ARM's guide to convolution. Its RGB kernel of 3x3, each improvement on top of the one
 * before; kernels of growing size beside fftd, with the same kernel; what copying and mapping add
 * to a kernel; and what a launch takes. convolution.cl describes the kernels.
 *
 * Weights are positive integers close to a Gaussian, and the larger kernels are separable. */
#include "articles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the guide's kernel ---- */

struct rgb {
    uint32_t width, height, pitch;
    uint8_t *extended;
    double *expected;
};

static const cl_short gaussian[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};

static void build_rgb(struct group *group, const void *context)
{
    static const struct {
        const char *name, *kernel;
    } steps[] = {{"plain", "rgb_plain"},
                 {"addresses computed once", "rgb_once"},
                 {"clamp()", "rgb_clamped"},
                 {"saturating conversion", "rgb_saturated"},
                 {"vector loads, 8 bytes an item", "rgb_vectors"}};
    const struct rgb *f = context;
    const size_t count = 3 * (size_t)f->width * f->height;
    for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct pipeline *p = pipeline_new(group, "%s", steps[i].name);
        const size_t across = i == 4 ? 3 * f->width / 8 : f->width;
        /* The last load of a vector reads 2 bytes that it does not need. */
        const cl_mem in = pipeline_buffer(p, (size_t)f->pitch * (f->height + 2) + 2, f->extended);
        const cl_mem out = pipeline_buffer(p, count, NULL);
        const cl_mem weights = pipeline_buffer(p, sizeof gaussian, gaussian);
        const cl_program program = pipeline_program(
            p, "convolution.cl", "-DRGB -DPITCH=%u -DWIDTH=%u", f->pitch, f->width);
        pipeline_launch(p, program, steps[i].kernel, (struct shape){across, f->height, 0, 0, 0},
                        "bbbs", in, out, weights, 16);
        pipeline_result(p, RESULT_BYTES, out, count, f->expected, 0);
    }
}

static uint32_t inside(uint32_t i, uint32_t margin, uint32_t length)
{
    return i < margin ? 0 : i - margin < length ? i - margin : length - 1;
}

/* Sums are divided as integers, so that the result is rounded down. */
static void measure_rgb(struct bench *bench, uint32_t width, uint32_t height)
{
    struct rgb f = {.width = width, .height = height, .pitch = 3 * (width + 2)};
    uint8_t *picture = reference_picture(3 * width, height);
    f.extended = calloc(1, (size_t)f.pitch * (height + 2) + 2);
    f.expected = calloc(3 * (size_t)width * height, sizeof *f.expected);
    if (f.extended == NULL || f.expected == NULL)
        abort();
    for (uint32_t y = 0; y < height + 2; y++)
        for (uint32_t x = 0; x < f.pitch; x++)
            f.extended[(size_t)y * f.pitch + x] =
                picture[3 * ((size_t)inside(y, 1, height) * width + inside(x / 3, 1, width)) +
                        x % 3];
    for (size_t i = 0; i < 3 * (size_t)width * height; i++) {
        const size_t y = i / (3 * width), x = i % (3 * width);
        int sum = 0;
        for (unsigned tap = 0; tap < 9; tap++)
            sum += gaussian[tap] * f.extended[(y + tap / 3) * f.pitch + x + tap % 3 * 3];
        sum /= 16;
        f.expected[i] = sum;
    }
    const struct group_head head = {.row = 7,
                                    .name = "the guide's RGB kernel of 3x3",
                                    .x = (double)width * height,
                                    .simulated = true};
    bench_group(bench, &head, build_rgb, &f);
    free(picture);
    free(f.extended);
    free(f.expected);
}

/* ---- kernels of any size ---- */

struct frame {
    uint32_t width, height, size, pitch;
    const uint8_t *picture; /* for fftd */
    uint8_t *extended;      /* by size / 2 pixels on each side, the edge pixel repeated */
    int *line, *square;     /* weights */
    int scale, line_scale;
    double *expected;
};

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
    pipeline_result(p, RESULT_BYTES, d.out, count, f->expected, 0.51);
    return d;
}

static void add_vectors(struct group *group, const char *name, const struct frame *f)
{
    struct pipeline *p = pipeline_new(group, "%s", name);
    const struct device_frame d = make_frame(p, f);
    pipeline_launch(p, program_for(p, f), "vectors",
                    (struct shape){f->width / 4, f->height, 0, 0, 0}, "bbbf", d.in, d.out,
                    d.weights, (double)f->scale);
}

static void add_separable(struct group *group, const struct frame *f)
{
    struct pipeline *p = pipeline_new(group, "separable, vector loads of 4 pixels");
    const struct device_frame d = make_frame(p, f);
    const uint32_t rows = f->height + f->size - 1;
    const cl_program program = program_for(p, f);
    const cl_mem line = pipeline_buffer(p, f->size * sizeof(int), f->line);
    const cl_mem between = pipeline_buffer(p, (size_t)f->width * rows * sizeof(int), NULL);
    pipeline_launch(p, program, "separable_along", (struct shape){f->width / 4, rows, 0, 0, 0},
                    "bbb", d.in, between, line);
    pipeline_launch(p, program, "separable_down", (struct shape){f->width / 4, f->height, 0, 0, 0},
                    "bbbf", between, d.out, line, (double)f->scale);
}

/* The same kernel, by the response of its chain, with the daemon's margin. */
static void build_sizes(struct group *group, const void *context)
{
    const struct frame *f = context;
    const struct fftd_variant ours = {.name = "fftd, fused",
                                      .bytes = true,
                                      .planes = 1,
                                      .twiddles = -1,
                                      .kernel = f->square,
                                      .kernel_size = f->size,
                                      .kernel_result = f->expected};
    add_vectors(group, "spatial, vector loads of 4 pixels", f);
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
    static const char *const names[] = {"kernel of 5x5 alone", "+ the frame copied in",
                                        "+ the frame mapped, copied, unmapped",
                                        "+ the result copied out", "+ copied in and out"};
    const struct frame *f = context;
    const size_t count = (size_t)f->width * f->height;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct pipeline *p = pipeline_new(group, "%s", names[i]);
        const struct device_frame d = make_frame(p, f);
        if (i == 1 || i == 4)
            add_transfer(p, group, WRITE, d.in, f->extended, extended_bytes(f));
        if (i == 2)
            add_transfer(p, group, MAP, d.in, f->extended, extended_bytes(f));
        pipeline_launch(p, program_for(p, f), "vectors",
                        (struct shape){f->width / 4, f->height, 0, 0, 0}, "bbbf", d.in, d.out,
                        d.weights, (double)f->scale);
        if (i == 3 || i == 4)
            add_transfer(p, group, READ, d.out, NULL, count);
    }
}

static void build_launches(struct group *group, const void *context)
{
    struct pipeline *p = pipeline_new(group, "a kernel of one work-item, 256 times");
    const cl_mem out = pipeline_buffer(p, sizeof(cl_float), NULL);
    const cl_program program =
        pipeline_program(p, "convolution.cl", "-DSIZE=1 -DPITCH=1 -DWIDTH=1");
    pipeline_launch(p, program, "one", (struct shape){1, 1, 0, 0, 0}, "b", out);
    pipeline_repeat(p, 256);
    pipeline_result(p, RESULT_FLOATS, out, 1, context, 0);
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
            f->expected[y * f->width + x] = sum / f->scale;
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
    static const uint32_t guide[][2] = {{1024, 576}, {2048, 1536}, {4096, 2304}};
    static const uint32_t frames[][2] = {{160, 120}, {640, 480}, {1920, 1080}};
    static const uint32_t of_sizes[][2] = {{64, 48}, {320, 240}, {640, 480}, {1920, 1080}};
    static const double one = 1;
    const enum sizes size = bench_sizes(bench);
    const bool quick = bench_is_quick(bench);
    const struct group_head launches = {.row = 7, .name = "launches"};
    bench_group(bench, &launches, build_launches, &one);
    if (quick)
        measure_rgb(bench, 64, 48);
    for (unsigned i = size == SIZES_LARGE; !quick && i < (unsigned)size; i++)
        measure_rgb(bench, guide[i][0], guide[i][1]);
    /* A kernel of 15x15 needs its margin at the quick size, too. */
    for (unsigned i = quick ? 4 : 0; i < (quick ? 5 : sizeof sizes / sizeof sizes[0]); i++)
        measure(bench, "size of the kernel", of_sizes[size][0], of_sizes[size][1], sizes[i],
                build_sizes);
    for (unsigned i = 0; i < (quick ? 1 : sizeof frames / sizeof frames[0]); i++)
        measure(bench, "around a kernel of 5x5, pixels", frames[i][0], frames[i][1], 5,
                build_overhead);
    overhead_measure(bench);
}
