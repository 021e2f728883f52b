/* Row 6: ARM's transform in two dimensions, step by step; its transpositions alone; mixed radix
 * beside radix 2 on a padded picture; and then, one change at a time, from its pipeline to ours.
 * Every technique but a transposition takes a picture of 8 bits on the device to a filtered picture
 * of 8 bits there: forward transform, product, inverse transform. arm.cl and stockham.cl describe
 * the kernels. */
#include "arm.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transform/plan.h"

enum transposition { HOST, ELEMENTS, BLOCKS, IN_PLACE, IN_PLACE_PACKED, BLOCKS_OF_4, BRANCHES };

struct scene {
    uint32_t width, height;
    const uint8_t *picture;
    double *expected, *expected_padded; /* padded: to powers of two */
    bool large;                         /* too large for the steps that take a second or more */
};

struct step_variant {
    const char *name;
    bool host, row_by_row, slow;
    bool square_only, fours_only; /* what it can transpose */
    bool tables;                  /* twiddles are read instead of computed */
    bool radix_2;                 /* after padding to powers of two */
    bool groups;                  /* local sizes are set by hand: set_groups */
    enum transposition transposition;
};

/* The pipeline as published, on rows that are padded to an even pitch. */
struct published {
    uint32_t width, height, pitch_x, pitch_y;
    struct arm_axis x, y;
    cl_mem work[2];
    unsigned now;
    float complex *host[2], *roots_x, *roots_y;
    const uint8_t *picture;
    float *response, *result;
    cl_command_queue queue;
};

/* ---- the host's own ---- */

static void transpose_host(float complex *out, const float complex *in, uint32_t width,
                           uint32_t height)
{
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            out[(size_t)x * height + y] = in[(size_t)y * width + x];
}

static void host_direction(struct published *f, bool inverse)
{
    arm_host_rows(f->host[1], f->host[0], &f->x, f->roots_x, f->height, inverse);
    transpose_host(f->host[0], f->host[1], f->width, f->height);
    arm_host_rows(f->host[1], f->host[0], &f->y, f->roots_y, f->width, inverse);
    transpose_host(f->host[0], f->host[1], f->height, f->width);
}

static int filter_on_host(void *context, struct error *why)
{
    struct published *f = context;
    const size_t count = (size_t)f->width * f->height;
    (void)why;
    for (size_t i = 0; i < count; i++)
        f->host[0][i] = f->picture[i];
    host_direction(f, false);
    for (size_t i = 0; i < count; i++)
        f->host[0][i] *= f->response[i];
    host_direction(f, true);
    for (size_t i = 0; i < count; i++)
        f->result[i] = crealf(f->host[0][i]);
    return 0;
}

static void add_host(struct group *group, const char *name, const struct scene *scene)
{
    struct pipeline *p = pipeline_new(group, "%s", name);
    const size_t count = (size_t)scene->width * scene->height;
    struct published *f = pipeline_memory(p, sizeof *f);
    if (f == NULL)
        return;
    f->width = scene->width;
    f->height = scene->height;
    f->picture = scene->picture;
    arm_factor(p, &f->x, f->width, NULL);
    arm_factor(p, &f->y, f->height, NULL);
    if (pipeline_has_ended(p))
        return;
    f->host[0] = pipeline_memory(p, count * sizeof *f->host[0]);
    f->host[1] = pipeline_memory(p, count * sizeof *f->host[1]);
    f->result = pipeline_memory(p, count * sizeof *f->result);
    f->response = pipeline_memory(p, count * sizeof *f->response);
    f->roots_x = arm_host_roots(p, f->width);
    f->roots_y = arm_host_roots(p, f->height);
    float *response = reference_response(f->width, f->height);
    if (!pipeline_has_ended(p))
        memcpy(f->response, response, count * sizeof *response);
    free(response);
    pipeline_call(p, filter_on_host, NULL, f);
    pipeline_host_result(p, f->result, count, scene->expected, 1e-5);
}

/* ---- the device's, step by step ---- */

/* The host transposes what the device has computed: both buffers are mapped. */
struct host_transposition {
    cl_command_queue queue;
    cl_mem in, out;
    uint32_t width, height;
};

static int transpose_by_host(void *context, struct error *why)
{
    const struct host_transposition *t = context;
    const size_t bytes = (size_t)t->width * t->height * sizeof(float complex);
    cl_int code, more;
    void *in =
        clEnqueueMapBuffer(t->queue, t->in, CL_TRUE, CL_MAP_READ, 0, bytes, 0, NULL, NULL, &code);
    void *out =
        clEnqueueMapBuffer(t->queue, t->out, CL_TRUE, CL_MAP_WRITE, 0, bytes, 0, NULL, NULL, &more);
    if (code != CL_SUCCESS || more != CL_SUCCESS)
        return opencl_fail(why, code != CL_SUCCESS ? code : more, "clEnqueueMapBuffer");
    transpose_host(out, in, t->width, t->height);
    clEnqueueUnmapMemObject(t->queue, t->in, in, 0, NULL, NULL);
    clEnqueueUnmapMemObject(t->queue, t->out, out, 0, NULL, NULL);
    return 0;
}

static void add_host_transposition(struct pipeline *p, struct published *f, uint32_t width,
                                   uint32_t height)
{
    struct host_transposition *t = pipeline_memory(p, sizeof *t);
    if (t == NULL)
        return;
    *t = (struct host_transposition){f->queue, f->work[f->now], f->work[!f->now], width, height};
    pipeline_call(p, transpose_by_host, NULL, t);
    f->now = !f->now;
}

/* The article's rule: groups of 2x4 where they divide the blocks, otherwise of 1x2, otherwise the
 * driver chooses (NULL). */
static void set_groups(struct shape *shape)
{
    if (shape->down % 2 != 0)
        return;
    const bool large = shape->down % 4 == 0 && shape->across % 2 == 0;
    shape->local_across = large ? 2 : 1;
    shape->local_down = large ? 4 : 2;
}

/* Transposes width x height numbers, both even unless it is by BRANCHES. */
static void add_transposition(struct pipeline *p, cl_program program, struct published *f,
                              const struct step_variant *v, uint32_t width, uint32_t height)
{
    static const char *const names[] = {NULL,
                                        "transpose_elements",
                                        "transpose",
                                        "transpose_square",
                                        "transpose_square_packed",
                                        "transpose_4",
                                        "transpose_with_branches"};
    static const uint32_t edges[] = {0, 1, 2, 2, 2, 4, 2};
    const uint32_t edge = edges[v->transposition];
    const cl_mem in = f->work[f->now], out = f->work[!f->now];
    if (v->transposition == HOST) {
        add_host_transposition(p, f, width, height);
        return;
    }
    struct shape shape = {(width + edge - 1) / edge, (height + edge - 1) / edge, 0, 0, 0};
    if (v->groups)
        set_groups(&shape);
    const char *name = names[v->transposition];
    if (v->transposition == IN_PLACE_PACKED)
        shape = (struct shape){shape.across * (shape.across + 1) / 2, 1, 0, 0, 0};
    if (v->transposition == IN_PLACE || v->transposition == IN_PLACE_PACKED) {
        pipeline_launch(p, program, name, shape, "bu", in, width);
        return;
    }
    pipeline_launch(p, program, name, shape, "bbuu", in, out, width, height);
    f->now = !f->now;
}

static void add_direction(struct pipeline *p, const struct step_variant *v, struct published *f,
                          bool inverse)
{
    const cl_program program = pipeline_program(p, "arm.cl", "%s%s", inverse ? "-DINVERSE" : "",
                                                v->tables ? "" : " -DSINCOS");
    arm_add_rows(p, program, &f->x, f->height, f->work[f->now], f->work[!f->now], v->row_by_row);
    f->now = !f->now;
    add_transposition(p, program, f, v, f->pitch_x, f->pitch_y);
    arm_add_rows(p, program, &f->y, f->width, f->work[f->now], f->work[!f->now], v->row_by_row);
    f->now = !f->now;
    add_transposition(p, program, f, v, f->pitch_y, f->pitch_x);
}

/* Returns the length of rows of n numbers: blocks never run over the edge of even ones. */
static uint32_t padded_length(uint32_t n, const struct step_variant *v)
{
    return v->transposition == BRANCHES ? n : n + n % 2;
}

static uint32_t power_of_two(uint32_t n)
{
    uint32_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

/* The response of a padded frame; what is in the padding does not matter. */
static cl_mem padded_response(struct pipeline *p, const struct published *f)
{
    float *response = reference_response(f->width, f->height);
    const size_t bytes = (size_t)f->pitch_x * f->pitch_y * sizeof *response;
    float *padded = pipeline_memory(p, bytes);
    for (uint32_t v = 0; padded != NULL && v < f->height; v++)
        memcpy(padded + (size_t)v * f->pitch_x, response + (size_t)v * f->width,
               f->width * sizeof *response);
    free(response);
    return pipeline_buffer(p, bytes, padded);
}

/* The picture in rows that are `pitch` apart, extended to the size of the transform by mirroring.
 */
static cl_mem padded_picture(struct pipeline *p, const struct published *f,
                             const struct scene *scene)
{
    const size_t bytes = (size_t)f->pitch_x * f->pitch_y;
    int32_t *map_x = pipeline_memory(p, f->width * sizeof *map_x);
    int32_t *map_y = pipeline_memory(p, f->height * sizeof *map_y);
    uint8_t *picture = pipeline_memory(p, bytes);
    if (map_x == NULL || map_y == NULL || picture == NULL)
        return NULL;
    plan_border_map(map_x, f->width, scene->width, PLAN_MIRROR);
    plan_border_map(map_y, f->height, scene->height, PLAN_MIRROR);
    for (uint32_t y = 0; y < f->height; y++)
        for (uint32_t x = 0; x < f->width; x++)
            picture[(size_t)y * f->pitch_x + x] =
                scene->picture[(size_t)map_y[y] * scene->width + (size_t)map_x[x]];
    return pipeline_buffer(p, bytes, picture);
}

static void add_step(struct group *group, const struct step_variant *v, const struct scene *scene)
{
    static const uint32_t two[] = {2, 0};
    struct pipeline *p = pipeline_new(group, "%s", v->name);
    struct published f = {.width = v->radix_2 ? power_of_two(scene->width) : scene->width,
                          .height = v->radix_2 ? power_of_two(scene->height) : scene->height,
                          .queue = bench_queue(group->bench)};
    f.pitch_x = padded_length(f.width, v);
    f.pitch_y = padded_length(f.height, v);
    const size_t padded = (size_t)f.pitch_x * f.pitch_y, count = (size_t)f.width * f.height;
    arm_factor(p, &f.x, f.width, v->radix_2 ? two : NULL);
    arm_factor(p, &f.y, f.height, v->radix_2 ? two : NULL);
    f.x.pitch = f.pitch_x;
    f.y.pitch = f.pitch_y;
    f.x.sines = f.y.sines = !v->tables;
    if (pipeline_has_ended(p))
        return;
    arm_make_tables(p, &f.x);
    arm_make_tables(p, &f.y);
    const cl_mem in = padded_picture(p, &f, scene), out = pipeline_buffer(p, padded, NULL);
    const cl_mem response = padded_response(p, &f);
    f.work[0] = pipeline_buffer(p, padded * sizeof(float complex), NULL);
    f.work[1] = pipeline_buffer(p, padded * sizeof(float complex), NULL);
    const cl_program copies = pipeline_program(p, "arm.cl+stockham.cl", "%s", "");
    const struct shape all = {f.pitch_x, f.pitch_y, 0, 0, 0};
    pipeline_launch(p, copies, "load_complex", all, "bb", in, f.work[0]);
    add_direction(p, v, &f, false);
    pipeline_launch(p, copies, "multiply_all", all, "bb", f.work[f.now], response);
    add_direction(p, v, &f, true);
    pipeline_launch(p, copies, "store_complex", all, "bb", f.work[f.now], out);
    /* All but the product, the load and the store read and write every complex number once. */
    const unsigned passes = 8 + 2 * (f.x.stage_count + f.y.stage_count);
    pipeline_traffic(p, (double)count * (16. * passes + 20 + 9 + 9));
    pipeline_rows_result(p, out, scene->width, scene->height, f.pitch_x,
                         v->radix_2 ? scene->expected_padded : scene->expected, 0.51);
}

/* As published, each step on top of the one before; twiddles are computed in the butterflies. */
static const struct step_variant steps[] = {
    {.name = "CPU, one thread, plain C", .host = true, .slow = true},
    {.name = "GPU, a launch per row, host transposes", .row_by_row = true, .slow = true},
    {.name = "all rows in a launch, host transposes", .slow = true},
    {.name = "transposed on the GPU, element by element", .transposition = ELEMENTS},
    {.name = "blocks of 2x2, out of place", .transposition = BLOCKS},
    {.name = "blocks of 2x2, in place", .transposition = IN_PLACE},
    {.name = "blocks of 2x2, in place, groups by hand", .transposition = IN_PLACE, .groups = true},
};

static void build_steps(struct group *group, const void *context)
{
    const struct scene *scene = context;
    for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (steps[i].slow && scene->large)
            continue;
        if (steps[i].host)
            add_host(group, steps[i].name, scene);
        else
            add_step(group, &steps[i], scene);
    }
    for (unsigned i = 0; i < 2; i++)
        fftd_add(group, &fftd_form[i], scene->picture, scene->width, scene->height);
}

static void build_odd(struct group *group, const void *context)
{
    static const struct step_variant odd = {.name = "rows padded by one number",
                                            .transposition = BLOCKS};
    add_step(group, &odd, context);
}

static void build_radices(struct group *group, const void *context)
{
    static const struct step_variant radices[] = {
        {.name = "mixed radix", .transposition = BLOCKS, .tables = true},
        {.name = "radix 2, padded to powers of two",
         .transposition = BLOCKS,
         .tables = true,
         .radix_2 = true}};
    for (unsigned i = 0; i < 2; i++)
        add_step(group, &radices[i], context);
}

/* ---- the transposition alone ---- */

struct numbers {
    uint32_t width, height;
    float complex *in;
    double *transposed; /* of width x height, interleaved */
};

static const struct step_variant transpositions[] = {
    {.name = "element by element", .transposition = ELEMENTS},
    {.name = "blocks of 2x2, out of place", .transposition = BLOCKS},
    {.name = "blocks of 2x2, out of place, groups by hand",
     .transposition = BLOCKS,
     .groups = true},
    {.name = "blocks of 4x4, out of place", .transposition = BLOCKS_OF_4, .fours_only = true},
    {.name = "blocks of 2x2, in place", .transposition = IN_PLACE, .square_only = true},
    {.name = "blocks of 2x2, in place, groups by hand",
     .transposition = IN_PLACE,
     .square_only = true,
     .groups = true},
    {.name = "blocks of 2x2, in place, packed index",
     .transposition = IN_PLACE_PACKED,
     .square_only = true},
};

static void build_transpositions(struct group *group, const void *context)
{
    const struct numbers *numbers = context;
    const uint32_t width = numbers->width, height = numbers->height;
    for (unsigned i = 0; i < sizeof transpositions / sizeof transpositions[0]; i++) {
        const struct step_variant *v = &transpositions[i];
        if ((v->square_only && width != height) ||
            (v->fours_only && (width % 4 != 0 || height % 4 != 0)))
            continue;
        struct pipeline *p = pipeline_new(group, "%s", v->name);
        const size_t count = (size_t)width * height, bytes = count * sizeof *numbers->in;
        struct published f = {.work[0] = pipeline_buffer(p, bytes, numbers->in),
                              .work[1] = pipeline_buffer(p, bytes, NULL)};
        add_transposition(p, pipeline_program(p, "arm.cl", "%s", ""), &f, v, width, height);
        pipeline_traffic(p, 2. * (double)bytes);
        pipeline_result(p, RESULT_FLOATS, f.work[f.now], 2 * count, numbers->transposed, 0);
    }
}

/* Odd sizes: rows and columns that are padded to even sizes, or branches at the edges. */
static void build_edges(struct group *group, const void *context)
{
    static const struct step_variant v[] = {
        {.name = "padded by one number, blocks of 2x2", .transposition = BLOCKS},
        {.name = "branches at odd edges, blocks of 2x2", .transposition = BRANCHES}};
    const struct numbers *numbers = context; /* of the even size */
    const uint32_t width = numbers->width - 1, height = numbers->height - 1;
    const size_t bytes = (size_t)numbers->width * numbers->height * sizeof *numbers->in;
    for (unsigned i = 0; i < 2; i++) {
        struct pipeline *p = pipeline_new(group, "%s", v[i].name);
        const cl_program program = pipeline_program(p, "arm.cl", "%s", "");
        struct published f = {.work[1] = pipeline_buffer(p, bytes, NULL)};
        float complex *tight = pipeline_memory(p, bytes);
        double *expected = pipeline_memory(p, 2 * (size_t)width * height * sizeof *expected);
        if (tight == NULL || expected == NULL)
            return;
        for (uint32_t y = 0; y < height; y++)
            for (uint32_t x = 0; x < width; x++) {
                const float complex z = numbers->in[(size_t)y * numbers->width + x];
                tight[(size_t)y * width + x] = z;
                expected[2 * ((size_t)x * height + y)] = crealf(z);
                expected[2 * ((size_t)x * height + y) + 1] = cimagf(z);
            }
        f.work[0] = pipeline_buffer(p, bytes, i == 0 ? numbers->in : tight);
        add_transposition(p, program, &f, &v[i], i == 0 ? numbers->width : width,
                          i == 0 ? numbers->height : height);
        pipeline_traffic(p, 2. * (double)bytes);
        if (i == 0)
            pipeline_result(p, RESULT_FLOATS, f.work[1],
                            2 * (size_t)numbers->width * numbers->height, numbers->transposed, 0);
        else
            pipeline_result(p, RESULT_FLOATS, f.work[1], 2 * (size_t)width * height, expected, 0);
    }
}

static void transpose_alone(struct bench *bench, const char *name, uint32_t width, uint32_t height,
                            void (*build)(struct group *group, const void *context))
{
    struct numbers numbers = {.width = width, .height = height};
    const size_t count = (size_t)width * height;
    uint8_t *noise = reference_picture(2 * width, height);
    numbers.in = malloc(count * sizeof *numbers.in);
    numbers.transposed = malloc(2 * count * sizeof *numbers.transposed);
    if (numbers.in == NULL || numbers.transposed == NULL)
        abort();
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            const uint8_t *pair = noise + 2 * ((size_t)y * width + x);
            const size_t turned = 2 * ((size_t)x * height + y);
            numbers.in[(size_t)y * width + x] = pair[0] + pair[1] * I;
            numbers.transposed[turned] = pair[0];
            numbers.transposed[turned + 1] = pair[1];
        }
    const struct group_head head = {.row = 6, .name = name, .x = (double)count, .simulated = true};
    bench_group(bench, &head, build, &numbers);
    free(noise);
    free(numbers.in);
    free(numbers.transposed);
}

/* ---- the ablation: from their pipeline to ours ---- */

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

static void build_ablation(struct group *group, const void *context)
{
    static const struct step_variant published = {
        .name = "their pipeline, with tables", .tables = true, .transposition = BLOCKS};
    const struct scene *scene = context;
    add_step(group, &published, scene);
    add_changed(group, "digit reversal dropped", ORDERED, scene);
    add_changed(group, "+ transposes merged", MERGED, scene);
    add_changed(group, "+ real input", REAL, scene);
    add_changed(group, "+ load, product and store fused", FUSED, scene);
    add_changed(group, "+ stages fused through local memory", LOCAL, scene);
    for (unsigned i = 0; i < FFTD_FORMS; i++)
        fftd_add(group, &fftd_form[i], scene->picture, scene->width, scene->height);
}

/* ---- groups ---- */

static void measure(struct bench *bench, const char *kind, uint32_t width, uint32_t height,
                    void (*build)(struct group *group, const void *context))
{
    uint8_t *picture = reference_picture(width, height);
    char name[64];
    struct scene scene = {.width = width,
                          .height = height,
                          .picture = picture,
                          .expected = reference_filtered(picture, width, height, width, height),
                          .large = (size_t)width * height > 2000000};
    if (build == build_radices)
        scene.expected_padded =
            reference_filtered(picture, width, height, power_of_two(width), power_of_two(height));
    snprintf(name, sizeof name, "%s, %ux%u", kind, width, height);
    const struct group_head head = {.row = 6, .name = name, .x = (double)width * height};
    bench_group(bench, &head, build, &scene);
    free(scene.expected);
    free(scene.expected_padded);
    free(picture);
}

static void run_quick(struct bench *bench)
{
    measure(bench, "steps", 48, 48, build_steps);
    measure(bench, "odd sizes", 35, 21, build_odd);
    measure(bench, "radices", 60, 60, build_radices);
    measure(bench, "ablation", 60, 48, build_ablation);
    transpose_alone(bench, "transposition alone", 32, 32, build_transpositions);
    transpose_alone(bench, "transposition alone", 36, 22, build_transpositions);
    transpose_alone(bench, "transposition of odd sizes", 36, 22, build_edges);
}

void row_two_dimensions(struct bench *bench)
{
    static const uint32_t sides[] = {120, 1000, 3000};
    static const uint32_t odd[][2] = {
        [SIZES_SMALL] = {226, 176}, [SIZES_PUBLISHED] = {1126, 876}, [SIZES_LARGE] = {3376, 2626}};
    static const uint32_t ablation[][2] = {{640, 480}, {1000, 1000}, {1920, 1080}};
    const enum sizes sizes = bench_sizes(bench);
    const bool small = sizes == SIZES_SMALL;
    if (bench_is_quick(bench)) {
        run_quick(bench);
        return;
    }
    for (unsigned i = 0; i < (small ? 1 : sizes == SIZES_LARGE ? 3 : 2); i++)
        measure(bench, "steps", sides[i], sides[i], build_steps);
    for (unsigned i = 0; i < (small ? 2 : 3); i++)
        measure(bench, "radices", sides[i], sides[i], build_radices);
    for (unsigned i = 0; i < (small ? 2 : 3); i++)
        transpose_alone(bench, "transposition alone", sides[i], sides[i], build_transpositions);
    transpose_alone(bench, "transposition of odd sizes", odd[sizes][0], odd[sizes][1], build_edges);
    for (unsigned i = 0; i < (small ? 1 : 3); i++)
        measure(bench, "ablation", ablation[i][0], ablation[i][1], build_ablation);
}
