/* Rows 1 to 3: Intel's FFT for image processing. A pass per dispatch ('UAV') beside a line per
 * group in local memory ('SLM'); twiddles from a table and computed; and what the article leaves
 * open: packing without an idle channel, a source without a float copy, a result of 8 bits.
 * intel.cl describes the kernels. Forward and inverse transforms of a picture give the picture, as
 * a copy would, and so the spectrum between them is compared as well. */
#include "articles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "transform/transform.h"

enum twiddles { COMPUTED, LOOKUP, NATIVE };
enum source { COMPLEX, REAL, BYTES };

struct technique {
    const char *name;
    bool slm, packed;
    enum twiddles twiddles;
    enum source source;
    bool copied;       /* a dispatch converts the source from bytes to floats */
    bool byte_result;  /* the last pass writes bytes */
    bool narrow_after; /* a dispatch converts the result to bytes */
};

/* What buffers hold, in their layouts: one with an idle channel, and the packed one. */
struct expected {
    double *re[2], *im[2];
};

struct picture {
    uint32_t width, height, pictures;
    bool one_axis; /* forward along rows only */
    unsigned row;
    const uint8_t *pixels; /* four bytes a pixel; the fourth is 0 */
    const uint8_t *plane;  /* for fftd */
    const double *same;    /* the picture itself */
    struct expected spectrum;
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

static cl_program program_for(struct pipeline *p, const struct technique *t,
                              const struct picture *picture, const struct axis *axis,
                              bool first_pass, bool last_pass)
{
    const uint32_t n = axis->columns ? picture->height : picture->width;
    const unsigned source = first_pass && axis->first ? t->source : COMPLEX;
    const unsigned result = last_pass && axis->last ? t->byte_result : 0;
    return pipeline_program(p, "intel.cl",
                            "-DLOG_N=%u -DSIGN=%s -DTWIDDLES=%d -DSOURCE=%u "
                            "-DRESULT=%u -DAREA=%u%s%s",
                            log_2(n), axis->inverse ? "1" : "-1", t->twiddles, source, result,
                            picture->width * picture->height, t->packed ? " -DPACKED" : "",
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
        const cl_program program = program_for(p, t, picture, axis, pass == 0, last);
        const bool first = pass == 0 && axis->first;
        const cl_mem in = !first ? f->re[f->now] : t->source == BYTES ? f->bytes_in : f->source_re;
        const cl_mem in_im = first ? f->source_im : f->im[f->now];
        const cl_mem out = last && axis->last && t->byte_result ? f->bytes_out : f->re[!f->now];
        const double scale = last && axis->inverse ? 1. / n : 1;
        if (t->slm) {
            const size_t group = pipeline_group_limit(p, program, "slm", n);
            const struct shape shape = {group, lines, group, 1, picture->pictures};
            pipeline_launch(p, program, "slm", shape, "bbbbbuuf", in, in_im, out, f->im[!f->now],
                            f->table[axis->columns], along, between, scale);
        } else {
            const struct shape shape = {axis->columns ? lines : n, axis->columns ? n : lines, 0, 0,
                                        picture->pictures};
            pipeline_launch(p, program, "uav", shape, "bbbbbuufu", in, in_im, out, f->im[!f->now],
                            f->table[axis->columns], along, between, scale, pass);
        }
        f->now = !f->now;
    }
}

/* The article's groups hold two halves of a line, each with real and imaginary parts. */
static void require_local_memory(struct pipeline *p, const struct group *group, uint32_t n)
{
    const cl_ulong bytes = 4 * sizeof(cl_float4) * n;
    if (bytes > bench_device(group->bench)->local_bytes)
        pipeline_refuse(p, "lines of %u need %llu bytes of local memory, and it has %llu", n,
                        (unsigned long long)bytes,
                        (unsigned long long)bench_device(group->bench)->local_bytes);
}

static size_t pixels_of(const struct picture *picture)
{
    return (size_t)picture->width * picture->height * picture->pictures;
}

static void check_spectrum(struct pipeline *p, const struct technique *t,
                           const struct picture *picture, const struct frame *f)
{
    const double limit = t->twiddles == NATIVE ? 1e-3 : 1e-5;
    const size_t count = pixels_of(picture);
    pipeline_check(p, f->re[f->now], 4 * count, picture->spectrum.re[t->packed], limit);
    pipeline_check(p, f->im[f->now], (t->packed ? 2 : 4) * count, picture->spectrum.im[t->packed],
                   limit);
}

static void make_frame(struct pipeline *p, const struct technique *t, const struct picture *picture,
                       struct frame *f)
{
    const size_t count = pixels_of(picture);
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
    const size_t count = pixels_of(picture);
    const struct shape pixels = {picture->width, picture->height * picture->pictures, 0, 0, 0};
    struct frame f = {.now = 0};
    if (t->slm)
        require_local_memory(p, group, picture->width);
    make_frame(p, t, picture, &f);
    const cl_program copies =
        t->copied || t->narrow_after
            ? pipeline_program(p, "intel.cl",
                               "-DLOG_N=1 -DSIGN=1 -DTWIDDLES=0 -DSOURCE=0 -DRESULT=0 -DAREA=1")
            : NULL;
    if (t->copied)
        pipeline_launch(p, copies, "widen", pixels, "bb", f.bytes_in, f.source_re);
    if (picture->one_axis) {
        add_axis(p, t, picture, &f, &rows_only);
        check_spectrum(p, t, picture, &f);
        pipeline_result(p, RESULT_FLOATS, f.re[f.now], 4 * count, picture->spectrum.re[t->packed],
                        1e-5);
        return;
    }
    for (unsigned i = 0; i < 4; i++) {
        add_axis(p, t, picture, &f, &all[i]);
        if (i == 1)
            check_spectrum(p, t, picture, &f);
    }
    if (t->narrow_after)
        pipeline_launch(p, copies, "narrow", pixels, "bb", f.re[f.now], f.bytes_out);
    if (t->byte_result || t->narrow_after)
        pipeline_result(p, RESULT_BYTES, f.bytes_out, 4 * count, picture->same, 0.5);
    else
        pipeline_result(p, RESULT_FLOATS, f.re[f.now], 4 * count, picture->same,
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

static const struct technique axis[] = {
    {.name = "UAV", .twiddles = COMPUTED},
    {.name = "UAV, lookup table", .twiddles = LOOKUP},
    {.name = "SLM", .slm = true, .twiddles = COMPUTED},
    {.name = "SLM, zero imaginary part not read",
     .slm = true,
     .twiddles = COMPUTED,
     .source = REAL},
    {.name = "SLM, lookup table", .slm = true, .twiddles = LOOKUP},
};

static const struct technique passes[] = {
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

static const struct fftd_variant fftd_passes[] = {
    {.name = "fftd, fused", .planes = 3, .twiddles = -1},
    {.name = "fftd, staged", .planes = 3, .twiddles = -1, .staged = true},
};

static const struct fftd_variant fftd_twiddles[] = {
    {.name = "fused, read", .planes = 3, .twiddles = TWIDDLES_READ},
    {.name = "fused, combined", .planes = 3, .twiddles = TWIDDLES_COMBINED},
    {.name = "fused, computed", .planes = 3, .twiddles = TWIDDLES_COMPUTED},
};

static const struct fftd_variant fftd_further[] = {
    {.name = "fftd, floats", .planes = 3, .twiddles = -1},
    {.name = "fftd, bytes", .planes = 3, .twiddles = -1, .bytes = true},
    {.name = "fftd, bytes, half-precision spectrum",
     .planes = 3,
     .twiddles = -1,
     .bytes = true,
     .half = true},
};

static double *numbers(size_t count)
{
    double *memory = calloc(count, sizeof *memory);
    if (memory == NULL)
        abort();
    return memory;
}

/* The spectra of the colours of one picture, and the same for all others. */
static void transform_colours(struct picture *picture)
{
    const size_t area = (size_t)picture->width * picture->height, count = pixels_of(picture);
    struct expected *spectrum = &picture->spectrum;
    double complex *plane = calloc(area, sizeof *plane);
    if (plane == NULL)
        abort();
    for (unsigned packed = 0; packed < 2; packed++) {
        spectrum->re[packed] = numbers(4 * count);
        spectrum->im[packed] = numbers((packed ? 2 : 4) * count);
    }
    for (unsigned colour = 0; colour < 3; colour++) {
        for (size_t i = 0; i < area; i++)
            plane[i] = picture->pixels[4 * i + colour];
        if (picture->one_axis)
            for (uint32_t y = 0; y < picture->height; y++)
                reference_dft(plane + (size_t)y * picture->width, picture->width, -1);
        else
            reference_dft_2d(plane, picture->width, picture->height, -1);
        for (size_t i = 0; i < count; i++) {
            const double re = creal(plane[i % area]), im = cimag(plane[i % area]);
            spectrum->re[0][4 * i + colour] = spectrum->re[1][4 * i + colour] = re;
            spectrum->im[0][4 * i + colour] = im;
            if (colour == 0)
                spectrum->re[1][4 * i + 3] = im;
            else
                spectrum->im[1][2 * i + colour - 1] = im;
        }
    }
    free(plane);
}

static void measure(struct bench *bench, const char *name, struct picture *picture, bool counted)
{
    const size_t area = (size_t)picture->width * picture->height, count = pixels_of(picture);
    uint8_t *plane = reference_picture(picture->width, picture->height);
    uint8_t *pixels = calloc(count, 4);
    double *same = numbers(4 * count);
    if (pixels == NULL)
        abort();
    for (size_t i = 0; i < count; i++)
        for (unsigned colour = 0; colour < 3; colour++)
            same[4 * i + colour] = pixels[4 * i + colour] = plane[(i % area + colour * 7) % area];
    picture->pixels = pixels;
    picture->plane = plane;
    picture->same = same;
    transform_colours(picture);
    const struct group_head head = {.row = picture->row,
                                    .name = name,
                                    .x = (double)count,
                                    .counted = counted,
                                    .untimed = picture->one_axis};
    bench_group(bench, &head, build, picture);
    for (unsigned packed = 0; packed < 2; packed++) {
        free(picture->spectrum.re[packed]);
        free(picture->spectrum.im[packed]);
    }
    free(same);
    free(pixels);
    free(plane);
}

#define LIST(array) .techniques = (array), .count = sizeof(array) / sizeof(array)[0]
#define FFTD(array) .fftd = (array), .fftd_count = sizeof(array) / sizeof(array)[0]

static uint32_t side(const struct bench *bench)
{
    static const uint32_t sides[] = {32, 128, 512, 512};
    return sides[bench_sizes(bench)];
}

void row_intel_passes(struct bench *bench)
{
    const uint32_t n = side(bench), counted = bench_is_quick(bench) ? n : 512;
    measure(bench, "one axis of 512x256",
            &(struct picture){.row = 1,
                              .width = counted,
                              .height = counted / 2,
                              .pictures = 1,
                              .one_axis = true,
                              LIST(axis)},
            true);
    measure(bench, "RGB, forward and inverse",
            &(struct picture){
                .row = 1, .width = n, .height = n, .pictures = 1, LIST(passes), FFTD(fftd_passes)},
            false);
    if (bench_sizes(bench) == SIZES_LARGE || bench_is_quick(bench))
        measure(bench, "RGB, forward and inverse",
                &(struct picture){.row = 1,
                                  .width = n,
                                  .height = n,
                                  .pictures = bench_is_quick(bench) ? 2 : 16,
                                  LIST(passes)},
                false);
}

void row_intel_twiddles(struct bench *bench)
{
    const uint32_t n = side(bench);
    measure(
        bench, "fftd's twiddles, RGB",
        &(struct picture){.row = 2, .width = n, .height = n, .pictures = 1, FFTD(fftd_twiddles)},
        false);
}

void row_intel_further(struct bench *bench)
{
    const uint32_t n = side(bench);
    measure(
        bench, "further optimisations, RGB",
        &(struct picture){
            .row = 3, .width = n, .height = n, .pictures = 1, LIST(further), FFTD(fftd_further)},
        true);
}
