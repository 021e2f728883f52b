/* ARM's transform in two dimensions. arm.cl and stockham.cl describe the kernels. */
#include "plane.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "transform/plan.h"

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

void plane_add_host(struct group *group, const char *name, const struct scene *scene)
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

void plane_add_transposition(struct pipeline *p, cl_program program, struct published *f,
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
    plane_add_transposition(p, program, f, v, f->pitch_x, f->pitch_y);
    arm_add_rows(p, program, &f->y, f->width, f->work[f->now], f->work[!f->now], v->row_by_row);
    f->now = !f->now;
    plane_add_transposition(p, program, f, v, f->pitch_y, f->pitch_x);
}

/* Returns the length of rows of n numbers: blocks never run over the edge of even ones. */
static uint32_t padded_length(uint32_t n, const struct step_variant *v)
{
    return v->transposition == BRANCHES ? n : n + n % 2;
}

uint32_t plane_power_of_two(uint32_t n)
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

void plane_add(struct group *group, const struct step_variant *v, const struct scene *scene)
{
    static const uint32_t two[] = {2, 0};
    struct pipeline *p = pipeline_new(group, "%s", v->name);
    struct published f = {.width = v->radix_2 ? plane_power_of_two(scene->width) : scene->width,
                          .height = v->radix_2 ? plane_power_of_two(scene->height) : scene->height,
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
