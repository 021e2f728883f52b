/* Rows 1 to 3: Intel's FFT for image processing. A pass per dispatch ('UAV') beside a line per
 * group in local memory ('SLM'); twiddles from a table and computed; and what the article leaves
 * open: packing without an idle channel, a source without a float copy, a result of 8 bits.
 * intel.cl describes the kernels. */
#include "articles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "transform/transform.h"

enum twiddles { COMPUTED, LOOKUP, NATIVE };
enum source { COMPLEX, REAL, BYTES };

struct technique {
    const char *name;
    bool slm, packed, once; /* once: SLM loads each number once */
    enum twiddles twiddles;
    enum source source;
    bool copied;       /* a dispatch converts the source from bytes to floats */
    bool byte_result;  /* the last pass writes bytes */
    bool narrow_after; /* a dispatch converts the result to bytes */
};

struct picture {
    uint32_t width, height;
    bool one_axis; /* forward along rows only */
    unsigned row;
    const uint8_t *pixels; /* four bytes a pixel; the fourth is 0 */
    const uint8_t *plane;  /* for fftd */
    const double *expected;
    const struct technique *techniques;
    unsigned count;
    const struct fftd_variant *fftd;
    unsigned fftd_count;
};

struct frame {
    cl_mem source_re, source_im, bytes_in; /* not written by any pass */
    cl_mem re[2], im[2], bytes_out;
    cl_mem table[2]; /* of rows and of columns */
    unsigned now;    /* which of re and im holds the frame */
};

static unsigned log_2(uint32_t n)
{
    return n > 1 ? 1 + log_2(n / 2) : 0;
}

/* ---- the table: indices of both inputs, cosine and sine, for each number of each pass ---- */

static uint32_t reversed(uint32_t n, unsigned bits)
{
    uint32_t r = 0;
    for (unsigned i = 0; i < bits; i++)
        r |= (n >> i & 1) << (bits - 1 - i);
    return r;
}

static cl_mem make_table(struct pipeline *p, uint32_t n)
{
    const unsigned bits = log_2(n);
    const size_t bytes = 4 * sizeof(float) * n * bits;
    float *table = pipeline_memory(p, bytes), *entry = table;
    for (unsigned pass = 0; table != NULL && pass < bits; pass++)
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t half = 1u << pass, a = i & ~half, b = a + half;
            const double angle = M_PI * (i & (2 * half - 1)) / half;
            *entry++ = (float)(pass > 0 ? a : reversed(a, bits));
            *entry++ = (float)(pass > 0 ? b : reversed(b, bits));
            *entry++ = (float)cos(angle);
            *entry++ = (float)sin(angle);
        }
    return pipeline_buffer(p, bytes, table);
}

/* ---- dispatches ---- */

struct axis {
    bool columns, inverse, first, last; /* the first and the last axis of the frame */
};

static cl_program program_for(struct pipeline *p, const struct technique *t, uint32_t n,
                              const struct axis *axis, bool first_pass, bool last_pass)
{
    const unsigned source = first_pass && axis->first ? t->source : COMPLEX;
    const unsigned result = last_pass && axis->last ? t->byte_result : 0;
    return pipeline_program(p, "intel.cl",
                            "-DLOG_N=%u -DSIGN=%s -DTWIDDLES=%d -DSOURCE=%u "
                            "-DRESULT=%u%s%s%s",
                            log_2(n), axis->inverse ? "1" : "-1", t->twiddles, source, result,
                            t->packed ? " -DPACKED" : "", t->once ? " -DLOAD_ONCE" : "",
                            axis->columns && !t->slm ? " -DCOLUMNS" : "");
}

static void add_axis(struct pipeline *p, const struct technique *t, const struct picture *picture,
                     struct frame *f, const struct axis *axis)
{
    const uint32_t width = picture->width, height = picture->height;
    const uint32_t n = axis->columns ? height : width, lines = axis->columns ? width : height;
    const unsigned along = axis->columns ? width : 1, between = axis->columns ? 1 : width;
    const unsigned passes = t->slm ? 1 : log_2(n);
    for (unsigned pass = 0; pass < passes; pass++) {
        const bool last = pass == passes - 1;
        const cl_program program = program_for(p, t, n, axis, pass == 0, last);
        const bool first = pass == 0 && axis->first;
        const cl_mem in = !first ? f->re[f->now] : t->source == BYTES ? f->bytes_in : f->source_re;
        const cl_mem in_im = first ? f->source_im : f->im[f->now];
        const cl_mem out = last && axis->last && t->byte_result ? f->bytes_out : f->re[!f->now];
        const double scale = last && axis->inverse ? 1. / n : 1;
        if (t->slm) {
            const size_t group = pipeline_group_limit(p, program, "slm", n);
            pipeline_launch(p, program, "slm", (struct shape){group, lines, group, 1}, "bbbbbuuf",
                            in, in_im, out, f->im[!f->now], f->table[axis->columns], along, between,
                            scale);
        } else {
            const struct shape shape =
                axis->columns ? (struct shape){lines, n, 0, 0} : (struct shape){n, lines, 0, 0};
            pipeline_launch(p, program, "uav", shape, "bbbbbuufu", in, in_im, out, f->im[!f->now],
                            f->table[axis->columns], along, between, scale, pass);
        }
        f->now = !f->now;
    }
}

static void make_frame(struct pipeline *p, const struct technique *t, const struct picture *picture,
                       struct frame *f)
{
    const size_t count = (size_t)picture->width * picture->height;
    const size_t rest = (t->packed ? 2 : 4) * sizeof(float) * count;
    float *samples = pipeline_memory(p, 4 * sizeof(float) * count);
    void *zeros = pipeline_memory(p, rest);
    for (size_t i = 0; samples != NULL && i < 4 * count; i++)
        samples[i] = t->copied ? 0 : picture->pixels[i];
    f->source_re = pipeline_buffer(p, 4 * sizeof(float) * count, samples);
    f->source_im = pipeline_buffer(p, rest, zeros);
    for (int i = 0; i < 2; i++) {
        f->re[i] = pipeline_buffer(p, 4 * sizeof(float) * count, NULL);
        f->im[i] = pipeline_buffer(p, rest, NULL);
    }
    f->bytes_in = pipeline_buffer(p, 4 * count, picture->pixels);
    f->bytes_out = pipeline_buffer(p, 4 * count, NULL);
    f->table[0] = make_table(p, picture->width);
    f->table[1] = make_table(p, picture->height);
}

static void add(struct group *group, const struct technique *t, const struct picture *picture)
{
    static const struct axis rows_only = {.first = true, .last = true};
    static const struct axis all[] = {{.first = true},
                                      {.columns = true},
                                      {.columns = true, .inverse = true},
                                      {.inverse = true, .last = true}};
    struct pipeline *p = pipeline_new(group, "%s", t->name);
    const size_t count = (size_t)picture->width * picture->height;
    const struct shape pixels = {picture->width, picture->height, 0, 0};
    struct frame f = {.now = 0};
    make_frame(p, t, picture, &f);
    const cl_program copies =
        t->copied || t->narrow_after
            ? pipeline_program(p, "intel.cl",
                               "-DLOG_N=1 -DSIGN=1 -DTWIDDLES=0 -DSOURCE=0 -DRESULT=0")
            : NULL;
    if (t->copied)
        pipeline_launch(p, copies, "widen", pixels, "bb", f.bytes_in, f.source_re);
    if (picture->one_axis)
        add_axis(p, t, picture, &f, &rows_only);
    for (unsigned i = 0; i < 4 && !picture->one_axis; i++)
        add_axis(p, t, picture, &f, &all[i]);
    if (t->narrow_after)
        pipeline_launch(p, copies, "narrow", pixels, "bb", f.re[f.now], f.bytes_out);
    if (t->byte_result || t->narrow_after)
        pipeline_result(p, RESULT_BYTES, f.bytes_out, 4 * count, picture->expected, 0.5);
    else
        pipeline_result(p, RESULT_FLOATS, f.re[f.now], 4 * count, picture->expected,
                        t->twiddles == NATIVE ? 1e-3 : 1e-5);
}

static void build(struct group *group, const void *context)
{
    const struct picture *picture = context;
    for (unsigned i = 0; i < picture->count; i++)
        add(group, &picture->techniques[i], picture);
    for (unsigned i = 0; i < picture->fftd_count; i++)
        fftd_add(group, &picture->fftd[i], picture->plane, picture->width, picture->height);
}

/* ---- groups ---- */

static const struct technique passes[] = {
    {.name = "UAV, a pass per dispatch", .twiddles = COMPUTED},
    {.name = "UAV, zero imaginary part not read", .twiddles = COMPUTED, .source = REAL},
    {.name = "UAV, lookup table", .twiddles = LOOKUP},
    {.name = "SLM, an axis per dispatch", .slm = true, .twiddles = COMPUTED},
    {.name = "SLM, zero imaginary part not read",
     .slm = true,
     .twiddles = COMPUTED,
     .source = REAL},
    {.name = "SLM, each number loaded once", .slm = true, .once = true, .twiddles = COMPUTED},
    {.name = "SLM, loaded once, zero imaginary part not read",
     .slm = true,
     .once = true,
     .twiddles = COMPUTED,
     .source = REAL},
    {.name = "SLM, lookup table", .slm = true, .twiddles = LOOKUP},
};

static const struct technique twiddles[] = {
    {.name = "UAV, computed", .twiddles = COMPUTED},
    {.name = "UAV, computed by native functions", .twiddles = NATIVE},
    {.name = "UAV, lookup table", .twiddles = LOOKUP},
    {.name = "SLM, computed", .slm = true, .twiddles = COMPUTED},
    {.name = "SLM, computed by native functions", .slm = true, .twiddles = NATIVE},
    {.name = "SLM, lookup table", .slm = true, .twiddles = LOOKUP},
};

static const struct technique further[] = {
    {.name = "SLM: idle channel, float source and result", .slm = true, .twiddles = LOOKUP},
    {.name = "packed without an idle channel", .slm = true, .twiddles = LOOKUP, .packed = true},
    {.name = "zero imaginary part not read", .slm = true, .twiddles = LOOKUP, .source = REAL},
    {.name = "source bytes, through a float copy",
     .slm = true,
     .twiddles = LOOKUP,
     .source = REAL,
     .copied = true},
    {.name = "source bytes, read directly", .slm = true, .twiddles = LOOKUP, .source = BYTES},
    {.name = "result bytes, through a float copy",
     .slm = true,
     .twiddles = LOOKUP,
     .narrow_after = true},
    {.name = "result bytes, written directly",
     .slm = true,
     .twiddles = LOOKUP,
     .byte_result = true},
    {.name = "packed, bytes read and written directly",
     .slm = true,
     .twiddles = LOOKUP,
     .packed = true,
     .source = BYTES,
     .byte_result = true},
};

#define PLANES(text) .name = (text), .identity = true, .planes = 3, .twiddles = -1

static const struct fftd_variant fftd_passes[] = {
    {PLANES("fftd, fused")},
    {PLANES("fftd, staged"), .staged = true},
};

static const struct fftd_variant fftd_twiddles[] = {
    {.name = "fftd fused, read", .identity = true, .planes = 3, .twiddles = TWIDDLES_READ},
    {.name = "fftd fused, combined", .identity = true, .planes = 3, .twiddles = TWIDDLES_COMBINED},
    {.name = "fftd fused, computed", .identity = true, .planes = 3, .twiddles = TWIDDLES_COMPUTED},
    {PLANES("fftd staged, combined"), .staged = true},
};

static const struct fftd_variant fftd_further[] = {
    {PLANES("fftd, floats")},
    {PLANES("fftd, bytes"), .bytes = true},
    {PLANES("fftd, bytes, half-precision spectrum"), .bytes = true, .half = true},
};

/* The transform of the rows of each colour, in the order of the pixels; the fourth channel is 0. */
static double *transformed_rows(const uint8_t *pixels, uint32_t width, uint32_t height)
{
    double *expected = calloc(4 * (size_t)width * height, sizeof *expected);
    double complex *line = calloc(width, sizeof *line);
    if (expected == NULL || line == NULL)
        abort();
    for (uint32_t y = 0; y < height; y++)
        for (unsigned colour = 0; colour < 3; colour++) {
            const size_t row = 4 * (size_t)y * width + colour;
            for (uint32_t x = 0; x < width; x++)
                line[x] = pixels[row + 4 * (size_t)x];
            reference_dft(line, width, -1);
            for (uint32_t x = 0; x < width; x++)
                expected[row + 4 * (size_t)x] = creal(line[x]);
        }
    free(line);
    return expected;
}

static void measure(struct bench *bench, const char *name, struct picture *picture)
{
    const size_t count = (size_t)picture->width * picture->height;
    uint8_t *plane = reference_picture(picture->width, picture->height);
    uint8_t *pixels = calloc(count, 4);
    double *expected;
    if (pixels == NULL)
        abort();
    for (size_t i = 0; i < count; i++)
        for (unsigned colour = 0; colour < 3; colour++)
            pixels[4 * i + colour] = plane[(i + colour * 7) % count];
    if (picture->one_axis) {
        expected = transformed_rows(pixels, picture->width, picture->height);
    } else {
        expected = calloc(4 * count, sizeof *expected);
        for (size_t i = 0; expected != NULL && i < 4 * count; i++)
            expected[i] = pixels[i];
    }
    picture->pixels = pixels;
    picture->plane = plane;
    picture->expected = expected;
    const struct group_head head = {
        .row = picture->row, .name = name, .x = picture->width, .counted = true};
    bench_group(bench, &head, build, picture);
    free(expected);
    free(pixels);
    free(plane);
}

#define LIST(array) .techniques = (array), .count = sizeof(array) / sizeof(array)[0]
#define FFTD(array) .fftd = (array), .fftd_count = sizeof(array) / sizeof(array)[0]

void row_intel_passes(struct bench *bench)
{
    const uint32_t n = bench_is_quick(bench) ? 32 : 512;
    measure(
        bench, "one axis of 512x256",
        &(struct picture){.row = 1, .width = n, .height = n / 2, .one_axis = true, LIST(passes)});
    measure(bench, "512x512 RGB, forward and inverse",
            &(struct picture){.row = 1, .width = n, .height = n, LIST(passes), FFTD(fftd_passes)});
}

void row_intel_twiddles(struct bench *bench)
{
    const uint32_t n = bench_is_quick(bench) ? 32 : 512;
    measure(
        bench, "twiddles, 512x512 RGB",
        &(struct picture){.row = 2, .width = n, .height = n, LIST(twiddles), FFTD(fftd_twiddles)});
}

void row_intel_further(struct bench *bench)
{
    const uint32_t n = bench_is_quick(bench) ? 32 : 512;
    measure(
        bench, "further optimisations, 512x512 RGB",
        &(struct picture){.row = 3, .width = n, .height = n, LIST(further), FFTD(fftd_further)});
}
