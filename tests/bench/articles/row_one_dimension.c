/* Rows 4 and 5: ARM's transforms of one dimension. The vectorised radix-2 transform beside a scalar
 * program and FFTW, from 2^6 to 2^17 points; and what each improvement of the mixed-radix one
 * brings. arm.cl and vector.cl describe the kernels. */
#include "arm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if __has_include(<fftw3.h>)
#include <fftw3.h>
#define HAVE_FFTW
#endif

struct line {
    uint32_t n, rows;
    const float complex *samples; /* rows x n */
    const double *expected;       /* interleaved */
};

static cl_mem make_input(struct pipeline *p, const struct line *line)
{
    return pipeline_buffer(p, (size_t)line->rows * line->n * sizeof(float complex), line->samples);
}

static cl_mem make_output(struct pipeline *p, const struct line *line)
{
    const size_t count = (size_t)line->rows * line->n;
    const cl_mem out = pipeline_buffer(p, count * sizeof(float complex), NULL);
    pipeline_result(p, RESULT_FLOATS, out, 2 * count, line->expected, 1e-5);
    return out;
}

/* ---- the processor ---- */

struct scalar {
    uint32_t n, *index;
    float complex *roots, *out;
    const float complex *in;
};

/* Radix 2, decimation in time, one butterfly after another. */
static int transform_scalar(void *context, struct error *why)
{
    const struct scalar *s = context;
    (void)why;
    for (uint32_t i = 0; i < s->n; i++)
        s->out[i] = s->in[s->index[i]];
    for (uint32_t half = 1; half < s->n; half *= 2)
        for (uint32_t start = 0; start < s->n; start += 2 * half)
            for (uint32_t k = 0; k < half; k++) {
                float *a = (float *)(s->out + start + k), *b = a + 2 * (size_t)half;
                const float *w = (const float *)(s->roots + k * (s->n / half / 2));
                const float re = b[0] * w[0] + b[1] * w[1]; /* times the conjugate */
                const float im = b[1] * w[0] - b[0] * w[1];
                b[0] = a[0] - re;
                b[1] = a[1] - im;
                a[0] += re;
                a[1] += im;
            }
    return 0;
}

static void add_scalar(struct group *group, const struct line *line)
{
    static const uint32_t two[] = {2, 0};
    struct pipeline *p = pipeline_new(group, "CPU, scalar radix 2");
    struct scalar *s = pipeline_memory(p, sizeof *s);
    struct arm_axis axis = {0};
    if (s == NULL)
        return;
    arm_factor(p, &axis, line->n, two);
    s->n = line->n;
    s->in = line->samples;
    s->index = pipeline_memory(p, line->n * sizeof *s->index);
    s->out = pipeline_memory(p, line->n * sizeof *s->out);
    s->roots = arm_host_roots(p, line->n);
    for (uint32_t i = 0; !pipeline_has_ended(p) && i < line->n; i++)
        s->index[i] = arm_digit_reversed(&axis, i);
    pipeline_call(p, transform_scalar, NULL, s);
    pipeline_host_result(p, (const float *)s->out, (size_t)2 * line->n, line->expected, 1e-5);
}

#ifdef HAVE_FFTW
static int transform_fftw(void *context, struct error *why)
{
    (void)why;
    fftwf_execute(*(fftwf_plan *)context);
    return 0;
}

static void destroy_fftw(void *context)
{
    fftwf_destroy_plan(*(fftwf_plan *)context);
}

static void add_fftw(struct group *group, const struct line *line)
{
    struct pipeline *p = pipeline_new(group, "CPU, FFTW, one thread");
    fftwf_plan *plan = pipeline_memory(p, sizeof *plan);
    float complex *in = pipeline_memory(p, line->n * sizeof *in);
    float complex *out = pipeline_memory(p, line->n * sizeof *out);
    if (plan == NULL || in == NULL || out == NULL)
        return;
    *plan = fftwf_plan_dft_1d((int)line->n, in, out, FFTW_FORWARD, FFTW_MEASURE);
    memcpy(in, line->samples, line->n * sizeof *in);
    pipeline_call(p, transform_fftw, destroy_fftw, plan);
    pipeline_host_result(p, (const float *)out, (size_t)2 * line->n, line->expected, 1e-5);
}
#endif

/* ---- the vectorised radix-2 transform ---- */

static cl_mem stage_tables(struct pipeline *p, uint32_t n)
{
    float complex *table = pipeline_memory(p, n * sizeof *table);
    for (uint32_t half = 1; table != NULL && half < n; half *= 2)
        for (uint32_t k = 0; k < half; k++)
            table[half + k] = (float complex)cexp(M_PI * I * k / half);
    return pipeline_buffer(p, n * sizeof *table, table);
}

static void add_vectorised(struct group *group, const struct line *line, bool wide)
{
    static const uint32_t two[] = {2, 0};
    struct pipeline *p =
        pipeline_new(group, "vectorised radix 2, %s bits an item", wide ? "1024" : "256");
    struct arm_axis axis = {0};
    arm_factor(p, &axis, line->n, two);
    arm_make_tables(p, &axis);
    const cl_mem in = make_input(p, line), out = make_output(p, line);
    const cl_mem table = stage_tables(p, line->n);
    const cl_program program = pipeline_program(p, "arm.cl+vector.cl", "-DSINCOS");
    const struct shape quarter = {line->n / 4, 1, 0, 0, 0};
    pipeline_launch(p, program, "points_2", quarter, "bbb", in, out, axis.index);
    pipeline_launch(p, program, "points_4", quarter, "b", out);
    for (uint32_t half = 4; half < line->n / 2; half *= 2) {
        const bool four = wide && line->n / half / 2 >= 4;
        const struct shape shape = {line->n / (four ? 16 : 4), 1, 0, 0, 0};
        pipeline_launch(p, program, four ? "generic_1024" : "generic_256", shape, "bub", out, half,
                        table);
    }
    pipeline_launch(p, program, "final_n", quarter, "bub", out, line->n / 2, table);
}

/* ---- the mixed-radix transform ---- */

enum twiddle_kernel { THROUGH_K, SIMPLIFIED, MERGED, TABLE };

static void add_mixed(struct group *group, const char *name, const struct line *line,
                      const uint32_t *radices, enum twiddle_kernel twiddles)
{
    struct pipeline *p = pipeline_new(group, "%s", name);
    struct arm_axis axis = {.sines = twiddles != TABLE};
    const bool alone = twiddles == THROUGH_K || twiddles == SIMPLIFIED;
    arm_factor(p, &axis, line->n, radices);
    arm_make_tables(p, &axis);
    const cl_mem in = make_input(p, line), out = make_output(p, line);
    /* Each dispatch reads and writes each number once; the first one reads the order, too. */
    const unsigned dispatches = 1 + axis.stage_count + (alone ? axis.stage_count - 1 : 0);
    pipeline_traffic(p, (double)line->n * line->rows * (16. * dispatches + 4));
    if (!alone) {
        const char *options = axis.sines ? "-DSINCOS" : "";
        arm_add_rows(p, pipeline_program(p, "arm.cl", "%s", options), &axis, line->rows, in, out,
                     false);
        return;
    }
    const cl_program program = pipeline_program(p, "arm.cl+vector.cl", "-DSINCOS");
    const struct shape all = {line->n, line->rows, 0, 0, 0};
    pipeline_launch(p, program, "digit_reverse", all, "bbbu", in, out, axis.index, line->n);
    uint32_t span = 1;
    for (unsigned i = 0; i < axis.stage_count; i++) {
        const uint32_t radix = axis.radix[i];
        const struct shape shape = {line->n / radix, line->rows, 0, 0, 0};
        char kernel[24];
        snprintf(kernel, sizeof kernel, "%s_%u", i == 0 ? "first" : "plain", radix);
        if (i > 0 && twiddles == THROUGH_K)
            pipeline_launch(p, program, "twiddle_through_k", all, "bbuuu", out, out, line->n, span,
                            radix);
        if (i > 0 && twiddles == SIMPLIFIED)
            pipeline_launch(p, program, "twiddle_simplified", all, "bbuuuf", out, out, line->n,
                            span, radix, 2 * M_PI / (span * radix));
        if (i == 0)
            pipeline_launch(p, program, kernel, shape, "bu", out, line->n);
        else
            pipeline_launch(p, program, kernel, shape, "buu", out, line->n, span);
        span *= radix;
    }
}

/* ---- groups ---- */

static void build_vectorised(struct group *group, const void *context)
{
    const struct line *line = context;
    if (line->n <= 1 << 17) {
        add_scalar(group, line);
#ifdef HAVE_FFTW
        add_fftw(group, line);
#endif
    }
    add_vectorised(group, line, false);
    add_vectorised(group, line, true);
    add_mixed(group, "mixed radix, tables", line, NULL, TABLE);
}

static const uint32_t radix_2[] = {2, 0}, radix_4[] = {4, 2, 0};

static void build_improvements(struct group *group, const void *context)
{
    const struct line *line = context;
    add_mixed(group, "radix 2, twiddles merged", line, radix_2, MERGED);
    add_mixed(group, "radix 4, twiddle kernel through k", line, radix_4, THROUGH_K);
    add_mixed(group, "radix 4, twiddle kernel simplified", line, radix_4, SIMPLIFIED);
    add_mixed(group, "radix 4, twiddles merged", line, radix_4, MERGED);
    add_mixed(group, "radix 8, 4 and 2, twiddles merged", line, NULL, MERGED);
    add_mixed(group, "radix 4, tables", line, radix_4, TABLE);
}

/* One stage's twiddles alone; the input is 1, so that the result is the twiddles themselves. */
static void build_twiddles(struct group *group, const void *context)
{
    const struct line *line = context;
    const struct shape all = {line->n, line->rows, 0, 0, 0};
    for (unsigned simplified = 0; simplified < 2; simplified++) {
        struct pipeline *p = pipeline_new(group, simplified ? "simplified" : "through k");
        const cl_program program = pipeline_program(p, "arm.cl+vector.cl", "-DSINCOS");
        const cl_mem in = make_input(p, line), out = make_output(p, line);
        if (simplified)
            pipeline_launch(p, program, "twiddle_simplified", all, "bbuuuf", in, out, line->n,
                            line->n / 4, 4, 2 * M_PI / line->n);
        else
            pipeline_launch(p, program, "twiddle_through_k", all, "bbuuu", in, out, line->n,
                            line->n / 4, 4);
    }
}

static void measure(struct bench *bench, unsigned row, const char *name, uint32_t n, uint32_t rows,
                    void (*build)(struct group *group, const void *context))
{
    const size_t count = (size_t)n * rows;
    const bool twiddles_only = build == build_twiddles;
    float complex *samples = malloc(count * sizeof *samples);
    double complex *expected = malloc(count * sizeof *expected);
    uint8_t *noise = reference_picture(2 * n, rows);
    if (samples == NULL || expected == NULL)
        abort();
    for (size_t i = 0; i < count; i++) {
        const size_t nx = i % n % (n / 4), ky = i % n / (n / 4);
        samples[i] = twiddles_only ? 1 : noise[2 * i] / 256.f + noise[2 * i + 1] / 256.f * I;
        expected[i] = twiddles_only ? cexp(-2 * M_PI * I * (double)(nx * ky) / n) : samples[i];
    }
    for (uint32_t i = 0; i < rows && !twiddles_only; i++)
        reference_dft(expected + (size_t)i * n, n, -1);
    const struct line line = {
        .n = n, .rows = rows, .samples = samples, .expected = (const double *)expected};
    const struct group_head head = {
        .row = row, .name = name, .x = n, .simulated = build == build_improvements};
    bench_group(bench, &head, build, &line);
    free(noise);
    free(samples);
    free(expected);
}

void row_vectorised(struct bench *bench)
{
    for (unsigned power = 6; power <= (bench_is_quick(bench) ? 8 : 17); power++)
        measure(bench, 4, "one line", 1u << power, 1, build_vectorised);
    if (bench_sizes(bench) == SIZES_LARGE)
        measure(bench, 4, "one line", 1u << 22, 1, build_vectorised);
}

void row_mixed_radix(struct bench *bench)
{
    static const uint32_t lines[] = {2, 4, 16, 256}, alone[] = {2, 64, 64, 4096};
    const enum sizes sizes = bench_sizes(bench);
    const bool quick = bench_is_quick(bench);
    measure(bench, 5, "twiddle kernel alone, lines of 4096", quick ? 64 : 4096, alone[sizes],
            build_twiddles);
    for (unsigned power = quick ? 6 : 8; power <= (quick ? 7 : 16); power += quick ? 1 : 2)
        measure(bench, 5, "lines in a dispatch", 1u << power, lines[sizes], build_improvements);
}
