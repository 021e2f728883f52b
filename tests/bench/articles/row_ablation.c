/* The last part of row 6: one change at a time, from ARM's pipeline to ours. arm.cl and stockham.cl
 * describe the kernels. */
#include "plane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum changes { REORDERED, ORDERED, MERGED, REAL, FUSED, LOCAL };

/* A frame of the ablation. `n`: complex numbers of a row. */
struct frame {
    uint32_t n, pitch, height;
    struct arm_axis x, y;
    cl_mem in, out, work[2], response, roots_x, roots_y, half_roots;
    unsigned now;
    unsigned moved; /* bytes, in units of a complex number of all rows, read and written */
};

/* Adds the stages of all rows or columns; the options apply to the first and the last of them. */
static void add_stages(struct pipeline *p, struct frame *f, bool columns, bool inverse,
                       const char *first, const char *last, cl_mem in, cl_mem out)
{
    const struct arm_axis *axis = columns ? &f->y : &f->x;
    const uint32_t lines = columns ? f->pitch : f->height;
    const unsigned step = columns ? f->pitch : 1, apart = columns ? 1 : f->pitch;
    uint32_t span = 1;
    for (unsigned i = 0; i < axis->stage_count; i++) {
        const bool at_start = i == 0, at_end = i == axis->stage_count - 1;
        const uint32_t radix = axis->radix[i];
        const cl_program program =
            pipeline_program(p, "arm.cl+stockham.cl", "%s %s %s %s", columns ? "-DCOLUMNS" : "",
                             inverse ? "-DINVERSE" : "", at_start ? first : "", at_end ? last : "");
        const cl_mem from = at_start && in != NULL ? in : f->work[f->now];
        const cl_mem to = at_end && out != NULL ? out : f->work[!f->now];
        const struct shape shape = columns ? (struct shape){lines, axis->length / radix, 0, 0, 0}
                                           : (struct shape){axis->length / radix, lines, 0, 0, 0};
        char name[24];
        snprintf(name, sizeof name, "stockham_%u", radix);
        pipeline_launch(p, program, name, shape, "bbuuuubb", from, to, axis->length, step, apart,
                        span, axis->table[i > 0 ? i : 1], f->response);
        f->now = !f->now;
        span *= radix;
    }
}

static void transpose(struct pipeline *p, struct frame *f, uint32_t width, uint32_t height)
{
    const cl_program program = pipeline_program(p, "arm.cl", "%s", "");
    pipeline_launch(p, program, "transpose", (struct shape){width / 2, height / 2, 0, 0, 0}, "bbuu",
                    f->work[f->now], f->work[!f->now], width, height);
    f->now = !f->now;
}

/* Rows, transpose, rows, transpose; every frame's columns are rows of the transposed frame. */
static void add_transposed_stages(struct pipeline *p, struct frame *f, bool inverse)
{
    struct frame turned = *f;
    add_stages(p, f, false, inverse, "", "", NULL, NULL);
    transpose(p, f, f->pitch, f->height);
    turned.x = f->y;
    turned.pitch = f->height;
    turned.height = f->pitch;
    turned.now = f->now;
    add_stages(p, &turned, false, inverse, "", "", NULL, NULL);
    f->now = turned.now;
    transpose(p, f, f->height, f->pitch);
}

static void add_complex(struct pipeline *p, struct frame *f, enum changes changes)
{
    const struct shape all = {f->n, f->height, 0, 0, 0};
    const cl_program program = pipeline_program(p, "arm.cl+stockham.cl", "   ");
    pipeline_launch(p, program, "load_complex", all, "bb", f->in, f->work[0]);
    for (unsigned inverse = 0; inverse < 2; inverse++) {
        if (inverse)
            pipeline_launch(p, program, "multiply_all", all, "bb", f->work[f->now], f->response);
        if (changes == ORDERED) {
            add_transposed_stages(p, f, inverse);
        } else {
            add_stages(p, f, inverse, inverse, "", "", NULL, NULL);
            add_stages(p, f, !inverse, inverse, "", "", NULL, NULL);
        }
    }
    pipeline_launch(p, program, "store_complex", all, "bb", f->work[f->now], f->out);
    const unsigned passes =
        2 * (f->x.stage_count + f->y.stage_count) + (changes == ORDERED ? 4 : 0);
    pipeline_traffic(p, (double)f->n * f->height * (16. * passes + 20 + 9 + 9));
}

static void untangle(struct pipeline *p, struct frame *f, bool inverse)
{
    const cl_program program = pipeline_program(p, "arm.cl+stockham.cl", "   ");
    const size_t across = inverse ? f->n : f->n + 1;
    pipeline_launch(p, program, inverse ? "tangle" : "untangle",
                    (struct shape){across, f->height, 0, 0, 0}, "bbub", f->work[f->now],
                    f->work[!f->now], f->n, f->half_roots);
    f->now = !f->now;
    f->pitch = inverse ? f->n : f->n + 1;
}

static void add_real(struct pipeline *p, struct frame *f, bool fused)
{
    const cl_program program = pipeline_program(p, "arm.cl+stockham.cl", "   ");
    const struct shape all = {f->n, f->height, 0, 0, 0};
    if (!fused)
        pipeline_launch(p, program, "load_real", all, "bb", f->in, f->work[0]);
    add_stages(p, f, false, false, fused ? "-DIN_BYTES" : "", "", fused ? f->in : NULL, NULL);
    untangle(p, f, false);
    add_stages(p, f, true, false, "", "", NULL, NULL);
    if (!fused)
        pipeline_launch(p, program, "multiply_all", (struct shape){f->n + 1, f->height, 0, 0, 0},
                        "bb", f->work[f->now], f->response);
    add_stages(p, f, true, true, fused ? "-DPRODUCT" : "", "", NULL, NULL);
    untangle(p, f, true);
    add_stages(p, f, false, true, "", fused ? "-DOUT_BYTES" : "", NULL, fused ? f->out : NULL);
    if (!fused)
        pipeline_launch(p, program, "store_real", all, "bb", f->work[f->now], f->out);
    const unsigned passes = 2 * (f->x.stage_count + f->y.stage_count) + 2;
    const double number = (double)f->n * f->height;
    pipeline_traffic(p, number * (fused ? 16. * passes - 16 + 4 + 4 : 16. * passes + 20 + 20 + 20));
}

static void radix_options(char *text, size_t size, const struct arm_axis *axis, unsigned columns)
{
    size_t used = (size_t)snprintf(text, size, "-DN=%u -DC=%u", axis->length, columns);
    for (unsigned i = 0; i < 6 && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, " -DR%u=%u", i,
                                 i < axis->stage_count ? axis->radix[i] : 1);
}

static void add_local(struct pipeline *p, struct group *group, struct frame *f)
{
    const cl_ulong local_bytes = bench_device(group->bench)->local_bytes;
    const cl_ulong budget = local_bytes < 48 << 10 ? local_bytes : 48 << 10;
    unsigned columns = 8;
    char options[160];
    while (columns > 1 && 16ULL * columns * f->height > budget)
        columns /= 2;
    if (f->x.stage_count > 6 || f->y.stage_count > 6 || 16ULL * columns * f->height > budget ||
        16ULL * f->n > budget)
        pipeline_refuse(p, "lines of %ux%u do not fit into local memory", 2 * f->n, f->height);
    radix_options(options, sizeof options, &f->x, 1);
    const cl_program forward = pipeline_program(p, "arm.cl+stockham.cl", "%s", options);
    const cl_program inverse = pipeline_program(p, "arm.cl+stockham.cl", "%s -DINVERSE", options);
    radix_options(options, sizeof options, &f->y, columns);
    const cl_program middle = pipeline_program(p, "arm.cl+stockham.cl", "%s", options);
    const size_t along = pipeline_group_limit(p, forward, "rows_forward", 64);
    const size_t back = pipeline_group_limit(p, inverse, "rows_inverse", 64);
    const size_t down = pipeline_group_limit(p, middle, "columns", 128) / columns;
    const size_t across = (f->n + columns) / columns * columns;
    if (down == 0)
        pipeline_refuse(p, "groups of %u columns are too large", columns);
    pipeline_launch(p, forward, "rows_forward", (struct shape){f->height, along, 1, along, 0},
                    "bbbb", f->in, f->work[0], f->roots_x, f->half_roots);
    pipeline_launch(p, middle, "columns", (struct shape){across, down, columns, down, 0}, "bubb",
                    f->work[0], f->n + 1, f->roots_y, f->response);
    pipeline_launch(p, inverse, "rows_inverse", (struct shape){f->height, back, 1, back, 0}, "bbbb",
                    f->work[0], f->out, f->roots_x, f->half_roots);
    pipeline_traffic(p, (double)f->n * f->height * (2 + 8 + 16 + 4 + 8 + 2));
}

/* The left half of the response, with the column of half the width. */
static cl_mem half_response(struct pipeline *p, uint32_t width, uint32_t height)
{
    const size_t pitch = width / 2 + 1;
    float *response = reference_response(width, height);
    float *half = pipeline_memory(p, pitch * height * sizeof *half);
    for (uint32_t v = 0; half != NULL && v < height; v++)
        memcpy(half + v * pitch, response + (size_t)v * width, pitch * sizeof *half);
    free(response);
    return pipeline_buffer(p, pitch * height * sizeof *half, half);
}

static void add_changed(struct group *group, const char *name, enum changes changes,
                        const struct scene *scene)
{
    struct pipeline *p = pipeline_new(group, "%s", name);
    const bool real = changes >= REAL;
    const size_t count = (size_t)scene->width * scene->height;
    struct frame f = {.n = real ? scene->width / 2 : scene->width, .height = scene->height};
    f.pitch = f.n;
    arm_factor(p, &f.x, f.n, NULL);
    arm_factor(p, &f.y, f.height, NULL);
    if (pipeline_has_ended(p))
        return;
    if (f.x.stage_count < 2 || f.y.stage_count < 2) {
        pipeline_fail(p, "a length with one stage has no twiddles");
        return;
    }
    arm_make_tables(p, &f.x);
    arm_make_tables(p, &f.y);
    f.in = pipeline_buffer(p, count, scene->picture);
    f.out = pipeline_buffer(p, count, NULL);
    for (int i = 0; i < 2; i++)
        f.work[i] = pipeline_buffer(p, (size_t)(f.n + 1) * f.height * sizeof(float complex), NULL);
    f.roots_x = arm_roots(p, f.n);
    f.roots_y = arm_roots(p, f.height);
    f.half_roots = arm_roots(p, 2 * f.n);
    if (real) {
        f.response = half_response(p, scene->width, scene->height);
    } else {
        float *response = reference_response(scene->width, scene->height);
        f.response = pipeline_buffer(p, count * sizeof *response, response);
        free(response);
    }
    if (changes == LOCAL)
        add_local(p, group, &f);
    else if (real)
        add_real(p, &f, changes == FUSED);
    else
        add_complex(p, &f, changes);
    pipeline_result(p, RESULT_BYTES, f.out, count, scene->expected, 0.51);
}

void plane_build_ablation(struct group *group, const void *context)
{
    static const struct step_variant published = {
        .name = "their pipeline, with tables", .tables = true, .transposition = BLOCKS};
    const struct scene *scene = context;
    plane_add(group, &published, scene);
    add_changed(group, "digit reversal dropped", ORDERED, scene);
    add_changed(group, "+ transposes merged", MERGED, scene);
    add_changed(group, "+ real input", REAL, scene);
    add_changed(group, "+ load, product and store fused", FUSED, scene);
    add_changed(group, "+ stages fused through local memory", LOCAL, scene);
    for (unsigned i = 0; i < FFTD_FORMS; i++)
        fftd_add(group, &fftd_form[i], scene->picture, scene->width, scene->height);
}
